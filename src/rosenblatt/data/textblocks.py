"""Text as blocks of whole lines: decompressed, split at line ends, scanned on all cores and returned in order.

The threads that scan a plain file also read it, each into its own buffer, so that the text is still in the cache of the
core that scans it. One thread reads compressed files and pipes ahead of the others.
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
from rosenblatt.data.memory import BufferPool
from rosenblatt.data.source import STANDARD_INPUT, UTF8_MARK, Damaged, filling, opened, signature_of

BLOCK_BYTES = 1 << 21  # small enough for a few in flight, large enough to amortize the cost per block
HEAD_BYTES = 1 << 18
PIPE_BYTES = 1 << 16  # a pipe delivers no more at a time
LONGEST_LINE = 1 << 28  # reading a line takes a few copies of it
OVERREAD = 1 << 13  # bytes read past a block to find the end of its last line
NEWLINE = 10
MAX_CORES = 8  # each holds a block in memory

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
Scanner = Callable[[memoryview, BufferPool, bool], R]
_END: Any = object()


class Block(NamedTuple):
    """Whole lines of a file; the last one ends with a newline even if the file does not."""

    first_line: int
    text: bytes


def blocks_of_lines(path: str, block_bytes: int | None = None) -> Iterator[Block]:
    r"""Yield a file, decompressed, in blocks of at least one whole line.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "three.txt")
    >>> _ = file.write_bytes(b"one\ntwo\nthree")
    >>> [(block.first_line, bytes(block.text)) for block in blocks_of_lines(str(file), block_bytes=9)]
    [(1, b'one\ntwo\n'), (3, b'three\n')]
    """
    line = 1
    for text in whole_lines(path, block_bytes):
        yield Block(line, cast(bytes, text))  # a bytearray, which nothing writes to
        line += count(text, b"\n")


def whole_lines(
    path: str, block_bytes: int | None = None, head_bytes: int | None = None
) -> Iterator[bytearray]:
    """Yield the text of :func:`blocks_of_lines`, counting lines only for an error message.

    Every block is read directly into its own memory; only its unfinished last line is copied, into the next block.
    """
    size = block_bytes or BLOCK_BYTES
    if path == STANDARD_INPUT:
        size = min(size, PIPE_BYTES)
    n_blocks = 0  # yielded so far, to locate an error
    unfinished = bytearray()  # the beginning of a line whose end has not been read yet
    first = True
    try:
        with filling(path) as fill:
            while True:
                carried = len(unfinished)
                text = bytearray(carried + max(min(size, head_bytes or size) if first else size, carried))
                text[:carried] = unfinished
                with memoryview(text) as view:
                    n = fill(view[carried:])
                if n == 0:
                    break
                del text[carried + n :]
                if first:
                    del text[: checked_start(path, text)]
                first = False
                end = text.rfind(b"\n") + 1
                unfinished = text[end:]
                if end:
                    del text[end:]
                    yield text
                    n_blocks += 1
                elif len(unfinished) > LONGEST_LINE:
                    raise BadInput(path, _line_after(path, n_blocks, block_bytes, head_bytes), too_long())
    except Damaged as error:
        from_pipe = path == STANDARD_INPUT
        line = _line_after(path, n_blocks, block_bytes, head_bytes) if from_pipe else _last_line(path)
        raise BadInput(path, line, str(error)) from error
    if unfinished:
        yield unfinished + b"\n"


def _line_after(path: str, blocks: int, block_bytes: int | None, head_bytes: int | None) -> int | None:
    """Return the number of the line after the first ``blocks`` blocks, reading them again; None if that fails."""
    try:
        again = whole_lines(path, block_bytes, head_bytes)
        return 1 + sum(count(next(again), b"\n") for _ in range(blocks))
    except BadInput:
        return None


def _last_line(path: str) -> int:
    """Return the number of the last line that can be read of a compressed file that is damaged after it."""
    lines = 1
    with suppress(EOFError, OSError, zlib.error, lzma.LZMAError), opened(path) as (file, _):
        while piece := file.read1(PIPE_BYTES):
            lines += piece.count(b"\n")
    return lines


def checked_start(path: str, text: bytearray) -> int:
    """Return the length of the byte order mark of a file; raise BadInput if it is not a text file."""
    signature = signature_of(text)
    if signature is not None and signature.kind == "format":
        raise BadInput(path, None, f"is {signature.title}, not text: leave the format to be found")
    return len(UTF8_MARK) if text.startswith(UTF8_MARK) else 0


def too_long() -> str:
    """Return the message about a line that is too long."""
    return f"a line of more than {LONGEST_LINE:,} bytes: is this a text file?"


def count(text: bytes | bytearray | memoryview, byte: bytes) -> int:
    r"""Count a byte, seven times faster than ``bytes.count``.

    >>> count(b"one\ntwo\n", b"\n")
    2
    """
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == byte[0]))


def first_text_line(path: str) -> Block:
    """Return the first line that is not blank; raise BadInput if there is none."""
    for block in blocks_of_lines(path, 1 << 16):
        for offset, text in enumerate(block.text.split(b"\n")):
            if text.strip():
                return Block(block.first_line + offset, text)
    raise BadInput(path, None, "the file is empty: it holds no examples")


def cores() -> int:
    """Return how many cores to use, at most those available to this process."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, MAX_CORES)


def in_order(function: Callable[[A], B], items: Iterable[A], workers: int | None = None) -> Iterator[B]:
    """Yield ``function(item)`` in the order of the items, computed ahead by ``workers`` threads (one per core).

    At most ``workers + 2`` items are in memory; a finished result never waits for an item that has not arrived.

    >>> list(in_order(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    workers = workers or cores()
    source = iter(items)
    waiting: deque[Future[B]] = deque()
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(workers) as executor:
        upcoming: Future[A] | None = reader.submit(next, source, _END)
        while upcoming is not None or waiting:
            accepting = upcoming is not None and len(waiting) <= workers
            if upcoming is not None and accepting and waiting:
                either: tuple[Future[Any], ...] = (upcoming, waiting[0])
                wait(either, return_when=FIRST_COMPLETED)
            if upcoming is not None and accepting and (not waiting or upcoming.done()):
                item = upcoming.result()
                upcoming = None if item is _END else reader.submit(next, source, _END)
                if item is not _END:
                    waiting.append(executor.submit(function, item))
            else:
                yield waiting.popleft().result()


def scanned(
    path: str,
    function: Scanner[R],
    head_bytes: int | None = None,
    skip_lines: int = 0,
    block_bytes: int | None = None,
) -> Iterator[R]:
    """Yield ``function(text, pool, first)`` for every block of whole lines, the last one with a final newline.

    The buffer of the text is reused once the function has returned; an array from the pool lives as long as a reference
    to it. ``head_bytes`` is the approximate size of the first block, after ``skip_lines`` lines.
    """
    size = block_bytes or BLOCK_BYTES
    head = min(head_bytes or size, size)
    if path != STANDARD_INPUT and hasattr(os, "preadv") and Path(path).is_file():
        with opened(path) as (opened_file, packing):
            file = _File(path, opened_file.fileno()) if packing is None else None
            if file is not None and file.size:
                yield from _scan_file(file, function, head, size, skip_lines)
                return
    yield from _scan_stream(path, function, head, size, skip_lines)


def _scan_stream(path: str, function: Scanner[R], head: int, size: int, skip_lines: int) -> Iterator[R]:
    own = threading.local()

    def work(numbered: tuple[int, bytearray]) -> R:
        own.pool = getattr(own, "pool", None) or BufferPool()
        return function(memoryview(numbered[1]), own.pool, numbered[0] == 0)

    texts = _without_lines(whole_lines(path, size, head), skip_lines)
    return in_order(work, enumerate(texts))


def _without_lines(texts: Iterator[bytearray], skip: int) -> Iterator[bytearray]:
    """Drop the first ``skip`` lines."""
    for text in texts:
        while skip and text:
            del text[: text.find(b"\n") + 1]
            skip -= 1
        if text:
            yield text


def _scan_file(file: "_File", function: Scanner[R], head: int, size: int, skip_lines: int) -> Iterator[R]:
    own = threading.local()
    start = file.after_lines(skip_lines)

    def work(piece: tuple[int, int]) -> R | None:
        if not hasattr(own, "pool"):
            own.pool, own.buffer = BufferPool(), bytearray()
        own.buffer, begin, end = file.lines_in(*piece, own.buffer)
        if begin == end:
            return None
        return function(memoryview(own.buffer)[begin:end], own.pool, piece[0] == start)

    workers = cores()
    waiting: deque[Future[R | None]] = deque()
    executor = ThreadPoolExecutor(workers)
    ends = [start, *range(start + head, file.size, size), file.size]
    try:
        for piece in pairwise(ends):
            waiting.append(executor.submit(work, piece))
            if len(waiting) > workers + 1 and (result := waiting.popleft().result()) is not None:
                yield result
        while waiting:
            if (result := waiting.popleft().result()) is not None:
                yield result
    finally:
        executor.shutdown(cancel_futures=True)


class _File:
    """A plain file that several threads read."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor
        self.size = os.fstat(descriptor).st_size

    def lines_in(self, start: int, stop: int, buffer: bytearray) -> tuple[bytearray, int, int]:
        """Read the lines that start in ``start:stop`` of the file: (buffer, their start, their end in it)."""
        offset = max(start - 1, 0)  # a line starts after a line end
        buffer, n = self._read(buffer, offset, stop - offset + OVERREAD)
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
            if n == before:  # the file was truncated meanwhile
                break
            end = buffer.find(b"\n", before, n) + 1
        if end == 0 and n > begin:
            buffer[n] = NEWLINE
            end = n + 1
        self._check_last_line(buffer, offset, begin, end)
        return buffer, begin, end

    def _check_last_line(self, buffer: bytearray, offset: int, begin: int, end: int) -> None:
        """Raise BadInput for a last line that is too long; the other lines end in this piece of the file."""
        last = max(begin, buffer.rfind(b"\n", begin, end - 1) + 1)
        if end - last > LONGEST_LINE:
            raise BadInput(self._path, self._line_number(offset + last), too_long())

    def after_lines(self, n: int) -> int:
        """Return the offset after the first ``n`` lines."""
        offset = 0
        while n:
            text = os.pread(self._descriptor, OVERREAD, offset)
            if not text:
                return self.size
            line_ends = [position for position, byte in enumerate(text) if byte == NEWLINE][:n]
            n -= len(line_ends)
            offset += line_ends[-1] + 1 if n == 0 else len(text)
        return offset

    def _read(self, buffer: bytearray, offset: int, size: int) -> tuple[bytearray, int]:
        """Fill the buffer, or a larger one, from ``offset`` on; leave one byte for a newline."""
        if len(buffer) <= size:
            buffer = bytearray(size + 1)
        n = 0
        with memoryview(buffer) as view:
            while n < size and (n_read := os.preadv(self._descriptor, [view[n:size]], offset + n)):
                n += n_read
        return buffer, n

    def _line_number(self, offset: int) -> int:
        """Return the number of the line that starts at ``offset``."""
        line = 1
        for start in range(0, offset, BLOCK_BYTES):
            line += os.pread(self._descriptor, min(BLOCK_BYTES, offset - start), start).count(b"\n")
        return line
