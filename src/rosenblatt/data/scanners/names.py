"""Feature names: their CRC-32, a hash table that numbers them in order of appearance, rows sorted by these numbers."""

import zlib
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.scanners.compiled import as_bytes, compiled, inlined
from rosenblatt.data.scanners.decimals import EIGHT, ONE, TWO, ULL, at
from rosenblatt.data.scanners.wide import WINDOW, prefetch, word


def _crc_tables() -> NDArray[np.uint32]:
    """Return the CRC-32 of every byte followed by 0 to 7 zero bytes (reflected polynomial 0xEDB88320, as in zlib)."""
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
SHORT_BITS, LARGEST_KEY = 7, 2**31 - 1
SHORT = 1 << SHORT_BITS  # longest row sorted by counting smaller keys
AHEAD = 8  # names whose slots are loaded before they are looked up
NO_ROWS = np.empty(0, np.intp)


@compiled
def update_crc(crc: Any, text: Any, lo: int, hi: int) -> Any:
    """Update an inverted CRC-32 with ``text[lo:hi]``, byte by byte."""
    for p in range(lo, hi):
        crc = CRC[(crc ^ np.uint32(at(text, p))) & BYTE] ^ (crc >> EIGHT_BITS)
    return crc


@compiled
def namespace_crc(text: Any, lo: int, hi: int) -> Any:
    """Return the inverted CRC-32 of ``namespace^``."""
    crc = update_crc(ALL_ONES, text, lo, hi)
    return CRC[(crc ^ np.uint32(94)) & BYTE] ^ (crc >> EIGHT_BITS)


@inlined
def _word_crc(eight: Any) -> Any:
    """Return what eight bytes contribute to a CRC; leading zeros contribute nothing."""
    crc = np.uint32(0)
    for k in range(8):
        crc ^= CRC[ULL(256 * (7 - k)) + ((eight >> ULL(8 * k)) & WORD_BYTE)]
    return crc


@inlined
def update_crc_wide(crc: Any, text: Any, p: Any, length: Any) -> Any:
    """Update an inverted CRC-32 with a name, eight bytes at a time; eight bytes after the name must be readable.

    CRC is linear, so each byte is looked up as if zeros followed it, independently of the others (slicing by eight).
    """
    while length > EIGHT:
        crc = _word_crc(word(text, p) ^ ULL(crc))
        p += EIGHT
        length -= EIGHT
    bits = EIGHT * length
    # The part of the previous CRC that fewer than four bytes do not shift out.
    rest = np.uint32((ULL(crc) >> (bits >> ONE)) >> (bits >> ONE))
    return rest ^ _word_crc((word(text, p) ^ ULL(crc)) << (ULL(64) - bits))


@compiled
def _equal(text: Any, p: Any, arena: Any, q: Any, length: Any) -> bool:
    """Whether ``length`` bytes of two arrays are equal; eight bytes after both must be readable."""
    while length > EIGHT:
        if word(text, p) != word(arena, q):
            return False
        p += EIGHT
        q += EIGHT
        length -= EIGHT
    return bool(length == 0 or (word(text, p) ^ word(arena, q)) << (ULL(64) - EIGHT * length) == 0)


@compiled
def _is_name(text: Any, name: Any, arena: Any, lo: Any, hi: Any) -> bool:
    """Whether ``arena[lo:hi]`` is this name: ``namespace^feature``, or the feature alone."""
    space, length = np.int64(name[1] - name[0]), np.int64(name[3] - name[2])
    prefix = space + 1 if space > 0 else 0
    if hi - lo != prefix + length or (space > 0 and at(arena, lo + space) != 94):
        return False
    if np.int64(name[2]) + length + WINDOW > text.size:
        return _is_name_bytewise(text, name, arena, lo)
    if space > 0 and not _equal(text, ULL(name[0]), arena, ULL(lo), ULL(space)):
        return False
    return _equal(text, ULL(name[2]), arena, ULL(lo + prefix), ULL(length))


@compiled
def _is_name_bytewise(text: Any, name: Any, arena: Any, lo: Any) -> bool:
    """Compare byte by byte, near the end of the text."""
    space, length = np.int64(name[1] - name[0]), np.int64(name[3] - name[2])
    prefix = space + 1 if space > 0 else 0
    for k in range(space):
        if at(arena, lo + k) != at(text, name[0] + k):
            return False
    same = True
    for k in range(length):
        same &= at(arena, lo + prefix + k) == at(text, name[2] + k)
    return same


# A slot of the table is four adjacent integers: CRC of a name, its number + 1 (0: empty), its start and its end.
SLOT = ULL(4)


@compiled
def lookup_names(
    text: Any,
    names: Any,
    crcs: Any,
    first: int,
    slots: Any,
    arena: Any,
    starts: Any,
    name_crcs: Any,
    size: int,
    grow: bool,
    out: Any,
) -> tuple[int, int]:
    """Write the number of every name from ``first`` on; return (names done, size of the table).

    Stop early where the table is full. Unless ``grow``, a name that is not in the table gets -1.
    """
    mask = ULL(slots.shape[0] // 4 - 1)
    for i in range(first, names.shape[0]):
        if (
            i + 2 * AHEAD < names.shape[0]
        ):  # the table is larger than a cache: ask for slots early, then for names
            prefetch(slots, SLOT * (ULL(crcs[i + 2 * AHEAD]) & mask))
            prefetch(arena, ULL(slots[SLOT * (ULL(crcs[i + AHEAD]) & mask) + TWO]))
        name, crc = names[i], crcs[i]
        slot = SLOT * (ULL(crc) & mask)
        number: Any = np.int64(-1)
        while slots[slot + ONE] != 0:
            if slots[slot] == crc and _is_name(
                text, name, arena, np.int64(slots[slot + TWO]), np.int64(slots[slot + THREE])
            ):
                number = np.int64(slots[slot + ONE]) - 1
                break
            slot = SLOT * ((slot // SLOT + ONE) & mask)
        if number < 0 and grow:
            space, length = np.int64(name[1] - name[0]), np.int64(name[3] - name[2])
            prefix = space + 1 if space > 0 else 0
            lo = starts[size]
            end = lo + prefix + length
            full = 8 * (size + 1) > slots.shape[0] or size + 2 > starts.shape[0]
            if full or end + 8 > arena.shape[0]:  # eight bytes after any name must be readable
                return i, size
            for k in range(space):
                arena[lo + k] = text[name[0] + k]
            if space > 0:
                arena[lo + space] = 94
            for k in range(length):
                arena[lo + prefix + k] = text[name[2] + k]
            starts[size + 1], name_crcs[size] = end, crcs[i]
            slots[slot], slots[slot + ONE] = crc, size + 1
            slots[slot + TWO], slots[slot + THREE] = lo, end
            number = size
            size += 1
        out[i] = number
    return names.shape[0], size


@compiled
def fill_slots(slots: Any, starts: Any, name_crcs: Any, size: int) -> None:
    """Insert every name into an empty table of slots."""
    mask = ULL(slots.shape[0] // 4 - 1)
    for k in range(size):
        slot = SLOT * (ULL(name_crcs[k]) & mask)
        while slots[slot + ONE] != 0:
            slot = SLOT * ((slot // SLOT + ONE) & mask)
        slots[slot], slots[slot + ONE] = name_crcs[k], k + 1
        slots[slot + TWO], slots[slot + THREE] = starts[k], starts[k + 1]


@compiled
def sort_and_sum(
    indptr: Any, indices: Any, values: Any, workspace: Any, counts: Any, overflows: Any
) -> tuple[int, int]:
    """Sort every row by index, in place; sum entries of the same index and drop those of index -1.

    Return the number of entries left and the number of rows with a sum that is not finite; ``overflows`` (rows) marks
    them. ``workspace`` (3, entries of the longest row) and ``counts`` (256) are scratch memory. The sort is stable, so
    sums are taken in the order of the line.
    """
    size = n_overflows = 0
    for row in range(indptr.shape[0] - 1):
        lo, hi = indptr[row], indptr[row + 1]
        first, length, ascending, last, largest = size, 0, True, -1, 0
        for k in range(lo, hi):
            index = indices[k]
            if index < 0:
                continue
            ascending &= index > last
            last, largest = index, max(largest, index)
            indices[first + length], values[first + length] = index, values[k]
            length += 1
        size += length
        if not ascending:
            _sort(indices[first:size], values[first:size], largest, workspace, counts)
            before = size
            size = first + _sum_equal(indices[first:size], values[first:size])
            finite = True
            if size < before:
                for k in range(first, size):
                    finite &= np.isfinite(values[k])
            if not finite:
                overflows[row] = True
                n_overflows += 1
        indptr[row] = first
    indptr[indptr.shape[0] - 1] = size
    return size, n_overflows


@compiled
def _sort(indices: Any, values: Any, largest: int, workspace: Any, counts: Any) -> None:
    """Sort a row by index: by the number of smaller keys where it is short, else eight bits at a time."""
    n = indices.size
    before = workspace[2].view(np.float64)
    for k in range(n):
        before[k] = values[k]
    if n <= SHORT and largest < LARGEST_KEY >> SHORT_BITS:
        keys = workspace[0].view(np.int32)
        for k in range(n):
            keys[k] = (indices[k] << SHORT_BITS) | k
        for k in range(n):
            key, smaller = keys[k], np.int32(0)
            for j in range(n):
                smaller += np.int32(keys[j] < key)
            indices[smaller], values[smaller] = key >> SHORT_BITS, before[k]
        return
    here, there = workspace[0], workspace[1]
    for k in range(n):
        here[k] = (np.int64(indices[k]) << 32) | k
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
    for k in range(n):
        indices[k], values[k] = here[k] >> 32, before[here[k] & 0xFFFFFFFF]


@compiled
def _sum_equal(indices: Any, values: Any) -> int:
    """Sum neighbours of the same index; return the number of entries left."""
    size = 0
    for k in range(indices.size):
        if size > 0 and indices[size - 1] == indices[k]:
            values[size - 1] += values[k]
        else:
            indices[size], values[size] = indices[k], values[k]
            size += 1
    return size


def sorted_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[np.float64]
) -> tuple[int, NDArray[np.intp]]:
    """Sort the entries of every row by index, in place.

    Entries of the same index are summed, those of index -1 dropped. Return the number of entries left, and the rows
    with a sum beyond float64.
    """
    longest = int(np.diff(indptr).max(initial=0))
    workspace, counts = np.empty((3, longest), np.int64), np.empty(256, np.int64)
    overflows = np.zeros(indptr.size - 1, np.bool_)
    size, n_overflows = sort_and_sum(indptr, indices, values, workspace, counts, overflows)
    return int(size), np.flatnonzero(overflows) if n_overflows else NO_ROWS


class NameTable:
    r"""A hash table of names, numbered in order of appearance.

    >>> table = NameTable()
    >>> spans = np.array([[0, 0, 0, 1], [0, 0, 2, 3], [0, 0, 4, 5]], np.uint32)
    >>> crcs = np.array([zlib.crc32(name) for name in (b"b", b"a", b"b")], np.uint32)
    >>> table.numbers(b"b a b\n", spans, crcs).tolist(), table.names()
    ([0, 1, 0], ['b', 'a'])
    """

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        encoded = [name.encode("utf-8", "surrogateescape") for name in names]
        ends = np.cumsum([0, *map(len, encoded)])
        self._size = len(encoded)
        self._arena = np.frombuffer(b"".join(encoded) + bytes(1 << 12), np.uint8).copy()
        self._starts = np.zeros(self._size + 1024, np.int64)
        self._starts[: self._size + 1] = ends
        self._crcs = np.zeros(self._size + 1024, np.uint32)
        self._crcs[: self._size] = [zlib.crc32(name) for name in encoded]
        self._slots = np.empty(0, np.uint32)
        self._rebuild_slots()

    def __len__(self) -> int:
        return self._size

    def names(self) -> list[str]:
        """Return the names in order."""
        arena, starts = self._arena.tobytes(), self._starts[: self._size + 1].tolist()
        return [arena[lo:hi].decode("utf-8", "surrogateescape") for lo, hi in pairwise(starts)]

    def numbers(
        self, text: bytes | bytearray, spans: NDArray[np.uint32], crcs: NDArray[np.uint32], grow: bool = True
    ) -> NDArray[np.int32]:
        """Return the number of every name of a text; add new names, or give them -1 unless ``grow``.

        ``spans`` holds start and end of namespace and feature of every name, ``crcs`` the CRC-32 of
        ``namespace^feature``.
        """
        data = as_bytes(text)
        out = np.empty(spans.shape[0], np.int32)
        done = 0
        while done < out.size:
            done, self._size = lookup_names(
                data,
                spans,
                crcs,
                done,
                self._slots,
                self._arena,
                self._starts,
                self._crcs,
                self._size,
                grow,
                out,
            )
            if done < out.size:
                self._grow(int(spans[done, 3] - spans[done, 0]) + 16)
        return out

    def _grow(self, bytes_needed: int) -> None:
        if self._starts[self._size] + bytes_needed >= 2**32:
            raise MemoryError("more than 4 GB of feature names: hash them (hash_bits, --hash-bits)")
        if self._starts[self._size] + bytes_needed > self._arena.size:
            self._arena = np.concatenate([self._arena, np.zeros(self._arena.size + bytes_needed, np.uint8)])
        if self._size + 2 > self._starts.size:
            self._starts = np.concatenate([self._starts, np.zeros(self._starts.size, np.int64)])
            self._crcs = np.concatenate([self._crcs, np.zeros(self._crcs.size, np.uint32)])
        if 8 * (self._size + 1) > self._slots.size:
            self._rebuild_slots()

    def _rebuild_slots(self) -> None:
        self._slots = np.zeros(4 << max(11, (2 * self._size).bit_length()), np.uint32)
        fill_slots(self._slots, self._starts, self._crcs, self._size)
