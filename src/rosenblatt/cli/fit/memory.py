"""``fit`` on what memory holds: all rows read, then learned from."""

import time
from typing import TYPE_CHECKING, Any

from rosenblatt.cli.errors import refuse
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import Rows, note_unseen_labels, read
from rosenblatt.cli.signals import Interruptible
from rosenblatt.learner.models import Model, Options, trainer

if TYPE_CHECKING:
    from rosenblatt.cli.scoring import Accuracy
    from rosenblatt.data import ReadOptions


def fit_in_memory(
    source: str,
    reading: "ReadOptions",
    asked: Options,
    test: str | None,
    model: str | None,
    save_ledger: bool,
    report_file: str | None,
) -> dict[str, Any]:
    """Train on all rows at once, write the model and the report, and return what is to be printed."""
    with Progress() as progress:
        started = time.perf_counter()
        progress.tell(f"reading {source}")
        rows = read(source, reading)
        _check_classes(rows)
        held_out = None
        if test is not None:
            progress.tell(f"reading {test}")
            held_out = read(test, reading, rows.schema)
            if held_out.y is None:
                refuse(f"{test}: has no target column to score against")
        read_at = time.perf_counter()
        trained, interrupted = _train(asked, rows, progress)
        trained_at = time.perf_counter()
        if model is not None:
            about = {
                "learner": asked.learner,
                "schema": rows.schema.to_dict(),
                "feature_names": rows.schema.feature_names,
            }
            trained.save(model, about, save_ledger)
        progress.tell("scoring")
        report = _report(trained, rows, held_out)
    report["interrupted"] = interrupted
    if model is not None:
        report["model"] = model
    report["seconds"] = {
        "read": round(read_at - started, 6),
        "learn": round(trained_at - read_at, 6),
        "score": round(time.perf_counter() - trained_at, 6),
    }
    if report_file is not None:
        from rosenblatt.plots.report import write_report

        write_report(
            report_file,
            source,
            model=trained.learner,
            X=rows.X,
            y=rows.y,
            feature_names=rows.schema.feature_names,
        )
        report["report"] = report_file
    return report


def _train(asked: Options, rows: Rows, progress: Progress) -> tuple[Model, bool]:
    """Return the trained model, and whether an interrupt ended its training."""
    progress.tell("learning", 0, asked.passes)
    with Interruptible() as interrupt:

        def on_pass(done: int, words: str) -> bool:
            progress.tell(words, done, asked.passes)
            return not interrupt.requested

        trained = trainer(asked.learner)(asked, rows.X, rows.y, rows.weight, on_pass)
    return trained, interrupt.requested


def _check_classes(rows: Rows) -> None:
    if rows.y is None:
        refuse(f"{rows.source}: has no labels to learn from")
    labels = set(rows.y[:1000].tolist())
    if len(labels) < 2 and (rows.y == rows.y[0]).all():
        refuse(f"{rows.source}: only one class, {rows.y[0].item()!r}: a boundary needs two to lie between")


def _report(trained: Model, rows: Rows, test: Rows | None) -> dict[str, Any]:
    """Put together what is printed, as JSON holds it."""
    import numpy as np

    from rosenblatt.cli.scoring import codes_of, unseen_labels

    codes = codes_of(rows.y, trained.classes)
    report: dict[str, Any] = {
        **rows.about(),
        "features": trained.n_features,
        "classes": dict(zip(map(str, trained.classes.tolist()), np.bincount(codes).tolist(), strict=True)),
        "learner": trained.name,
        "hypothesis": trained.hypothesis,
        **trained.facts(),
    }
    report["accuracy"] = {"train": _accuracies(trained, rows.X, codes)}
    if test is None:
        return report
    test_codes = codes_of(test.y, trained.classes)
    unseen = unseen_labels(test.y, test_codes)
    note_unseen_labels(test.source, unseen, trained.classes)
    report["test"] = {**test.about(), **({"unseen_labels": unseen} if unseen else {})}
    report["accuracy"]["test"] = _accuracies(trained, test.X, test_codes)
    return report


def _accuracies(trained: Model, X: Any, codes: Any) -> dict[str, dict[str, Any]]:
    """Score every hypothesis; where only some rows were looked at, say how many."""
    from rosenblatt.cli.scoring import accuracy_of

    found: dict[str, Accuracy] = {
        name: accuracy_of(trained, name, X, codes, asked=name == trained.hypothesis)
        for name in trained.hypotheses()
    }
    return {name: each._asdict() for name, each in found.items()}
