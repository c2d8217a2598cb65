"""Ctrl-C that is never lost.

An interrupt is an exception, and one that is raised inside a callback of C code is thrown away there: numba is called
back so while it loads or compiles. So it is also remembered, and raised again where somebody looks.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_struck: list[bool] = []  # of the command under way: whether Ctrl-C was struck and nobody looked since


@contextmanager
def remembered() -> Iterator[None]:
    """Remember interrupts while a command runs; where the system ignores them, so does the command."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    before = sys.unraisablehook

    def tell(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)

    _struck[:] = [False]
    sys.unraisablehook = tell
    signal.signal(signal.SIGINT, _strike)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = before
        _struck.clear()


def was_struck() -> bool:
    """Whether Ctrl-C was struck since the last look."""
    return any(_struck)


def look() -> None:
    """Raise KeyboardInterrupt where Ctrl-C was struck and the exception was thrown away."""
    if was_struck():
        _struck[0] = False
        raise KeyboardInterrupt


def _strike(number: int, frame: FrameType | None) -> None:
    _struck[:] = [True]
    raise KeyboardInterrupt
