"""Blocks of whole lines through a function: on all cores, in order.

A plain file is read by the threads that scan it, each into memory of its own: what was just read is still in the cache
of the core that scans it. What is packed, or comes through a pipe, one thread reads ahead of the others.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from rosenblatt.data import lines
from rosenblatt.data.bad_input import BadInput
from rosenblatt.data.packed import opened
from rosenblatt.data.parallel import cores, in_order
from rosenblatt.data.room import Room
from rosenblatt.data.standard_input import STANDARD_INPUT

NEWLINE = 10
MORE = 1 << 13  # bytes read past a block, to find where its last line ends

R = TypeVar("R")


Scanner = Callable[[memoryview, Room, bool], R]


def scanned(
    path: str,
    function: Scanner[R],
    head_bytes: int | None = None,
    skip_lines: int = 0,
    block_bytes: int | None = None,
) -> Iterator[R]:
    """Yield ``function(text, room, first)`` of every block of whole lines; the last ends in a newline in any case.

    The text is overwritten once the function has returned; what it takes from the room is not, while anybody holds it.
    With ``head_bytes`` the first block is about so large; so many lines before it are left out.
    """
    size = block_bytes or lines.BLOCK_BYTES
    head = min(head_bytes or size, size)
    if path != STANDARD_INPUT and hasattr(os, "preadv") and Path(path).is_file():
        with opened(path) as (opened_file, packing):
            file = _File(path, opened_file.fileno()) if packing is None else None
            if file is not None and file.size:
                yield from _on_all_cores(file, function, head, size, skip_lines)
                return
    yield from _read_ahead(path, function, head, size, skip_lines)


def _read_ahead(path: str, function: Scanner[R], head: int, size: int, skip_lines: int) -> Iterator[R]:
    own = threading.local()

    def work(numbered: tuple[int, bytearray]) -> R:
        own.room = getattr(own, "room", None) or Room()
        return function(memoryview(numbered[1]), own.room, numbered[0] == 0)

    texts = _without_lines(lines.whole_lines(path, size, head), skip_lines)
    return in_order(work, enumerate(texts))


def _without_lines(texts: Iterator[bytearray], skip: int) -> Iterator[bytearray]:
    """Leave out so many lines."""
    for text in texts:
        while skip and text:
            del text[: text.find(b"\n") + 1]
            skip -= 1
        if text:
            yield text


def _on_all_cores(file: "_File", function: Scanner[R], head: int, size: int, skip_lines: int) -> Iterator[R]:
    own = threading.local()
    start = file.after_lines(skip_lines)

    def work(piece: tuple[int, int]) -> R | None:
        if not hasattr(own, "room"):
            own.room, own.buffer = Room(), bytearray()
        own.buffer, begin, end = file.lines_in(*piece, own.buffer)
        if begin == end:
            return None
        return function(memoryview(own.buffer)[begin:end], own.room, piece[0] == start)

    workers = cores()
    waiting: deque[Future[R | None]] = deque()
    pool = ThreadPoolExecutor(workers)
    ends = [start, *range(start + head, file.size, size), file.size]
    try:
        for piece in pairwise(ends):
            waiting.append(pool.submit(work, piece))
            if len(waiting) > workers + 1 and (found := waiting.popleft().result()) is not None:
                yield found
        while waiting:
            if (found := waiting.popleft().result()) is not None:
                yield found
    finally:
        pool.shutdown(cancel_futures=True)


class _File:
    """A plain file that several threads read."""

    def __init__(self, path: str, number: int) -> None:
        self._path, self._number = path, number
        self.size = os.fstat(number).st_size

    def lines_in(self, start: int, stop: int, buffer: bytearray) -> tuple[bytearray, int, int]:
        """Read the lines that start in a piece of the file: (a buffer, from where, to where in it)."""
        offset = max(start - 1, 0)  # a line starts after a line end
        buffer, n = self._read(buffer, offset, stop - offset + MORE)
        begin = (
            lines.checked_start(self._path, buffer)
            if start == 0
            else buffer.find(b"\n", 0, stop - offset - 1) + 1
        )
        if start > 0 and begin == 0:
            return buffer, 0, 0
        end = buffer.find(b"\n", stop - offset - 1, n) + 1
        while end == 0 and offset + n < self.size:
            self._check_last_line(buffer, offset, begin, n)
            before = n
            buffer, n = self._read(buffer, offset, 2 * n)
            if n == before:  # it has become shorter
                break
            end = buffer.find(b"\n", before, n) + 1
        if end == 0 and n > begin:
            buffer[n] = NEWLINE
            end = n + 1
        self._check_last_line(buffer, offset, begin, end)
        return buffer, begin, end

    def _check_last_line(self, buffer: bytearray, offset: int, begin: int, end: int) -> None:
        """Refuse a last line that is too long; the others end in this piece of the file."""
        last = max(begin, buffer.rfind(b"\n", begin, end - 1) + 1)
        if end - last > lines.LONGEST_LINE:
            raise BadInput(self._path, self._lines_before(offset + last), lines.too_long())

    def after_lines(self, n: int) -> int:
        """Return where the first of the lines after the first ``n`` starts."""
        place = 0
        while n:
            text = os.pread(self._number, MORE, place)
            if not text:
                return self.size
            line_ends = [at for at, byte in enumerate(text) if byte == NEWLINE][:n]
            n -= len(line_ends)
            place += line_ends[-1] + 1 if n == 0 else len(text)
        return place

    def _read(self, buffer: bytearray, offset: int, size: int) -> tuple[bytearray, int]:
        """Fill a buffer, or a larger one, from a place of the file on; one more byte is left."""
        if len(buffer) <= size:
            buffer = bytearray(size + 1)
        n = 0
        with memoryview(buffer) as room:
            while n < size and (got := os.preadv(self._number, [room[n:size]], offset + n)):
                n += got
        return buffer, n

    def _lines_before(self, place: int) -> int:
        """Return the number of the line that starts at a place."""
        line = 1
        for offset in range(0, place, lines.BLOCK_BYTES):
            line += os.pread(self._number, min(lines.BLOCK_BYTES, place - offset), offset).count(b"\n")
        return line
