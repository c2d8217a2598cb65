"""``rosenblatt verify``: check a proof against the data it speaks of."""

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.reading import Reading, Rows, read
from rosenblatt.cli.telling import refuse

HOLDS, FAILS = 0, 1  # exit codes; 2 is an error


def verify(
    proof: Annotated[str, typer.Argument(metavar="PROOF", help="A proof, as prove -o or solve -o write it.")],
    source: opt.Source,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="NAME", help="Target column of a CSV file.", show_default="as when proved"
        ),
    ] = None,
    format: opt.InputFormat = None,
    json: opt.AsJson = False,
) -> None:
    """Check a proof against its data, in exact arithmetic.

    \b
    Examples:
      rosenblatt verify proof.json data.csv
      rosenblatt verify proof.json constraints.csv --json

    \b
    Exit code:
      0  the proof holds
      1  it does not, and the first claim that fails is named
      2  an error: no proof, a damaged one, or data that cannot be read

    The checker shares no code with the search that found the proof, but for exact arithmetic. The data are read as
    when the proof was made: the proof file says which column was the target.
    """
    content, how = _read_proof(proof)
    rows = _rows(source, how, target, format)
    from rosenblatt.cli.proof_report import report_of, show
    from rosenblatt.proofs import first_failure

    failure = first_failure(content, rows.X, None if how.get("as") == "constraints" else rows.y)
    report = {"proof": proof, "holds": failure is None, "failure": failure}
    if failure is None:
        report = {**report_of(content, rows), **report}
    if json:
        from rosenblatt.cli.drawing import print_json

        print_json({"source": source, **report})
    elif failure is None:
        show(report)
    else:
        print(f"{proof}: does not hold on {source}: {failure}")
    raise typer.Exit(HOLDS if failure is None else FAILS)


def _read_proof(path: str) -> tuple[Any, dict[str, Any]]:
    """Return a proof, and how the data it speaks of were read."""
    if not Path(path).is_file():
        refuse(f"{path}: no such proof file")
    from rosenblatt.proofs import first_failure, from_json

    assert first_failure  # the checker brings every kind of proof, which reading one needs
    try:
        stated = from_json(Path(path))
        how = json_module.loads(Path(path).read_text(encoding="utf-8")).get("reading", {})
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a proof: {error}") from error
    return stated, how if isinstance(how, dict) else {}


def _rows(source: str, how: dict[str, Any], target: str | None, format: str | None) -> Rows:
    if how.get("as") == "constraints":
        from rosenblatt.cli.solve import read_constraints

        return read_constraints(source, _reading(how, None, format))
    return read(source, _reading(how, target, format))


def _reading(how: dict[str, Any], target: str | None, format: str | None) -> Reading:
    """Read as when the proof was made, unless told otherwise."""
    stored, text = how.get("target"), how.get("text")
    return Reading(
        target=target or (stored if isinstance(stored, str) else None),
        format=format,
        zero_based=_answer(how.get("zero_based")),
        skip_bad=how.get("skip_bad") is True,
        header=_answer(how.get("header")),
        text=tuple(map(str, text)) if isinstance(text, list) else (),
        scale=how.get("scale") is True,
    )


def _answer(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
