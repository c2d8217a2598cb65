"""The history of a run on an engine: figures of every epoch and shard, the mixing bound, and the checkpoint file."""

import json
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.engines.mixing import ShardPass, has_mixing_bound
from rosenblatt.engines.shards import ShardSummary, TrainingSetup
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.storage import BadModel


class MixedEpoch(NamedTuple):
    """The figures of one epoch: a pass over every shard, and the mixing."""

    number: int
    mistakes: int
    updates: int
    mixed: float  # Σ μ k, the corrections as the bound counts them
    seconds: float
    bytes_down: int  # to all shards
    bytes_up: int  # from all shards, before they are summed
    shards: tuple[ShardPass, ...]


class MixingRecord(NamedTuple):
    """The epochs of a run. ``bound`` is the upper bound of ``Σ μ k``, infinite where none is known."""

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
            for each in epoch.shards:
                table[at, each.shard] = each.mistakes
        return table

    @property
    def mixed(self) -> float:
        """``Σ μ k`` over all epochs and shards."""
        return math.fsum(epoch.mixed for epoch in self.epochs)

    @property
    def holds(self) -> bool:
        """Return whether the run kept its bound, up to rounding."""
        return self.mixed <= self.bound * (1.0 + 1e-9)

    def as_json(self) -> dict[str, Any]:
        """Return the figures for a report."""
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
    """Return the upper bound of ``Σ μ k``, given the margin of each hypothesis of separating weights.

    ``R²/γ²`` for Rosenblatt's rule, ``(R² + 2β/η)/γ²`` with a margin to be reached; summed over hypotheses under ovr.
    """
    if not has_mixing_bound(learner.rule) or learner.start_norm > 0.0 or not (margins > 0.0).all():
        return math.inf
    norm, _ = learner.rule.bound_coefficients(learner.radius)
    return float((norm / margins**2).sum())


class Checkpoint:
    """A file with the shared learner and the figures of its epochs, written atomically after every epoch.

    ``run`` identifies the run: rule, classes, features, shards and mixing. A run refuses the checkpoint of another one.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        setup: TrainingSetup,
        mixing: str,
        shard_rows: tuple[int, ...],
        summary: ShardSummary,
    ) -> None:
        self.path, self._setup = Path(path), setup
        run = {
            "rule": rules.to_dict(setup.rule),
            "multi_class": setup.multi_class,
            "fit_intercept": setup.fit_intercept,
            "seed": setup.seed,
            "shuffle": setup.shuffle,
            "classes": [str(label) for label in setup.classes.tolist()],
            "counts": summary.counts.tolist(),
            "features": setup.n_features,
            "dtype": setup.dtype,
            "reach": summary.max_sqnorm,
            "weight": summary.weight,
            "class_weight": None if setup.class_weight is None else setup.class_weight.tolist(),
            "mixing": mixing,
            "shard_rows": list(shard_rows),
        }
        self.run: dict[str, Any] = json.loads(json.dumps(run))  # with the types that a file has

    def load(self) -> tuple[Learner, list[MixedEpoch]] | None:
        """Return the learner and its epochs, or None where there is no file yet; raise BadModel for another run's."""
        if not self.path.exists():
            return None
        learner, about = load_learner(self.path)
        stored = about.get("mixing_run")
        if not isinstance(stored, dict) or "mixed_epochs" not in about:
            raise BadModel(f"{self.path}: a model, but not a checkpoint: choose another file")
        for name in sorted({*stored, *self.run}):
            self._compare(name, stored.get(name), self.run.get(name))
        epochs = [
            MixedEpoch._make([*each[:-1], tuple(ShardPass._make(shard) for shard in each[-1])])
            for each in about["mixed_epochs"]
        ]
        self._check_learner(learner, epochs)
        return learner, epochs

    def _compare(self, name: str, stored: Any, own: Any) -> None:
        """Raise BadModel where a value differs from that of this run."""
        if stored != own or type(stored) is not type(own):
            raise BadModel(
                f"{self.path}: a checkpoint of another run: its {name} is {stored!r}, here {own!r}; "
                "delete it, or choose another file"
            )

    def _check_learner(self, learner: Learner, epochs: list[MixedEpoch]) -> None:
        """Raise BadModel for weights that do not fit the header: compiled passes run over them."""
        own = self._setup.classes
        for name, value in {
            "rule": rules.to_dict(learner.rule),
            "multi_class": learner.multi_class,
            "fit_intercept": bool(learner.bias_input),
            "seed": learner.seed,
            "features": learner.n_features,
            "dtype": str(learner.W.dtype),
        }.items():
            self._compare(name, value, self.run[name])
        self._compare("kind of labels", learner.classes.dtype.kind, own.dtype.kind)
        self._compare("list of labels", learner.classes.tolist(), own.tolist())
        self._compare("ledger", learner.ledger is not None, False)
        counts = [(epoch.number, epoch.mistakes, epoch.updates) for epoch in epochs]
        self._compare("list of epochs", counts, [tuple(epoch) for epoch in learner.epochs])
        rows = dict(enumerate(self.run["shard_rows"]))
        for epoch in epochs:
            own_rows = {each.shard: each.rows for each in epoch.shards}
            if len(own_rows) < len(epoch.shards) or any(
                rows.get(shard) != n for shard, n in own_rows.items()
            ):
                raise BadModel(
                    f"{self.path}: epoch {epoch.number} names shards or rows that are not of this run"
                )

    def save(self, learner: Learner, epochs: list[MixedEpoch]) -> None:
        """Replace the file by the state after an epoch."""
        about: dict[str, Any] = {"mixing_run": self.run, "mixed_epochs": epochs}
        save_learner(learner, self.path, about=about)

    def remove(self) -> None:
        """Delete the file at the end of the run."""
        self.path.unlink(missing_ok=True)
