"""Between the CPU and a GPU: buffers in pinned memory, kept by name, so that no copy waits or is waited for."""

from typing import Any, NamedTuple

from numpy.typing import NDArray


class OnItsWay:
    """An array on its way to the CPU."""

    def __init__(self, array: NDArray[Any], passed: Any = None) -> None:
        self._array, self._passed = array, passed

    def arrived(self) -> NDArray[Any]:
        """Wait for it, and return it."""
        if self._passed is not None:
            self._passed.synchronize()
        return self._array


class _Buffer(NamedTuple):
    pinned: (
        Any  # pageable memory would cost a page fault for every 4 KiB, and a wait for all work in the queue
    )
    here: NDArray[Any]  # the same memory
    there: Any
    passed: Any  # an event: the copy is done


class Crossing:
    """The buffers of a run; what was sent or brought stays valid until the next of its name."""

    def __init__(self) -> None:
        self._kept: dict[str, _Buffer] = {}

    def send(self, name: str, A: Any) -> OnItsWay:
        """Begin to copy a tensor to the CPU."""
        import torch

        kept, size = self._kept.get(name), A.numel()
        if kept is None or kept.pinned.numel() < size or kept.pinned.dtype != A.dtype:
            pinned = torch.empty(size, dtype=A.dtype, pin_memory=True)
            kept = self._kept[name] = _Buffer(pinned, pinned.numpy(), None, torch.cuda.Event())
        self.arrives_in(name, A).copy_(A, non_blocking=True)
        kept.passed.record(torch.cuda.current_stream(A.device))
        return OnItsWay(kept.here[:size].reshape(tuple(A.shape)), kept.passed)

    def arrives_in(self, name: str, A: Any) -> Any:
        """Return the pinned memory that a tensor like this one is sent to."""
        return self._kept[name].pinned[: A.numel()].view(A.shape)

    def bring(self, name: str, array: NDArray[Any], dtype: str, device: Any) -> Any:
        """Begin to copy an array to a device, and return what it will be there."""
        import torch

        kept, size = self._kept.get(name), array.size
        if kept is None or kept.pinned.numel() < size:
            pinned = torch.empty(2 * size, dtype=getattr(torch, dtype), pin_memory=True)
            kept = self._kept[name] = _Buffer(pinned, pinned.numpy(), pinned.to(device), torch.cuda.Event())
        kept.passed.synchronize()  # the one before has left
        kept.here[:size] = array.reshape(-1)
        there = kept.there[:size].copy_(kept.pinned[:size], non_blocking=True)
        kept.passed.record(torch.cuda.current_stream(there.device))
        return there.view(array.shape)
