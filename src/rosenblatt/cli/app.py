"""The commands put together."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from rosenblatt.cli.commands import cache, mail, store
from rosenblatt.cli.commands.compare import compare
from rosenblatt.cli.commands.convert import convert
from rosenblatt.cli.commands.evaluate import evaluate
from rosenblatt.cli.commands.explain import explain
from rosenblatt.cli.commands.export import export
from rosenblatt.cli.commands.fit import fit
from rosenblatt.cli.commands.info import info
from rosenblatt.cli.commands.lab import lab
from rosenblatt.cli.commands.predict import predict
from rosenblatt.cli.commands.prove import prove
from rosenblatt.cli.commands.serve import serve
from rosenblatt.cli.commands.solve import solve
from rosenblatt.cli.commands.stream import stream
from rosenblatt.cli.commands.verify import verify
from rosenblatt.cli.errors import show_tracebacks
from rosenblatt.cli.flags import GroupedCommand, flatten
from rosenblatt.cli.running import guarded

COMMANDS: tuple[Callable[..., None], ...] = (
    fit,
    predict,
    evaluate,
    explain,
    compare,
    info,
    prove,
    verify,
    solve,
    stream,
    convert,
    export,
    serve,
    lab,
)
# Commands with subcommands: their name, help, subcommands, and a callback for options before the subcommand.
GROUPS: dict[str, Any] = {"store": store, "mail": mail, "cache": cache}

SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": None,  # plain help: it starts in half the time, and reads the same in a pipe
    "pretty_exceptions_enable": False,
}

app = typer.Typer(
    name="rosenblatt",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    **SETTINGS,
)


def _add(group: typer.Typer, name: str, command: Callable[..., None], full_name: str) -> None:
    group.command(name, cls=GroupedCommand)(guarded(flatten(command), full_name))


for _command in COMMANDS:
    _add(app, _command.__name__, _command, _command.__name__)
for _name, _module in GROUPS.items():
    _group = typer.Typer(name=_name, help=_module.HELP, **SETTINGS)
    for _subcommand, _function in _module.SUBCOMMANDS.items():
        _add(_group, _subcommand, _function, f"{_name} {_subcommand}")
    app.add_typer(_group)


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
      3  undecided                       141  the reader of the output went away
    """
    if debug:
        show_tracebacks()
