"""``rosenblatt prove``: is the data separable? The answer with its proof, either way."""

from typing import Annotated

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import ExitCode, refuse, refuse_data
from rosenblatt.cli.flags import flag
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import read, refuse_overwriting


def prove(
    source: opt.Source,
    data: opt.DataFlags,
    output: opt.ProofOutput = None,
    time_limit: opt.TimeLimit = None,
    no_intercept: opt.NoIntercept = False,
    quick: Annotated[
        bool,
        flag(
            "--quick",
            help="If the classes are not separable, do not search for a hyperplane that touches rows.",
        ),
    ] = False,
    export_matrix: Annotated[
        str | None,
        flag(
            "--export-matrix",
            metavar="FILE",
            help="Write the numbers and labels of the claim to this .csv or .svm file, for the small checker.",
        ),
    ] = None,
    json: opt.AsJson = False,
) -> None:
    """Decide whether the classes are separable, with a proof.

    \b
    Examples:
      rosenblatt prove data.csv --target y -o proof.json
      rosenblatt prove train.svm --time-limit 60
      rosenblatt prove sample:xor
      rosenblatt prove mails.parquet -o proof.json --export-matrix matrix.csv

    \b
    Exit code:
      0  separable: the hyperplane, its margin, and the lines on the margin
      1  not separable: the few lines that contradict each other, weighted
      2  wrong usage; 65 bad data
      3  undecided within the time limit: proved bounds on the margin

    The answer is exact for the numbers in the file, each read as the nearest binary64. Nothing is scaled, filled in or
    dropped unless an option asks for it. rosenblatt verify checks the proof with other code.
    """
    for path in (output, export_matrix):
        if path is not None:
            refuse_overwriting(path, source)
    if export_matrix is not None and not export_matrix.endswith((".csv", ".svm")):
        refuse(f"{export_matrix}: the name of a matrix ends in .csv or .svm")
    reading = data.read_options(exact=True)
    with Progress() as progress:
        progress.update(f"reading {source}")
        rows = read(source, reading)
        if rows.y is None:
            refuse_data(f"{source}: has no labels, so there is nothing to separate")
        progress.update("searching for a separator, or for a contradiction")
        from rosenblatt.proofs import separability

        proof = separability(
            rows.X, rows.y, fit_intercept=not no_intercept, time_limit=time_limit, touching=not quick
        )
    from rosenblatt.cli.proof_report import reading_of, report_of, show, write

    report = report_of(proof, rows)
    recorded = reading_of(rows, reading, "examples")
    if export_matrix is not None:
        from rosenblatt.cli.proof_report import export_matrix as write_matrix

        recorded["exported"] = write_matrix(rows, export_matrix)
        report["matrix"] = export_matrix
    if output is not None:
        write(proof, output, recorded)
        report["proof"] = output
    if json:
        from rosenblatt.cli.output import print_json

        print_json(report)
    else:
        show(report)
    answer = report["answer"]
    raise typer.Exit({"Separable": ExitCode.YES, "Undecided": ExitCode.UNDECIDED}.get(answer, ExitCode.NO))
