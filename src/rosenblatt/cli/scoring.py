"""Score a model on labelled rows."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rosenblatt.cli.reading import Rows
    from rosenblatt.learner.models import Model

MOST_WORK = 30_000_000  # rows × cost of a hypothesis up to which all rows are scored without a request


class Accuracy(NamedTuple):
    """The share of rows that a hypothesis names rightly."""

    accuracy: float
    rows: int  # that were scored: all, or some spread evenly where scoring is expensive
    undecided: int  # no class was ahead; the first of them was taken


def codes_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of every label among the classes, -1 where it is none of them.

    >>> codes_of(np.array([3, 1, 2]), np.array([1.0, 2.0])).tolist()
    [-1, 0, 1]
    >>> codes_of(np.array(["b", "c"]), np.array(["a", "b"])).tolist()
    [1, -1]
    """
    distinct, index = np.unique(labels, return_inverse=True)
    as_number = distinct.dtype.kind in "iuf" and classes.dtype.kind in "iuf"
    place = {(each if as_number else str(each)): at for at, each in enumerate(classes.tolist())}
    codes = [place.get(each if as_number else str(each), -1) for each in distinct.tolist()]
    return np.array(codes, dtype=np.int64)[index.reshape(-1)]


def unseen_labels(labels: NDArray[Any], codes: NDArray[np.int64]) -> dict[str, int]:
    """Count the labels that are no class of the model."""
    names, counts = np.unique(labels[codes < 0], return_counts=True)
    return {str(name): int(count) for name, count in zip(names.tolist(), counts.tolist(), strict=True)}


def named(scores: NDArray[Any], n_classes: int) -> NDArray[np.int64]:
    """Return the place of the class that scores name; ties go to the first."""
    if scores.ndim == 1:
        return np.where(scores > 0.0, np.int64(n_classes - 1), np.int64(0))
    return np.asarray(np.argmax(scores, axis=1), dtype=np.int64)


def torn(scores: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the rows for which no class is ahead."""
    if scores.ndim == 1:
        return np.asarray(scores == 0.0)
    return np.asarray((scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1)


def accuracy_of(
    model: "Model", hypothesis: str, X: Any, codes: NDArray[np.int64], all_rows: bool
) -> Accuracy:
    """Score a hypothesis, on all rows where it is cheap or requested, else on some spread evenly."""
    X, codes = _affordable(X, codes, 0 if all_rows else model.cost(hypothesis))
    scores = model.scores(X, hypothesis)
    right = named(scores, model.classes.size) == codes
    return Accuracy(float(right.mean()), codes.size, int(torn(scores).sum()))


def _affordable(X: Any, codes: NDArray[np.int64], cost: int) -> tuple[Any, NDArray[np.int64]]:
    n = codes.size
    rows = n if cost == 0 else max(100, MOST_WORK // cost)
    if rows >= n:
        return X, codes
    some = np.arange(rows) * n // rows
    return X[some], codes[some]


def regression_errors(model: "Model", rows: "Rows") -> dict[str, dict[str, Any]]:
    """Return the errors of every hypothesis of a model of numbers: MAE, RMSE and R²."""
    from rosenblatt.cli.errors import refuse_data

    if rows.y.dtype.kind not in "iuf":
        refuse_data(f"{rows.source}: the target holds {str(rows.y[0])!r}, not a number as the model predicts")
    y = rows.y.astype(np.float64)
    variance = float(((y - y.mean()) ** 2).mean())
    errors = {}
    for name in model.hypotheses():
        residual = model.scores(rows.X, name) - y
        squared = float((residual**2).mean())
        errors[name] = {
            "mae": float(np.abs(residual).mean()),
            "rmse": squared**0.5,
            "r2": 1.0 - squared / variance if variance else None,
            "rows": int(y.size),
        }
    return errors
