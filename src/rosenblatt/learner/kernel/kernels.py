"""Kernels: the inner product of two examples in a feature space whose coordinates are never computed.

A kernel is computed for two blocks of rows at once. High degrees of large numbers overflow float32, so a polynomial
is computed in units of a power of two, which changes no digit and no sign.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rosenblatt.learner.kernel.device import Arrays, cut, to_numpy

NAMES = ("poly", "rbf", "linear", "precomputed")
# As exponents of two. Bounds multiply two kernel values; values beyond the power are computed in larger units.
LARGEST_VALUE = 480
LARGEST_POWER = {"float32": 60, "float64": 500}


class Poly(NamedTuple):
    """``K(a, b) = (γ a·b + c₀)^degree``: all products of up to ``degree`` features."""

    degree: int
    gamma: float
    coef0: float
    halvings: int = 0  # the base is computed in units of 2^halvings

    @property
    def value_scale(self) -> float:
        """The product that a kernel value of one represents."""
        return 2.0 ** (self.halvings * self.degree)

    def in_units_for(self, largest_sqnorm: float, dtype: str) -> "Poly":
        """Return the kernel in units in which no value of rows up to that squared norm overflows."""
        base = abs(self.gamma) * largest_sqnorm + abs(self.coef0)
        power = math.log2(base) * self.degree if 0.0 < base < math.inf else base
        if power > LARGEST_VALUE:
            raise ValueError(
                f"a polynomial kernel of degree {self.degree} overflows on rows of squared norm "
                f"{largest_sqnorm:.3g}: scale the features, or lower the degree"
            )
        return self._replace(halvings=max(0, math.ceil((power - LARGEST_POWER[dtype]) / self.degree)))

    def values(self, arrays: Arrays, A: Any, B: Any, out: Any = None) -> Any:
        """Return the kernel of every row of ``A`` with every row of ``B``, in units."""
        down = 2.0**-self.halvings
        base = products(A, B, out)
        if self.gamma * down != 1.0:
            base *= self.gamma * down
        if self.coef0:
            base += self.coef0 * down
        return power(base, self.degree)

    def diagonal(self, arrays: Arrays, A: Any) -> Any:
        """Return the kernel of every row of ``A`` with itself, in units."""
        down = 2.0**-self.halvings
        return power(sqnorms(arrays, A) * (self.gamma * down) + self.coef0 * down, self.degree)


class RBF(NamedTuple):
    """``K(a, b) = exp(−γ‖a − b‖²)``."""

    gamma: float
    value_scale: float = 1.0

    def values(self, arrays: Arrays, A: Any, B: Any, out: Any = None, B_sqnorm: Any = None) -> Any:
        """Return the kernel of every row of ``A`` with every row of ``B``, whose squared norms may be known."""
        exponent = products(2.0 * A, B, out)  # twice a number has the same digits
        exponent -= sqnorms(arrays, A)[:, None]
        exponent -= (sqnorms(arrays, B) if B_sqnorm is None else B_sqnorm)[None, :]
        exponent *= self.gamma
        if arrays.is_numpy:  # in place: new memory costs more than the exponential
            return np.exp(np.minimum(exponent, 0.0, out=exponent), out=exponent)
        return arrays.xp.exp(arrays.xp.clip(exponent, None, 0.0))

    def diagonal(self, arrays: Arrays, A: Any) -> Any:
        """Return ones, or NaN where the squared norm of a row is not finite: then no value can be computed."""
        return sqnorms(arrays, A) * 0.0 + 1.0


class Linear(NamedTuple):
    """``K(a, b) = a·b``."""

    value_scale: float = 1.0

    def values(self, arrays: Arrays, A: Any, B: Any, out: Any = None) -> Any:
        """Return the product of every row of ``A`` with every row of ``B``."""
        return products(A, B, out)

    def diagonal(self, arrays: Arrays, A: Any) -> Any:
        """Return the squared norm of every row."""
        return sqnorms(arrays, A)


class Function(NamedTuple):
    """A caller's own function of two blocks of rows."""

    function: Callable[[Any, Any], Any]
    value_scale: float = 1.0

    def values(self, arrays: Arrays, A: Any, B: Any) -> Any:
        """Return the values of the function; raise ValueError where they cannot be those of a kernel."""
        values = self.function(A, B)
        values = values.toarray() if hasattr(values, "toarray") else values
        if tuple(getattr(values, "shape", ())) != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"kernel must return one value for each pair of rows, shape {(A.shape[0], B.shape[0])}, "
                f"got {getattr(values, 'shape', type(values).__name__)}"
            )
        if str(values.dtype).rpartition(".")[2].startswith(("complex", "<U", "|S", "str")):
            raise ValueError(f"kernel must return real numbers, got {values.dtype}")
        values = arrays.put(values)
        if not bool(arrays.xp.all(arrays.xp.isfinite(values))):
            raise ValueError("kernel returned a value that is not finite: scale the features, or clip them")
        return values


class Precomputed(NamedTuple):
    """Rows are rows of a Gram matrix; a support row is stored as the number of its column."""

    value_scale: float = 1.0

    def values(self, arrays: Arrays, A: Any, B: Any) -> Any:
        """Return the columns ``B`` of the Gram rows ``A``."""
        values = arrays.columns(A, B)
        return values.toarray() if hasattr(values, "toarray") else values


Kernel = Poly | RBF | Linear | Function | Precomputed


def resolve(kernel: Any, degree: int, gamma: Any, coef0: float, n_features: int, variance: float) -> Kernel:
    """Check the parameters of a kernel and return it as an object.

    ``gamma="scale"`` depends on the number of features and on the variance of the data.

    >>> resolve("poly", 2, None, 1.0, n_features=3, variance=1.0)
    Poly(degree=2, gamma=1.0, coef0=1.0, halvings=0)
    """
    if callable(kernel):
        return Function(kernel)
    if not isinstance(kernel, str) or kernel not in NAMES:
        raise ValueError(
            f"kernel must be one of {', '.join(NAMES)} or a function of two blocks, got {kernel!r}"
        )
    if kernel == "linear":
        return Linear()
    if kernel == "precomputed":
        return Precomputed()
    if kernel == "poly":
        if not is_integer(degree) or degree < 1:
            raise ValueError(f"degree must be 1 or more, got {degree!r}")
        if not is_finite(coef0):
            raise ValueError(f"coef0 must be a finite number, got {coef0!r}")
        return Poly(int(degree), _gamma(gamma, 1.0, n_features, variance), float(coef0))
    return RBF(_gamma(gamma, 1.0 / max(n_features, 1), n_features, variance))


def is_integer(value: Any) -> bool:
    """Return whether a parameter is an integer and not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Return whether a parameter is a finite number."""
    return isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value)


def to_dict(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as a JSON object; of a caller's function only the name.

    >>> to_dict(RBF(gamma=0.5))
    {'name': 'rbf', 'gamma': 0.5}
    """
    if isinstance(kernel, Function):
        return {"name": "function", "function": getattr(kernel.function, "__name__", "?")}
    values = {key: value for key, value in kernel._asdict().items() if key != "value_scale"}
    return {"name": type(kernel).__name__.lower(), **values}


def from_dict(parameters: dict[str, Any], function: Any = None) -> Kernel:
    """Return the kernel that :func:`to_dict` described; files hold no code, so a function comes from the caller."""
    name = parameters["name"]
    if name == "function":
        if not callable(function):
            raise ValueError(
                f"the model was trained with the function {parameters['function']!r}, which a file cannot hold: "
                "give it again as kernel="
            )
        return Function(function)
    if name == "poly":
        poly = resolve("poly", parameters["degree"], parameters["gamma"], parameters["coef0"], 1, 1.0)
        halvings = int(parameters["halvings"])
        if not 0 <= halvings <= 1000 or not isinstance(poly, Poly) or halvings * poly.degree > 1000:
            raise ValueError(f"halvings is {halvings}")
        return poly._replace(halvings=halvings)
    if name == "rbf":
        return resolve("rbf", 1, parameters["gamma"], 0.0, 1, 1.0)
    return resolve(name, 1, None, 0.0, 1, 1.0)


def products(A: Any, B: Any, out: Any = None) -> Any:
    """Return ``A·Bᵀ`` as a dense matrix; of dense numpy matrices in ``out``, where that is given."""
    if out is not None and isinstance(A, np.ndarray) and isinstance(B, np.ndarray):
        return np.matmul(A, B.T, out=out)
    product, dense = A @ B.T, not issparse(A)
    return product if dense or isinstance(product, np.ndarray) else product.toarray()


def power(base: Any, degree: int) -> Any:
    """Raise an array to an integer power by squaring; the array is overwritten.

    >>> power(np.array([2.0, 3.0]), 5)
    array([ 32., 243.])
    """
    if degree == 1:
        return base
    rest = None
    while degree > 1:
        if degree % 2:
            rest = base * 1.0 if rest is None else rest * base
        base *= base
        degree //= 2
    if rest is not None:
        base *= rest
    return base


def sqnorms(arrays: Arrays, A: Any) -> Any:
    """Return ``‖a‖²`` of every row, infinite where a float cannot hold it."""
    with np.errstate(over="ignore"):
        if hasattr(A, "tocsr"):
            return np.asarray(A.multiply(A).sum(axis=1)).reshape(-1)
        return arrays.xp.sum(A * A, axis=1)


def _gamma(gamma: Any, default: float, n_features: int, variance: float) -> float:
    if gamma is None:
        return default
    if isinstance(gamma, str):
        if gamma != "scale":
            raise ValueError(f"gamma must be a number, 'scale' or None, got {gamma!r}")
        return 1.0 / (n_features * variance) if variance > 0.0 else 1.0
    if not is_finite(gamma) or gamma <= 0.0:
        raise ValueError(f"gamma must be above 0, got {gamma!r}")
    return float(gamma)


class FeatureSpace:
    """The space in which a kernel learner learns: products of examples, computed block by block.

    Values are in units of ``value_scale``; a bias is the product of two constant inputs of 1.
    """

    def __init__(self, arrays: Arrays, kernel: Kernel, bias: float) -> None:
        self.arrays = arrays
        self.kernel = kernel
        self.bias = bias

    @property
    def value_scale(self) -> float:
        """The product that a kernel value of one represents."""
        return self.kernel.value_scale

    @property
    def recordable(self) -> bool:
        """Whether a CUDA graph can record products; a caller's function may make different calls every time."""
        return isinstance(self.kernel, Poly | RBF | Linear)

    def choose_units(self, X: Any) -> None:
        """Choose units in which nothing overflows on rows up to the size of these."""
        if isinstance(self.kernel, Poly) and X.shape[0]:
            largest = float(self.arrays.xp.max(sqnorms(self.arrays, X)))
            self.kernel = self.kernel.in_units_for(largest, self.arrays.dtype)

    def diagonal(self, X: Any, first_row: int) -> NDArray[np.float64]:
        """Return the product of every row with itself, in units."""
        if isinstance(self.kernel, Poly | RBF | Linear):
            values = self._finite_diagonal(X, self.kernel)
        else:
            values = np.empty(X.shape[0])
            for piece in cut(int(X.shape[0]), 64):  # small squares hold few values beside the diagonal
                support = self.support_rows(X, np.arange(piece.start, piece.stop), first_row)
                values[piece] = to_numpy(self.kernel.values(self.arrays, X[piece, ...], support)).diagonal()
        return np.asarray(values + self.bias / self.value_scale, dtype=np.float64)

    def refuse_too_large(self, X: Any) -> None:
        """Raise ValueError where the kernel of a row with itself is not finite."""
        if isinstance(self.kernel, Poly | RBF | Linear):
            self._finite_diagonal(X, self.kernel)

    def _finite_diagonal(self, X: Any, kernel: Poly | RBF | Linear) -> NDArray[Any]:
        with np.errstate(over="ignore", invalid="ignore"):
            values = to_numpy(kernel.diagonal(self.arrays, X))
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            raise ValueError(
                f"X has a row too large for the kernel, row {wrong[0]}: its kernel with itself overflows "
                f"{self.arrays.dtype} in the units chosen for the training data; scale the features"
            )
        return values

    def support_rows(self, X: Any, numbers: Any, first_row: int) -> Any:
        """Return rows of ``X`` in the form of support rows: the rows, or their columns in a Gram matrix."""
        if isinstance(self.kernel, Precomputed):
            return self.arrays.put(numbers + first_row, "int64")
        return self.arrays.rows(X, numbers)

    def values(self, A: Any, B: Any) -> Any:
        """Return the product of every row of ``A`` with every support row of ``B``."""
        values = self.kernel.values(self.arrays, A, B)
        return values + self.bias / self.value_scale if self.bias else values

    def fill_gram_rows(self, A: Any, X: Any, X_sqnorm: Any, out: NDArray[Any]) -> None:
        """Write the product of every row of ``A`` with every training row of ``X`` into ``out``.

        In place, since allocating memory takes longer than computing the values. An RBF kernel needs ``X_sqnorm``, the
        squared norms of ``X``.
        """
        if isinstance(self.kernel, RBF):
            values = self.kernel.values(self.arrays, A, X, out, X_sqnorm)
        elif isinstance(self.kernel, Poly | Linear):
            values = self.kernel.values(self.arrays, A, X, out)
        else:
            columns = slice(0, X.shape[0])
            values = self.kernel.values(
                self.arrays, A, columns if isinstance(self.kernel, Precomputed) else X
            )
        if values is not out:
            out[...] = values
        if self.bias:
            out += self.bias / self.value_scale

    def times(self, A: Any, B: Any, coefficients: Any) -> Any:
        """Return ``K(A, B)·coefficients`` in units, on the device of the matrices, never holding all of K."""
        width = max(1, self.arrays.at_once // max(1, A.shape[0]))
        total: Any = None
        for piece in cut(int(B.shape[0]), width):
            part = self.values(A, B[piece, ...]) @ coefficients[piece, ...]
            part = part.astype(np.float64) if self.arrays.is_numpy else part
            total = part if total is None else total + part
        return total

    def all_times(self, X: Any, B: Any, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``K(X, B)·coefficients`` for any number of rows, as products, not in units."""
        scores = np.zeros((X.shape[0], coefficients.shape[1]))
        if B is None or not B.shape[0]:
            return scores
        device_coefficients = self.arrays.put(coefficients)
        at_once = 512 if self.arrays.is_numpy else max(1, self.arrays.at_once // int(B.shape[0]))
        with self.arrays.exact_products():
            for piece in cut(int(X.shape[0]), at_once):
                scores[piece] = self.arrays.fetch(
                    "products", self.times(X[piece, ...], B, device_coefficients)
                )
        scores *= self.value_scale
        return scores
