"""A compiled scanner of the words in texts, as :data:`rosenblatt.data.words.WORD` defines them.

A word is a run of word characters, and an apostrophe between two of them is part of it. Texts are UTF-8, joined by
line ends.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import as_bytes, compiled
from rosenblatt.data.scanners.decimals import ULL, at
from rosenblatt.data.scanners.names import ALL_ONES, update_crc_wide

OTHER, LETTER, APOSTROPHE = 0, 1, 2
PADDING = bytes(80)  # readable bytes after the last text
ASCII = 128
CODE_POINTS = 0x110000


class WordScan(NamedTuple):
    """The words of some texts, in order."""

    text: bytes  # all texts
    starts: NDArray[np.int64]  # (texts + 1,) first word of every text, then the number of words
    spans: NDArray[np.uint32]  # (words, 4): 0, 0, start and end of the word; the layout of NameTable
    crcs: NDArray[np.uint32]  # CRC-32 of every word


def scan_words(texts: Sequence[str], word_characters: str) -> WordScan:
    """Find the words of texts; ``word_characters`` is a character class of a regular expression, like ``[a-z]``.

    >>> words = scan_words(["don't panic", "", "été"], r"[\\w]")
    >>> [words.text[start:end].decode() for _, _, start, end in words.spans.tolist()], words.starts.tolist()
    (["don't", 'panic', 'été'], [0, 2, 2, 3])
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    joined = b"\n".join([*encoded, PADDING])
    ends = np.cumsum([len(each) + 1 for each in encoded], dtype=np.int64)
    kinds = _character_kinds(word_characters, ASCII if joined.isascii() else CODE_POINTS)
    size = int(ends[-1]) if encoded else 0
    spans, crcs = np.zeros((size // 2 + 1, 4), np.uint32), np.empty(size // 2 + 1, np.uint32)
    starts = np.zeros(len(encoded) + 1, np.int64)
    n = find_words(as_bytes(joined), ends, kinds, starts, spans, crcs)
    return WordScan(joined, starts, spans[:n], crcs[:n])


@cache
def _character_kinds(word_characters: str, size: int) -> NDArray[np.uint8]:
    """Return the kind of every code point below ``size``: OTHER, LETTER or APOSTROPHE."""
    kinds = np.zeros(size, np.uint8)
    for run in re.finditer(f"{word_characters}+", "".join(map(chr, range(size)))):
        kinds[run.start() : run.end()] = LETTER
    for apostrophe in "'’":
        if ord(apostrophe) < size:
            kinds[ord(apostrophe)] = APOSTROPHE
    kinds.flags.writeable = False
    return kinds


@compiled
def _decode(text: Any, p: Any) -> tuple[Any, Any]:
    """Decode the UTF-8 character at ``p``: (code point, number of bytes)."""
    first = ULL(at(text, p))
    if first < ULL(0x80):
        return first, ULL(1)
    second = ULL(at(text, p + ULL(1))) & ULL(0x3F)
    if first < ULL(0xE0):
        return ((first & ULL(0x1F)) << ULL(6)) | second, ULL(2)
    third = ULL(at(text, p + ULL(2))) & ULL(0x3F)
    if first < ULL(0xF0):
        return ((first & ULL(0x0F)) << ULL(12)) | (second << ULL(6)) | third, ULL(3)
    fourth = ULL(at(text, p + ULL(3))) & ULL(0x3F)
    return ((first & ULL(0x07)) << ULL(18)) | (second << ULL(12)) | (third << ULL(6)) | fourth, ULL(4)


@compiled
def find_words(text: Any, ends: Any, kinds: Any, starts: Any, spans: Any, crcs: Any) -> int:
    """Fill the arrays and return the number of words; :data:`PADDING` follows the last text."""
    p, n = ULL(0), ULL(0)
    for row in range(ends.size):
        end = ULL(ends[row])
        while p < end:
            character, length = _decode(text, p)
            if kinds[character] != LETTER:
                p += length
                continue
            start = p
            while True:
                while kinds[character] == LETTER:
                    p += length
                    character, length = _decode(text, p)
                if kinds[character] != APOSTROPHE:
                    break
                after, after_length = _decode(text, p + length)
                if kinds[after] != LETTER:
                    break
                p += length
                character, length = after, after_length
            spans[n, 2], spans[n, 3] = start, p
            crcs[n] = update_crc_wide(ALL_ONES, text, start, p - start) ^ ALL_ONES
            n += ULL(1)
        starts[row + 1] = n
    return int(n)


@compiled
def number_in_order(numbers: Any, starts: Any, n_prefixes: int, numbered: Any, keys: Any, size: int) -> int:
    """Renumber pairs of word and prefix in order of appearance, in place; return the number of distinct pairs.

    The prefix of text ``t`` is number ``t % n_prefixes``. ``numbered[word * n_prefixes + prefix]`` is the new number
    plus 1 (0: none yet), and ``keys[number]`` the index of that entry; earlier texts have assigned the first ``size``.
    """
    for text in range(starts.size - 1):
        prefix = text % n_prefixes
        for k in range(starts[text], starts[text + 1]):
            key = np.int64(numbers[k]) * n_prefixes + prefix
            if numbered[key] == 0:
                keys[size] = key
                size += 1
                numbered[key] = size
            numbers[k] = numbered[key] - 1
    return size


@compiled
def weight_rows(
    indptr: Any, indices: Any, values: Any, documents: int, frequency: Any, groups: Any, squares: Any
) -> None:
    """Weight each row of word counts by the documents up to it, in place: see :class:`rosenblatt.data.words.Tfidf`.

    ``frequency`` (features) is updated; ``squares`` (groups) is scratch memory.
    """
    for row in range(indptr.size - 1):
        documents += 1
        squares[:] = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            feature = indices[k]
            group = groups[feature]
            if group < 0:
                continue
            frequency[feature] += 1
            tf = 1.0 + np.log(values[k]) if values[k] > 1.0 else values[k]
            values[k] = tf * (1.0 + np.log((1.0 + documents) / (1.0 + frequency[feature])))
            squares[group] += values[k] * values[k]
        for k in range(indptr[row], indptr[row + 1]):
            group = groups[indices[k]]
            if group >= 0 and squares[group] > 0.0:
                values[k] /= np.sqrt(squares[group])
