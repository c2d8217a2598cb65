"""Files as blocks of whole lines, however they are packed."""

from collections.abc import Iterator
from typing import NamedTuple, cast

import numpy as np

from rosenblatt.data.bad_input import BadInput
from rosenblatt.data.packed import Damaged, filling
from rosenblatt.data.standard_input import STANDARD_INPUT

BLOCK_BYTES = 1 << 21  # a few in flight are little memory, and what is done once a block counts for little
HEAD_BYTES = 1 << 18
PIPE_BYTES = 1 << 16  # no more arrives at a time
LONGEST_LINE = 1 << 28  # a few copies of it are in memory while it is read
UTF8_MARK = b"\xef\xbb\xbf"
BINARY_MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow IPC"}


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
        raise BadInput(path, _lines_in(path, passed, block_bytes, head_bytes), str(error)) from error
    if unfinished:
        yield unfinished + b"\n"


def _lines_in(path: str, blocks: int, block_bytes: int | None, head_bytes: int | None) -> int | None:
    """Return the number of the line after so many blocks, by reading them again; None where that cannot be."""
    try:
        again = whole_lines(path, block_bytes, head_bytes)
        return 1 + sum(count(next(again), b"\n") for _ in range(blocks))
    except BadInput:
        return None


def checked_start(path: str, text: bytearray) -> int:
    """Return how long the byte order mark at the start of a file is; a file that is no text is an error."""
    other = [name for start, name in BINARY_MAGIC.items() if text.startswith(start)]
    if other:
        raise BadInput(path, None, f"is {other[0]}, not text: leave the format to be found")
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
