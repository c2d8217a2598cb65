"""The learner for real-valued targets: the same loop as for classes, with the step ``τ x`` instead of ``τ y x``."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.loop import learn
from rosenblatt.core.order import Shuffle, in_given_order
from rosenblatt.core.rows import flat, laid_out, rows_of
from rosenblatt.core.state import State, Visits
from rosenblatt.data.matrix import checked_matrix, checked_weight
from rosenblatt.learner.examples import canonical_matrix, max_row_sqnorm
from rosenblatt.learner.scoring import linear_scores
from rosenblatt.learner.state import LearnerState
from rosenblatt.storage import Content

HYPOTHESES = ("last", "averaged")


class RealLearner(LearnerState):
    """State and training of a linear regression by ``w += η (y − w·x) x``.

    Parameters
    ----------
    rule : str or rule
        ``WidrowHoff``, or its name: the only rule for real-valued targets.
    fit_intercept : bool
        Learn a bias, as the weight of a constant input of 1.
    seed : int
        Seed of the shuffle.

    Examples
    --------
    >>> learner = RealLearner(rules.WidrowHoff(eta=0.25))
    >>> learner.train([[1.0], [-1.0]], [3.0, -1.0], max_iter=200)
    >>> learner.weights("last").round(6)
    array([[1., 2.]])
    """

    kind = "real"  # of its model file, see rosenblatt.storage
    classes = None  # type: ignore[assignment]

    def __init__(self, rule: Any = "widrow-hoff", *, fit_intercept: bool = True, seed: int = 0) -> None:
        super().__init__("ovr", 1.0 if fit_intercept else 0.0, keep_ledger=False)
        self.classes = None
        self.rule = rules.resolve(rule)
        if not isinstance(self.rule, rules.WidrowHoff):
            raise TypeError(
                f"{type(self.rule).__name__} is a rule for classes: for real-valued targets use WidrowHoff"
            )
        self.seed = seed
        self.passes = 0  # epochs so far, under the name that model files have for it

    def learn(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        """Visit the examples once, in the given order; features not seen before are added."""
        X, y, weight = self._check(X, y, sample_weight)
        self._run_epoch(X, y, in_given_order(X.shape[0], weight))

    def train(
        self, X: Any, y: Any, *, max_iter: int = 10, shuffle: bool = True, sample_weight: Any = None
    ) -> None:
        """Visit all examples ``max_iter`` times."""
        X, y, weight = self._check(X, y, sample_weight)
        visits = in_given_order(X.shape[0], weight)
        targets = y.view(np.int64)  # rows that differ only in their target get different shuffle keys
        shuffled = Shuffle(rows_of(X), targets, self.seed, weight) if shuffle else None
        for _ in range(max_iter):
            self._run_epoch(X, y, shuffled.epoch(self.passes) if shuffled is not None else visits)

    def weights(self, hypothesis: str = "averaged") -> NDArray[Any]:
        """Return ``(1, 1 + features)`` weights, the bias first."""
        if hypothesis not in HYPOTHESES:
            raise ValueError(f"hypothesis must be one of {', '.join(HYPOTHESES)}, got {hypothesis!r}")
        if not self.clock:
            raise ValueError("the learner is not trained yet: call learn or train first")
        run = hypotheses.Run(
            self.W, self.average_offset, self.running, self.clock, self.bias_input, False, None, self.seed
        )
        return hypotheses.last(run) if hypothesis == "last" else hypotheses.averaged(run)

    def scores(self, X: Any, hypothesis: str = "averaged") -> NDArray[Any]:
        """Return ``w·x + b`` for every row."""
        return linear_scores(checked_matrix(X, n_features=self.n_features), self.weights(hypothesis))[:, 0]

    predict = scores

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Rebuild a learner from a checked file."""
        return content.restore(cls(**content.settings))

    def _check(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[np.float64], Any]:
        """Check examples and add their features."""
        X = canonical_matrix(X)
        n = X.shape[0]
        y = np.ascontiguousarray(y, dtype=np.float64)
        if y.shape != (n,):
            raise ValueError(f"y must hold one number for each of the {n} rows of X, got shape {y.shape}")
        if n == 0:
            raise ValueError("X has no rows: there is nothing to learn from")
        wrong = np.flatnonzero(~np.isfinite(y))
        if wrong.size:
            raise ValueError(
                f"y has the value {y[wrong[0]]} in row {wrong[0]}: remove the row or fill in a number"
            )
        weight = checked_weight(sample_weight, n)
        max_sqnorm = max_row_sqnorm(X, weight)
        self.cast_weights(X.dtype)
        self.add_features(X.shape[1])
        self.include_sqnorm(max_sqnorm)
        return X, y, weight

    def _run_epoch(self, X: Any, y: NDArray[np.float64], visits: Visits) -> None:
        rows = rows_of(X)
        self.W, self.average_offset = laid_out(rows, self.W), laid_out(rows, self.average_offset)
        scores = np.empty(1, self.W.dtype)
        state = State(flat(rows, self.W), flat(rows, self.average_offset), self.running, scores, self.totals)
        learn(self.rule, self.geometry, rows, y, visits, self.bias_input, state, NO_LEDGER, False)
        self.rows_seen += X.shape[0]
        self.passes += 1
        if not np.isfinite(self.running["sqnorm"]).all() or not np.isfinite(self.W).all():
            raise ValueError(
                f"the weights diverged: eta={self.rule.eta:g} is too large for rows of norm {self.radius:g}; "
                f"choose eta below {1 / max(self.radius, 1e-300) ** 2:.3g}, or scale the features"
            )
