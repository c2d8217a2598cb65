"""The commands put together."""

from typing import Annotated

import typer

from rosenblatt.cli.commands.cache import cache
from rosenblatt.cli.commands.compare import compare
from rosenblatt.cli.commands.convert import convert
from rosenblatt.cli.commands.evaluate import evaluate
from rosenblatt.cli.commands.explain import explain
from rosenblatt.cli.commands.export import export
from rosenblatt.cli.commands.fit import fit
from rosenblatt.cli.commands.info import info
from rosenblatt.cli.commands.lab import lab
from rosenblatt.cli.commands.mail import mail
from rosenblatt.cli.commands.predict import predict
from rosenblatt.cli.commands.prove import prove
from rosenblatt.cli.commands.serve import serve
from rosenblatt.cli.commands.solve import solve
from rosenblatt.cli.commands.store import store
from rosenblatt.cli.commands.stream import stream
from rosenblatt.cli.commands.verify import verify
from rosenblatt.cli.errors import show_tracebacks
from rosenblatt.cli.plain import PlainCommand, PlainGroup
from rosenblatt.cli.running import guarded

COMMANDS = (
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
    cache,
    export,
    serve,
    store,
    lab,
)

app = typer.Typer(
    name="rosenblatt",
    cls=PlainGroup,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: it starts in half the time, and reads the same in a pipe
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for _command in COMMANDS:
    app.command(cls=PlainCommand)(guarded(_command))
app.add_typer(mail, name="mail", cls=PlainGroup)


def _version(asked: bool) -> None:
    if asked:
        from rosenblatt import __version__

        print(f"rosenblatt {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", hidden=True)] = False,
) -> None:
    """Learn linear decision boundaries by correcting mistakes, and prove what was learned.

    \b
    Examples:
      rosenblatt fit train.svm --test test.svm --model m.safetensors
      rosenblatt predict m.safetensors new.csv -o labels.csv
      rosenblatt prove data.csv --target y
      cat events.jsonl | rosenblatt stream - --target label --model m.safetensors
      rosenblatt serve --data ~/mail-filter

    Sources are files (LIBSVM, CSV, Parquet, JSON lines and others), - for standard input, or sample:NAME.
    """
    if debug:
        show_tracebacks()
