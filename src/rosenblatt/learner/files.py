"""Files of every model that is made of hyperplanes, in the format of :mod:`rosenblatt.storage`."""

import os
from typing import Any

from rosenblatt.learner.binary_bayes import BinaryBayes
from rosenblatt.learner.centroids import Centroids
from rosenblatt.learner.learner import Learner
from rosenblatt.learner.linear_weights import FixedWeights, LinearWeights
from rosenblatt.learner.real import RealLearner
from rosenblatt.storage import (
    FORMAT,
    VERSION,
    labels_to_json,
    learner_from,
    read_model,
    save_learner,
    write_file,
)

# The name under which a file knows a model, and its class. A file without such a name holds a Learner.
KINDS: dict[str, Any] = {each.kind: each for each in (Centroids, BinaryBayes, FixedWeights, RealLearner)}


def save_model(
    model: Learner | LinearWeights | RealLearner,
    path: str | os.PathLike[str],
    *,
    about: dict[str, Any] | None = None,
) -> None:
    """Write a model beside the path, flush it to disk, and move it into place."""
    if isinstance(model, Learner):
        save_learner(model, path, about=about)
        return
    told, arrays = model.to_parts()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": model.kind,
        "model": told,
        "classes": None if isinstance(model, RealLearner) else labels_to_json(model.classes),
        "about": about or {},
    }
    write_file(path, header, arrays)


def load_model(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Read a model and what was said about it; raise :class:`BadModel` for anything else."""
    content = read_model(path, "learner", *KINDS)
    if content.kind == "learner":
        return learner_from(content), dict(content.about)
    return KINDS[content.kind].from_parts(content.fields, content.arrays, content.classes), dict(
        content.about
    )
