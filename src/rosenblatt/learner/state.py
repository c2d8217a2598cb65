"""The state of a learner: weights, running scalars and classes, and how it grows with new classes and features."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.geometry import initial_auxiliary, powers_of, through_link
from rosenblatt.core.ledger import Ledger, widened, with_first_column
from rosenblatt.core.state import TOTALS, new_running
from rosenblatt.data.labels import joined_classes
from rosenblatt.data.memory import memory_limit


class LearnerState:
    """The arrays of a learner. Classes stay sorted; classes and features can be added at any time.

    Some geometries store more numbers per weight: a variance, a power of the weight in the p-norm link, or several
    sums over gradients.
    """

    rule: Any
    learned_from: Any = None  # identifies the examples where they are the only ones it ever learned from

    def __init__(self, multi_class: str, bias_input: float, keep_ledger: bool, geometry: Any = None) -> None:
        self.multi_class = multi_class
        self.geometry = rules.Euclidean() if geometry is None else geometry
        auxiliary = initial_auxiliary(self.geometry)
        self.bias_input = bias_input  # the constant input of the bias: 1 where a bias is learned, else 0
        self.classes: NDArray[Any] = np.empty(0)
        # (rows, 1 + features), the bias first: one row for two classes, else one per class.
        self.W: NDArray[Any] = np.zeros((1, 1))
        self.average_offset = np.zeros((1, 1))  # of the averaged weights, see core.state.State
        # The geometry's further numbers, in the shape of W, with one more axis where a weight has several; None where
        # it has none.
        self.S = None if auxiliary is None else self._initial_S()
        self.running = new_running(1)  # one hypothesis, or one per class under ovr
        self.totals = np.zeros(1, TOTALS)
        self.ledger = Ledger(self.W.copy()) if keep_ledger else None
        self.rows_seen = 0
        self.start_norm = 0.0

    @property
    def n_features(self) -> int:
        """The number of features, the bias input not counted."""
        return int(self.W.shape[1]) - 1

    @property
    def numbers_per_weight(self) -> int:
        """How many numbers the geometry stores for every weight, in addition to it."""
        return len(initial_auxiliary(self.geometry) or ())

    @property
    def joint(self) -> bool:
        """Whether several classes share one hypothesis: the true class against its best rival."""
        return bool(self.W.shape[0] > self.running.shape[0])

    @property
    def clock(self) -> float:
        """The number of examples visited; a weighted visit counts its weight."""
        return float(self.totals["clock"][0])

    @property
    def mistakes(self) -> int:
        """The number of mistakes."""
        return int(self.totals["mistakes"][0])

    @property
    def updates(self) -> int:
        """The number of updates."""
        return int(self.totals["updates"][0])

    @property
    def radius(self) -> float:
        """The largest norm of an example, in the space in which learning happens (√2 larger with joint classes)."""
        return math.sqrt(float(self.totals["max_sqnorm"][0]) * (2.0 if self.joint else 1.0))

    def include_sqnorm(self, sqnorm: float) -> None:
        """Include an example of this squared norm, the bias input not counted, in the radius."""
        self.totals["max_sqnorm"] = max(
            float(self.totals["max_sqnorm"][0]), sqnorm + self.bias_input * self.bias_input
        )

    def set_start(self, coef: Any, intercept: Any) -> None:
        """Set the weights of a learner that has not visited any example."""
        coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        if coef.shape[0] != self.W.shape[0]:
            raise ValueError(
                f"coef_init must have {self.W.shape[0]} row(s) for {self.classes.size} classes, got {coef.shape[0]}"
            )
        self.add_features(coef.shape[1])
        if coef.shape[1] != self.n_features:
            raise ValueError(f"coef_init must have {self.n_features} columns, got {coef.shape[1]}")
        if isinstance(self.geometry, rules.CoordinateSums):
            raise ValueError(  # noqa: TRY004 (of the rule, not of a type)
                f"coef_init: the weights of {type(self.rule).__name__} follow from its sums over gradients and cannot "
                "be set; use another rule, as NAG, or leave coef_init out"
            )
        self._cast(np.float64)
        self.W[:, 1:] = coef
        self.W[:, 0] = np.asarray(intercept, dtype=np.float64)
        if not self.bias_input and self.W[:, 0].any():
            raise ValueError("intercept_init must be zero, since the model has no bias (fit_intercept=False)")
        if not np.isfinite(self.W).all():
            raise ValueError("coef_init and intercept_init must be finite")
        sqnorm = (self.W**2).sum(axis=1)
        if not isinstance(self.geometry, rules.CoordinateRates):  # there no feature has a largest value yet
            self.running["sqnorm"] = sqnorm.sum() if self.joint else sqnorm
        self.start_norm = math.sqrt(float(sqnorm.sum()))
        if self.ledger is not None:
            self.ledger.start = self.W.copy()
        if isinstance(self.geometry, rules.PNorm):
            p = self.geometry.p
            theta = through_link(self.W, p / (p - 1.0), self.joint)
            norm = (np.abs(self.W) ** (p / (p - 1.0))).sum(axis=1)
            norm = (norm.sum(keepdims=True) if self.joint else norm) ** (1.0 - 1.0 / p)  # ‖w‖_q = ‖θ‖_p
            self.running["scale"] = np.where(norm > 0.0, norm, 1.0)
            self.W = theta / self.running["scale"][:, None]
        self._refresh_powers()

    def cast_weights(self, dtype: Any) -> None:
        """Store weights in the dtype of the first examples; in float64 once any example is float64."""
        if not self.clock and not self.W.any():
            self._cast(dtype)
        elif dtype == np.float64:
            self._cast(np.float64)

    def _cast(self, dtype: Any) -> None:
        self.W = self.W.astype(dtype, copy=False)
        if self.ledger is not None:
            self.ledger.cast(dtype)

    def add_classes(self, classes: NDArray[Any]) -> None:
        """Add those of the sorted classes that are new."""
        if np.array_equal(classes, self.classes):
            return
        if not self.classes.size:
            self.classes = classes.copy()
            self._shape_for_classes()
            return
        if (classes.dtype.kind in "US") != (self.classes.dtype.kind in "US"):
            raise ValueError(
                f"y has labels like {classes.tolist()[0]!r}, but the model's classes are like "
                f"{self.classes[:3].tolist()}: convert the labels to the same type"
            )
        new = np.setdiff1d(classes, self.classes)
        if not new.size:
            return
        if self.classes.size == 1 and new.size > 1:
            self.add_classes(new[:1])
        old, self.classes = self.classes, joined_classes(self.classes, new)
        index = np.searchsorted(self.classes, old)
        if self.classes.size == 2:
            if index[0] == 1:  # the class that was there first is the positive one
                self._negate()
            return
        self._add_class_rows(index)

    def add_features(self, n_features: int) -> None:
        """Add features until there are this many: their weights have been zero so far."""
        if n_features > self.n_features:
            _check_memory(self.W.shape[0], n_features, self.numbers_per_weight)
            self.W, self.average_offset = (
                widened(self.W, n_features + 1),
                widened(self.average_offset, n_features + 1),
            )
            if self.S is not None:
                old, self.S = self.S, self._initial_S(_by_feature(self.S))
                self.S[:, : old.shape[1]] = old
            if self.ledger is not None:
                self.ledger.add_features(n_features)

    def insert_first_feature(self) -> None:
        """Add a feature before all others, whose weight has been zero so far."""
        _check_memory(self.W.shape[0], self.n_features + 1, self.numbers_per_weight)
        self.W, self.average_offset = with_first_column(self.W, 1), with_first_column(self.average_offset, 1)
        if self.S is not None:
            first = self._initial_S()[:, 1:2]
            self.S = np.concatenate([self.S[:, :1], first, self.S[:, 1:]], axis=1)
        if self.ledger is not None:
            self.ledger.insert_first_feature()

    def _shape_for_classes(self) -> None:
        rows = 1 if self.classes.size <= 2 else self.classes.size
        self.W = np.zeros((rows, self.W.shape[1]), self.W.dtype)
        self.average_offset = np.zeros((rows, self.W.shape[1]))
        self.S = self._initial_S() if self.S is not None else None
        self.running = new_running(1 if self.multi_class == "joint" else rows)
        if self.ledger is not None:
            self.ledger.start = self.W.copy()

    def _negate(self) -> None:
        """Swap the roles of two classes."""
        # Subtracted from zero, so that a zero weight never becomes −0.0.
        self.W, self.average_offset = 0.0 - self.W, 0.0 - self.average_offset
        self._refresh_powers()
        if self.S is not None and isinstance(self.geometry, rules.CoordinateSums):
            self.S = self._transformed(self.S, self.rule.negated)
        if self.ledger is not None:
            self.ledger.start = 0.0 - self.ledger.start
            self.ledger.entries["tau"] *= -1.0

    def _add_class_rows(self, index: NDArray[np.int64]) -> None:
        """Give every class its own row of weights, the old classes at ``index``; the rows of new ones are zero.

        Two classes that shared one row get half of it each (with joint classes), so that differences of scores stay
        the same.
        """
        rows, two, joint = self.classes.size, self.W.shape[0] == 1, self.multi_class == "joint"
        # Through the p-norm link, θ divided by this gives half of the weights.
        half = 2.0 ** (2.0 / self.geometry.p) if isinstance(self.geometry, rules.PNorm) else 2.0

        def spread(old: NDArray[Any]) -> NDArray[Any]:
            new = np.zeros((rows, old.shape[1]), old.dtype, order="F" if _by_feature(old) else "C")
            if not two:
                _copy_rows(old, new, index, 0.0)
                return new
            columns = np.flatnonzero(old.any(axis=0))  # early in a stream most weights are zero
            own = old[:, columns]
            new[np.ix_(index, columns)] = np.concatenate([0.0 - own, own]) / (half if joint else 1)
            return new

        start = spread(self.ledger.start) if self.ledger is not None else self.W
        self.W, self.average_offset = spread(self.W), spread(self.average_offset)
        if self.S is not None:
            self.S = self._add_class_rows_to_S(self.S, index, joint)
        if joint and two:
            self.running["sqnorm"] /= 2.0
        elif not joint:
            old, self.running = self.running, new_running(rows)
            # The weights of a new class were zero at every visit so far.
            self.running["scale_sum"] = self.clock
            self.running[index] = np.repeat(old, 2) if two else old
        if self.ledger is not None:
            self.ledger.renumber_classes(index, start, joint)
        self._refresh_powers()

    def _add_class_rows_to_S(
        self, old: NDArray[np.float64], index: NDArray[np.int64], joint: bool
    ) -> NDArray[np.float64]:
        """Return the geometry's numbers with a row for every class, the old classes at ``index``."""
        new = self._initial_S(_by_feature(old))
        initial = (initial_auxiliary(self.geometry) or (0.0,))[0]
        if isinstance(self.geometry, rules.CoordinateSums):
            # The largest values are those of the features, for all classes.
            new[..., 0] = old[..., 0].max(axis=0)
        if old.shape[0] > 1:
            _copy_rows(old, new, index, initial)
            return new
        first = old if old.ndim == 2 else old[..., 0]
        columns = np.flatnonzero((first != initial).any(axis=0))  # early in a stream most are as they were
        own = old[:, columns]
        if isinstance(self.geometry, rules.CoordinateSums):
            own = self._transformed(own, self.rule.halved) if joint else own
            own = np.concatenate([self._transformed(own, self.rule.negated), own])
        new[np.ix_(index, columns)] = own  # the two classes had one row
        return new

    def _transformed(self, numbers: NDArray[np.float64], transform: Any) -> NDArray[np.float64]:
        """Return the numbers after a rule's function of each of them."""
        return np.stack(transform(tuple(np.moveaxis(numbers, -1, 0))), axis=-1)

    def _initial_S(self, by_feature: bool = False) -> NDArray[np.float64]:
        """Return the geometry's numbers per weight before any update, laid out class by class or feature by feature."""
        initial = initial_auxiliary(self.geometry) or (0.0,)
        several = isinstance(self.geometry, rules.CoordinateSums | rules.CoordinateRates)
        rows, width = self.average_offset.shape
        shape = (width, rows) if by_feature else (rows, width)
        numbers = np.zeros((*shape, len(initial)))
        for k, value in enumerate(initial):
            if value != 0.0:
                numbers[..., k] = value
        S = numbers if several else numbers[..., 0]
        return S.swapaxes(0, 1) if by_feature else S

    def _refresh_powers(self) -> None:
        """Recompute the powers and norms of the p-norm link from the stored vectors; other geometries have none."""
        if isinstance(self.geometry, rules.PNorm):
            self.S = powers_of(self.W, self.geometry.p)
            powers = self.W * self.S
            # Correctly rounded sums: the same however many features are reserved.
            self.running["sqnorm"] = [math.fsum(each.flat) for each in ([powers] if self.joint else powers)]


def _copy_rows(old: NDArray[Any], new: NDArray[Any], index: NDArray[np.int64], initial: float) -> None:
    """Copy the rows of old classes to ``index``, except for columns that hold nothing but ``initial``.

    Early in a stream most columns do; later rows that stay neighbours are copied together.
    """
    first = old if old.ndim == 2 else old[..., 0]
    columns = np.flatnonzero((first != initial).any(axis=0))
    if 2 * columns.size < old.shape[1]:
        new[np.ix_(index, columns)] = old[:, columns]
        return
    ends = [*(np.flatnonzero(np.diff(index) != 1) + 1).tolist(), index.size]
    for begin, end in zip([0, *ends], ends, strict=False):
        new[index[begin] : index[begin] + end - begin] = old[begin:end]


def _by_feature(weights: NDArray[Any]) -> bool:
    """Return whether weights of several classes are laid out feature by feature, as sparse rows need them."""
    return bool(weights.shape[0] > 1 and weights.swapaxes(0, 1).flags.c_contiguous)


def _check_memory(rows: int, n_features: int, numbers: int) -> None:
    """Raise MemoryError where weights, their average, further ``numbers`` of each and a copy would not fit into memory.

    The operating system would grant the memory, and kill the process when it is used.
    """
    needed = (3 + numbers) * 8 * rows * (n_features + 1)
    if needed > memory_limit():
        raise MemoryError(
            f"{n_features:,} features need about {needed >> 30:,} GB of weights, more than there is: number "
            "the features more densely, or hash their names (--hash-bits)"
        )
