"""Models of a stream as files that every command reads, and that the stream continues from.

The learner of the file is the one that predicts. A stream that scales its rows adds their statistics, with which every
reader standardises; a stream that chooses among rules adds the learners of all rules, stacked.
"""

import os
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.hypotheses import FROM_THE_LEDGER
from rosenblatt.data import Schema, schema_from_dict
from rosenblatt.learner import Learner
from rosenblatt.learner.calibration import Calibration, RunningCalibration
from rosenblatt.learner.files import save_learner
from rosenblatt.storage import BadModel, Content, read_model
from rosenblatt.streams.names import NameSketch, stored_names
from rosenblatt.streams.rows_learner import AUTO, RowsLearner

L = TypeVar("L", bound=RowsLearner)


def save_stream(
    stream: RowsLearner,
    path: str | os.PathLike[str],
    schema: Schema,
    about: dict[str, Any] | None = None,
    sketch: NameSketch | None = None,
) -> None:
    """Write a stream's learner beside the path, flush it to disk, and move it into place."""
    learner, width = stream.learner, 1 + max(schema.n_features, 0)
    learners = [each.learner for each in stream.candidates] or [learner]
    if not all(np.isfinite(each.running["sqnorm"]).all() for each in learners):
        raise ValueError("the weights grew beyond what a float can hold: scale the features, or clip them")
    calibration = stream.stored_calibration()
    values: dict[str, Any] = {}
    if stream.statistics is not None:
        values["statistics"] = stream.statistics[:width]
    more: dict[str, Any] = {}
    if stream.calibration is None and stream.running_calibration is not None:
        more["calibration"] = stream.running_calibration.to_json()
    if stream.candidates:
        values["candidates"] = _stacked(learners, width)
        more["auto"] = {
            "candidates": [rules.to_dict(each.rule) for each in learners],
            "leader": stream.leader,
            "losses": stream.losses.tolist(),
        }
    save_learner(
        learner,
        path,
        about={
            "learner": "perceptron",
            "estimator": "Perceptron",
            "hypothesis": stream.predicting,
            "parameters": {"max_iter": 1, "shuffle": False, "warm_start": True, "keep_ledger": False},
            "n_iter": 1,
            "schema": schema.to_dict(),
            "feature_names": schema.feature_names,
            **({"calibration": calibration.to_json()} if calibration is not None else {}),
            **({"hashed_names": sketch.heaviest(learner.W)} if sketch is not None else {}),
            "stream": {
                "rows": stream.rows,
                "forget": stream.forget,
                "since": stream._since,
                **more,
                **(about or {}),
            },
        },
        ledger=learner.ledger is not None,
        n_features=width - 1,
        values=values,
    )


def _stacked(learners: list[Learner], width: int) -> SimpleNamespace:
    """Return the arrays of several learners with the same classes, one above the other."""

    numbers = max(1, *(each.numbers_per_weight for each in learners))

    def beside(learner: Learner) -> NDArray[np.float64]:
        padded = np.zeros((learner.W.shape[0], width, numbers))
        if learner.S is not None:
            own = learner.S[:, :width].reshape(learner.W.shape[0], width, -1)
            padded[..., : own.shape[-1]] = own
        return padded

    return SimpleNamespace(
        W=np.stack([each.W[:, :width] for each in learners]).astype(np.float64),
        average_offset=np.stack([each.average_offset[:, :width] for each in learners]),
        S=np.stack([beside(each) for each in learners]),
        running=np.stack([each.running for each in learners]),
        totals=np.stack([each.totals for each in learners]),
    )


def load_stream(path: str | os.PathLike[str], cls: type[L]) -> tuple[L, Schema, dict[str, Any]]:
    """Read a stream's learner, the schema of its examples, and its metadata (``names``: a sketch)."""
    content = read_model(path, "learner")
    learner, about = Learner.from_content(content), dict(content.about)
    metadata = dict(about.get("stream", {}))
    auto = metadata.pop("auto", None)
    forget, scale = metadata.get("forget"), learner.statistics is not None
    try:
        schema = schema_from_dict(about.get("schema") or {})
        if auto is not None:
            candidates = [rules.from_dict(each) for each in auto["candidates"]]
            stream = cls(AUTO, forget=forget, scale=scale, candidates=candidates)
        else:
            hypothesis = about.get("hypothesis", "averaged")
            stream = cls(hypothesis, rule=learner.rule, forget=forget, scale=scale)
    except ValueError as error:
        raise BadModel(f"{path}: not a model that a stream can continue from: {error}") from error
    running = metadata.pop("calibration", None)
    if running is not None:
        stream.running_calibration = RunningCalibration.from_json(running)
    elif about.get("calibration") is not None:
        stream.calibration = Calibration.from_json(about["calibration"])
    stream.rows = metadata.get("rows", int(learner.clock))
    stream._since = metadata.get("since", 0)
    if stream.hypothesis in FROM_THE_LEDGER and learner.ledger is None:
        raise BadModel(f"{path}: {stream.hypothesis!r} is read from a ledger, which the file does not have")
    if stream.forget is not None and stream._since >= stream._forget_every():
        raise BadModel(
            f"{path}: about.stream.since is {stream._since}, expected below {stream._forget_every()}"
        )
    stream.statistics, learner.statistics = (
        learner.statistics,
        None,
    )  # the stream standardises its rows itself
    learner.evaluations, learner.pocket, learner.converged = {}, None, False  # of a training that is over
    if auto is None:
        stream.learner = learner
    else:
        _restore_candidates(stream, learner, content)
        stream.leader, stream.losses = auto["leader"], np.array(auto["losses"], np.float64)
    return stream, schema, {**metadata, "names": NameSketch(stored_names(about))}


def _restore_candidates(stream: RowsLearner, learner: Learner, content: Content) -> None:
    """Give every candidate its weights; classes, bias and seed are those of the learner of the file."""
    for k, candidate in enumerate(stream.candidates):
        restored = Learner(
            candidate.learner.rule,
            multi_class=learner.multi_class,
            fit_intercept=bool(learner.bias_input),
            keep_ledger=False,
            seed=learner.seed,
        )
        restored.add_classes(learner.classes)
        restored.add_features(learner.n_features)
        restored.W, restored.average_offset = (
            content.arrays[f"candidates.{name}"][k].copy() for name in "WA"
        )
        if restored.S is not None:
            S = content.arrays["candidates.S"][k]
            restored.S = S[..., 0].copy() if restored.S.ndim == 2 else S[..., : restored.S.shape[-1]].copy()
        for item, record in (("running", restored.running), ("totals", restored.totals)):
            tensors = next(each.tensors for each in content.kind.items(content.fields) if each.name == item)
            for field, tensor in zip(record.dtype.names or (), tensors, strict=True):
                record[field] = content.arrays[f"candidates.{tensor}"][k]
        restored.rows_seen = learner.rows_seen
        candidate.learner = restored
        candidate.rows, candidate._since = stream.rows, stream._since
    stream.labels = learner.classes.tolist()
