"""``rosenblatt solve``: find w with A w >= 1 in every row, or prove that there is none."""

from typing import TYPE_CHECKING

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import ExitCode, refuse
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import Rows, read, refuse_overwriting

if TYPE_CHECKING:
    from rosenblatt.data import ReadOptions


ANSWERS = {"Feasible": ExitCode.YES, "Undecided": ExitCode.UNDECIDED}


def solve(
    source: opt.Constraints,
    data: opt.ConstraintFlags,
    output: opt.ProofOutput = None,
    time_limit: opt.TimeLimit = None,
    json: opt.AsJson = False,
) -> None:
    """Solve A w >= 1, or prove that it has no solution.

    \b
    Examples:
      rosenblatt solve constraints.csv
      rosenblatt solve constraints.csv -o answer.json --time-limit 60
      rosenblatt verify answer.json constraints.csv --constraints

    \b
    Exit code:
      0  feasible: the variables, with every row checked exactly
      1  infeasible: the few rows that add up to zero, with their weights
      2  wrong usage; 65 bad data
      3  undecided within the time limit

    Every column of a CSV file is a variable and every line a row of A. In LIBSVM text the label is the right-hand
    side, and must be 1.
    """
    if output is not None:
        refuse_overwriting(output, source)
    reading = data.read_options(exact=True)
    with Progress() as progress:
        progress.update(f"reading {source}")
        rows = read_constraints(source, reading)
        progress.update("searching for a solution, or for a contradiction")
        from rosenblatt.proofs import solve_cone

        answer = solve_cone(rows.X, time_limit=time_limit)
    from rosenblatt.cli.proof_report import reading_of, report_of, show, write

    report = report_of(answer, rows)
    if output is not None:
        write(answer, output, reading_of(rows, reading, "constraints"))
        report["proof"] = output
    if json:
        from rosenblatt.cli.output import print_json

        print_json(report)
    else:
        show(report)
    raise typer.Exit(ANSWERS.get(report["answer"], ExitCode.NO))


def read_constraints(source: str, reading: "ReadOptions") -> Rows:
    """Read the rows of A: every column of a table, or LIBSVM text whose labels are all 1."""
    from rosenblatt.cli.schemas import format_of, table_of_numbers
    from rosenblatt.data import BadInput

    if source.startswith("sample:"):
        refuse(f"{source}: a sample holds examples, not constraints")
    if format_of(source, reading) == "libsvm":
        rows = read(source, reading)
        other = (rows.y != 1).nonzero()[0]
        if other.size:
            label = rows.y[other[0]].item()
            raise BadInput(
                source,
                int(rows.lines[other[0]]),
                f"the right-hand side is {label}: A w >= 1 has 1 everywhere",
            )
        return rows
    return read(source, reading, table_of_numbers(source, reading))
