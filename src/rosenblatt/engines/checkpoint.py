"""The state of a run after its last whole epoch, in a file that the same run goes on from."""

import os
from pathlib import Path
from typing import Any

from rosenblatt import rules
from rosenblatt.engines.mixing import ShardPass
from rosenblatt.engines.record import MixedEpoch
from rosenblatt.engines.shard import Facts, Setup
from rosenblatt.learner import Learner
from rosenblatt.storage import BadModel, load_learner, save_learner


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
        self.path = Path(path)
        self.run = {
            "rule": rules.to_dict(setup.rule),
            "multi_class": setup.multi_class,
            "fit_intercept": setup.fit_intercept,
            "seed": setup.seed,
            "shuffle": setup.shuffle,
            "classes": [str(label) for label in setup.classes.tolist()],
            "counts": facts.counts.tolist(),
            "features": setup.n_features,
            "dtype": setup.dtype,
            "reach": facts.reach,
            "weight": facts.weight,
            "class_weight": None if setup.class_weight is None else setup.class_weight.tolist(),
            "mixing": mixing,
            "shard_rows": list(shard_rows),
        }

    def load(self) -> tuple[Learner, list[MixedEpoch]] | None:
        """Return the learner and its epochs, or None where there is no file yet."""
        if not self.path.exists():
            return None
        learner, about = load_learner(self.path)
        told = about.get("mixing_run")
        if not isinstance(told, dict):
            raise BadModel(f"{self.path}: a model, but not a checkpoint: name another file")
        for name, own in self.run.items():
            if told.get(name) != own:
                raise BadModel(
                    f"{self.path}: a checkpoint of another run: its {name} is {told.get(name)!r}, here {own!r}; "
                    "delete it, or name another file"
                )
        epochs = [_epoch_from(each) for each in about["mixed_epochs"]]
        return learner, epochs

    def save(self, learner: Learner, epochs: list[MixedEpoch]) -> None:
        """Write the state after an epoch in place of the one before."""
        about: dict[str, Any] = {"mixing_run": self.run, "mixed_epochs": epochs}
        save_learner(learner, self.path, about=about)

    def remove(self) -> None:
        """The run is over: what it learned is in the model."""
        self.path.unlink(missing_ok=True)


def _epoch_from(told: list[Any]) -> MixedEpoch:
    return MixedEpoch._make([*told[:-1], tuple(ShardPass._make(each) for each in told[-1])])
