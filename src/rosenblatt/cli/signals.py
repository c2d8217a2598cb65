"""Ctrl-C: never lost, and while a command learns, a request to stop after the pass under way."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

import typer

from rosenblatt.cli.errors import ExitCode
from rosenblatt.cli.output import counted, note

_pending: list[bool] = []  # of the command under way: an interrupt arrived and was not handled


@contextmanager
def remember_interrupts() -> Iterator[None]:
    """Remember interrupts while a command runs.

    A KeyboardInterrupt that is raised inside a callback of C code, as numba makes while it loads or compiles, is thrown
    away there; :func:`check_interrupt` raises it again. Where the parent process ignores SIGINT, so does the command.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    previous_hook = sys.unraisablehook

    def hide_interrupts(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            previous_hook(unraisable)

    _pending[:] = [False]
    sys.unraisablehook = hide_interrupts
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = previous_hook
        _pending.clear()


def interrupt_pending() -> bool:
    """Whether an interrupt arrived since the last :func:`check_interrupt`."""
    return any(_pending)


def check_interrupt() -> None:
    """Raise KeyboardInterrupt where one arrived and was thrown away."""
    if interrupt_pending():
        _pending[0] = False
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _pending[:] = [True]
    raise KeyboardInterrupt


class Interruptible:
    """While it lasts, the first Ctrl-C only requests a stop (``requested``); the second one ends the command."""

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        check_interrupt()
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        note("interrupted: stopping after this pass; interrupt again to stop at once and keep nothing")


@contextmanager
def nothing_saved(model: str | None) -> Iterator[None]:
    """Report an interrupt that comes before there is a model to save."""
    try:
        yield
    except KeyboardInterrupt:
        note("interrupted: nothing was saved" + (f"; {model} is not written" if model else ""))
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def end_interrupted(report: dict[str, Any]) -> NoReturn:
    """Report what was learned before an interrupt, and exit with its code."""
    passes = counted(report.get("passes", 1), "whole pass", "whole passes")
    saved = f"; saved in {report['model']}" if "model" in report else ""
    note(f"interrupted: the model is that of {passes}{saved}")
    raise typer.Exit(ExitCode.INTERRUPTED)
