"""Named features: a vocabulary that grows in order of appearance, a fixed one, or hashes."""

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import Batch, as_written, sparse_rows
from rosenblatt.data.labels import check_names, checked_name, exact_labels
from rosenblatt.data.scanners.names import sorted_rows
from rosenblatt.data.words import Tfidf, Words, words_from_dict, words_in

if TYPE_CHECKING:
    from rosenblatt.data.schema import Column, LabelKind

MOST_BITS = 30

T = TypeVar("T")


@dataclass(frozen=True)
class NamedSchema:
    """Names in order of appearance or hashes of ``bits`` bits, options for the words of texts, and the target.

    >>> NamedSchema(("free", "offer")).feature_names
    ['free', 'offer']
    """

    names: tuple[str, ...] = ()
    bits: int = 0  # hash names into 2^bits features; 0: one feature per name
    target: str | None = None
    labels: "LabelKind" = "text"
    text: tuple[str, ...] = ()  # fields that are prose; if empty, tf-idf weights every feature
    words: Words = field(default_factory=Words)
    documents: int = 0  # rows that tf-idf was fitted on; 0: no tf-idf
    frequency: tuple[int, ...] = ()  # number of these rows that have each feature
    columns: "tuple[Column, ...]" = ()  # of a table read as a stream, where their kind has been inferred

    def __post_init__(self) -> None:
        if type(self.bits) is not int or not 0 <= self.bits <= MOST_BITS:
            raise ValueError(f"hash bits must be between 1 and {MOST_BITS}, or 0 for names, got {self.bits}")
        strings = [*self.names, *self.text, *([] if self.target is None else [self.target])]
        if not all(isinstance(name, str) for name in strings) or len(set(self.names)) < len(self.names):
            raise ValueError("not a schema: names must be distinct strings")
        if self.bits and self.names:
            raise ValueError("not a schema: features are both hashed and named")
        if not isinstance(self.labels, str) or self.labels not in ("integer", "number", "text"):
            raise ValueError(f"not a schema: {self.labels!r} is not a kind of label")
        if type(self.documents) is not int or self.documents < 0:
            raise ValueError(f"not a schema: {self.documents!r} is not a number of documents")
        if len(self.frequency) != (len(self.names) if self.documents else 0) or not all(
            type(count) is int and 0 <= count <= self.documents for count in self.frequency
        ):
            raise ValueError("not a schema: the document counts are not those of its features")
        if len({column.name for column in self.columns} - {self.target}) < len(self.columns):
            raise ValueError("not a schema: columns must have different names, and none is the target")

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features; None for hashes."""
        return None if self.bits else list(self.names)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return 1 << self.bits if self.bits else len(self.names)

    def weighed_by(self, tfidf: Tfidf) -> "NamedSchema":
        """Return this schema with the document counts of a fitted tf-idf weighting."""
        return replace(self, documents=tfidf.documents, frequency=tuple(tfidf.frequency.tolist()))

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as a dict for JSON, the input of :func:`named_schema_from_dict`."""
        stored: dict[str, Any] = {
            "kind": "named",
            "names": list(self.names),
            "bits": self.bits,
            "target": self.target,
            "labels": self.labels,
            "text": list(self.text),
            "words": self.words.to_dict(),
        }
        if self.documents:
            stored |= {"documents": self.documents, "frequency": list(self.frequency)}
        if self.columns:
            stored["columns"] = [column.to_dict() for column in self.columns]
        return stored


def named_schema_from_dict(stored: Mapping[str, Any]) -> NamedSchema:
    """Return the schema that ``to_dict`` wrote; raise ValueError for anything else.

    >>> named_schema_from_dict(NamedSchema(("a",), labels="integer").to_dict())
    NamedSchema(names=('a',), ..., labels='integer', ...)
    """
    try:
        target = stored["target"]
        return NamedSchema(
            _names(stored["names"]),
            stored["bits"],
            None if target is None else _names([target])[0],
            stored["labels"],
            _names(stored["text"]),
            words_from_dict(stored["words"]),
            stored.get("documents", 0),
            tuple(stored.get("frequency", ())),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not a schema: {type(error).__name__} at {error}") from error


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or any(
        not isinstance(name, str) or "\0" in name for name in value
    ):
        raise TypeError("names must be a list of strings without NUL")
    return tuple(value)


def hashed(name: str, bits: int) -> int:
    """Return the feature of a hashed name, by the CRC-32 of its UTF-8 bytes, which never changes.

    >>> hashed("free", 18)
    180680
    """
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) & ((1 << bits) - 1)


class Vocabulary:
    """The feature (column index) of every name.

    >>> words = Vocabulary()
    >>> words.feature("free"), words.feature("offer"), words.feature("free")
    (0, 1, 0)
    """

    def __init__(self, schema: NamedSchema | None = None, grow: bool = True) -> None:
        schema = schema or NamedSchema()
        self.index = {name: k for k, name in enumerate(schema.names)}
        self.bits = schema.bits
        self.grow = grow
        self.on_name: Callable[[int, str], None] | None = None  # called with each hashed feature and its name

    def __len__(self) -> int:
        return 1 << self.bits if self.bits else len(self.index)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order of appearance."""
        return tuple(self.index)

    def codes(self, names: Iterable[Any]) -> list[int]:
        """Return the feature of every name without adding any, -1 for an unknown name.

        >>> Vocabulary(NamedSchema(("free", "offer"))).codes(["offer", "lunch"])
        [1, -1]
        """
        if self.bits:
            crc32, mask = zlib.crc32, (1 << self.bits) - 1  # inlined :func:`hashed`, for speed
            return [crc32(name.encode("utf-8", "surrogatepass")) & mask for name in names]
        return list(map(self.index.get, names, itertools.repeat(-1)))

    def extend(self, names: Sequence[str]) -> int:
        """Add new, valid and distinct names to a vocabulary without hashing; return the feature of the first."""
        first = len(self.index)
        self.index.update(zip(names, range(first, first + len(names)), strict=True))
        return first

    def features(self, names: Sequence[str]) -> list[int]:
        """Return the features of distinct names, as :meth:`feature` does.

        >>> Vocabulary(NamedSchema(("free", "offer"))).features(["offer", "lunch"])
        [1, 2]
        """
        if self.bits and self.on_name is not None:
            return [self.feature(name) for name in names]
        codes = self.codes(names)
        if self.grow and not self.bits:
            new = [name for name, code in zip(names, codes, strict=True) if code < 0]
            check_names(new, "feature")
            fresh = itertools.count(self.extend(new))
            codes = [next(fresh) if code < 0 else code for code in codes]
        return codes

    def feature(self, name: str) -> int:
        """Return the feature of a name; an unknown name gets a new one if the vocabulary grows, else -1."""
        if self.bits:
            feature = hashed(name, self.bits)
            if self.on_name is not None:
                self.on_name(feature, checked_name(name, "feature"))
            return feature
        index = self.index.get(name, -1)
        if index < 0 and self.grow:
            self.index[checked_name(name, "feature")] = index = len(self.index)
        return index


class Record(NamedTuple):
    """One example of a source of named features."""

    line: int
    label: Any
    features: Mapping[str, float]
    texts: tuple[str, ...] = ()  # their words are features too


def rows_of_records(
    records: Sequence[Record],
    vocabulary: Vocabulary,
    words: Words | None = None,
    prefixes: Sequence[str] = (),
) -> tuple[Any, int]:
    """Return the CSR rows of records, and the number of their features that are not in the vocabulary.

    Names are added to the vocabulary in order of appearance: record by record, the words of its texts last, so that any
    split of the records gives the same features. Prefix ``t`` is put before the words of text ``t``.
    """
    index: dict[str, int] = {}
    numbers = [index.setdefault(name, len(index)) for record in records for name in record.features]
    rows = np.repeat(np.arange(len(records)), [len(record.features) for record in records])
    entries = np.array(numbers, np.int64)
    values = np.array([value for record in records for value in record.features.values()], np.float64)
    names = list(index)
    features = np.array(vocabulary.features(names), np.int32) if not prefixes else None
    if features is None:
        counts = words_in([text for record in records for text in record.texts], words or Words(), prefixes)
        rows = np.concatenate([rows, np.repeat(np.arange(len(records)), np.diff(counts.indptr))])
        entries = np.concatenate([entries, counts.numbers + np.int64(len(names))])
        values = np.concatenate([values, counts.counts])
        features = _features_by_row(vocabulary, [*names, *counts.words], len(names), rows, entries)
        order = np.argsort(rows, kind="stable")
        rows, entries, values = rows[order], entries[order], values[order]
    columns = features[entries]
    unknown = int((columns < 0).sum())
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(records)))]).astype(np.int64)
    n, _ = sorted_rows(indptr, columns, values)  # values of names with the same hash add up
    return sparse_rows(values[:n], columns[:n], indptr, len(vocabulary)), unknown


def _features_by_row(
    vocabulary: Vocabulary, names: list[str], n_own: int, rows: NDArray[Any], entries: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the features of names; add new ones by their first row, and in it the first ``n_own`` before words."""
    first = np.zeros(len(names), np.int64)
    first[entries[::-1]] = rows[::-1]
    order = np.argsort(2 * first + (np.arange(len(names)) >= n_own), kind="stable")
    distinct: dict[str, int] = {}
    number = np.empty(len(names), np.int64)
    for k in order.tolist():
        number[k] = distinct.setdefault(names[k], len(distinct))
    return np.array(vocabulary.features(list(distinct)), np.int32)[number]


def labels_of(values: Iterable[Any], kind: "LabelKind") -> NDArray[Any]:
    """Return labels as an array of the given kind.

    >>> labels_of([1, 2.0], "integer"), labels_of(["a", "bc"], "text")
    (array([1, 2]), array(['a', 'bc'], dtype='<U2'))
    """
    if kind == "text":
        return exact_labels(list(values)).astype(np.str_, copy=False)
    numbers = np.array(list(values))
    return numbers if numbers.dtype == np.int64 else as_written(numbers.astype(np.float64, copy=False))


def kind_of_label(value: Any) -> "LabelKind":
    """Return the kind of a label; that of the first example holds for all."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "text"
    return "integer" if isinstance(value, int) else "number"


def in_batches(records: Iterable[T], size: int) -> Iterator[list[T]]:
    """Collect records into lists of ``size``."""
    batch: list[T] = []
    for record in records:
        batch.append(record)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def batch_of(
    records: list[Record],
    vocabulary: Vocabulary,
    kind: "LabelKind | None",
    words: Words | None = None,
    prefixes: Sequence[str] = (),
) -> tuple[Batch, int]:
    """Return records as a batch, without labels if ``kind`` is None, and the number of unknown features."""
    X, unknown = rows_of_records(records, vocabulary, words, prefixes)
    y = None if kind is None else labels_of([record.label for record in records], kind)
    return Batch(X, y, np.array([record.line for record in records], np.int64)), unknown
