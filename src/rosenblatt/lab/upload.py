"""A CSV file as points of the plane: two columns and a label, brought to the plane's scale."""

import io
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.lab.points import HIGH, MOST, WIDE, Point, Points

LARGEST = 4 << 20  # bytes
ROOM = 0.85  # of the plane that the data fill


class Uploaded(NamedTuple):
    """A table that was uploaded."""

    columns: dict[str, Any]  # name -> values, numbers as float64
    numeric: list[str]
    labels: list[str]  # columns with two to twenty different values

    @classmethod
    def read(cls, content: bytes) -> "Uploaded":
        """Read a CSV file with a header, or say what is wrong with it."""
        from pyarrow import ArrowInvalid, csv, types

        if len(content) > LARGEST:
            raise ValueError(f"the file has {len(content):,} bytes; the lab takes {LARGEST:,}")
        try:
            table = csv.read_csv(io.BytesIO(content))
        except ArrowInvalid as error:
            raise ValueError(f"not a CSV table: {error}") from None
        columns, numeric, labels = {}, [], []
        for name, column in zip(table.column_names, table.columns, strict=True):
            values = column.to_pylist()
            if types.is_integer(column.type) or types.is_floating(column.type):
                columns[name] = np.array([np.nan if v is None else float(v) for v in values])
                numeric.append(name)
                shown = [None if v is None else f"{float(v):g}" for v in values]
            else:
                columns[name] = np.array(["" if v is None else str(v) for v in values])
                shown = ["" if v is None else str(v) for v in values]
            if 2 <= len({v for v in shown if v}) <= 20:
                labels.append(name)
        if len(numeric) < 2 or not labels:
            raise ValueError(
                "the table needs a header, two columns of numbers and one of labels (2 to 20 values)"
            )
        return cls(columns, numeric, labels)

    def values_of(self, label: str) -> list[str]:
        """Return the different values of a label column."""
        return sorted({shown for shown in self._shown(label) if shown})

    def points(self, x: str, y: str, label: str, positive: str) -> tuple[Points, int]:
        """Return two columns as points, rows of the positive value as +1, and how many rows were left out."""
        a, b, truth = self.columns[x], self.columns[y], np.array(self._shown(label))
        good = np.flatnonzero(np.isfinite(a) & np.isfinite(b) & (truth != ""))
        if not good.size:
            raise ValueError(f"no row has a number in both {x!r} and {y!r} and a value in {label!r}")
        kept = good[np.linspace(0, good.size - 1, min(MOST, good.size)).astype(int)]
        xs, ys = _scaled(a[kept], WIDE), _scaled(b[kept], HIGH)
        made = (
            Point.near(u, v, 1 if t == positive else -1) for u, v, t in zip(xs, ys, truth[kept], strict=True)
        )
        return tuple(made), len(a) - kept.size

    def _shown(self, label: str) -> list[str]:
        values = self.columns[label]
        if values.dtype.kind == "f":
            return ["" if np.isnan(value) else f"{value:g}" for value in values]
        return [str(value) for value in values]


def _scaled(values: Any, reach: float) -> Any:
    low, high = values.min(), values.max()
    half = (high - low) / 2 or 1.0
    return (values - (low + high) / 2) / half * reach * ROOM
