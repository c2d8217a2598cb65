"""The learner: it predicts an example, sees the true label, and updates its weights as its rule says."""

from collections.abc import Callable
from concurrent.futures import wait
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.core.geometry import through_link
from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.loop import learn
from rosenblatt.core.order import Shuffle, in_given_order
from rosenblatt.core.rows import Rows, flat, laid_out, rows_of
from rosenblatt.core.state import State, Visits
from rosenblatt.core.threads import MIN_NUMBERS, thread_pool
from rosenblatt.data.matrix import checked_matrix, encoded
from rosenblatt.learner.examples import CheckedExamples, checked_examples
from rosenblatt.learner.scoring import decided, linear_scores
from rosenblatt.learner.state import LearnerState
from rosenblatt.learner.training import (
    Epoch,
    Evaluation,
    decays,
    evaluate_linear,
    forget_evaluations,
    run_epochs,
)
from rosenblatt.rules.base import PER_COORDINATE

if TYPE_CHECKING:
    from rosenblatt.storage import Content

MULTI_CLASS = ("joint", "ovr")
FEW_UPDATES = 1  # in one call of the loop, so that the next one may be speculative
LEDGER_AT_ONCE = 1 << 16  # visits for which the ledger reserves lines in one call of the loop


class Learner(LearnerState):
    """State, training and hypotheses of a linear learner, independent of files and estimators.

    Parameters
    ----------
    rule : str or rule
        A rule object or its name.
    eta : float or None
        The learning rate of a rule given by name; None is the rule's default.
    multi_class : {"joint", "ovr"}
        The true class against its best rival, or every class against the rest.
    fit_intercept : bool
        Learn a bias, as the weight of a constant input of 1.
    keep_ledger : bool
        Record every update: all hypotheses but ``last`` and ``averaged`` are read from the record. Rules whose steps
        are not multiples of examples (AROW, NAG, ScInOL, ALMA with p above 2) have no ledger.
    seed : int
        Seed of the shuffle and of the ``random`` hypothesis.

    Examples
    --------
    >>> learner = Learner()
    >>> learner.learn([[2.0, 1.0], [-1.0, -1.0]], ["up", "down"])
    Epoch(number=1, mistakes=1, updates=1)
    >>> learner.predict([[1.0, 1.0]])
    array(['up'], dtype='<U4')
    """

    kind = "learner"  # of its model file, see rosenblatt.storage
    # The running statistics by which a stream standardises its rows, see core.scaling.
    statistics: NDArray[Any] | None = None
    candidates: Any = None  # other learners that a stream trains and its file holds, see streams.model_file
    # Whether the last call of the loop made few updates, so that the next one may be speculative.
    _few_updates = False

    def __init__(
        self,
        rule: Any = "rosenblatt",
        *,
        eta: float | None = None,
        multi_class: str = "joint",
        fit_intercept: bool = True,
        keep_ledger: bool = True,
        seed: int = 0,
    ) -> None:
        if multi_class not in MULTI_CLASS:
            raise ValueError(f"multi_class must be one of {', '.join(MULTI_CLASS)}, got {multi_class!r}")
        self.rule = rules.resolve(rule, eta)
        geometry = rules.geometry_of(self.rule)
        # In other geometries a step is not a multiple of its example.
        has_ledger = isinstance(geometry, rules.Euclidean)
        super().__init__(multi_class, 1.0 if fit_intercept else 0.0, keep_ledger and has_ledger, geometry)
        self.seed = seed
        self.epochs: list[Epoch] = []
        self.converged = False  # whether the last training ended with an epoch that changed nothing
        self.evaluations: dict[str, Evaluation] = {}  # of hypotheses, on the examples of the last training
        self.pocket: NDArray[Any] | None = None

    @classmethod
    def from_content(cls, content: "Content") -> Self:
        """Rebuild a learner from a checked file."""
        learner = cls(**content.settings, keep_ledger="ledger.row" in content.arrays)
        epochs = [Epoch(*counts) for counts in content["epochs"]]
        evaluations = {name: Evaluation(*values) for name, values in content["standings"].items()}
        content.restore(learner, epochs=epochs, evaluations=evaluations)
        if learner.ledger is not None:  # version 0.1 wrote float64 start weights beside float32 ones
            learner.ledger.start = learner.ledger.start.astype(learner.W.dtype, copy=False)
        return learner

    # Learning

    def start_from(self, coef: Any, intercept: Any = 0.0, classes: Any = None) -> None:
        """Start from these weights instead of zero: one row per class, or a single one for two classes."""
        if self.clock:
            raise ValueError(
                "start weights must be set before the first example, but this learner has already learned: fit a new "
                "model, with warm_start=False"
            )
        if classes is not None:
            self.add_classes(encoded(classes)[0])
        self.set_start(coef, intercept)

    def learn(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Epoch:
        """Visit the examples once, in the given order; classes and features not seen before are added."""
        return self.learn_checked(checked_examples(X, y, sample_weight), classes)

    def learn_checked(self, examples: CheckedExamples, classes: Any = None, threads: int = 1) -> Epoch:
        """Visit checked examples once, in the given order; threads change only the time it takes."""
        mistakes, updates = self.mistakes, self.updates
        self.visit(examples, classes, threads)
        self.learned_from = None
        forget_evaluations(self)
        self.epochs.append(Epoch(len(self.epochs) + 1, self.mistakes - mistakes, self.updates - updates))
        return self.epochs[-1]

    def visit(self, examples: CheckedExamples, classes: Any = None, threads: int = 1) -> None:
        """Visit examples once, in the given order, as an epoch or a part of one; the caller counts epochs."""
        X, labels = examples.X, self._add_classes_and_features(examples, classes)
        before = len(self.ledger) if self.ledger is not None else 0
        try:
            self._visit_rows(
                rows_of(X), self._signs(labels), in_given_order(X.shape[0], examples.weight), threads
            )
        finally:  # the ledger must store the rows that it refers to, also where the weights grew too large
            if self.ledger is not None:
                self.ledger.remember(X, self.rows_seen, before)
            self.rows_seen += X.shape[0]

    def begin(self, examples: CheckedExamples) -> NDArray[Any]:
        """Add the classes and features of examples; return their labels as :meth:`visit_rows` takes them."""
        return self._signs(self._add_classes_and_features(examples))

    def visit_rows(self, rows: Rows, labels: NDArray[Any], visits: Visits) -> None:
        """Visit some of the rows, as a part of an epoch; the caller counts epochs and numbers rows."""
        self._visit_rows(rows, labels, visits)

    def train(
        self,
        X: Any,
        y: Any,
        *,
        max_iter: int = 10,
        shuffle: bool = True,
        sample_weight: Any = None,
        on_epoch: Callable[[Epoch], bool | None] | None = None,
        threads: int = 1,
    ) -> None:
        """Repeat epochs until one changes nothing, ``max_iter`` times, or until ``on_epoch`` returns False.

        More threads shorten epochs with few updates and change nothing else.
        """
        self.train_checked(
            checked_examples(X, y, sample_weight),
            max_iter=max_iter,
            shuffle=shuffle,
            on_epoch=on_epoch,
            threads=threads,
        )

    def train_checked(
        self,
        examples: CheckedExamples,
        *,
        max_iter: int = 10,
        shuffle: bool = True,
        on_epoch: Callable[[Epoch], bool | None] | None = None,
        threads: int = 1,
    ) -> None:
        """Repeat epochs over checked examples, as :meth:`train` does."""
        X, weight, labels = examples.X, examples.weight, self._add_classes_and_features(examples)
        rows, signs = rows_of(X), self._signs(labels)
        in_order = in_given_order(X.shape[0], weight)
        shuffled = Shuffle(rows, labels, self.seed, weight, examples.standardised) if shuffle else None
        fingerprint = None if shuffled is None else shuffled.fingerprint
        before = len(self.ledger) if self.ledger is not None else 0

        def visit_all(number: int) -> bool:
            visits = in_order if shuffled is None else shuffled.epoch(number)
            if isinstance(self.geometry, PER_COORDINATE):
                self.running["decay"] = (
                    1.0  # less than one after this epoch if a larger value shrank a weight
                )
            self._visit_rows(rows, signs, visits, threads)
            return decays(self)

        try:
            only_these = run_epochs(self, visit_all, max_iter, on_epoch, fingerprint)
        finally:  # the ledger must store the rows that it refers to, also after an interrupt
            if self.ledger is not None:
                self.ledger.remember(X, self.rows_seen, before)
            self.rows_seen += X.shape[0]
        evaluate_linear(self, X, labels, in_order, only_these)

    # Predicting

    def weights(self, hypothesis: str = "averaged") -> NDArray[Any]:
        """Return ``(rows, 1 + features)`` weights of a hypothesis that has them, the bias first.

        Of a learner that standardises its rows they are the weights for the values as they are.
        """
        weights = self.stored_weights(hypothesis)
        if self.statistics is None:
            return weights
        from rosenblatt.core.scaling import folded

        return folded(weights, self.statistics)

    def stored_weights(self, hypothesis: str) -> NDArray[Any]:
        """Return the weights of a hypothesis for rows as they are learned from."""
        run = self.run()
        if hypothesis == "last":
            return hypotheses.last(run)
        if hypothesis == "averaged":
            return hypotheses.averaged(run)
        if hypothesis == "survivor":
            return hypotheses.survivor(run)
        if hypothesis == "random":
            return hypotheses.drawn(run)
        if hypothesis == "pocket":
            if self.pocket is None:
                raise ValueError(
                    "'pocket' is chosen on the whole training set, after fit with keep_ledger=True and not after "
                    "partial_fit: call fit, or use 'survivor', which needs no training set"
                )
            return self.pocket
        hypotheses.check_name(hypothesis)
        raise ValueError(
            "'voted' is a vote of many hyperplanes and has no weights of its own; use another one, as 'averaged'"
        )

    def scores(self, X: Any, hypothesis: str = "averaged") -> NDArray[Any]:
        """Return the score of every row: ``(n,)`` with two classes, ``(n, classes)`` with more."""
        X = checked_matrix(X, n_features=self.n_features)
        if self.statistics is not None:
            from rosenblatt.core.scaling import scaled_matrix

            X = scaled_matrix(self.statistics, X)
        if hypothesis == "voted":
            scores: NDArray[Any] = hypotheses.votes(self.run(), X)
        else:
            scores = linear_scores(X, self.stored_weights(hypothesis))
        return scores[:, 0] if self.W.shape[0] == 1 else scores

    def predict(self, X: Any, hypothesis: str = "averaged", undecided: Any = None) -> NDArray[Any]:
        """Return the class of every row; where scores are tied, ``undecided`` if given, else the first class."""
        return decided(self.scores(X, hypothesis), self.classes, undecided)

    # Implementation

    def _add_classes_and_features(self, examples: CheckedExamples, classes: Any = None) -> NDArray[np.int64]:
        """Add the classes and features of a batch; return its labels as indices into ``self.classes``."""
        if classes is not None:
            self.add_classes(encoded(classes)[0])
        self.add_classes(examples.classes)
        self.cast_weights(examples.X.dtype)
        self.add_features(examples.X.shape[1])
        self.include_sqnorm(examples.max_sqnorm)
        index = np.searchsorted(self.classes, examples.classes)
        same = (index == np.arange(index.size)).all()
        return examples.labels if same else index[examples.labels]

    def _signs(self, labels: NDArray[np.int64]) -> NDArray[Any]:
        """Return labels as the loop reads them: class indices, or -1 and +1 as int8 where there are two classes."""
        return labels if self.W.shape[0] > 1 else (2 * labels - 1).astype(np.int8)

    def _visit_rows(self, rows: Rows, labels: NDArray[Any], visits: Visits, threads: int = 1) -> None:
        """Run the rule over the visits."""
        self.W, self.average_offset = laid_out(rows, self.W), laid_out(rows, self.average_offset)
        scores = np.empty(
            self.W.shape[0], np.float64 if isinstance(self.geometry, rules.PNorm) else self.W.dtype
        )
        state = State(flat(rows, self.W), flat(rows, self.average_offset), self.running, scores, self.totals)
        if self.S is not None:
            self.S = laid_out(rows, self.S)
            state = state._replace(auxiliary=flat(rows, self.S))
        if rows.indices is not None and not self.updates:
            state = state._replace(marks=np.zeros(self.n_features, np.uint8))
        visited = 0
        while visited < visits.order.size:
            rest = Visits(visits.order[visited:], visits.weight[visited:])
            lines = NO_LEDGER
            if self.ledger is not None:
                lines = self.ledger.reserve(min(LEDGER_AT_ONCE, rest.order.size) * self.running.size)
            updates, parts = self.updates, 1
            # In these geometries a visit may change weights without an update.
            if self._few_updates and not isinstance(self.geometry, PER_COORDINATE):
                numbers = rows.values.size // labels.size * rest.order.size
                parts = number_of_parts(numbers, rest, self.running, self.clock, threads)
            visited += learn_speculatively(
                self.rule, self.geometry, rows, labels, rest, self.bias_input, state, lines, parts
            )
            self._few_updates = self.updates - updates <= FEW_UPDATES
            if self.ledger is not None:
                self.ledger.written(int(self.totals["written"][0]), self.rows_seen)
                self.totals["written"] = 0
        if not np.isfinite(self.running["sqnorm"]).all():
            raise ValueError(
                "the weights grew beyond what a float can hold: scale the features, or clip them"
            )

    def run(self) -> hypotheses.Run:
        """Return the training run, from which hypotheses are read."""
        if not self.classes.size:
            raise ValueError("the learner is not trained yet: call learn or train first")
        run = hypotheses.Run(
            self.W,
            self.average_offset,
            self.running,
            self.clock,
            self.bias_input,
            self.joint,
            self.ledger,
            self.seed,
        )
        return self._linked(run, self.geometry.p) if isinstance(self.geometry, rules.PNorm) else run

    def _linked(self, run: hypotheses.Run, p: float) -> hypotheses.Run:
        """Return a run with the weights in place of the vector ``θ``, which the p-norm link turns into weights."""
        running = run.running.copy()
        running["scale"], running["scale_sum"] = 1.0, 0.0
        last = through_link(hypotheses.last(run), p, self.joint)
        mean = through_link(hypotheses.averaged(run), p, self.joint)
        return run._replace(W=last, average_offset=-run.clock * mean, running=running)


# One epoch on several threads, with exactly the result of one thread: an epoch over examples that are mostly classified
# correctly makes few updates. So other threads visit the later parts of the epoch speculatively. They start from the
# state that results if no earlier visit makes an update or a mistake, and stop before their own first one. Where that
# assumption turns out to be true, their result is the result of one thread and is used; otherwise it is discarded.


def number_of_parts(numbers: int, visits: Visits, running: Any, clock: float, max_parts: int) -> int:
    """Return how many parts to cut visits into, whose rows hold this many numbers.

    It is one where the state at the start of a later part cannot be predicted to the last bit.
    """
    if max_parts == 1 or running.size > 1 or visits.weight.size:
        return 1
    # Sums of integers are exact: counted one by one or all at once, they are the same.
    integers = (
        running["scale"][0] == 1.0 and float(running["scale_sum"][0]).is_integer() and clock.is_integer()
    )
    # Every part has at least one visit.
    return max(1, min(max_parts, numbers // MIN_NUMBERS, visits.order.size)) if integers else 1


def learn_speculatively(
    rule: Any,
    geometry: Any,
    rows: Rows,
    labels: Any,
    visits: Visits,
    bias_input: float,
    state: State,
    ledger: Any,
    parts: int,
) -> int:
    """Run ``learn`` with every part of the visits in its own thread; return the number of visits made."""
    if parts == 1:
        return int(learn(rule, geometry, rows, labels, visits, bias_input, state, ledger, False))
    cuts = [visits.order.size * k // parts for k in range(parts + 1)]
    part_visits = [Visits(visits.order[a:b], visits.weight) for a, b in pairwise(cuts)]
    part_states = [_after_visits_without_update(state, visited) for visited in cuts[1:-1]]
    others = [
        thread_pool().submit(learn, rule, geometry, rows, labels, part, bias_input, own, NO_LEDGER, True)
        for part, own in zip(part_visits[1:], part_states, strict=True)
    ]
    predicted = _after_visits_without_update(state, cuts[1])
    try:
        visited = int(learn(rule, geometry, rows, labels, part_visits[0], bias_input, state, ledger, False))
    finally:
        wait(others)  # they read arrays that the caller may free
    prediction_holds = visited == cuts[1] and _same(predicted, state)
    for other, own, part in zip(others, part_states, part_visits[1:], strict=True):
        if not prediction_holds or other.exception() is not None:  # the caller visits this part again
            break
        state.running[:], state.totals[:] = own.running, own.totals
        visited += int(other.result())
        prediction_holds = other.result() == part.order.size
    return visited


def _after_visits_without_update(state: State, visits: int) -> State:
    """Return a copy of the state as it is after visits that make no update and no mistake."""
    running, totals = state.running.copy(), state.totals.copy()
    running["scale_sum"] += visits
    totals["clock"] += visits
    return state._replace(running=running, totals=totals, scores=np.empty_like(state.scores))


def _same(one: State, other: State) -> bool:
    """Return whether two states have the same running scalars and totals."""
    return bool((one.totals == other.totals).all() and (one.running == other.running).all())
