"""A progress bar over passes."""

from typing import Any, Self

from rosenblatt.learner import Epoch


class Progress:
    """A bar on standard error, or nothing."""

    def __init__(self, verbose: int, passes: int) -> None:
        self._bar: Any = None
        if verbose:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True))
            self._task = self._bar.add_task("learning", total=passes)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, epoch: Epoch) -> None:
        """Move on by one pass."""
        if self._bar is not None:
            text = f"pass {epoch.number}: {epoch.mistakes:,} mistakes"
            self._bar.update(self._task, advance=1, description=text)
