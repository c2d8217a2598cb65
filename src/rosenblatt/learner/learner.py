"""The learner: it holds a hypothesis, sees an example, predicts, is told the truth, and moves as its rule says."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.core.geometry import through_link
from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.order import Shuffle, in_given_order
from rosenblatt.core.rows import Rows, flat, laid_out, rows_of
from rosenblatt.core.state import State, Visits
from rosenblatt.data.matrix import checked_matrix, encoded
from rosenblatt.learner.evaluation import Bounded, Standing, hyperplanes, standings
from rosenblatt.learner.examples import Checked, checked_examples
from rosenblatt.learner.scoring import decided, linear_scores
from rosenblatt.learner.speculative import learn_speculatively, parts_of
from rosenblatt.learner.state import LearnerState

MULTI_CLASS = ("joint", "ovr")
FEW_MOVES = 1  # of one call, that let others look ahead in the next
LEDGER_AT_ONCE = 1 << 16  # lines offered to a pass before it must ask for more


class Epoch(NamedTuple):
    """What one pass did."""

    number: int
    mistakes: int
    updates: int


class Learner(LearnerState):
    """State, passes and hypotheses in one object that knows nothing of files or estimators.

    Parameters
    ----------
    rule : a rule object or its name
    multi_class : ``"joint"`` (the true class against its best rival) or ``"ovr"`` (every class for itself)
    fit_intercept : learn a bias, as the weight of an always-one coordinate
    keep_ledger : record every update, which all hypotheses but ``last`` and ``averaged`` are read from; a rule with a
        variance per weight (AROW) or a link (ALMA with p above 2) moves by more than multiples of examples and has no
        ledger
    seed : of the shuffle and of the ``random`` hypothesis

    Examples
    --------
    >>> learner = Learner()
    >>> learner.learn([[2.0, 1.0], [-1.0, -1.0]], ["up", "down"])
    Epoch(number=1, mistakes=1, updates=1)
    >>> learner.predict([[1.0, 1.0]])
    array(["target"], dtype='<U4')
    """

    _calm = False  # whether the last visits hardly moved: then others may look ahead

    def __init__(
        self,
        rule: Any = "rosenblatt",
        *,
        multi_class: str = "joint",
        fit_intercept: bool = True,
        keep_ledger: bool = True,
        seed: int = 0,
    ) -> None:
        if multi_class not in MULTI_CLASS:
            raise ValueError(f"multi_class must be one of {', '.join(MULTI_CLASS)}, got {multi_class!r}")
        self.rule = rules.resolve(rule)
        geometry = rules.geometry_of(self.rule)
        has_ledger = isinstance(geometry, rules.Euclidean)  # elsewhere a step is no multiple of its example
        super().__init__(multi_class, 1.0 if fit_intercept else 0.0, keep_ledger and has_ledger, geometry)
        self.seed = seed
        self.epochs: list[Epoch] = []
        self.converged = False  # whether the last training ended with a pass that made no update
        self.standings: dict[str, Standing] = {}
        self.pocket: NDArray[Any] | None = None

    # Learning

    def start_from(self, coef: Any, intercept: Any = 0.0, classes: Any = None) -> None:
        """Begin with these weights instead of zero: one row per class, or one in all for two classes."""
        if self.clock:
            raise ValueError(
                "the learner has already learned: start weights must come before the first example"
            )
        if classes is not None:
            self.add_classes(encoded(classes)[0])
        self.set_start(coef, intercept)

    def learn(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Epoch:
        """See the examples once, in the given order; classes and features not met before are taken in."""
        return self.learn_checked(checked_examples(X, y, sample_weight), classes)

    def learn_checked(self, examples: Checked, classes: Any = None, threads: int = 1) -> Epoch:
        """Do what :meth:`learn` does, with examples that were checked before; threads change nothing but the time."""
        X, labels = examples.X, self._take_in(examples, classes)
        before = len(self.ledger) if self.ledger is not None else 0
        visits = in_given_order(X.shape[0], examples.weight)
        epoch = self._pass(rows_of(X), self._truth(labels), visits, threads)
        if self.ledger is not None:
            self.ledger.remember(X, self.rows_seen, before)
        self.rows_seen += X.shape[0]
        self.standings, self.pocket, self.converged = {}, None, False
        return epoch

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
        max_sqnorm: float | None = None,
    ) -> None:
        """Cycle over the examples until a pass makes no update, ``max_iter`` times, or ``on_epoch`` says False.

        More threads shorten epochs with few updates and change nothing else. A caller that has checked the rows passes
        ``max_sqnorm``, their largest ``‖x‖²``.
        """
        examples = checked_examples(X, y, sample_weight, max_sqnorm=max_sqnorm)
        X, weight, labels = examples.X, examples.weight, self._take_in(examples)
        rows, truth = rows_of(X), self._truth(labels)
        shuffled = Shuffle(rows, labels, self.seed, weight) if shuffle else None
        visits = in_given_order(X.shape[0], weight)
        before = len(self.ledger) if self.ledger is not None else 0
        self.converged = False
        for _ in range(max_iter):
            if shuffled is not None:
                visits = shuffled.epoch(len(self.epochs))
            epoch = self._pass(rows, truth, visits, threads)
            stop = on_epoch is not None and on_epoch(epoch) is False
            if (
                epoch.updates == 0 and (self.running["decay"] == 1.0).all()
            ):  # nothing moved, not even a shrink
                self.converged = True
                break
            if stop:
                break
        if self.ledger is not None:
            self.ledger.remember(X, self.rows_seen, before)
        self.rows_seen += X.shape[0]
        self._evaluate(X, labels, visits)

    # Predicting

    def weights(self, hypothesis: str = "averaged") -> NDArray[Any]:
        """Return ``(rows, 1 + features)`` weights of a hypothesis that has them, the bias first."""
        run = self._run()
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
                    "the pocket is chosen on a whole training set: it is known after fit with keep_ledger=True, "
                    "not after learning batch by batch; 'survivor' needs no training set"
                )
            return self.pocket
        hypotheses.check_name(hypothesis)
        raise ValueError(
            "'voted' is a vote of many hyperplanes and has no weights of its own; 'averaged' has"
        )

    def scores(self, X: Any, hypothesis: str = "averaged") -> NDArray[Any]:
        """Return the score of every row: ``(n,)`` with two classes, ``(n, classes)`` with more."""
        X = checked_matrix(X, n_features=self.n_features)
        if hypothesis == "voted":
            found = hypotheses.votes(self._run(), X)
        else:
            found = linear_scores(X, self.weights(hypothesis))
        return found[:, 0] if self.W.shape[0] == 1 else found

    def predict(self, X: Any, hypothesis: str = "averaged", undecided: Any = None) -> NDArray[Any]:
        """Return the class of every row; where no class is ahead, ``undecided`` if given, else the first."""
        return decided(self.scores(X, hypothesis), self.classes, undecided)

    # Inside

    def _take_in(self, examples: Checked, classes: Any = None) -> NDArray[np.int64]:
        """Meet the classes and features of a batch and return its labels as indices."""
        X, met, index = examples.X, examples.classes, examples.labels
        if classes is not None:
            self.add_classes(encoded(classes)[0])
        self.add_classes(met)
        if not self.clock and not self.W.any():
            self.W = self.W.astype(X.dtype)
        elif X.dtype == np.float64:
            self.W = self.W.astype(np.float64, copy=False)
        self.add_features(X.shape[1])
        self.include_sqnorm(examples.max_sqnorm)
        places = np.searchsorted(self.classes, met)
        return index if (places == np.arange(met.size)).all() else places[index]

    def _truth(self, labels: NDArray[np.int64]) -> NDArray[Any]:
        """Return labels as passes take them: the signs of two classes in a byte."""
        return labels if self.W.shape[0] > 1 else (2 * labels - 1).astype(np.int8)

    def _pass(self, rows: Rows, truth: NDArray[Any], visits: Visits, threads: int = 1) -> Epoch:
        """Run the rule over the visits and note what it did."""
        self.W, self.average_offset = laid_out(rows, self.W), laid_out(rows, self.average_offset)
        scores = np.empty(
            self.W.shape[0], np.float64 if isinstance(self.geometry, rules.PNorm) else self.W.dtype
        )
        state = State(flat(rows, self.W), flat(rows, self.average_offset), self.running, scores, self.totals)
        if self.S is not None:
            self.S = laid_out(rows, self.S)
            state = state._replace(beside=flat(rows, self.S))
        if rows.indices is not None and not self.updates:
            state = state._replace(marks=np.zeros(self.n_features, np.uint8))
        mistakes, updates, done = self.mistakes, self.updates, 0
        while done < visits.order.size:
            left = Visits(visits.order[done:], visits.weight[done:])
            lines = NO_LEDGER
            if self.ledger is not None:
                lines = self.ledger.room(min(LEDGER_AT_ONCE, left.order.size) * self.running.size)
            moved, numbers = self.updates, rows.values.size // truth.size * left.order.size
            parts = parts_of(numbers, left, self.running, self.clock, threads) if self._calm else 1
            done += learn_speculatively(
                self.rule, self.geometry, rows, truth, left, self.bias_input, state, lines, parts
            )
            self._calm = self.updates - moved <= FEW_MOVES
            if self.ledger is not None:
                self.ledger.written(int(self.totals["written"][0]), self.rows_seen)
                self.totals["written"] = 0
        if not np.isfinite(self.running["sqnorm"]).all():
            raise ValueError(
                "the weights grew beyond what a float can hold: scale the features, or clip them"
            )
        epoch = Epoch(len(self.epochs) + 1, self.mistakes - mistakes, self.updates - updates)
        self.epochs.append(epoch)
        return epoch

    def _run(self) -> hypotheses.Run:
        if not self.classes.size:
            raise ValueError("the learner has not learned yet: call learn or train first")
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
        """Return the run of the weights, where the run is of the vector that the link turns into them."""
        running = run.running.copy()
        running["scale"], running["scale_sum"] = 1.0, 0.0
        last = through_link(hypotheses.last(run), p, self.joint)
        mean = through_link(hypotheses.averaged(run), p, self.joint)
        return run._replace(W=last, average_offset=-run.clock * mean, running=running)

    def _evaluate(self, X: Any, labels: NDArray[np.int64], visits: Visits) -> None:
        """Measure every hyperplane of the run on the data it was trained on."""
        copies = (
            np.bincount(visits.order.astype(np.int64), minlength=labels.size) if visits.weight.size else None
        )
        whole = bool((visits.weight == 1.0).all())
        bounded = Bounded(self.rule, self.radius, len(self.epochs), self.start_norm, whole, copies)
        found = hyperplanes(self._run(), X, labels)
        self.pocket = found.get("pocket")
        self.standings = standings(found, X, labels, self.joint, bounded)
