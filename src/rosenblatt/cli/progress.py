"""A progress bar on a terminal's standard error, and nothing anywhere else."""

import sys
from types import TracebackType
from typing import Any, Self


class Progress:
    """Words beside a bar while something runs; it leaves nothing behind."""

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

    def tell(self, words: str, done: int | None = None, total: int | None = None) -> None:
        """Say what is going on, and how much of it is done where that is known."""
        if self._bar is not None:
            self._bar.update(self._task, description=words, completed=done or 0, total=total)
