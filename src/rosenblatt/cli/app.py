"""The commands put together, and what happens around each: errors become a message and an exit code.

A command is imported when it is typed, none when all are listed.
"""

import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any, TypeVar

import typer
import typer.main
from typer.core import TyperGroup

from rosenblatt.cli import signals
from rosenblatt.cli.errors import DEBUG, ExitCode, Refused, exit_code, message, show_tracebacks
from rosenblatt.cli.flags import GroupedCommand, PlainValues, Subcommands, flatten
from rosenblatt.cli.output import note, seconds

# The commands, in the order of --help, and what each does: the first line of its own help.
COMMANDS = {
    "fit": "Train a model on a file, and report how good it is.",
    "predict": "Print the label of every row of a file, one per line.",
    "evaluate": "Score a model on a labelled file.",
    "explain": "Show what each feature adds to the score of a row.",
    "compare": "Compare every linear learner by cross-validation.",
    "info": "Show what a model file holds, or how a table is read.",
    "prove": "Decide whether the classes are separable, with a proof.",
    "verify": "Check a proof against data, in exact arithmetic.",
    "solve": "Solve A w >= 1, or prove that it has no solution.",
    "stream": "Predict each example, then learn from it.",
    "convert": "Convert examples to Arrow, which is read without parsing.",
    "export": "Write a model as an ONNX graph, or as Python, C or SQL source.",
    "serve": "Serve models over HTTP, which learn from feedback at once.",
    "lab": "Open the lab: watch learning, play the perceptron game, build XOR.",
    "warmup": "Compile all loops for this CPU in advance.",
}
# Commands with subcommands.
GROUPS = {
    "store": "Verify, compact, repair or export the store of a service.",
    "mail": "Learn from sorted mail, mark new mail, and watch for it.",
    "cache": "Show or remove the cache of out-of-core fits.",
}

SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": None,  # plain help: it starts in half the time, and reads the same in a pipe
    "pretty_exceptions_enable": False,
}
F = TypeVar("F", bound=Callable[..., Any])


def load_command(name: str) -> Any:
    """Import a command, or a group of subcommands, and return it."""
    module = import_module(f"rosenblatt.cli.commands.{name}")
    functions = module.SUBCOMMANDS if name in GROUPS else {name: getattr(module, name)}
    group = typer.Typer(name=name, cls=Subcommands, help=GROUPS.get(name), add_completion=False, **SETTINGS)
    for own_name, function in functions.items():
        full_name = f"{name} {own_name}" if name in GROUPS else name
        group.command(own_name, cls=GroupedCommand)(guarded(flatten(function), full_name))
    return typer.main.get_group(group) if name in GROUPS else typer.main.get_command(group)


class LazyCommands(MutableMapping[str, Any]):
    """All commands by name, each imported at its first use."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = dict.fromkeys((*COMMANDS, *GROUPS))

    def __getitem__(self, name: str) -> Any:
        if self._loaded[name] is None:
            self._loaded[name] = load_command(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


class LazyGroup(PlainValues, TyperGroup):
    """The top of the command line: it lists commands without importing them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = LazyCommands()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the name of every command and what it does."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items(), *GROUPS.items()])


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


app = typer.Typer(
    name="rosenblatt",
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    **SETTINGS,
)


def _version(requested: bool) -> None:
    if requested:
        from rosenblatt import __version__

        print(f"rosenblatt {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
) -> None:
    """Learn linear decision boundaries by correcting mistakes, and prove what was learned.

    \b
    Examples:
      rosenblatt fit train.csv --target y --model m.safetensors
      rosenblatt predict m.safetensors new.csv -o labels.csv
      rosenblatt prove data.csv --target y
      cat events.jsonl | rosenblatt stream - --target label --model m.safetensors
      rosenblatt serve --data ~/mail-filter

    Sources are files (LIBSVM, CSV, Parquet, JSON lines and others), - for standard input, or sample:NAME.

    \b
    Exit codes:
      0  done, or the answer is yes      65   bad data
      1  the answer is no                70   a bug in rosenblatt
      2  wrong usage                     130  interrupted
      3  undecided                       141  the output pipe was closed
    """
    if debug:
        show_tracebacks()
