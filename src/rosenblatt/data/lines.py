"""Files as blocks of whole lines, plain or gzip."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from rosenblatt.data.bad_input import BadInput

BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 30
GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
OTHER_MAGIC = {
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "a zip archive",
    b"PAR1": "Parquet",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


class Block(NamedTuple):
    """Whole lines of a file; the last line ends in a newline even where the file's does not."""

    first_line: int
    text: bytes


def blocks_of_lines(path: str, block_bytes: int | None = None) -> Iterator[Block]:
    r"""Yield the file in blocks cut at line ends, decompressed; at least one line each.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "three.txt")
    >>> _ = file.write_bytes(b"one\ntwo\nthree")
    >>> list(blocks_of_lines(str(file), block_bytes=9))
    [Block(first_line=1, text=b'one\ntwo\n'), Block(first_line=3, text=b'three\n')]
    """
    line = 1
    unfinished: list[bytes] = []  # pieces of a line whose end has not been read yet
    held = 0
    try:
        for text in _pieces(path, block_bytes or BLOCK_BYTES):
            end = text.rfind(b"\n") + 1
            if end:
                whole = b"".join([*unfinished, text[:end]])
                yield Block(line, whole)
                line += count(whole, b"\n")
                unfinished, held = [], 0
            unfinished.append(text[end:])
            held += len(text) - end
            if held > LONGEST_LINE:
                raise BadInput(
                    path, line, f"a line of more than {LONGEST_LINE:,} bytes: is this a text file?"
                )
    except EOFError:
        raise BadInput(path, line, "the gzip data ends early: fetch or compress the file again") from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(
            path, line, f"damaged gzip data ({error}): fetch or compress the file again"
        ) from error
    rest = b"".join(unfinished)
    if rest:
        yield Block(line, rest + b"\n")


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


def _pieces(path: str, size: int) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file, without a byte order mark."""
    with _opened(path) as file:
        piece = file.read(size)
        if piece.startswith(UTF8_MARK):
            piece = piece[len(UTF8_MARK) :]
        while piece:
            yield piece
            piece = file.read(size)


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file, through gzip where its first bytes say so."""
    try:
        with Path(path).open("rb") as file:
            magic = file.read(6)
            file.seek(0)
            if magic.startswith(GZIP_MAGIC):
                yield gzip.GzipFile(mode="rb", fileobj=file)
            else:
                _check_text(path, magic)
                yield file
    except FileNotFoundError:
        raise BadInput(path, None, "no such file: check the path, or try sample:iris") from None
    except IsADirectoryError:
        raise BadInput(path, None, "is a folder: name a file in it") from None
    except PermissionError:
        raise BadInput(path, None, "may not be read: check its permissions") from None


def _check_text(path: str, magic: bytes) -> None:
    other = [name for start, name in OTHER_MAGIC.items() if magic.startswith(start)]
    if other:
        raise BadInput(path, None, f"is {other[0]}: convert it to plain UTF-8 text or gzip")
    if path.endswith(".gz"):
        raise BadInput(path, None, "is named .gz but is not gzip: rename it, or compress it with gzip")
