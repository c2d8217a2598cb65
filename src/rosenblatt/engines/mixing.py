"""Iterative parameter mixing: every shard runs a pass from the shared weights, and their changes are mixed.

**Update** (McDonald, Hall, Mann 2010, Figure 3). In every epoch shard ``s`` starts from the shared ``w``, runs one pass
and arrives at ``w + Δ_s`` after ``k_s`` corrections; then ``w ← w + Σ μ_s Δ_s``, with ``μ_s = 1/S`` (uniform) or
``μ_s ∝ 1 + k_s`` (by mistakes: shards with more corrections count more, and none counts for nothing).

**Averaging** keeps its meaning, every example counts once: the averaged weights are the mean, over all examples that
any shard has seen in any epoch, of the weights that shard held after the example. With ``n_s`` examples a pass and
``a_s`` the accumulator of the pass alone, the shared accumulator becomes ``A + T·Σ μ_s Δ_s + Σ (a_s − n_s Δ_s)`` for
the new clock ``T``; so ``μ_s Δ_s`` and ``a_s − n_s Δ_s`` are all that a shard sends, and they are summed up a tree.

**Guarantee.** On data that some ``u`` separates with margin ``γ``, from zero weights and with Rosenblatt's rule:
``Σ_n Σ_s μ_s k_s ≤ R²/γ²`` (their Theorem 3). With one shard the result is the local
learner's, bit for bit.
"""

import copy
import time
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.geometry import powers_of
from rosenblatt.core.rows import laid_out, rows_of
from rosenblatt.core.state import Visits
from rosenblatt.data.labels import joined_classes
from rosenblatt.engines.shards import Shard, TrainingSetup, shard_max_sqnorm
from rosenblatt.learner import Epoch, Evaluation, Learner
from rosenblatt.learner.examples import max_row_sqnorm
from rosenblatt.learner.training import decays, evaluate_linear, forget_evaluations

MIXINGS = ("uniform", "mistakes")


class PackedVectors(NamedTuple):
    """Vectors of one length, stored as indices and values where that is smaller.

    >>> packed = pack(np.array([[0.0, 0.0, 0.0, 2.0, 0.0, 0.0]]))
    >>> packed.indices, packed.values
    (array([3], dtype=uint32), array([[2.]]))
    >>> unpack(add_packed(packed, packed))
    array([[0., 0., 0., 4., 0., 0.]])
    """

    size: int
    indices: NDArray[Any] | None  # ascending; None: dense
    values: NDArray[Any]  # (vectors, indices), or (vectors, size) where dense

    @property
    def nbytes(self) -> int:
        """Return the number of bytes that are sent."""
        return int(self.values.nbytes + (0 if self.indices is None else self.indices.nbytes))


def pack(vectors: NDArray[Any]) -> PackedVectors:
    """Pack ``(vectors, size)`` numbers in whichever form takes fewer bytes."""
    size = vectors.shape[1]
    used = np.flatnonzero(vectors.any(axis=0))
    if _is_smaller_sparse(used.size, size, vectors.shape[0] * vectors.itemsize):
        return PackedVectors(size, used.astype(_index_type(size)), vectors[:, used])
    return PackedVectors(size, None, vectors)


def unpack(packed: PackedVectors) -> NDArray[Any]:
    """Return the ``(vectors, size)`` numbers; dense ones are not copied."""
    if packed.indices is None:
        return packed.values
    vectors = np.zeros((packed.values.shape[0], packed.size), packed.values.dtype)
    vectors[:, packed.indices] = packed.values
    return vectors


def add_packed(one: PackedVectors, other: PackedVectors) -> PackedVectors:
    """Return the sum of packed vectors of one shape; the sum of two sparse ones stays sparse while that is smaller."""
    if one.indices is None and other.indices is None:
        return PackedVectors(one.size, None, one.values + other.values)
    if one.indices is not None and other.indices is not None:
        indices = _union(one.indices, other.indices)
        if _is_smaller_sparse(indices.size, one.size, one.values.shape[0] * one.values.itemsize):
            values = np.zeros((one.values.shape[0], indices.size), one.values.dtype)
            values[:, np.searchsorted(indices, one.indices)] = one.values
            values[:, np.searchsorted(indices, other.indices)] += other.values
            return PackedVectors(one.size, indices, values)
    total = unpack(one).copy() if one.indices is None else unpack(one)
    if other.indices is None:
        total += other.values
    else:
        total[:, other.indices] += other.values
    return PackedVectors(one.size, None, total)


def _union(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return the union of ascending indices; merging two runs takes a tenth of the time of ``np.union1d``.

    >>> _union(np.array([1, 4]), np.array([2, 4, 7]))
    array([1, 2, 4, 7])
    """
    merged = np.concatenate((one, other))
    merged.sort(kind="stable")
    first = np.ones(merged.size, bool)
    np.not_equal(merged[1:], merged[:-1], out=first[1:])
    return merged[first]


def _is_smaller_sparse(used: int, size: int, bytes_per_index: int) -> bool:
    return used * (bytes_per_index + _index_type(size)().itemsize) < size * bytes_per_index


def _index_type(size: int) -> type[np.unsignedinteger[Any]]:
    return np.uint32 if size <= np.iinfo(np.uint32).max else np.uint64


class PassRequest(NamedTuple):
    """A request for one pass over a shard, with the shared weights that it starts from.

    The accumulator is sent only to a single shard, which continues from it as a local learner would.
    """

    setup: TrainingSetup
    epoch: int
    mixing: str
    weights: PackedVectors
    running: NDArray[Any]
    totals: NDArray[Any]
    variances: PackedVectors | None  # of each weight, for rules that have them
    accumulator: PackedVectors | None  # of the averaged weights, for a single shard

    @property
    def nbytes(self) -> int:
        """Return the number of bytes that are sent to a shard."""
        return sum(
            part.nbytes for part in (self.weights, self.variances, self.accumulator) if part is not None
        )

    def answer(self, shard: Shard) -> "PassOutcome":
        """Run the pass."""
        return run_pass(shard, self)

    def combine(self, answers: list["PassOutcome"]) -> "PassOutcome":
        """Sum the outcomes."""
        return combine_outcomes(answers)


class ShardPass(NamedTuple):
    """The figures of one pass over one shard."""

    shard: int
    rows: int
    mistakes: int
    updates: int
    seconds: float
    nbytes: int  # sent back


class PassOutcome(NamedTuple):
    """The outcome of passes over one or more shards; outcomes are summed by :func:`combine_outcomes`."""

    passes: tuple[ShardPass, ...]
    share: float  # Σ of the unnormalised μ
    clock: float  # examples seen
    max_sqnorm: float
    updates: NDArray[np.int64]  # of each hypothesis
    unchanged: bool  # no weight changed, not even by a shrink
    # Σ share·Δ, Σ (a − n·Δ), and Σ share·(change of the variances) for rules that have them
    moves: PackedVectors | None
    state: tuple[Any, ...] | None = None  # of a single shard: the whole state, instead of moves


class ShardLearner(Learner):
    """The learner of one pass over one shard, from the weights of a request."""

    def __init__(self, request: PassRequest) -> None:
        setup = request.setup
        super().__init__(
            setup.rule,
            multi_class=setup.multi_class,
            fit_intercept=setup.fit_intercept,
            keep_ledger=False,
            seed=setup.seed,
        )
        resize_for(self, setup)
        self.W = unpack(request.weights).reshape(self.W.shape).astype(setup.dtype)
        self.running, self.totals = request.running.copy(), request.totals.copy()
        if request.variances is not None:
            self.S = np.array(unpack(request.variances).reshape(self.S.shape))  # type: ignore[union-attr]
        if request.accumulator is not None:
            self.average_offset = np.array(unpack(request.accumulator).reshape(self.W.shape))

    def visit_shard(self, shard: Shard, labels: NDArray[np.int64], visits: Visits) -> Epoch:
        """Run the rule over the visits; the first epoch also measures the largest ‖x‖²."""
        if not self.totals["max_sqnorm"][0]:
            if visits.weight.size:  # some rows may not be visited
                seen = np.bincount(visits.order.astype(np.intp), minlength=labels.size).astype(np.float64)
                self.include_sqnorm(max_row_sqnorm(shard.X, seen))
            else:
                self.include_sqnorm(shard_max_sqnorm(shard))
        mistakes, updates = self.mistakes, self.updates
        self._visit_rows(rows_of(shard.X), self._signs(labels), visits)
        return Epoch(1, self.mistakes - mistakes, self.updates - updates)

    def evaluate(
        self, shard: Shard, labels: NDArray[np.int64], visits: Visits, epochs: int
    ) -> dict[str, Evaluation]:
        """Evaluate the hypotheses on a single shard, as local training does."""
        self.epochs = [Epoch(at + 1, 0, 0) for at in range(epochs)]
        rows = rows_of(shard.X)  # the layout decides the order of sums, and so the last bit
        self.W, self.average_offset = laid_out(rows, self.W), laid_out(rows, self.average_offset)
        evaluate_linear(self, shard.X, labels, visits, only_these=True)
        return self.evaluations


def resize_for(learner: Learner, setup: TrainingSetup) -> None:
    """Give an untrained learner the classes and features of all shards."""
    learner.add_classes(setup.classes)
    learner.W = learner.W.astype(setup.dtype)
    learner.add_features(setup.n_features)


def check_mixable(learner: Learner, models: str) -> None:
    """Raise ValueError where weights of several ``models`` cannot be mixed under the learner's rule."""
    if isinstance(learner.geometry, rules.CoordinateSums | rules.CoordinateRates):
        raise ValueError(  # noqa: TRY004 (of the rule, not of a type)
            f"rule {type(learner.rule).__name__} relates every weight to the largest value of its feature, and "
            f"{models} have seen different ones, so their weights cannot be mixed: train in one piece, or use another "
            "rule, as AROW"
        )


def pass_request(learner: Learner, setup: TrainingSetup, mixing: str, single_shard: bool) -> PassRequest:
    """Return the request for the next epoch; a single shard continues with the whole state of the learner."""
    running, variances = learner.running.copy(), None
    if not single_shard:
        running["scale_sum"], running["decay"] = 0.0, 1.0
    if learner.S is not None:
        variances = pack(learner.S.reshape(1, -1))
    return PassRequest(
        setup,
        len(learner.epochs),
        mixing,
        pack(learner.W.reshape(1, -1)),
        running,
        learner.totals.copy(),
        variances,
        pack(learner.average_offset.reshape(1, -1)) if single_shard else None,
    )


def run_pass(shard: Shard, request: PassRequest) -> PassOutcome:
    """Run one pass over a shard; the outcome depends on the shard and the request alone, so a pass can be repeated."""
    learner = ShardLearner(request)
    if not shard.y.size:
        return PassOutcome((), 0.0, 0.0, 0.0, np.zeros(learner.running.size, np.int64), True, None)
    labels, visits = shard.visits(request.setup, request.epoch)
    before, updates = float(request.totals["clock"][0]), request.running["updates"]
    began = time.perf_counter()
    epoch = learner.visit_shard(shard, labels, visits)
    seconds = time.perf_counter() - began
    share = 1.0 if request.mixing == "uniform" else 1.0 + epoch.updates
    figures = ShardPass(shard.index, labels.size, epoch.mistakes, epoch.updates, seconds, 0)
    outcome = PassOutcome(
        (figures,),
        share,
        learner.clock - before,
        float(learner.totals["max_sqnorm"][0]),
        learner.running["updates"] - updates,
        epoch.updates == 0 and not decays(learner),
        None,
    )
    if request.accumulator is not None:
        state = (learner.W, learner.average_offset, learner.S, learner.running, learner.totals)
        nbytes = sum(part.nbytes for part in state if part is not None)
        return outcome._replace(passes=(figures._replace(nbytes=nbytes),), state=state)
    moves = pack(_moves(learner, request, outcome))
    return outcome._replace(passes=(figures._replace(nbytes=moves.nbytes),), moves=moves)


def combine_outcomes(outcomes: list[PassOutcome]) -> PassOutcome:
    """Return the sum of outcomes, in the order of their shards."""
    first, *rest = outcomes
    for other in rest:
        moves = first.moves if other.moves is None else other.moves
        if first.moves is not None and other.moves is not None:
            moves = add_packed(first.moves, other.moves)
        first = PassOutcome(
            first.passes + other.passes,
            first.share + other.share,
            first.clock + other.clock,
            max(first.max_sqnorm, other.max_sqnorm),
            first.updates + other.updates,
            first.unchanged and other.unchanged,
            moves,
            other.state if first.state is None else first.state,
        )
    return first


def mix(learner: Learner, outcome: PassOutcome) -> bool:
    """Move the shared learner by the outcome of an epoch; return whether any weight changed.

    The caller counts the epoch (:func:`rosenblatt.learner.training.run_epochs`).
    """
    if outcome.state is not None:
        learner.W, learner.average_offset, learner.S, learner.running, learner.totals = outcome.state
    elif outcome.moves is not None:
        totals, running = learner.totals[0], learner.running
        totals["clock"] += outcome.clock
        totals["mistakes"] += sum(each.mistakes for each in outcome.passes)
        totals["updates"] += sum(each.updates for each in outcome.passes)
        totals["max_sqnorm"] = max(totals["max_sqnorm"], outcome.max_sqnorm)
        running["updates"] += outcome.updates
        moves = unpack(outcome.moves)
        delta = moves[0].reshape(learner.W.shape) / outcome.share
        learner.W = (learner.W + delta).astype(learner.W.dtype)
        learner.average_offset = (
            learner.average_offset + learner.clock * delta + moves[1].reshape(learner.W.shape)
        )
        if moves.shape[0] > 2 and learner.S is not None:
            learner.S = learner.S + moves[2].reshape(learner.W.shape) / outcome.share
        refresh_norms(learner)
    return not outcome.unchanged


def refresh_norms(learner: Learner) -> None:
    """Compute the norms of mixed weights, and their powers under the p-norm link."""
    wide = learner.W.astype(np.float64)
    linked = wide
    if isinstance(learner.geometry, rules.PNorm):
        learner.S = linked = powers_of(wide, learner.geometry.p)
    sqnorm = (wide * linked).sum(axis=1)
    learner.running["sqnorm"] = sqnorm.sum() if learner.joint else sqnorm
    learner.running["scale"], learner.running["decay"] = 1.0, 1.0
    learner.running["scale_sum"] = learner.clock


def has_mixing_bound(rule: Any) -> bool:
    """Return whether the mixing bound is known to hold for a rule: one with steps of one size."""
    return isinstance(rule, rules.Rosenblatt | rules.Margin)


def _moves(learner: ShardLearner, request: PassRequest, outcome: PassOutcome) -> NDArray[np.float64]:
    """Return ``share·Δ`` and ``a − n·Δ``, and the change of the variances where the rule has them."""
    running, before = learner.running, unpack(request.weights).reshape(learner.W.shape)
    W = learner.W.astype(np.float64)
    delta = W - before
    a = learner.average_offset
    if not (running["scale"] == 1.0).all() or not (running["scale_sum"] == outcome.clock).all():
        weight_sum = (
            running["scale_sum"][:, None] * W - learner.average_offset
        )  # Σ of weights after each example
        W *= running["scale"][:, None]
        delta = W - before
        a = outcome.clock * W - weight_sum
    has_variances = request.variances is not None and isinstance(learner.geometry, rules.SecondOrder)
    moves = np.empty((2 + has_variances, *W.shape))
    np.multiply(delta, outcome.share, out=moves[0])
    np.subtract(a, outcome.clock * delta, out=moves[1])
    if has_variances and learner.S is not None and request.variances is not None:
        moves[2] = outcome.share * (learner.S - unpack(request.variances).reshape(W.shape))
    return moves.reshape(moves.shape[0], -1)


# Learners that were trained apart


def mixed_learners(learners: Sequence[Learner]) -> Learner:
    """Return the uniform mixture of learners that were trained apart.

    Its last weights are the mean of theirs, its averaged weights the mean over all their examples. Clock, mistakes and
    updates add up. Mixing once has no mistake bound (McDonald, Hall, Mann 2010, Theorem 2: it may not even separate
    what every learner separated); training continues from it as from any learner.
    """
    first = learners[0]
    for other in learners[1:]:
        if (other.rule, other.bias_input) != (
            first.rule,
            first.bias_input,
        ) or other.multi_class != first.multi_class:
            raise ValueError(
                f"models mix where rule, multi_class and fit_intercept are the same, got {first.rule} "
                f"({first.multi_class}) and {other.rule} ({other.multi_class})"
            )
    if len(learners) == 1:
        return copy.deepcopy(first)
    check_mixable(first, "models")
    classes = reduce(joined_classes, (learner.classes for learner in learners))
    width = max(learner.n_features for learner in learners)
    resized = []
    for learner in learners:
        own = copy.copy(learner)
        own.ledger, own.running = None, learner.running.copy()
        own.add_classes(classes)
        own.add_features(width)
        resized.append(own)
    mixed = copy.deepcopy(resized[0])
    last = [own.running["scale"][:, None] * own.W.astype(np.float64) for own in resized]
    # Σ of the weights after each example
    sums = [own.running["scale_sum"][:, None] * own.W - own.average_offset for own in resized]
    mixed.totals = np.zeros_like(mixed.totals)
    for name in ("clock", "mistakes", "updates"):
        mixed.totals[name] = sum(own.totals[name] for own in resized)
    mixed.totals["max_sqnorm"] = max(own.totals["max_sqnorm"] for own in resized)
    mixed.running["updates"] = sum(own.running["updates"] for own in resized)
    mixed.W = np.mean(last, axis=0)
    mixed.average_offset = mixed.clock * mixed.W - sum(sums)
    if mixed.S is not None:
        mixed.S = np.mean([own.S for own in resized if own.S is not None], axis=0)
    refresh_norms(mixed)
    mixed.rows_seen = sum(own.rows_seen for own in resized)
    mixed.epochs = [Epoch(1, mixed.mistakes, mixed.updates)]
    mixed.learned_from = None
    forget_evaluations(mixed)
    return mixed
