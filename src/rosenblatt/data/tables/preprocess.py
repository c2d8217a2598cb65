"""Preprocessing fitted on rows of numbers: fill in missing values, add indicators, standardise.

Encoding a table gives a *raw* matrix: NaN where a number is missing, nothing scaled. What is learned from the values
of some rows (means, medians, deviations, which columns have gaps) is a :class:`Preprocessing`, fitted on any subset of
the raw rows, so that an estimate on other rows is honest. :func:`quadratic` maps rows that are prepared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import sparse_rows
from rosenblatt.data.options import MISSING_POLICIES, Missing
from rosenblatt.data.words import DocumentCounts, Tfidf

BLOCK_ROWS = 8192  # rows whose statistics are computed while they are in the cache
MOST_SAMPLED = 1 << 17  # values of a column that a median is computed from while rows arrive
FIELDS = (
    "raw_features", "numeric", "missing", "fill", "centre", "spread", "indicators", "documents", "texts"
)  # fmt: skip


class Moments:
    """Count, mean and standard deviation of columns, block by block, missing values left out (Chan et al. 1979).

    >>> moments = Moments(1)
    >>> moments.update(np.array([[1.0], [3.0], [np.nan]]))
    >>> moments.update(np.array([[5.0]]))
    >>> moments.mean, moments.deviation(), moments.missing
    (array([3.]), array([1.63...]), array([1]))
    """

    def __init__(self, columns: int) -> None:
        self.count = np.zeros(columns, np.int64)
        self.missing = np.zeros(columns, np.int64)
        self.mean = np.zeros(columns)
        self._squares = np.zeros(columns)  # Σ (x − mean)²

    def update(self, block: NDArray[np.float64]) -> None:
        """Add a block of rows."""
        for start in range(0, block.shape[0], BLOCK_ROWS):
            with np.errstate(over="ignore", invalid="ignore"):
                self._add(block[start : start + BLOCK_ROWS])

    def _add(self, block: NDArray[np.float64]) -> None:
        count = np.full(block.shape[1], block.shape[0])
        mean = block.mean(axis=0)
        away: Any = block - mean
        if np.isnan(mean).any():
            absent = np.isnan(block)
            count = block.shape[0] - absent.sum(axis=0)
            mean = np.where(absent, 0.0, block).sum(axis=0) / np.maximum(count, 1)
            away = np.where(absent, 0.0, block - mean)
        shift = np.where(count > 0, mean - self.mean, 0.0)
        total = self.count + count
        share = count / np.maximum(total, 1)
        self._squares += (away**2).sum(axis=0) + shift**2 * self.count * share
        self.mean += shift * share
        self.missing += block.shape[0] - count
        self.count = total

    def merge(self, other: "Moments") -> None:
        """Add the moments of other rows."""
        total = self.count + other.count
        shift = np.where(other.count > 0, other.mean - self.mean, 0.0)
        share = other.count / np.maximum(total, 1)
        self._squares += other._squares + shift**2 * self.count * share
        self.mean += shift * share
        self.missing += other.missing
        self.count = total

    def deviation(self) -> NDArray[np.float64]:
        """Return the standard deviation of every column, 1 where it is constant."""
        deviation = np.sqrt(self._squares / np.maximum(self.count, 1))
        if not np.isfinite(deviation).all():
            place = int(np.flatnonzero(~np.isfinite(deviation))[0])
            raise ValueError(
                f"numbers too large to be scaled, in column {place + 1} of those that hold numbers: "
                "divide them, leave the column out (--drop), or scale nothing (--no-scale)"
            )
        return np.where(deviation <= 1e-12 * np.abs(self.mean), 1.0, deviation)


@dataclass(frozen=True)
class PreprocessingPlan:
    """A preprocessing that has not been fitted: its options.

    Attributes
    ----------
    numeric : raw columns that hold numbers; None for all. The others (categories, words) are left as they are
    missing : ``"indicator"``, ``"mean"``, ``"median"``, ``"refuse"`` or ``"drop"``, as in ``ReadOptions``
    scale : whether numbers become (x − mean) / deviation
    centre : whether the mean is subtracted; not for sparse vectors, whose zeros would be lost
    texts : (first, end) of the raw columns of every text whose counted words are weighed by tf-idf

    Examples
    --------
    >>> plan = PreprocessingPlan(missing="mean")
    >>> plan.fit(np.array([[1.0], [np.nan], [5.0]])).fill
    (3.0,)
    """

    numeric: tuple[int, ...] | None = None
    missing: Missing = "indicator"
    scale: bool = False
    centre: bool = True
    texts: tuple[tuple[int, int], ...] = ()

    def fit(self, X: Any) -> "Preprocessing":
        """Learn from raw rows, dense or CSR."""
        values = _numeric_part(X, self.numeric)
        moments = Moments(values.shape[1])
        moments.update(values)
        fill = moments.mean
        if self.missing == "median" and moments.missing.any():
            fill = column_medians([values[:, column] for column in range(values.shape[1])], fill)
        elif self.missing == "median":
            fill = np.median(values, axis=0) if values.shape[0] else fill
        counts = DocumentCounts()
        if self.texts:
            counts.update(X)
        frequencies = [counts.frequency[first:end] for first, end in self.texts]
        return self.fitted(X.shape[1], moments, fill, counts.documents, frequencies)

    def fitted(
        self,
        raw_features: int,
        moments: Moments,
        fill: NDArray[np.float64] | None = None,
        documents: int = 0,
        frequencies: Sequence[NDArray[np.int64]] = (),
    ) -> "Preprocessing":
        """Return the preprocessing that the moments of the numeric columns give; ``fill`` replaces their means.

        ``frequencies`` says in how many of the ``documents`` each word of every text occurs.
        """
        numeric = range(raw_features) if self.numeric is None else self.numeric
        gaps = np.flatnonzero(moments.missing) if self.missing == "indicator" else np.empty(0, np.int64)
        filled = moments.mean if fill is None else fill
        if not np.isfinite(filled).all():
            raise ValueError(
                "a column holds numbers too large for a mean: leave it out, or divide its values"
            )
        scale = self.scale and len(numeric) > 0
        centre = moments.mean if self.centre else np.zeros(len(numeric))
        return Preprocessing(
            raw_features,
            self.numeric,
            self.missing,
            tuple(filled.tolist()),
            tuple(centre.tolist()) if scale else None,
            tuple(moments.deviation().tolist()) if scale else None,
            tuple(numeric[at] for at in gaps.tolist()),
            documents,
            tuple(
                (first, tuple(frequency.tolist()))
                for (first, _), frequency in zip(self.texts, frequencies, strict=True)
            ),
        )


@dataclass(frozen=True)
class Preprocessing:
    """Statistics of training rows, and how they are applied to raw rows.

    **Map**: for a numeric column, ``x`` missing becomes ``fill``; then ``(x − centre) / spread`` where it is scaled. A
    column of ``indicators`` gives one more feature, 1 where its value is missing; these stand after all raw columns.

    Attributes
    ----------
    raw_features : columns of the raw matrix
    numeric : raw columns that hold numbers; None for all
    missing : policy for missing numbers; with ``"refuse"`` and ``"drop"`` they are errors here
    fill, centre, spread : one value for every numeric column; None where nothing is scaled
    indicators : raw columns that have an indicator, ascending
    documents : how many rows the weights of words come from
    texts : of every text, its first raw column, and in how many documents each of its words occurs; its counts become
        rows of tf-idf with unit length (:class:`rosenblatt.data.words.Tfidf`)

    Examples
    --------
    >>> X = np.array([[1.0, 7.0], [np.nan, 8.0], [3.0, 9.0]])
    >>> fitted = Preprocessing.fit(X)
    >>> fitted.apply(X)
    array([[1., 7., 0.], [2., 8., 1.], [3., 9., 0.]])
    >>> Preprocessing.from_dict(fitted.to_dict()) == fitted
    True
    """

    raw_features: int
    numeric: tuple[int, ...] | None
    missing: Missing
    fill: tuple[float, ...]
    centre: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None
    indicators: tuple[int, ...] = ()
    documents: int = 0
    texts: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @classmethod
    def fit(
        cls,
        X: Any,
        numeric: Sequence[int] | None = None,
        *,
        missing: Missing = "indicator",
        scale: bool = False,
        centre: bool = True,
    ) -> "Preprocessing":
        """Learn from raw rows, dense or CSR; the arguments are those of :class:`PreprocessingPlan`."""
        columns = None if numeric is None else tuple(int(column) for column in numeric)
        return PreprocessingPlan(columns, missing, scale, centre).fit(X)

    @property
    def n_features(self) -> int:
        """Number of columns that :meth:`apply` returns."""
        return self.raw_features + len(self.indicators)

    @property
    def plan(self) -> PreprocessingPlan:
        """The options that this was fitted with."""
        centred = self.centre is None or any(self.centre)
        texts = tuple((first, first + len(frequency)) for first, frequency in self.texts)
        return PreprocessingPlan(self.numeric, self.missing, self.spread is not None, centred, texts)

    @property
    def unscaled(self) -> "Preprocessing":
        """The same without scaling: its rows have the units of the columns, as the weights of :meth:`fold_back`."""
        return replace(self, centre=None, spread=None)

    def feature_names(self, raw_names: Sequence[str]) -> list[str]:
        """Return the names after preprocessing.

        >>> Preprocessing(2, None, "indicator", (0.0, 0.0), indicators=(1,)).feature_names(["Wind", "Age"])
        ['Wind', 'Age', 'Age=(missing)']
        """
        return [*raw_names, *(f"{raw_names[column]}=(missing)" for column in self.indicators)]

    def apply(self, X: Any, complete: bool = False) -> Any:
        """Return the prepared rows, dense or CSR as they came; ``complete`` says that no value is missing.

        Raises
        ------
        ValueError : where a number is missing and must not be, with the row and the column
        """
        if X.shape[1] != self.raw_features:
            raise ValueError(
                f"X has {X.shape[1]} columns, the preprocessing was fitted on {self.raw_features}"
            )
        if isinstance(X, np.ndarray):
            return self._apply_dense(X, complete)
        if self.texts:
            X = self._tfidf.apply(X)
        if self.spread is None and not np.isnan(X.data).any():
            return sparse_rows(X.data, X.indices, X.indptr, self.n_features)
        return self._apply_sparse(X)

    def _apply_dense(self, X: NDArray[np.float64], complete: bool) -> NDArray[np.float64]:
        if self.spread is None and not self.indicators and (complete or not np.isnan(X).any()):
            return X
        values = X if self.numeric is None else X[:, self._columns]
        values, gaps = self.prepare_numbers(values)
        if not self.indicators and self.numeric is None:
            return values
        prepared = np.empty((X.shape[0], self.n_features))
        prepared[:, : self.raw_features] = values if self.numeric is None else X
        if self.numeric is not None:
            prepared[:, self._columns] = values
        prepared[:, self.raw_features :] = gaps
        return prepared

    def text_weights(self, first: int) -> Tfidf | None:
        """Return the weights of the words of the text whose raw columns begin at ``first``; None where it has none."""
        frequency = dict(self.texts).get(first)
        return None if frequency is None else Tfidf(self.documents, np.array(frequency, np.int64))

    def prepare_numbers(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the numeric columns filled in and scaled, and where those with an indicator had a gap."""
        absent = np.isnan(values)
        filled = self.filled(values, absent) if absent.any() else values
        return self.scaled(filled), absent[:, self._indicator_places]

    def _apply_sparse(self, X: Any) -> Any:
        """Scale the stored numbers, or all where they are centred; three ascending runs are merged to sorted rows."""
        n_rows = X.shape[0]
        rows = np.repeat(np.arange(n_rows, dtype=np.int64), np.diff(X.indptr))
        is_numeric = np.zeros(self.raw_features, bool)
        is_numeric[self._columns] = True
        ours = is_numeric[X.indices]
        values, absent = self.prepare_numbers(_numeric_part(X, self.numeric))
        at, place = np.nonzero(values)
        gaps, which = np.nonzero(absent)
        runs = [
            (rows[~ours], X.indices[~ours].astype(np.int64), X.data[~ours]),
            (at, self._columns[place], values[at, place]),
            (gaps, self.raw_features + which, np.ones(gaps.size)),
        ]
        row, column, data = (np.concatenate(part) for part in zip(*runs, strict=True))
        order = np.argsort(row * self.n_features + column, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))])
        return sparse_rows(data[order], column[order], indptr, self.n_features)

    def filled(self, values: NDArray[np.float64], absent: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the numeric columns with missing values filled in."""
        if self.missing in ("refuse", "drop"):
            row, column = (int(at[0]) for at in np.nonzero(absent))
            raise ValueError(
                f"row {row} has no number in column {int(self._columns[column])}, and missing is {self.missing!r}: "
                "fill it in, or choose indicator, mean or median"
            )
        return np.where(absent, self._fill, values)

    def scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numeric columns scaled, where the preprocessing scales."""
        if self.spread is None:
            return values
        return np.ascontiguousarray((values - self._centre) / self._spread)

    def fold_back(self, w: NDArray[np.float64], b: Any) -> tuple[NDArray[np.float64], Any]:
        """Return weights and bias for filled rows that are not scaled: ``w/σ`` and ``b − Σ w·μ/σ``.

        ``w`` has shape (features,) or (classes, features); indicators keep their weights.

        >>> fitted = Preprocessing.fit(np.array([[1.0], [5.0]]), scale=True)
        >>> fitted.fold_back(np.array([4.0]), 0.0)
        (array([2.]), np.float64(-6.0))
        """
        w = np.asarray(w, float)
        if w.shape[-1] != self.n_features:
            raise ValueError(
                f"w has {w.shape[-1]} weights, the preprocessing gives {self.n_features} features"
            )
        if self.spread is None:
            return w, b
        raw = w.copy()
        raw[..., self._columns] = w[..., self._columns] / self._spread
        return raw, b - raw[..., self._columns] @ self._centre

    def to_dict(self) -> dict[str, Any]:
        """Return what :meth:`from_dict` needs, ready for JSON."""
        stored = {name: getattr(self, name) for name in FIELDS}
        stored["texts"] = [[first, list(frequency)] for first, frequency in self.texts]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in stored.items()}

    @classmethod
    def from_dict(cls, stored: Any) -> "Preprocessing":
        """Return the preprocessing that ``to_dict`` wrote; raise ValueError for anything else."""
        if not isinstance(stored, Mapping) or set(stored) != set(FIELDS):
            raise ValueError(f"not a preprocessing: expected the fields {', '.join(FIELDS)}")
        features, policy = stored["raw_features"], stored["missing"]
        if type(features) is not int or not 0 <= features < 2**48:
            raise ValueError(f"not a preprocessing: raw_features is {features!r}")
        if not isinstance(policy, str) or policy not in MISSING_POLICIES:
            raise ValueError(f"not a preprocessing: missing is {policy!r}")
        numeric = None if stored["numeric"] is None else _columns("numeric", stored["numeric"], features)
        width = features if numeric is None else len(numeric)
        if (stored["centre"] is None) != (stored["spread"] is None):
            raise ValueError("not a preprocessing: centre and spread come together")
        scaled = stored["spread"] is not None
        spread = _numbers("spread", stored["spread"], width) if scaled else None
        if spread is not None and not all(value > 0.0 for value in spread):
            raise ValueError("not a preprocessing: a spread is not above 0")
        indicators = _columns("indicators", stored["indicators"], features)
        if numeric is not None and not set(indicators) <= set(numeric):
            raise ValueError("not a preprocessing: an indicator of a column that holds no numbers")
        documents, texts = _texts(stored["documents"], stored["texts"], features, numeric)
        return cls(
            features,
            numeric,
            policy,
            _numbers("fill", stored["fill"], width),
            _numbers("centre", stored["centre"], width) if scaled else None,
            spread,
            indicators,
            documents,
            texts,
        )

    @cached_property
    def _tfidf(self) -> Tfidf:
        frequency = np.zeros(self.raw_features, np.int64)
        groups = np.full(self.raw_features, -1, np.int32)
        for at, (first, own) in enumerate(self.texts):
            frequency[first : first + len(own)] = own
            groups[first : first + len(own)] = at
        return Tfidf(self.documents, frequency, groups)

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        numeric = range(self.raw_features) if self.numeric is None else self.numeric
        return np.array(numeric, np.int64)

    @cached_property
    def _indicator_places(self) -> NDArray[np.int64]:
        return np.searchsorted(self._columns, np.array(self.indicators, np.int64))

    @cached_property
    def _fill(self) -> NDArray[np.float64]:
        return np.array(self.fill)

    @cached_property
    def _centre(self) -> NDArray[np.float64]:
        return np.array(self.centre)

    @cached_property
    def _spread(self) -> NDArray[np.float64]:
        return np.array(self.spread)


def column_medians(columns: Sequence[NDArray[np.float64]], otherwise: Any) -> NDArray[np.float64]:
    """Return the median of the values that each column has, or what stands in ``otherwise`` where it has none."""
    present = (values[~np.isnan(values)] for values in columns)
    pairs = zip(present, otherwise, strict=True)
    return np.array([float(np.median(values)) if values.size else other for values, other in pairs])


def _numeric_part(X: Any, numeric: tuple[int, ...] | None) -> NDArray[np.float64]:
    """Return the numeric columns of raw rows as a dense array."""
    if isinstance(X, np.ndarray):
        return X if numeric is None else np.ascontiguousarray(X[:, list(numeric)])
    if numeric is None:
        return X.toarray()  # type: ignore[no-any-return]
    place = np.full(X.shape[1], -1, np.int64)
    place[list(numeric)] = np.arange(len(numeric))
    columns = place[X.indices]
    ours = columns >= 0
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    values = np.zeros((X.shape[0], len(numeric)))
    values[rows[ours], columns[ours]] = X.data[ours]
    return values


def _columns(name: str, value: Any, features: int) -> tuple[int, ...]:
    ascending = isinstance(value, list | tuple) and all(type(column) is int for column in value)
    if not ascending or list(value) != sorted(set(value)) or not all(0 <= each < features for each in value):
        raise ValueError(f"not a preprocessing: {name} must be ascending columns below {features}")
    return tuple(value)


def _texts(
    documents: Any, texts: Any, features: int, numeric: tuple[int, ...] | None
) -> tuple[int, tuple[tuple[int, tuple[int, ...]], ...]]:
    """Return stored document counts, or raise ValueError where they cannot be."""
    if type(documents) is not int or documents < 0 or not isinstance(texts, list | tuple):
        raise ValueError(f"not a preprocessing: {documents!r} documents")
    end, checked = 0, []
    for text in texts:
        if not isinstance(text, list | tuple) or len(text) != 2 or not isinstance(text[1], list | tuple):
            raise ValueError("not a preprocessing: a text is its first column and its document counts")
        first, frequency = text[0], tuple(text[1])
        if type(first) is not int or not end <= first <= features - len(frequency):
            raise ValueError(f"not a preprocessing: a text begins at column {first!r}")
        if not all(type(count) is int and 0 <= count <= documents for count in frequency):
            raise ValueError("not a preprocessing: a word is in fewer than no documents, or in more than all")
        end = first + len(frequency)
        if numeric is None or any(first <= column < end for column in numeric):
            raise ValueError("not a preprocessing: a column of words that holds numbers")
        checked.append((first, frequency))
    return documents, tuple(checked)


def _numbers(name: str, value: Any, width: int) -> tuple[float, ...]:
    plain = isinstance(value, list | tuple) and all(type(number) in (int, float) for number in value)
    if not plain or len(value) != width or not all(isfinite(number) for number in value):
        raise ValueError(f"not a preprocessing: {name} must be {width} finite numbers")
    return tuple(float(number) for number in value)


def quadratic(X: Any) -> NDArray[Any]:
    """Return every feature, every square and every product of two features.

    >>> quadratic(np.array([[2.0, 3.0]]))
    array([[2., 3., 4., 6., 9.]])
    """
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    i, j = np.triu_indices(X.shape[1])
    return np.hstack([X, X[:, i] * X[:, j]])


def quadratic_size(features: int) -> int:
    """Return the number of mapped features of ``d`` features: ``d + d(d + 1)/2``.

    >>> quadratic_size(2)
    5
    """
    return features + features * (features + 1) // 2


def features_before(mapped: int) -> int:
    """Return the number of features before the map, its inverse size; raise ValueError if there is none.

    >>> features_before(5)
    2
    """
    features = (isqrt(9 + 8 * mapped) - 3) // 2
    if mapped < 0 or quadratic_size(features) != mapped:
        raise ValueError(f"no quadratic map has {mapped} features")
    return features


def quadratic_names(names: Sequence[str]) -> list[str]:
    """Return the names of the mapped features.

    >>> quadratic_names(["a", "b"])
    ['a', 'b', 'a^2', 'a b', 'b^2']
    """
    i, j = np.triu_indices(len(names))
    pairs = zip(i.tolist(), j.tolist(), strict=True)
    products = [f"{names[a]}^2" if a == b else f"{names[a]} {names[b]}" for a, b in pairs]
    return [*names, *products]
