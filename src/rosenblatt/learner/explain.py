"""Explanations by name: what each feature of an example added to its score, and what a model looks for.

Exactness: every contribution is ``wᵢ·xᵢ`` rounded once to a float; the score of an explanation is the exact sum of the
contributions, rounded once (:func:`math.fsum`). So ``math.fsum`` of the parts *is* the score, in any order, and it
differs from a matrix product, which rounds at every step, by no more than that rounding.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BIAS = "(bias)"


class Part(NamedTuple):
    """What one feature added to a score."""

    feature: str
    value: float  # of the example
    weight: float  # of the model
    contribution: float  # weight × value, rounded once

    def __str__(self) -> str:
        return f"{self.contribution:+12.6g}  {self.feature} ({self.value:g} × {self.weight:.6g})"


class Explanation(NamedTuple):
    """Why an example got its score: ``math.fsum(part.contribution for part in parts) == score``."""

    label: Any  # the class that a positive contribution speaks for
    against: Any  # the class that a negative one speaks for; None where a class is scored by itself
    score: float
    parts: tuple[Part, ...]  # the largest contributions first; features that are zero are left out

    def __str__(self) -> str:
        side = f"{self.label}" if self.against is None else f"{self.label} against {self.against}"
        return "\n".join([f"score {self.score:.6g} for {side}", *map(str, self.parts)])


class Weighed(NamedTuple):
    """A feature and its weight."""

    feature: str
    weight: float


class Portrait(NamedTuple):
    """What speaks for one class: its largest weights, the largest first."""

    label: Any
    bias: float
    features: tuple[Weighed, ...]

    def __str__(self) -> str:
        lines = (f"{weight:+12.6g}  {feature}" for feature, weight in self.features)
        return "\n".join([f"{self.label} (bias {self.bias:.6g})", *lines])


def names_or_numbers(names: Sequence[Any] | None, n_features: int) -> list[str]:
    """Return feature names as text, ``x0``, ``x1`` … where there are none.

    >>> names_or_numbers(None, 2)
    ['x0', 'x1']
    """
    if names is None or not len(names):
        return [f"x{j}" for j in range(n_features)]
    if len(names) != n_features:
        raise ValueError(f"{len(names)} feature names were given for {n_features} features")
    return [str(name) for name in names]


def explain_row(
    weights: NDArray[Any],
    x: Any,
    classes: Sequence[Any] | NDArray[Any] | None,
    names: Sequence[Any] | None = None,
    *,
    label: Any = None,
    against: Any = None,
) -> Explanation:
    """Say what every feature added to the score of one example.

    Parameters
    ----------
    weights : ``(rows, 1 + features)``, the bias first; one row for two classes (or a regression), else one each
    x : one example: a vector, or a matrix of one row, dense or sparse
    classes : the labels, or None where the score is the prediction
    names : of the features
    label, against : which class to speak for, and against which. With two classes the score is for the second
        against the first unless asked otherwise; with more it is the winner's own score unless ``against`` is given.

    >>> told = explain_row(np.array([[-1.0, 2.0, 0.5]]), [1.0, 4.0], ["ham", "spam"], ["free", "hello"])
    >>> print(told)
    score 3 for spam against ham
              +2  free (1 × 2)
              +2  hello (4 × 0.5)
              -1  (bias) (1 × -1)
    """
    columns, values = _nonzero(x, weights.shape[1] - 1)
    weights = np.asarray(weights, dtype=np.float64)
    row, label, against = _speaking(weights, columns, values, classes, label, against)
    every = names_or_numbers(names, row.size - 1)
    used = row[1:][columns]
    parts = [
        Part(every[j], float(v), float(w), float(v * w))
        for j, v, w in zip(columns, values, used, strict=True)
        if v != 0.0
    ]
    if row[0] != 0.0:
        parts.append(Part(BIAS, 1.0, float(row[0]), float(row[0])))
    parts.sort(key=lambda part: -abs(part.contribution))
    return Explanation(label, against, math.fsum(part.contribution for part in parts), tuple(parts))


def explain_model(
    weights: NDArray[Any],
    classes: Sequence[Any] | NDArray[Any] | None,
    names: Sequence[Any] | None = None,
    top: int = 10,
) -> tuple[Portrait, ...]:
    """Return, for each class, the features that speak most for it.

    >>> for portrait in explain_model(np.array([[-1.0, 2.0, -0.5]]), ["ham", "spam"], ["free", "hello"]):
    ...     print(portrait)
    ham (bias 1)
            +0.5  hello
    spam (bias -1)
              +2  free
    """
    weights = np.asarray(weights, dtype=np.float64)
    every = names_or_numbers(names, weights.shape[1] - 1)
    if classes is None:
        row = weights[0]
        largest = np.argsort(-np.abs(row[1:]), kind="stable")[:top]
        return (_portrait(None, row, largest, every),)
    rows = np.concatenate([-weights, weights]) if weights.shape[0] == 1 and len(classes) == 2 else weights
    portraits = []
    for label, row in zip(classes, rows, strict=True):
        largest = np.argsort(-row[1:], kind="stable")[:top]
        portraits.append(_portrait(label, row, largest[row[1:][largest] > 0.0], every))
    return tuple(portraits)


def _portrait(label: Any, row: NDArray[np.float64], chosen: NDArray[np.int64], names: list[str]) -> Portrait:
    features = tuple(Weighed(names[j], float(row[1 + j])) for j in chosen)
    return Portrait(label, float(row[0]) + 0.0, features)


def _nonzero(x: Any, n_features: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the columns and values of one example, checked."""
    if hasattr(x, "tocsr"):
        row = x.tocsr()
        shape, columns, values = row.shape, np.asarray(row.indices, dtype=np.int64), row.data
        if len(shape) == 2 and shape[0] == 1:
            row.sum_duplicates()
            columns, values = np.asarray(row.indices, dtype=np.int64), row.data
            shape = shape[1:]
    else:
        dense = np.asarray(x)
        shape = dense.shape
        if dense.ndim == 2 and shape[0] == 1:
            dense, shape = dense[0], shape[1:]
        columns, values = np.arange(dense.size), dense.reshape(-1)
    if shape != (n_features,):
        raise ValueError(f"x must be one example of {n_features} features, got shape {shape}")
    values = np.asarray(values, dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise ValueError(
            f"x has the value {values[wrong[0]]} in column {columns[wrong[0]]}: fill in a number"
        )
    return columns, values


def _speaking(
    weights: NDArray[np.float64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    classes: Any,
    label: Any,
    against: Any,
) -> tuple[NDArray[np.float64], Any, Any]:
    """Return the weights that score one class, alone or against another, and the two labels."""
    if classes is None:
        return weights[0], "the prediction", None
    known = np.asarray(classes)
    if known.size <= 2:
        positive = known.size - 1 if label is None else _index(known, label)
        row = weights[0] if positive == known.size - 1 else -weights[0]
        return row, known[positive], known[0 if positive == known.size - 1 else -1]
    if label is None:
        scores = weights[:, 0] + weights[:, 1:][:, columns] @ values
        label = known[int(np.argmax(scores))]
    own = weights[_index(known, label)]
    return (own if against is None else own - weights[_index(known, against)]), label, against


def _index(classes: NDArray[Any], label: Any) -> int:
    found = np.flatnonzero(classes == label)
    if not found.size:
        raise ValueError(f"{label!r} is no class of the model, which knows {classes[:5].tolist()}")
    return int(found[0])
