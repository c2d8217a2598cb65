"""Kernels: the product of two examples in a space that is never entered.

A kernel is computed for two blocks of rows at once. High degrees of large numbers overflow float32, so a polynomial
is computed in units of a power of two, which changes no digit and no sign.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from rosenblatt.learner.dual.arrays import Arrays

NAMES = ("poly", "rbf", "linear", "precomputed")
LARGEST_VALUE = 480  # of a kernel, as a power of two: bounds multiply two of them
LARGEST_POWER = {"float32": 60, "float64": 500}  # of two: larger kernel values are computed in larger units


class Poly(NamedTuple):
    """``K(a, b) = (γ a·b + c₀)^degree``: all products of up to ``degree`` features."""

    degree: int
    gamma: float
    coef0: float
    halvings: int = 0  # the base is computed in units of 2^halvings

    @property
    def value_scale(self) -> float:
        """What a value of one stands for."""
        return 2.0 ** (self.halvings * self.degree)

    def sized(self, largest_sqnorm: float, dtype: str) -> "Poly":
        """Choose units in which no value of rows up to that size overflows."""
        base = abs(self.gamma) * largest_sqnorm + abs(self.coef0)
        power = math.log2(base) * self.degree if 0.0 < base < math.inf else base
        if power > LARGEST_VALUE:
            raise ValueError(
                f"a kernel of degree {self.degree} is beyond what a float can hold on rows of squared norm "
                f"{largest_sqnorm:.3g}: scale the features, or lower the degree"
            )
        return self._replace(halvings=max(0, math.ceil((power - LARGEST_POWER[dtype]) / self.degree)))

    def values(self, arrays: Arrays, A: Any, B: Any) -> Any:
        """Return the kernel of every row of ``A`` with every row of ``B``, in units."""
        down = 2.0**-self.halvings
        base = products(A, B)
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

    def values(self, arrays: Arrays, A: Any, B: Any) -> Any:
        """Return the kernel of every row of ``A`` with every row of ``B``."""
        a, b = sqnorms(arrays, A), sqnorms(arrays, B)
        exponent = products(A, B)
        exponent *= 2.0
        exponent -= a[:, None]
        exponent -= b[None, :]
        exponent *= self.gamma
        return arrays.xp.exp(arrays.xp.clip(exponent, None, 0.0))

    def diagonal(self, arrays: Arrays, A: Any) -> Any:
        """Return ones; not so where the squared norm of a row, which values are computed from, is none."""
        return sqnorms(arrays, A) * 0.0 + 1.0


class Linear(NamedTuple):
    """``K(a, b) = a·b``."""

    value_scale: float = 1.0

    def values(self, arrays: Arrays, A: Any, B: Any) -> Any:
        """Return the product of every row of ``A`` with every row of ``B``."""
        return products(A, B)

    def diagonal(self, arrays: Arrays, A: Any) -> Any:
        """Return the squared norm of every row."""
        return sqnorms(arrays, A)


class Function(NamedTuple):
    """A caller's own function of two blocks of rows."""

    function: Callable[[Any, Any], Any]
    value_scale: float = 1.0

    def values(self, arrays: Arrays, A: Any, B: Any) -> Any:
        """Return what the function says, or why it cannot be a kernel."""
        told = self.function(A, B)
        told = told.toarray() if hasattr(told, "toarray") else told
        if tuple(getattr(told, "shape", ())) != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"kernel must return one value for each pair of rows, shape {(A.shape[0], B.shape[0])}, "
                f"got {getattr(told, 'shape', type(told).__name__)}"
            )
        if str(told.dtype).rpartition(".")[2].startswith(("complex", "<U", "|S", "str")):
            raise ValueError(f"kernel must return real numbers, got {told.dtype}")
        told = arrays.put(told)
        if not bool(arrays.xp.all(arrays.xp.isfinite(told))):
            raise ValueError("kernel returned a value that is not finite: scale the features, or clip them")
        return told


class Precomputed(NamedTuple):
    """Rows are rows of a Gram matrix; a support row is remembered by its column."""

    value_scale: float = 1.0

    def values(self, arrays: Arrays, A: Any, B: Any) -> Any:
        """Return the columns ``B`` of the Gram rows ``A``."""
        told = arrays.columns(A, B)
        return told.toarray() if hasattr(told, "toarray") else told


Kernel = Poly | RBF | Linear | Function | Precomputed


def resolve(kernel: Any, degree: int, gamma: Any, coef0: float, n_features: int, variance: float) -> Kernel:
    """Return a kernel object for data of so many features; its parameters are checked.

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
        if not is_whole(degree) or degree < 1:
            raise ValueError(f"degree must be 1 or more, got {degree!r}")
        if not is_finite(coef0):
            raise ValueError(f"coef0 must be a finite number, got {coef0!r}")
        return Poly(int(degree), _gamma(gamma, 1.0, n_features, variance), float(coef0))
    return RBF(_gamma(gamma, 1.0 / max(n_features, 1), n_features, variance))


def is_whole(value: Any) -> bool:
    """Return whether a parameter is a whole number, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Return whether a parameter is a finite number."""
    return isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value)


def to_dict(kernel: Kernel) -> dict[str, Any]:
    """Describe a kernel as JSON can hold it; a caller's function by its name only.

    >>> to_dict(RBF(gamma=0.5))
    {'name': 'rbf', 'gamma': 0.5}
    """
    if isinstance(kernel, Function):
        return {"name": "function", "function": getattr(kernel.function, "__name__", "?")}
    values = {key: value for key, value in kernel._asdict().items() if key != "value_scale"}
    return {"name": type(kernel).__name__.lower(), **values}


def from_dict(described: dict[str, Any], function: Any = None) -> Kernel:
    """Rebuild a kernel from :func:`to_dict`; a function must be given again, since files hold no code."""
    name = described["name"]
    if name == "function":
        if not callable(function):
            raise ValueError(
                f"the model was trained with the function {described['function']!r}, which a file cannot hold: "
                "give it again as kernel="
            )
        return Function(function)
    if name == "poly":
        poly = resolve("poly", described["degree"], described["gamma"], described["coef0"], 1, 1.0)
        halvings = int(described["halvings"])
        if not 0 <= halvings <= 1000 or not isinstance(poly, Poly) or halvings * poly.degree > 1000:
            raise ValueError(f"halvings is {halvings}")
        return poly._replace(halvings=halvings)
    if name == "rbf":
        return resolve("rbf", 1, described["gamma"], 0.0, 1, 1.0)
    return resolve(name, 1, None, 0.0, 1, 1.0)


def products(A: Any, B: Any) -> Any:
    """Return ``A·Bᵀ`` as a dense matrix."""
    told, dense = A @ B.T, not issparse(A)
    return told if dense or isinstance(told, np.ndarray) else told.toarray()


def power(base: Any, degree: int) -> Any:
    """Raise to a whole power by squaring, in place where it can be.

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


def _gamma(gamma: Any, usual: float, n_features: int, variance: float) -> float:
    if gamma is None:
        return usual
    if isinstance(gamma, str):
        if gamma != "scale":
            raise ValueError(f"gamma must be a number, 'scale' or None, got {gamma!r}")
        return 1.0 / (n_features * variance) if variance > 0.0 else 1.0
    if not is_finite(gamma) or gamma <= 0.0:
        raise ValueError(f"gamma must be above 0, got {gamma!r}")
    return float(gamma)
