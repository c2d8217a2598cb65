"""Iterative parameter mixing: every shard runs a pass from the shared weights, and what they moved is mixed.

**Update** (McDonald, Hall, Mann 2010, Figure 3). In every epoch shard ``s`` starts from the shared ``w``, runs one pass
and arrives at ``w + Δ_s`` after ``k_s`` corrections; then ``w ← w + Σ μ_s Δ_s``, with ``μ_s = 1/S`` (uniform) or
``μ_s ∝ 1 + k_s`` (by mistakes: who errs more moves more; the one keeps every shard in the mix).

**Averaging** keeps its meaning, every example counts once: the averaged weights are the mean, over all examples that
any shard has seen in any epoch, of the weights that shard held after the example. With ``n_s`` examples a pass and
``a_s`` the accumulator of the pass alone, the shared accumulator becomes ``A + T·Σ μ_s Δ_s + Σ (a_s − n_s Δ_s)`` for
the new clock ``T``; so ``μ_s Δ_s`` and ``a_s − n_s Δ_s`` are all that a shard sends, and they are summed up a tree.

**Guarantee.** On data that some ``u`` separates with margin ``γ``, from zero weights and with Rosenblatt's rule:
``Σ_n Σ_s μ_s k_s ≤ R²/γ²`` (their Theorem 3). One shard is mixed by being left alone: the result is the local
learner's, bit for bit.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.geometry import powers_of
from rosenblatt.core.rows import laid_out, rows_of
from rosenblatt.core.state import Visits
from rosenblatt.engines.parcel import Parcel, added, packed, unpacked
from rosenblatt.engines.shard import Setup, Shard, shard_max_sqnorm
from rosenblatt.learner import Epoch, Evaluation, Learner
from rosenblatt.learner.examples import max_row_sqnorm
from rosenblatt.learner.training import decays, evaluate_linear

MIXINGS = ("uniform", "mistakes")


class Start(NamedTuple):
    """What a shard is sent: the shared weights and the running numbers; with one shard, all there is."""

    setup: Setup
    epoch: int
    mixing: str
    weights: Parcel
    running: NDArray[Any]
    totals: NDArray[Any]
    variances: Parcel | None  # beside the weights, for rules that keep some
    accumulator: Parcel | None  # only where the one shard goes on from it

    @property
    def nbytes(self) -> int:
        """How many bytes travel to a shard."""
        return sum(
            part.nbytes for part in (self.weights, self.variances, self.accumulator) if part is not None
        )


class ShardPass(NamedTuple):
    """What one pass over one shard did."""

    shard: int
    rows: int
    mistakes: int
    updates: int
    seconds: float
    nbytes: int  # sent back


class Outcome(NamedTuple):
    """What passes over one or more shards did, ready to be joined with others."""

    passes: tuple[ShardPass, ...]
    share: float  # Σ of the unnormalised μ
    clock: float  # examples seen
    max_sqnorm: float
    updates: NDArray[np.int64]  # of each hypothesis
    still: bool  # nothing moved, not even a shrink
    moves: (
        Parcel | None
    )  # Σ share·Δ, Σ (a − n·Δ), and Σ share·(change of the variances) for rules that keep some
    whole: tuple[Any, ...] | None = None  # the state itself, of the only shard


class PassLearner(Learner):
    """The learner as a shard sees it: one pass, from given weights."""

    def __init__(self, start: Start) -> None:
        setup = start.setup
        super().__init__(
            setup.rule,
            multi_class=setup.multi_class,
            fit_intercept=setup.fit_intercept,
            keep_ledger=False,
            seed=setup.seed,
        )
        shape_for(self, setup)
        self.W = unpacked(start.weights).reshape(self.W.shape).astype(setup.dtype)
        self.running, self.totals = start.running.copy(), start.totals.copy()
        if start.variances is not None:
            self.S = np.array(unpacked(start.variances).reshape(self.S.shape))  # type: ignore[union-attr]
        if start.accumulator is not None:
            self.average_offset = np.array(unpacked(start.accumulator).reshape(self.W.shape))

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
        """Evaluate the hypotheses on the only shard, as after training on it."""
        self.epochs = [Epoch(at + 1, 0, 0) for at in range(epochs)]
        rows = rows_of(shard.X)  # norms are summed as the weights lie: as after a pass, to the last bit
        self.W, self.average_offset = laid_out(rows, self.W), laid_out(rows, self.average_offset)
        evaluate_linear(self, shard.X, labels, visits, only_these=True)
        return self.evaluations


def shape_for(learner: Learner, setup: Setup) -> None:
    """Make room for the classes and features of all shards in a learner that has seen nothing."""
    learner.add_classes(setup.classes)
    learner.W = learner.W.astype(setup.dtype)
    learner.add_features(setup.n_features)


def check_mixing(learner: Learner, models: str) -> None:
    """Raise ValueError where weights of several ``models`` cannot be mixed under the learner's rule."""
    if isinstance(learner.geometry, rules.CoordinateSums | rules.CoordinateRates):
        raise ValueError(  # noqa: TRY004 (of the rule, not of a type)
            f"rule {type(learner.rule).__name__} relates every weight to the largest value of its feature, and "
            f"{models} have seen different ones, so their weights cannot be mixed: train in one piece, or use another "
            "rule, as AROW"
        )


def start_of(learner: Learner, setup: Setup, mixing: str, alone: bool) -> Start:
    """Return what the shards begin an epoch with; ``alone``: there is one, and it goes on as if nobody had asked."""
    running, S = learner.running.copy(), None
    if not alone:
        running["scale_sum"], running["decay"] = 0.0, 1.0
    if learner.S is not None:
        S = packed(learner.S.reshape(1, -1))
    return Start(
        setup,
        len(learner.epochs),
        mixing,
        packed(learner.W.reshape(1, -1)),
        running,
        learner.totals.copy(),
        S,
        packed(learner.average_offset.reshape(1, -1)) if alone else None,
    )


def one_pass(shard: Shard, start: Start) -> Outcome:
    """Run one pass over a shard: a function of the shard and the start alone, so that it may be done again."""
    learner = PassLearner(start)
    if not shard.y.size:
        return Outcome((), 0.0, 0.0, 0.0, np.zeros(learner.running.size, np.int64), True, None)
    labels, visits = shard.visits(start.setup, start.epoch)
    before, updates = float(start.totals["clock"][0]), start.running["updates"]
    began = time.perf_counter()
    epoch = learner.visit_shard(shard, labels, visits)
    seconds = time.perf_counter() - began
    share = 1.0 if start.mixing == "uniform" else 1.0 + epoch.updates
    own_pass = ShardPass(shard.index, labels.size, epoch.mistakes, epoch.updates, seconds, 0)
    outcome = Outcome(
        (own_pass,),
        share,
        learner.clock - before,
        float(learner.totals["max_sqnorm"][0]),
        learner.running["updates"] - updates,
        epoch.updates == 0 and not decays(learner),
        None,
    )
    if start.accumulator is not None:
        state = (learner.W, learner.average_offset, learner.S, learner.running, learner.totals)
        sent = sum(part.nbytes for part in state if part is not None)
        return outcome._replace(passes=(own_pass._replace(nbytes=sent),), whole=state)
    moves = packed(_moves(learner, start, outcome))
    return outcome._replace(passes=(own_pass._replace(nbytes=moves.nbytes),), moves=moves)


def joined(outcomes: list[Outcome]) -> Outcome:
    """Add outcomes in the order of their shards."""
    first, *rest = outcomes
    for other in rest:
        moves = first.moves if other.moves is None else other.moves
        if first.moves is not None and other.moves is not None:
            moves = added(first.moves, other.moves)
        first = Outcome(
            first.passes + other.passes,
            first.share + other.share,
            first.clock + other.clock,
            max(first.max_sqnorm, other.max_sqnorm),
            first.updates + other.updates,
            first.still and other.still,
            moves,
            other.whole if first.whole is None else first.whole,
        )
    return first


def mix(learner: Learner, outcome: Outcome) -> bool:
    """Move the shared learner by what its shards did; return whether a shard only shrank its weights.

    The caller counts the epoch (:func:`rosenblatt.learner.training.run_epochs`).
    """
    if outcome.whole is not None:
        learner.W, learner.average_offset, learner.S, learner.running, learner.totals = outcome.whole
    elif outcome.moves is not None:
        totals, running = learner.totals[0], learner.running
        totals["clock"] += outcome.clock
        totals["mistakes"] += sum(each.mistakes for each in outcome.passes)
        totals["updates"] += sum(each.updates for each in outcome.passes)
        totals["max_sqnorm"] = max(totals["max_sqnorm"], outcome.max_sqnorm)
        running["updates"] += outcome.updates
        moves = unpacked(outcome.moves)
        delta = moves[0].reshape(learner.W.shape) / outcome.share
        learner.W = (learner.W + delta).astype(learner.W.dtype)
        learner.average_offset = (
            learner.average_offset + learner.clock * delta + moves[1].reshape(learner.W.shape)
        )
        if moves.shape[0] > 2 and learner.S is not None:
            learner.S = learner.S + moves[2].reshape(learner.W.shape) / outcome.share
        settle(learner)
    return not outcome.still


def settle(learner: Learner) -> None:
    """Compute anew what follows from mixed weights: their norms, and their powers under a link."""
    wide = learner.W.astype(np.float64)
    beside = wide
    if isinstance(learner.geometry, rules.PNorm):
        learner.S = beside = powers_of(wide, learner.geometry.p)
    sqnorm = (wide * beside).sum(axis=1)
    learner.running["sqnorm"] = sqnorm.sum() if learner.joint else sqnorm
    learner.running["scale"], learner.running["decay"] = 1.0, 1.0
    learner.running["scale_sum"] = learner.clock


def mixes(rule: Any) -> bool:
    """Whether the mixing bound of :mod:`rosenblatt.engines.mixing` is known to hold for a rule: steps of one size."""
    return isinstance(rule, rules.Rosenblatt | rules.Margin)


def _moves(learner: PassLearner, start: Start, outcome: Outcome) -> NDArray[np.float64]:
    """Return ``share·Δ`` and ``a − n·Δ``, and the change of the variances where the rule keeps some."""
    running, began = learner.running, unpacked(start.weights).reshape(learner.W.shape)
    W = learner.W.astype(np.float64)
    delta = W - began
    a = learner.average_offset
    if not (running["scale"] == 1.0).all() or not (running["scale_sum"] == outcome.clock).all():
        sum_of_all = (
            running["scale_sum"][:, None] * W - learner.average_offset
        )  # of the weights after each example
        W *= running["scale"][:, None]
        delta = W - began
        a = outcome.clock * W - sum_of_all
    keeps_variances = start.variances is not None and isinstance(learner.geometry, rules.SecondOrder)
    moves = np.empty((2 + keeps_variances, *W.shape))
    np.multiply(delta, outcome.share, out=moves[0])
    np.subtract(a, outcome.clock * delta, out=moves[1])
    if keeps_variances and learner.S is not None and start.variances is not None:
        moves[2] = outcome.share * (learner.S - unpacked(start.variances).reshape(W.shape))
    return moves.reshape(moves.shape[0], -1)
