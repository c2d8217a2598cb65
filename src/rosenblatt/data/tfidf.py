"""Sublinear tf-idf weighting of word counts, with rows of unit length; fitted on training rows alone.

Counting words needs no training data beyond a vocabulary. The weight of a word does: it depends on how many documents
contain it. So readers count first, and :class:`Tfidf` is fitted on any subset of the counted rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import sparse_rows


@dataclass(frozen=True)
class TfidfPlan:
    """A tf-idf weighting that has not been fitted.

    Attributes
    ----------
    groups : number of the text column that each feature is a word of, -1 for a feature that is not a word; None if all
        features are words of one column. Every group of a row gets unit length
    """

    groups: NDArray[np.int32] | None = None

    def fit(self, X: Any) -> "Tfidf":
        """Fit the weighting to rows of counts."""
        counts = DocumentCounts()
        counts.update(X)
        return counts.tfidf(self.groups)


class DocumentCounts:
    """The number of documents, and for each word the number of documents with it; :meth:`update` adds more.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> counts = DocumentCounts()
    >>> counts.update(csr_array([[2.0, 0.0], [1.0, 3.0]]))
    >>> counts.documents, counts.frequency
    (2, array([2, 1]))
    """

    def __init__(self, documents: int = 0, frequency: Any = ()) -> None:
        self.documents = documents
        self.frequency: NDArray[np.int64] = np.array(frequency, np.int64)

    def update(self, X: Any) -> None:
        """Add rows of counts (CSR), possibly with more features than before."""
        frequency = np.bincount(X.indices, minlength=max(X.shape[1], self.frequency.size))
        frequency[: self.frequency.size] += self.frequency
        self.documents, self.frequency = self.documents + X.shape[0], frequency.astype(np.int64, copy=False)

    def merge(self, other: "DocumentCounts") -> None:
        """Add the counts of other documents with the same features."""
        size = max(self.frequency.size, other.frequency.size)
        total = np.zeros(size, np.int64)
        total[: self.frequency.size] += self.frequency
        total[: other.frequency.size] += other.frequency
        self.documents, self.frequency = self.documents + other.documents, total

    def tfidf(self, groups: NDArray[np.int32] | None = None) -> "Tfidf":
        """Return the weighting that these counts give."""
        return Tfidf(self.documents, self.frequency, groups)

    def learn_rows(self, X: Any, groups: NDArray[np.int32] | None = None) -> Any:
        """Weigh each row by the documents up to it and itself, then go on to the next: for streams.

        Any split of the rows into batches gives the same weights.

        >>> from scipy.sparse import csr_array
        >>> DocumentCounts().learn_rows(csr_array([[1.0, 1.0], [1.0, 0.0]])).toarray().round(2)
        array([[0.71, 0.71], [1.  , 0.  ]])
        """
        from rosenblatt.data.scanners.words import weight_rows

        if X.shape[1] > self.frequency.size:
            self.frequency = np.concatenate(
                [self.frequency, np.zeros(X.shape[1] - self.frequency.size, np.int64)]
            )
        values = np.array(X.data, np.float64)
        if groups is None:
            groups = np.zeros(X.shape[1], np.int32)
        squares = np.zeros(int(groups.max(initial=0)) + 1)
        weight_rows(X.indptr, X.indices, values, self.documents, self.frequency, groups, squares)
        self.documents += X.shape[0]
        return sparse_rows(values, X.indices, X.indptr, X.shape[1])


@dataclass(frozen=True, eq=False)
class Tfidf:
    """Weights of words by the documents of training.

    **Map**: a word that occurs ``c`` times in a row, and in ``df`` of ``n`` documents, becomes
    ``(1 + ln c) · (1 + ln((1 + n) / (1 + df)))``; then the row is divided by its length. A word of no document is
    unknown, and becomes 0.

    Attributes
    ----------
    documents : how many rows it was fitted on
    frequency : in how many of them each feature occurs
    groups : as of :class:`TfidfPlan`

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 4.0]])
    >>> TfidfPlan().fit(X[:2]).apply(X).toarray().round(2)
    array([[0.58, 0.81, 0.  ], [1.  , 0.  , 0.  ], [1.  , 0.  , 0.  ]])
    """

    documents: int
    frequency: NDArray[np.int64]
    groups: NDArray[np.int32] | None = None

    @property
    def idf(self) -> NDArray[np.float64]:
        """The inverse document frequency of every feature; 0 for a word without documents, 1 where it is not a word."""
        idf: NDArray[np.float64] = 1.0 + np.log((1.0 + self.documents) / (1.0 + self.frequency))
        idf[self.frequency == 0] = 0.0
        if self.groups is not None:
            idf[self.groups[: idf.size] < 0] = 1.0
        return idf

    def apply(self, X: Any) -> Any:
        """Return weighted rows (CSR) of counts; features beyond the fitted ones are unknown words."""
        idf = np.zeros(X.shape[1])
        known = self.idf[: X.shape[1]]
        idf[: known.size] = known
        groups = self.groups
        values = np.array(X.data, np.float64)
        repeated = np.flatnonzero(values > 1.0)  # most words occur once and need no logarithm
        if groups is not None:
            repeated = repeated[groups[X.indices[repeated]] >= 0]
            idf[: groups.size][groups[: idf.size] < 0] = 1.0
        values[repeated] = 1.0 + np.log(values[repeated])
        values *= idf[X.indices]
        return sparse_rows(values / self._norms(X, values), X.indices, X.indptr, X.shape[1])

    def _norms(self, X: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for every entry the norm of its group in its row, 1 for features that are not words."""
        sizes = np.diff(X.indptr)
        if self.groups is None:
            nonempty = X.indptr[:-1][sizes > 0]
            squares = np.zeros(X.shape[0])
            if values.size:
                squares[sizes > 0] = np.add.reduceat(values * values, nonempty)
            lengths = np.sqrt(squares)
            return np.repeat(np.where(lengths > 0.0, lengths, 1.0), sizes)
        of_group = self.groups[X.indices].astype(np.int64)
        n_groups = int(self.groups.max(initial=0)) + 1
        cells = np.repeat(np.arange(X.shape[0], dtype=np.int64) * n_groups, sizes) + np.maximum(of_group, 0)
        words = of_group >= 0
        squares = np.bincount(cells[words], values[words] ** 2, X.shape[0] * n_groups)
        lengths = np.sqrt(squares)[cells]
        return np.where(words & (lengths > 0.0), lengths, 1.0)
