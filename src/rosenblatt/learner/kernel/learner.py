"""The kernel learner: its weights are a sum of the examples that moved them, and it scores by kernel values."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.core.kernel_loop import (
    COUNTS,
    FOLD,
    LOOKAHEAD,
    Block,
    BudgetBlock,
    Changes,
    KernelScale,
    visit_block,
    visit_block_on_budget,
)
from rosenblatt.core.ledger import (
    NO_LEDGER,
    Ledger,
    normalised_sum,
    replayed,
    vote_each,
    vote_jointly,
    widened,
)
from rosenblatt.core.order import in_given_order
from rosenblatt.core.rows import Rows
from rosenblatt.core.state import State, Visits
from rosenblatt.data.matrix import checked_labels, checked_weight, encoded
from rosenblatt.learner.examples import CheckedExamples
from rosenblatt.learner.kernel import kernels
from rosenblatt.learner.kernel.blocks import (
    CPU_BLOCK,
    DEVICE_BLOCK,
    Data,
    GramCache,
    RowBlock,
    ScoreCache,
    gram_fits,
    gram_tasks,
    row_blocks,
)
from rosenblatt.learner.kernel.budget import FORGET, BudgetSlots
from rosenblatt.learner.kernel.device import (
    VOTE_LINES,
    Arrays,
    RowStore,
    cut,
    device_votes,
    is_foreign,
    shuffled,
    to_numpy,
)
from rosenblatt.learner.kernel.evaluate import evaluate_kernel
from rosenblatt.learner.kernel.kernels import FeatureSpace, Precomputed, is_finite, is_integer
from rosenblatt.learner.learner import MULTI_CLASS
from rosenblatt.learner.scoring import decided
from rosenblatt.learner.state import LearnerState
from rosenblatt.learner.training import Epoch, Evaluation, decays, forget_evaluations, run_epochs

__all__ = ["FORGET", "KernelLearner", "KernelLedger"]

LEDGER_VISITS = 4096  # visits for which the ledger reserves lines in one call of the loop
FOLDS_AT_ONCE = 64
VOTED_AT_ONCE = 256  # rows on the CPU: their scores and votes stay in the caches
VOTES_ON_DEVICE = 1 << 29  # numbers held at once on a device


class KernelLedger(Ledger):
    """Every update of a run, in coefficients of support rows instead of weights of features.

    ``support_rows`` are in the order in which they became support rows; a position in them is called a slot.
    """

    def __init__(self) -> None:
        super().__init__(np.zeros((1, 1)))

    def support_index(self) -> NDArray[np.int64]:
        """Return, for every line, the slot of its row."""
        ascending = np.argsort(self.support_rows)
        place = np.searchsorted(self.support_rows, self.entries["row"], sorter=ascending)
        return ascending[place] if ascending.size else place

    def weights_after(
        self,
        numbers: NDArray[np.int64],
        bias_input: float = 0.0,
        classes: NDArray[np.int64] | None = None,
    ) -> NDArray[Any]:
        """Return ``(numbers, rows, slots)`` coefficients after each number of lines (ascending), or of one class each.

        A coefficient is the weight of a feature that only its own support row has: the rows are an identity matrix.
        """
        slots = self.support_rows.size
        identity = Rows(
            np.ones(slots), np.arange(slots, dtype=np.uint64), np.arange(slots + 1, dtype=np.uint64)
        )
        start = np.zeros((self.start.shape[0], 1 + slots), order="F")
        index = self.support_index()
        return replayed(identity, start, self.entries, index, bias_input, numbers, classes)[..., 1:]

    def normalised_average(self, hypotheses: int, clock: float) -> NDArray[np.float64]:
        """Return ``Σ (m_k/m) v_k/‖v_k‖`` (Freund and Schapire 1999, section 5)."""
        coefficients = np.zeros((self.start.shape[0], self.support_rows.size))
        until, left, decay = np.full(hypotheses, clock), np.zeros(hypotheses), np.ones(hypotheses)
        normalised_sum(self.entries, self.support_index(), until, left, decay, coefficients)
        return coefficients / clock if clock else coefficients


class KernelLearner(LearnerState):
    """State, epochs and hypotheses of a kernel learner, independent of files and estimators.

    ``W[c, s]`` is the coefficient of support row ``s`` for class ``c``, to be multiplied by the running scale. There
    may be more columns than support rows; those are zero.

    Parameters
    ----------
    rule : str or rule
        A rule object or its name.
    eta : float or None
        The learning rate of a rule given by name; None is the rule's default.
    kernel : {"poly", "rbf", "linear", "precomputed"} or callable
        A callable is a function of two blocks of rows.
    degree, gamma, coef0 : int, float, float
        Parameters of the kernel, see :mod:`rosenblatt.learner.kernel.kernels`.
    delta : float
        ``Δ``, the length of a coordinate of its own for every example: ``K + Δ²I``.
    budget : int or None
        The maximum number of support rows.
    forget : {"oldest", "random", "project"}
        What happens when the budget is full.
    tolerance : float
        With ``"project"``, an example nearer than this to the span of the support rows, relative to its norm, takes no
        slot.
    multi_class : {"joint", "ovr"}
        The true class against its best rival, or every class against the rest.
    fit_intercept : bool
        Learn a bias, as the weight of a constant input of 1: ``K + 1``.
    keep_ledger : bool
        Record every update: all hypotheses but ``last`` and ``averaged`` are read from the record.
    seed : int
        Seed of the shuffle, of ``random`` and of random removals.
    block_size : int or None
        Number of rows scored together; it changes the speed only. None computes Gram rows once for all epochs where
        the Gram matrix takes at most 1 GiB, else it is 512, or 2048 on a device.
    device, dtype, tf32 : str or None, str or None, bool
        Where and with which precision products are computed, see :mod:`rosenblatt.learner.kernel.device`.

    Examples
    --------
    >>> learner = KernelLearner(kernel="poly", degree=2)
    >>> learner.train([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0], max_iter=100)
    >>> learner.converged, learner.predict([[1.0, 0.0], [1.0, 1.0]], "last").tolist()
    (True, [1, 0])
    """

    ledger: KernelLedger | None

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
        if budget is not None and (not is_integer(budget) or budget < 1):
            raise ValueError(f"budget must be 1 or more rows, or None, got {budget!r}")
        if forget not in FORGET:
            raise ValueError(f"forget must be one of {', '.join(FORGET)}, got {forget!r}")
        if not is_finite(tolerance) or not 0.0 <= tolerance < 1.0:
            raise ValueError(f"tolerance must be in [0, 1), got {tolerance!r}")
        if tolerance and (budget is None or forget != "project"):
            raise ValueError("tolerance needs budget= and forget='project': it limits projections")
        if block_size is not None and (not is_integer(block_size) or block_size < 1):
            raise ValueError(f"block_size must be 1 or more, or None, got {block_size!r}")
        if not is_integer(seed) or seed < 0:
            raise ValueError(f"seed must be a whole number, zero or more, got {seed!r}")
        super().__init__(multi_class, 1.0 if fit_intercept else 0.0, keep_ledger=False)
        self.rule = rules.resolve(rule, eta)
        geometry = rules.geometry_of(self.rule)
        if geometry != rules.Euclidean():
            raise ValueError(
                f"{self.rule} has no dual form, since with {geometry} its weights are not a sum of examples: choose "
                "another rule for a kernel"
            )
        kernels.resolve(kernel, degree, 1.0 if gamma is None else gamma, coef0, 1, 1.0)  # raises ValueError
        self.kernel_parameters = (kernel, degree, gamma, coef0)
        self.delta, self.seed, self.block_size = float(delta), seed, block_size
        self.budget, self.forget, self.tolerance = budget, forget, float(tolerance)
        self._arrays_options = (device, dtype, tf32)
        self.ledger = KernelLedger() if keep_ledger and budget is None else None
        self.space: FeatureSpace | None = None  # from the first rows on
        self.support: RowStore = RowStore(Arrays(np.empty((0, 0))))
        self.support_rows = np.empty(0, np.int64)  # the example in each slot
        self._n_features = 0
        self.epochs: list[Epoch] = []
        self.converged = False
        self.evaluations: dict[str, Evaluation] = {}
        self.pocket: NDArray[np.int64] | None = None  # how many updates the pocket had, for each hypothesis
        self.budget_slots: BudgetSlots | None = None  # from the first epoch under a budget on

    @property
    def precomputed(self) -> bool:
        """Whether rows are rows of a Gram matrix."""
        return isinstance(self.kernel_parameters[0], str) and self.kernel_parameters[0] == "precomputed"

    @property
    def n_features(self) -> int:
        """How many features, or columns of a Gram matrix, its rows have."""
        return self._n_features

    @property
    def n_support(self) -> int:
        """How many support rows the model has."""
        return int(self.support_rows.size)

    def fitted_space(self) -> FeatureSpace:
        """Return the feature space; raise ValueError before the first examples."""
        if self.space is None or not self.classes.size:
            raise ValueError("the learner is not trained yet: call learn or train first")
        return self.space

    def recorded_ledger(self) -> KernelLedger:
        """Return the ledger; raise ValueError where there is none."""
        if self.ledger is None:
            why = (
                "the other hypotheses need rows that a budget removes: train with budget=None"
                if self.budget is not None
                else "the ledger was not recorded: train with keep_ledger=True"
            )
            raise ValueError(f"only 'last' and 'averaged' can predict: {why}")
        return self.ledger

    def run(self) -> hypotheses.Run:
        """Return the training run, from which hypotheses are read."""
        self.fitted_space()
        W, average_offset = self.W[:, : self.n_support], self.average_offset[:, : self.n_support]
        return hypotheses.Run(
            W, average_offset, self.running, self.clock, 0.0, self.joint, self.ledger, self.seed
        )

    # Learning

    def learn(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Epoch:
        """Visit the examples once, in the given order; classes not seen before are added."""
        return self.learn_checked(self._check(X, y, sample_weight), classes)

    def learn_checked(self, examples: CheckedExamples, classes: Any = None) -> Epoch:
        """Visit checked examples once, in the given order, as :meth:`learn` does."""
        data = self._add_data(examples, classes, stream=True)
        mistakes, updates = self.mistakes, self.updates
        try:
            self._visit_rows(data, in_given_order(data.labels.size, examples.weight), None)
        finally:  # the ledger names rows by number, also where the weights grew too large
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
        standardised: bool = False,
        sample_weight: Any = None,
        on_epoch: Callable[[Epoch], bool | None] | None = None,
        evaluate: bool | None = None,
    ) -> None:
        """Repeat epochs until one changes nothing, ``max_iter`` times, or until ``on_epoch`` returns False.

        ``evaluate`` evaluates all hypotheses on the data afterwards and chooses the pocket, which reads every row once
        more; by default only where that is quick. ``last`` and ``averaged`` are always evaluated. Rows that were
        ``standardised`` are shuffled by their rounded values.
        """
        self.train_checked(
            self._check(X, y, sample_weight)._replace(standardised=standardised),
            max_iter=max_iter,
            shuffle=shuffle,
            on_epoch=on_epoch,
            evaluate=evaluate,
        )

    def train_checked(
        self,
        examples: CheckedExamples,
        *,
        max_iter: int = 10,
        shuffle: bool = True,
        on_epoch: Callable[[Epoch], bool | None] | None = None,
        evaluate: bool | None = None,
    ) -> None:
        """Repeat epochs over checked examples, as :meth:`train` does."""
        data, weight = self._add_data(examples, None, stream=False), examples.weight
        n = data.labels.size
        rounded = examples.standardised
        shuffle_of = shuffled(data.X, data.labels, self.seed, weight, rounded) if shuffle else None
        in_order = in_given_order(n, weight)
        # With delta, rows that come again get new coordinates of their own: they are other examples.
        fingerprint = None if shuffle_of is None or self.delta else shuffle_of.fingerprint
        cache = self._new_cache(data)

        def visit_all(number: int) -> bool:
            self._visit_rows(data, in_order if shuffle_of is None else shuffle_of.epoch(number), cache)
            return decays(self)

        try:
            only_these = run_epochs(self, visit_all, max_iter, on_epoch, fingerprint)
        finally:
            self.rows_seen = max(self.rows_seen, data.first_row + n)
        self.evaluations, self.pocket = evaluate_kernel(self, data, cache, weight, evaluate, only_these)

    # Predicting

    def weights(self, hypothesis: str = "averaged", normalise: bool = False) -> NDArray[Any]:
        """Return ``(rows, support rows)`` coefficients of a hypothesis that has them.

        With ``normalise``, every ``v_k`` is divided by ``‖v_k‖`` before it is averaged or compared.
        """
        run = self.run()
        if hypothesis == "last":
            last = hypotheses.last(run).copy()
            return _normalised(last, self.running["sqnorm"]) if normalise else last
        if hypothesis == "averaged":
            if normalise:
                return self.recorded_ledger().normalised_average(self.running.size, self.clock)
            return hypotheses.averaged(run)
        if hypothesis == "voted":
            raise ValueError(
                "'voted' is a vote of many hypotheses and has no coefficients of its own; use 'averaged' or another"
            )
        hypotheses.check_name(hypothesis)
        self.recorded_ledger()
        if hypothesis == "survivor":
            numbers = hypotheses.survivor_numbers(run)
        elif hypothesis == "random":
            numbers = hypotheses.drawn_numbers(run)
        elif self.pocket is None:
            raise ValueError(
                "'pocket' is chosen on the whole training set, which takes one more read of every row: call fit with "
                "hypothesis='pocket' (or train with evaluate=True), or use 'survivor', which needs no training set"
            )
        else:
            numbers = self.pocket
        coefficients = hypotheses.rebuilt(run, numbers[None])[0]
        if not normalise:
            return coefficients
        return _normalised(coefficients, hypotheses.recorded_sqnorms(run, numbers[None])[0])

    def scores(self, X: Any, hypothesis: str = "averaged", normalise: bool = False) -> NDArray[np.float64]:
        """Return the score of every row: ``(n,)`` with two classes, ``(n, classes)`` with more."""
        space = self.fitted_space()
        X = space.arrays.matrix(X, self.n_features)
        space.refuse_too_large(X)
        if hypothesis == "voted":
            scores = self._votes(X)
        else:
            scores = space.all_times(X, self.support.all(), self.weights(hypothesis, normalise).T)
        return scores[:, 0] if self.W.shape[0] == 1 else scores

    def predict(
        self, X: Any, hypothesis: str = "averaged", undecided: Any = None, normalise: bool = False
    ) -> NDArray[Any]:
        """Return the class of every row; where scores are tied, ``undecided`` if given, else the first class."""
        return decided(self.scores(X, hypothesis, normalise), self.classes, undecided)

    def _votes(self, X: Any) -> NDArray[np.float64]:
        """Return ``Σ (m_k/m)·vote of v_k``, ``(rows, classes)``: signs, or a share for the winning joint class."""
        space, ledger, support = self.fitted_space(), self.recorded_ledger(), self.support.all()
        arrays, classes = space.arrays, self.W.shape[0]
        votes = np.zeros((X.shape[0], classes))
        if support is None or not self.clock:
            return votes
        slots, at_once = ledger.support_index(), VOTED_AT_ONCE
        if not arrays.is_numpy:
            at_once = max(1, VOTES_ON_DEVICE // max(int(support.shape[0]), VOTE_LINES))
        with arrays.exact_products():
            for piece in cut(int(X.shape[0]), at_once):
                values = (  # (support rows, rows)
                    space.values(X[piece, ...], support).T
                    if isinstance(space.kernel, Precomputed)
                    else space.values(support, X[piece, ...])
                )
                if not arrays.is_numpy:
                    votes[piece] = device_votes(
                        arrays, values, ledger.entries, slots, classes, self.joint, self.clock
                    )
                    continue
                scores, own = np.zeros((2, classes, values.shape[1]))
                vote = vote_jointly if self.joint else vote_each
                vote(np.ascontiguousarray(values), ledger.entries, slots, scores, self.clock, 0.0, own)
                votes[piece] = own.T
        return votes / self.clock

    # Implementation

    def _arrays(self, X: Any) -> Arrays:
        """Return where products are computed: chosen by the first matrix."""
        return self.space.arrays if self.space else Arrays(X, *self._arrays_options)

    def _check(self, X: Any, y: Any, sample_weight: Any) -> CheckedExamples:
        """Check examples that no estimator has checked."""
        X = self._arrays(X).matrix(X)
        n = int(X.shape[0])
        classes, labels = checked_labels(to_numpy(y) if is_foreign(y) else y, n)
        return CheckedExamples(X, classes, labels, checked_weight(sample_weight, n), 0.0)

    def _add_data(self, examples: CheckedExamples, classes: Any, stream: bool) -> Data:
        """Add the classes of a batch, and return its rows on the device of the model."""
        arrays, weight = self._arrays(examples.X), examples.weight
        n_features = self.n_features if self.space and not self.precomputed else None
        X = arrays.matrix(examples.X, n_features, is_checked=True)
        n = int(X.shape[0])
        if self.space and int(X.shape[1]) < self.n_features:
            raise ValueError(f"X has {X.shape[1]} columns, but the learner has seen {self.n_features}")
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
        self.add_classes(examples.classes)
        if self.space is None:
            variance = arrays.variance(X, weight) if self.kernel_parameters[2] == "scale" else 1.0
            kernel = kernels.resolve(*self.kernel_parameters, int(X.shape[1]), variance)
            self.space = FeatureSpace(arrays, kernel, self.bias_input)
            self.space.choose_units(X)
            self.support = RowStore(arrays)
        self._n_features = int(X.shape[1])
        labels = np.searchsorted(self.classes, examples.classes)[examples.labels]
        tasks = gram_tasks(self.space, X, first_row, use_graphs=not stream and self.budget is None)
        return Data(X, labels, first_row, self.space.diagonal(X, first_row), tasks)

    def _new_cache(self, data: Data) -> GramCache | ScoreCache | None:
        """Return a cache of the scores of all examples by the coefficients as they are; None under a budget."""
        if self.budget is not None:
            return None
        space, n, support = self.fitted_space(), data.labels.size, self.support.all()
        W, average_offset = self.W[:, : self.n_support], self.average_offset[:, : self.n_support]
        if self.block_size is None and gram_fits(space, n):
            return GramCache(space, data, space.all_times(data.X, support, W.T) / space.value_scale)
        scores = space.arrays.zeros((n, 2 * W.shape[0]), "float64")
        if self.n_support:
            both = space.all_times(data.X, support, np.concatenate([W, average_offset]).T)
            scores = space.arrays.put(both / space.value_scale, "float64")
        return ScoreCache(space, data, scores)

    def _visit_rows(self, data: Data, visits: Visits, cache: GramCache | ScoreCache | None) -> None:
        """Run the rule over the visits."""
        with self.fitted_space().arrays.exact_products():
            if self.budget is not None:
                self._visit_on_budget(data, visits, self.budget)
            elif isinstance(cache, GramCache):
                self._visit_with_gram(data, visits, cache)
            else:
                self._visit_in_blocks(data, visits, cache)
        if not np.isfinite(self.running["sqnorm"]).all():
            raise ValueError(
                "the weights grew beyond what a float can hold: scale the features, or clip them"
            )

    def _visit_with_gram(self, data: Data, visits: Visits, cache: GramCache) -> None:
        """Visit every example in order; an update changes the scores of all examples by its Gram row."""
        n = data.labels.size
        changes = self._new_changes(data, n)
        block = Block(
            visits.order.astype(np.int64),
            visits.weight,
            np.arange(n),
            self._targets(data.labels),
            cache.scores,
            cache.gram,
            cache.index,
            data.diagonal,
            False,
        )
        try:
            self._run_block(data, block, changes, cache)
        finally:  # rows that moved the weights before an error are support rows too
            self._add_support(data, block.rows, changes)
            self._store_support(data)

    def _visit_in_blocks(self, data: Data, visits: Visits, cache: ScoreCache | None) -> None:
        """Visit every example in order; a cache computes the scores of a block, or all support rows do.

        The scores of a block are requested from the device first; it computes everything that does not depend on the
        block's decisions while these are made.
        """
        changes = self._new_changes(data, min(self._rows_at_once, data.labels.size))
        blocks = row_blocks(data, visits, self._rows_at_once)
        rows = next(blocks, None)
        try:
            while rows is not None:
                transfer = cache.start_scores(rows) if cache else self._start_scores(rows)
                following = next(blocks, None)
                if cache is not None:
                    cache.apply_updates(only_many=True)
                gram, scores = rows.gram.wait(), np.array(transfer.wait(), np.float64)
                block = Block(
                    rows.visits,
                    rows.weight,
                    rows.numbers,
                    self._targets(data.labels[rows.numbers]),
                    scores,
                    gram,
                    np.arange(rows.numbers.size),
                    data.diagonal[rows.numbers],
                    rows.weight.size == 0,
                )
                self._run_block(data, block, changes, cache)
                if cache is not None:
                    updated = changes.updated[: changes.counts["updated"][0]]
                    cache.add_updates(rows.numbers[updated], changes.steps[: updated.size])
                self._add_support(data, rows.numbers, changes)
                if cache is None:
                    self._store_support(data)
                rows = following
        finally:
            self._store_support(data)

    def _visit_on_budget(self, data: Data, visits: Visits, budget: int) -> None:
        """Visit every example in order with a limited number of support rows."""
        space, arrays, classes = self.fitted_space(), self.fitted_space().arrays, self.W.shape[0]
        if self.budget_slots is None:
            self.budget_slots = BudgetSlots(budget, self.forget, self.tolerance)
        slots = self.budget_slots
        if not slots.gram.size:
            slots.fill_gram(self._support_products())
        self._reserve(slots.size)
        loop_budget = slots.start(
            self.rule, self.support_rows, self.slots_of(data), self.running.size, self.seed
        )
        kernel_scale, scores = KernelScale(space.value_scale, self.delta**2), np.empty(classes)
        targets = self._targets(data.labels)
        W, average_offset = self.W[:, : slots.size], self.average_offset[:, : slots.size]
        for rows in row_blocks(data, visits, self._rows_at_once):
            support, gram = self.support.all(), rows.gram.wait()
            values = np.empty((rows.numbers.size, 0), gram.dtype)
            if support is not None:
                values = arrays.fetch("support values", space.values(rows.rows, support))
            block = BudgetBlock(rows.visits, rows.weight, rows.numbers, targets[rows.numbers], values, gram)
            loop_budget.block_rows[:] = -1
            state = State(W, average_offset, self.running, scores, self.totals)
            visit_block_on_budget(self.rule, block, kernel_scale, state, loop_budget, data.first_row)
            for slot in np.flatnonzero(loop_budget.block_rows[: slots.used] >= 0).tolist():
                place = loop_budget.block_rows[slot]
                row = space.support_rows(data.X, rows.numbers[place : place + 1], data.first_row)
                if slot < len(self.support):
                    self.support.replace(slot, row)
                else:
                    self.support.add(row)
            self.support_rows = loop_budget.examples[: slots.used].copy()

    def _run_block(
        self, data: Data, block: Block, changes: Changes, cache: GramCache | ScoreCache | None
    ) -> None:
        """Run the compiled loop over a block; write the ledger, compute the Gram rows it requests, update the cache."""
        space, counts, classes = self.fitted_space(), changes.counts, self.W.shape[0]
        kernel_scale, scores = KernelScale(space.value_scale, self.delta**2), np.empty(classes)
        visits, hypotheses_count = block.visits.size, self.running.size
        self._reserve(self.n_support + block.rows.size)
        state = State(self.W, self.average_offset, self.running, scores, self.totals)
        visited = 0
        while visited < visits:
            lines = NO_LEDGER
            if self.ledger is not None:
                lines = self.ledger.reserve(min(visits - visited, LEDGER_VISITS) * hypotheses_count)
            visited = visit_block(self.rule, block, kernel_scale, state, changes, lines, visited)
            if self.ledger is not None:
                self.ledger.written(int(self.totals["written"][0]), data.first_row)
                self.totals["written"] = 0
            if isinstance(cache, ScoreCache):
                for c, scale, scale_sum in changes.folds[: counts["folds"][0]].tolist():
                    cache.fold(c, scale, scale_sum)
            counts["folds"] = 0
            if isinstance(cache, GramCache) and counts["requested"][0]:
                cache.compute(changes.requested[: counts["requested"][0]])
                counts["requested"] = 0

    def _start_scores(self, rows: RowBlock) -> Any:
        """Begin to compute ``(classes, rows)`` scores of a block by all support rows."""
        space, n = self.fitted_space(), self.n_support
        scores = space.arrays.put(np.zeros((rows.numbers.size, self.W.shape[0])), "float64")
        if n:
            scores = space.times(rows.rows, self.support.all(), space.arrays.put(self.W[:, :n].T))
        return space.arrays.start_fetch("scores", scores.T)

    @property
    def _rows_at_once(self) -> int:
        """The number of rows in a block."""
        return self.block_size or (CPU_BLOCK if self.fitted_space().arrays.is_numpy else DEVICE_BLOCK)

    def _targets(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return labels as the loop reads them: class indices, or -1 and +1 where there are two classes."""
        return labels if self.W.shape[0] > 1 else 2 * labels - 1

    def slots_of(self, data: Data) -> NDArray[np.int64]:
        """Return the slot of every example, or -1 where it is not a support row."""
        slots = np.full(data.labels.size, -1)
        numbers = self.support_rows - data.first_row
        inside = (numbers >= 0) & (numbers < data.labels.size)
        slots[numbers[inside]] = np.flatnonzero(inside)
        return slots

    def _reserve(self, slots: int) -> None:
        """Reserve weights for this many support rows."""
        if slots > self.W.shape[1]:
            capacity = max(slots, 2 * self.W.shape[1])
            self.W, self.average_offset = widened(self.W, capacity), widened(self.average_offset, capacity)

    def _new_changes(self, data: Data, rows: int) -> Changes:
        """Return an empty record of the changes by a block of this many rows."""
        new, updated, update_index = np.full((3, rows), -1)
        steps, counts = np.zeros((rows, 2 * self.W.shape[0])), np.zeros(1, COUNTS)
        folds, requested = np.empty(FOLDS_AT_ONCE + self.running.size, FOLD), np.empty(LOOKAHEAD, np.int64)
        counts["support"] = self.n_support
        return Changes(self.slots_of(data), new, updated, update_index, steps, folds, requested, counts)

    def _add_support(self, data: Data, numbers: NDArray[np.int64], changes: Changes) -> None:
        """Take the rows that became support rows, in their order, and clear the record of changes."""
        new, updated = changes.counts["new"][0], changes.counts["updated"][0]
        if new:
            rows = numbers[changes.new[:new]] + data.first_row
            self.support_rows = np.concatenate([self.support_rows, rows])
            if self.ledger is not None:
                self.ledger.support_rows = self.support_rows
        changes.update_index[changes.updated[:updated]] = -1
        changes.steps[:updated] = 0.0
        for name in ("new", "updated", "folds", "requested"):
            changes.counts[name] = 0

    def _store_support(self, data: Data) -> None:
        """Store the support rows whose features are not stored yet."""
        new = self.support_rows[len(self.support) :] - data.first_row
        if new.size:
            self.support.add(self.fitted_space().support_rows(data.X, new, data.first_row))

    def _support_products(self) -> NDArray[np.float64]:
        """Return the products of the support rows with each other, Δ² included."""
        space, support, n = self.fitted_space(), self.support.all(), self.n_support
        if support is None:
            return np.zeros((0, 0))
        if self.precomputed:
            raise ValueError("a precomputed kernel with a budget cannot continue from a file: fit it again")
        values: NDArray[np.float64] = to_numpy(space.values(support, support)).astype(np.float64)
        return space.value_scale * values + self.delta**2 * np.eye(n)


def _normalised(coefficients: NDArray[np.float64], sqnorm: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide by the norms of the hypotheses; zero coefficients stay zero."""
    norm = np.sqrt(np.maximum(sqnorm, 0.0))
    return np.asarray(coefficients / np.where(norm > 0.0, norm, 1.0)[:, None])
