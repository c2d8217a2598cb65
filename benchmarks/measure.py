"""What the benchmarks share: the best of several runs, a table of ratios, and where the real data are."""

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

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
    """A table of what was measured against what was asked for."""

    def __init__(self, title: str) -> None:
        self._table = Table(title=title, title_justify="left")
        for column in ("what", "ours", "theirs", "ratio", "asked", ""):
            self._table.add_column(column, justify="left" if column == "what" else "right")

    def add(self, what: str, ours: str, theirs: str, ratio: float, asked: float, unit: str = "×") -> None:
        """Add a line; the ratio is better the larger it is."""
        mark = "[green]reached[/]" if ratio >= asked else "[red]missed[/]"
        self._table.add_row(what, ours, theirs, f"{ratio:.2f}{unit}", f"{asked:g}{unit}", mark)

    def show(self) -> None:
        """Print the table."""
        console.print(self._table)


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
