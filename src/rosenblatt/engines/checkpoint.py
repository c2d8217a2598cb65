"""The state of a run after its last whole epoch, in a file that the same run goes on from."""

import json
import os
from pathlib import Path
from typing import Any

from rosenblatt import rules
from rosenblatt.engines.mixing import ShardPass
from rosenblatt.engines.record import MixedEpoch
from rosenblatt.engines.shard import Facts, Setup
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.storage import BadModel


class Checkpoint:
    """A file with the shared learner and what its epochs told; written whole or not at all.

    ``run`` says which run it belongs to: the rule, the classes and features, the shards and how they are mixed. Another
    run refuses the file instead of going on from what it never did.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        setup: Setup,
        mixing: str,
        shard_rows: tuple[int, ...],
        facts: Facts,
    ) -> None:
        self.path, self._setup = Path(path), setup
        run = {
            "rule": rules.to_dict(setup.rule),
            "multi_class": setup.multi_class,
            "fit_intercept": setup.fit_intercept,
            "seed": setup.seed,
            "shuffle": setup.shuffle,
            "classes": [str(label) for label in setup.classes.tolist()],
            "counts": facts.counts.tolist(),
            "features": setup.n_features,
            "dtype": setup.dtype,
            "reach": facts.max_sqnorm,
            "weight": facts.weight,
            "class_weight": None if setup.class_weight is None else setup.class_weight.tolist(),
            "mixing": mixing,
            "shard_rows": list(shard_rows),
        }
        self.run: dict[str, Any] = json.loads(json.dumps(run))  # in the types of a file

    def load(self) -> tuple[Learner, list[MixedEpoch]] | None:
        """Return the learner and its epochs, or None where there is no file yet."""
        if not self.path.exists():
            return None
        learner, about = load_learner(self.path)
        stored = about.get("mixing_run")
        if not isinstance(stored, dict) or "mixed_epochs" not in about:
            raise BadModel(f"{self.path}: a model, but not a checkpoint: name another file")
        for name in sorted({*stored, *self.run}):
            self._compare(name, stored.get(name), self.run.get(name))
        epochs = [
            MixedEpoch._make([*each[:-1], tuple(ShardPass._make(shard) for shard in each[-1])])
            for each in about["mixed_epochs"]
        ]
        self._check_learner(learner, epochs)
        return learner, epochs

    def _compare(self, name: str, stored: Any, own: Any) -> None:
        """Refuse a file in which something is other than in this run."""
        if stored != own or type(stored) is not type(own):
            raise BadModel(
                f"{self.path}: a checkpoint of another run: its {name} is {stored!r}, here {own!r}; "
                "delete it, or name another file"
            )

    def _check_learner(self, learner: Learner, epochs: list[MixedEpoch]) -> None:
        """Refuse weights that are not of the run which the header names: shards run compiled passes over them."""
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
            found = {each.shard: each.rows for each in epoch.shards}
            if len(found) < len(epoch.shards) or any(rows.get(shard) != n for shard, n in found.items()):
                raise BadModel(
                    f"{self.path}: epoch {epoch.number} names shards or rows that are not of this run"
                )

    def save(self, learner: Learner, epochs: list[MixedEpoch]) -> None:
        """Write the state after an epoch in place of the one before."""
        about: dict[str, Any] = {"mixing_run": self.run, "mixed_epochs": epochs}
        save_learner(learner, self.path, about=about)

    def remove(self) -> None:
        """The run is over: what it learned is in the model."""
        self.path.unlink(missing_ok=True)
