"""Reading and writing of linear models as files."""

import os
from collections.abc import Mapping
from typing import Any

from rosenblatt.learner.additive import BinaryBayes, Centroids, CountBayes
from rosenblatt.learner.learner import Learner
from rosenblatt.learner.linear_weights import FixedWeights, LinearWeights
from rosenblatt.learner.regression import RealLearner
from rosenblatt.storage import read_model, write

# The kind of a model file (see rosenblatt.storage.KINDS) and the class of its models.
KINDS: dict[str, Any] = {
    each.kind: each for each in (Learner, Centroids, BinaryBayes, CountBayes, FixedWeights, RealLearner)
}


def save_model(
    model: Learner | LinearWeights | RealLearner,
    path: str | os.PathLike[str],
    *,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write a model to a file, atomically; a learner without its ledger.

    Parameters
    ----------
    model : Learner, LinearWeights or RealLearner
    path : str or path-like
    about : mapping, optional
        Metadata to store in the header, as JSON.
    """
    write(path, model.kind, model, about=about, values={"ledger": None})


def load_model(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Read a model and its metadata; raise :class:`BadModel` for any other file.

    Returns
    -------
    (model, metadata)
    """
    content = read_model(path, *KINDS)
    return KINDS[content.name].from_content(content), dict(content.about)


def save_learner(
    learner: Learner,
    path: str | os.PathLike[str],
    *,
    about: Mapping[str, Any] | None = None,
    ledger: bool = False,
    n_features: int | None = None,
    values: Mapping[str, Any] | None = None,
) -> None:
    """Write a learner to a file, atomically.

    Parameters
    ----------
    learner : Learner
    path : str or path-like
    about : mapping, optional
        Metadata to store in the header, as JSON.
    ledger : bool, default=False
        Write the ledger too, so that every hypothesis and the dual form can be loaded.
    n_features : int, optional
        Write only the weights of the first features: a stream reserves more than it has seen.
    values : mapping, optional
        Values to write in place of attributes of these names.
    """
    if ledger and learner.ledger is None:
        raise ValueError("the learner has no ledger to save: train with keep_ledger=True")
    written: dict[str, Any] = {} if ledger else {"ledger": None}
    if n_features is not None:
        for name in ("W", "average_offset", "S"):
            weights = getattr(learner, name)
            written[name] = None if weights is None else weights[:, : 1 + n_features]
    write(path, "learner", learner, about=about, values={**written, **(values or {})})


def load_learner(path: str | os.PathLike[str]) -> tuple[Learner, dict[str, Any]]:
    """Read a learner and its metadata; raise :class:`BadModel` for any other file.

    Returns
    -------
    (Learner, metadata)
    """
    content = read_model(path, "learner")
    return Learner.from_content(content), dict(content.about)
