"""How a stream of bytes is packed, and what it is unpacked with."""

import bz2
import codecs
import gzip
import io
import lzma
from typing import Any

PACKED_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
PACKED_SUFFIX = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}


def how_packed(magic: bytes) -> str | None:
    """Return the name of the packing that a file begins with, or None."""
    return next((name for start, name in PACKED_MAGIC.items() if magic.startswith(start)), None)


def unpacking(file: Any, packing: str) -> Any:
    """Return a reader of what is packed in a file."""
    if packing == "gzip":
        return gzip.GzipFile(mode="rb", fileobj=file)
    if packing == "bzip2":
        return bz2.BZ2File(file)
    if packing == "xz":
        return lzma.LZMAFile(file)
    if packing == "UTF-16":
        return io.BufferedReader(_Utf8(file))
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


class _Utf8(io.RawIOBase):
    """UTF-16 text, with a byte order mark, as UTF-8."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")()
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            raw = self._file.read(1 << 16)
            try:
                self._left = self._decoder.decode(raw, final=not raw).encode()
            except UnicodeError as error:
                raise OSError(f"damaged UTF-16 text ({error})") from error
            if not raw:
                break
        n = min(len(buffer), len(self._left))
        buffer[:n] = self._left[:n]
        self._left = self._left[n:]
        return n
