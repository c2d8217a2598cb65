"""``rosenblatt store``: verify, compact, repair or export the store of a service, or delete a model from it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.commands.serve import Data, need_service
from rosenblatt.cli.errors import ExitCode
from rosenblatt.cli.flags import flag
from rosenblatt.cli.options import STANDARD_INPUT
from rosenblatt.cli.output import counted, note

ModelName = Annotated[str, flag("--model", "-m", metavar="NAME", help="Name of the model.")]


def _folder(data: Path | None) -> Path:
    need_service()
    from rosenblatt.web.settings import usual_folder

    return (data or usual_folder()).expanduser()


def verify(data: Data = None, json: opt.AsJson = False) -> None:
    """Replay every journal, and compare it with every snapshot.

    Exits with 1 if something is damaged or left over from a deleted model.

    \b
    Examples:
      rosenblatt store verify
      rosenblatt store verify --data ~/mail-filter --json
    """
    folder = _folder(data)
    from rosenblatt.cli.output import print_json
    from rosenblatt.mail.mailbox import StoredMail
    from rosenblatt.service import maintenance

    general, verdicts = maintenance.verify(folder, [StoredMail()])
    damaged = bool(general) or any(each.problems for each in verdicts)
    if json:
        print_json({"problems": general, "models": [each._asdict() for each in verdicts]}, indent=None)
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
            print(f"{folder}: no damage found")
    if damaged:
        raise typer.Exit(ExitCode.NO)


def compact(data: Data = None, json: opt.AsJson = False) -> None:
    """Keep each model as it is, and drop its journal.

    Afterwards no file contains deleted models or feedback. Exits with 1 if a model is offline.

    \b
    Examples:
      rosenblatt store compact
      rosenblatt store compact --data ~/mail-filter --json
    """
    folder = _folder(data)
    from rosenblatt.cli.output import print_json
    from rosenblatt.mail.mailbox import StoredMail
    from rosenblatt.service import maintenance

    result = maintenance.compact(folder, [StoredMail()])
    if json:
        print_json(result, indent=None)
    else:
        dropped = counted(result["feedbacks_dropped"], "feedback")
        print(
            f"{folder}: {result['bytes_before']:,} to {result['bytes_after']:,} bytes, "
            f"{dropped} now in the models alone"
        )
    for each in result["offline"]:
        note(each)
    if result["offline"]:
        raise typer.Exit(ExitCode.NO)


def repair(model: ModelName, data: Data = None, json: opt.AsJson = False) -> None:
    """Rebuild a model that is offline from what can be read of it.

    Lists what it had to drop.

    \b
    Examples:
      rosenblatt store repair --model mail
      rosenblatt store repair --model mail --data ~/mail-filter --json
    """
    folder = _folder(data)
    from rosenblatt.cli.output import print_json
    from rosenblatt.service import maintenance

    result = maintenance.repair(folder, model)
    if json:
        print_json(result._asdict(), indent=None)
        return
    for remark in result.remarks:
        note(remark)
    dropped = f", dropped {', '.join(map(str, result.dropped))}" if result.dropped else ", nothing dropped"
    print(f"{model}: repaired, {counted(result.replayed, 'feedback')} replayed{dropped}")


def delete(model: ModelName, data: Data = None) -> None:
    """Remove a model and all that it learned from.

    \b
    Examples:
      rosenblatt store delete --model mail
      rosenblatt store delete --model mail --data ~/mail-filter
    """
    folder = _folder(data)
    from rosenblatt.service import maintenance

    maintenance.delete(folder, model)
    print(f"{model}: deleted; rosenblatt store compact removes its bytes from the files")


def export(
    model: Annotated[
        str | None, flag("--model", "-m", metavar="NAME", help="Name of the model.", show_default="all")
    ] = None,
    output: opt.Output = None,
    data: Data = None,
) -> None:
    """Write the journal of a model as NDJSON that POST /learn takes.

    Damaged rows are left out and listed, and the exit code is then 1.

    \b
    Examples:
      rosenblatt store export --model mail
      rosenblatt store export --model mail --data ~/mail-filter -o mail.ndjson
    """
    folder = _folder(data)
    from rosenblatt.service.maintenance import Export
    from rosenblatt.storage import replacing

    lines = Export(folder, model)
    if lines.has_base:
        note(f"{folder}: what came before the last compaction or upload is in the model, not in its journal")
    if output in (None, STANDARD_INPUT):
        for line in lines:
            sys.stdout.write(line.decode() + "\n")
    else:
        with replacing(str(output)) as file:
            for line in lines:
                file.write(line + b"\n")
    for reason in lines.damaged:
        note(f"left out: {reason}")
    if lines.damaged:
        raise typer.Exit(ExitCode.NO)


SUBCOMMANDS = {
    "verify": verify,
    "compact": compact,
    "repair": repair,
    "export": export,
    "delete": delete,
}
