"""The matrix and the labels that a proof speaks of, written as text that the small checker reads."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from rosenblatt.cli.errors import refuse
from rosenblatt.cli.reading import Rows
from rosenblatt.proofs import checker
from rosenblatt.storage import replacing


def export(rows: Rows, path: str) -> dict[str, Any]:
    """Write rows without loss, read them back with the small checker, and return how they are to be read.

    CSV has one column for every feature, by name, and the labels last; LIBSVM text holds numeric labels only.
    """
    names, target = _column_names(rows)
    libsvm = path.endswith(".svm")
    if libsvm and rows.y.dtype.kind not in "iuf":
        refuse(f"{path}: LIBSVM text has numbers for labels, these are text; write a .csv")
    if any("\n" in str(label) or "\r" in str(label) for label in np.unique(rows.y)):
        refuse(f"{path}: a label holds a line end, and a row is one line here; rename the label in the data")
    with replacing(path) as file:
        for line in _libsvm(rows) if libsvm else _csv(rows, names, target):
            file.write(line.encode())
    how = checker.Reading(format="libsvm") if libsvm else checker.Reading(format="csv", header=True)
    table = checker.read_table(path, how)
    same = table.labels == rows.y.tolist() and table.n_features == rows.X.shape[1]
    if not (same and all(row == dict(_values(rows.X[[i]])) for i, row in enumerate(table.rows))):
        refuse(f"{path}: labels such as {rows.y[0]!r} cannot be written so that they are read as they are")
    reading: dict[str, Any] = {
        "as": "examples",
        "format": None,
        "skip_bad": False,
        "text": [],
        "scale": False,
    }
    if libsvm:
        return {**reading, "target": None, "zero_based": False, "header": None}
    return {**reading, "target": target, "zero_based": None, "header": True}


def _column_names(rows: Rows) -> tuple[list[str], str]:
    """Return names for the features and the target that a header can hold, x1 and so on where the file's cannot."""
    d = rows.X.shape[1]
    names = [str(name) for name in rows.schema.feature_names or ()]
    target = getattr(rows.schema, "target", None) or "label"
    if not _is_plain(target):
        target = "label"
    if len(names) != d or not all(map(_is_plain, names)) or len({*names, target}) != d + 1:
        names = [f"x{j}" for j in range(1, d + 1)]
    return names, target if target not in names else "label"


def _is_plain(name: str) -> bool:
    """Return whether every reader takes this for the name of a column, as it is."""
    return name == name.strip() != "" and name.isprintable() and not checker.NUMBER.fullmatch(name)


def _values(row: Any) -> Iterator[tuple[int, float]]:
    """Yield (column, value) of what is not zero in one row."""
    if isinstance(row, np.ndarray):
        columns = np.flatnonzero(row[0])
        return zip(columns.tolist(), row[0, columns].astype(np.float64).tolist(), strict=True)
    order = np.argsort(row.indices)
    pairs = zip(row.indices[order].tolist(), row.data[order].astype(np.float64).tolist(), strict=True)
    return ((column, value) for column, value in pairs if value)


def _csv(rows: Rows, names: list[str], target: str) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow([*names, target])
    for i, label in enumerate(rows.y.tolist()):
        cells: list[Any] = [0] * len(names)
        for column, value in _values(rows.X[[i]]):
            cells[column] = value
        writer.writerow([*cells, label])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _libsvm(rows: Rows) -> Iterator[str]:
    width = rows.X.shape[1]
    for i, label in enumerate(rows.y.tolist()):
        pairs = [f"{column + 1}:{value!r}" for column, value in _values(rows.X[[i]])]
        if i == 0 and width and (not pairs or not pairs[-1].startswith(f"{width}:")):
            pairs.append(f"{width}:0")  # so that the number of columns can be seen
        yield " ".join([repr(label), *pairs]) + "\n"
