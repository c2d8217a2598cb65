"""A CSV file as points of the plane: two columns and a label, brought to the plane's scale."""

import tempfile
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.data import BadInput, ReadOptions
from rosenblatt.data.delimited import DelimitedSource, Rows
from rosenblatt.data.encode import texts_of
from rosenblatt.data.learn import TableStatistics
from rosenblatt.data.scanners.missing import MISSING
from rosenblatt.data.values import numbers
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
        """Read a CSV file as every command does, with or without a header, or say what is wrong with it."""
        if len(content) > LARGEST:
            raise ValueError(f"the file has {len(content):,} bytes; the lab takes {LARGEST:,}")
        names, rows = _rows_of(content)
        statistics = TableStatistics(names, None)
        statistics.update(rows)
        columns, numeric, labels = {}, [], []
        for name in names:
            own, cells = statistics.columns[name], texts_of(rows.columns[name])
            form = own.formats[0] if own.formats else None
            if own.numeric or form is not None:
                columns[name] = numbers(rows.columns[name]) if form is None else form.read(rows.columns[name])
                numeric.append(name)
                shown = ["" if np.isnan(value) else f"{value:g}" for value in columns[name]]
            else:
                shown = ["" if cell in MISSING else cell for cell in cells]
                columns[name] = np.array(shown, dtype=np.str_)
            if 2 <= len({value for value in shown if value}) <= 20:
                labels.append(name)
        if len(numeric) < 2 or not labels:
            raise ValueError("the table needs two columns of numbers and one of labels (2 to 20 values)")
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


def _rows_of(content: bytes) -> tuple[list[str], Rows]:
    """Return the names of the columns and all rows of a file, as strings; a ValueError names a line that is bad."""
    import pyarrow as pa

    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(content)
        file.flush()
        try:
            source = DelimitedSource.open(file.name, None, ReadOptions())
            blocks = [rows for rows, _ in source.rows(source.names)]
        except BadInput as error:
            where = "" if error.line is None else f"line {error.line}: "
            raise ValueError(f"not a CSV table: {where}{error.reason}") from None
    for rows in blocks:
        if rows.bad:
            raise ValueError(f"not a CSV table: line {rows.bad[0].line}: {rows.bad[0].reason}")
    if not any(rows.lines.size for rows in blocks):
        raise ValueError("not a CSV table: it has no rows")
    columns = {name: pa.concat_arrays([rows.columns[name] for rows in blocks]) for name in source.names}
    return source.names, Rows(columns, np.concatenate([rows.lines for rows in blocks]), [])


def _scaled(values: Any, reach: float) -> Any:
    low, high = values.min(), values.max()
    half = (high - low) / 2 or 1.0
    return (values - (low + high) / 2) / half * reach * ROOM
