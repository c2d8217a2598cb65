"""Text to words: cut, counted, and known by their place in a vocabulary or by their hash."""

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.data.batch import sparse_rows

# Letters, digits and underscores, with the combining marks that `\w` leaves out; an apostrophe joins two of them.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e30-\u0e4e\u200d"
WORD = re.compile(rf"[\w{_MARKS}]+(?:['’][\w{_MARKS}]+)*")
LONG_TEXT = (
    1 << 16
)  # characters; the words of a longer text are read one by one, so that other threads may run
MOST_BUCKETS = 1 << 30
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
    binary: bool = True  # 1 for a word that occurs, however often; else how often
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
        return self

    def cut(self, text: str) -> list[str]:
        """Return the words of a text in their order, then pairs, then triples, as far as ``ngrams`` says."""
        if not text.isascii() and not unicodedata.is_normalized("NFC", text):
            text = _normalized(text)
        text = text.lower() if self.lowercase else text
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

    >>> words_from_dict({"ngrams": [1, 2], "lowercase": True, "binary": False, "buckets": 0}).binary
    False
    """
    if not isinstance(stored, dict) or not set(stored) <= set(Words._fields):
        raise TypeError(f"{stored!r} does not say how texts become words")
    words = Words(**stored)
    ngrams = words.ngrams
    if not isinstance(ngrams, list | tuple) or len(ngrams) != 2:
        raise TypeError(f"ngrams is {ngrams!r}")
    types = [type(value) for value in (*ngrams, words.buckets, words.lowercase, words.binary)]
    if types != [int, int, int, bool, bool]:
        raise TypeError(f"{stored!r} does not say how texts become words")
    try:
        return words._replace(ngrams=(ngrams[0], ngrams[1])).check()
    except ValueError as error:
        raise TypeError(str(error)) from error


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
    indices: list[int] = []
    values: list[float] = []
    indptr = [0]
    unknown = 0
    for text in texts:
        counts: dict[int, float] = {}
        any_word = False
        for word in words.cut(text):
            any_word = True
            place = _place(word, words, index, grow)
            if place >= 0:
                counts[place] = 1.0 if words.binary else counts.get(place, 0.0) + 1.0
        unknown += any_word and not counts
        for place in sorted(counts):
            indices.append(place)
            values.append(counts[place])
        indptr.append(len(indices))
    width = words.buckets or len(index)
    X = sparse_rows(np.array(values), np.array(indices, np.int64), np.array(indptr), width)
    return Counted(X, unknown)


def _place(word: str, words: Words, index: dict[str, int], grow: bool) -> int:
    if words.buckets:
        return words.bucket(word)
    return index.setdefault(word, len(index)) if grow else index.get(word, -1)


def vocabulary(texts: Iterable[str], words: Words) -> Iterator[str]:
    """Yield every word of the texts, as often as it occurs."""
    for text in texts:
        yield from words.cut(text)


def looks_like_text(values: Iterable[str]) -> bool:
    """Whether the values of a discrete column are prose: mostly different, three words or more on average.

    >>> looks_like_text(["I will be late", "see you at nine then", "ok"])
    True
    >>> looks_like_text(["New York", "Paris", "New York"])
    False
    """
    some = list(values)
    lengths = sum(len(value.split()) for value in some)
    return bool(some) and 2 * len(set(some)) > len(some) and lengths >= 3 * len(some)
