"""``rosenblatt store``: verify, compact or export the store of a service."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.serve import Data, need_service
from rosenblatt.cli.telling import counted, note

DAMAGED = 1


def store(
    action: Annotated[
        Literal["verify", "compact", "export"], typer.Argument(metavar="ACTION", help="What to do.")
    ],
    data: Data = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Whose journal to export.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to export to.", show_default="-"),
    ] = None,
    json: opt.AsJson = False,
) -> None:
    """Verify, compact or export the store of a service.

    verify replays every journal from its beginning and compares the result with every snapshot, bit for bit (exit
    code 1 where something is damaged). compact keeps each model as it is and drops the journal before. export writes
    the journal of a model as NDJSON that POST .../learn takes.

    \b
    Examples:
      rosenblatt store verify --data ~/mail-filter
      rosenblatt store compact --data ~/mail-filter
      rosenblatt store export --data ~/mail-filter --model mail -o mail.ndjson
    """
    need_service()
    from rosenblatt.service.settings import usual_folder

    folder = (data or usual_folder()).expanduser()
    {"verify": _verify, "compact": _compact, "export": _export}[action](folder, model, output, json)


def _verify(folder: Path, model: str | None, output: Path | None, as_json: bool) -> None:
    import json

    from rosenblatt.service.care import verify

    general, verdicts = verify(folder)
    damaged = bool(general) or any(each.problems for each in verdicts)
    if as_json:
        print(json.dumps({"problems": general, "models": [each._asdict() for each in verdicts]}))
    else:
        for problem in general:
            print(f"journal: {problem}")
        for each in verdicts:
            print(
                f"{each.model}: {counted(each.feedbacks, 'feedback')} replayed, fingerprint {each.fingerprint}"
            )
            for problem in each.problems:
                print(f"{each.model}: {problem}")
        if not damaged:
            print(f"{folder}: all is well")
    if damaged:
        raise typer.Exit(DAMAGED)


def _compact(folder: Path, model: str | None, output: Path | None, as_json: bool) -> None:
    import json

    from rosenblatt.service.care import compact

    told = compact(folder)
    if as_json:
        print(json.dumps(told))
    else:
        dropped = counted(told["feedbacks_dropped"], "feedback")
        print(
            f"{folder}: {told['bytes_before']:,} to {told['bytes_after']:,} bytes, {dropped} now in the models alone"
        )


def _export(folder: Path, model: str | None, output: Path | None, as_json: bool) -> None:
    from rosenblatt.service.care import export, has_base
    from rosenblatt.storage import replacing

    lines = export(folder, model)
    if has_base(folder, model):
        note(f"{folder}: what came before the last compaction or upload is in the model, not in its journal")
    if output is None:
        for line in lines:
            sys.stdout.write(line.decode() + "\n")
        return
    with replacing(output) as file:
        for line in lines:
            file.write(line + b"\n")
