"""The kernel learner: the same loop, told in products with the examples that taught it something."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.core.order import in_given_order
from rosenblatt.core.state import Visits
from rosenblatt.data.matrix import checked_labels, checked_weight, encoded
from rosenblatt.learner.dual import kernels, reading
from rosenblatt.learner.dual.arrays import Arrays, is_foreign, to_numpy
from rosenblatt.learner.dual.blocks import Data, exact_pass, kernel_among, new_book
from rosenblatt.learner.dual.budget import FORGET, BudgetPass
from rosenblatt.learner.dual.evaluate import evaluate_kernel
from rosenblatt.learner.dual.kernels import is_finite, is_whole
from rosenblatt.learner.dual.ledger import DualLedger
from rosenblatt.learner.dual.order import shuffled
from rosenblatt.learner.dual.rowstore import RowStore
from rosenblatt.learner.dual.space import FeatureSpace
from rosenblatt.learner.dual.state import DualState
from rosenblatt.learner.dual.voting import votes
from rosenblatt.learner.learner import MULTI_CLASS
from rosenblatt.learner.scoring import decided
from rosenblatt.learner.training import Epoch, Evaluation, decays, forget_evaluations, run_epochs

__all__ = ["FORGET", "DualLearner"]


class DualLearner(DualState):
    """State, passes and hypotheses of a kernel run, in one object that knows nothing of files or estimators.

    Parameters
    ----------
    rule : a rule object or its name
    eta : the learning rate of a rule given by name; None leaves the rule's own
    kernel : ``"poly"``, ``"rbf"``, ``"linear"``, ``"precomputed"``, or a function of two blocks of rows
    degree, gamma, coef0 : of the kernel; see :mod:`rosenblatt.learner.dual.kernels`
    delta : Δ, the length of a coordinate of its own for every example: ``K + Δ²I``
    budget : the most rows to remember, or None
    forget : what happens when the budget is full: ``"oldest"``, ``"random"`` or ``"project"``
    tolerance : with ``"project"``, an example nearer than this to what the rows span, for its length, takes no place
    multi_class : ``"joint"`` or ``"ovr"``
    fit_intercept : learn a bias, as the weight of an always-one coordinate: ``K + 1``
    keep_ledger : record every update, which all hypotheses but ``last`` and ``averaged`` are read from
    seed : of the shuffle, of ``random`` and of forgetting by chance
    block_size : rows decided together; changes the speed only; None is 512, or 2048 on a device
    device, dtype, tf32 : where and how exactly products are computed; see :mod:`rosenblatt.learner.dual.arrays`

    Examples
    --------
    >>> learner = DualLearner(kernel="poly", degree=2)
    >>> learner.train([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0], max_iter=100)
    >>> learner.converged, learner.predict([[1.0, 0.0], [1.0, 1.0]], "last").tolist()
    (True, [1, 0])
    """

    def __init__(
        self,
        rule: Any = "rosenblatt",
        *,
        eta: float | None = None,
        kernel: Any = "poly",
        degree: int = 2,
        gamma: Any = None,
        coef0: float = 1.0,
        delta: float = 0.0,
        budget: int | None = None,
        forget: str = "oldest",
        tolerance: float = 0.0,
        multi_class: str = "joint",
        fit_intercept: bool = False,
        keep_ledger: bool = True,
        seed: int = 0,
        block_size: int | None = None,
        device: str | None = None,
        dtype: str | None = None,
        tf32: bool = False,
    ) -> None:
        if multi_class not in MULTI_CLASS:
            raise ValueError(f"multi_class must be one of {', '.join(MULTI_CLASS)}, got {multi_class!r}")
        if not is_finite(delta) or delta < 0.0:
            raise ValueError(f"delta must be zero or more, got {delta!r}")
        if budget is not None and (not is_whole(budget) or budget < 1):
            raise ValueError(f"budget must be 1 or more rows, or None, got {budget!r}")
        if forget not in FORGET:
            raise ValueError(f"forget must be one of {', '.join(FORGET)}, got {forget!r}")
        if not is_finite(tolerance) or not 0.0 <= tolerance < 1.0:
            raise ValueError(f"tolerance must be in [0, 1), got {tolerance!r}")
        if tolerance and (budget is None or forget != "project"):
            raise ValueError("tolerance is of projections: give budget= and forget='project' with it")
        if block_size is not None and (not is_whole(block_size) or block_size < 1):
            raise ValueError(f"block_size must be 1 or more, or None, got {block_size!r}")
        if not is_whole(seed) or seed < 0:
            raise ValueError(f"seed must be a whole number, zero or more, got {seed!r}")
        super().__init__(multi_class, fit_intercept, keep_ledger and budget is None)
        self.rule = rules.resolve(rule, eta)
        geometry = rules.geometry_of(self.rule)
        if geometry != rules.Euclidean():
            raise ValueError(
                f"{self.rule} has no dual form: with {geometry} its weights are no sum of examples"
            )
        kernels.resolve(
            kernel, degree, 1.0 if gamma is None else gamma, coef0, 1, 1.0
        )  # says at once what is wrong
        self.kernel_parameters = (kernel, degree, gamma, coef0)
        self.delta, self.seed, self.block_size = float(delta), seed, block_size
        self.budget, self.forget, self.tolerance = budget, forget, float(tolerance)
        self._place = (device, dtype, tf32)
        self.epochs: list[Epoch] = []
        self.converged = False
        self.evaluations: dict[str, Evaluation] = {}
        self.pocket: NDArray[np.int64] | None = None  # how many updates the pocket had, for each hypothesis
        self.on_budget: BudgetPass | None = None

    @property
    def precomputed(self) -> bool:
        """Whether rows are rows of a Gram matrix."""
        return isinstance(self.kernel_parameters[0], str) and self.kernel_parameters[0] == "precomputed"

    # Learning

    def learn(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Epoch:
        """See the examples once, in the given order; classes not met before are taken in."""
        data, weight = self._take_in(X, y, sample_weight, classes, stream=True)
        mistakes, updates = self.mistakes, self.updates
        self._visit_rows(data, in_given_order(data.labels.size, weight), None)
        self.rows_seen = data.first_row + data.labels.size
        self.learned_from = None
        forget_evaluations(self)
        self.epochs.append(Epoch(len(self.epochs) + 1, self.mistakes - mistakes, self.updates - updates))
        return self.epochs[-1]

    def train(
        self,
        X: Any,
        y: Any,
        *,
        max_iter: int = 10,
        shuffle: bool = True,
        sample_weight: Any = None,
        on_epoch: Callable[[Epoch], bool | None] | None = None,
        evaluate: bool | None = None,
    ) -> None:
        """Cycle over the examples until an epoch changes nothing, ``max_iter`` times, or ``on_epoch`` returns False.

        ``evaluate`` evaluates all hypotheses on the data afterwards and chooses the pocket, at the cost of one more
        look at every row; by default only where that is quick. ``last`` and ``averaged`` are always evaluated.
        """
        data, weight = self._take_in(X, y, sample_weight, None, stream=False)
        n = data.labels.size
        shuffle_of = shuffled(data.X, data.labels, self.seed, weight) if shuffle else None
        in_order = in_given_order(n, weight)
        # With delta, rows that come again get new coordinates of their own: they are other examples.
        fingerprint = None if shuffle_of is None or self.delta else shuffle_of.fingerprint
        book = new_book(self, data) if self.budget is None else None

        def visit_all(number: int) -> bool:
            self._visit_rows(data, in_order if shuffle_of is None else shuffle_of.epoch(number), book)
            return decays(self)

        only_these = run_epochs(self, visit_all, max_iter, on_epoch, fingerprint)
        if book is not None:
            with self.fitted_space().arrays.exact_products():
                book.settle()
        self.rows_seen = max(self.rows_seen, data.first_row + n)
        evaluate_kernel(self, data, book, weight, evaluate, only_these)

    # Predicting

    def weights(self, hypothesis: str = "averaged", normalise: bool = False) -> NDArray[Any]:
        """Return ``(rows, support rows)`` coefficients of a hypothesis that has them.

        With ``normalise``, every ``v_k`` is divided by ``‖v_k‖`` before it is averaged or compared.
        """
        self.fitted_space()
        W, A = self.W[:, : self.n_support], self.average_offset[:, : self.n_support]
        if hypothesis == "last":
            last = W * self.running["scale"][:, None]
            return reading.normalised(last, self.running["sqnorm"]) if normalise else last
        if hypothesis == "averaged":
            if normalise:
                return reading.normalised_average(self.kept_ledger(), self.running.size, self.clock)
            if not self.clock:
                return W
            mean: NDArray[Any] = (self.running["scale_sum"][:, None] * W - A) / self.clock
            return mean
        if hypothesis == "voted":
            raise ValueError(
                "'voted' is a vote of many hyperplanes and has no weights of its own; 'averaged' has"
            )
        hypotheses.check_name(hypothesis)
        ledger = self.kept_ledger()
        lived = reading.survivals(ledger, self.running.size, self.joint, self.clock)
        if hypothesis == "survivor":
            numbers = reading.longest(lived)
        elif hypothesis == "random":
            numbers = reading.drawn(lived, self.seed)
        elif self.pocket is None:
            raise ValueError(
                "the pocket is chosen on a whole training set, which takes one more look at every row: it is known "
                "after fit with hypothesis='pocket' (train with evaluate=True); 'survivor' needs no training set"
            )
        else:
            numbers = self.pocket
        found = reading.read(ledger, numbers[None], self.joint)[0]
        return reading.normalised(found.coefficients, found.sqnorm) if normalise else found.coefficients

    def scores(self, X: Any, hypothesis: str = "averaged", normalise: bool = False) -> NDArray[np.float64]:
        """Return the score of every row: ``(n,)`` with two classes, ``(n, classes)`` with more."""
        space = self.fitted_space()
        X = space.arrays.matrix(X, self.n_features)
        space.refuse_too_large(X)
        if hypothesis == "voted":
            found = votes(space, X, self.support.all(), self.kept_ledger(), self.joint, self.clock)
        else:
            found = space.all_times(X, self.support.all(), self.weights(hypothesis, normalise).T)
        return found[:, 0] if self.W.shape[0] == 1 else found

    def predict(
        self, X: Any, hypothesis: str = "averaged", undecided: Any = None, normalise: bool = False
    ) -> NDArray[Any]:
        """Return the class of every row; where no class is ahead, ``undecided`` if given, else the first."""
        return decided(self.scores(X, hypothesis, normalise), self.classes, undecided)

    # Inside

    def _take_in(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, stream: bool
    ) -> tuple[Data, NDArray[np.float64] | None]:
        """Meet the rows and classes of a batch."""
        arrays = self.space.arrays if self.space else Arrays(X, *self._place)
        X = arrays.matrix(X, self.n_features if self.space and not self.precomputed else None)
        n = int(X.shape[0])
        if self.space and int(X.shape[1]) < self.n_features:
            raise ValueError(f"X has {X.shape[1]} columns, but the learner has seen {self.n_features}")
        met, index = checked_labels(to_numpy(y) if is_foreign(y) else y, n)
        weight = checked_weight(sample_weight, n)
        first_row = self.rows_seen
        if self.precomputed:
            again = X.shape[1] == n < first_row + n  # the whole matrix once more
            first_row = first_row if stream and not again else 0
            if X.shape[1] < first_row + n:
                raise ValueError(
                    f"a precomputed kernel has a column for every example: {first_row + n} of them, got {X.shape[1]}"
                )
        if classes is not None:
            self.add_classes(encoded(classes)[0])
        self.add_classes(met)
        if self.space is None:
            variance = arrays.variance(X, weight) if self.kernel_parameters[2] == "scale" else 1.0
            kernel = kernels.resolve(*self.kernel_parameters, int(X.shape[1]), variance)
            self.space = FeatureSpace(arrays, kernel, self.bias_input)
            self.space.sized_for(X)
            self.support = RowStore(arrays)
        self._n_features = int(X.shape[1])
        labels = np.searchsorted(self.classes, met)[index]
        among = kernel_among(self.space, X, first_row, recorded=not stream and self.budget is None)
        return Data(X, labels, first_row, self.space.itself(X, first_row), among), weight

    def _visit_rows(self, data: Data, visits: Visits, book: Any) -> None:
        """Run the rule over the visits."""
        with self.fitted_space().arrays.exact_products():
            if self.budget is None:
                exact_pass(self, data, visits, book)
            else:
                if self.on_budget is None:
                    self.on_budget = BudgetPass(self.budget, self.forget, self.tolerance)
                self.on_budget.run(self, data, visits)
        if not np.isfinite(self.running["sqnorm"]).all():
            raise ValueError(
                "the weights grew beyond what a float can hold: scale the features, or clip them"
            )

    def kept_ledger(self) -> DualLedger:
        """Return the ledger, or say why there is none."""
        if self.ledger is None:
            why = (
                "with a budget the rows they were made of are forgotten"
                if self.budget is not None
                else "the ledger was not kept: train with keep_ledger=True"
            )
            raise ValueError(f"only 'last' and 'averaged' are known: {why}")
        return self.ledger
