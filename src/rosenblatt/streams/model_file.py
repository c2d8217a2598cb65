"""Models of a stream as files that every command reads, and that the stream goes on from."""

import os
from typing import Any, TypeVar

import numpy as np

from rosenblatt.core.hypotheses import FROM_THE_LEDGER
from rosenblatt.data import Schema, schema_from_dict
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.storage import BadModel
from rosenblatt.streams.names import NameSketch, stored_names
from rosenblatt.streams.rows_learner import RowsLearner

L = TypeVar("L", bound=RowsLearner)


def save_stream(
    stream: RowsLearner,
    path: str | os.PathLike[str],
    schema: Schema,
    about: dict[str, Any] | None = None,
    sketch: NameSketch | None = None,
) -> None:
    """Write a stream's learner beside the path, flush it to disk, and move it into place."""
    learner = stream.learner
    if not np.isfinite(learner.running["sqnorm"]).all():
        raise ValueError("the weights grew beyond what a float can hold: scale the features, or clip them")
    save_learner(
        learner,
        path,
        about={
            "learner": "perceptron",
            "estimator": "Perceptron",
            "hypothesis": stream.hypothesis,
            "parameters": {"max_iter": 1, "shuffle": False, "warm_start": True, "keep_ledger": False},
            "n_iter": 1,
            "schema": schema.to_dict(),
            "feature_names": schema.feature_names,
            **({"hashed_names": sketch.heaviest(learner.W)} if sketch is not None else {}),
            "stream": {"rows": stream.rows, "forget": stream.forget, "since": stream._since, **(about or {})},
        },
        ledger=learner.ledger is not None,
        n_features=max(schema.n_features, 0),
    )


def load_stream(path: str | os.PathLike[str], cls: type[L]) -> tuple[L, Schema, dict[str, Any]]:
    """Read a stream's learner, the schema of its examples, and what else was said of it (``names``: a sketch)."""
    learner, about = load_learner(path)
    told = dict(about.get("stream", {}))
    try:
        schema = schema_from_dict(about.get("schema") or {})
        stream = cls(about.get("hypothesis", "averaged"), rule=learner.rule, forget=told.get("forget"))
    except ValueError as error:
        raise BadModel(f"{path}: not a model that a stream can go on from: {error}") from error
    stream.rows = told.get("rows", int(learner.clock))
    stream._since = told.get("since", 0)
    if stream.hypothesis in FROM_THE_LEDGER and learner.ledger is None:
        raise BadModel(f"{path}: {stream.hypothesis!r} is read from a ledger, which the file does not have")
    if stream.forget is not None and stream._since >= stream._forget_every():
        raise BadModel(
            f"{path}: about.stream.since is {stream._since}, expected below {stream._forget_every()}"
        )
    learner.evaluations, learner.pocket, learner.converged = {}, None, False  # of a training that is over
    stream.learner = learner
    return stream, schema, {**told, "names": NameSketch(stored_names(about))}
