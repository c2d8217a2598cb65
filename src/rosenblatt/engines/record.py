"""What a run on an engine says about itself: mistakes of every shard in every epoch, bytes, and the mixing bound."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engines.mixing import ShardPass, mixes
from rosenblatt.learner import Learner


class MixedEpoch(NamedTuple):
    """One epoch: a pass over every shard, and the mix."""

    number: int
    mistakes: int
    updates: int
    mixed: float  # Σ μ k, the corrections as the bound counts them
    seconds: float
    bytes_down: int  # to all shards
    bytes_up: int  # from all shards, before they were added up
    shards: tuple[ShardPass, ...]


class MixingRecord(NamedTuple):
    """A run on an engine. ``bound`` is what ``Σ μ k`` cannot exceed, infinite where nothing is promised."""

    engine: str
    mixing: str
    shard_rows: tuple[int, ...]
    epochs: tuple[MixedEpoch, ...]
    bound: float = math.inf

    @property
    def mistakes(self) -> NDArray[np.int64]:
        """Mistakes by epoch and shard."""
        table = np.zeros((len(self.epochs), len(self.shard_rows)), np.int64)
        for at, epoch in enumerate(self.epochs):
            for told in epoch.shards:
                table[at, told.shard] = told.mistakes
        return table

    @property
    def mixed(self) -> float:
        """``Σ μ k`` over all epochs and shards."""
        return math.fsum(epoch.mixed for epoch in self.epochs)

    @property
    def holds(self) -> bool:
        """Whether the run kept its bound; up to rounding."""
        return self.mixed <= self.bound * (1.0 + 1e-9)

    def as_json(self) -> dict[str, Any]:
        """Return what a report prints."""
        return {
            "engine": self.engine,
            "mixing": self.mixing,
            "shards": len(self.shard_rows),
            "shard_rows": list(self.shard_rows),
            "mistakes_by_shard": self.mistakes.tolist(),
            "mixed_mistakes": self.mixed,
            "mixing_bound": self.bound if math.isfinite(self.bound) else None,
            "bytes": [epoch.bytes_down + epoch.bytes_up for epoch in self.epochs],
            "epoch_seconds": [round(epoch.seconds, 6) for epoch in self.epochs],
        }


def mixed_corrections(passes: tuple[ShardPass, ...], mixing: str) -> float:
    """Return ``Σ μ_s k_s`` of one epoch."""
    shares = [1.0 if mixing == "uniform" else 1.0 + each.updates for each in passes]
    return math.fsum(s * each.updates for s, each in zip(shares, passes, strict=True)) / math.fsum(shares)


def mixing_bound(learner: Learner, margins: NDArray[np.float64]) -> float:
    """Return what ``Σ μ k`` cannot exceed, given the margin of each hypothesis of separating weights.

    ``R²/γ²`` for Rosenblatt's rule, ``(R² + 2β/η)/γ²`` with a margin to be reached; summed over hypotheses under ovr.
    """
    if not mixes(learner.rule) or learner.start_norm > 0.0 or not (margins > 0.0).all():
        return math.inf
    norm, _ = learner.rule.bound_coefficients(learner.radius)
    return float((norm / margins**2).sum())
