"""Split texts into words, count them, and index them by a vocabulary or a hash.

Counting words needs no training data beyond a vocabulary. The weight of a word does: it depends on how many documents
contain it. So readers count first, and :class:`Tfidf` (sublinear, rows of unit length) is fitted on any of the counted
rows.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import sparse_rows
from rosenblatt.data.textblocks import in_order

# Letters, digits, underscores, and the combining marks that `\w` does not match; an apostrophe may be between two.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e30-\u0e4e\u200d"
WORD_CHARACTERS = rf"[\w{_MARKS}]"
WORD = re.compile(rf"{WORD_CHARACTERS}+(?:['’]{WORD_CHARACTERS}+)*")
LONG_TEXT = 1 << 16  # characters; longer texts are matched word by word, so that other threads can run
MANY_CHARACTERS = 1 << 15  # with fewer, words are counted without compiled loops
PART_CHARACTERS = 1 << 21  # characters counted at a time
MOST_BUCKETS = 1 << 30
Weighting = Literal["binary", "counts", "tfidf"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)
LONGEST_RUN = 256  # characters outside ASCII that are normalized together
LONG_RUN = re.compile(rf"[^\x00-\x7f]{{{LONGEST_RUN + 1},}}")
RUN = re.compile(rf"[\x00-\x7f]+[^\x00-\x7f]{{0,{LONGEST_RUN}}}|[^\x00-\x7f]{{1,{LONGEST_RUN}}}")


class Words(NamedTuple):
    """Options of the split of texts into words.

    >>> Words(ngrams=(1, 2)).cut("Don't PANIC, please")
    ["don't", 'panic', 'please', "don't panic", 'panic please']
    """

    ngrams: tuple[int, int] = (1, 1)  # shortest and longest n-gram
    lowercase: bool = True
    weighting: Weighting = "binary"  # 1 for a word that occurs, its count, or tf-idf rows of unit length
    buckets: int = 0  # hash words into this many features; 0: one feature per word

    def check(self) -> "Words":
        """Return these options; raise ValueError if they are invalid."""
        shortest, longest = self.ngrams
        if not 1 <= shortest <= longest:
            raise ValueError(
                f"ngrams must be (shortest, longest) with 1 ≤ shortest ≤ longest, got {self.ngrams}"
            )
        if not 0 <= self.buckets <= MOST_BUCKETS:
            raise ValueError(f"buckets must be between 0 (none) and {MOST_BUCKETS:,}, got {self.buckets}")
        if self.weighting not in WEIGHTINGS:
            raise ValueError(f"words are {self.weighting!r}: expected one of {', '.join(WEIGHTINGS)}")
        return self

    @property
    def binary(self) -> bool:
        """Whether a word counts once, no matter how often it occurs."""
        return self.weighting == "binary"

    def to_dict(self) -> dict[str, Any]:
        """Return the options as a dict for JSON, the input of :func:`words_from_dict`."""
        return {**self._asdict(), "ngrams": list(self.ngrams)}

    def cut(self, text: str) -> list[str]:
        """Return the n-grams of a text in order, shortest first."""
        text = self.normalized(text)
        long = len(text) > LONG_TEXT
        words: list[str] = [word.group() for word in WORD.finditer(text)] if long else WORD.findall(text)
        if self.ngrams == (1, 1):
            return words
        shortest, longest = self.ngrams
        return [
            " ".join(words[start : start + length])
            for length in range(shortest, longest + 1)
            for start in range(len(words) - length + 1)
        ]

    def normalized(self, text: str) -> str:
        """Return a text in Unicode normal form NFC, in lower case with ``lowercase``."""
        if not text.isascii() and not unicodedata.is_normalized("NFC", text):
            text = _normalized(text)
        return text.lower() if self.lowercase else text

    def bucket(self, word: str) -> int:
        """Return the feature of a hashed word, by the CRC-32 of its UTF-8 bytes, which never changes."""
        return zlib.crc32(word.encode("utf-8", "surrogatepass")) % self.buckets


def _normalized(text: str) -> str:
    """Return a text in Unicode normal form NFC, in linear time.

    Python sorts a run of combining marks by insertion, in quadratic time. ASCII characters are never part of such a
    run, so the text is split before them; a run longer than :data:`LONGEST_RUN` is split anywhere.
    """
    if LONG_RUN.search(text) is None:
        return unicodedata.normalize("NFC", text)
    return "".join(unicodedata.normalize("NFC", run) for run in RUN.findall(text))


def words_from_dict(stored: Any) -> Words:
    """Return the options stored in a schema; raise TypeError for anything else.

    Version 0.1 wrote ``binary`` instead of ``weighting``.

    >>> words_from_dict({"ngrams": [1, 2], "lowercase": True, "binary": False, "buckets": 0}).weighting
    'counts'
    """
    if not isinstance(stored, dict) or not set(stored) <= {*Words._fields, "binary"}:
        raise TypeError(f"{stored!r} does not say how texts become words")
    if "binary" in stored:
        binary, stored = stored["binary"], {key: stored[key] for key in stored if key != "binary"}
        if type(binary) is not bool or "weighting" in stored:
            raise TypeError(f"binary is {binary!r}")
        stored["weighting"] = "binary" if binary else "counts"
    words = Words(**stored)
    ngrams = words.ngrams
    if not isinstance(ngrams, list | tuple) or len(ngrams) != 2:
        raise TypeError(f"ngrams is {ngrams!r}")
    types = [type(value) for value in (*ngrams, words.buckets, words.lowercase, words.weighting)]
    if types != [int, int, int, bool, str]:
        raise TypeError(f"{stored!r} does not say how texts become words")
    try:
        return words._replace(ngrams=(ngrams[0], ngrams[1])).check()
    except ValueError as error:
        raise TypeError(str(error)) from error


class WordCounts(NamedTuple):
    """Counts of words in rows of texts."""

    words: list[str]  # in order of appearance
    indptr: NDArray[np.int64]  # (rows + 1,)
    numbers: NDArray[np.int32]  # the words of each row, ascending
    counts: NDArray[np.float64]

    def rows(self, features: NDArray[np.int32], n_features: int) -> Any:
        """Return CSR rows with each word at its feature; -1 drops a word, words of the same feature add up."""
        indices, values, indptr = features[self.numbers], self.counts, self.indptr
        if not (features[1:] > features[:-1]).all() or (features[:1] < 0).any():
            from rosenblatt.data.scanners.names import sorted_rows

            indptr, values = indptr.copy(), values.copy()
            size, _ = sorted_rows(indptr, indices, values)
            indices, values = indices[:size], values[:size]
        return sparse_rows(values, indices, indptr, n_features)


def words_in(texts: Sequence[str], words: Words, prefixes: Sequence[str] = ("",)) -> WordCounts:
    """Count the words of texts; with ``binary`` every count is 1.

    Each row consists of one text per prefix, and the prefix of a text is put before its words:

    >>> words_in(["free offer", "bob"] + ["free", "ann"], Words(), ["", "from:"])
    WordCounts(words=['free', 'offer', 'from:bob', 'from:ann'], indptr=array([0, 3, 5]), ...)
    """
    if texts and words.ngrams == (1, 1) and sum(map(len, texts)) >= MANY_CHARACTERS:
        return _count_compiled(texts, words, prefixes)
    index: dict[str, int] = {}
    numbers: list[int] = []
    counts: list[int] = []
    indptr = [0]
    for first in range(0, len(texts), len(prefixes)):
        row: dict[int, int] = {}
        for prefix, text in zip(prefixes, texts[first : first + len(prefixes)], strict=True):
            for word in words.cut(text):
                number = index.setdefault(prefix + word, len(index))
                row[number] = row.get(number, 0) + 1
        for number in sorted(row):
            numbers.append(number)
            counts.append(1 if words.binary else row[number])
        indptr.append(len(numbers))
    return WordCounts(
        list(index), np.array(indptr, np.int64), np.array(numbers, np.int32), np.array(counts, np.float64)
    )


def _count_compiled(texts: Sequence[str], words: Words, prefixes: Sequence[str]) -> WordCounts:
    """Count with compiled loops, a few megabytes of text at a time on all cores."""
    from rosenblatt.data.scanners.names import NameTable, sorted_rows
    from rosenblatt.data.scanners.words import number_in_order, scan_words

    def scan(first: int, stop: int) -> Any:
        return scan_words([words.normalized(text) for text in texts[first:stop]], WORD_CHARACTERS)

    table, n = NameTable(), len(prefixes)
    numbered, keys, size = np.zeros(0, np.int32), np.empty(0, np.int64), 0
    parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]] = []
    bounds = list(_parts(texts, n))
    scans = in_order(lambda part: scan(*part), bounds) if len(bounds) > 1 else [scan(*bounds[0])]
    for text_scan in scans:
        numbers = table.numbers(text_scan.text, text_scan.spans, text_scan.crcs)
        if n > 1:
            numbered = np.concatenate([numbered, np.zeros(n * len(table) - numbered.size, np.int32)])
            keys = np.concatenate([keys, np.empty(n * len(table) - keys.size, np.int64)])
            size = number_in_order(numbers, text_scan.starts, n, numbered, keys, size)
        indptr, counts = text_scan.starts[::n].copy(), np.ones(numbers.size)
        n_entries, _ = sorted_rows(indptr, numbers, counts)
        counts = np.ones(n_entries) if words.binary else counts[:n_entries].copy()
        parts.append((indptr, numbers[:n_entries].copy(), counts))
    names = table.names()
    if n > 1:
        names = [prefixes[key % n] + names[key // n] for key in keys[:size].tolist()]
    elif prefixes[0]:
        names = [prefixes[0] + name for name in names]
    starts = np.cumsum([0, *(indptr[-1] for indptr, _, _ in parts)])
    return WordCounts(
        names,
        np.concatenate(
            [[0], *(indptr[1:] + start for (indptr, _, _), start in zip(parts, starts, strict=False))]
        ),
        np.concatenate([numbers for _, numbers, _ in parts]),
        np.concatenate([counts for _, _, counts in parts]),
    )


def _parts(texts: Sequence[str], n: int) -> Iterator[tuple[int, int]]:
    """Split texts into parts of about :data:`PART_CHARACTERS`, each a multiple of ``n`` texts."""
    first = size = 0
    for k, text in enumerate(texts):
        size += len(text)
        if size >= PART_CHARACTERS and (k + 1) % n == 0:
            yield first, k + 1
            first, size = k + 1, 0
    if first < len(texts):
        yield first, len(texts)


class Counted(NamedTuple):
    """Texts as rows of word counts."""

    X: Any  # csr_array (texts, features)
    unknown: int  # texts with words, but no known one


def count_words(texts: Iterable[str], words: Words, index: dict[str, int], grow: bool = False) -> Counted:
    """Count the words of every text; with ``grow``, add new words to ``index`` in order of appearance.

    Any split of the texts gives the same features as one call.

    >>> index = {}
    >>> count_words(["to be", "or not to be"], Words(), index, grow=True).X.toarray()
    array([[1., 1., 0., 0.], [1., 1., 1., 1.]])
    >>> index
    {'to': 0, 'be': 1, 'or': 2, 'not': 3}
    """
    counts = words_in(list(texts), words)
    if words.buckets:
        features = [words.bucket(word) for word in counts.words]
    elif grow:
        features = [index.setdefault(word, len(index)) for word in counts.words]
    else:
        features = [index.get(word, -1) for word in counts.words]
    X = counts.rows(np.array(features, np.int32), words.buckets or len(index))
    if words.buckets and words.binary:
        X.data[:] = 1.0
    return Counted(X, int(((np.diff(X.indptr) == 0) & (np.diff(counts.indptr) > 0)).sum()))


def looks_like_text(values: Iterable[str]) -> bool:
    """Whether the values of a discrete column are prose: mostly distinct, with three words or more on average.

    >>> looks_like_text(["I will be late", "see you at nine then", "ok"])
    True
    >>> looks_like_text(["New York", "Paris", "New York"])
    False
    """
    texts = list(values)
    return len("\n".join(texts).split()) >= 3 * len(texts) > 0 and 2 * len(set(texts)) > len(texts)


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
