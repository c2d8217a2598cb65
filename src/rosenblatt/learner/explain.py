"""Explanations of linear models: the contribution of each feature to a score, and the largest weights of a class.

Every contribution is ``wᵢ·xᵢ`` rounded once to a float; the score of an explanation is the exact sum of the
contributions, rounded once (:func:`math.fsum`). So ``math.fsum`` of the contributions equals the score, in any order,
and differs from a matrix product, which rounds at every step, by no more than that rounding.

A model of standardised columns is explained in the units of the columns (:func:`in_own_units`): its weights are
``w/σ`` and its bias ``b − Σ w·μ/σ``. Features are then ordered by ``(w/σ)·(x − μ)``, the distance from an average row,
which does not depend on where a column has its zero.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.tables.preprocess import Preprocessing

BIAS = "(bias)"


class Part(NamedTuple):
    """The contribution of one feature to a score."""

    feature: str
    value: float  # in the example
    weight: float  # in the model
    contribution: float  # weight × value, rounded once
    from_average: float | None = None  # weight × (value − average), of a model of standardised columns

    def __str__(self) -> str:
        return f"{self.contribution:+12.6g}  {self.feature} ({self.value:g} × {self.weight:.6g})"


class Explanation(NamedTuple):
    """The contributions to the score of an example: ``math.fsum(part.contribution for part in parts) == score``."""

    label: Any  # the class that positive contributions favour
    against: Any  # the class that negative ones favour; None where the score is of one class alone
    score: float
    # The largest first, by ``from_average`` where known; features that are zero are left out.
    parts: tuple[Part, ...]

    def __str__(self) -> str:
        side = f"{self.label}" if self.against is None else f"{self.label} against {self.against}"
        return "\n".join([f"score {self.score:.6g} for {side}", *map(str, self.parts)])


class Weighed(NamedTuple):
    """A feature and its weight."""

    feature: str
    weight: float


class Portrait(NamedTuple):
    """The features with the largest weights for one class, the largest first."""

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


def in_own_units(
    weights: NDArray[Any], preprocessing: Preprocessing
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights for rows that are filled in and not scaled, and the values of an average row.

    Parameters
    ----------
    weights : ndarray of shape (rows, 1 + features)
        For standardised rows, the bias first.
    preprocessing : Preprocessing
        What standardised them.

    Returns
    -------
    weights : ndarray of shape (rows, 1 + features)
    average : ndarray of shape (1 + features,)
        The means of standardised columns, 0 for all other features and for the bias.

    Examples
    --------
    >>> fitted = Preprocessing.fit(np.array([[1.0], [5.0]]), scale=True)
    >>> in_own_units(np.array([[0.0, 4.0]]), fitted)
    (array([[-6.,  2.]]), array([0., 3.]))
    """
    weights = np.asarray(weights, np.float64)
    own, bias = preprocessing.fold_back(weights[:, 1:], weights[:, 0])
    average = np.zeros(weights.shape[1])
    if preprocessing.centre is not None:
        numeric = preprocessing.numeric
        columns = np.arange(preprocessing.raw_features) if numeric is None else np.array(numeric, np.int64)
        average[1 + columns] = preprocessing.centre
    return np.column_stack([bias, own]), average


def explain_row(
    weights: NDArray[Any],
    x: Any,
    classes: Sequence[Any] | NDArray[Any] | None,
    names: Sequence[Any] | None = None,
    *,
    label: Any = None,
    against: Any = None,
    average: NDArray[np.float64] | None = None,
) -> Explanation:
    """Return the contribution of every feature to the score of one example.

    Parameters
    ----------
    weights : ndarray of shape (rows, 1 + features)
        The bias first; one row for two classes or a regression, else one per class.
    x : array-like or sparse matrix of shape (features,) or (1, features)
        The example.
    classes : sequence or None
        The labels; None for a regression.
    names : sequence of str, optional
        Names of the features.
    label, against : class labels, optional
        Whose score to explain, and against which other class. With two classes the default is the second against the
        first; with more it is the score of the predicted class, not compared with another.
    average : ndarray of shape (1 + features,), optional
        The values of an average row, from :func:`in_own_units`: contributions are ordered by their distance from it.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> explanation = explain_row(np.array([[-1.0, 2.0, 0.5]]), [1.0, 4.0], ["ham", "spam"], ["free", "hello"])
    >>> print(explanation)
    score 3 for spam against ham
              +2  free (1 × 2)
              +2  hello (4 × 0.5)
              -1  (bias) (1 × -1)
    """
    columns, values = _nonzero(x, weights.shape[1] - 1)
    if average is not None:
        columns, values = _with_columns(columns, values, np.flatnonzero(average[1:]))
    weights = np.asarray(weights, dtype=np.float64)
    row, label, against = _explained_weights(weights, columns, values, classes, label, against)
    feature_names = names_or_numbers(names, row.size - 1)
    used = row[1:][columns]
    means = np.zeros(values.size) if average is None else average[1:][columns]
    parts = [
        Part(
            feature_names[j],
            float(v),
            float(w),
            float(v * w) + 0.0,
            None if average is None else float((v - mean) * w),
        )
        for j, v, w, mean in zip(columns, values, used, means, strict=True)
        if v != 0.0 or mean != 0.0
    ]
    of_average = None if average is None else float(row[0] + row @ average)
    if row[0] != 0.0 or of_average:
        parts.append(Part(BIAS, 1.0, float(row[0]), float(row[0]), of_average))
    parts.sort(key=lambda part: -abs(part.contribution if part.from_average is None else part.from_average))
    return Explanation(label, against, math.fsum(part.contribution for part in parts), tuple(parts))


def explain_model(
    weights: NDArray[Any],
    classes: Sequence[Any] | NDArray[Any] | None,
    names: Sequence[Any] | None = None,
    top: int = 10,
) -> tuple[Portrait, ...]:
    """Return, for each class, the features with the largest positive weights.

    Parameters
    ----------
    weights : ndarray of shape (rows, 1 + features)
        The bias first; one row for two classes or a regression, else one per class.
    classes : sequence or None
        The labels; None for a regression, whose weights are ordered by absolute value.
    names : sequence of str, optional
        Names of the features.
    top : int, default=10
        The largest number of features per class.

    Returns
    -------
    tuple of Portrait

    Examples
    --------
    >>> for portrait in explain_model(np.array([[-1.0, 2.0, -0.5]]), ["ham", "spam"], ["free", "hello"]):
    ...     print(portrait)
    ham (bias 1)
            +0.5  hello
    spam (bias -1)
              +2  free
    """
    weights = np.asarray(weights, dtype=np.float64)
    feature_names = names_or_numbers(names, weights.shape[1] - 1)
    if classes is None:
        row = weights[0]
        largest = np.argsort(-np.abs(row[1:]), kind="stable")[:top]
        return (_portrait(None, row, largest, feature_names),)
    rows = np.concatenate([-weights, weights]) if weights.shape[0] == 1 and len(classes) == 2 else weights
    portraits = []
    for label, row in zip(classes, rows, strict=True):
        largest = np.argsort(-row[1:], kind="stable")[:top]
        portraits.append(_portrait(label, row, largest[row[1:][largest] > 0.0], feature_names))
    return tuple(portraits)


def _portrait(label: Any, row: NDArray[np.float64], chosen: NDArray[np.int64], names: list[str]) -> Portrait:
    features = tuple(Weighed(names[j], float(row[1 + j])) for j in chosen)
    return Portrait(label, float(row[0]) + 0.0, features)


def _with_columns(
    columns: NDArray[np.int64], values: NDArray[np.float64], more: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the columns of an example and more of them, in which it is zero unless it has a value there."""
    union = np.union1d(columns, more)
    wider = np.zeros(union.size)
    wider[np.searchsorted(union, columns)] = values
    return union, wider


def _nonzero(x: Any, n_features: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Check one example and return its columns and values; those of a sparse row that it stores."""
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
            f"x has the value {values[wrong[0]]} in column {columns[wrong[0]]}: replace it by a finite number"
        )
    return columns, values


def _explained_weights(
    weights: NDArray[np.float64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    classes: Any,
    label: Any,
    against: Any,
) -> tuple[NDArray[np.float64], Any, Any]:
    """Return the weights of the score to explain, the class it is of, and the class it is against."""
    if classes is None:
        return weights[0], "the prediction", None
    classes = np.asarray(classes)
    if classes.size <= 2:
        positive = classes.size - 1 if label is None else _index(classes, label)
        row = weights[0] if positive == classes.size - 1 else -weights[0]
        return row, classes[positive], classes[0 if positive == classes.size - 1 else -1]
    if label is None:
        scores = weights[:, 0] + weights[:, 1:][:, columns] @ values
        label = classes[int(np.argmax(scores))]
    own = weights[_index(classes, label)]
    return (own if against is None else own - weights[_index(classes, against)]), label, against


def _index(classes: NDArray[Any], label: Any) -> int:
    indices = np.flatnonzero(classes == label)
    if not indices.size:
        raise ValueError(f"{label!r} is not a class of the model; its classes are {classes[:5].tolist()}")
    return int(indices[0])
