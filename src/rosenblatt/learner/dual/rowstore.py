"""A matrix that grows downwards, where matrices live."""

from typing import Any

import numpy as np

from rosenblatt.learner.dual.arrays import Arrays

FEWEST_ROWS = 256


class RowStore:
    """Rows added one block after the other; memory doubles when it is full. Also holds plain numbers."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._room: Any = None
        self._pieces: list[Any] = []  # of CSR rows, put together when looked at
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def add(self, rows: Any) -> None:
        """Add rows below."""
        n, rows = int(rows.shape[0]), self._alike(rows)
        if hasattr(rows, "tocsr"):
            self._pieces.append(rows)
        else:
            if self._room is None or self._used + n > self._room.shape[0]:
                self._grow(rows, self._used + n)
            self._room[self._used : self._used + n, ...] = rows
        self._used += n

    def replace(self, number: int, rows: Any) -> None:
        """Put one row in the place of another."""
        rows = self._alike(rows)
        if not hasattr(rows, "tocsr"):
            self._room[number : number + 1, ...] = rows
            return
        from scipy.sparse import vstack

        every = self.all()
        self._pieces = [vstack([every[:number], rows, every[number + 1 :]], format="csr")]

    def all(self) -> Any:
        """Return the rows, or None before the first."""
        if self._pieces:
            if len(self._pieces) > 1:
                from scipy.sparse import csr_array, vstack

                self._pieces = [csr_array(vstack(self._pieces, format="csr"))]
            return self._pieces[0]
        return None if self._room is None else self._room[: self._used, ...]

    def clear(self) -> None:
        """Forget the rows and keep the room."""
        self._pieces, self._used = [], 0

    def _alike(self, rows: Any) -> Any:
        """Return rows as dense or as sparse as those that are there."""
        if not self._used or hasattr(rows, "tocsr") == bool(self._pieces):
            return rows
        if not self._pieces:
            return rows.toarray()
        from scipy.sparse import csr_array

        return csr_array(rows)

    def _grow(self, like: Any, rows: int) -> None:
        old = self.all()
        room = max(2 * self._used, rows, FEWEST_ROWS)
        dtype = "int64" if np.issubdtype(np.dtype(_name(like)), np.integer) else _name(like)
        self._room = self._arrays.empty((room, *tuple(like.shape[1:])), dtype)
        if old is not None:
            self._room[: self._used, ...] = old


def _name(A: Any) -> str:
    return str(A.dtype).rpartition(".")[2]
