"""``rosenblatt verify``: decide whether a proof proves the claim that the command line states."""

import re
from dataclasses import fields
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import ExitCode, refuse, refuse_data
from rosenblatt.cli.flags import flag
from rosenblatt.cli.output import listed
from rosenblatt.cli.reading import Rows, read

if TYPE_CHECKING:
    from rosenblatt.data import ReadOptions

Expectation = Literal[
    "separable",
    "inseparable",
    "quasi-separable",
    "overlapping",
    "feasible",
    "infeasible",
    "undecided",
    "hard-margin",
    "soft-margin",
    "kernel-separable",
    "kernel-inseparable",
]
FLAGS = {  # of the record of how data were read
    "target": "--target",
    "format": "--format",
    "zero_based": "--zero-based",
    "skip_bad": "--skip-bad",
    "header": "--header",
    "text": "--text",
    "scale": "--scale",
    "separator": "--sep",
}
# What the claim says in words of its own; the other options of the caller are written out as they were given.
STATED = (
    "target",
    "format",
    "header",
    "zero_based",
    "skip_bad",
    "text",
    "scale",
    "skip_share",
    "category",
    "date",
)
READ_BY_CHECKER = (
    "target",
    "format",
)  # options that its command line has, or that the name of a file decides
FORMATS = {  # what their values mean
    "vw": "repeated features added and scales multiplied in binary64",
    "jsonl": "text as features of 0 or 1 called name=text, true as 1, false and null as 0",
}
ENCODED = {  # columns of a table that are not numbers as written
    "category": "categories, one feature of 0 or 1 for each",
    "boolean": "1 for yes and 0 for no",
    "date": "dates, in numbers",
}


def verify(
    proof: Annotated[str, typer.Argument(metavar="PROOF", help="A proof, written by prove -o or solve -o.")],
    source: opt.Source,
    data: opt.DataFlags,
    no_intercept: Annotated[
        bool, flag("--no-intercept", help="Claim: hyperplanes that pass through the origin.")
    ] = False,
    constraints: Annotated[
        bool,
        flag("--constraints", help="Claim: A w >= 1. Every column is a variable, as solve reads them."),
    ] = False,
    expect: Annotated[
        Expectation | None,
        flag(
            "--expect",
            metavar="ANSWER",
            help=f"Exit with 0 only if the proof is of this answer: {', '.join(get_args(Expectation))}.",
            show_default="anything",
        ),
    ] = None,
    independent: Annotated[
        bool,
        flag("--independent", help="Use the small checker: one file, standard library only, CSV and LIBSVM."),
    ] = False,
    json: opt.AsJson = False,
) -> None:
    """Check a proof against data, in exact arithmetic.

    \b
    Examples:
      rosenblatt verify proof.json data.csv --target y --expect separable
      rosenblatt verify answer.json constraints.csv --constraints
      rosenblatt verify proof.json data.csv --independent

    \b
    Exit code:
      0  the proof holds, and proves what --expect names
      1  it does not hold, or proves something else; the first reason is named
      2  wrong usage: no such proof, or one of another claim
      65 bad data: a damaged proof, or data that cannot be read

    You state the claim: these options alone decide how the data are read, with the defaults of prove. A proof about
    data that were read with other options is refused, and the message names the option.
    """
    reading = data.read_options(exact=True)
    evidence, recorded = _read_proof(proof)
    kind = "constraints" if constraints else "examples"
    _compare(proof, evidence, kind, no_intercept, recorded)
    if independent:
        verdict = _independent(proof, source, reading, recorded, constraints, no_intercept, expect)
    else:
        verdict = _fast(proof, evidence, source, reading, recorded, constraints, no_intercept, expect)
    if json:
        from rosenblatt.cli.output import print_json

        print_json({"source": source, **verdict})
    elif not verdict["holds"]:
        print(f"{proof}: does not hold on {source}: {verdict['failure']}\nclaim  {verdict['claim']}")
    elif independent:
        print(f"claim  {verdict['claim']}\n{proof} holds: {verdict['proved']}")
    else:
        from rosenblatt.cli.proof_report import show

        show(verdict)
    raise typer.Exit(ExitCode.YES if verdict["holds"] else ExitCode.NO)


def _read_proof(path: str) -> tuple[Any, dict[str, Any]]:
    """Return a proof, and what its file records of how the data were read."""
    if not Path(path).is_file():
        refuse(f"{path}: no such proof file")
    from rosenblatt.proofs.claims import read_proof

    try:
        return read_proof(Path(path))
    except ValueError as error:
        refuse_data(f"{error}" if path in str(error) else f"{path}: {error}")


def _compare(path: str, evidence: Any, kind: str, no_intercept: bool, recorded: dict[str, Any]) -> None:
    """Refuse a proof of another kind of claim before any data are read, and name the option."""
    claim = getattr(evidence, "proof", evidence)
    about = "constraints" if not claim.classes else "examples"
    if about != kind or recorded.get("as", kind) != kind:
        way = "pass --constraints" if kind == "examples" else "leave out --constraints"
        if about == kind:
            refuse(
                f"{path}: contradicts itself: it is about {about} and records data read otherwise; prove again"
            )
        refuse(f"{path}: is about {about}, your claim about {kind}; {way} if that is what you claim")
    if kind == "examples" and claim.fit_intercept == no_intercept:
        which = "with an intercept" if claim.fit_intercept else "through the origin"
        way = "leave out" if no_intercept else "pass"
        refuse(f"{path}: is about hyperplanes {which}; {way} --no-intercept if that is what you claim")


def _compare_reading(path: str, recorded: dict[str, Any], actual: dict[str, Any]) -> None:
    """Refuse a proof whose data were read otherwise, unless it is the matrix that it was exported as."""
    exported = recorded.get("exported")
    records = [recorded, *([exported] if isinstance(exported, dict) else [])]
    differences = [_difference(record, actual) for record in records]
    if None in differences:
        return
    key, before, now = differences[0] or ("", None, None)
    refuse(
        f"{path}: is about data read {_option(key, before)}, your claim about data read {_option(key, now)}; give the "
        "same option if that is what you claim, or prove again with rosenblatt prove"
    )


def _difference(recorded: dict[str, Any], actual: dict[str, Any]) -> tuple[str, Any, Any] | None:
    """Return the first difference between two readings; what one of them does not say is not compared."""
    for key in FLAGS:
        before, now = recorded.get(key), actual.get(key)
        if key in actual and before is not None and before != now:
            return key, before, now
    return None


def _option(key: str, value: Any) -> str:
    """Write one part of a reading as the option that asks for it."""
    flag = FLAGS.get(key, f"--{key.replace('_', '-')}")
    if value is False and key in ("header", "zero_based"):
        return "with --no-header" if key == "header" else "with --one-based"
    if value in (None, False, []):
        return f"without {flag}"
    values = value if isinstance(value, list | tuple) else [value]
    return f"with {flag}" if value is True else "with " + " ".join(f"{flag} {_word(each)}" for each in values)


def _options_beside(names: tuple[str, ...], reading: "ReadOptions") -> dict[str, Any]:
    """Return the options of the caller that are not at their defaults, but for some."""
    defaults = opt.DataFlags().read_options(exact=True)
    values = {each.name: getattr(reading, each.name) for each in fields(reading) if each.name not in names}
    return {name: value for name, value in values.items() if value != getattr(defaults, name)}


def _word(value: Any) -> str:
    """Write a value of a proof's record: quoted where it is not one plain word, for it may be anything."""
    text = str(value)[:60]
    return text if re.fullmatch(r"[\w.-]+", text) else repr(text)


def _claim(
    rows: Rows, actual: dict[str, Any], reading: "ReadOptions", labels: Any, no_intercept: bool
) -> str:
    """State the claim in full: options, and what was inferred where none was given."""
    n, d = rows.X.shape
    how = [f"data read as {actual['format']}"]
    if actual["header"] is not None:
        how += ["names in the first line" if actual["header"] else "no line of names"]
    how += [f"target {actual['target']}"] if actual["target"] is not None else []
    how += [f"indices from {int(not actual['zero_based'])}"] if actual["zero_based"] is not None else []
    how += [FORMATS[actual["format"]]] if actual["format"] in FORMATS else []
    how += rows.notes
    how += [f"text {listed(actual['text'])} as words"] if actual["text"] else []
    for kind, means in ENCODED.items():
        names = [repr(each.name) for each in getattr(rows.schema, "columns", ()) if each.kind == kind]
        how += [f"{listed(names, 8)} as {means}"] if names else []
    how += ["numeric columns scaled"] if actual["scale"] else []
    how += [_option(name, value) for name, value in _options_beside(STATED, reading).items()]
    how += [f"{rows.skipped_in_all:,} bad lines skipped"] if rows.skipped_in_all else []
    if labels is None:
        what = "constraints A w >= 1"
    else:
        what = f"labels {listed([repr(label) for label in labels], 8)}, hyperplanes "
        what += "through the origin" if no_intercept else "with an intercept"
    return f"{', '.join(how)}, {n:,} rows, {d:,} features, {what}; every number is the binary64 nearest to its text"


def _fast(
    path: str,
    evidence: Any,
    source: str,
    reading: "ReadOptions",
    recorded: dict[str, Any],
    constraints: bool,
    no_intercept: bool,
    expect: str | None,
) -> dict[str, Any]:
    """Read the data as the options say and let the fast verifier decide."""
    from rosenblatt.cli.proof_report import reading_of, report_of
    from rosenblatt.cli.schemas import format_of
    from rosenblatt.proofs import first_failure

    if constraints:
        from rosenblatt.cli.commands.solve import read_constraints

        rows = read_constraints(source, reading)
    else:
        rows = read(source, reading)
        if rows.y is None:
            refuse_data(f"{source}: has no labels; pass --constraints if it holds constraints")
    actual = reading_of(rows, reading, "constraints" if constraints else "examples")
    actual["format"] = reading.format or (
        "sample" if source.startswith("sample:") else format_of(source, reading)
    )
    _compare_reading(path, recorded, actual)
    y = None if constraints else rows.y
    failure = first_failure(evidence, rows.X, y, fit_intercept=not no_intercept, expect=expect)
    labels = None if y is None else sorted(set(y.tolist()))
    verdict: dict[str, Any] = {"proof": path, "holds": failure is None, "failure": failure}
    verdict["claim"] = _claim(rows, actual, reading, labels, no_intercept)
    return {**report_of(evidence, rows), **verdict} if failure is None else verdict


def _independent(
    path: str,
    source: str,
    reading: "ReadOptions",
    recorded: dict[str, Any],
    constraints: bool,
    no_intercept: bool,
    expect: str | None,
) -> dict[str, Any]:
    """Let the small checker read proof and data by itself, and decide."""
    from rosenblatt.cli.schemas import format_of
    from rosenblatt.proofs import checker

    single = source != "-" and (Path(source).exists() or not has_magic(source))
    others = _options_beside(READ_BY_CHECKER, reading)
    form = format_of(source, reading) if single and not source.startswith("sample:") and not others else None
    if form != ("csv" if source.endswith(".csv") else "libsvm"):
        refuse(
            f"{source}: the small checker reads numbers as written, from one file that ends in .csv or of LIBSVM text"
            + "".join(f", not {_option(name, value)}" for name, value in others.items())
            + "; write them with rosenblatt prove --export-matrix, and verify that file"
        )
    try:
        proof = checker.load_proof(Path(path).read_text(encoding="utf-8"))
        table = checker.read_table(source, reading.target, constraints)
    except checker.Refused as error:
        refuse_data(str(error))
    actual: dict[str, Any] = {
        "target": table.target,
        "format": form,
        "zero_based": False if form == "libsvm" else None,
        "header": table.header,
        "skip_bad": False,
        "text": [],
        "scale": False,
    }
    _compare_reading(path, recorded, actual)
    verdict = {"proof": path, "claim": checker.stated(table, not no_intercept)}
    try:
        proved = checker.check(proof, table, fit_intercept=not no_intercept, expect=expect)
    except checker.Refused as reason:
        return {**verdict, "holds": False, "failure": str(reason), "proved": None}
    return {**verdict, "holds": True, "failure": None, "proved": proved}
