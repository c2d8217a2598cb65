"""The figure of ``fit`` on rows that were not learned from: by folds, by a part held out, or by a test file.

Whatever is learned from values (scaling, imputation, weights of words) is fitted on the training part of every fold
alone. The model that is saved learns from all rows, unless ``--certify`` holds some out for good.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.cli.errors import refuse_data
from rosenblatt.cli.output import counted, note

if TYPE_CHECKING:
    from rosenblatt.cli.fit.request import FitRequest
    from rosenblatt.cli.progress import Progress
    from rosenblatt.cli.reading import Rows
    from rosenblatt.learner.estimate import Estimate
    from rosenblatt.learner.models import Model
    from rosenblatt.learner.selection import Folds, OutOfFold

FEWEST_ROWS = 10  # of which some can be held out
FOLDS_UP_TO = (
    100_000_000  # stored values × passes (× classes, from three on) that are estimated by five folds
)
COPIES_NOTED = 0.05  # of the rows: more copies are mentioned
SHARE = 0.2  # held out of larger data, and by --certify


@dataclass
class Estimated:
    """What rows that were not learned from say about a model."""

    report: dict[str, Any]  # as JSON holds it
    metadata: dict[
        str, Any
    ]  # for the model file: the calibration of its scores, the results on rows held out
    figures: "Estimate | None" = None  # None of a regression
    labels: NDArray[Any] | None = None  # true labels of the scored rows
    predicted: NDArray[Any] | None = None
    probabilities: NDArray[np.float64] | None = None
    rows: NDArray[np.int64] | None = None  # numbers of the scored rows; None: of a test file


def estimate_by_rows(
    request: "FitRequest", rows: "Rows", groups: NDArray[Any] | None, progress: "Progress"
) -> Estimated | None:
    """Return the estimate by folds or by a part of the rows held out; None where rows are too few."""
    from rosenblatt.learner.models.folds import fold_scores

    if too_few(rows):
        return None
    folds, how = _folds(request, rows, groups)
    if request.training.task == "classification" and not _can_train(rows.y, folds):
        note(f"{rows.source}: no estimate; without a fold only one class is left to learn from")
        return None
    if groups is None:
        _note_copies(rows)
    progress.update("estimating", 0, folds.number)
    scores = fold_scores(
        request.training,
        rows.X if rows.plan is None else rows.raw,
        rows.y,
        rows.weight,
        folds,
        rows.plan,
        on_fold=lambda k: progress.update("estimating", k + 1, folds.number),
    )
    if request.training.task == "regression":
        return _regression(scores, rows, how)
    return _classification(scores, rows, folds, how)


def _note_copies(rows: "Rows") -> None:
    """Say where many rows are copies of others: a copy that was learned from makes the figure on the other too high."""
    from rosenblatt.core.order import row_keys
    from rosenblatt.core.rows import rows_of

    labels = np.unique(rows.y, return_inverse=True)[1].reshape(-1)
    copies = rows.y.size - np.unique(row_keys(rows_of(rows.X), labels)).size
    if copies > COPIES_NOTED * rows.y.size:
        note(
            f"{rows.source}: {copies:,} of {rows.y.size:,} rows are copies of others, and may be scored by a model "
            "that learned from their like; where a case was recorded twice the estimate is too high: "
            "--groups COLUMN keeps the rows of a case together"
        )


def too_few(rows: "Rows") -> bool:
    """Return whether rows are too few to hold some out, and say so."""
    if rows.y.size >= FEWEST_ROWS:
        return False
    note(f"{rows.source}: no estimate from {counted(rows.y.size, 'row')}; {FEWEST_ROWS} or more are needed")
    return True


def estimate_by_test(model: "Model", rows: "Rows", calibration: Any) -> Estimated | None:
    """Return the estimate on the rows of a test file; rows of classes that the model does not know are wrong."""
    from rosenblatt.cli.scoring import codes_of
    from rosenblatt.learner.estimate import estimate
    from rosenblatt.learner.models.folds import score_norm, with_all_classes

    if model.classes is None:
        return None
    codes, classes = codes_of(rows.y, model.classes), model.classes
    if not (codes >= 0).any():
        return None
    scores = np.asarray(model.scores(rows.X, model.hypothesis), np.float64)
    predicted = model.classes[_decided(scores)]
    probabilities = None
    if calibration is not None:
        probabilities = calibration.probabilities(scores, score_norm(model, model.hypothesis))
    if (codes < 0).any():
        others = rows.y[codes < 0]
        if model.classes.dtype.kind not in "iuf" or others.dtype.kind not in "iuf":
            classes, others = classes.astype(str), others.astype(str)
        classes = np.union1d(classes, others)
        codes, own = codes_of(rows.y, classes), codes_of(model.classes, classes)
        scores = with_all_classes(scores, own, classes.size)
        if probabilities is not None:
            few, probabilities = probabilities, np.zeros(scores.shape)
            probabilities[:, own] = few
    how = f"{counted(rows.y.size, 'row')} of {rows.source}"
    figures = estimate(scores, codes, classes, how, probabilities=probabilities)
    return Estimated(_figures_as_json(figures), {}, figures, rows.y, predicted, probabilities, None)


def certified(
    request: "FitRequest", model: "Model", rows: "Rows", held: "Rows", progress: "Progress"
) -> Estimated:
    """Return the bound on the error of a model that never saw the rows held out, and its probabilities.

    Probabilities come from folds of the rows learned from, so that the rows held out decide nothing but the bound.
    """
    from rosenblatt.cli.scoring import codes_of
    from rosenblatt.learner.abstention import held_out

    confidence = float(request.estimate.certify or 0.95)
    codes = codes_of(held.y, model.classes)
    if (codes < 0).any():
        refuse_data(
            f"{rows.source}: class {str(held.y[codes < 0][0])!r} has too few rows to hold some out: "
            "leave out --certify, or the rows of this class"
        )
    scores = np.asarray(model.scores(held.X, model.hypothesis), np.float64)
    other = np.asarray(model.scores(rows.X, model.hypothesis), np.float64)
    results = held_out(scores, codes, other, confidence)
    inner = estimate_by_rows(request, rows, None, progress)
    calibration = None if inner is None else calibration_in(inner.metadata)
    estimated = estimate_by_test(model, held, calibration)
    if estimated is None:
        raise AssertionError("a certified model has classes")
    figures = estimated.figures
    if figures is None:
        raise AssertionError("a certified model has figures")
    estimated.figures = figures._replace(how=f"{counted(held.y.size, 'row')} held out")
    bound = results.certificate
    estimated.report = {
        **_figures_as_json(estimated.figures),
        "certificate": {**bound._asdict(), "statement": str(bound)},
    }
    estimated.metadata = {
        "held_out": results.to_json(),
        **({} if inner is None else {"calibration": inner.metadata["calibration"]}),
    }
    return estimated


def progressive_estimate(model: "Model", schema: Any, rows: int) -> dict[str, Any] | None:
    """Return the figure of a fit that holds no rows: what the first pass got right before it learned from a row.

    It is about the mean of the hypotheses of that pass. The bound on that mean is a theorem where nothing but the
    learner was learned from the rows: statistics of all rows (scaling, weights of words) know the rows to come.
    """
    from rosenblatt.learner.estimate import progressive_bound

    mistakes = model.facts().get("mistakes")
    if model.classes is None or not mistakes or rows < 1:
        return None
    wrong = min(int(mistakes[0]), rows)
    fitted = getattr(schema, "preprocessing", None)
    prepared = fitted is not None and (fitted.spread is not None or fitted.texts or fitted.indicators)
    bound = None if prepared or getattr(schema, "documents", 0) else progressive_bound(wrong, rows)
    return {
        "kind": "progressive",
        "how": "first pass, each row before it was learned from",
        "rows": rows,
        "accuracy": 1.0 - wrong / rows,
        "bound": None if bound is None else {**bound._asdict(), "statement": str(bound)},
    }


def calibration_in(metadata: dict[str, Any]) -> Any:
    """Return the calibration that the metadata of a model file hold, or None."""
    from rosenblatt.learner.calibration import Calibration

    stored = metadata.get("calibration")
    return None if stored is None else Calibration.from_json(stored)


def held_out_rows(request: "FitRequest", rows: "Rows") -> NDArray[np.bool_]:
    """Return which rows ``--certify`` holds out: a fifth of every class, or the last ones in time order."""
    from rosenblatt.learner.selection import holdout

    if rows.y.size < FEWEST_ROWS:
        refuse_data(
            f"{rows.source}: {counted(rows.y.size, 'row')} are too few to hold some out: leave out --certify"
        )
    labels = np.unique(rows.y, return_inverse=True)[1].reshape(-1)
    folds = holdout(labels, SHARE, request.training.seed, in_order=request.estimate.time_order)
    return np.asarray(folds.fold == 0)


def _folds(request: "FitRequest", rows: "Rows", groups: NDArray[Any] | None) -> "tuple[Folds, str]":
    """Return how the rows are divided, and the words for it."""
    from rosenblatt.learner.selection import group_folds, holdout, stratified_folds, time_folds

    flags, seed = request.estimate, request.training.seed
    labels = np.unique(rows.y, return_inverse=True)[1].reshape(-1)
    if request.training.task == "regression":
        labels = np.zeros(rows.y.size, np.int64)
    count = flags.folds or 5
    if groups is not None:
        return group_folds(groups, count), f"{count} folds of whole groups ({flags.groups})"
    share = flags.holdout or (SHARE if flags.folds is None and _work(request, rows) > FOLDS_UP_TO else None)
    if share is not None:
        folds = holdout(labels, share, seed, in_order=flags.time_order)
        order = "the last " if flags.time_order else ""
        return folds, f"{order}{counted(int((folds.fold == 0).sum()), 'row')} held out"
    if flags.time_order:
        return time_folds(rows.y.size, count), f"{count} folds, each later than what was learned from"
    return stratified_folds(labels, count, seed), f"{min(count, rows.y.size)} folds"


def _work(request: "FitRequest", rows: "Rows") -> float:
    values = rows.X.nnz if hasattr(rows.X, "nnz") else rows.X.size
    classes = 1 if request.training.task == "regression" else np.unique(rows.y).size
    if request.training.learner == "kernel":
        return float(rows.y.size) ** 2 * 100.0
    return float(values) * request.training.max_iter * (classes if classes > 2 else 1)


def _can_train(y: NDArray[Any], folds: "Folds") -> bool:
    return all(np.unique(y[folds.train(k)]).size > 1 for k in range(folds.number))


def _classification(scores: "OutOfFold", rows: "Rows", folds: "Folds", how: str) -> Estimated:
    from rosenblatt.learner.calibration import fit_calibration
    from rosenblatt.learner.estimate import estimate

    y, classes = rows.y, np.unique(rows.y)
    labels = np.searchsorted(classes, y)
    calibration = fit_calibration(scores.normalised, labels, weight=rows.weight)
    scored = np.flatnonzero(scores.scored)
    probabilities = _probabilities_of_others(scores, labels, rows.weight, folds)
    figures = estimate(
        scores.normalised[scored],
        labels[scored],
        classes,
        how,
        probabilities=probabilities,
        training_labels=labels,
    )
    return Estimated(
        _figures_as_json(figures),
        {"calibration": calibration.to_json()},
        figures,
        y[scored],
        classes[_decided(scores.scores[scored])],
        probabilities,
        scored,
    )


def _probabilities_of_others(
    scores: "OutOfFold", labels: NDArray[np.int64], weight: NDArray[np.float64] | None, folds: "Folds"
) -> NDArray[np.float64] | None:
    """Return probabilities of the scored rows, each by a calibration on the scored rows of other folds.

    So no row has a part in its own probability. Rows of a single part held out are divided into five.
    """
    from rosenblatt.learner.calibration import fit_calibration
    from rosenblatt.learner.selection import stratified_folds

    scored = np.flatnonzero(scores.scored)
    if scored.size < 2:
        return None
    part = folds.fold[scored]
    if np.unique(part).size < 2:
        part = stratified_folds(labels[scored], 5).fold
    count = scores.scores.shape[1] if scores.scores.ndim == 2 else 2
    probabilities = np.full((labels.size, count), np.nan)
    for k in np.unique(part):
        others, own = scored[part != k], scored[part == k]
        own_weight = None if weight is None else weight[others]
        calibration = fit_calibration(scores.normalised[others], labels[others], weight=own_weight)
        probabilities[own] = calibration.probabilities(scores.normalised[own])
    return probabilities[scored]


def _regression(scores: "OutOfFold", rows: "Rows", how: str) -> Estimated:
    y = rows.y[scores.scored].astype(np.float64)
    residual = scores.scores[scores.scored] - y
    squared, variance = float((residual**2).mean()), float(((y - y.mean()) ** 2).mean())
    report = {
        "how": how,
        "rows": int(y.size),
        "mae": float(np.abs(residual).mean()),
        "rmse": squared**0.5,
        "r2": 1.0 - squared / variance if variance else None,
    }
    return Estimated(report, {})


def _decided(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    from rosenblatt.learner.scoring import decided

    return np.asarray(decided(scores, np.arange(scores.shape[1] if scores.ndim == 2 else 2)))


def _figures_as_json(figures: "Estimate") -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            return value.tolist()
        return None if isinstance(value, float) and np.isnan(value) else value

    report = {name: plain(value) for name, value in figures._asdict().items()}
    report["better_than_majority"] = figures.better_than_majority
    return report
