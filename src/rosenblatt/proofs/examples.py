"""Examples as every proof reads them: checked, finite, exactly the numbers and labels that the caller gave.

Whatever cannot be held as float64 without rounding (integers and fractions that need more bits, long doubles,
decimals) is refused here, at the border, by the searches and by the verifier alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from rosenblatt.core.rows import as_writable
from rosenblatt.data.matrix import check_indices

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Matrix: TypeAlias = Any  # a dense C-ordered array or a CSR matrix, float32 or float64
BLOCK = 1 << 16  # rows converted at a time, so that float32 data are never copied whole
EXACT = 1 << 53  # integers up to here are floats
LARGEST_SQNORM = 2.0**1000  # sums and products of such squares still fit into a float64


@dataclass(frozen=True, slots=True)
class Examples:
    """Checked examples: ``X`` dense C-ordered or CSR, and for each row the index of its class."""

    X: Matrix
    codes: npt.NDArray[np.intp]  # (n,)
    classes: Any  # k labels, sorted
    fit_intercept: bool

    @property
    def signs(self) -> npt.NDArray[np.float64]:
        """The labels of two classes as ±1; the second class in sorted order (or the only one) is +1."""
        return np.where(self.codes == len(self.classes) - 1, 1.0, -1.0)


def as_examples(X: Any, y: Any, fit_intercept: bool = True) -> Examples:
    """Check ``X`` and ``y`` and find the classes."""
    matrix = as_matrix(X)
    classes, codes = as_classes(y, matrix.shape[0])
    return Examples(matrix, codes, classes, bool(fit_intercept))


def as_classes(y: Any, n_rows: int) -> tuple[tuple[Any, ...], npt.NDArray[np.intp]]:
    """Return the sorted different labels as plain Python values, and for each row the index of its label.

    Labels are all bool, all numbers (compared by their exact values) or all text; no two of them are merged.

    >>> as_classes([2**53, 2**53 + 1], 2)[0]
    (9007199254740992, 9007199254740993)
    """
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError("y has masked labels; remove the rows or fill in the labels")
    labels = np.asarray(
        y, dtype=None if hasattr(y, "dtype") else object
    )  # NumPy merges labels of other sequences
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, got shape {labels.shape}; pass y.ravel()")
    if len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(labels)} labels; give one label per row")
    if labels.dtype.kind == "T":  # NumPy's variable-width strings
        labels = labels.astype(object)
    if labels.dtype.kind == "U" and not isinstance(
        y, np.ndarray
    ):  # NumPy dropped what NUL ends them, as of polars
        labels = np.array(list(y), dtype=object)
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            row = int(np.flatnonzero(~np.isfinite(labels))[0])
            raise ValueError(f"y[{row}] is {labels[row]}; remove that row or give it a label")
        labels = _exact_floats(labels, "y")
    if labels.dtype.kind in "biuf":
        return _numeric_classes(labels)
    if labels.dtype.kind == "U":
        distinct, codes = np.unique(labels, return_inverse=True)
        classes = tuple(distinct.tolist())
        _check_labels(classes, "y")
        return classes, codes.astype(np.intp)
    if labels.dtype.kind != "O":
        raise ValueError(f"y has dtype {labels.dtype}; labels are text, numbers or bools: convert them first")
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels.tolist()]
    _check_labels(plain, "y")
    classes = tuple(sorted(set(plain)))
    index = {label: code for code, label in enumerate(classes)}
    return classes, np.array([index[label] for label in plain], dtype=np.intp)


def _numeric_classes(labels: npt.NDArray[Any]) -> tuple[tuple[Any, ...], npt.NDArray[np.intp]]:
    """Return classes and codes; two classes are found without sorting all labels."""
    low, high = labels.min(), labels.max()
    is_high = labels == high
    if bool(np.all(is_high | (labels == low))):
        classes = (low.item(),) if low == high else (low.item(), high.item())
        return classes, is_high.astype(np.intp) * (len(classes) - 1)
    distinct, codes = np.unique(labels, return_inverse=True)
    return tuple(distinct.tolist()), codes.astype(np.intp)


def _check_labels(labels: Sequence[Any], name: str) -> None:
    """Refuse labels that cannot be distinguished exactly, or that are of different kinds."""
    from rosenblatt.proofs.claims import is_label, label_kind

    for row, label in enumerate(labels):
        if not is_label(label):
            shown = f"{label!r:.60} (it holds a NUL)" if isinstance(label, str) else f"{label!s:.60}"
            raise ValueError(
                f"{name}[{row}] is {shown}, which cannot be a label: use text without NUL, whole numbers, finite "
                "floats or bools"
            )
    kinds = sorted({label_kind(label) for label in labels})
    if len(kinds) > 1:
        raise ValueError(f"y mixes kinds of labels ({' and '.join(kinds)}); use one kind, such as strings")


def as_matrix(X: Any, name: str = "X") -> Matrix:
    """Check a matrix: two dimensions, at least one row, every value finite and exactly a float64."""
    if hasattr(X, "tocsr"):
        return _as_csr(X, name)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(f"{name} has masked values; remove the rows or fill in the values")
    dense = np.asarray(X)
    if dense.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, got shape {dense.shape}; for one feature pass X.reshape(-1, 1)"
        )
    _check_not_empty(dense.shape, name)
    if not isinstance(X, np.ndarray) and dense.dtype.kind == "f" and _any_large(dense):
        dense = _as_objects(X)  # integers beside floats may have been rounded
    dense = np.ascontiguousarray(_exact_floats(dense, name))
    with np.errstate(over="ignore", invalid="ignore"):
        total = dense.sum(dtype=np.float64)
    if not np.isfinite(total):  # a value is not finite, or finite ones overflow in the sum
        _check_finite(dense, name)
    return as_writable(dense)


def _as_objects(X: Any) -> npt.NDArray[Any]:
    """Return the values of a list or a data frame as they are; a frame converted whole would round its integers."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return np.column_stack([column.to_numpy().astype(object) for column in frame.iter_columns()])
    return np.asarray(X, dtype=object)


def _any_large(values: npt.NDArray[Any]) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(values.size) and not bool((np.abs(values) < np.float64(EXACT)).all())


def _as_csr(X: Any, name: str) -> Matrix:
    _check_not_empty(X.shape, name)
    check_indices(X, name)
    csr = X.tocsr()
    if X.nnz != csr.nnz or not csr.has_canonical_format:
        csr = _without_duplicates(X, name)
    data = _exact_floats(csr.data, name)
    if data is not csr.data:
        csr = type(csr)((data, csr.indices, csr.indptr), shape=csr.shape)
        csr.has_canonical_format = True
    if not np.isfinite(csr.data).all():
        at = int(np.flatnonzero(~np.isfinite(csr.data))[0])
        row = int(np.searchsorted(csr.indptr, at, side="right")) - 1
        raise ValueError(_not_finite(name, row, int(csr.indices[at]), csr.data[at]))
    arrays = csr.data, csr.indices, csr.indptr
    if not all(each.flags.writeable for each in arrays):
        csr = type(csr)(tuple(map(as_writable, arrays)), shape=csr.shape)
        csr.has_canonical_format = True
    return csr


def _without_duplicates(X: Any, name: str) -> Matrix:
    """Return sorted CSR rows; values given twice for one place are added, which must not round them."""
    csr = X.tocsr(copy=True)
    csr.sum_duplicates()
    parts = X.tocoo()
    if len(parts.data) > csr.nnz:
        positions = parts.row.astype(np.int64) * X.shape[1] + parts.col
        order = np.argsort(positions, kind="stable")
        starts = np.flatnonzero(np.diff(positions[order], prepend=-1))
        counts = np.diff(starts, append=len(order))
        for at in np.flatnonzero(counts > 1).tolist():
            group = order[starts[at] : starts[at] + counts[at]]
            row, column = int(parts.row[group[0]]), int(parts.col[group[0]])
            exact = sum((_rational(value, name) for value in parts.data[group].tolist()), Fraction(0))
            if _rational(csr[row, column].item(), name) != exact:
                raise ValueError(
                    f"{name}[{row}, {column}] is given {counts[at]} times, and their sum cannot be held exactly; "
                    "give one value for each place"
                )
    return csr


def _check_not_empty(shape: tuple[int, ...], name: str) -> None:
    if shape[0] == 0:
        raise ValueError(f"{name} has no rows; give at least one example")


def _exact_floats(values: npt.NDArray[Any], name: str) -> Floats:
    """Return values as float32 or float64 without changing any of them; refuse those that would be rounded."""
    if values.dtype in (np.float64, np.float32):
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    kind = values.dtype.kind
    if kind in "iu" and values.size and max(-int(values.min()), int(values.max())) > EXACT:
        large = (values > EXACT) | (values < -EXACT) if kind == "i" else values > EXACT
        place = np.argwhere(large)[0].tolist()
        _refuse_rounding(name, place, values[tuple(place)])
    elif kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            rounded = values.astype(np.float64)
        changed = (rounded.astype(values.dtype) != values) & np.isfinite(values)
        if changed.any():
            place = np.argwhere(changed)[0].tolist()
            _refuse_rounding(name, place, values[tuple(place)])
        return rounded
    elif kind == "O":
        return _floats_of_objects(values, name)
    elif kind not in "biu":
        raise ValueError(f"{name} must hold numbers, got dtype {values.dtype}; encode the columns first")
    return values.astype(np.float64)


def _floats_of_objects(values: npt.NDArray[Any], name: str) -> Floats:
    out = np.empty(values.shape)
    for place, value in np.ndenumerate(values):
        if isinstance(value, float):
            out[place] = value
            continue
        exact = _rational(value, name)
        try:
            out[place] = exact.numerator / exact.denominator
        except OverflowError:
            _refuse_rounding(name, list(place), value)
        if Fraction(float(out[place])) != exact:
            _refuse_rounding(name, list(place), value)
    return out


def _rational(value: Any, name: str) -> Fraction:
    """Return a number of any kind as a Fraction of the same value."""
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        value = value.item()
    if isinstance(value, Decimal) and value.is_finite() and -1200 < value.adjusted() < 400:
        return Fraction(value)
    if isinstance(value, bool | int | Rational):
        return Fraction(value)
    if isinstance(value, float | np.longdouble) and np.isfinite(value):
        return Fraction(*value.as_integer_ratio())
    what = "a number" if isinstance(value, float | Decimal | np.floating) else type(value).__name__
    raise ValueError(
        f"{name} must hold finite numbers that float64 can hold, got {what} {str(value)[:60]!r}; encode the columns "
        "first"
    )


def _refuse_rounding(name: str, place: Sequence[int], value: Any) -> NoReturn:
    where = ", ".join(map(str, place))
    raise ValueError(
        f"{name}[{where}] is {str(value)[:60]}: float64 holds no fractions of its kind, and no integers past 2**53, "
        "exactly, and proofs round nothing; round or rescale the data first"
    )


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


def check_squares(examples: "Examples") -> None:
    """Raise ValueError where the squared norm of a row exceeds float64, which searches for a margin compute with."""
    with np.errstate(over="ignore"):
        wrong = np.flatnonzero(~(row_sqnorms(examples.X) < LARGEST_SQNORM))
    if wrong.size:
        raise ValueError(
            f"X has values in row {wrong[0]} whose squares exceed what a float64 can hold: divide the columns by a "
            "power of two (which keeps separability and scales margins by it)"
        )


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
