"""``rosenblatt compare``: every linear learner on the same data."""

from typing import TYPE_CHECKING, Annotated

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import refuse, refuse_data
from rosenblatt.cli.flags import flag
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import read_to_train, refuse_overwriting, scale_by_default

if TYPE_CHECKING:
    from rosenblatt.plots.comparison import Comparison

WIDE = 100  # columns of a terminal that has room for every loss


def compare(
    source: opt.Source,
    data: opt.DataFlags,
    learners: Annotated[
        list[str] | None,
        flag(
            "--learner",
            metavar="NAME",
            help="Only this learner, by its name in fit --learner or its class, such as Perceptron; may be repeated.",
            show_default="all",
        ),
    ] = None,
    folds: Annotated[int, flag("--folds", min=2, help="Number of folds of the cross-validation.")] = 5,
    seed: Annotated[int, flag("--seed", help="Seed of the folds.")] = 0,
    prove: Annotated[
        bool, flag("--prove", help="Put a proof of separability, or of its absence, in the report.")
    ] = False,
    report: opt.Report = None,
    json: opt.AsJson = False,
) -> None:
    """Compare every linear learner by cross-validation.

    \b
    Examples:
      rosenblatt compare sample:iris
      rosenblatt compare data.csv --target y --report report.html
      rosenblatt compare data.csv --learner perceptron --learner centroid --json

    Numeric columns of a table are standardised unless --no-scale is given. Means, deviations and weights of words come
    from the training part of every fold alone.
    """
    if prove and report is None:
        refuse("--prove puts its answer in the report: name one with --report FILE")
    if report is not None:
        refuse_overwriting(report, source)
    reading = data.read_options(classes=True)
    reading = reading.changed(scale=scale_by_default(source, reading, data.scale))
    with Progress() as progress:
        progress.update(f"reading {source}")
        rows = read_to_train(source, reading)
        if rows.y is None:
            refuse_data(f"{rows.source}: has no labels to learn from")
        if rows.measured_target:
            refuse_data(
                f"{rows.source}: the target holds many different numbers, and these learners learn classes: "
                "name another column with --target, or learn to predict numbers with fit --task regression"
            )
        progress.update("comparing")
        from rosenblatt.plots.compare import compare as compared

        table = compared(
            rows.X if rows.plan is None else rows.raw,
            rows.y,
            learners=_class_names(learners),
            cv=folds,
            seed=seed,
            prepare=rows.plan,
        )
        if report is not None:
            from rosenblatt.plots.report import write_report

            progress.update(f"writing {report}")
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
    _show(rows.source, table, report, scaled=bool(reading.scale))


NEEDS_COUNTS = (
    "it learns from counts, and standardised columns have negative values; --no-scale leaves them as they are"
)
CLASS_NAMES = {  # learners as fit --learner spells them, and as the comparison does
    "perceptron": "Perceptron",
    "centroid": "ClosestCentroid",
    "naive-bayes": "NaiveBayes",
    "logistic": "LogisticRegression",
}


def _class_names(learners: list[str] | None) -> list[str] | None:
    return [CLASS_NAMES.get(name, name) for name in learners] if learners else None


def _show(source: str, table: "Comparison", report: str | None, scaled: bool) -> None:
    from rich.text import Text

    from rosenblatt.cli.output import columns, console, facts, number, seconds, share, show, title

    losses = ("perceptron", "hinge", "logistic") if console().width >= WIDE else ("hinge",)
    drawn = columns("learner", "accuracy", "±", "mistakes", *losses, "geo. margin", "time")
    notes = []
    for row in table.rows:
        if row.note:
            note = NEEDS_COUNTS if scaled and row.learner == "MultinomialNaiveBayes" else row.note
            notes.append((row.learner, Text(f"left out: {note}", style="dim")))
            continue
        losses_shown = [number(getattr(row, f"{loss}_loss")) for loss in losses]
        drawn.add_row(
            row.learner,
            share(row.accuracy),
            f"{row.spread:.3f}",
            f"{row.mistakes:,}",
            *losses_shown,
            number(row.margin),
            seconds(row.seconds),
        )
    about = f"{table.n_rows:,} rows, {table.n_features:,} features, {len(table.classes)} classes, {table.folds} folds"
    rest = [*notes, *([("report", report)] if report else [])]
    show(title(source), Text(about, style="dim"), "", drawn, *(["", facts(rest)] if rest else []))
