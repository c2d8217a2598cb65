"""How a command speaks: its words on standard output, what went wrong on standard error, and its exit code."""

import functools
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from rosenblatt.cli import ctrl_c

if TYPE_CHECKING:
    from rosenblatt.data.errors import SkippedLines

ERROR, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
DEBUG = "ROSENBLATT_DEBUG"
MOST_LINES = 10  # of skipped lines that are listed one by one

F = TypeVar("F", bound=Callable[..., Any])


class Refused(Exception):
    """A request that cannot be met; its text says why and what to do."""


def refuse(message: str) -> NoReturn:
    """End the command with a message and exit code 2."""
    raise Refused(message)


def note(message: str) -> None:
    """Say something beside the result, on standard error."""
    print(message, file=sys.stderr)


def note_skipped(skipped: "SkippedLines") -> None:
    """Count and list the lines that nothing was read from."""
    if not skipped:
        return
    for line in skipped[:MOST_LINES]:
        note(str(line))
    more = f"; the first {MOST_LINES} are listed" if skipped.total > MOST_LINES else ""
    note(f"skipped {counted(skipped.total, 'bad line')}{more}")


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def listed(names: Sequence[object], at_most: int = 6) -> str:
    """Write a list as a sentence does, cut where it is long.

    >>> listed(["a", "b", "c"]), listed(range(100), at_most=2)
    ('a, b and c', '0, 1 and 98 more')
    """
    words = [str(name) for name in names]
    if len(words) > at_most:
        return f"{', '.join(words[:at_most])} and {len(words) - at_most:,} more"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def show_tracebacks() -> None:
    """Let errors of this process show where they were raised."""
    os.environ[DEBUG] = "1"


def guarded(command: F) -> F:
    """Turn whatever stops a command into a message and an exit code; a traceback only where asked for."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        if sys.stderr.isatty():
            tell_of_compiling()
        try:
            with ctrl_c.remembered():
                answer = _called(command, *arguments, **options)
            sys.stdout.flush()  # a closed pipe is met here, not at exit
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            with open(os.devnull, "w") as nowhere:  # noqa: PTH123 (what is still buffered must not fail again)
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except (Exception, RecursionError) as error:
            if isinstance(error, typer.Exit):
                raise
            if os.environ.get(DEBUG):
                traceback.print_exc()
            note(_in_words(error, command.__name__))
            raise typer.Exit(ERROR) from None
        return answer

    return run  # type: ignore[return-value]


def _called(command: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a command; what fails inside because Ctrl-C was thrown away there is an interrupt, not a failure."""
    try:
        # Python 3.11 makes and drops a piece of stack at every call across its end; where a command would load numpy,
        # a hundred calls deep, that takes 40 ms.
        import numpy  # noqa: F401 (for those who load it later)

        return command(*arguments, **options)
    except (Refused, ValueError, OSError, MemoryError, typer.Exit):
        raise
    except Exception:
        ctrl_c.look()
        raise


def tell_of_compiling() -> None:
    """Say why the first run on a machine takes so long, once a process, when it is so."""
    import logging

    class Note(logging.Handler):
        told = False

        def emit(self, record: logging.LogRecord) -> None:
            if not self.told:
                note("compiling for this machine (first run only, up to half a minute)")
            self.told = True

    log = logging.getLogger("rosenblatt.jit")
    if log.handlers:  # a process may run several commands
        return
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(Note())


def _in_words(error: BaseException, command: str) -> str:
    """Say what happened: files speak for themselves, anything else is said by the command."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & {"BadInput", "BadModel", "FileNotFoundError"}:
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"rosenblatt {command}: {error.strerror}"
    missing_extra = isinstance(error, ImportError) and "pip install" in str(error)
    if missing_extra or isinstance(error, Refused | ValueError | OSError):
        return f"rosenblatt {command}: {error}"
    if isinstance(error, MemoryError):
        return f"rosenblatt {command}: not enough memory: {error}"
    told = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"rosenblatt {command}: internal error, {told} (set {DEBUG}=1 to see where)"
