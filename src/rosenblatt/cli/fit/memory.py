"""``fit`` on what memory holds: all rows are read, then learned from."""

import time
from typing import TYPE_CHECKING, Any

from rosenblatt.cli.errors import refuse_data
from rosenblatt.cli.fit.report import Fitted, report_of, save_model
from rosenblatt.cli.fit.request import FitRequest
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import Rows, note_unseen_labels, read
from rosenblatt.cli.signals import Interruptible
from rosenblatt.learner.models import Model, trainer

if TYPE_CHECKING:
    from rosenblatt.learner.models import TrainingOptions


def fit_in_memory(request: FitRequest) -> dict[str, Any]:
    """Train on all rows at once, write what is to be written, and return the report."""
    output, test = request.output, request.estimate.test
    with Progress() as progress:
        started = time.perf_counter()
        progress.update(f"reading {request.source}")
        rows = read(request.source, request.reading)
        _check_target(rows, request)
        test_rows = None
        if test is not None:
            progress.update(f"reading {test}")
            test_rows = read(test, request.reading, rows.schema)
            if test_rows.y is None:
                refuse_data(f"{test}: has no target column to score against")
        read_at = time.perf_counter()
        model, interrupted = _train(request.training, rows, progress)
        trained_at = time.perf_counter()
        fitted = Fitted(model, rows.schema, rows.about(), {}, interrupted=interrupted, columns=rows.columns)
        save_model(request, fitted)
        progress.update("scoring")
        fitted.train = _scores(model, rows)
        fitted.class_counts = _class_counts(model, rows)
        if test_rows is not None:
            fitted.test = _test(model, test_rows)
            fitted.test_scores = _scores(model, test_rows)
    fitted.seconds = {
        "read": round(read_at - started, 6),
        "learn": round(trained_at - read_at, 6),
        "score": round(time.perf_counter() - trained_at, 6),
    }
    report = report_of(request, fitted)
    if output.report is not None:
        from rosenblatt.plots.report import write_report

        write_report(
            output.report,
            request.source,
            model=model.learner,
            X=rows.X,
            y=rows.y,
            feature_names=rows.schema.feature_names,
        )
        report["report"] = output.report
    if output.trace is not None:
        from rosenblatt.cli.fit.trace import write_trace

        report["trace"] = write_trace(output.trace, model, rows, output.json)
    return report


def _train(options: "TrainingOptions", rows: Rows, progress: Progress) -> tuple[Model, bool]:
    """Return the trained model, and whether an interrupt ended its training."""
    progress.update("learning", 0, options.max_iter)
    with Interruptible() as interrupt:

        def on_pass(done: int, message: str) -> bool:
            progress.update(message, done, options.max_iter)
            return not interrupt.requested

        model = trainer(options)(options, rows.X, rows.y, rows.weight, on_pass)
    return model, interrupt.requested


def _check_target(rows: Rows, request: FitRequest) -> None:
    """Refuse a target that the task cannot learn, and suggest regression where the target is measured."""
    y = rows.y
    if y is None:
        refuse_data(f"{rows.source}: has no labels to learn from")
    name = getattr(rows.schema, "target", None)
    target = f"target {name!r}" if name else "target"
    if request.training.task == "regression":
        if y.dtype.kind not in "iuf":
            refuse_data(
                f"{rows.source}: the {target} holds {str(y[0])!r}, which is not a number: leave out --task regression"
            )
        return
    labels = set(y[:1000].tolist())
    if len(labels) < 2 and (y == y[0]).all():
        refuse_data(f"{rows.source}: only one class, {y[0].item()!r}: a boundary needs two to lie between")
    if not request.task_given and rows.measured_target:
        refuse_data(
            f"{rows.source}: the {target} holds {len(set(y.tolist())):,} different numbers: learn to predict them with "
            "--task regression, or take each as a class with --task classification"
        )


def _class_counts(model: Model, rows: Rows) -> dict[str, int | None] | None:
    """Return how many rows there are of each class; None of a regression."""
    if model.classes is None:
        return None
    import numpy as np

    from rosenblatt.cli.scoring import codes_of

    counts = np.bincount(codes_of(rows.y, model.classes), minlength=model.classes.size)
    return dict(zip(map(str, model.classes.tolist()), counts.tolist(), strict=True))


def _scores(model: Model, rows: Rows) -> dict[str, dict[str, Any]]:
    """Score every hypothesis; where only some rows were scored, say how many."""
    from rosenblatt.cli.scoring import accuracy_of, codes_of, regression_errors

    if model.classes is None:
        return regression_errors(model, rows)
    codes = codes_of(rows.y, model.classes)
    return {
        name: accuracy_of(model, name, rows.X, codes, all_rows=name == model.hypothesis)._asdict()
        for name in model.hypotheses()
    }


def _test(model: Model, rows: Rows) -> dict[str, Any]:
    """Describe the test rows, and note labels that training never saw."""
    if model.classes is None:
        return rows.about()
    from rosenblatt.cli.scoring import codes_of, unseen_labels

    unseen = unseen_labels(rows.y, codes_of(rows.y, model.classes))
    note_unseen_labels(rows.source, unseen, model.classes)
    return {**rows.about(), **({"unseen_labels": unseen} if unseen else {})}
