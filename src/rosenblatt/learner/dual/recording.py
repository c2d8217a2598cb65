"""Work of a GPU that is recorded once and played in one call (a CUDA graph)."""

from collections.abc import Callable
from functools import cache
from threading import Lock, get_ident
from typing import Any

from numpy.typing import NDArray

from rosenblatt.learner.dual.crossing import OnItsWay


class Recording:
    """A function of arrays of fixed shapes, with the copies that bring them over and its first result ``back``.

    Everything a GPU reads or writes when it plays lies where it lay when this was recorded.
    """

    def __init__(
        self,
        work: Callable[..., tuple[Any, Any]],
        given: tuple[NDArray[Any], ...],
        dtypes: tuple[str, ...],
        device: Any,
        aside: bool,
        back: Any,
    ) -> None:
        import torch

        self._device, self._aside = device, aside
        self._graph, self._passed = torch.cuda.CUDAGraph(), torch.cuda.Event()
        pinned = [
            torch.zeros(array.shape, dtype=getattr(torch, dtype), pin_memory=True)
            for array, dtype in zip(given, dtypes, strict=True)
        ]
        self._here = [each.numpy() for each in pinned]
        now, studio = torch.cuda.current_stream(device), _studio(device, aside)
        studio.queue.wait_stream(now)
        with _ONE_AT_A_TIME, torch.cuda.stream(studio.queue):
            there = [each.to(device, non_blocking=True) for each in pinned]
            work(*there)  # what libraries do at their first call in a queue, no recording may hold
            pool = studio.latest.pool() if studio.latest else None
            self._graph.capture_begin(pool, capture_error_mode="thread_local")
            try:
                for each, from_here in zip(there, pinned, strict=True):
                    each.copy_(from_here, non_blocking=True)
                told, self._stays = work(*there)
                back.copy_(told, non_blocking=True)
            finally:
                self._graph.capture_end()
            studio.latest = self._graph
        now.wait_stream(studio.queue)
        self._buffers, self._back = (pinned, there, back), back.numpy()

    def play(self, *given: NDArray[Any]) -> tuple[OnItsWay, Any]:
        """Do the work for these arrays."""
        import torch

        self._passed.synchronize()  # the arrays before have left
        for here, array in zip(self._here, given, strict=True):
            here[...] = array
        queue = torch.cuda.current_stream(self._device)
        if self._aside:
            queue = _studio(self._device, aside=True).queue
            with torch.cuda.stream(queue):
                self._graph.replay()
        else:
            self._graph.replay()
        self._passed.record(queue)
        return OnItsWay(self._back, self._passed), self._stays


class _Studio:
    """A queue to record in, and memory that its recordings share with each other, since they play one after the other.

    What may play at the same time must not share it: products write partial sums there.
    """

    def __init__(self, device: str) -> None:
        import torch

        self.queue = torch.cuda.Stream(
            device, priority=-1
        )  # no queue that a caller has, which are of priority 0
        self.latest: Any = None  # kept, since the memory goes with the last recording in it


_ONE_AT_A_TIME = Lock()


def _studio(device: Any, aside: bool) -> _Studio:
    """Return the studio for what plays in the current queue of this thread, or aside of it."""
    import torch

    return _studio_of(str(device), aside, torch.cuda.current_stream(device).cuda_stream, get_ident())


@cache
def _studio_of(device: str, aside: bool, queue: int, thread: int) -> _Studio:
    return _Studio(device)
