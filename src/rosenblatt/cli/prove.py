"""``rosenblatt prove``: is the data separable? The answer with its proof, either way."""

from typing import Annotated

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import Reading, read, refuse_overwriting
from rosenblatt.cli.telling import refuse

SEPARABLE, NOT_SEPARABLE, UNDECIDED = 0, 1, 3  # exit codes; 2 is an error


def prove(
    source: opt.Source,
    target: opt.Target = None,
    output: opt.ProofOutput = None,
    time_limit: opt.TimeLimit = None,
    no_intercept: opt.NoIntercept = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Where the answer is no, do not ask for a hyperplane that only touches rows."
        ),
    ] = False,
    skip_bad: opt.SkipBad = False,
    format: opt.InputFormat = None,
    header: opt.Header = None,
    text: opt.TextColumns = None,
    scale: opt.Scale = False,
    zero_based: opt.ZeroBased = None,
    json: opt.AsJson = False,
) -> None:
    """Decide whether the classes are separable, with a proof.

    \b
    Examples:
      rosenblatt prove data.csv --target y -o proof.json
      rosenblatt prove train.svm --time-limit 60
      rosenblatt prove sample:xor

    \b
    Exit code:
      0  separable: the hyperplane, its margin, and the lines on the margin
      1  not separable: the few lines that contradict each other, which is also how a wrong label is found
      2  an error
      3  undecided within the time limit: proved bounds on the margin

    The answer is exact for the numbers in the file; rosenblatt verify checks it again with other code.
    """
    if output is not None:
        refuse_overwriting(output, source)
    reading = Reading(target, format, zero_based, skip_bad, header, tuple(text or ()), scale)
    with Progress() as progress:
        progress.tell(f"reading {source}")
        rows = read(source, reading)
        if rows.y is None:
            refuse(f"{source}: has no labels, so there is nothing to separate")
        progress.tell("searching for a separator, or for a contradiction")
        from rosenblatt.proofs import separability

        proof = separability(
            rows.X, rows.y, fit_intercept=not no_intercept, time_limit=time_limit, touching=not quick
        )
    from rosenblatt.cli.proof_report import report_of, show, write

    report = report_of(proof, rows)
    if output is not None:
        write(proof, output, reading._replace(target=getattr(rows.schema, "target", None)), "examples")
        report["proof"] = output
    if json:
        from rosenblatt.cli.drawing import print_json

        print_json(report)
    else:
        show(report)
    answer = report["answer"]
    raise typer.Exit({"Separable": SEPARABLE, "Undecided": UNDECIDED}.get(answer, NOT_SEPARABLE))
