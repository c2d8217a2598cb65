"""``rosenblatt store``: verify, compact, repair or export the store of a service, or delete a model from it."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.commands.serve import Data, need_service
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.output import counted, note

DAMAGED = 1


def store(
    action: Annotated[
        Literal["verify", "compact", "repair", "export", "delete"],
        typer.Argument(metavar="ACTION", help="verify, compact, repair, export or delete."),
    ],
    data: Data = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Model to repair, export or delete.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to export to.", show_default="-"),
    ] = None,
    json: opt.AsJson = False,
) -> None:
    """Verify, compact, repair or export the store of a service.

    verify replays every journal from its beginning and compares the result with every snapshot, bit for bit (exit
    code 1 where something is damaged or left over from a deleted model). compact keeps each model as it is and drops
    the journal before; what was deleted is in no file afterwards. repair rebuilds a model that is offline from its
    newest good snapshot and all of its journal that can be read, and lists what it had to drop. export writes the
    journal of a model as NDJSON that POST .../learn takes, without rows that are damaged (exit code 1). delete removes
    a model and all that it was told.

    \b
    Examples:
      rosenblatt store verify --data ~/mail-filter
      rosenblatt store compact --data ~/mail-filter
      rosenblatt store repair --data ~/mail-filter --model mail
      rosenblatt store export --data ~/mail-filter --model mail -o mail.ndjson
    """
    need_service()
    from rosenblatt.web.settings import usual_folder

    folder = (data or usual_folder()).expanduser()
    actions = {
        "verify": _verify,
        "compact": _compact,
        "repair": _repair,
        "export": _export,
        "delete": _delete,
    }
    actions[action](folder, model, output, json)


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

    result = compact(folder)
    if as_json:
        print(json.dumps(result))
    else:
        dropped = counted(result["feedbacks_dropped"], "feedback")
        print(
            f"{folder}: {result['bytes_before']:,} to {result['bytes_after']:,} bytes, "
            f"{dropped} now in the models alone"
        )
    for each in result["offline"]:
        note(each)
    if result["offline"]:
        raise typer.Exit(DAMAGED)


def _repair(folder: Path, model: str | None, output: Path | None, as_json: bool) -> None:
    import json

    from rosenblatt.service.care import repair

    if model is None:
        refuse("repair rebuilds one model: name it with --model")
    result = repair(folder, model)
    if as_json:
        print(json.dumps(result._asdict()))
        return
    for remark in result.remarks:
        note(remark)
    dropped = f", dropped {', '.join(map(str, result.dropped))}" if result.dropped else ", nothing dropped"
    print(f"{model}: repaired, {counted(result.replayed, 'feedback')} replayed{dropped}")


def _delete(folder: Path, model: str | None, output: Path | None, as_json: bool) -> None:
    from rosenblatt.service.care import delete

    if model is None:
        refuse("delete removes one model: name it with --model")
    delete(folder, model)
    print(f"{model}: deleted; rosenblatt store compact removes its bytes from the files")


def _export(folder: Path, model: str | None, output: Path | None, as_json: bool) -> None:
    from rosenblatt.service.care import Export
    from rosenblatt.storage import replacing

    lines = Export(folder, model)
    if lines.has_base:
        note(f"{folder}: what came before the last compaction or upload is in the model, not in its journal")
    if output is None:
        for line in lines:
            sys.stdout.write(line.decode() + "\n")
    else:
        with replacing(output) as file:
            for line in lines:
                file.write(line + b"\n")
    for reason in lines.damaged:
        note(f"left out: {reason}")
    if lines.damaged:
        raise typer.Exit(DAMAGED)
