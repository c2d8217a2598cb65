"""Features known by name: an open vocabulary that grows in order of appearance, a fixed one, or hashes."""

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
from rosenblatt.data.tfidf import Tfidf
from rosenblatt.data.words import Words, words_from_dict, words_in

if TYPE_CHECKING:
    from rosenblatt.data.schema import Column, LabelKind

MOST_BITS = 30

T = TypeVar("T")


@dataclass(frozen=True)
class NamedSchema:
    """Names in order of appearance, or hashes of ``bits`` bits; how texts become words, and the target.

    >>> NamedSchema(("free", "offer")).feature_names
    ['free', 'offer']
    """

    names: tuple[str, ...] = ()
    bits: int = 0  # names are hashed into 2^bits features; 0: each name has a feature of its own
    target: str | None = None
    labels: "LabelKind" = "text"
    text: tuple[str, ...] = ()  # fields that are prose; with none, and tf-idf, every feature is a word
    words: Words = field(default_factory=Words)
    documents: int = 0  # how many rows the weights of tf-idf come from; 0: nothing is weighed
    frequency: tuple[int, ...] = ()  # in how many of them each feature occurs
    columns: "tuple[Column, ...]" = ()  # of a table that was read as it arrived, where its values have decided

    def __post_init__(self) -> None:
        if type(self.bits) is not int or not 0 <= self.bits <= MOST_BITS:
            raise ValueError(f"hash bits must be between 1 and {MOST_BITS}, or 0 for names, got {self.bits}")
        strings = [*self.names, *self.text, *([] if self.target is None else [self.target])]
        if not all(isinstance(name, str) for name in strings) or len(set(self.names)) < len(self.names):
            raise ValueError("not a schema: names must be strings, each given once")
        if self.bits and self.names:
            raise ValueError("not a schema: features are hashed, and named all the same")
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
        """Names of the features; a hash has none."""
        return None if self.bits else list(self.names)

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return 1 << self.bits if self.bits else len(self.names)

    def weighed_by(self, tfidf: Tfidf) -> "NamedSchema":
        """Return this schema with the document counts of a fitted weighting."""
        return replace(self, documents=tfidf.documents, frequency=tuple(tfidf.frequency.tolist()))

    def to_dict(self) -> dict[str, Any]:
        """Return what :func:`named_schema_from_dict` needs, ready for JSON."""
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
    """Read back what ``to_dict`` wrote; anything else is a ValueError.

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
    """Return the feature of a hashed name: CRC-32 of its UTF-8 bytes, the same everywhere and for ever.

    >>> hashed("free", 18)
    180680
    """
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) & ((1 << bits) - 1)


class Vocabulary:
    """Where every name's weight is.

    >>> words = Vocabulary()
    >>> words.place("free"), words.place("offer"), words.place("free")
    (0, 1, 0)
    """

    def __init__(self, schema: NamedSchema | None = None, grow: bool = True) -> None:
        schema = schema or NamedSchema()
        self.index = {name: at for at, name in enumerate(schema.names)}
        self.bits = schema.bits
        self.grow = grow
        self.on_name: Callable[[int, str], None] | None = None  # told of every name that is hashed

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
            crc32, mask = zlib.crc32, (1 << self.bits) - 1  # as :func:`hashed`, without a call for each name
            return [crc32(name.encode("utf-8", "surrogatepass")) & mask for name in names]
        return list(map(self.index.get, names, itertools.repeat(-1)))

    def extend(self, names: Sequence[str]) -> int:
        """Add unknown, valid and distinct names to a vocabulary that is not hashed; return the feature of the first."""
        first = len(self.index)
        self.index.update(zip(names, range(first, first + len(names)), strict=True))
        return first

    def places(self, names: Sequence[str]) -> list[int]:
        """Return the feature of every one of some distinct names, as :meth:`place` does.

        >>> Vocabulary(NamedSchema(("free", "offer"))).places(["offer", "lunch"])
        [1, 2]
        """
        if self.bits and self.on_name is not None:
            return [self.place(name) for name in names]
        codes = self.codes(names)
        if self.grow and not self.bits:
            new = [name for name, code in zip(names, codes, strict=True) if code < 0]
            check_names(new, "feature")
            fresh = itertools.count(self.extend(new))
            codes = [next(fresh) if code < 0 else code for code in codes]
        return codes

    def place(self, name: str) -> int:
        """Return the feature of a name: a new one where the vocabulary grows, else -1 for an unknown name."""
        if self.bits:
            at = hashed(name, self.bits)
            if self.on_name is not None:
                self.on_name(at, checked_name(name, "feature"))
            return at
        known = self.index.get(name, -1)
        if known < 0 and self.grow:
            self.index[checked_name(name, "feature")] = known = len(self.index)
        return known


class Record(NamedTuple):
    """One example as a format tells it."""

    line: int
    label: Any
    features: Mapping[str, float]
    texts: tuple[str, ...] = ()  # whose words are features too


def rows_of_records(
    records: Sequence[Record],
    vocabulary: Vocabulary,
    words: Words | None = None,
    prefixes: Sequence[str] = (),
) -> tuple[Any, int]:
    """Return the CSR rows of records, and how many of their features the vocabulary does not know.

    Names join the vocabulary in order of appearance: record by record, the words of its texts last. So any split of the
    records gives the same features. The words of text ``t`` are called by the prefix ``t``.
    """
    index: dict[str, int] = {}
    own = [index.setdefault(name, len(index)) for record in records for name in record.features]
    rows = np.repeat(np.arange(len(records)), [len(record.features) for record in records])
    entries = np.array(own, np.int64)
    values = np.array([value for record in records for value in record.features.values()], np.float64)
    names = list(index)
    places = np.array(vocabulary.places(names), np.int32) if not prefixes else None
    if places is None:
        counted = words_in([text for record in records for text in record.texts], words or Words(), prefixes)
        rows = np.concatenate([rows, np.repeat(np.arange(len(records)), np.diff(counted.indptr))])
        entries = np.concatenate([entries, counted.numbers + np.int64(len(names))])
        values = np.concatenate([values, counted.counts])
        places = _places_by_row(vocabulary, [*names, *counted.words], len(names), rows, entries)
        order = np.argsort(rows, kind="stable")
        rows, entries, values = rows[order], entries[order], values[order]
    columns = places[entries]
    unknown = int((columns < 0).sum())
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(records)))]).astype(np.int64)
    n, _ = sorted_rows(indptr, columns, values)  # of two names that share a hash, the values are added
    return sparse_rows(values[:n], columns[:n], indptr, len(vocabulary)), unknown


def _places_by_row(
    vocabulary: Vocabulary, names: list[str], n_own: int, rows: NDArray[Any], entries: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the features of names; new ones join by the first row they occur in, the first ``n_own`` before words."""
    first = np.zeros(len(names), np.int64)
    first[entries[::-1]] = rows[::-1]
    order = np.argsort(2 * first + (np.arange(len(names)) >= n_own), kind="stable")
    distinct: dict[str, int] = {}
    number = np.empty(len(names), np.int64)
    for at in order.tolist():
        number[at] = distinct.setdefault(names[at], len(distinct))
    return np.array(vocabulary.places(list(distinct)), np.int32)[number]


def labels_of(values: Iterable[Any], kind: "LabelKind") -> NDArray[Any]:
    """Return labels as an array of their kind.

    >>> labels_of([1, 2.0], "integer"), labels_of(["a", "bc"], "text")
    (array([1, 2]), array(['a', 'bc'], dtype='<U2'))
    """
    if kind == "text":
        return exact_labels(list(values)).astype(np.str_, copy=False)
    numbers = np.array(list(values))
    return numbers if numbers.dtype == np.int64 else as_written(numbers.astype(np.float64, copy=False))


def kind_of_label(value: Any) -> "LabelKind":
    """Return what kind of label a value is: what the first example has, all must have."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "text"
    return "integer" if isinstance(value, int) else "number"


def in_batches(records: Iterable[T], size: int) -> Iterator[list[T]]:
    """Collect records into lists of so many."""
    held: list[T] = []
    for record in records:
        held.append(record)
        if len(held) == size:
            yield held
            held = []
    if held:
        yield held


def batch_of(
    records: list[Record],
    vocabulary: Vocabulary,
    kind: "LabelKind | None",
    words: Words | None = None,
    prefixes: Sequence[str] = (),
) -> tuple[Batch, int]:
    """Return records as a batch, and how many features are unknown; without labels where ``kind`` is None."""
    X, unknown = rows_of_records(records, vocabulary, words, prefixes)
    y = None if kind is None else labels_of([record.label for record in records], kind)
    return Batch(X, y, np.array([record.line for record in records], np.int64)), unknown
