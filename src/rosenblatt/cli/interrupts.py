"""Ctrl-C while a command learns: it ends after the pass under way, and what was learned is kept."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

import typer

from rosenblatt.cli import ctrl_c
from rosenblatt.cli.telling import INTERRUPTED, counted, note


class Interruptible:
    """While it lasts, the first Ctrl-C only asks for an end (``asked``); the second one ends the command."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        ctrl_c.look()
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        note("interrupted: the pass under way is the last; interrupt again to give all up")


@contextmanager
def nothing_kept(model: str | None) -> Iterator[None]:
    """Say of an interrupt that comes before there is anything to keep that nothing was kept."""
    try:
        yield
    except KeyboardInterrupt:
        note("interrupted: nothing was kept" + (f"; {model} is not written" if model else ""))
        raise typer.Exit(INTERRUPTED) from None


def end_interrupted(report: dict[str, Any]) -> NoReturn:
    """Say what was kept, and end the command with the exit code of an interrupt."""
    passes = counted(report.get("passes", 1), "whole pass", "whole passes")
    kept = f"; {report['model']} holds it" if "model" in report else ""
    note(f"interrupted: the model is as {passes} left it{kept}")
    raise typer.Exit(INTERRUPTED)
