"""Matrices of kernel learners: NumPy and CSR on the CPU, any array-API library on the device of its arrays.

Everything that a kernel learner does to a matrix goes through :class:`Arrays`. From a GPU only the scores and the Gram
matrix of a block are copied to the CPU. The rest of the module keeps a GPU busy: buffers in pinned memory, tasks
recorded as CUDA graphs, a growing matrix, the visiting order, and the vote of all hypotheses.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock, get_ident
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.order import FIRST, GOLDEN, S27, S30, S31, SECOND, Shuffle
from rosenblatt.core.rows import rows_of
from rosenblatt.core.state import Visits
from rosenblatt.data.matrix import checked_matrix

FLOATS = ("float32", "float64")
VALUES_IN_CACHE, VALUES_ON_DEVICE = 1 << 20, 1 << 28  # kernel values held at once
MIN_STORED_ROWS = 256  # capacity of a new RowStore
MAX_GRAPHS = 8  # of one task: each holds memory on the device for everything its function computes
HASHED_AT_ONCE = 1 << 24  # numbers hashed at once on a device, eight bytes each, several times over
SIGN_BIT = -(1 << 63)  # xor with it makes signed numbers compare as unsigned ones
VOTE_LINES = 1024  # lines of the ledger applied at once on a device


def is_foreign(X: Any) -> bool:
    """Return whether a matrix belongs to an array library other than numpy."""
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        return False
    return _is_torch(X) or hasattr(X, "__array_namespace__")


def to_numpy(A: Any) -> NDArray[Any]:
    """Copy an array to the CPU, where it is not there already."""
    if hasattr(A, "detach"):
        A = A.detach().cpu()
        return np.asarray(A.numpy())
    return np.asarray(A) if isinstance(A, np.ndarray) or not is_foreign(A) else np.from_dlpack(A)


def cut(n: int, size: int) -> Iterator[slice]:
    """Cut ``n`` rows into pieces of at most ``size``.

    >>> list(cut(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for lo in range(0, n, size):
        yield slice(lo, min(lo + size, n))


class Arrays:
    """The library, device and precision that a learner computes with.

    Parameters
    ----------
    X : array-like, sparse matrix or tensor
        The first matrix of the learner.
    device : str or None
        A PyTorch device to move matrices to (``"cuda"``); None leaves them where they are.
    dtype : {"float32", "float64"} or None
        None is the precision of ``X``, or float32 where ``device`` moves it.
    tf32 : bool
        Let a GPU round products to TF32, which is faster and changes the mistakes.
    """

    def __init__(
        self, X: Any, device: str | None = None, dtype: str | None = None, tf32: bool = False
    ) -> None:
        if dtype is not None and dtype not in FLOATS:
            raise ValueError(f"dtype must be one of {', '.join(FLOATS)} or None, got {dtype!r}")
        self._library = "numpy"
        self.device: Any = None
        self.tf32 = tf32
        self._buffers = PinnedBuffers()
        if device is not None:
            self._library = _torch_library()
            self.device = _checked_device(device)
            if hasattr(X, "tocsr"):
                raise ValueError(
                    "device= takes dense data only: leave device=None, or convert X to a dense matrix"
                )
        elif is_foreign(X):
            self._library = _library(X)
            self.device = X.device
        self.dtype = dtype or self._dtype_of(X)
        if self.dtype not in FLOATS:
            self.dtype = "float64"

    @property
    def xp(self) -> ModuleType:
        """The array library."""
        return import_module(self._library)

    @property
    def is_numpy(self) -> bool:
        """Whether matrices are numpy's or SciPy's."""
        return self._library == "numpy"

    @property
    def on_gpu(self) -> bool:
        """Whether matrices are PyTorch's, on a CUDA device."""
        return self.device is not None and str(self.device).startswith("cuda")

    @property
    def at_once(self) -> int:
        """How many kernel values to hold at once."""
        return VALUES_IN_CACHE if self.is_numpy else VALUES_ON_DEVICE

    def matrix(self, X: Any, n_features: int | None = None, *, is_checked: bool = False) -> Any:
        """Return ``X`` as a finite matrix of this library, device and precision.

        A NumPy or CSR matrix with ``is_checked`` is known to be finite. Tensors are always checked, after they are
        rounded to the precision of the model.
        """
        if self.is_numpy:
            finite = not is_checked or is_foreign(X)
            X = checked_matrix(to_numpy(X) if is_foreign(X) else X, n_features=n_features, finite=finite)
            return X.astype(self.dtype, copy=False)
        if hasattr(X, "tocsr"):
            raise ValueError(
                "the model is on a device, which takes dense rows only: convert X to a dense matrix"
            )
        if not is_foreign(X):
            X = checked_matrix(X, n_features=n_features, finite=not is_checked)
        _refuse_unsupported_tensors(X)
        X = self.put(X.detach() if hasattr(X, "detach") else X)
        if X.ndim != 2:
            raise ValueError(f"X must be two-dimensional, got shape {tuple(X.shape)}")
        if n_features is not None and X.shape[1] != n_features:
            raise ValueError(f"X has {X.shape[1]} features, but the learner has seen {n_features}")
        finite = self.xp.isfinite(X)
        if not bool(self.xp.all(finite)):
            row, column = np.argwhere(~to_numpy(finite))[0]
            raise ValueError(
                f"X has a value that is not finite in row {row}, column {column}: "
                "remove the row or fill in a number"
            )
        return X

    def put(self, array: Any, dtype: str | None = None) -> Any:
        """Copy an array to the device of the matrices."""
        dtype = dtype or self.dtype
        if self.is_numpy:
            return np.asarray(array, dtype=dtype)
        return self.xp.asarray(array, dtype=getattr(self.xp, dtype), device=self.device)

    def empty(self, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        """Return an array that is not initialised."""
        dtype = dtype or self.dtype
        if self.is_numpy:
            return np.empty(shape, dtype)
        return self.xp.empty(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def zeros(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return an array of zeros."""
        if self.is_numpy:
            return np.zeros(shape, dtype)
        return self.xp.zeros(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def start_fetch(self, name: str, A: Any) -> "Transfer":
        """Begin to copy an array to the CPU; it stays valid until the next fetch of this name."""
        if self.is_numpy or not getattr(A, "is_cuda", False):
            return Transfer(np.ascontiguousarray(to_numpy(A)))
        return self._buffers.start_fetch(name, A)

    def fetch(self, name: str, A: Any) -> NDArray[Any]:
        """Copy an array to the CPU; it stays valid until the next fetch of this name."""
        return self.start_fetch(name, A).wait()

    def send(self, name: str, array: NDArray[Any], dtype: str | None = None) -> Any:
        """Copy an array to the device without waiting; it stays valid until the next send of this name."""
        if not self.on_gpu:
            return self.put(array, dtype)
        return self._buffers.send(name, array, dtype or self.dtype, self.device)

    def variance(self, X: Any, weight: NDArray[np.float64] | None) -> float:
        """Return the variance of all numbers in a matrix, every row counted by its weight."""
        sums = np.asarray(X.sum(axis=1)).reshape(-1) if self.is_numpy else to_numpy(self.xp.sum(X, axis=1))
        squares = X.multiply(X).sum(axis=1) if hasattr(X, "tocsr") else to_numpy(self.xp.sum(X * X, axis=1))
        share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
        mean = float(share @ sums) / X.shape[1]
        spread = np.asarray(squares).reshape(-1) - 2.0 * mean * sums + X.shape[1] * mean**2
        return float(share @ spread) / int(X.shape[1])

    def rows(self, X: Any, numbers: Any) -> Any:
        """Return the rows of these numbers, which are on the CPU or on the device of the matrix."""
        if self.is_numpy:
            return X[numbers]
        index = self.send("numbers", numbers, "int64") if isinstance(numbers, np.ndarray) else numbers
        return X.index_select(0, index) if _is_torch(X) else self.xp.take(X, index, axis=0)

    def columns(self, X: Any, index: Any) -> Any:
        """Return the columns of these numbers, which are on the device of the matrix."""
        if self.is_numpy or _is_torch(X):
            return X[:, index]
        return self.xp.take(X, index, axis=1)

    def running_sum(self, A: Any) -> Any:
        """Return sums from the first row to each."""
        if self.is_numpy or _is_torch(A):
            return A.cumsum(0)
        return self.xp.cumulative_sum(A, axis=0)

    @contextlib.contextmanager
    def exact_products(self) -> Iterator[None]:
        """Keep products of float32 in float32 on a GPU, unless TF32 was asked for."""
        if not self._library.endswith("torch"):
            yield
            return
        import torch

        products = torch.backends.cuda.matmul
        before = products.allow_tf32
        products.allow_tf32 = self.tf32
        try:
            with torch.no_grad():
                yield
        finally:
            products.allow_tf32 = before

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_buffers": PinnedBuffers()}

    def _dtype_of(self, X: Any) -> str:
        if self.device is not None and not is_foreign(X):
            return "float32"
        dtype = getattr(X, "dtype", None)
        return "float64" if dtype is None else str(dtype).rpartition(".")[2]


def _checked_device(device: Any) -> Any:
    """Return a device of PyTorch; raise ValueError where there is none of that name."""
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        why = str(error).partition("\n")[0]
        raise ValueError(
            f"device={device!r} cannot be used here: {why}; leave device=None to compute where the data are"
        ) from error
    return device


def _refuse_unsupported_tensors(X: Any) -> None:
    """Raise ValueError for a tensor that is not a dense matrix of real numbers."""
    if str(X.dtype).rpartition(".")[2].startswith("complex"):
        raise ValueError(f"X must hold real numbers, got {X.dtype}")
    if "strided" not in str(getattr(X, "layout", "strided")):
        raise ValueError(f"X is a tensor of layout {X.layout}: make it dense, or give a SciPy CSR matrix")


def _is_torch(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "torch"


def _library(X: Any) -> str:
    """Return the name of the array library of a matrix."""
    if _is_torch(X):
        return _torch_library()
    name: str = X.__array_namespace__().__name__
    return name


def _torch_library() -> str:
    """Return the module through which PyTorch is used: with the names of the array API where that is installed."""
    if find_spec("torch") is None:
        raise ImportError("a device needs PyTorch: pip install 'rosenblatt[gpu]'")
    # Without array-api-compat PyTorch itself is enough: it has the same names for everything used here.
    return "torch" if find_spec("array_api_compat") is None else "array_api_compat.torch"


# Between the CPU and a GPU


class Transfer:
    """An array that is being copied to the CPU."""

    def __init__(self, array: NDArray[Any], done: Any = None) -> None:
        self._array, self._done = array, done

    def wait(self) -> NDArray[Any]:
        """Wait until the copy is complete, and return the array."""
        if self._done is not None:
            self._done.synchronize()
        return self._array


class _Buffer(NamedTuple):
    # Pageable memory would cost a page fault for every 4 KiB, and a wait for all work in the queue.
    pinned: Any
    array: NDArray[Any]  # the same memory
    on_device: Any
    done: Any  # an event: the copy is complete


class PinnedBuffers:
    """Buffers in pinned memory, by name, for asynchronous copies.

    An array that was fetched or sent stays valid until the next one of the same name.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, _Buffer] = {}

    def start_fetch(self, name: str, A: Any) -> Transfer:
        """Begin to copy a tensor to the CPU."""
        import torch

        buffer, size = self._buffers.get(name), A.numel()
        if buffer is None or buffer.pinned.numel() < size or buffer.pinned.dtype != A.dtype:
            pinned = torch.empty(size, dtype=A.dtype, pin_memory=True)
            buffer = self._buffers[name] = _Buffer(pinned, pinned.numpy(), None, torch.cuda.Event())
        self.destination(name, A).copy_(A, non_blocking=True)
        buffer.done.record(torch.cuda.current_stream(A.device))
        return Transfer(buffer.array[:size].reshape(tuple(A.shape)), buffer.done)

    def destination(self, name: str, A: Any) -> Any:
        """Return the pinned memory that a tensor of this shape is copied to."""
        return self._buffers[name].pinned[: A.numel()].view(A.shape)

    def send(self, name: str, array: NDArray[Any], dtype: str, device: Any) -> Any:
        """Begin to copy an array to a device, and return the tensor there."""
        import torch

        buffer, size = self._buffers.get(name), array.size
        if buffer is None or buffer.pinned.numel() < size:
            pinned = torch.empty(2 * size, dtype=getattr(torch, dtype), pin_memory=True)
            buffer = _Buffer(pinned, pinned.numpy(), pinned.to(device), torch.cuda.Event())
            self._buffers[name] = buffer
        buffer.done.synchronize()  # the previous array has been copied
        buffer.array[:size] = array.reshape(-1)
        on_device = buffer.on_device[:size].copy_(buffer.pinned[:size], non_blocking=True)
        buffer.done.record(torch.cuda.current_stream(on_device.device))
        return on_device.view(array.shape)


DeviceFunction = Callable[..., tuple[Any, Any]]


class DeviceTask:
    """A function of a few arrays that runs on the device of the matrices.

    The function returns two results: the first is copied to the CPU, the second stays on the device, valid until the
    next run. A small operation costs the CPU more to launch than it costs the GPU to do. So a task with ``use_graphs``
    is recorded as a CUDA graph, copies included, when arrays of the same shapes come a second time; from then on one
    call replays all of it (on an H200 this makes a whole fit 1.4 to 1.8 times as fast).

    Parameters
    ----------
    arrays : Arrays
        The device of the matrices.
    function : callable
        Called with the arguments on the device.
    *dtypes : str
        The dtypes of the arguments.
    use_graphs : bool
        Whether to record CUDA graphs: the function must make the same calls every time and never wait for the device.
    own_stream : bool
        Replay in a separate CUDA stream: nothing that the function reads may be written meanwhile.
    """

    def __init__(
        self,
        arrays: Arrays,
        function: DeviceFunction,
        *dtypes: str,
        use_graphs: bool = False,
        own_stream: bool = False,
    ) -> None:
        self._arrays, self._function, self._dtypes = arrays, function, dtypes
        self._use_graphs, self._own_stream = use_graphs and arrays.on_gpu, own_stream
        self._graphs: dict[Any, CudaGraph] = {}
        # Of shapes of arguments that came once: where the first result was copied to.
        self._seen: dict[Any, Any] = {}
        self._buffers = PinnedBuffers()

    def run(self, *arguments: NDArray[Any]) -> tuple[Transfer, Any]:
        """Run the function on these arrays; return the first result as a transfer, and the second."""
        arrays = self._arrays
        if not arrays.on_gpu:
            result, stays = self._function(*map(arrays.put, arguments, self._dtypes))
            return Transfer(np.ascontiguousarray(to_numpy(result))), stays
        shapes = tuple(array.shape for array in arguments)
        if shapes in self._seen:
            destination = self._seen.pop(shapes)
            self._graphs[shapes] = CudaGraph(
                self._function, arguments, self._dtypes, arrays.device, self._own_stream, destination
            )
        if shapes in self._graphs:
            return self._graphs[shapes].replay(*arguments)
        on_device = [
            self._buffers.send(str(k), array, dtype, arrays.device)
            for k, (array, dtype) in enumerate(zip(arguments, self._dtypes, strict=True))
        ]
        result, stays = self._function(*on_device)
        transfer = self._buffers.start_fetch("result", result)
        if self._use_graphs and len(self._graphs) + len(self._seen) < MAX_GRAPHS:
            self._seen[shapes] = self._buffers.destination("result", result)
        return transfer, stays


class CudaGraph:
    """A function of arrays of fixed shapes, recorded with the copies of its arguments and of its first result.

    Everything that the GPU reads or writes in a replay lies where it lay when the graph was recorded.
    """

    def __init__(
        self,
        function: DeviceFunction,
        arguments: tuple[NDArray[Any], ...],
        dtypes: tuple[str, ...],
        device: Any,
        own_stream: bool,
        destination: Any,
    ) -> None:
        import torch

        self._device, self._own_stream = device, own_stream
        self._graph, self._done = torch.cuda.CUDAGraph(), torch.cuda.Event()
        pinned = [
            torch.zeros(array.shape, dtype=getattr(torch, dtype), pin_memory=True)
            for array, dtype in zip(arguments, dtypes, strict=True)
        ]
        self._arguments = [each.numpy() for each in pinned]
        current, recorder = torch.cuda.current_stream(device), _recorder(device, own_stream)
        recorder.stream.wait_stream(current)
        with _ONE_RECORDING_AT_A_TIME, torch.cuda.stream(recorder.stream):
            on_device = [each.to(device, non_blocking=True) for each in pinned]
            # Libraries initialise at their first call in a stream, which cannot be recorded.
            function(*on_device)
            pool = recorder.latest.pool() if recorder.latest else None
            self._graph.capture_begin(pool, capture_error_mode="thread_local")
            try:
                for each, source in zip(on_device, pinned, strict=True):
                    each.copy_(source, non_blocking=True)
                result, self._stays = function(*on_device)
                destination.copy_(result, non_blocking=True)
            finally:
                self._graph.capture_end()
            recorder.latest = self._graph
        current.wait_stream(recorder.stream)
        self._memory, self._result = (pinned, on_device, destination), destination.numpy()

    def replay(self, *arguments: NDArray[Any]) -> tuple[Transfer, Any]:
        """Run the recorded function on these arrays."""
        import torch

        self._done.synchronize()  # the previous arguments have been copied
        for pinned, array in zip(self._arguments, arguments, strict=True):
            pinned[...] = array
        stream = torch.cuda.current_stream(self._device)
        if self._own_stream:
            stream = _recorder(self._device, own_stream=True).stream
            with torch.cuda.stream(stream):
                self._graph.replay()
        else:
            self._graph.replay()
        self._done.record(stream)
        return Transfer(self._result, self._done), self._stays


class _Recorder:
    """A stream to record graphs in, and memory that these graphs share, since they are replayed one after the other.

    Graphs that may run at the same time must not share it: products write partial sums there.
    """

    def __init__(self, device: str) -> None:
        import torch

        # Callers' streams have priority 0, so this is not one of them.
        self.stream = torch.cuda.Stream(device, priority=-1)
        self.latest: Any = None  # held, since the memory goes with the last graph in it


_ONE_RECORDING_AT_A_TIME = Lock()


def _recorder(device: Any, own_stream: bool) -> _Recorder:
    """Return the recorder of graphs that are replayed in the current stream of this thread, or beside it."""
    import torch

    return _recorder_of(str(device), own_stream, torch.cuda.current_stream(device).cuda_stream, get_ident())


@cache
def _recorder_of(device: str, own_stream: bool, stream: int, thread: int) -> _Recorder:
    return _Recorder(device)


# A matrix that grows


class RowStore:
    """A growing matrix of support rows; its memory doubles when it is full. Also holds a vector of column numbers."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._memory: Any = None
        self._pieces: list[Any] = []  # of CSR rows, stacked when they are read
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def add(self, rows: Any) -> None:
        """Append rows."""
        n, rows = int(rows.shape[0]), self._in_stored_format(rows)
        if hasattr(rows, "tocsr"):
            self._pieces.append(rows)
        else:
            if self._memory is None or self._used + n > self._memory.shape[0]:
                self._grow(rows, self._used + n)
            self._memory[self._used : self._used + n, ...] = rows
        self._used += n

    def replace(self, number: int, rows: Any) -> None:
        """Replace one row by another."""
        rows = self._in_stored_format(rows)
        if not hasattr(rows, "tocsr"):
            self._memory[number : number + 1, ...] = rows
            return
        from scipy.sparse import vstack

        every = self.all()
        self._pieces = [vstack([every[:number], rows, every[number + 1 :]], format="csr")]

    def all(self) -> Any:
        """Return the rows, or None before the first."""
        if self._pieces:
            if len(self._pieces) > 1:
                from scipy.sparse import csr_array, vstack

                self._pieces = [csr_array(vstack(self._pieces, format="csr"))]
            return self._pieces[0]
        return None if self._memory is None else self._memory[: self._used, ...]

    def _in_stored_format(self, rows: Any) -> Any:
        """Return rows dense where the stored ones are dense, sparse where they are sparse."""
        if not self._used or hasattr(rows, "tocsr") == bool(self._pieces):
            return rows
        if not self._pieces:
            return rows.toarray()
        from scipy.sparse import csr_array

        return csr_array(rows)

    def _grow(self, like: Any, rows: int) -> None:
        old = self.all()
        capacity = max(2 * self._used, rows, MIN_STORED_ROWS)
        name = str(like.dtype).rpartition(".")[2]
        dtype = "int64" if np.issubdtype(np.dtype(name), np.integer) else name
        self._memory = self._arrays.empty((capacity, *tuple(like.shape[1:])), dtype)
        if old is not None:
            self._memory[: self._used, ...] = old


# The visiting order


def shuffled(
    X: Any,
    labels: NDArray[np.int64],
    seed: int,
    sample_weight: NDArray[np.float64] | None,
    rounded: bool = False,
) -> Shuffle:
    """Return the shuffle of rows; that of a tensor is computed on its device, and is the same."""
    if is_foreign(X) and hasattr(X, "view") and hasattr(X, "is_cuda"):
        return TensorShuffle(X, labels, seed, sample_weight)
    return Shuffle(rows_of(to_numpy(X) if is_foreign(X) else X), labels, seed, sample_weight, rounded)


class TensorShuffle(Shuffle):
    """A shuffle by PyTorch, which lacks unsigned arithmetic: two's complement gives the same bits."""

    def __init__(
        self, X: Any, labels: NDArray[np.int64], seed: int, sample_weight: NDArray[np.float64] | None = None
    ) -> None:
        import torch

        at_once = max(1, HASHED_AT_ONCE // max(1, int(X.shape[1])))
        hashes = [_row_hashes(X[piece].contiguous()) for piece in cut(int(X.shape[0]), at_once)]
        keys = (torch.as_tensor(labels, device=X.device) + 1) * _two_complement(int(SECOND))
        keys = keys + torch.cat(hashes) if hashes else keys
        self._device_keys = keys
        in_order = keys.sort().values
        if sample_weight is None and not bool((in_order[1:] == in_order[:-1]).any()):
            self._weight, self._seed = np.empty(0), np.array([seed % 2**64], np.uint64)
            return
        self._arrange(to_numpy(keys).view(np.uint64), seed, sample_weight)  # gives equal rows different keys
        self._device_keys = torch.as_tensor(self._keys.view(np.int64), device=X.device)

    def epoch(self, number: int) -> Visits:
        """Return the visits of one epoch."""
        import torch

        salt = int(_mix(torch.tensor([_two_complement(int(self._seed[0]) * int(GOLDEN) + number)])))
        mixed = _mix(self._device_keys ^ salt)
        mixed ^= SIGN_BIT
        position = to_numpy(mixed.argsort()).view(np.uintp)
        if not self._weight.size:
            return Visits(position, self._weight)
        return Visits(self._order[position], self._weight[position])

    @property
    def fingerprint(self) -> None:
        """None: the keys stay on the device."""
        return


def _row_hashes(X: Any) -> Any:
    """Return the sum of the hashes of each row's non-zero coordinates, as ``rosenblatt.core.order`` does."""
    import torch

    flat = X.view(-1)
    at = flat.nonzero().view(-1)
    z = flat.index_select(0, at)
    if X.dtype == torch.float64:
        z = z.view(torch.int64)
        z = z ^ _shift_right(z, 32)
    else:
        z = z.view(torch.int32).to(torch.int64)
        z &= 0xFFFFFFFF
    column = at.remainder_(X.shape[1]).add_(1)
    z += column.mul_(_two_complement(int(GOLDEN)))
    total = _mix(z).cumsum(0)
    until = (X != 0).sum(1).cumsum(0)  # where each row ends
    total = torch.cat([total.new_zeros(1), total]).index_select(0, until)
    return total.diff(prepend=total.new_zeros(1))


def _mix(z: Any) -> Any:
    """Mix the bits of every number, in place."""
    for shift, constant in ((S30, FIRST), (S27, SECOND)):
        z ^= _shift_right(z, int(shift))
        z *= _two_complement(int(constant))
    z ^= _shift_right(z, int(S31))
    return z


def _shift_right(z: Any, by: int) -> Any:
    """Shift right and fill with zeros."""
    return (z >> by).bitwise_and_((1 << (64 - by)) - 1)


def _two_complement(number: int) -> int:
    """Return an integer modulo 2^64, as a signed one."""
    return (number - SIGN_BIT) % (1 << 64) + SIGN_BIT


# Votes: lines of the ledger become running sums, which a device computes quickly


def device_votes(
    arrays: Arrays, values: Any, entries: Any, slots: Any, classes: int, joint: bool, clock: float
) -> NDArray[np.float64]:
    """Return ``(rows, classes)`` votes of all hypotheses, weighted by survival.

    ``values`` are kernel values ``(support rows, rows)``, ``slots`` the support row of every line of the ledger.
    """
    if joint:
        return _joint_votes(arrays, values, entries, slots, classes, clock)
    votes = np.zeros((values.shape[1], classes))
    for c in range(classes):
        lines = np.flatnonzero(entries["target"] == c) if classes > 1 else slice(None)
        votes[:, c] = to_numpy(_sign_votes(arrays, values, entries[lines], slots[lines], clock))
    return votes


def invertible_parts(decay: NDArray[np.float64], most: int) -> list[slice]:
    """Cut lines into parts of at most ``most`` within which the product of decays is neither zero nor infinite.

    The decay of the first line of a part is not among them.

    >>> invertible_parts(np.array([0.0, 1.0, 0.0, 0.5, 0.5]), 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    if (decay == 1.0).all():
        return list(cut(decay.size, most))
    starts, product = [0], 1.0
    for line, factor in enumerate(decay.tolist()):
        product = product * factor if line > starts[-1] else 1.0
        if line - starts[-1] == most or not 1e-100 < product < 1e100:
            starts.append(line)
            product = 1.0
    return [slice(*ends) for ends in zip(starts, [*starts[1:], decay.size], strict=True)]


def _decays(decay: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the decay of a part's first line, and the product of those after it up to each."""
    return float(decay[0]), np.cumprod(np.concatenate([[1.0], decay[1:]]))


def _sign_votes(arrays: Arrays, values: Any, entries: Any, slots: Any, clock: float) -> Any:
    xp = arrays.xp
    # Of the weights after each line.
    survival = arrays.put(np.diff(np.append(entries["clock"], clock)), "float64")
    parts = invertible_parts(entries["decay"], VOTE_LINES)
    decays = [_decays(entries["decay"][part]) for part in parts] if slots.size else []
    # A positive factor changes no sign: divide the steps of a part by its decays.
    undone = np.concatenate([*(own for _, own in decays), np.empty(0)])
    steps = arrays.put(entries["tau"] / undone, "float64")
    index = arrays.put(slots, "int64")
    score = arrays.put(np.zeros(values.shape[1]), "float64")
    votes = arrays.put(np.zeros(values.shape[1]), "float64")
    for part, (first, products) in zip(parts, decays, strict=False):
        moves = xp.asarray(arrays.rows(values, index[part]), dtype=xp.float64) * steps[part][:, None]
        after = arrays.running_sum(moves) + (first * score)[None, :]
        votes = votes + survival[part] @ xp.sign(after)
        score = after[-1, :] * float(products[-1])
    return votes


def _joint_votes(
    arrays: Arrays, values: Any, entries: Any, slots: Any, classes: int, clock: float
) -> NDArray[np.float64]:
    xp, n = arrays.xp, int(values.shape[1])
    survival = np.diff(np.append(entries["clock"], clock))
    score = arrays.put(np.zeros((classes, n)), "float64")
    votes = arrays.put(np.zeros((classes, n)), "float64")
    for part in invertible_parts(entries["decay"], VOTE_LINES // 16) if slots.size else ():
        first, products = _decays(entries["decay"][part])
        steps = entries["tau"][part] / products
        sides = np.zeros((steps.size, classes))
        sides[np.arange(steps.size), entries["target"][part]] = steps
        sides[np.arange(steps.size), entries["rival"][part]] = -steps
        moves = xp.asarray(arrays.rows(values, slots[part]), dtype=xp.float64)
        spread = moves[:, None, :] * arrays.put(sides, "float64")[:, :, None]  # (lines, classes, rows)
        after = arrays.running_sum(spread) + (first * score)[None, :, :]
        highest = xp.amax(after, axis=1) if hasattr(xp, "amax") else xp.max(after, axis=1)
        ahead = xp.asarray(after == highest[:, None, :], dtype=xp.float64)
        alone = xp.asarray(xp.sum(ahead, axis=1) == 1.0, dtype=xp.float64)
        weight = arrays.put(survival[part], "float64")[:, None] * alone
        votes = votes + xp.sum(ahead * weight[:, None, :], axis=0)
        score = after[-1, :, :] * float(products[-1])
    return np.asarray(to_numpy(votes).T)
