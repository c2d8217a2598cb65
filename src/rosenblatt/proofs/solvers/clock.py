"""Time limits: a solver asks whether it may go on, and whether a call that cannot be interrupted may start."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Clock:
    """Counts down from ``time_limit`` seconds; None never runs out.

    Parameters
    ----------
    time_limit : seconds, or None
    now : the time in seconds, by whatever clock
    """

    def __init__(self, time_limit: float | None, now: Callable[[], float] = time.monotonic) -> None:
        if time_limit is not None and not time_limit >= 0:
            raise ValueError(f"time_limit must be a number of seconds >= 0 or None, got {time_limit!r}")
        self._now = now
        self._end = None if time_limit is None else now() + time_limit
        self._slowness = 1.0  # how much longer than predicted the last long call took

    def out_of_time(self) -> bool:
        """Return whether the time is up."""
        return self._end is not None and self._now() >= self._end

    def left(self) -> float:
        """Return the seconds left (infinity without a limit)."""
        return float("inf") if self._end is None else max(0.0, self._end - self._now())

    def affords(self, seconds: float) -> bool:
        """Return whether an uninterruptible call that is predicted to take ``seconds`` may start."""
        return self._end is None or seconds * self._slowness <= self.left()

    def reserve(self, seconds: float) -> None:
        """Keep seconds for what has to be done at the end: from here on they are not left."""
        if self._end is not None:
            self._end -= seconds

    def run(self, seconds: float, call: Callable[[], T]) -> T:
        """Run a call predicted to take ``seconds``; where it takes longer (a busy machine), later predictions grow."""
        if self._end is None or seconds < 1e-3:
            return call()
        started = self._now()
        answer = call()
        self._slowness = max(1.0, (self._now() - started) / seconds)
        return answer
