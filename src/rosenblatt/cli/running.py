"""What happens around every command: errors become a message and an exit code, interrupts are not lost."""

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from rosenblatt.cli import signals
from rosenblatt.cli.errors import DEBUG, ExitCode, Refused, exit_code, message
from rosenblatt.cli.output import note, seconds

F = TypeVar("F", bound=Callable[..., Any])


def guarded(command: F, name: str | None = None) -> F:
    """Turn whatever stops a command into a message and an exit code; print a traceback only on request."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        announce_compiling()
        before = compile_seconds()
        try:
            with signals.remember_interrupts():
                answer = _call(command, *arguments, **options)
            report_compiling(compile_seconds() - before)
            sys.stdout.flush()  # a closed pipe is met here, not at exit
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except BrokenPipeError:
            with open(os.devnull, "w") as nowhere:  # noqa: PTH123 (what is still buffered must not fail again)
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
            raise typer.Exit(ExitCode.PIPE_CLOSED) from None
        except (Exception, RecursionError) as error:
            if isinstance(error, typer.Exit):
                raise
            if os.environ.get(DEBUG):
                traceback.print_exc()
            note(message(error, name or command.__name__))
            raise typer.Exit(exit_code(error)) from None
        return answer

    return run  # type: ignore[return-value]


def _call(command: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a command; a failure caused by an interrupt that C code threw away is an interrupt."""
    try:
        # Python 3.11 allocates and frees a piece of stack at every call across its end; where a command loads numpy a
        # hundred calls deep, that takes 40 ms.
        import numpy  # noqa: F401 (for those who load it later)

        return command(*arguments, **options)
    except (Refused, ValueError, OSError, MemoryError, typer.Exit):
        raise
    except Exception:
        signals.check_interrupt()
        raise


def announce_compiling() -> None:
    """Print on stderr, once a process and when loops are compiled, why this run takes long."""
    import logging

    class Announce(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(record.getMessage())

    log = logging.getLogger("rosenblatt.jit")
    if log.handlers:  # a process may run several commands
        return
    log.propagate = False
    log.addHandler(Announce(logging.WARNING))


def compile_seconds() -> float:
    """Return how long this process has compiled loops so far; a command that needs none does not load ``jit``."""
    jit = sys.modules.get("rosenblatt.jit")
    return jit.compile_seconds() if jit is not None and jit.announced() else 0.0


def report_compiling(spent: float) -> None:
    """Print on stderr how long a command has compiled, if it has; later runs need not."""
    if spent > 0.0:
        note(f"compiling {seconds(spent)}, once: the next run starts at once")
