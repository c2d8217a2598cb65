"""Examples as every proof reads them: checked, finite, never copied where that can be helped."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Matrix: TypeAlias = Any  # a dense C-ordered array or a CSR matrix, float32 or float64
BLOCK = 1 << 16  # rows converted at a time, so that float32 data are never copied whole


@dataclass(frozen=True, slots=True)
class Examples:
    """Checked examples: ``X`` dense C-ordered or CSR, and for each row the index of its class."""

    X: Matrix
    codes: npt.NDArray[np.intp]  # (n,)
    classes: npt.NDArray[Any]  # (k,), sorted
    fit_intercept: bool

    @property
    def signs(self) -> npt.NDArray[np.float64]:
        """The labels of two classes as ±1; the second class in sorted order (or the only one) is +1."""
        return np.where(self.codes == len(self.classes) - 1, 1.0, -1.0)


def as_examples(X: Any, y: Any, fit_intercept: bool = True) -> Examples:
    """Check ``X`` and ``y`` and find the classes."""
    matrix = as_matrix(X)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, got shape {labels.shape}; pass y.ravel()")
    if len(labels) != matrix.shape[0]:
        raise ValueError(
            f"X has {matrix.shape[0]} rows but y has {len(labels)} labels; give one label per row"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(f"y[{row}] is {labels[row]}; remove that row or give it a label")
    classes, codes = _classes_of(labels)
    return Examples(matrix, codes, classes, bool(fit_intercept))


def _classes_of(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return sorted classes and codes; two classes are found without sorting all labels."""
    if labels.dtype.kind in "iufb":
        low, high = labels.min(), labels.max()
        is_high = labels == high
        if bool(np.all(is_high | (labels == low))):
            classes = np.array([low] if low == high else [low, high], dtype=labels.dtype)
            return classes, is_high.astype(np.intp) * (len(classes) - 1)
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            "y mixes kinds of labels that cannot be ordered; use one kind, such as strings"
        ) from error
    return classes, codes.astype(np.intp)


def as_matrix(X: Any, name: str = "X") -> Matrix:
    """Check a matrix: two dimensions, at least one row, every value finite."""
    if hasattr(X, "tocsr"):
        return _as_csr(X, name)
    dense = np.asarray(X)
    if dense.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, got shape {dense.shape}; for one feature pass X.reshape(-1, 1)"
        )
    _check_not_empty(dense.shape, name)
    dense = np.ascontiguousarray(_as_floats(dense, name))
    with np.errstate(over="ignore", invalid="ignore"):
        total = dense.sum(dtype=np.float64)
    if not np.isfinite(total):  # a value is not finite, or finite ones overflow in the sum
        _check_finite(dense, name)
    return dense


def _as_csr(X: Any, name: str) -> Matrix:
    _check_not_empty(X.shape, name)
    csr = X.tocsr()
    data = _as_floats(csr.data, name)
    if data is not csr.data:
        csr = type(csr)((data, csr.indices, csr.indptr), shape=csr.shape)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if not np.isfinite(csr.data).all():
        at = int(np.flatnonzero(~np.isfinite(csr.data))[0])
        row = int(np.searchsorted(csr.indptr, at, side="right")) - 1
        raise ValueError(_not_finite(name, row, int(csr.indices[at]), csr.data[at]))
    return csr


def _check_not_empty(shape: tuple[int, ...], name: str) -> None:
    if shape[0] == 0:
        raise ValueError(f"{name} has no rows; give at least one example")


def _as_floats(values: npt.NDArray[Any], name: str) -> Floats:
    """Return values as float32 or float64 without changing any of them."""
    if values.dtype in (np.float64, np.float32):
        return values
    if values.dtype.kind in "iu" and values.size and max(-int(values.min()), int(values.max())) > 1 << 53:
        raise ValueError(f"{name} holds integers past 2**53, which float64 cannot hold exactly; rescale them")
    if values.dtype.kind in "biuf" and values.dtype.itemsize <= 8:
        return values.astype(np.float64)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold numbers, got dtype {values.dtype}; encode the columns first"
        ) from error


def _check_finite(dense: Floats, name: str) -> None:
    bad = ~np.isfinite(dense)
    if bad.any():
        row, column = (int(index) for index in np.argwhere(bad)[0])
        raise ValueError(_not_finite(name, row, column, dense[row, column]))


def _not_finite(name: str, row: int, column: int, value: Any) -> str:
    return f"{name}[{row}, {column}] is {value}; remove the row or fill in the value"


def product(X: Matrix, W: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ``X @ W`` in float64, a block of rows at a time where X is float32."""
    if X.dtype == np.float64:
        return np.asarray(X @ W)
    out = np.empty((X.shape[0], *W.shape[1:]))
    for start in range(0, X.shape[0], BLOCK):
        out[start : start + BLOCK] = X[start : start + BLOCK].astype(np.float64) @ W
    return out


def row_sqnorms(X: Matrix) -> npt.NDArray[np.float64]:
    """Return ``‖xᵢ‖²`` of every row in float64."""
    if not isinstance(X, np.ndarray):
        squares = X.astype(np.float64)
        squares.data **= 2
        return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
    if X.dtype == np.float64:
        return np.asarray(np.einsum("ij,ij->i", X, X))
    blocks = [X[i : i + BLOCK].astype(np.float64) for i in range(0, X.shape[0], BLOCK)]
    return np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])
