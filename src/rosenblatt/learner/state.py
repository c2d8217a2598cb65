"""What a learner knows and how it grows: weights, running scalars, classes, and room for new ones."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.geometry import initial_beside, powers_of, through_link
from rosenblatt.core.ledger import Ledger, widened, with_first_column
from rosenblatt.core.state import TOTALS, new_running
from rosenblatt.data.labels import joined_classes
from rosenblatt.data.memory import memory_limit


class LearnerState:
    """The numbers of a learner. Classes stay sorted; classes and features may join at any time.

    Some geometries keep a number beside each weight: a variance, or the stored vector's power in the p-norm link.
    """

    learned_from: Any = (
        None  # identifies the examples if they are all it ever learned from, see learner.training
    )

    def __init__(self, multi_class: str, bias_input: float, keep_ledger: bool, geometry: Any = None) -> None:
        self.multi_class = multi_class
        self.geometry = rules.Euclidean() if geometry is None else geometry
        beside = initial_beside(self.geometry)
        self.bias_input = bias_input  # the always-one coordinate: 1 where a bias is learned, else 0
        self.classes: NDArray[Any] = np.empty(0)
        self.W: NDArray[Any] = np.zeros(
            (1, 1)
        )  # (rows, 1 + features): one row for two classes, else one each
        self.average_offset = np.zeros((1, 1))  # what averaging needs, see core.state.State
        self.S = (
            None if beside is None else np.full((1, 1), beside)
        )  # what the geometry keeps beside the weights
        self.running = new_running(1)  # one hypothesis, or one per class under ovr
        self.totals = np.zeros(1, TOTALS)
        self.ledger = Ledger(self.W.copy()) if keep_ledger else None
        self.rows_seen = 0
        self.start_norm = 0.0

    @property
    def n_features(self) -> int:
        """How many features it has met, the always-one coordinate not counted."""
        return int(self.W.shape[1]) - 1

    @property
    def joint(self) -> bool:
        """Whether several classes are in one contest."""
        return bool(self.W.shape[0] > self.running.shape[0])

    @property
    def clock(self) -> float:
        """How many examples it has seen."""
        return float(self.totals["clock"][0])

    @property
    def mistakes(self) -> int:
        """How many mistakes it has made."""
        return int(self.totals["mistakes"][0])

    @property
    def updates(self) -> int:
        """How many times its weights have moved."""
        return int(self.totals["updates"][0])

    @property
    def radius(self) -> float:
        """The largest norm seen, in the space in which learning happens (√2 larger in a joint contest)."""
        return math.sqrt(float(self.totals["max_sqnorm"][0]) * (2.0 if self.joint else 1.0))

    def include_sqnorm(self, sqnorm: float) -> None:
        """Take in that an example has this squared norm, the always-one coordinate not counted."""
        self.totals["max_sqnorm"] = max(
            float(self.totals["max_sqnorm"][0]), sqnorm + self.bias_input * self.bias_input
        )

    def set_start(self, coef: Any, intercept: Any) -> None:
        """Replace the zero weights of a learner that has seen nothing."""
        coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        if coef.shape[0] != self.W.shape[0]:
            raise ValueError(
                f"coef_init must have {self.W.shape[0]} row(s) for {self.classes.size} classes, got {coef.shape[0]}"
            )
        self.add_features(coef.shape[1])
        if coef.shape[1] != self.n_features:
            raise ValueError(f"coef_init must have {self.n_features} columns, got {coef.shape[1]}")
        self._cast(np.float64)
        self.W[:, 1:] = coef
        self.W[:, 0] = np.asarray(intercept, dtype=np.float64)
        if not self.bias_input and self.W[:, 0].any():
            raise ValueError("intercept_init must be zero where no bias is learned (fit_intercept=False)")
        if not np.isfinite(self.W).all():
            raise ValueError("coef_init and intercept_init must be finite")
        sqnorm = (self.W**2).sum(axis=1)
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
        """Store weights in the dtype of the first examples; in float64 as soon as any example is."""
        if not self.clock and not self.W.any():
            self._cast(dtype)
        elif dtype == np.float64:
            self._cast(np.float64)

    def _cast(self, dtype: Any) -> None:
        self.W = self.W.astype(dtype, copy=False)
        if self.ledger is not None:
            self.ledger.cast(dtype)

    def add_classes(self, met: NDArray[Any]) -> None:
        """Take in classes not met before."""
        if np.array_equal(met, self.classes):
            return
        if not self.classes.size:
            self.classes = met.copy()
            self._shape_for_classes()
            return
        if (met.dtype.kind in "US") != (self.classes.dtype.kind in "US"):
            raise ValueError(
                f"y has labels like {met[0]!r}, but the learner knows {self.classes[:3].tolist()}"
            )
        new = np.setdiff1d(met, self.classes)
        if not new.size:
            return
        if self.classes.size == 1 and new.size > 1:
            self.add_classes(new[:1])
        old, self.classes = self.classes, joined_classes(self.classes, new)
        place = np.searchsorted(self.classes, old)
        if self.classes.size == 2:
            if place[0] == 1:  # the class met first turns out to be the positive one
                self._negate()
            return
        self._spread(place)

    def add_features(self, n_features: int) -> None:
        """Take in features not met before: their weights have been zero so far."""
        if n_features > self.n_features:
            _check_room(self.W.shape[0], n_features)
            more = n_features - self.n_features
            self.W, self.average_offset = (
                widened(self.W, n_features + 1),
                widened(self.average_offset, n_features + 1),
            )
            if self.S is not None:
                self.S = np.pad(
                    self.S, ((0, 0), (0, more)), constant_values=initial_beside(self.geometry) or 0.0
                )
            if self.ledger is not None:
                self.ledger.add_features(n_features)

    def insert_first_feature(self) -> None:
        """Add a feature before all others, whose weight has been zero so far."""
        _check_room(self.W.shape[0], self.n_features + 1)
        self.W, self.average_offset = with_first_column(self.W, 1), with_first_column(self.average_offset, 1)
        if self.S is not None:
            self.S = with_first_column(self.S, 1)
            self.S[:, 1] = initial_beside(self.geometry) or 0.0
        if self.ledger is not None:
            self.ledger.insert_first_feature()

    def _shape_for_classes(self) -> None:
        rows = 1 if self.classes.size <= 2 else self.classes.size
        self.W = np.zeros((rows, self.W.shape[1]), self.W.dtype)
        self.average_offset = np.zeros((rows, self.W.shape[1]))
        self.S = self._unmoved() if self.S is not None else None
        self.running = new_running(1 if self.multi_class == "joint" else rows)
        if self.ledger is not None:
            self.ledger.start = self.W.copy()

    def _negate(self) -> None:
        self.W, self.average_offset = (
            0.0 - self.W,
            0.0 - self.average_offset,
        )  # never −0.0: columns not used yet stay as new ones are
        self._refresh_powers()
        if self.ledger is not None:
            self.ledger.start = 0.0 - self.ledger.start
            self.ledger.entries["tau"] *= -1.0

    def _spread(self, place: NDArray[np.int64]) -> None:
        """Move the old classes to their new places; two that shared one hypothesis get weights of their own.

        In a joint contest each of the two gets half, so that every difference of scores stays as it was.
        """
        rows, two, joint = self.classes.size, self.W.shape[0] == 1, self.multi_class == "joint"
        half = (
            2.0 ** (2.0 / self.geometry.p) if isinstance(self.geometry, rules.PNorm) else 2.0
        )  # its link is half

        def spread(old: NDArray[Any]) -> NDArray[Any]:
            new = np.zeros((rows, old.shape[1]), old.dtype)
            new[place] = np.concatenate([0.0 - old, old]) / (half if joint else 1) if two else old
            return new

        start = spread(self.ledger.start) if self.ledger is not None else self.W
        self.W, self.average_offset = spread(self.W), spread(self.average_offset)
        if self.S is not None:
            old_S, self.S = self.S, self._unmoved()
            self.S[place] = old_S  # two classes shared their variances
        if joint and two:
            self.running["sqnorm"] /= 2.0
        elif not joint:
            old, self.running = self.running, new_running(rows)
            self.running["scale_sum"] = self.clock  # a new class has been all zero since the clock began
            self.running[place] = np.repeat(old, 2) if two else old
        if self.ledger is not None:
            self.ledger.spread(place, start, joint)
        self._refresh_powers()

    def _unmoved(self) -> NDArray[np.float64]:
        """Return what stands beside weights that have not been moved, in the shape of the weights."""
        return np.full_like(self.average_offset, initial_beside(self.geometry) or 0.0)

    def _refresh_powers(self) -> None:
        """Compute anew what the p-norm link needs to know of the stored vectors; other geometries need nothing."""
        if isinstance(self.geometry, rules.PNorm):
            self.S = powers_of(self.W, self.geometry.p)
            power = (self.W * self.S).sum(axis=1)
            self.running["sqnorm"] = power.sum() if self.joint else power


def _check_room(rows: int, n_features: int) -> None:
    """Raise MemoryError where weights, their average and a copy of one would not fit into memory.

    The system would promise the memory, and end the process when it is used.
    """
    needed = 3 * 8 * rows * (n_features + 1)
    if needed > memory_limit():
        raise MemoryError(
            f"{n_features:,} features need about {needed >> 30:,} GB of weights, more than there is: number "
            "the features more densely, or hash their names (--hash-bits)"
        )
