"""Shards: checked examples of one worker, in memory or in files that are mapped by whichever process runs a pass."""

import json
import shutil
from functools import reduce
from numbers import Number
from pathlib import Path
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


class TrainingSetup(NamedTuple):
    """The settings that all passes over all shards share."""

    rule: Any
    multi_class: str
    fit_intercept: bool
    seed: int
    shuffle: bool
    classes: NDArray[Any]  # of all shards
    n_features: int
    dtype: str  # of the weights
    class_weight: NDArray[np.float64] | None  # one for each class; None: one each
    standardised: bool = False  # the rows were standardised before: shuffle by rounded values


class ShardSummary(NamedTuple):
    """Size, classes and types of one shard, or of all of them together."""

    rows: int
    classes: NDArray[Any]
    counts: NDArray[np.int64]  # rows of each class
    n_features: int
    dtype: str
    max_sqnorm: float  # the largest ‖x‖², without the bias coordinate
    sparse: bool
    weight: float  # of all rows


class Shard:
    """Some examples, checked on construction.

    A shard whose rows all weigh nothing is empty, and rows without weight are dropped.
    """

    def __init__(self, X: Any, y: Any, weight: Any = None, index: int = 0) -> None:
        self.X = canonical_matrix(X)
        self.max_sqnorm: float | None = max_row_sqnorm(self.X)  # also checks that all values are finite
        self.y = checked_labels(y)
        self.index = index
        n = self.X.shape[0]
        if self.y.shape != (n,):
            raise ValueError(f"y must hold one label for each of the {n} rows, got shape {self.y.shape}")
        if weight is not None and n and not np.any(weight):  # other shards may have weight
            self.X, self.y, self.max_sqnorm, weight, n = self.X[:0], self.y[:0], 0.0, None, 0
        self.weight = checked_weight(weight, n) if n else None
        if self.weight is not None and (self.weight == 0.0).any():
            positive = self.weight > 0.0
            self.X, self.y, self.weight = self.X[positive], self.y[positive], self.weight[positive]
            self.max_sqnorm = None
        self._prepared: Any = None

    @classmethod
    def trusted(
        cls,
        X: Any,
        y: NDArray[Any],
        weight: NDArray[np.float64] | None,
        index: int,
        max_sqnorm: float | None = None,
    ) -> "Shard":
        """Return a shard of arrays that were checked before."""
        shard = cls.__new__(cls)
        shard.X, shard.y, shard.weight, shard.index, shard._prepared = X, y, weight, index, None
        shard.max_sqnorm = max_sqnorm
        return shard

    def visits(self, setup: TrainingSetup, epoch: int) -> tuple[NDArray[np.int64], Visits]:
        """Return the labels as indices, and the visits of one epoch; what all epochs share is cached."""
        if self._prepared is None or self._prepared[0] != _key(setup):
            labels = np.searchsorted(setup.classes, self.y)
            weight = self.weight
            if setup.class_weight is not None:
                own = setup.class_weight[labels]
                weight = checked_weight(own if weight is None else own * weight, labels.size)
            shuffle = (
                Shuffle(rows_of(self.X), labels, setup.seed, weight, setup.standardised)
                if setup.shuffle
                else None
            )
            self._prepared = (_key(setup), labels, in_given_order(labels.size, weight), shuffle)
        _, labels, visits, shuffle = self._prepared
        return labels, visits if shuffle is None else shuffle.epoch(epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_prepared": None}  # computed again where it arrives


def shard_max_sqnorm(shard: Shard) -> float:
    """Return the largest ‖x‖² without the bias coordinate; measured where it is not known."""
    return max_row_sqnorm(shard.X) if shard.max_sqnorm is None else shard.max_sqnorm


def summarize(shard: Shard) -> ShardSummary:
    """Return the summary of a shard.

    >>> summarize(Shard([[1.0, 2.0], [0.0, 3.0]], ["in", "out"])).max_sqnorm
    9.0
    """
    X, n = shard.X, shard.X.shape[0]
    classes, index = encoded(shard.y)
    return ShardSummary(
        n,
        classes,
        np.bincount(index, minlength=classes.size),
        X.shape[1],
        str(X.dtype),
        shard_max_sqnorm(shard),
        not isinstance(X, np.ndarray),
        float(n) if shard.weight is None else float(shard.weight.sum()),
    )


class SummaryRequest:
    """The request for the summary of every shard."""

    def answer(self, shard: Shard) -> ShardSummary:
        """Return the summary of a shard."""
        return summarize(shard)


def combined_summary(summaries: list[ShardSummary]) -> ShardSummary:
    """Return the summary of all shards together; raise ValueError where they do not fit. Empty ones do not count."""
    filled = [(at, summary) for at, summary in enumerate(summaries) if summary.rows]
    if not filled:
        raise ValueError("no shard has any rows: there is nothing to learn from")
    first_at, first = filled[0]
    for at, summary in filled:
        if _is_text(summary.classes) != _is_text(first.classes):
            raise ValueError(
                f"shard {at} has labels like {summary.classes.tolist()[0]!r}, but shard {first_at} has "
                f"{first.classes.tolist()[0]!r}: give labels of one type"
            )
        if summary.n_features != first.n_features and not (summary.sparse and first.sparse):
            raise ValueError(
                f"shard {at} has {summary.n_features} features, but shard {first_at} has {first.n_features}"
            )
    classes = reduce(joined_classes, (summary.classes for _, summary in filled))
    counts = np.zeros(classes.size, np.int64)
    for _, summary in filled:
        counts[np.searchsorted(classes, summary.classes)] += summary.counts
    return ShardSummary(
        int(counts.sum()),
        classes,
        counts,
        max(summary.n_features for _, summary in filled),
        "float64" if any(summary.dtype == "float64" for _, summary in filled) else "float32",
        max(summary.max_sqnorm for _, summary in filled),
        any(summary.sparse for _, summary in filled),
        sum(summary.weight for _, summary in filled),
    )


def shard_of_batches(batches: list[Any], index: int = 0) -> Shard:
    """Return one shard of batches: tuples ``(X, y)`` or ``(X, y, weight)``, or batches of a file."""
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
    """Return labels as an array of one type, converted from Python objects; raise ValueError for others.

    >>> checked_labels(np.array(["a", "bc"], dtype=object)), checked_labels(np.array([1, 2.5], dtype=object))
    (array(['a', 'bc'], dtype='<U2'), array([1. , 2.5]))
    """
    labels = exact_labels(y)
    if labels.dtype.kind in "mMcV":
        raise ValueError(f"y holds {labels.dtype}: labels are numbers, booleans or strings")
    if labels.dtype.kind != "O":
        return labels
    values = labels.tolist()
    for row, label in enumerate(values):
        if is_missing(label):
            raise ValueError(f"y has no label in row {row}: drop the row, or name its class")
    if all(isinstance(label, str) for label in values):
        return exact_labels(values)
    for kinds, dtype in (((bool, np.bool_), bool), ((int, np.integer), np.int64), ((Number,), np.float64)):
        if all(isinstance(label, kinds) for label in values):
            converted = np.array(values, dtype=dtype)
            if len(set(converted.tolist())) < len(set(values)):
                raise ValueError(
                    "y has different labels that are one and the same float64: write them as text"
                )
            return converted
    names = sorted({type(label).__name__ for label in values})
    raise ValueError(f"y holds labels of several types, {', '.join(names)}: give labels of one type")


def _is_text(classes: NDArray[Any]) -> bool:
    return classes.dtype.kind in "USO" and isinstance(classes[0], str)


def _key(setup: TrainingSetup) -> tuple[Any, ...]:
    """Return what the labels and the order of a pass depend on."""
    weight = None if setup.class_weight is None else setup.class_weight.tobytes()
    return setup.seed, setup.shuffle, setup.classes.tolist(), weight


# Shards in files


CHUNK = 1 << 19  # bytes of one write; writes of megabytes were at times four times as slow (ext4)


class StoredShard(NamedTuple):
    """The location of a shard in files: a folder of one machine, and the types of the arrays in it."""

    folder: str
    shape: tuple[int, int]
    types: dict[str, str]  # X, or data, indices and indptr; y; weight where rows have some
    max_sqnorm: float | None = None  # the largest ‖x‖², where it was measured

    def to_json(self) -> str:
        """Return the location as JSON, for :meth:`from_json`."""
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> "StoredShard":
        """Return the location that :meth:`to_json` wrote."""
        folder, (rows, features), types, max_sqnorm = json.loads(text)
        return cls(folder, (rows, features), types, max_sqnorm)

    def open(self, index: int) -> Shard | None:
        """Map the shard into memory; return None where this machine does not have it."""
        folder = Path(self.folder)
        try:
            arrays = {name: _mapped(folder, name, dtype) for name, dtype in self.types.items()}
        except FileNotFoundError:
            return None
        y, weight = arrays.get("y", np.empty(0)), arrays.get("weight")
        if "indptr" not in arrays:
            X = arrays.get("X", np.empty(0))
            return Shard.trusted(X.reshape(self.shape), y, weight, index, self.max_sqnorm)
        from scipy.sparse import csr_array

        rows = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=self.shape)
        rows.has_canonical_format = True  # parts are checked before they are written
        return Shard.trusted(rows, y, weight, index, self.max_sqnorm)


class ShardWriter:
    """Writes a shard to files, part by part.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = ShardWriter(folder)
    ...     for at in range(2):
    ...         writer.add(Shard([[1.0, at], [3.0, 4.0]], ["in", "out"]))
    ...     writer.close().open(0).X[2]
    array([1., 1.])
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows, self.width = 0, 0
        self._sparse = False
        self._types: dict[str, str] = {}
        self._lengths: list[NDArray[Any]] = []  # of sparse rows
        self._labels: list[NDArray[Any]] = []
        self._weights: list[NDArray[np.float64]] = []

    def add(self, part: Shard) -> None:
        """Append the examples of a part."""
        X, n = part.X, part.X.shape[0]
        if not n:
            return
        if self._sparse or not isinstance(X, np.ndarray):
            self._add_sparse(X)
        else:
            self._add_dense(X)
        self.rows += n
        self._labels.append(part.y)
        self._weights.append(np.ones(n) if part.weight is None else part.weight)

    def close(self) -> StoredShard:
        """Write labels and weights, and return the location of the shard."""
        if self._sparse:
            starts = np.concatenate([[0], np.cumsum(np.concatenate(self._lengths))])
            small = starts[-1] <= np.iinfo(np.int32).max
            self._append("indptr", starts.astype(np.int32 if small else np.int64))
        if self.rows:
            self._append("y", np.concatenate(self._labels))
            weight = np.concatenate(self._weights)
            if (weight != 1.0).any():
                self._append("weight", weight)
        return StoredShard(str(self.folder), (self.rows, self.width), self._types)

    def discard(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _add_dense(self, X: NDArray[Any]) -> None:
        if self.rows and X.shape[1] != self.width:
            raise ValueError(f"rows have {X.shape[1]} values, those before them {self.width}")
        self.width = X.shape[1]
        self._append("X", np.ascontiguousarray(X))

    def _add_sparse(self, X: Any) -> None:
        from scipy.sparse import csr_array

        if not self._sparse:
            self._sparse = True
            if self.rows:  # dense until now
                before = _mapped(self.folder, "X", self._types.pop("X")).reshape(self.rows, self.width)
                self._add_sparse(before)
                (self.folder / "X").unlink()
        X = csr_array(X)
        self.width = max(self.width, X.shape[1])
        self._lengths.append(np.diff(X.indptr))
        self._append("data", X.data)
        self._append("indices", X.indices)

    def _append(self, name: str, values: NDArray[Any]) -> None:
        dtype = self._types.setdefault(name, values.dtype.str)
        flat = np.ascontiguousarray(values.astype(dtype, copy=False)).data.cast("B")
        with (self.folder / name).open("ab", buffering=0) as file:
            for at in range(0, len(flat), CHUNK):
                file.write(flat[at : at + CHUNK])


def _mapped(folder: Path, name: str, dtype: str) -> NDArray[Any]:
    path = folder / name
    if not path.stat().st_size:
        return np.empty(0, dtype)
    # "c": arrays can be written to, as compiled passes expect, but never the files
    return np.memmap(path, np.dtype(dtype), mode="c").view(np.ndarray)
