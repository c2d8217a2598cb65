"""Time limits: a search asks whether it may go on."""

import time


class Clock:
    """Counts down from ``time_limit`` seconds; None never runs out."""

    def __init__(self, time_limit: float | None) -> None:
        if time_limit is not None and not time_limit >= 0:
            raise ValueError(f"time_limit must be a number of seconds >= 0 or None, got {time_limit!r}")
        self._end = None if time_limit is None else time.monotonic() + time_limit

    def out_of_time(self) -> bool:
        """Say whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end

    def left(self) -> float:
        """Return the seconds left (infinity without a limit)."""
        return float("inf") if self._end is None else max(0.0, self._end - time.monotonic())
