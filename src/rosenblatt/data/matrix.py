"""Validate matrices, labels and weights of callers once; all other code relies on it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.labels import checked_classes, exact_labels

MOST_FEATURES = 2**31 - 1  # indices are int32


def checked_matrix(X: Any, name: str = "X", n_features: int | None = None, *, finite: bool = True) -> Any:
    """Return ``X`` as a finite float matrix, dense or canonical CSR, without copying float32 and float64.

    ``finite=False`` leaves :func:`check_finite` to a caller that notices such values in its own computation.

    >>> checked_matrix([[1, 2], [3, 4]]).dtype
    dtype('float64')
    >>> checked_matrix([[1.0, float("nan")]])
    Traceback (most recent call last):
    ValueError: X has the value nan in row 0, column 1: remove the row or fill in a number
    """
    X = _canonical_csr(X, name) if hasattr(X, "tocsr") else _as_dense(X, name)
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"{name} has {X.shape[1]} features, but the learner has seen {n_features}")
    if finite:
        check_finite(X, name)
    return X


def encoded(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted classes and the class index of every label; raise ValueError where NumPy would merge labels.

    >>> encoded(["b", "a", "b"])
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    y = exact_labels(y)
    if y.dtype.kind in "iu" and y.size:
        wide = y.astype(np.uint64 if y.dtype.kind == "u" else np.int64, copy=False)
        low, span = wide.min(), int(y.max()) - int(y.min()) + 1
        if span <= max(1024, y.size):  # counting is faster than sorting
            offset = (wide - low).astype(np.int64, copy=False)
            occurs = np.bincount(offset, minlength=span) > 0
            classes = (np.flatnonzero(occurs).astype(wide.dtype) + low).astype(y.dtype)
            return classes, (np.cumsum(occurs) - 1)[offset]
    classes, index = np.unique(y, return_inverse=True)
    return checked_classes(classes), index.astype(np.int64).reshape(-1)


def checked_labels(y: Any, n: int, classes: Any = None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return :func:`encoded` labels; raise ValueError unless there is one for each of ``n`` rows, at least one.

    With two known ``classes`` and no others among the labels, return both, even if one does not occur.
    """
    y = exact_labels(y)
    encoded_classes, index = _encode_two_classes(y, classes) or encoded(y)
    if index.shape != (n,):
        raise ValueError(f"y must hold one label for each of the {n} rows of X, got {index.size}")
    if n == 0:
        raise ValueError("X has no rows: there is nothing to learn from")
    return encoded_classes, index


def _encode_two_classes(y: NDArray[Any], classes: Any) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """Encode labels that are all among two known classes; return None if there are others."""
    known = np.asarray(classes)
    if known.shape != (2,) or known.dtype != y.dtype or not known[0] < known[1]:
        return None
    second = y == known[1]
    return (known, second.astype(np.int64)) if (second | (y == known[0])).all() else None


def checked_weight(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """Return sample weights as finite, non-negative float64, or None if all are 1."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must hold one number for each of the {n} rows, got shape {weight.shape}"
        )
    invalid = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if invalid.size:
        raise ValueError(
            f"sample_weight has the value {weight[invalid[0]]} in row {invalid[0]}: weights are finite and not negative"
        )
    if n and not weight.any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    return None if (weight == 1.0).all() else weight


def _as_dense(X: Any, name: str) -> NDArray[Any]:
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must be two-dimensional, got shape {X.shape}: reshape it to (rows, features), "
            "(1, -1) for one row, (-1, 1) for one feature"
        )
    if X.dtype.kind == "c":
        raise ValueError(f"{name} is complex: learning needs real numbers")
    dense: NDArray[Any] = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return dense


def check_indices(X: Any, name: str) -> None:
    """Raise ValueError for a compressed sparse matrix with invalid indices: compiled code reads them unchecked.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0.0], [0.0, 2.0]])
    >>> X.indices[1] = 7
    >>> check_indices(X, "X")
    Traceback (most recent call last):
    ValueError: X is not a valid csr matrix: its index 7 is not below 2; build the matrix again
    """
    if X.format not in ("csr", "csc", "bsr"):
        return
    indptr, indices = X.indptr, X.indices
    stored = min(len(indices), len(X.data))
    if indptr[0] != 0 or indptr[-1] > stored or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(
            f"{name} is not a valid {X.format} matrix: its rows do not follow one another in the {stored:,} stored "
            "values; build the matrix again"
        )
    size = X.shape[0 if X.format == "csc" else -1] // (X.blocksize[1] if X.format == "bsr" else 1)
    if not len(indices):
        return
    unsigned = indices.view(f"u{indices.itemsize}")  # a negative index becomes a large one
    if unsigned.max() >= size:
        raise ValueError(
            f"{name} is not a valid {X.format} matrix: its index {indices[unsigned.argmax()]} is not below {size}; "
            "build the matrix again"
        )


def with_short_indices(X: Any, name: str) -> Any:
    """Return a CSR matrix with indices of 32 bits, as compiled loops read them; a copy where they have 64.

    What is not a valid matrix is still none afterwards.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0.0], [0.0, 2.0]])
    >>> X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    >>> with_short_indices(X, "X").indices.dtype
    dtype('int32')
    """
    if X.shape[1] > MOST_FEATURES:
        raise ValueError(f"{name} has {X.shape[1]:,} columns; at most {MOST_FEATURES:,} can be learned from")
    if X.indices.itemsize == 4:
        return X
    if X.indptr[-1] >= MOST_FEATURES:  # SciPy has no matrix with starts of 64 bits and indices of 32
        return X
    # A negative index, or one too large for 32 bits, becomes the largest, so that the check that follows refuses it.
    indices, starts = (np.minimum(each.view(np.uint64), MOST_FEATURES) for each in (X.indices, X.indptr))
    return type(X)((X.data, indices.astype(np.int32), starts.astype(np.int32)), shape=X.shape)


def _canonical_csr(X: Any, name: str) -> Any:
    check_indices(X, name)
    X = with_short_indices(X.tocsr(), name)
    if X.data.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not X.has_canonical_format:  # unsorted or repeated indices: the norm of a row would be wrong
        X = X.copy()
        X.sum_duplicates()
    return X


def check_finite(X: Any, name: str) -> None:
    """Raise ValueError with row and column of the first value that is not finite."""
    values = X if isinstance(X, np.ndarray) else X.data
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    invalid = np.argwhere(~np.isfinite(values))
    if not invalid.size:  # only the sum overflowed
        return
    if isinstance(X, np.ndarray):
        row, column = invalid[0]
    else:
        row, column = np.searchsorted(X.indptr, invalid[0][0], side="right") - 1, X.indices[invalid[0][0]]
    value = values[tuple(invalid[0])]
    raise ValueError(
        f"{name} has the value {value} in row {row}, column {column}: remove the row or fill in a number"
    )
