"""How a stream of bytes is packed, and what it is unpacked with."""

import bz2
import gzip
import lzma
from typing import Any

PACKED_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
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
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
