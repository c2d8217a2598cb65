"""Text to words: cut, counted, and known by their place in a vocabulary or by their hash."""

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import sparse_rows
from rosenblatt.data.textblocks import in_order

# Letters, digits and underscores, with the combining marks that `\w` leaves out; an apostrophe joins two of them.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e30-\u0e4e\u200d"
WORD_CHARACTERS = rf"[\w{_MARKS}]"
WORD = re.compile(rf"{WORD_CHARACTERS}+(?:['’]{WORD_CHARACTERS}+)*")
LONG_TEXT = (
    1 << 16
)  # characters; the words of a longer text are read one by one, so that other threads may run
MANY_CHARACTERS = 1 << 15  # fewer are counted without compiled loops
PART_CHARACTERS = 1 << 21  # that are counted at a time
MOST_BUCKETS = 1 << 30
Weighting = Literal["binary", "counts", "tfidf"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)
LONGEST_RUN = 256  # characters outside ASCII that are normalised together
LONG_RUN = re.compile(rf"[^\x00-\x7f]{{{LONGEST_RUN + 1},}}")
RUN = re.compile(rf"[\x00-\x7f]+[^\x00-\x7f]{{0,{LONGEST_RUN}}}|[^\x00-\x7f]{{1,{LONGEST_RUN}}}")


class Words(NamedTuple):
    """How a text becomes words.

    >>> Words(ngrams=(1, 2)).cut("Don't PANIC, please")
    ["don't", 'panic', 'please', "don't panic", 'panic please']
    """

    ngrams: tuple[int, int] = (1, 1)  # from how many words in a row to how many
    lowercase: bool = True
    weighting: Weighting = (
        "binary"  # 1 for a word that occurs, how often it does, or rows of tf-idf with unit length
    )
    buckets: int = 0  # words are hashed into so many features; 0: each word has a feature of its own

    def check(self) -> "Words":
        """Return these words, or raise ValueError where they make no sense."""
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
        """Whether a word counts once, however often it occurs."""
        return self.weighting == "binary"

    def to_dict(self) -> dict[str, Any]:
        """Return what :func:`words_from_dict` needs, ready for JSON."""
        return {**self._asdict(), "ngrams": list(self.ngrams)}

    def cut(self, text: str) -> list[str]:
        """Return the words of a text in their order, then pairs, then triples, as far as ``ngrams`` says."""
        text = self.normalized(text)
        long = len(text) > LONG_TEXT
        words: list[str] = [word.group() for word in WORD.finditer(text)] if long else WORD.findall(text)
        if self.ngrams == (1, 1):
            return words
        shortest, longest = self.ngrams
        return [
            " ".join(words[at : at + length])
            for length in range(shortest, longest + 1)
            for at in range(len(words) - length + 1)
        ]

    def normalized(self, text: str) -> str:
        """Return a text in Unicode's form NFC, in lower case where that is asked for."""
        if not text.isascii() and not unicodedata.is_normalized("NFC", text):
            text = _normalized(text)
        return text.lower() if self.lowercase else text

    def bucket(self, word: str) -> int:
        """Return the feature of a hashed word: CRC-32 of its UTF-8 bytes, the same everywhere and for ever."""
        return zlib.crc32(word.encode("utf-8", "surrogatepass")) % self.buckets


def _normalized(text: str) -> str:
    """Return a text in Unicode's form NFC, in linear time.

    Python sorts a run of combining marks by insertion, which takes quadratic time. No character of ASCII is part of
    such a run, so texts are cut before them; a longer run than :data:`LONGEST_RUN` is cut anywhere.
    """
    if LONG_RUN.search(text) is None:
        return unicodedata.normalize("NFC", text)
    return "".join(unicodedata.normalize("NFC", run) for run in RUN.findall(text))


def words_from_dict(stored: Any) -> Words:
    """Read back what a schema wrote of words; TypeError for anything else.

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
    """How often the words of some texts occur in each of them."""

    words: list[str]  # that occur, in order of appearance
    indptr: NDArray[np.int64]  # (rows + 1,)
    numbers: NDArray[np.int32]  # of the words of each row, ascending
    counts: NDArray[np.float64]

    def rows(self, places: NDArray[np.int32], n_features: int) -> Any:
        """Return the counts as CSR rows, each word at its place; -1 leaves it out, words of one place add up."""
        indices, values, indptr = places[self.numbers], self.counts, self.indptr
        if not (places[1:] > places[:-1]).all() or (places[:1] < 0).any():
            from rosenblatt.data.scanners.names import sorted_rows

            indptr, values = indptr.copy(), values.copy()
            entries, _ = sorted_rows(indptr, indices, values)
            indices, values = indices[:entries], values[:entries]
        return sparse_rows(values, indices, indptr, n_features)


def words_in(texts: Sequence[str], words: Words, prefixes: Sequence[str] = ("",)) -> WordCounts:
    """Count the words of texts; with ``binary`` every count is 1.

    Of several prefixes each row has as many texts, and a word is called by the prefix of its text:

    >>> words_in(["free offer", "bob"] + ["free", "ann"], Words(), ["", "from:"])
    WordCounts(words=['free', 'offer', 'from:bob', 'from:ann'], indptr=array([0, 3, 5]), ...)
    """
    if texts and words.ngrams == (1, 1) and sum(map(len, texts)) >= MANY_CHARACTERS:
        return _scanned(texts, words, prefixes)
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


def _scanned(texts: Sequence[str], words: Words, prefixes: Sequence[str]) -> WordCounts:
    """Count by compiled loops, a few megabytes of text at a time on all cores."""
    from rosenblatt.data.scanners.names import NameTable, sorted_rows
    from rosenblatt.data.scanners.words import number_in_order, scan_words

    def scan(first: int, stop: int) -> Any:
        return scan_words([words.normalized(text) for text in texts[first:stop]], WORD_CHARACTERS)

    table, n = NameTable(), len(prefixes)
    numbered, keys, size = np.zeros(0, np.int32), np.empty(0, np.int64), 0
    parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]] = []
    bounds = list(_parts(texts, n))
    scans = in_order(lambda part: scan(*part), bounds) if len(bounds) > 1 else [scan(*bounds[0])]
    for found in scans:
        numbers = table.numbers(found.text, found.spans, found.crcs)
        if n > 1:
            numbered = np.concatenate([numbered, np.zeros(n * len(table) - numbered.size, np.int32)])
            keys = np.concatenate([keys, np.empty(n * len(table) - keys.size, np.int64)])
            size = number_in_order(numbers, found.starts, n, numbered, keys, size)
        indptr, counts = found.starts[::n].copy(), np.ones(numbers.size)
        entries, _ = sorted_rows(indptr, numbers, counts)
        counts = np.ones(entries) if words.binary else counts[:entries].copy()
        parts.append((indptr, numbers[:entries].copy(), counts))
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
    """Cut texts into parts of about :data:`PART_CHARACTERS`, each a multiple of ``n`` texts."""
    first = size = 0
    for at, text in enumerate(texts):
        size += len(text)
        if size >= PART_CHARACTERS and (at + 1) % n == 0:
            yield first, at + 1
            first, size = at + 1, 0
    if first < len(texts):
        yield first, len(texts)


class Counted(NamedTuple):
    """Texts as rows of a matrix."""

    X: Any  # csr_array (texts, features)
    unknown: int  # texts that have words, but none that is known


def count_words(texts: Iterable[str], words: Words, index: dict[str, int], grow: bool = False) -> Counted:
    """Count the words of every text; with ``grow``, words not met before join ``index`` in order of appearance.

    So any split of the texts gives the same features as one go.

    >>> index = {}
    >>> count_words(["to be", "or not to be"], Words(), index, grow=True).X.toarray()
    array([[1., 1., 0., 0.], [1., 1., 1., 1.]])
    >>> index
    {'to': 0, 'be': 1, 'or': 2, 'not': 3}
    """
    counted = words_in(list(texts), words)
    if words.buckets:
        places = [words.bucket(word) for word in counted.words]
    elif grow:
        places = [index.setdefault(word, len(index)) for word in counted.words]
    else:
        places = [index.get(word, -1) for word in counted.words]
    X = counted.rows(np.array(places, np.int32), words.buckets or len(index))
    if words.buckets and words.binary:
        X.data[:] = 1.0
    return Counted(X, int(((np.diff(X.indptr) == 0) & (np.diff(counted.indptr) > 0)).sum()))


def looks_like_text(values: Iterable[str]) -> bool:
    """Whether the values of a discrete column are prose: mostly different, three words or more on average.

    >>> looks_like_text(["I will be late", "see you at nine then", "ok"])
    True
    >>> looks_like_text(["New York", "Paris", "New York"])
    False
    """
    some = list(values)
    return len("\n".join(some).split()) >= 3 * len(some) > 0 and 2 * len(set(some)) > len(some)
