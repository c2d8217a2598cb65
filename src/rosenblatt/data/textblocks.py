"""Text as blocks of whole lines: decompressed, cut at line ends, and scanned on all cores in order.

A plain file is read by the threads that scan it, each into memory of its own: what was just read is still in the cache
of the core that scans it. Compressed files and pipes are read by one thread ahead of the others.
"""

import lzma
import os
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from rosenblatt.data.errors import BadInput
from rosenblatt.data.memory import Room
from rosenblatt.data.source import STANDARD_INPUT, UTF8_MARK, Damaged, filling, opened, signature_of

BLOCK_BYTES = 1 << 21  # a few in flight are little memory, and what is done once a block counts for little
HEAD_BYTES = 1 << 18
PIPE_BYTES = 1 << 16  # no more arrives at a time
LONGEST_LINE = 1 << 28  # a few copies of it are in memory while it is read
MORE = 1 << 13  # bytes read past a block, to find where its last line ends
NEWLINE = 10
MOST_CORES = 8  # each holds a block in memory

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
Scanner = Callable[[memoryview, Room, bool], R]
_END: Any = object()


class Block(NamedTuple):
    """Whole lines of a file; the last line ends in a newline even where the file's does not."""

    first_line: int
    text: bytes


def blocks_of_lines(
    path: str, block_bytes: int | None = None, head_bytes: int | None = None
) -> Iterator[Block]:
    r"""Yield the file in blocks cut at line ends, unpacked; at least one line each.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "three.txt")
    >>> _ = file.write_bytes(b"one\ntwo\nthree")
    >>> [(block.first_line, bytes(block.text)) for block in blocks_of_lines(str(file), block_bytes=9)]
    [(1, b'one\ntwo\n'), (3, b'three\n')]
    """
    line = 1
    for text in whole_lines(path, block_bytes, head_bytes):
        yield Block(line, cast(bytes, text))  # read, never written to
        line += count(text, b"\n")


def blocks_after_head(path: str) -> Iterator[Block]:
    """Yield a small block first, for those who look at it with care, then blocks of the usual size."""
    return blocks_of_lines(path, head_bytes=HEAD_BYTES)


def whole_lines(
    path: str, block_bytes: int | None = None, head_bytes: int | None = None
) -> Iterator[bytearray]:
    """Yield the text of :func:`blocks_of_lines`; lines are counted only where something is wrong.

    Every block is read straight into its own memory; only the line that it ends in is copied, into the next.
    """
    size = block_bytes or BLOCK_BYTES
    if path == STANDARD_INPUT:
        size = min(size, PIPE_BYTES)
    passed = 0  # blocks yielded, to tell where an error is
    unfinished = bytearray()  # the beginning of a line whose end has not been read yet
    first = True
    try:
        with filling(path) as fill:
            while True:
                held = len(unfinished)
                text = bytearray(held + max(min(size, head_bytes or size) if first else size, held))
                text[:held] = unfinished
                with memoryview(text) as room:
                    n = fill(room[held:])
                if n == 0:
                    break
                del text[held + n :]
                if first:
                    del text[: checked_start(path, text)]
                first = False
                end = text.rfind(b"\n") + 1
                unfinished = text[end:]
                if end:
                    del text[end:]
                    yield text
                    passed += 1
                elif len(unfinished) > LONGEST_LINE:
                    raise BadInput(path, _lines_in(path, passed, block_bytes, head_bytes), too_long())
    except Damaged as error:
        line = (
            _lines_in(path, passed, block_bytes, head_bytes) if path == STANDARD_INPUT else _last_line(path)
        )
        raise BadInput(path, line, str(error)) from error
    if unfinished:
        yield unfinished + b"\n"


def _lines_in(path: str, blocks: int, block_bytes: int | None, head_bytes: int | None) -> int | None:
    """Return the number of the line after so many blocks, by reading them again; None where that cannot be."""
    try:
        again = whole_lines(path, block_bytes, head_bytes)
        return 1 + sum(count(next(again), b"\n") for _ in range(blocks))
    except BadInput:
        return None


def _last_line(path: str) -> int:
    """Return the number of the last line that can be read of a compressed file that is damaged after it."""
    lines = 1
    with suppress(EOFError, OSError, zlib.error, lzma.LZMAError), opened(path) as (file, _):
        while piece := file.read1(MORE):
            lines += piece.count(b"\n")
    return lines


def checked_start(path: str, text: bytearray) -> int:
    """Return how long the byte order mark at the start of a file is; a file that is no text is an error."""
    signature = signature_of(text)
    if signature is not None and signature.kind == "format":
        raise BadInput(path, None, f"is {signature.title}, not text: leave the format to be found")
    return len(UTF8_MARK) if text.startswith(UTF8_MARK) else 0


def too_long() -> str:
    """Say that a line is too long."""
    return f"a line of more than {LONGEST_LINE:,} bytes: is this a text file?"


def count(text: bytes | bytearray | memoryview, byte: bytes) -> int:
    r"""Count a byte, seven times faster than ``bytes.count``.

    >>> count(b"one\ntwo\n", b"\n")
    2
    """
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == byte[0]))


def first_text_line(path: str) -> Block:
    """Return the first line that is not blank; a file without one is an error."""
    for block in blocks_of_lines(path, 1 << 16):
        for offset, text in enumerate(block.text.split(b"\n")):
            if text.strip():
                return Block(block.first_line + offset, text)
    raise BadInput(path, None, "the file is empty: it holds no examples")


def cores() -> int:
    """Return how many cores to use of those this process may."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, MOST_CORES)


def in_order(function: Callable[[A], B], items: Iterable[A], workers: int | None = None) -> Iterator[B]:
    """Yield ``function(item)`` in the order of the items, computed ahead by as many threads as there are cores.

    No more than ``workers + 2`` items are held at any time; a result that is ready never waits for an item
    that has not arrived.

    >>> list(in_order(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    workers = workers or cores()
    source = iter(items)
    waiting: deque[Future[B]] = deque()
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(workers) as pool:
        upcoming: Future[A] | None = reader.submit(next, source, _END)
        while upcoming is not None or waiting:
            room = upcoming is not None and len(waiting) <= workers
            if upcoming is not None and room and waiting:
                either: tuple[Future[Any], ...] = (upcoming, waiting[0])
                wait(either, return_when=FIRST_COMPLETED)  # with whichever comes first it goes on
            if upcoming is not None and room and (not waiting or upcoming.done()):
                item = upcoming.result()
                upcoming = None if item is _END else reader.submit(next, source, _END)
                if item is not _END:
                    waiting.append(pool.submit(function, item))
            else:
                yield waiting.popleft().result()


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
    size = block_bytes or BLOCK_BYTES
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

    texts = _without_lines(whole_lines(path, size, head), skip_lines)
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
            checked_start(self._path, buffer) if start == 0 else buffer.find(b"\n", 0, stop - offset - 1) + 1
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
        if end - last > LONGEST_LINE:
            raise BadInput(self._path, self._lines_before(offset + last), too_long())

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
        for offset in range(0, place, BLOCK_BYTES):
            line += os.pread(self._number, min(BLOCK_BYTES, place - offset), offset).count(b"\n")
        return line
