"""``rosenblatt compare``: every linear learner on the same data."""

from typing import TYPE_CHECKING, Annotated

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import read, read_options, refuse_overwriting

if TYPE_CHECKING:
    from rosenblatt.plots.comparison import Comparison

WIDE = 100  # columns of a terminal that has room for every loss


def compare(
    source: opt.Source,
    target: opt.Target = None,
    report: opt.Report = None,
    learners: Annotated[
        list[str] | None,
        typer.Option("--learner", metavar="NAME", help="Only this one; may be repeated.", show_default="all"),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Of the folds.")] = 0,
    prove: Annotated[
        bool, typer.Option("--prove", help="Put a proof of separability, or of its absence, in the report.")
    ] = False,
    skip_bad: opt.SkipBad = False,
    format: opt.InputFormat = None,
    header: opt.Header = None,
    text: opt.TextColumns = None,
    scale: opt.Scale = False,
    zero_based: opt.ZeroBased = None,
    json: opt.AsJson = False,
) -> None:
    """Compare every linear learner on the same data.

    \b
    Examples:
      rosenblatt compare sample:iris
      rosenblatt compare data.csv --target y --report report.html
      rosenblatt compare data.csv --learner Perceptron --learner NaiveBayes --json
    """
    if prove and report is None:
        refuse("--prove puts its answer in the report: name one with --report FILE")
    if report is not None:
        refuse_overwriting(report, source)
    reading = read_options(
        target=target,
        format=format,
        zero_based=zero_based,
        skip_bad=skip_bad,
        header=header,
        text=text,
        scale=scale,
    )
    with Progress() as progress:
        progress.tell(f"reading {source}")
        rows = read(source, reading)
        if rows.y is None:
            refuse(f"{rows.source}: has no labels to learn from")
        progress.tell("comparing")
        from rosenblatt.plots.compare import compare as compared

        table = compared(rows.X, rows.y, learners=learners, cv=folds, seed=seed)
        if report is not None:
            from rosenblatt.plots.report import write_report

            progress.tell(f"writing {report}")
            proof = None
            if prove:
                from rosenblatt.proofs import separability

                proof = separability(rows.X, rows.y)
            write_report(
                report,
                source,
                model=table.best,
                X=rows.X,
                y=rows.y,
                comparison=table,
                proof=proof,
                feature_names=rows.schema.feature_names,
            )
    if json:
        from rosenblatt.cli.output import print_json

        print_json({**rows.about(), **table.to_dict(), **({"report": report} if report else {})})
        return
    _show(rows.source, table, report)


def _show(source: str, table: "Comparison", report: str | None) -> None:
    from rich.text import Text

    from rosenblatt.cli.output import columns, console, facts, number, seconds, show, title

    losses = ("perceptron", "hinge", "logistic") if console().width >= WIDE else ("hinge",)
    drawn = columns("learner", "accuracy", "±", "mistakes", *losses, "geo. margin", "time")
    notes = []
    for row in table.rows:
        if row.note:
            notes.append((row.learner, Text(f"left out: {row.note}", style="dim")))
            continue
        told = [number(getattr(row, f"{loss}_loss")) for loss in losses]
        drawn.add_row(
            row.learner,
            f"{row.accuracy:.4f}",
            f"{row.spread:.3f}",
            f"{row.mistakes:,}",
            *told,
            number(row.margin),
            seconds(row.seconds),
        )
    about = f"{table.n_rows:,} rows, {table.n_features:,} features, {len(table.classes)} classes, {table.folds} folds"
    rest = [*notes, *([("report", report)] if report else [])]
    show(title(source), Text(about, style="dim"), "", drawn, *(["", facts(rest)] if rest else []))
