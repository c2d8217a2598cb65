"""Shards in files of the machine they lie on: written once, batch by batch, and mapped by whoever runs a pass.

A pass then moves no rows at all, whichever process runs it, and the rows need no memory beyond what the system keeps of
files anyway.
"""

import ctypes
import json
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engines.shard import Shard

CHUNK = (
    1 << 19
)  # bytes of one write: less is slower by a tenth and more, megabytes were at times four times as slow (ext4)


AHEAD = 1 << 24  # bytes of a large file that are asked for at a time


class Kept(NamedTuple):
    """Where a shard lies: a folder of one machine, and the types of the arrays in it."""

    folder: str
    shape: tuple[int, int]
    types: dict[str, str]  # X, or data, indices and indptr; y; weight where rows have some
    max_sqnorm: float | None = None  # the largest ‖x‖², where somebody has looked

    def to_json(self) -> str:
        """Write it for :meth:`from_json`."""
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> "Kept":
        """Read what :meth:`to_json` wrote."""
        folder, (rows, features), types, max_sqnorm = json.loads(text)
        return cls(folder, (rows, features), types, max_sqnorm)


class Writer:
    """Takes a shard in parts; rows go to their files as they come.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = Writer(folder)
    ...     for at in range(2):
    ...         writer.add(Shard([[1.0, at], [3.0, 4.0]], ["in", "out"]))
    ...     opened(writer.close(), 0).X[2]
    array([1., 1.])
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows, self.width = 0, 0
        self._sparse = False
        self._types: dict[str, str] = {}
        self._bytes: dict[str, int] = {}  # of every file, and those asked for
        self._asked: dict[str, int] = {}
        self._lengths: list[NDArray[Any]] = []  # of sparse rows
        self._labels: list[NDArray[Any]] = []
        self._weights: list[NDArray[np.float64]] = []

    def add(self, part: Shard) -> None:
        """Append the examples of a part."""
        X, n = part.X, part.X.shape[0]
        if not n:
            return
        if self._sparse or not isinstance(X, np.ndarray):
            self._add_sparse(X)
        else:
            self._add_dense(X)
        self.rows += n
        self._labels.append(part.y)
        self._weights.append(np.ones(n) if part.weight is None else part.weight)

    def close(self) -> Kept:
        """Write what is left, and say where the shard lies."""
        if self._sparse:
            starts = np.concatenate([[0], np.cumsum(np.concatenate(self._lengths))])
            small = starts[-1] <= np.iinfo(np.int32).max
            self._append("indptr", starts.astype(np.int32 if small else np.int64))
        if self.rows:
            self._append("y", np.concatenate(self._labels))
            weight = np.concatenate(self._weights)
            if (weight != 1.0).any():
                self._append("weight", weight)
        return Kept(str(self.folder), (self.rows, self.width), self._types)

    def discard(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _add_dense(self, X: NDArray[Any]) -> None:
        if self.rows and X.shape[1] != self.width:
            raise ValueError(f"rows have {X.shape[1]} values, those before them {self.width}")
        self.width = X.shape[1]
        self._append("X", np.ascontiguousarray(X))

    def _add_sparse(self, X: Any) -> None:
        from scipy.sparse import csr_array

        if not self._sparse:
            self._sparse = True
            if self.rows:  # dense until now
                before = _mapped(self.folder, "X", self._types.pop("X")).reshape(self.rows, self.width)
                self._add_sparse(before)
                (self.folder / "X").unlink()
        X = csr_array(X)
        self.width = max(self.width, X.shape[1])
        self._lengths.append(np.diff(X.indptr))
        self._append("data", X.data)
        self._append("indices", X.indices)

    def _append(self, name: str, values: NDArray[Any]) -> None:
        kept = self._types.setdefault(name, values.dtype.str)
        flat = np.ascontiguousarray(values.astype(kept, copy=False)).data.cast("B")
        with (self.folder / name).open("ab", buffering=0) as file:
            size = self._bytes.get(name, 0) + len(flat)
            if size > max(CHUNK, self._asked.get(name, 0)):
                self._asked[name] = size + min(size, AHEAD)
                ask_for_room(file.fileno(), self._asked[name])
            for at in range(0, len(flat), CHUNK):
                file.write(flat[at : at + CHUNK])
            self._bytes[name] = size


def opened(kept: Kept, index: int) -> Shard | None:
    """Map a shard into memory, or return None where this machine does not have it."""
    folder, shape = Path(kept.folder), kept.shape
    try:
        arrays = {name: _mapped(folder, name, kind) for name, kind in kept.types.items()}
    except FileNotFoundError:
        return None
    y, weight = arrays.get("y", np.empty(0)), arrays.get("weight")
    if "indptr" not in arrays:
        X = arrays.get("X", np.empty(0))
        return Shard.trusted(X.reshape(shape), y, weight, index, kept.max_sqnorm)
    from scipy.sparse import csr_array

    rows = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    rows.has_canonical_format = True  # parts are checked before they are written
    return Shard.trusted(rows, y, weight, index, kept.max_sqnorm)


def ask_for_room(file: int, size: int) -> None:
    """Ask the disk for room for a file of this size, while its length stays: to write then takes a quarter less time.

    Nothing happens where the system or the disk know no such wish; ``os.posix_fallocate`` would write zeros there.
    """
    if _fallocate is not None:
        _fallocate(
            file, KEEP_SIZE, 0, size
        )  # what it returns does not matter: a full disk is told by the write


def _fallocate_of_linux() -> Any:
    if sys.platform != "linux" or sys.maxsize < 1 << 62:
        return None
    try:
        found = ctypes.CDLL(None).fallocate
    except (OSError, AttributeError):
        return None
    found.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return found


KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE
_fallocate = _fallocate_of_linux()


def _mapped(folder: Path, name: str, kind: str) -> NDArray[Any]:
    path = folder / name
    if not path.stat().st_size:
        return np.empty(0, kind)
    # "c": arrays can be written to, as compiled passes expect, but never the files
    return np.memmap(path, np.dtype(kind), mode="c").view(np.ndarray)
