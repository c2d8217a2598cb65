"""Where matrices live: numpy and CSR on the CPU, any array-API library where it keeps its arrays.

Everything that is done to a matrix in the dual form goes through the few methods here; what crosses to the CPU
are the scores and the Gram matrix of a block.
"""

import contextlib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.matrix import checked_matrix
from rosenblatt.learner.dual.crossing import Crossing, OnItsWay

FLOATS = ("float32", "float64")
AT_ONCE_HERE, AT_ONCE_THERE = 1 << 20, 1 << 28  # kernel values held at once: in cache, or in a GPU's memory


def is_foreign(X: Any) -> bool:
    """Return whether a matrix belongs to an array library other than numpy."""
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        return False
    return _is_torch(X) or hasattr(X, "__array_namespace__")


def to_numpy(A: Any) -> NDArray[Any]:
    """Bring an array to the CPU."""
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
    X : the first matrix the learner meets
    device : move matrices there (``"cuda"``), as PyTorch tensors; None leaves them where they are
    dtype : ``"float32"`` or ``"float64"``; None keeps the precision of ``X``, or float32 on a device
    tf32 : let a GPU round products to TF32, which is faster and changes the mistakes
    """

    def __init__(
        self, X: Any, device: str | None = None, dtype: str | None = None, tf32: bool = False
    ) -> None:
        if dtype is not None and dtype not in FLOATS:
            raise ValueError(f"dtype must be one of {', '.join(FLOATS)} or None, got {dtype!r}")
        self._library = "numpy"
        self.device: Any = None
        self.tf32 = tf32
        self._crossing = Crossing()
        if device is not None:
            self._library = _torch_library()
            self.device = _usable(device)
            if hasattr(X, "tocsr"):
                raise ValueError("a sparse matrix stays on the CPU: leave device=None, or make it dense")
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
    def here(self) -> bool:
        """Whether matrices are numpy's."""
        return self._library == "numpy"

    @property
    def on_gpu(self) -> bool:
        """Whether matrices are PyTorch's, on a CUDA device."""
        return self.device is not None and str(self.device).startswith("cuda")

    @property
    def at_once(self) -> int:
        """How many kernel values to hold at once."""
        return AT_ONCE_HERE if self.here else AT_ONCE_THERE

    def matrix(self, X: Any, n_features: int | None = None) -> Any:
        """Return ``X`` as a finite matrix of this library, device and precision."""
        if self.here:
            X = checked_matrix(to_numpy(X) if is_foreign(X) else X, n_features=n_features)
            return X.astype(self.dtype, copy=False)
        if hasattr(X, "tocsr"):
            raise ValueError("the model lives on a device, where rows are dense: give a dense matrix")
        if not is_foreign(X):
            X = checked_matrix(X, n_features=n_features)
        _refuse_odd_tensors(X)
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
        """Bring an array to where matrices live."""
        dtype = dtype or self.dtype
        if self.here:
            return np.asarray(array, dtype=dtype)
        return self.xp.asarray(array, dtype=getattr(self.xp, dtype), device=self.device)

    def empty(self, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        """Return room for an array."""
        dtype = dtype or self.dtype
        if self.here:
            return np.empty(shape, dtype)
        return self.xp.empty(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def ones(self, n: int) -> Any:
        """Return ones."""
        if self.here:
            return np.ones(n, self.dtype)
        return self.xp.ones(n, dtype=getattr(self.xp, self.dtype), device=self.device)

    def zeros(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return an array of zeros."""
        if self.here:
            return np.zeros(shape, dtype)
        return self.xp.zeros(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def send(self, name: str, A: Any) -> OnItsWay:
        """Begin to bring an array to the CPU; it stays valid until the next of its name is sent."""
        if self.here or not getattr(A, "is_cuda", False):
            return OnItsWay(np.ascontiguousarray(to_numpy(A)))
        return self._crossing.send(name, A)

    def bring(self, name: str, array: NDArray[Any], dtype: str | None = None) -> Any:
        """Put an array where matrices live, at once; it stays valid until the next of its name is brought."""
        if not self.on_gpu:
            return self.put(array, dtype)
        return self._crossing.bring(name, array, dtype or self.dtype, self.device)

    def fetch(self, name: str, A: Any) -> NDArray[Any]:
        """Bring an array to the CPU; it stays valid until the next of its name is fetched."""
        return self.send(name, A).arrived()

    def variance(self, X: Any, weight: NDArray[np.float64] | None) -> float:
        """Return the variance of all numbers in a matrix, each row as often as it weighs."""
        sums = np.asarray(X.sum(axis=1)).reshape(-1) if self.here else to_numpy(self.xp.sum(X, axis=1))
        squares = X.multiply(X).sum(axis=1) if hasattr(X, "tocsr") else to_numpy(self.xp.sum(X * X, axis=1))
        share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
        mean = float(share @ sums) / X.shape[1]
        spread = np.asarray(squares).reshape(-1) - 2.0 * mean * sums + X.shape[1] * mean**2
        return float(share @ spread) / int(X.shape[1])

    def rows(self, X: Any, numbers: Any) -> Any:
        """Return the rows of those numbers, which lie here or where the matrix lies."""
        if self.here:
            return X[numbers]
        index = self.bring("numbers", numbers, "int64") if isinstance(numbers, np.ndarray) else numbers
        return X.index_select(0, index) if _is_torch(X) else self.xp.take(X, index, axis=0)

    def columns(self, X: Any, index: Any) -> Any:
        """Return the columns of those numbers, which lie where the matrix lies."""
        if self.here or _is_torch(X):
            return X[:, index]
        return self.xp.take(X, index, axis=1)

    def running_sum(self, A: Any) -> Any:
        """Return sums from the first row to each."""
        if self.here or _is_torch(A):
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
        return {**self.__dict__, "_crossing": Crossing()}

    def _dtype_of(self, X: Any) -> str:
        if self.device is not None and not is_foreign(X):
            return "float32"
        dtype = getattr(X, "dtype", None)
        return "float64" if dtype is None else str(dtype).rpartition(".")[2]


def _usable(device: Any) -> Any:
    """Return a device of PyTorch, or say that there is none of that name."""
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        why = str(error).partition("\n")[0]
        raise ValueError(
            f"device={device!r} cannot be used here: {why}; leave device=None to compute where the data are"
        ) from error
    return device


def _refuse_odd_tensors(X: Any) -> None:
    """Say what is wrong with a tensor that is no dense matrix of real numbers."""
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
    """Return the name under which PyTorch follows the array API, as closely as what is installed allows."""
    if find_spec("torch") is None:
        raise ImportError("a device needs PyTorch: pip install 'rosenblatt[gpu]'")
    # A GPU machine may allow no installs: what is used here PyTorch itself names alike.
    return "torch" if find_spec("array_api_compat") is None else "array_api_compat.torch"
