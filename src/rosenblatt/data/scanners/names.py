"""Names of features: their CRC-32, a table that numbers them in order of appearance, rows sorted by these numbers."""

import zlib
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import as_bytes, compiled, inlined
from rosenblatt.data.scanners.decimals import EIGHT, ONE, TWO, ULL, at
from rosenblatt.data.scanners.wide import WINDOW, word


def _crc_tables() -> NDArray[np.uint32]:
    """Return CRC-32 of every byte (reflected polynomial 0xEDB88320) with 0 to 7 zero bytes after it, as zlib has it."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, np.uint32(0xEDB88320) ^ (table >> np.uint32(1)), table >> np.uint32(1))
    tables = [table]
    for _ in range(7):
        tables.append(table[tables[-1] & 0xFF] ^ (tables[-1] >> np.uint32(8)))
    return np.concatenate(tables)


CRC = _crc_tables()
ALL_ONES = np.uint32(0xFFFFFFFF)
BYTE, WORD_BYTE = np.uint32(0xFF), ULL(0xFF)
EIGHT_BITS = np.uint32(8)
THREE = ULL(3)
SHORT = 24  # entries that are sorted by insertion
NO_ROWS = np.empty(0, np.intp)


@compiled
def crc_over(crc: Any, text: Any, lo: int, hi: int) -> Any:
    """Continue an inverted CRC-32 over some bytes, one by one."""
    for p in range(lo, hi):
        crc = CRC[(crc ^ np.uint32(at(text, p))) & BYTE] ^ (crc >> EIGHT_BITS)
    return crc


@compiled
def crc_of_space(text: Any, lo: int, hi: int) -> Any:
    """Return the inverted CRC-32 of ``namespace^``."""
    crc = crc_over(ALL_ONES, text, lo, hi)
    return CRC[(crc ^ np.uint32(94)) & BYTE] ^ (crc >> EIGHT_BITS)


@inlined
def _crc_of_word(eight: Any) -> Any:
    """Return the sum of what eight bytes add to a CRC; zeros before the others add nothing."""
    crc = np.uint32(0)
    for k in range(8):
        crc ^= CRC[ULL(256 * (7 - k)) + ((eight >> ULL(8 * k)) & WORD_BYTE)]
    return crc


@inlined
def crc_of_name(crc: Any, text: Any, p: Any, length: Any) -> Any:
    """Continue an inverted CRC-32 over a name after which a word can be read: no byte waits for another.

    The CRC of a sum is the sum of the CRCs: each byte is looked up as if zeros followed it (slicing by eight).
    """
    while length > EIGHT:
        crc = _crc_of_word(word(text, p) ^ ULL(crc))
        p += EIGHT
        length -= EIGHT
    bits = EIGHT * length
    left = np.uint32(
        (ULL(crc) >> (bits >> ONE)) >> (bits >> ONE)
    )  # of the CRC so far, where fewer than four follow
    return left ^ _crc_of_word((word(text, p) ^ ULL(crc)) << (ULL(64) - bits))


@compiled
def _equal(text: Any, p: Any, arena: Any, q: Any, length: Any) -> bool:
    """Whether two stretches of bytes are equal; eight can be read from where either ends."""
    while length > EIGHT:
        if word(text, p) != word(arena, q):
            return False
        p += EIGHT
        q += EIGHT
        length -= EIGHT
    return bool(length == 0 or (word(text, p) ^ word(arena, q)) << (ULL(64) - EIGHT * length) == 0)


@compiled
def _same(text: Any, name: Any, arena: Any, lo: Any, hi: Any) -> bool:
    """Whether the name stands at ``arena[lo:hi]``: ``namespace^feature``, or the feature alone."""
    space, length = np.int64(name[1] - name[0]), np.int64(name[3] - name[2])
    prefix = space + 1 if space > 0 else 0
    if hi - lo != prefix + length or (space > 0 and at(arena, lo + space) != 94):
        return False
    if np.int64(name[2]) + length + WINDOW > text.size:
        return _same_bytes(text, name, arena, lo)
    if space > 0 and not _equal(text, ULL(name[0]), arena, ULL(lo), ULL(space)):
        return False
    return _equal(text, ULL(name[2]), arena, ULL(lo + prefix), ULL(length))


@compiled
def _same_bytes(text: Any, name: Any, arena: Any, lo: Any) -> bool:
    """Compare one byte at a time, at the end of the text."""
    space, length = np.int64(name[1] - name[0]), np.int64(name[3] - name[2])
    prefix = space + 1 if space > 0 else 0
    for k in range(space):
        if at(arena, lo + k) != at(text, name[0] + k):
            return False
    same = True
    for k in range(length):
        same &= at(arena, lo + prefix + k) == at(text, name[2] + k)
    return same


# A slot of the table, all in one place of memory: CRC of a name, its number + 1 (0: empty), where it starts and ends.
SLOT = ULL(4)


@compiled
def find_names(
    text: Any,
    names: Any,
    crcs: Any,
    first: int,
    slots: Any,
    arena: Any,
    starts: Any,
    known: Any,
    size: int,
    grow: bool,
    out: Any,
) -> tuple[int, int]:
    """Give every name from ``first`` on its number; return (how many names are done, how many the table holds).

    It stops early where the table has no room for a new name. A name the table does not know gets -1 unless it grows.
    """
    mask = ULL(slots.shape[0] // 4 - 1)
    for i in range(first, names.shape[0]):
        name, crc = names[i], crcs[i]
        slot = SLOT * (ULL(crc) & mask)
        found: Any = np.int64(-1)
        while slots[slot + ONE] != 0:
            if slots[slot] == crc and _same(
                text, name, arena, np.int64(slots[slot + TWO]), np.int64(slots[slot + THREE])
            ):
                found = np.int64(slots[slot + ONE]) - 1
                break
            slot = SLOT * ((slot // SLOT + ONE) & mask)
        if found < 0 and grow:
            space, length = np.int64(name[1] - name[0]), np.int64(name[3] - name[2])
            prefix = space + 1 if space > 0 else 0
            lo = starts[size]
            end = lo + prefix + length
            full = 8 * (size + 1) > slots.shape[0] or size + 2 > starts.shape[0]
            if full or end + 8 > arena.shape[0]:  # a word can be read after any name
                return i, size
            for k in range(space):
                arena[lo + k] = text[name[0] + k]
            if space > 0:
                arena[lo + space] = 94
            for k in range(length):
                arena[lo + prefix + k] = text[name[2] + k]
            starts[size + 1], known[size] = end, crcs[i]
            slots[slot], slots[slot + ONE] = crc, size + 1
            slots[slot + TWO], slots[slot + THREE] = lo, end
            found = size
            size += 1
        out[i] = found
    return names.shape[0], size


@compiled
def put_in_slots(slots: Any, starts: Any, known: Any, size: int) -> None:
    """Put every name into an empty table of slots."""
    mask = ULL(slots.shape[0] // 4 - 1)
    for k in range(size):
        slot = SLOT * (ULL(known[k]) & mask)
        while slots[slot + ONE] != 0:
            slot = SLOT * ((slot // SLOT + ONE) & mask)
        slots[slot], slots[slot + ONE] = known[k], k + 1
        slots[slot + TWO], slots[slot + THREE] = starts[k], starts[k + 1]


@compiled
def sort_and_sum(
    indptr: Any, places: Any, values: Any, room: Any, counts: Any, overflows: Any
) -> tuple[int, int]:
    """Sort every row by place, adding up what shares one and leaving out -1.

    Return how many entries are left, and how many rows have a sum that is not finite: ``overflows`` (rows) says which.
    ``indptr``, ``places`` and ``values`` are overwritten. ``room`` (3, entries of the longest row) and ``counts`` (256)
    are to work in. The sort is stable: sums are made in the order of the line.
    """
    kept = n_overflows = 0
    for row in range(indptr.shape[0] - 1):
        lo, hi = indptr[row], indptr[row + 1]
        first, entries, ascending, last, largest = kept, 0, True, -1, 0
        for k in range(lo, hi):
            place = places[k]
            if place < 0:
                continue
            ascending &= place > last
            last, largest = place, max(largest, place)
            places[first + entries], values[first + entries] = place, values[k]
            entries += 1
        kept += entries
        if not ascending:
            _sort(places[first:kept], values[first:kept], largest, room, counts)
            before = kept
            kept = first + _summed(places[first:kept], values[first:kept])
            finite = True
            if kept < before:
                for k in range(first, kept):
                    finite &= np.isfinite(values[k])
            if not finite:
                overflows[row] = True
                n_overflows += 1
        indptr[row] = first
    indptr[indptr.shape[0] - 1] = kept
    return kept, n_overflows


@compiled
def _sort(places: Any, values: Any, largest: int, room: Any, counts: Any) -> None:
    """Sort a row by place, eight bits at a time from the lowest (radix sort); a short one by insertion."""
    n = places.size
    if n <= SHORT:
        for k in range(1, n):
            place, value, j = places[k], values[k], k
            while j > 0 and places[j - 1] > place:
                places[j], values[j] = places[j - 1], values[j - 1]
                j -= 1
            places[j], values[j] = place, value
        return
    here, there = room[0], room[1]
    for k in range(n):
        here[k] = (np.int64(places[k]) << 32) | k
    shift = 32
    while largest > 0:
        counts[:] = 0
        for k in range(n):
            counts[(here[k] >> shift) & 255] += 1
        total = 0
        for digit in range(256):
            counts[digit], total = total, total + counts[digit]
        for k in range(n):
            digit = (here[k] >> shift) & 255
            there[counts[digit]] = here[k]
            counts[digit] += 1
        here, there = there, here
        largest >>= 8
        shift += 8
    before = room[2].view(np.float64)
    for k in range(n):
        before[k] = values[k]
    for k in range(n):
        places[k], values[k] = here[k] >> 32, before[here[k] & 0xFFFFFFFF]


@compiled
def _summed(places: Any, values: Any) -> int:
    """Add up neighbours of one place; return how many entries are left."""
    kept = 0
    for k in range(places.size):
        if kept > 0 and places[kept - 1] == places[k]:
            values[kept - 1] += values[k]
        else:
            places[kept], values[kept] = places[k], values[k]
            kept += 1
    return kept


def sorted_rows(
    indptr: NDArray[np.int64], places: NDArray[np.int32], values: NDArray[np.float64]
) -> tuple[int, NDArray[np.intp]]:
    """Put the entries of every row in order of their places, in place.

    Entries of one place are added up, those of place -1 left out. Return how many are left, and the rows in which such
    a sum is beyond a float64.
    """
    longest = int(np.diff(indptr).max(initial=0))
    room, counts = np.empty((3, longest), np.int64), np.empty(256, np.int64)
    overflows = np.zeros(indptr.size - 1, np.bool_)
    entries, n_overflows = sort_and_sum(indptr, places, values, room, counts, overflows)
    return int(entries), np.flatnonzero(overflows) if n_overflows else NO_ROWS


class NameTable:
    r"""Names and their numbers, in order of appearance.

    >>> table = NameTable()
    >>> spans = np.array([[0, 0, 0, 1], [0, 0, 2, 3], [0, 0, 4, 5]], np.uint32)
    >>> crcs = np.array([zlib.crc32(name) for name in (b"b", b"a", b"b")], np.uint32)
    >>> table.numbers(b"b a b\n", spans, crcs).tolist(), table.names()
    ([0, 1, 0], ['b', 'a'])
    """

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        known = [name.encode("utf-8", "surrogateescape") for name in names]
        ends = np.cumsum([0, *map(len, known)])
        self._size = len(known)
        self._arena = np.frombuffer(b"".join(known) + bytes(1 << 12), np.uint8).copy()
        self._starts = np.zeros(self._size + 1024, np.int64)
        self._starts[: self._size + 1] = ends
        self._known = np.zeros(self._size + 1024, np.uint32)
        self._known[: self._size] = [zlib.crc32(name) for name in known]
        self._slots = np.empty(0, np.uint32)
        self._make_slots()

    def __len__(self) -> int:
        return self._size

    def names(self) -> list[str]:
        """Return the names in order."""
        arena, starts = self._arena.tobytes(), self._starts[: self._size + 1].tolist()
        return [arena[lo:hi].decode("utf-8", "surrogateescape") for lo, hi in pairwise(starts)]

    def numbers(
        self, text: bytes | bytearray, spans: NDArray[np.uint32], crcs: NDArray[np.uint32], grow: bool = True
    ) -> NDArray[np.int32]:
        """Return the number of every name of a text; new ones join, or are -1 where it may not grow.

        ``spans`` says where namespace and feature of every name start and end, ``crcs`` is CRC-32 of
        ``namespace^feature``.
        """
        data = as_bytes(text)
        out = np.empty(spans.shape[0], np.int32)
        done = 0
        while done < out.size:
            done, self._size = find_names(
                data,
                spans,
                crcs,
                done,
                self._slots,
                self._arena,
                self._starts,
                self._known,
                self._size,
                grow,
                out,
            )
            if done < out.size:
                self._make_room(int(spans[done, 3] - spans[done, 0]) + 16)
        return out

    def _make_room(self, bytes_needed: int) -> None:
        if self._starts[self._size] + bytes_needed >= 2**32:
            raise MemoryError("more than 4 GB of feature names: hash them (hash_bits, --hash-bits)")
        if self._starts[self._size] + bytes_needed > self._arena.size:
            self._arena = np.concatenate([self._arena, np.zeros(self._arena.size + bytes_needed, np.uint8)])
        if self._size + 2 > self._starts.size:
            self._starts = np.concatenate([self._starts, np.zeros(self._starts.size, np.int64)])
            self._known = np.concatenate([self._known, np.zeros(self._known.size, np.uint32)])
        if 8 * (self._size + 1) > self._slots.size:
            self._make_slots()

    def _make_slots(self) -> None:
        self._slots = np.zeros(4 << max(11, (2 * self._size).bit_length()), np.uint32)
        put_in_slots(self._slots, self._starts, self._known, self._size)
