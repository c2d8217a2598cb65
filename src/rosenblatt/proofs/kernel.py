"""Separability in the space of a polynomial kernel, decided exactly and without entering that space."""

from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.claims import FIELDS, KernelProof
from rosenblatt.proofs.decision import separability
from rosenblatt.proofs.examples import as_matrix
from rosenblatt.proofs.solvers.clock import Clock

EXACT = 2**53  # integers up to here are floats


def kernel_separability(
    X: Any, y: Any, *, degree: int = 2, coef0: int = 1, time_limit: float | None = None
) -> KernelProof:
    """Decide whether integer data are separable by a polynomial kernel, with a proof either way.

    **Problem.** Is there a ``w`` in the space of ``φ`` with ``yᵢ w·φ(xᵢ) > 0`` for every row, where
    ``φ(a)·φ(b) = (a·b + coef0)^degree``? Only the part of ``w`` in the span of the ``φ(xⱼ)`` matters, so
    ``w = Σ αⱼ φ(xⱼ)``, and the question is whether the rows of the Gram matrix are separable through the origin.

    Parameters
    ----------
    X, y : integer examples and their labels
    degree, coef0 : of the kernel, integers; with ``coef0 ≥ 1`` a bias is part of the space
    time_limit : seconds after which the answer may be Undecided; the Gram matrix is computed however long it takes

    Notes
    -----
    **Guarantee.** The Gram matrix is computed in integers and held without rounding, or a ValueError says that it
    cannot be; everything after that is exact rational arithmetic (:func:`rosenblatt.separability`).

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> type(kernel_separability(X, y, degree=1).proof).__name__
    'Inseparable'
    >>> answer = kernel_separability(X, y, degree=2)
    >>> type(answer.proof).__name__, answer.verify(X, y)
    ('Separable', True)

    References
    ----------
    M. Aizerman, E. Braverman, L. Rozonoer (1964), Theoretical foundations of the potential function method.
    """
    clock = Clock(time_limit)
    gram = exact_gram(X, degree, coef0)
    left = None if time_limit is None else clock.left()
    return KernelProof(separability(gram, y, False, left), int(degree), int(coef0))


def exact_gram(X: Any, degree: int, coef0: int) -> npt.NDArray[np.float64]:
    """Return ``(a·b + coef0)^degree`` for every pair of rows, without any rounding.

    >>> exact_gram([[1, 2], [3, 4]], 2, 1)
    array([[ 36., 144.],
           [144., 676.]])
    """
    if not hasattr(X, "tocsr") and np.ndim(X) != 2:
        raise ValueError(f"X must be two-dimensional, got shape {np.shape(X)}")
    for name, value in (("degree", degree), ("coef0", coef0)):
        if isinstance(value, bool) or int(value) != value or not FIELDS[name].fits(int(value)):
            raise ValueError(f"{name} must be {FIELDS[name].description}, got {value!r}")
    matrix = as_matrix(X)
    rows = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)
    if not ((rows == np.rint(rows)).all() and (np.abs(rows) <= EXACT).all()):
        raise ValueError(
            "X must hold integers for an exact kernel: round it, or multiply it by a power of ten"
        )
    whole = rows.astype(np.int64).astype(object)  # Python's integers do not overflow
    base = whole @ whole.T + int(coef0)
    bits = max((abs(value).bit_length() for value in base.reshape(-1)), default=0)
    gram = base ** int(degree) if (bits - 1) * int(degree) <= 53 else None
    if gram is None or max((abs(value) for value in gram.reshape(-1)), default=0) > EXACT:
        raise ValueError(
            f"the kernel reaches 2^{(bits - 1) * int(degree)} or more, beyond what a float holds exactly: scale X "
            "down or lower the degree"
        )
    return np.asarray(gram.astype(np.float64))
