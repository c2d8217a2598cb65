"""A shard: examples that stay where they are. Passes come to them."""

from functools import reduce
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.order import Shuffle, in_given_order
from rosenblatt.core.rows import rows_of
from rosenblatt.core.state import Visits
from rosenblatt.data.batch import Batch, concatenate
from rosenblatt.data.labels import exact_labels, is_missing, joined_classes
from rosenblatt.data.matrix import checked_matrix, checked_weight, encoded
from rosenblatt.learner.examples import canonical_matrix, max_row_sqnorm


class Setup(NamedTuple):
    """What every pass over every shard agrees on."""

    rule: Any
    multi_class: str
    fit_intercept: bool
    seed: int
    shuffle: bool
    classes: NDArray[Any]  # of all shards
    n_features: int
    dtype: str  # of the weights
    class_weight: NDArray[np.float64] | None  # one for each class; None: one each


class Facts(NamedTuple):
    """What a shard, or all of them, say about themselves before anything is learned."""

    rows: int
    classes: NDArray[Any]
    counts: NDArray[np.int64]  # rows of each class
    n_features: int
    dtype: str
    max_sqnorm: float  # the largest ‖x‖², the always-one coordinate not counted
    sparse: bool
    weight: float  # of all rows


class Shard:
    """Some examples, checked when they come in.

    >>> shard = Shard([[1.0, 2.0], [0.0, 3.0]], ["in", "out"])
    >>> facts_of(shard).max_sqnorm
    9.0
    """

    def __init__(self, X: Any, y: Any, weight: Any = None, index: int = 0) -> None:
        self.X = canonical_matrix(X)
        self.max_sqnorm: float | None = max_row_sqnorm(
            self.X
        )  # tells that all are finite, too: it says which is not
        self.y = checked_labels(y)
        self.index = index
        n = self.X.shape[0]
        if self.y.shape != (n,):
            raise ValueError(f"y must hold one label for each of the {n} rows, got shape {self.y.shape}")
        if weight is not None and n and not np.any(weight):  # others may have weight; here nothing has
            self.X, self.y, self.max_sqnorm, weight, n = self.X[:0], self.y[:0], 0.0, None, 0
        self.weight = checked_weight(weight, n) if n else None
        if self.weight is not None and (self.weight == 0.0).any():
            kept = self.weight > 0.0
            self.X, self.y, self.weight, self.max_sqnorm = self.X[kept], self.y[kept], self.weight[kept], None
        self._ready: Any = None

    @classmethod
    def trusted(
        cls,
        X: Any,
        y: NDArray[Any],
        weight: NDArray[np.float64] | None,
        index: int,
        max_sqnorm: float | None = None,
    ) -> "Shard":
        """Make a shard of arrays that were checked as part of another."""
        shard = cls.__new__(cls)
        shard.X, shard.y, shard.weight, shard.index, shard._ready = X, y, weight, index, None
        shard.max_sqnorm = max_sqnorm
        return shard

    def visits(self, setup: Setup, epoch: int) -> tuple[NDArray[np.int64], Visits]:
        """Return the labels as indices, and the visits of one epoch; what all epochs share is kept."""
        if self._ready is None or self._ready[0] != _key(setup):
            labels = np.searchsorted(setup.classes, self.y)
            weight = self.weight
            if setup.class_weight is not None:
                own = setup.class_weight[labels]
                weight = checked_weight(own if weight is None else own * weight, labels.size)
            shuffle = Shuffle(rows_of(self.X), labels, setup.seed, weight) if setup.shuffle else None
            self._ready = (_key(setup), labels, in_given_order(labels.size, weight), shuffle)
        _, labels, visits, shuffle = self._ready
        return labels, visits if shuffle is None else shuffle.epoch(epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}  # made again where it arrives


def shard_max_sqnorm(shard: Shard) -> float:
    """Return the largest ‖x‖², the always-one coordinate not counted; measured where it is not known."""
    return max_row_sqnorm(shard.X) if shard.max_sqnorm is None else shard.max_sqnorm


def facts_of(shard: Shard) -> Facts:
    """Look a shard over once."""
    X, n = shard.X, shard.X.shape[0]
    classes, index = encoded(shard.y)
    return Facts(
        n,
        classes,
        np.bincount(index, minlength=classes.size),
        X.shape[1],
        str(X.dtype),
        shard_max_sqnorm(shard),
        not isinstance(X, np.ndarray),
        float(n) if shard.weight is None else float(shard.weight.sum()),
    )


def facts_of_all(every: list[Facts]) -> Facts:
    """Put together what the shards say, or say where they do not fit; those without rows do not count."""
    some = [(at, facts) for at, facts in enumerate(every) if facts.rows]
    if not some:
        raise ValueError("no shard has any rows: there is nothing to learn from")
    first_at, first = some[0]
    for at, facts in some:
        if _is_text(facts.classes) != _is_text(first.classes):
            raise ValueError(
                f"shard {at} has labels like {facts.classes.tolist()[0]!r}, but shard {first_at} has "
                f"{first.classes.tolist()[0]!r}: give labels of one type"
            )
        if facts.n_features != first.n_features and not (facts.sparse and first.sparse):
            raise ValueError(
                f"shard {at} has {facts.n_features} features, but shard {first_at} has {first.n_features}"
            )
    classes = reduce(joined_classes, (facts.classes for _, facts in some))
    counts = np.zeros(classes.size, np.int64)
    for _, facts in some:
        counts[np.searchsorted(classes, facts.classes)] += facts.counts
    return Facts(
        int(counts.sum()),
        classes,
        counts,
        max(facts.n_features for _, facts in some),
        "float64" if any(facts.dtype == "float64" for _, facts in some) else "float32",
        max(facts.max_sqnorm for _, facts in some),
        any(facts.sparse for _, facts in some),
        sum(facts.weight for _, facts in some),
    )


def shard_of_batches(batches: list[Any], index: int = 0) -> Shard:
    """Make one shard of batches: tuples ``(X, y)`` or ``(X, y, weight)``, or batches of a file."""
    whole = [_as_batch(batch) for batch in batches]
    if not whole:
        return Shard(np.empty((0, 0)), np.empty(0), None, index)
    batch = concatenate(whole)
    return Shard(batch.X, batch.y, batch.weight, index)


def _as_batch(batch: Any) -> Batch:
    if isinstance(batch, Batch):
        return batch
    if not isinstance(batch, tuple) or len(batch) not in (2, 3):
        raise TypeError(f"a batch is (X, y) or (X, y, weight), got {type(batch).__name__}")
    X, y = checked_matrix(batch[0]), np.asarray(batch[1])
    weight = np.asarray(batch[2], dtype=np.float64) if len(batch) == 3 else None
    return Batch(X, y, np.arange(X.shape[0]), weight)


def checked_labels(y: Any) -> NDArray[Any]:
    """Return labels as an array of one type; Python's own objects as what they are, or say which does not fit.

    >>> checked_labels(np.array(["a", "bc"], dtype=object)), checked_labels(np.array([1, 2.5], dtype=object))
    (array(['a', 'bc'], dtype='<U2'), array([1. , 2.5]))
    """
    labels = exact_labels(y)
    if labels.dtype.kind in "mMcV":
        raise ValueError(f"y holds {labels.dtype}: labels are numbers, booleans or strings")
    if labels.dtype.kind != "O":
        return labels
    every = labels.tolist()
    for row, label in enumerate(every):
        if is_missing(label):
            raise ValueError(f"y has no label in row {row}: drop the row, or name its class")
    if all(isinstance(label, str) for label in every):
        return exact_labels(every)
    for kinds, dtype in (((bool, np.bool_), bool), ((int, np.integer), np.int64), ((Number,), np.float64)):
        if all(isinstance(label, kinds) for label in every):
            converted = np.array(every, dtype=dtype)
            if len(set(converted.tolist())) < len(set(every)):
                raise ValueError(
                    "y has different labels that are one and the same float64: write them as text"
                )
            return converted
    names = sorted({type(label).__name__ for label in every})
    raise ValueError(f"y holds labels of several types, {', '.join(names)}: give labels of one type")


def _is_text(classes: NDArray[Any]) -> bool:
    return classes.dtype.kind in "USO" and isinstance(classes[0], str)


def _key(setup: Setup) -> tuple[Any, ...]:
    """What the labels and the order of a pass depend on."""
    weight = None if setup.class_weight is None else setup.class_weight.tobytes()
    return setup.seed, setup.shuffle, setup.classes.tolist(), weight
