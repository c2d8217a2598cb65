"""A progress bar on a terminal's standard error, and nothing anywhere else; how far a stream has come."""

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rosenblatt.cli.options import STANDARD_INPUT

UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


class Progress:
    """A bar with a description while something runs; it leaves nothing behind."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                BarColumn(24),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def shown(self) -> bool:
        """Whether the bar is drawn."""
        return self._bar is not None

    def update(self, description: str, done: int | None = None, total: int | None = None) -> None:
        """Show what is being done, and how much of it is done where that is known."""
        if self._bar is not None:
            self._bar.update(self._task, description=description, completed=done or 0, total=total)


class Meter:
    """Measures a stream: rows, bytes, how fast, and how long it may take yet."""

    def __init__(self, source: str) -> None:
        self.bytes_of = _size_of(source)
        self._bytes_read = _bytes_taken if source == STANDARD_INPUT else _bytes_read
        if source.startswith("sample:"):
            self._bytes_read = _not_counted
        self._before = self._bytes_read()
        self._started = self._last = time.perf_counter()
        self._rows = 0

    def status(self, rows: int, of: int | None = None, passes_left: int = 0) -> dict[str, Any]:
        """Return the position in the stream, as JSON holds it; ``of`` is the number of its rows, where it is known.

        The rate is that of the rows since the last time; the time left is that of all passes, at most.
        """
        now = time.perf_counter()
        seen = None if self._before is None else (self._bytes_read() or 0) - self._before
        if seen is not None and self.bytes_of is not None:
            seen = min(seen, self.bytes_of)
        rate = (rows - self._rows) / max(now - self._last, 1e-9)
        self._last, self._rows = now, rows
        if of and self.bytes_of is not None:  # rows that were kept are read from elsewhere
            seen = self.bytes_of * rows // of
        share = rows / of if of else seen / self.bytes_of if seen and self.bytes_of else None
        spent = now - self._started
        left = None if not share else round(spent * (1 - share) / share + passes_left * spent / share, 1)
        return {
            "rows_per_second": round(max(rate, 0.0)),
            "bytes": seen,
            "bytes_of": self.bytes_of,
            "seconds": round(spent, 3),
            "seconds_left": left,
        }

    def restart(self, since: float) -> None:
        """Begin another pass, which began at this time."""
        self._started = self._last = since
        self._rows = 0


def size_in_words(size: int) -> str:
    """Return a number of bytes in the largest unit that it fills.

    >>> size_in_words(0), size_in_words(297_344), size_in_words(10 * 2**30)
    ('0 bytes', '297.3 kB', '10.7 GB')
    """
    for unit, value in UNITS:
        if size >= value:
            return f"{size / value:.1f} {unit}"
    return f"{size} bytes"


def describe(status: dict[str, Any]) -> str:
    """Return the status of a meter in words.

    >>> describe({"rows_per_second": 210000, "bytes": 3_100_000, "bytes_of": 9_000_000, "seconds_left": 12.2})
    '210,000 rows/s  3.1 of 9.0 MB  12 s left'
    """
    parts = [f"{status['rows_per_second']:,} rows/s"]
    if status["bytes"] is not None:
        all_of_it = status["bytes_of"] or status["bytes"]
        unit, size = next((unit for unit in UNITS if all_of_it >= unit[1]), UNITS[-1])
        of = "" if status["bytes_of"] is None else f" of {status['bytes_of'] / size:.1f}"
        parts.append(f"{status['bytes'] / size:.1f}{of} {unit}")
    if status["seconds_left"] is not None:
        parts.append(f"{status['seconds_left']:.0f} s left")
    return "  ".join(parts)


def _not_counted() -> None:
    """Return None: samples are part of the package, and the files of others would be counted."""


def _bytes_read() -> int | None:
    """Return how many bytes this process has read from files and pipes; None where the system does not say."""
    try:
        return int(Path("/proc/self/io").read_text().split("rchar:")[1].split()[0])
    except (OSError, IndexError, ValueError):
        return None


def _bytes_taken() -> int | None:
    """Return how many bytes of standard input, decompressed, were read."""
    from rosenblatt.data.source import standard_input

    return standard_input().bytes_read


def _size_of(source: str) -> int | None:
    """Return the bytes of a source's files; None of standard input, a folder or a sample."""
    from rosenblatt.data.source import paths_of

    if source == STANDARD_INPUT or source.startswith("sample:"):
        return None
    paths = [Path(path) for path in paths_of(source)]
    return sum(path.stat().st_size for path in paths) if all(path.is_file() for path in paths) else None
