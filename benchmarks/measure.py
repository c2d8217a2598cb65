"""What the benchmarks share: the best of several runs, a table of ratios, and where the real data are."""

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

console = Console(width=120, soft_wrap=True)


def best_of(runs: int, *contestants: Callable[[], Any]) -> list[float]:
    """Return the shortest time of each contestant; they take turns, so that noise falls on all alike."""
    times = [[] for _ in contestants]
    for contestant in contestants:
        contestant()  # compile, touch the memory
    for _ in range(runs):
        for own, contestant in zip(times, contestants, strict=True):
            start = time.perf_counter()
            contestant()
            own.append(time.perf_counter() - start)
    return [min(own) for own in times]


class Ratios:
    """A table of what was measured against what was asked for, and of what could not be measured."""

    every: ClassVar[list["Ratios"]] = []  # of this process, for whoever writes them down

    def __init__(self, title: str) -> None:
        self.title = title
        self.rows: list[Row] = []
        self.notes: list[str] = []
        Ratios.every.append(self)

    def add(self, what: str, ours: str, theirs: str, ratio: float, asked: float, unit: str = "×") -> None:
        """Add a line; the ratio is better the larger it is."""
        self.rows.append(Row(what, ours, theirs, ratio, asked, unit))

    def left_out(self, what: str, why: str) -> None:
        """Add a line for what could not be run here."""
        self.rows.append(Row(what, why, "", None, None, ""))

    def note(self, text: str) -> None:
        """Add a sentence below the table."""
        self.notes.append(text)

    def show(self) -> None:
        """Print the table and its notes."""
        table = Table(title=self.title, title_justify="left")
        for column in ("what", "ours", "theirs", "ratio", "asked", ""):
            table.add_column(column, justify="left" if column == "what" else "right")
        colours = {"reached": "green", "missed": "red", "not run": "yellow"}
        for row in self.rows:
            table.add_row(*row.cells(), Text(row.verdict, style=colours.get(row.verdict, "")))
        console.print(table, *self.notes, sep="\n")


class Row(NamedTuple):
    """One line: a ratio against the one asked for, or why there is none (in ``ours``)."""

    what: str
    ours: str
    theirs: str
    ratio: float | None
    asked: float | None
    unit: str

    @property
    def verdict(self) -> str:
        """Say whether what was asked for was reached."""
        if self.ratio is None:
            return "not run"
        if not self.asked:
            return ""
        return "reached" if self.ratio >= self.asked else "missed"

    def cells(self) -> list[str]:
        """Return the line as it is printed."""
        told = [f"{value:.3g}{self.unit}" if value else "" for value in (self.ratio, self.asked)]
        return [self.what, self.ours, self.theirs, *told]


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.1f} ms"


def data_folder() -> Path | None:
    """Return the folder of real data sets, or None where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ROSENBLATT_DATA", beside))
    return folder if folder.is_dir() else None


def mnist(folder: Path, part: str, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Return the images of ``train`` or ``t10k``, scaled to [0, 1], and their digits."""
    images = gzip.decompress((folder / "mnist" / f"{part}-images-idx3-ubyte.gz").read_bytes())
    digits = gzip.decompress((folder / "mnist" / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    X = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784)
    return X.astype(dtype) / dtype(255), np.frombuffer(digits, np.uint8, offset=8).astype(np.int64)
