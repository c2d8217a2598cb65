"""Files as bytes: plain, or unpacked from gzip, bzip2, xz or zstd, whatever their name; ``-`` is standard input."""

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rosenblatt.data.bad_input import BadInput
from rosenblatt.data.standard_input import STANDARD_INPUT, standard_input
from rosenblatt.data.unpacking import PACKED_SUFFIX, how_packed, unpacking

UNREADABLE_MAGIC = {b"PK\x03\x04": "a zip archive"}


class Damaged(Exception):
    """Packed data that cannot be unpacked; its text says what is wrong and what to do."""


def without_suffix(path: str) -> str:
    """Return a name without the suffix that says how it is packed.

    >>> without_suffix("train.svm.gz"), without_suffix("train.svm")
    ('train.svm', 'train.svm')
    """
    for suffix in PACKED_SUFFIX:
        if path.lower().endswith(suffix):
            return path[: -len(suffix)]
    return path


@contextmanager
def opened(path: str) -> Iterator[tuple[Any, str | None]]:
    """Open a file for reading bytes, unpacked as its first bytes say, and how it is packed.

    A file that cannot be opened becomes :class:`BadInput`.
    """
    try:
        with standard_input().reader() if path == STANDARD_INPUT else Path(path).open("rb") as file:
            magic = file.peek(8)[:8]
            packing = how_packed(magic)
            if path == STANDARD_INPUT:
                yield file, standard_input().packing
            elif packing is None:
                _check_plain(path, magic)
                yield file, None
            else:
                yield unpacking(file, packing), packing
    except FileNotFoundError:
        raise BadInput(path, None, "no such file: check the path, or try sample:iris") from None
    except IsADirectoryError:
        raise BadInput(path, None, "is a folder: name a file in it") from None
    except PermissionError:
        raise BadInput(path, None, "may not be read: check its permissions") from None


@contextmanager
def filling(path: str) -> Iterator[Callable[[memoryview], int]]:
    """Open a file as a function that fills a buffer with unpacked bytes, and returns how many there were.

    From standard input it takes whatever has arrived.
    """
    with opened(path) as (file, packing):
        fill = partial(_arrived, file) if path == STANDARD_INPUT else file.readinto
        yield lambda buffer: _filled(fill, buffer, packing)


def _arrived(file: Any, buffer: memoryview) -> int:
    """Fill a buffer with what is there; ``readinto1`` would go on reading after it."""
    piece = file.read1(len(buffer))
    buffer[: len(piece)] = piece
    return len(piece)


def pieces(path: str, size: int) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file, so many at a time."""
    with filling(path) as fill:
        buffer = memoryview(bytearray(size))
        while n := fill(buffer):
            yield bytes(buffer[:n])


def _filled(fill: Any, buffer: memoryview, packing: str | None) -> int:
    try:
        return int(fill(buffer))
    except EOFError:
        raise Damaged(f"the {packing} data ends early: fetch or compress the file again") from None
    except (zlib.error, gzip.BadGzipFile, lzma.LZMAError, OSError) as error:
        if packing is None or getattr(error, "errno", None) is not None:  # the disk, not the data
            raise
        if "runcated" in str(error):
            raise Damaged(f"the {packing} data ends early: fetch or compress the file again") from None
        raise Damaged(f"damaged {packing} data ({error}): fetch or compress the file again") from error


def _check_plain(path: str, magic: bytes) -> None:
    other = [name for start, name in UNREADABLE_MAGIC.items() if magic.startswith(start)]
    if other:
        raise BadInput(path, None, f"is {other[0]}: convert it to plain UTF-8 text or gzip")
    for suffix, packing in PACKED_SUFFIX.items():
        if path.lower().endswith(suffix):
            raise BadInput(
                path,
                None,
                f"is named {suffix} but is not {packing}: rename it, or pack it with {packing}",
            )
