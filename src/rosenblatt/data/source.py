"""Sources of examples: paths, patterns, folders and standard input, opened as decompressed bytes.

Standard input is read once as it arrives, or spooled to a temporary file to be read again. The temporary file has no
name, so that the system removes it however the process ends; :func:`spool_limit` bounds its size.
"""

import atexit
import bz2
import codecs
import errno
import glob
import gzip
import io
import lzma
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rosenblatt.data.errors import BadInput

STANDARD_INPUT = "-"
HEAD_BYTES = 1 << 16
COPY_BYTES = 1 << 20
SPOOL = "ROSENBLATT_SPOOL"  # environment variable with the limit for spooling standard input, like 20GB
DEFAULT_SPOOL = "8GB"
SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
COMPRESSION_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}
UTF8_MARK = b"\xef\xbb\xbf"

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Signature(NamedTuple):
    """The first bytes of a file format or compression."""

    start: bytes
    kind: Literal["compression", "format", "unreadable"]
    name: str  # of the compression or format; a description of an unreadable file
    title: str = ""  # of a format, in messages


SPREADSHEETS = (".xlsx", ".xlsm", ".ods")  # zip archives too
SIGNATURES = (
    Signature(b"\x1f\x8b", "compression", "gzip"),
    Signature(b"BZh", "compression", "bzip2"),
    Signature(b"\xfd7zXZ\x00", "compression", "xz"),
    Signature(b"\x28\xb5\x2f\xfd", "compression", "zstd"),
    Signature(b"PAR1", "format", "parquet", "Parquet"),
    Signature(b"ARROW1", "format", "arrow", "Arrow IPC"),
    Signature(b"\xff\xff\xff\xff", "format", "arrow", "an Arrow stream"),
    Signature(b"PK\x03\x04", "unreadable", "a zip archive"),
    Signature(b"\xff\xfe", "compression", "UTF-16"),  # decoded while reading, like compressed data
    Signature(b"\xfe\xff", "compression", "UTF-16"),
)


def signature_of(start: bytes | bytearray) -> Signature | None:
    """Return the signature that the first bytes of a file match; None for text and anything else.

    >>> signature_of(b"PAR1....").name, signature_of(b"1 1:0.5")
    ('parquet', None)
    """
    return next((signature for signature in SIGNATURES if start.startswith(signature.start)), None)


def compression_of(start: bytes | bytearray) -> str | None:
    """Return the name of the compression that a file begins with, or None."""
    signature = signature_of(start)
    if signature is None:
        return _utf16_without_mark(bytes(start[:8]))
    return signature.name if signature.kind == "compression" else None


def _utf16_without_mark(start: bytes) -> str | None:
    """Return the UTF-16 encoding of a file without a byte order mark: every second byte of its start is NUL.

    >>> _utf16_without_mark("a,b,".encode("utf-16-le")), _utf16_without_mark(b"a,b,c,y")
    ('UTF-16-LE', None)
    """
    low, high = start[::2], start[1::2]
    if len(start) < 8 or any(low) == any(high):
        return None
    if not any(high):
        return "UTF-16-LE" if all(low) else None
    return "UTF-16-BE" if all(high) else None


class Damaged(Exception):
    """Compressed data that cannot be decompressed; its text is a message for users."""


def decompressed(file: Any, compression: str) -> Any:
    """Return a reader of the decompressed content of a file."""
    if compression == "gzip":
        return gzip.GzipFile(mode="rb", fileobj=file)
    if compression == "bzip2":
        return bz2.BZ2File(file)
    if compression == "xz":
        return lzma.LZMAFile(file)
    if compression.startswith("UTF-16"):
        return io.BufferedReader(_Utf8(file, compression))
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


class _Utf8(io.RawIOBase):
    """UTF-16 text, with a byte order mark or in the given byte order, transcoded to UTF-8."""

    def __init__(self, file: Any, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._pending:
            raw = self._file.read(1 << 16)
            try:
                self._pending = self._decoder.decode(raw, final=not raw).encode()
            except UnicodeError as error:
                raise OSError(f"not UTF-16 text: {error}") from error
            if not raw:
                break
        n = min(len(buffer), len(self._pending))
        buffer[:n] = self._pending[:n]
        self._pending = self._pending[n:]
        return n


def without_suffix(path: str) -> str:
    """Return a path without its compression suffix.

    >>> without_suffix("train.svm.gz"), without_suffix("train.svm")
    ('train.svm', 'train.svm')
    """
    for suffix in COMPRESSION_SUFFIXES:
        if path.lower().endswith(suffix):
            return path[: -len(suffix)]
    return path


def name_of(source: Source) -> str:
    """Return the name of a source for messages.

    >>> name_of("a.svm"), name_of(["a.svm", "b.svm"])
    ('a.svm', 'a.svm, b.svm')
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return ", ".join(os.fspath(one) for one in source)


def paths_of(source: Source) -> list[str]:
    """Return the files of a source, in order; those of a pattern sorted by name.

    >>> paths_of("train.svm"), paths_of(["b.svm", "a.svm"])
    (['train.svm'], ['b.svm', 'a.svm'])
    """
    if not isinstance(source, str | os.PathLike):
        paths = [path for one in source for path in paths_of(one)]
        if not paths:
            raise BadInput("[]", None, "no files: name at least one")
        return paths
    path = os.fspath(source)
    if path == STANDARD_INPUT or Path(path).exists() or not glob.has_magic(path):
        return [_checked_path(path)]
    matches = sorted(name for name in glob.iglob(path, recursive=True) if Path(name).is_file())  # noqa: PTH207 (Path.glob takes no absolute pattern)
    if not matches:
        raise BadInput(path, None, "no file matches: check the pattern, and quote it in a shell")
    return matches


def _checked_path(path: str) -> str:
    """Return a path that can be read repeatedly, or that of standard input; raise BadInput for any other pipe."""
    if not Path(path).exists() or Path(path).is_file() or Path(path).is_dir():
        return path
    if _is_standard_input(Path(path)):
        return STANDARD_INPUT
    raise BadInput(
        path,
        None,
        f"is a pipe or a device, which can be read only once: let it be standard input (- and < {path})",
    )


def _is_standard_input(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(0))
    except OSError:  # standard input is closed
        return False


def files_in(folder: str) -> list[str]:
    """Return the files of a folder except hidden ones, sorted by name."""
    return sorted(
        str(file)
        for file in Path(folder).iterdir()
        if file.is_file() and not file.name.startswith((".", "_"))
    )


def size_in_bytes(text: str) -> int | None:
    """Parse a size in bytes; return None if it is not one.

    >>> size_in_bytes("2GB"), size_in_bytes("512m"), size_in_bytes("1000"), size_in_bytes("much")
    (2147483648, 536870912, 1000, None)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    return None if match is None else int(float(match[1]) * SIZES[match[2].upper()])


def spool_limit() -> int:
    """Return how many bytes of standard input may be spooled: ``ROSENBLATT_SPOOL``, by default 8 GB."""
    text = os.environ.get(SPOOL) or DEFAULT_SPOOL
    size = size_in_bytes(text)
    if size is None:
        raise ValueError(f"{SPOOL}={text!r} is not a size, as in {SPOOL}=20GB")
    return size


def check_spooled(size: int) -> None:
    """Raise BadInput if ``size`` bytes exceed the limit for spooling standard input."""
    limit = spool_limit()
    if size > limit:
        raise BadInput(
            STANDARD_INPUT,
            None,
            f"more than {limit:,} bytes came through standard input, where they are kept to be read again: write them "
            f"to a file and name that, learn as they come with `stream`, or allow more ({SPOOL}=20GB)",
        )


class StandardInput:
    """Standard input as a source.

    Its head can be read repeatedly, the whole only once, unless it has been spooled.
    """

    def __init__(self, stream: Any) -> None:
        self._source = stream
        self._stream: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        self.compression: str | None = None
        self._head: bytes | None = None
        self.bytes_read = 0  # decompressed, by all readers
        self._head_passed = False  # a reader has read past the head
        self._spooled: Any = None  # the temporary file

    def head(self) -> bytes:
        """Return what has arrived first, at least one line if there is any; do not wait for more."""
        if self._head is None:
            start = self._stream.peek(8)[:8]
            self.compression = compression_of(start)
            if self.compression is not None:
                reader = decompressed(self._stream, self.compression)
                self._stream = reader if hasattr(reader, "read1") else _WithRead1(reader)
            self._head = b""
            self.wait_for(1)
        return self._head

    @property
    def is_spooled(self) -> bool:
        """Whether standard input can be read again."""
        return self._spooled is not None

    def wait_for(self, lines: int) -> None:
        """Extend the head to ``lines`` lines, unless the input ends before or a reader has read past the head."""
        head = self.head() if self._head is None else self._head
        while (
            not (self._spooled or self._head_passed) and head.count(b"\n") < lines and len(head) < HEAD_BYTES
        ):
            more = self._stream.read1(HEAD_BYTES)
            if not more:
                break
            head += more
        self._head = head

    def spool(self) -> None:
        """Copy the whole input, up to the limit, to a temporary file that lives as long as the process."""
        if self._spooled is None:
            file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
            atexit.register(file.close)
            try:
                self._copy_to(file)
            except BaseException:
                file.close()
                raise
            self._spooled = file

    def _copy_to(self, file: Any) -> None:
        size = 0
        try:
            with self.reader() as reader:
                while piece := reader.read(COPY_BYTES):
                    size += len(piece)
                    check_spooled(size)
                    file.write(piece)
            file.flush()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            message = "no room to keep standard input, which is read again: free some, or name another folder (TMPDIR)"
            raise OSError(error.errno, message, tempfile.gettempdir()) from error

    def close(self) -> None:
        """Close the temporary file."""
        if self._spooled is not None:
            self._spooled.close()

    def reader(self) -> io.BufferedReader:
        """Return a reader from the beginning."""
        if self._spooled is not None:
            return io.BufferedReader(_SpooledReader(self, self._spooled))
        if self._head_passed:
            raise BadInput(
                STANDARD_INPUT, None, "standard input can be read only once: write it to a file for more"
            )
        return io.BufferedReader(_OnceReader(self), buffer_size=8192)


class _WithRead1:
    """Add ``read1`` to a reader that has only ``read``."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def read1(self, size: int) -> bytes:
        return bytes(self._reader.read(size))


class _OnceReader(io.RawIOBase):
    """A reader of the head, then of the rest of the stream."""

    def __init__(self, source: StandardInput) -> None:
        self._source = source
        self._pending = memoryview(source.head())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._pending:
            self._source._head_passed = bool(self._source.head())  # an empty input can be read again
            self._pending = memoryview(self._source._stream.read1(len(buffer)))
        n = min(len(buffer), len(self._pending))
        buffer[:n] = self._pending[:n]
        self._pending = self._pending[n:]
        self._source.bytes_read += n
        return n


class _SpooledReader(io.RawIOBase):
    """A reader of the spooled file with a position of its own."""

    def __init__(self, source: StandardInput, file: Any) -> None:
        self._source, self._file, self._position = source, file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {
            os.SEEK_SET: 0,
            os.SEEK_CUR: self._position,
            os.SEEK_END: os.fstat(self._file.fileno()).st_size,
        }
        self._position = start[whence] + offset
        return self._position

    def fileno(self) -> int:
        return int(self._file.fileno())

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._position)
        n = int(self._file.readinto(buffer))
        self._position += n
        self._source.bytes_read += n
        return n


_CURRENT: list[StandardInput] = []


def standard_input() -> StandardInput:
    """Return the standard input of this process."""
    stream = sys.stdin.buffer
    if not _CURRENT or _CURRENT[0]._source is not stream:
        for old in _CURRENT:
            old.close()
        _CURRENT[:] = [StandardInput(stream)]
    return _CURRENT[0]


@contextmanager
def opened(path: str) -> Iterator[tuple[Any, str | None]]:
    """Open a file as (decompressed bytes, name of its compression or None).

    Raise :class:`BadInput` for a file that cannot be opened.
    """
    try:
        with standard_input().reader() if path == STANDARD_INPUT else Path(path).open("rb") as file:
            magic = file.peek(8)[:8]
            compression = compression_of(magic)
            if path == STANDARD_INPUT:
                yield file, standard_input().compression
            elif compression is None:
                _check_plain(path, magic)
                yield file, None
            else:
                yield decompressed(file, compression), compression
    except FileNotFoundError:
        raise BadInput(path, None, "no such file: check the path, or try sample:iris") from None
    except IsADirectoryError:
        raise BadInput(path, None, "is a folder: name a file in it") from None
    except PermissionError:
        raise BadInput(path, None, "may not be read: check its permissions") from None


@contextmanager
def filling(path: str) -> Iterator[Callable[[memoryview], int]]:
    """Open a file as a function that fills a buffer with decompressed bytes and returns their number.

    From standard input it returns whatever has arrived.
    """
    with opened(path) as (file, compression):
        fill = partial(_read_arrived, file) if path == STANDARD_INPUT else file.readinto
        yield lambda buffer: _fill(fill, buffer, compression)


def _read_arrived(file: Any, buffer: memoryview) -> int:
    """Fill a buffer with what has arrived; ``readinto1`` would wait for more."""
    piece = file.read1(len(buffer))
    buffer[: len(piece)] = piece
    return len(piece)


def pieces(path: str, size: int) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file, ``size`` at a time."""
    with filling(path) as fill:
        buffer = memoryview(bytearray(size))
        while n := fill(buffer):
            yield bytes(buffer[:n])


def _fill(fill: Any, buffer: memoryview, compression: str | None) -> int:
    try:
        return int(fill(buffer))
    except EOFError:
        raise Damaged(f"the {compression} data ends early: fetch or compress the file again") from None
    except (zlib.error, gzip.BadGzipFile, lzma.LZMAError, OSError) as error:
        if compression is None or getattr(error, "errno", None) is not None:  # the disk, not the data
            raise
        if "runcated" in str(error):
            raise Damaged(f"the {compression} data ends early: fetch or compress the file again") from None
        raise Damaged(f"damaged {compression} data ({error}): fetch or compress the file again") from error


def _check_plain(path: str, magic: bytes) -> None:
    signature = signature_of(magic)
    if signature is not None and signature.kind == "unreadable":
        if path.lower().endswith(SPREADSHEETS):
            raise BadInput(path, None, "is a spreadsheet: save its table as CSV")
        raise BadInput(path, None, f"is {signature.name}: convert it to plain UTF-8 text or gzip")
    for suffix, compression in COMPRESSION_SUFFIXES.items():
        if path.lower().endswith(suffix):
            raise BadInput(
                path,
                None,
                f"is named {suffix} but is not {compression}: rename it, or compress it with {compression}",
            )


def opened_binary(path: str) -> io.BufferedReader:
    """Open a file for random access; spool standard input first."""
    if path != STANDARD_INPUT:
        return Path(path).open("rb")
    standard_input().spool()
    return standard_input().reader()
