"""A CSV file as points of the plane: the file is read and two columns scaled; the dialog that asks for it."""

import tempfile
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from nicegui import events, ui

from rosenblatt.data import BadInput, ReadOptions
from rosenblatt.data.scanners.numbers import MISSING
from rosenblatt.data.source import signature_of
from rosenblatt.data.tables.delimited import DelimitedSource, Rows
from rosenblatt.data.tables.encode import texts_of
from rosenblatt.data.tables.learn import TableStatistics
from rosenblatt.data.tables.values import numbers
from rosenblatt.lab.computing import computed
from rosenblatt.lab.frame import LabPage, button, main_button, sentence
from rosenblatt.lab.points import HIGH, MOST, WIDE, Point, Points, counted
from rosenblatt.web.layout import Markup, html

LARGEST = 4 << 20  # bytes
MOST_COLUMNS = 100
MOST_DIFFERENT = 10_000  # values of a column of numbers that may still be labels
SEPARATORS = (b",", b";", b"\t", b"|")
ROOM = 0.85  # of the plane that the data fill


class Uploaded(NamedTuple):
    """A table that was uploaded."""

    columns: dict[str, Any]  # name -> values, numbers as float64
    numeric: list[str]
    labels: dict[str, list[str]]  # columns with two to twenty different values, and these

    @classmethod
    def read(cls, content: bytes) -> "Uploaded":
        """Read a CSV file as every command does, with or without a header, or say what is wrong with it."""
        if len(content) > LARGEST:
            raise ValueError(f"the file has {len(content):,} bytes; the lab takes {LARGEST:,}")
        signature = signature_of(content[:8])
        if signature is not None and signature.name != "UTF-16":  # a few kilobytes can unpack to gigabytes
            raise ValueError(f"not a CSV table: the file is {signature.name}: unpack or convert it first")
        first = content.lstrip(b"\r\n").partition(b"\n")[0]
        columns_seen = 1 + max(first.count(mark) for mark in SEPARATORS)
        if columns_seen > MOST_COLUMNS:
            raise ValueError(f"the first line has {columns_seen:,} columns; the lab takes {MOST_COLUMNS}")
        names, rows = _rows_of(content)
        statistics = TableStatistics(names, None)
        statistics.update(rows)
        columns: dict[str, Any] = {}
        numeric: list[str] = []
        labels: dict[str, list[str]] = {}
        for name in names:
            own, cells = statistics.columns[name], texts_of(rows.columns[name])
            form = own.formats[0] if own.formats else None
            if own.numeric or form is not None:
                columns[name] = numbers(rows.columns[name]) if form is None else form.read(rows.columns[name])
                numeric.append(name)
                different = np.unique(columns[name][~np.isnan(columns[name])])
                shown = [f"{value:g}" for value in different[:MOST_DIFFERENT]]
            else:
                shown = ["" if cell in MISSING else cell for cell in cells]
                columns[name] = np.array(shown, dtype=np.str_)
            values = {value for value in shown if value}
            if 2 <= len(values) <= 20:
                labels[name] = sorted(values)
        if len(numeric) < 2 or not labels:
            raise ValueError("the table needs two columns of numbers and one of labels (2 to 20 values)")
        return cls(columns, numeric, labels)

    def points(self, x: str, y: str, label: str, positive: str) -> tuple[Points, str]:
        """Return two columns as points, rows of the positive value as +1, and in words what became of the rows."""
        a, b, truth = self.columns[x], self.columns[y], np.array(self._shown(label))
        good = np.flatnonzero(np.isfinite(a) & np.isfinite(b) & (truth != ""))
        if not good.size:
            raise ValueError(f"no row has a number in both {x!r} and {y!r} and a value in {label!r}")
        rows = good[np.linspace(0, good.size - 1, min(MOST, good.size)).astype(int)]
        xs, ys = _scaled(a[rows], WIDE), _scaled(b[rows], HIGH)
        points = (
            Point.near(u, v, 1 if t == positive else -1) for u, v, t in zip(xs, ys, truth[rows], strict=True)
        )
        said = f"{counted(rows.size, 'point')}, scaled to the plane"
        if good.size > rows.size:
            said += f": an even sample of {counted(good.size, 'row')}"
        if len(a) > good.size:
            said += f"; {counted(len(a) - good.size, 'row')} without a number or a label left out"
        return tuple(points), said + "."

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


# The dialog


def ask_for_table(page: LabPage[Any]) -> None:
    """Ask for a file; what is chosen of it becomes the page's own points."""
    with ui.dialog() as dialog, ui.element("div").classes("lab-dialog").style("width:480px"):
        html(Markup("<h2 style='font-size:20px;margin:0 0 6px'>Upload CSV</h2>"))
        ui.label(
            "A table with at least two columns of numbers and one of labels, with or without a line of names. "
            f"{WHERE[page.share.limited]}"
        )
        place = ui.element("div").classes("lab-stack q-mt-md")
        with place:
            box = ui.upload(auto_upload=True, max_files=1, max_file_size=LARGEST, label="Choose a file")
            box.props("accept=.csv,.txt flat bordered").classes("w-full")

        async def arrived(event: events.UploadEventArguments) -> None:
            if not page.allowed:
                box.reset()
                return
            try:
                table = await computed(page.share, partial(Uploaded.read, await event.file.read()))
            except ValueError as error:
                ui.notify(sentence(str(error)), type="negative", timeout=8000)
                box.reset()
                return
            place.clear()
            with place:
                _choose_columns(table, dialog, page)

        box.on_upload(arrived)
        button("Close", "close", dialog.close).classes("q-mt-md")
    dialog.open()


WHERE = {False: "It stays on this computer.", True: "It goes to the lecturer's computer, and is not stored."}


def _choose_columns(table: Uploaded, dialog: Any, page: LabPage[Any]) -> None:
    label = list(table.labels)[-1]  # most tables end with the target
    numeric = [name for name in table.numeric if name != label] or table.numeric
    x = ui.select(table.numeric, value=numeric[0], label="Across, x₁")
    y = ui.select(table.numeric, value=numeric[min(1, len(numeric) - 1)], label="Up, x₂")
    truth = ui.select(list(table.labels), value=label, label="Label")
    values = table.labels[label]
    positive = ui.select(values, value=values[-1], label="Counts as +1 (all else −1)")
    for box in (x, y, truth, positive):
        box.props("dense outlined").classes("w-full")

    def other_label(event: Any) -> None:
        values = table.labels[event.value]
        positive.set_options(values, value=values[-1])

    def use() -> None:
        page.ask(partial(table.points, x.value, y.value, truth.value, positive.value), used)

    def used(result: tuple[Points, str]) -> None:
        points, said = result
        dialog.close()
        page.set(data="own", points=points, clock=0, x_name=x.value[:40], y_name=y.value[:40])
        ui.notify(said)

    truth.on_value_change(other_label)
    main_button("Use these columns", "done", use)
