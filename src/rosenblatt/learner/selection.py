"""Folds and out-of-fold scores: the score of every row by a learner that never saw it.

Estimates (:mod:`rosenblatt.learner.estimate`), probabilities and choices are computed from out-of-fold scores. Since an
epoch over many rows takes as long as reading them from memory, the learners of all folds visit a block of rows before
any of them goes on to the next block: the rows are read from memory once, and from the cache by all other learners. The
result is exactly that of separate trainings.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.order import Shuffle, in_given_order, row_keys
from rosenblatt.core.rows import Rows, rows_of
from rosenblatt.core.state import Visits
from rosenblatt.core.threads import parts_of_work, thread_pool
from rosenblatt.learner.examples import CheckedExamples, canonical_matrix, max_row_sqnorm
from rosenblatt.learner.learner import Learner
from rosenblatt.learner.training import Epoch, decays, evaluate_linear

BLOCK_BYTES = 1 << 19  # of rows that all learners visit in turn: half of a core's own cache
CACHED_BYTES = 1 << 21  # rows that take no more are read from a cache in any case


# Folds


class Folds(NamedTuple):
    """Which rows are scored together, by a learner trained on other rows.

    Parameters
    ----------
    fold : ndarray of int64
        The fold of every row; -1 for a row that is never scored.
    number : int
        The number of folds.
    in_order : bool
        Whether the learner of a fold is trained only on the folds before it.
    """

    fold: NDArray[np.int64]
    number: int
    in_order: bool = False

    def train(self, k: int) -> NDArray[np.int64]:
        """Return the numbers of the rows that the learner of fold ``k`` is trained on."""
        return np.flatnonzero(self.fold < k if self.in_order else self.fold != k)

    def test(self, k: int) -> NDArray[np.int64]:
        """Return the numbers of the rows in fold ``k``."""
        return np.flatnonzero(self.fold == k)

    def restricted(self, rows: NDArray[np.int64]) -> "Folds":
        """Return the folds of some of the rows."""
        return self._replace(fold=self.fold[rows])


def stratified_folds(labels: NDArray[np.int64], count: int = 5, seed: int = 0) -> Folds:
    """Divide rows at random into folds that have the same number of rows of every class, give or take one.

    Parameters
    ----------
    labels : ndarray of int64
        The class index of every row.
    count : int, default=5
        The number of folds; there are never more folds than rows.
    seed : int, default=0

    Returns
    -------
    Folds

    Examples
    --------
    >>> folds = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2)
    >>> [np.bincount(np.array([0, 0, 0, 0, 1, 1])[folds.test(k)]).tolist() for k in range(2)]
    [[2, 1], [2, 1]]
    """
    count = _checked_count(count, labels.size)
    order = np.random.default_rng(seed).permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]  # class by class, dealt out in turn
    fold = np.empty(labels.size, np.int64)
    fold[order] = np.arange(labels.size) % count
    return Folds(fold, count)


def content_folds(X: Any, labels: NDArray[np.int64], count: int = 5, seed: int = 0) -> Folds:
    """Divide rows as :func:`stratified_folds` does, by their content: equal rows of a class are in the same fold.

    So the folds do not depend on the order of the rows, and a row of weight k is in the fold that k copies would be in.
    Where a class has only one distinct row, its copies are dealt out to all folds.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    labels : ndarray of int64
    count : int, default=5
    seed : int, default=0

    Returns
    -------
    Folds

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [1.0], [3.0], [4.0], [4.0]])
    >>> fold = content_folds(X, np.array([0, 0, 0, 1, 1, 1]), 2).fold
    >>> bool(fold[0] == fold[2] != fold[1]), bool(fold[4] == fold[5] != fold[3])
    (True, True)
    """
    keys = row_keys(rows_of(X), labels)
    _, first, row = np.unique(keys, return_index=True, return_inverse=True)
    distinct = np.bincount(labels[first])
    if distinct[distinct > 0].min() < 2:
        order = np.argsort(keys, kind="stable")
        folds, fold = stratified_folds(labels[order], count, seed), np.empty(labels.size, np.int64)
        fold[order] = folds.fold
        return folds._replace(fold=fold)
    folds = stratified_folds(labels[first], count, seed)
    return folds._replace(fold=folds.fold[row.reshape(-1)])


def group_folds(groups: Any, count: int = 5) -> Folds:
    """Divide rows into folds so that all rows of a group are in one; folds are about equally large.

    Parameters
    ----------
    groups : array-like of shape (n,)
        The group of every row: a customer, a patient, a document.
    count : int, default=5

    Returns
    -------
    Folds

    Examples
    --------
    >>> group_folds(["a", "b", "a", "c"], 2).fold
    array([0, 1, 0, 1])
    """
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    if names.size < 2:
        raise ValueError(f"groups holds only {names.tolist()}: folds need two groups or more")
    count = _checked_count(count, names.size)
    sizes = np.bincount(group)
    fold_of, rows = np.empty(names.size, np.int64), np.zeros(count, np.int64)
    for each in np.argsort(-sizes, kind="stable"):  # the largest first, always into the smallest fold
        fold_of[each] = np.argmin(rows)
        rows[fold_of[each]] += sizes[each]
    return Folds(fold_of[group.reshape(-1)], count)


def time_folds(n: int, count: int = 5) -> Folds:
    """Divide rows in time order into consecutive blocks; each is scored by a learner of the blocks before it.

    The first of ``count + 1`` blocks is not scored.

    Examples
    --------
    >>> time_folds(6, 2).fold
    array([-1, -1,  0,  0,  1,  1])
    """
    count = _checked_count(count, n - 1)
    return Folds(np.arange(n) * (count + 1) // n - 1, count, in_order=True)


def holdout(labels: NDArray[np.int64], part: float = 0.2, seed: int = 0, *, in_order: bool = False) -> Folds:
    """Return one fold with this part of the rows, stratified by class at random, or the last rows ``in_order``.

    Examples
    --------
    >>> holdout(np.array([0, 0, 1, 1]), 0.5, in_order=True).fold
    array([-1, -1,  0,  0])
    """
    n = labels.size
    if not 0.0 < part < 1.0:
        raise ValueError(f"the part of the rows to hold out must be between 0 and 1, got {part!r}")
    if n < 2:
        raise ValueError(f"holding out rows needs two rows or more, got {n}")
    held_out = min(max(1, round(n * part)), n - 1)
    fold = np.full(n, -1, np.int64)
    if in_order:
        fold[n - held_out :] = 0
        return Folds(fold, 1)
    order = np.random.default_rng(seed).permutation(n)
    order = order[np.argsort(labels[order], kind="stable")]
    place = np.arange(held_out + 1) * n // held_out  # one row of each stretch of equal length
    fold[order[place[:-1] + (np.diff(place) - 1) // 2]] = 0
    return Folds(fold, 1)


def _checked_count(count: int, at_most: int) -> int:
    if not isinstance(count, int | np.integer) or count < 2:
        raise ValueError(f"the number of folds must be 2 or more, got {count!r}")
    if at_most < 2:
        raise ValueError(f"{max(at_most, 0)} rows or groups cannot be divided into folds: two are needed")
    return min(int(count), at_most)


# Out-of-fold scores


class Fitted(Protocol):
    """What a preparation has learned from training rows."""

    def apply(self, X: Any) -> Any:
        """Return rows as a learner takes them."""


class Preparation(Protocol):
    """Scaling, imputation, weights of words: whatever is learned from the training rows before the learner is."""

    def fit(self, X: Any) -> Fitted:
        """Learn from the training rows of a fold."""


class Trial(NamedTuple):
    """A learner to train on every fold, and the hypotheses to score by."""

    new_learner: Callable[[], Any]  # returns an untrained Learner or KernelLearner
    hypotheses: tuple[str, ...] = ("averaged",)
    max_iter: int = 10
    shuffle: bool = True


class OutOfFold(NamedTuple):
    """The score of every row by the learner of its fold."""

    scores: NDArray[np.float64]  # (n,) with two classes, else (n, classes); nan for rows that are not scored
    norms: NDArray[np.float64]  # (n,) the norm of the weights that scored the row
    scored: NDArray[np.bool_]

    @property
    def normalised(self) -> NDArray[np.float64]:
        """Scores divided by ‖w‖, so that those of different learners can be compared."""
        norms = np.where(self.norms > 0.0, self.norms, 1.0)
        return self.scores / (norms if self.scores.ndim == 1 else norms[:, None])


def out_of_fold(
    examples: CheckedExamples,
    folds: Folds,
    trial: Trial,
    prepare: Preparation | None = None,
) -> OutOfFold:
    """Return out-of-fold scores by one learner and its first hypothesis.

    Parameters
    ----------
    examples : CheckedExamples
        With ``prepare``, its ``X`` is whatever that takes; rows are taken from it by an array of their numbers.
    folds : Folds
    trial : Trial
    prepare : Preparation, optional
        ``prepare.fit(X)`` learns from the training rows of a fold; ``apply(X)`` of its result returns a matrix.

    Returns
    -------
    OutOfFold

    Examples
    --------
    >>> from rosenblatt.learner.examples import checked_examples
    >>> examples = checked_examples([[1.0], [2.0], [-1.0], [-2.0]], ["a", "a", "b", "b"])
    >>> scores = out_of_fold(examples, stratified_folds(examples.labels, 2), Trial(Learner)).scores
    >>> (scores > 0.0).tolist()
    [False, False, True, True]
    """
    (by_hypothesis,) = out_of_fold_trials(examples, folds, [trial], prepare)
    return by_hypothesis[trial.hypotheses[0]]


def out_of_fold_trials(
    examples: CheckedExamples,
    folds: Folds,
    trials: Sequence[Trial],
    prepare: Preparation | None = None,
    on_fold: Callable[[int], None] | None = None,
) -> list[dict[str, OutOfFold]]:
    """Return out-of-fold scores of every trial, by each of its hypotheses; all linear learners share every read.

    The scores are exactly those of separate trainings on ``folds.train(k)``, each with all classes of the examples.

    Parameters
    ----------
    examples, folds, prepare :
        As in :func:`out_of_fold`.
    trials : sequence of Trial
    on_fold : callable, optional
        Called with the number of each fold that is done.
    """
    results = [
        {name: _unscored(examples.labels.size, examples.classes.size) for name in trial.hypotheses}
        for trial in trials
    ]
    if prepare is None:
        parts = [folds.train(k) for k in range(folds.number)]
        trained = _train_parts(examples, parts, trials)
        for k in range(folds.number):
            rows = folds.test(k)
            _score(results, trials, [each[k] for each in trained], examples.X[rows], rows, parts[k])
            if on_fold is not None:
                on_fold(k)
        return results
    for k in range(folds.number):
        train, test = folds.train(k), folds.test(k)
        fitted = prepare.fit(examples.X[train])
        X = canonical_matrix(fitted.apply(examples.X[train]))
        weight = None if examples.weight is None else examples.weight[train]
        prepared = examples._replace(
            X=X, labels=examples.labels[train], weight=weight, max_sqnorm=max_row_sqnorm(X, weight)
        )
        everything = np.arange(train.size)
        learners = [each[0] for each in _train_parts(prepared, [everything], trials)]
        _score(results, trials, learners, canonical_matrix(fitted.apply(examples.X[test])), test, everything)
        if on_fold is not None:
            on_fold(k)
    return results


def _unscored(n: int, classes: int) -> OutOfFold:
    scores = np.full(n if classes <= 2 else (n, classes), np.nan)
    return OutOfFold(scores, np.full(n, np.nan), np.zeros(n, np.bool_))


def _score(
    results: list[dict[str, OutOfFold]],
    trials: Sequence[Trial],
    learners: list[Any],
    X: Any,
    rows: NDArray[np.int64],
    part: NDArray[np.int64],
) -> None:
    """Score the rows of a fold by the learner of every trial, trained on a part; a Gram matrix has columns for it."""
    if not rows.size:
        return
    for result, trial, learner in zip(results, trials, learners, strict=True):
        own = X[:, part] if getattr(learner, "precomputed", False) else X
        for name in trial.hypotheses:
            result[name].scores[rows] = learner.scores(own, name)
            result[name].norms[rows] = norm_of(learner, name)
            result[name].scored[rows] = True


def norm_of(learner: Any, hypothesis: str) -> float:
    """Return the norm of all weights of a hypothesis, biases not counted; one for votes, which are of size one."""
    if hypothesis == "voted":
        return 1.0
    if not isinstance(learner, Learner):  # of a kernel learner, that of ``last``: others need its Gram matrix
        return float(np.sqrt(np.maximum(learner.running["sqnorm"], 0.0).sum()))
    return float(np.linalg.norm(learner.stored_weights(hypothesis)[:, 1:].astype(np.float64)))


# Training side by side


class _Part(NamedTuple):
    """The training rows of one fold, and the learners of all trials on them."""

    rows: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    learners: list[Learner]
    shuffles: dict[int, Shuffle]  # by seed


def _train_parts(
    examples: CheckedExamples, parts: list[NDArray[np.int64]], trials: Sequence[Trial]
) -> list[list[Any]]:
    """Return the learner of every trial on every part of the examples, trained."""
    trained: list[list[Any]] = [[trial.new_learner() for _ in parts] for trial in trials]
    linear = [t for t, learners in enumerate(trained) if isinstance(learners[0], Learner)]
    for t in sorted(set(range(len(trials))) - set(linear)):
        options = {"max_iter": trials[t].max_iter, "shuffle": trials[t].shuffle}
        for learner, part in zip(trained[t], parts, strict=True):
            taken = _taken(examples, part)
            if learner.precomputed:
                taken = taken._replace(X=np.ascontiguousarray(taken.X[:, part]))
            learner.train_checked(taken, evaluate="pocket" in trials[t].hypotheses, **options)
    for way in {(trials[t].max_iter, trials[t].shuffle) for t in linear}:
        together = [t for t in linear if (trials[t].max_iter, trials[t].shuffle) == way]
        _train_linear(examples, parts, [trained[t] for t in together], *way)
        for t in together:
            for learner, part in zip(trained[t], parts, strict=True):
                _finish(learner, trials[t].hypotheses, examples, part)
    return trained


def _taken(examples: CheckedExamples, rows: NDArray[np.int64]) -> CheckedExamples:
    """Return some of the examples, with all classes."""
    weight = None if examples.weight is None else examples.weight[rows]
    X = examples.X[rows]
    largest = max_row_sqnorm(X, weight)
    return examples._replace(X=X, labels=examples.labels[rows], weight=weight, max_sqnorm=largest)


def _train_linear(
    examples: CheckedExamples,
    parts: list[NDArray[np.int64]],
    trained: list[list[Learner]],  # of every trial, on every part
    max_iter: int,
    shuffle: bool,
) -> None:
    """Run the epochs of all learners side by side."""
    rows, signs = rows_of(examples.X), examples.labels
    for learners in trained:
        for learner in learners:
            signs = learner.begin(examples)
    keys = row_keys(rows, examples.labels, examples.standardised) if shuffle else None
    work = []
    for k, numbers in enumerate(parts):
        weight = None if examples.weight is None else examples.weight[numbers]
        learners = [each[k] for each in trained]
        shuffles: dict[int, Shuffle] = {}
        if keys is not None:
            seeds = {learner.seed for learner in learners}
            shuffles = {seed: Shuffle.of_keys(keys[numbers], seed, weight) for seed in seeds}
        work.append(_Part(numbers, weight, learners, shuffles))
    blocks = _number_of_blocks(rows)
    for epoch in range(max_iter):
        active = _visits_of_epoch(work, epoch, examples.labels.size, blocks)
        if not active:
            break
        before = [(learner.mistakes, learner.updates) for learner, _, _ in active]
        _visit_together(rows, signs, active, blocks)
        for (learner, _, _), (mistakes, updates) in zip(active, before, strict=True):
            counted = Epoch(epoch + 1, learner.mistakes - mistakes, learner.updates - updates)
            learner.epochs.append(counted)
            learner.converged = counted.updates == 0 and not decays(learner)


def _number_of_blocks(rows: Rows) -> int:
    """Return how many blocks an epoch is cut into: one where the rows are in a cache anyway."""
    size = rows.values.nbytes + (0 if rows.indices is None else rows.indices.nbytes)
    return 1 if size <= CACHED_BYTES else -(-size // BLOCK_BYTES)


def _visits_of_epoch(
    work: list[_Part], epoch: int, n: int, blocks: int
) -> list[tuple[Learner, Visits, NDArray[np.int64]]]:
    """Return the learners that have not converged, the visits of each, and where its blocks begin and end.

    Training parts that have most rows in common visit them in nearly the same order. Blocks are cut where that order
    reaches the same rows, for any part that is first.
    """
    visits_of: dict[tuple[int, int], tuple[Visits, NDArray[np.int64]]] = {}
    reached, active = np.empty(0, np.int64), []
    for k, part in enumerate(work):
        for learner in part.learners:
            if learner.converged:
                continue
            key = (k, learner.seed if part.shuffles else 0)
            if key not in visits_of:
                visits = (
                    part.shuffles[learner.seed].epoch(epoch)
                    if part.shuffles
                    else in_given_order(part.rows.size, part.weight)
                )
                order = part.rows.astype(np.uintp)[visits.order]
                cuts = np.arange(blocks + 1) * order.size // blocks
                if blocks > 1 and reached.size:
                    cuts[1:-1] = _cuts(order, reached, blocks)
                elif blocks > 1:
                    reached = np.full(n, -1, np.int64)
                    reached[order] = np.arange(order.size) * blocks // order.size
                visits_of[key] = (Visits(order, visits.weight), cuts)
            active.append((learner, *visits_of[key]))
    return active


def _cuts(order: NDArray[np.uintp], reached: NDArray[np.int64], blocks: int) -> NDArray[np.int64]:
    """Return where the later blocks of an order begin, given the block in which another order visits each row."""
    # Rows that the other does not visit count to the block before.
    block = np.maximum.accumulate(reached[order])
    return np.searchsorted(block, np.arange(1, blocks), side="left")


def _visit_together(
    rows: Rows, signs: NDArray[Any], active: list[tuple[Learner, Visits, NDArray[np.int64]]], blocks: int
) -> None:
    """Visit block after block, each by all learners; the learners are divided among threads."""

    def visit(own: list[tuple[Learner, Visits, NDArray[np.int64]]]) -> None:
        for block in range(blocks):
            for learner, visits, cuts in own:
                a, b = cuts[block], cuts[block + 1]
                if b > a:
                    learner.visit_rows(rows, signs, Visits(visits.order[a:b], visits.weight[a:b]))

    workers = min(parts_of_work(rows.values.size * len(active)), len(active))
    shares = [active[w::workers] for w in range(workers)]
    others = [thread_pool().submit(visit, share) for share in shares[1:]]
    try:
        visit(shares[0])
    finally:
        wait(others)  # they write into the learners
    for other in others:
        other.result()


def _finish(
    learner: Learner, names: tuple[str, ...], examples: CheckedExamples, part: NDArray[np.int64]
) -> None:
    """Store the rows that the ledger names, and choose the pocket where it is asked for."""
    if learner.ledger is None:
        return
    learner.ledger.remember(examples.X, 0, 0)
    learner.rows_seen = examples.labels.size
    if "pocket" in names:
        taken = _taken(examples, part)
        evaluate_linear(learner, taken.X, taken.labels, in_given_order(part.size, taken.weight), False)
