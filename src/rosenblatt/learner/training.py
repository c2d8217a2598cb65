"""The training driver: epochs, convergence, and the evaluation of hypotheses on the training data.

Linear, kernel, stream and engine training differ in how they visit the examples once (:func:`run_epochs` takes that as
a function) and in how they score them (:class:`Evaluator` takes blocks of scored rows). The rest is here.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core import hypotheses
from rosenblatt.core.state import Visits
from rosenblatt.learner.scoring import LinearScorer
from rosenblatt.learner.state import LearnerState
from rosenblatt.proofs.bounds import bound_of, signed_margins

SCORES_AT_ONCE = 1 << 22  # held while rows are scored
CANDIDATE = "candidate "  # for the pocket, followed by its number


class Epoch(NamedTuple):
    """The counts of one epoch."""

    number: int
    mistakes: int
    updates: int


class Evaluation(NamedTuple):
    """The performance of a hypothesis on the examples it was trained on."""

    margin: float  # min y·score/‖(w, b)‖; negative where an example is misclassified
    bound: float  # on the mistakes of all training so far; infinite where there is none
    accuracy: float


class BoundTerms(NamedTuple):
    """What a mistake bound depends on in addition to the margins of a hypothesis."""

    rule: Any
    radius: float
    epochs: int
    start_norm: float
    holds: bool  # the evaluated examples are all that was learned from, and each visit has weight one
    added: float = 0.0  # mistakes that a budget may have caused


# Epochs


def run_epochs(
    learner: Any,
    visit_all: Callable[[int], bool],
    max_iter: int,
    on_epoch: Callable[[Epoch], bool | None] | None = None,
    fingerprint: tuple[Any, ...] | None = None,
) -> bool:
    """Visit all examples until an epoch changes nothing, ``max_iter`` times, or until ``on_epoch`` returns False.

    Parameters
    ----------
    learner : Learner or KernelLearner
        Its ``epochs``, ``converged`` and ``learned_from`` are updated.
    visit_all : callable
        Visits every example once, given the number of epochs before; returns whether the rule shrinks the weights, so
        that they change even in an epoch without an update.
    max_iter : int
        The maximum number of epochs.
    on_epoch : callable, optional
        Called after every epoch.
    fingerprint : tuple, optional
        Identifies the examples, independently of their order.

    Returns
    -------
    bool
        Whether these examples are all that the learner ever learned from.
    """
    if max_iter < 1:
        raise ValueError(f"max_iter must be 1 or more, got {max_iter!r}")
    if fingerprint is not None:
        fingerprint = (*fingerprint, *learner.classes.tolist())  # labels are hashed by their index
    same_examples = fingerprint is not None and learner.learned_from == (learner.clock, fingerprint)
    only_these = same_examples or not learner.clock
    learner.learned_from, learner.converged = None, False  # also where an epoch is interrupted
    forget_evaluations(learner)
    for _ in range(max_iter):
        mistakes, updates = learner.mistakes, learner.updates
        shrinks = visit_all(len(learner.epochs))
        epoch = Epoch(len(learner.epochs) + 1, learner.mistakes - mistakes, learner.updates - updates)
        learner.epochs.append(epoch)
        learner.converged = epoch.updates == 0 and not shrinks
        stop = on_epoch is not None and on_epoch(epoch) is False
        if stop or learner.converged:
            break
    if only_these and fingerprint is not None:
        learner.learned_from = (learner.clock, fingerprint)  # no longer equal once the clock has moved
    return bool(only_these)


def forget_evaluations(learner: Any) -> None:
    """Discard evaluations on earlier training data, before the learner learns from more."""
    learner.evaluations, learner.pocket, learner.converged = {}, None, False


class NoImprovement:
    """A stop criterion for :func:`run_epochs`: a loss has stopped improving.

    Called after every epoch, as ``on_epoch`` is; returns False once the loss has been above ``best − tol`` in
    ``patience`` epochs in a row, as scikit-learn's stochastic gradient descent stops.

    Parameters
    ----------
    loss : callable
        Returns the current loss; less is better.
    tol : float
        The least improvement that counts.
    patience : int
        The number of epochs in a row without such an improvement after which training stops.

    Examples
    --------
    >>> losses = iter([3.0, 1.0, 0.95, 0.9])
    >>> stop = NoImprovement(lambda: next(losses), tol=0.1, patience=2)
    >>> [stop(Epoch(number, 0, 0)) for number in (1, 2, 3, 4)], stop.reached
    ([None, None, None, False], True)
    """

    def __init__(self, loss: Callable[[], float], tol: float, patience: int) -> None:
        self._loss, self._tol, self._patience = loss, tol, patience
        self._best, self._epochs_without = math.inf, 0

    @property
    def reached(self) -> bool:
        """Whether training should stop."""
        return self._epochs_without >= self._patience

    def __call__(self, epoch: Epoch) -> bool | None:
        """Measure the loss after an epoch; return False where training should stop."""
        loss = self._loss()
        self._epochs_without = self._epochs_without + 1 if loss > self._best - self._tol else 0
        self._best = min(self._best, loss)
        return False if self.reached else None


def perceptron_loss(learner: Any, hypothesis: str, X: Any, labels: NDArray[np.int64]) -> float:
    """Return the mean over rows of ``max(0, −y·score)``, the loss that Rosenblatt's rule descends.

    With several classes it is that of the true class against its best rival, or the sum over all classes, each against
    the rest, as the learner was trained.
    """
    total = 0.0
    for block, scores in _scored_blocks(learner.weights(hypothesis), X, labels.size):
        margins = signed_margins(scores, labels[block], learner.joint)
        total -= float(np.minimum(margins, 0.0).sum(dtype=np.float64))
    return total / labels.size


def error_rate(learner: Any, hypothesis: str, X: Any, labels: NDArray[np.int64]) -> float:
    """Return the fraction of rows that a hypothesis misclassifies."""
    correct = 0
    for block, scores in _scored_blocks(learner.weights(hypothesis), X, labels.size):
        correct += int(np.count_nonzero(is_correct(scores, labels[block])))
    return 1.0 - correct / labels.size


# Evaluation


class Tally(NamedTuple):
    """Counts of a hypothesis on some rows; tallies of different rows can be merged."""

    worst: NDArray[np.float64]  # the smallest y·score of each column of margins
    correct: int
    rows: int

    def merged(self, other: "Tally") -> "Tally":
        """Return the tally of both sets of rows."""
        worst = np.minimum(self.worst, other.worst)
        return Tally(worst, self.correct + other.correct, self.rows + other.rows)

    def margin(self, sqnorm: NDArray[np.float64]) -> float:
        """Return the smallest margin, given the squared norm of the weights of each column."""
        return float((self.worst / _norms(sqnorm)).min())


class Evaluator:
    """Margin, bound and accuracy of hypotheses, from blocks of scored rows.

    Parameters
    ----------
    names : list of str
        The hypotheses, in the order of their columns of scores.
    joint : bool
        Whether the true class is compared with its best rival, in one column of margins.
    margin_bytes : float
        How many bytes of margins may be held. The bound of a hypothesis that misclassifies a row needs the margins of
        all rows, and is infinite where they take more.
    """

    def __init__(self, names: list[str], joint: bool, margin_bytes: float = math.inf) -> None:
        self.names, self._joint, self._bytes_left = names, joint, margin_bytes
        self.tallies: dict[str, Tally] = {}
        self._margins: dict[str, list[NDArray[np.float64]]] = {name: [] for name in names}
        self._copies: list[NDArray[np.int64]] = []
        self._full = margin_bytes <= 0.0  # margins are no longer held

    def add(
        self, scores: NDArray[Any], labels: NDArray[np.int64], copies: NDArray[np.int64] | None = None
    ) -> None:
        """Add a block of ``(rows, hypotheses × rows of weights)`` scores; rows with zero ``copies`` are left out."""
        if copies is not None and not copies.all():
            visited = copies > 0
            scores, labels, copies = scores[visited], labels[visited], copies[visited]
        if not labels.size:
            return
        rows_of_weights = scores.shape[1] // len(self.names)
        for k, name in enumerate(self.names):
            own = scores[:, k * rows_of_weights : (k + 1) * rows_of_weights]
            margins = signed_margins(own, labels, self._joint)
            correct = margins[:, 0] > 0.0 if rows_of_weights == 1 else is_correct(own, labels)
            tally = Tally(margins.min(axis=0), int(np.count_nonzero(correct)), labels.size)
            earlier = self.tallies.get(name)
            self.tallies[name] = tally if earlier is None else earlier.merged(tally)
            if not self._full:
                self._margins[name].append(margins)
                self._bytes_left -= margins.nbytes
        if not self._full:
            self._copies.append(np.ones(labels.size, np.int64) if copies is None else copies)
            self._bytes_left -= self._copies[-1].nbytes
        if self._bytes_left < 0.0:
            self._full, self._copies, self._margins = True, [], {name: [] for name in self.names}

    def evaluation(self, name: str, sqnorm: NDArray[np.float64], terms: BoundTerms) -> Evaluation:
        """Evaluate one hypothesis, given the squared norm of its weights for each column of margins."""
        tally = self.tallies[name]
        margin = tally.margin(sqnorm)
        if self._full and margin <= 0.0:
            bound = math.inf
        else:
            margins, copies = tally.worst[None], None
            if not self._full:
                margins, copies = np.concatenate(self._margins[name]), np.concatenate(self._copies)
            bound = _bound(margins, copies, sqnorm, margin, terms) + terms.added
        return Evaluation(margin, bound, tally.correct / tally.rows)

    def best(self, names: list[str]) -> str:
        """Return the hypothesis with the most correct rows, the first of equals."""
        return max(names, key=lambda name: self.tallies[name].correct)


def evaluate_linear(
    learner: Any, X: Any, labels: NDArray[np.int64], visits: Visits, only_these: bool
) -> None:
    """Evaluate every hypothesis that has weights on the training examples in memory; choose the pocket."""
    copies = None
    if visits.weight.size:
        copies = np.bincount(visits.order.astype(np.int64), minlength=labels.size)
    all_weigh_one = bool((visits.weight == 1.0).all())
    terms = BoundTerms(
        learner.rule, learner.radius, len(learner.epochs), learner.start_norm, all_weigh_one and only_these
    )
    weights = scored_weights(learner)
    each = learner.running.size * labels.size  # margins of one hypothesis
    margin_bytes = math.inf if len(weights) * each <= SCORES_AT_ONCE else 0.0
    evaluator = evaluator_on(weights, X, labels, copies, learner.joint, margin_bytes)
    names = chosen_names(evaluator)
    if "pocket" in names:
        learner.pocket = weights[names["pocket"]]
    for group in [[*names]] if margin_bytes else _groups([*names], each):
        with_margins = evaluator
        if not margin_bytes:  # the margins of all hypotheses would take too much memory at once
            own = {names[name]: weights[names[name]] for name in group}
            with_margins = evaluator_on(own, X, labels, copies, learner.joint)
        for name in group:
            sqnorm = column_sqnorms(weights[names[name]], learner.joint)
            evaluation = with_margins.evaluation(names[name], sqnorm, terms)
            margin = evaluator.tallies[names[name]].margin(sqnorm)
            learner.evaluations[name] = evaluation._replace(margin=margin)


def margin_on(learner: Any, hypothesis: str, X: Any, labels: NDArray[np.int64]) -> float:
    """Return the margin of a hypothesis on rows: exactly the number that training reports for the same rows.

    The same weights are scored together as in training, because products of other matrices round differently.
    """
    weights = scored_weights(learner)
    name, own = hypothesis, learner.weights(hypothesis)
    if hypothesis not in weights:
        same = [other for other in weights if np.array_equal(weights[other], own)]
        name = same[0] if same else hypothesis
        weights.setdefault(name, own)
    evaluator = evaluator_on(weights, X, labels, None, learner.joint, margin_bytes=0.0)
    return evaluator.tallies[name].margin(column_sqnorms(own, learner.joint))


def scored_weights(learner: Any) -> dict[str, NDArray[Any]]:
    """Return the weights to evaluate, each once: ``last``, ``averaged``, ``random`` and candidates for the pocket."""
    weights: dict[str, NDArray[Any]] = {}
    if learner.ledger is not None:
        records, weights["random"] = hypotheses.records_and_drawn(learner.run())
        weights |= {f"{CANDIDATE}{k}": record for k, record in enumerate(records)}
    return weights | {"last": learner.weights("last"), "averaged": learner.weights("averaged")}


def chosen_names(evaluator: Evaluator) -> dict[str, str]:
    """Return, for every hypothesis in the order of ``hypotheses.NAMES``, its name among those that were scored."""
    names = {name: name for name in evaluator.names if not name.startswith(CANDIDATE)}
    candidates = [name for name in evaluator.names if name.startswith(CANDIDATE)]
    if candidates:
        names |= {"survivor": candidates[-1], "pocket": evaluator.best([*candidates, "last"])}
    return {name: names[name] for name in hypotheses.NAMES if name in names}


def evaluator_on(
    weights: dict[str, NDArray[Any]],
    X: Any,
    labels: NDArray[np.int64],
    copies: NDArray[np.int64] | None,
    joint: bool,
    margin_bytes: float = math.inf,
) -> Evaluator:
    """Score rows in memory by the weights of several hypotheses, block by block."""
    evaluator = Evaluator([*weights], joint, margin_bytes)
    for block, scores in _scored_blocks(np.concatenate([*weights.values()]), X, labels.size):
        evaluator.add(scores, labels[block], None if copies is None else copies[block])
    return evaluator


def column_sqnorms(weights: NDArray[Any], joint: bool) -> NDArray[np.float64]:
    """Return ``‖w‖²`` for each column of margins: of all classes together where they are joint, else of each."""
    sqnorm = (weights.astype(np.float64) ** 2).sum(axis=1)
    return np.array([sqnorm.sum()]) if joint else sqnorm


def is_correct(scores: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows are classified correctly."""
    if scores.shape[1] == 1:
        return np.asarray(scores[:, 0] * (2 * labels - 1) > 0.0)
    return np.asarray(np.argmax(scores, axis=1) == labels)


def decays(learner: LearnerState) -> bool:
    """Return whether weights were shrunk since their last update."""
    return bool((learner.running["decay"] != 1.0).any())


def _bound(
    margins: NDArray[np.float64],
    copies: NDArray[np.int64] | None,
    sqnorm: NDArray[np.float64],
    margin: float,
    terms: BoundTerms,
) -> float:
    """Return the rule's bound on the mistakes, infinity where it has none."""
    if not terms.holds or not hasattr(terms.rule, "bound_coefficients"):
        return math.inf
    if terms.start_norm > 0.0:
        if margin <= 0.0 or sqnorm.size > 1:
            return math.inf
        return float(terms.rule.mistakes_at_most(terms.radius, margin, terms.start_norm))
    norm, hinge = terms.rule.bound_coefficients(terms.radius)
    if copies is not None and (copies > 1).any():  # every visit may be a mistake
        margins = np.repeat(margins, copies, axis=0)
    total = 0.0
    for h in range(sqnorm.size):
        if math.isinf(hinge) and margins[:, h].min() <= 0.0:
            return math.inf
        hinge_weight = terms.epochs * hinge / 2.0 if math.isfinite(hinge) else 1.0
        total += bound_of(margins[:, h], float(sqnorm[h]), math.sqrt(norm), hinge_weight)
    return total


def _norms(sqnorm: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return norms to divide scores by: one for zero weights, whose scores are zero."""
    return np.where(sqnorm > 0.0, np.sqrt(np.maximum(sqnorm, 0.0)), 1.0)


def _scored_blocks(weights: NDArray[Any], X: Any, rows: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield blocks of rows and their ``(rows, rows of weights)`` scores; weights of further features are left out."""
    scorer = LinearScorer(X, weights[:, : 1 + X.shape[1]])
    at_once = max(1, SCORES_AT_ONCE // weights.shape[0])
    for first in range(0, rows, at_once):
        block = slice(first, min(first + at_once, rows))
        yield block, scorer.scores(block)


def _groups(names: list[str], margins: int) -> Iterator[list[str]]:
    """Split hypotheses, each with this many margins, into groups that are evaluated together."""
    at_once = max(1, SCORES_AT_ONCE // max(1, margins))
    for first in range(0, len(names), at_once):
        yield names[first : first + at_once]
