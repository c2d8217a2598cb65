"""How many mistakes a perceptron can make: margin, radius and the bounds made of them.

Everything lives in the space in which learning happens: with a bias, ``x̃ = (x, 1)`` and ``w̃ = (w, b)``;
with three or more classes learned jointly, Kesler's space, in which an example of class ``y`` against class
``c`` is ``x̃ ⊗ (e_y − e_c)``.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.proofs.examples import Examples, as_examples, as_matrix, product, row_sqnorms


class MistakeBound(NamedTuple):
    """A bound on the mistakes of a perceptron, and what it is made of."""

    bound: float
    kind: str  # "margin" or "hinge"
    w: npt.NDArray[np.float64]  # (d,), or (k, d) for three or more classes
    b: float | npt.NDArray[np.float64]
    radius: float
    margin: float


def radius(X: Any, fit_intercept: bool = True, n_classes: int = 2) -> float:
    """Return ``R = max ‖x̃ᵢ‖``, times √2 in Kesler's space (three or more classes).

    >>> radius([[3.0, 4.0], [0.0, 1.0]], fit_intercept=False)
    5.0
    """
    X = as_matrix(X)
    largest = float(row_sqnorms(X).max()) + bool(fit_intercept)
    return math.sqrt(largest) * (math.sqrt(2.0) if n_classes > 2 else 1.0)


def margins(X: Any, y: Any, w: Any, b: Any = 0.0, fit_intercept: bool = True) -> npt.NDArray[np.float64]:
    """Return ``y f(x)`` of every example, not normalised: for k > 2 classes the score of the true class
    less the best of the others.

    >>> margins([[1.0], [-2.0]], ["yes", "no"], [1.0])
    array([1., 2.])
    """
    examples = as_examples(X, y, fit_intercept)
    return margins_of(examples, *_as_weights(examples, w, b))


def margin(X: Any, y: Any, w: Any, b: Any = 0.0, fit_intercept: bool = True) -> float:
    """Return the margin of a hyperplane on data.

    **Problem.** ``γ = minᵢ yᵢ (w·xᵢ + b) / ‖(w, b)‖``; without a bias, over ``‖w‖``. Negative when a row lies
    on the wrong side. With two classes, the second in sorted order is +1.

    >>> margin([[2.0], [-2.0]], [1, -1], [1.0])
    2.0
    """
    examples = as_examples(X, y, fit_intercept)
    w, b = _as_weights(examples, w, b)
    norm = math.sqrt(_sqnorm(w, b, examples.fit_intercept))
    if norm == 0.0:
        raise ValueError("w is all zero and has no margin; give a hyperplane")
    return float(margins_of(examples, w, b).min()) / norm


def mistake_bound(
    X: Any, y: Any, w: Any, b: Any = 0.0, *, fit_intercept: bool = True, passes: float = 1
) -> MistakeBound:
    """Bound the mistakes of a perceptron on ``(X, y)`` by comparing it with one hyperplane.

    **Problem.** If the hyperplane separates the data with margin γ, at most ``(R/γ)²`` mistakes, however
    often the data are repeated; otherwise the least ``R²‖sw‖² + 2·passes·Σ max(0, 1 − s·mᵢ)`` over ``s ≥ 0``.

    Parameters
    ----------
    X, y : examples
    w, b : the hyperplane; one row of weights per class when there are three or more
    fit_intercept : whether the perceptron learns a bias
    passes : how often the sequence repeats the data (used by the hinge bound only)

    Notes
    -----
    **Guarantee.** Holds for every order of the examples and every start from zero; zero scores count as mistakes.

    Examples
    --------
    >>> mistake_bound([[2.0], [-2.0]], [1, -1], [1.0]).bound
    1.25...

    References
    ----------
    Novikoff (1962). Freund and Schapire (1999), Theorems 1 and 2. Shalev-Shwartz (2012), section 3.3.
    """
    examples = as_examples(X, y, fit_intercept)
    w, b = _as_weights(examples, w, b)
    sqnorm = _sqnorm(w, b, examples.fit_intercept)
    signed = margins_of(examples, w, b)
    R = radius(examples.X, fit_intercept, len(examples.classes))
    bound, scale = scaled_bound(signed, sqnorm, R, passes)
    kind = "margin" if signed.min() > 0 else "hinge"
    gamma = float(signed.min()) / math.sqrt(sqnorm) if sqnorm > 0 else 0.0
    return MistakeBound(bound, kind, scale * w, scale * b, R, gamma)


def bound_of(margins: npt.ArrayLike, w_sqnorm: float, radius: float, passes: float = 1) -> float:
    """Return the mistake bound of fixed weights from their margins ``mᵢ = yᵢ f(xᵢ)`` alone.

    ``(R‖w‖ / min m)²`` when all margins are positive, else the smallest hinge bound over all scales of ``w``.

    >>> bound_of([2.0, 2.0], w_sqnorm=1.0, radius=5**0.5)
    1.25...
    >>> bound_of([1.0, -1.0], w_sqnorm=1.0, radius=1.0)
    4.0
    """
    return scaled_bound(margins, w_sqnorm, radius, passes)[0]


def scaled_bound(
    margins: npt.ArrayLike, w_sqnorm: float, radius: float, passes: float = 1
) -> tuple[float, float]:
    """Return the bound of :func:`bound_of` and the scale ``s`` of the weights that attains it.

    **Problem.** ``min over s ≥ 0 of R² s²‖w‖² + 2·passes·Σ max(0, 1 − s·mᵢ)``: convex, and quadratic between the
    breakpoints ``1/mᵢ``, so that sorted margins and their sums show the piece on which its derivative changes sign.
    """
    m = np.asarray(margins, dtype=np.float64)
    smallest = float(m.min()) if m.size else 1.0
    if smallest > 0:
        ratio = radius * math.sqrt(w_sqnorm) / smallest
        return ratio * ratio, 1.0 / smallest
    curvature = radius * radius * w_sqnorm / passes  # derivative / (2·passes) = curvature·s − Σ_{s·mᵢ<1} mᵢ
    ascending = np.sort(m)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.cumsum(ascending)
    pull = float(sums[-1])  # at s = 0 every row is short of margin 1
    if not (0 < pull < math.inf) or not (0 < curvature < math.inf):  # beyond a float: every visit a mistake
        return 2.0 * passes * m.size, 0.0
    s, short = _turning_point(ascending, sums, curvature)
    loss = float((1.0 - s * ascending[:short]).sum())
    bound = float(curvature * passes * s * s) + 2.0 * passes * loss
    return min(bound, 2.0 * passes * m.size), float(s)


def _turning_point(
    ascending: npt.NDArray[np.float64], sums: npt.NDArray[np.float64], curvature: float
) -> tuple[float, int]:
    """Return the ``s`` at which ``curvature·s`` overtakes ``Σ mᵢ over s·mᵢ < 1``, and how many margins these are.

    The margins are sorted, and ``sums`` are the sums of the first of them.
    """
    positive = int(np.searchsorted(ascending, 0.0, side="right"))
    with np.errstate(over="ignore"):
        overtaken = sums[positive:] * ascending[positive:] <= curvature  # where s = 1/mᵢ
    short = positive + overtaken.size - int(np.argmax(overtaken[::-1])) if overtaken.any() else positive
    low = 1.0 / float(ascending[short]) if short < ascending.size else 0.0
    high = 1.0 / float(ascending[short - 1]) if short > positive else math.inf
    return min(max(float(sums[short - 1]) / curvature, low), high), short


def add_slack(X: Any, delta: float = 1.0) -> Any:
    """Return ``[X | Δ·I]`` as a CSR matrix: a coordinate of its own for every example.

    **Problem.** Rows ``xᵢ' = (xᵢ, Δ eᵢ)``; in kernels ``K + Δ²I``. Any labels are then separated, for example by
    ``w = (0, y)``, and a perceptron on the new rows has a mistake bound even where the old rows contradict.

    Parameters
    ----------
    X : (n, d) dense or sparse
    delta : the size of the new coordinates, positive

    Notes
    -----
    **Guarantee.** :func:`slack_bound` bounds the mistakes for the best ``Δ``.

    Examples
    --------
    >>> add_slack([[1.0, 2.0], [3.0, 4.0]], delta=0.5).toarray()
    array([[1. , 2. , 0.5, 0. ],
           [3. , 4. , 0. , 0.5]])

    References
    ----------
    Freund and Schapire (1999), Theorem 2. Klasner and Simon (1995).
    """
    import scipy.sparse as sp

    if not (delta > 0 and math.isfinite(delta)):
        raise ValueError(f"delta must be a positive number, got {delta!r}")
    X = as_matrix(X)
    return sp.csr_array(sp.hstack([sp.csr_array(X), sp.eye_array(X.shape[0]) * delta], format="csr"))


def slack_bound(X: Any, y: Any, w: Any, b: Any = 0.0, *, gamma: float, fit_intercept: bool = True) -> float:
    """Return ``((R + D)/γ)²``, with ``D² = Σ max(0, γ − yᵢ f(xᵢ)/‖w̃‖)²``: mistakes on imperfect data.

    It holds for every hyperplane and every ``gamma > 0`` one cares to compare with, for one pass over the data.

    >>> slack_bound([[2.0], [-2.0]], [1, -1], [1.0], gamma=2.0, fit_intercept=False)
    1.0
    """
    if not gamma > 0:
        raise ValueError(f"gamma must be positive, got {gamma!r}")
    norm = math.sqrt(float(np.sum(np.square(w))) + (float(np.sum(np.square(b))) if fit_intercept else 0.0))
    if norm == 0.0:
        raise ValueError("w is all zero; give a hyperplane")
    short = np.maximum(0.0, gamma - margins(X, y, w, b, fit_intercept) / norm)
    D = float(np.sqrt(np.sum(np.square(short))))
    n_classes = len(np.unique(np.asarray(y)))
    return ((radius(X, fit_intercept, n_classes) + D) / gamma) ** 2


def margins_of(examples: Examples, w: npt.NDArray[np.float64], b: Any) -> npt.NDArray[np.float64]:
    """Return ``y f(x)`` of checked examples."""
    scores = product(examples.X, np.atleast_2d(w).T) + b  # (n, 1) or (n, k)
    if len(examples.classes) <= 2:
        return np.asarray(examples.signs * scores[:, 0])
    return signed_margins(scores, examples.codes, joint=True)[:, 0]


def signed_margins(
    scores: npt.NDArray[Any], labels: npt.NDArray[Any], joint: bool
) -> npt.NDArray[np.float64]:
    """Return ``y·score``, a column for each hypothesis: how far each example is on its right side.

    One column of scores speaks for class 1; several are one decision (the true class against its best rival), or each
    speaks for its own class.

    >>> signed_margins(np.array([[3.0, 1.0, 2.0]]), np.array([0]), joint=True)
    array([[1.]])
    >>> signed_margins(np.array([[3.0, 1.0, 2.0]]), np.array([0]), joint=False)
    array([[ 3., -1., -2.]])
    """
    if scores.shape[1] == 1:
        return np.asarray(scores * (2.0 * labels - 1.0)[:, None], dtype=np.float64)
    every = np.arange(labels.size)
    if joint:
        rivals = scores.copy()
        rivals[every, labels] = -np.inf
        return np.asarray(scores[every, labels] - rivals.max(axis=1), dtype=np.float64)[:, None]
    margins = -scores.astype(np.float64)
    margins[every, labels] *= -1.0
    return margins


def _as_weights(examples: Examples, w: Any, b: Any) -> tuple[npt.NDArray[np.float64], Any]:
    """Check the shapes of a hyperplane (or one per class) against the data."""
    w = np.asarray(w, dtype=np.float64)
    k, d = len(examples.classes), examples.X.shape[1]
    if k <= 2:
        if w.size != d:
            raise ValueError(f"w has {w.size} weights but X has {d} columns; give one weight per column")
        return w.reshape(d), float(np.asarray(b, dtype=np.float64).reshape(-1)[0])
    if w.shape != (k, d):
        raise ValueError(f"w has shape {w.shape}, but {k} classes and {d} columns need ({k}, {d})")
    return w, np.broadcast_to(np.asarray(b, dtype=np.float64), (k,)).copy()


def _sqnorm(w: npt.NDArray[np.float64], b: Any, fit_intercept: bool) -> float:
    bias = float(np.sum(np.square(b))) if fit_intercept else 0.0
    return float(np.sum(np.square(w))) + bias
