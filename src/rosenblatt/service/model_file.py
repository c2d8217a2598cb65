"""Models of the service as files that every command reads, and that a stream or another service goes on from."""

import os
from typing import Any

import msgspec

from rosenblatt import rules
from rosenblatt.data.named.vocabulary import NamedSchema
from rosenblatt.data.words import Words
from rosenblatt.service.learner import ServedLearner
from rosenblatt.service.messages import ModelSettings
from rosenblatt.storage import BadModel
from rosenblatt.streams.model_file import load_stream, save_stream
from rosenblatt.web.refusals import BadMessage

TEXT = "text"  # the field of an example that is prose, and what its words are called by


class Counts(msgspec.Struct):
    """What is counted beside the weights, and saved with them."""

    mistakes: int = 0  # told wrong before being learned from
    seq: int = 0  # of the last feedback it has learned from
    failed: int = 0  # feedbacks that could not be learned from


def words_of(settings: ModelSettings) -> Words:
    """Return how texts become words."""
    return Words(settings.ngrams, settings.lowercase, "binary" if settings.binary else "counts")


def rule_of(settings: ModelSettings) -> Any:
    """Return the rule of a model's settings, or say what is wrong with it."""
    try:
        return rules.from_dict({"name": settings.rule, **settings.parameters})
    except ValueError as error:
        raise BadMessage(str(error)) from error


def write_model(
    path: str | os.PathLike[str], settings: ModelSettings, learner: ServedLearner, counts: Counts
) -> None:
    """Write a model beside the path, flush it to disk, and move it into place."""
    schema = NamedSchema(
        () if learner.hash_bits else learner.names,
        learner.hash_bits,
        labels=settings.labels,
        text=(TEXT,),
        words=words_of(settings),
    )
    told = {"settings": msgspec.to_builtins(settings), "counts": msgspec.to_builtins(counts)}
    sketch = learner._sketch if learner.hash_bits else None
    save_stream(learner, path, schema, {"online": True, "service": told}, sketch)


def read_model(path: str | os.PathLike[str], settings: ModelSettings) -> tuple[ServedLearner, Counts]:
    """Read a model that was made with these settings; raise BadModel for anything else."""
    learner, schema, told = _stream(path)
    try:
        counts = Counts(mistakes=max(0, learner.rows - int(told.get("right", learner.rows))))
        if "service" in told:
            counts = msgspec.convert(told["service"]["counts"], Counts)
        found = _amounts_to(learner, schema)
    except (KeyError, TypeError, ValueError) as error:
        raise BadModel(f"{path}: its counts do not hold together: {error}") from error
    wrong = [
        name
        for name in ("hypothesis", "multi_class", "fit_intercept", "hash_bits", "forget")
        if getattr(found, name) != getattr(settings, name)
    ]
    if rule_of(found) != rule_of(settings):
        wrong.append("rule")
    if learner.labels and found.labels != settings.labels:
        wrong.append("labels")
    if wrong:
        raise BadModel(f"{path}: the model does not have the settings it claims: {', '.join(wrong)}")
    learner.hash_bits = schema.bits
    learner._set_vocabulary(schema, told["names"])
    return learner, counts


def settings_of(path: str | os.PathLike[str]) -> ModelSettings:
    """Return the settings with which a file's model can be served: its own, or those of a stream."""
    learner, schema, told = _stream(path)
    try:
        if "service" in told:
            return msgspec.convert(told["service"]["settings"], ModelSettings)
        return _amounts_to(learner, schema)
    except (KeyError, TypeError, ValueError) as error:
        raise BadModel(f"{path}: this model cannot be served: {error}") from error


def _stream(path: str | os.PathLike[str]) -> tuple[ServedLearner, NamedSchema, dict[str, Any]]:
    learner, schema, told = load_stream(path, ServedLearner)
    if not isinstance(schema, NamedSchema):
        raise BadModel(f"{path}: the features of this model have no names")
    if learner.candidates or learner.statistics is not None:
        raise BadModel(
            f"{path}: it scales its examples or chooses among rules, which the service does not do: train it with "
            "stream --rule NAME --no-scale"
        )
    if schema.documents:
        raise BadModel(
            f"{path}: its words are weighed by tf-idf, which the service does not do: train it with --words binary"
        )
    kind = learner.learner.classes.dtype.kind
    if learner.labels and kind not in "iuU":
        raise BadModel(f"{path}: its labels are of kind {kind!r}, expected text or integers")
    return learner, schema, told


def _amounts_to(learner: ServedLearner, schema: NamedSchema) -> ModelSettings:
    """Return the settings that a learner shows by itself."""
    rule = rules.to_dict(learner.learner.rule)
    kind = learner.learner.classes.dtype.kind
    return msgspec.convert(
        {
            "hypothesis": learner.hypothesis,
            "rule": rule.pop("name"),
            "parameters": {name: float(value) for name, value in rule.items()},
            "multi_class": learner.learner.multi_class,
            "fit_intercept": bool(learner.learner.bias_input),
            "hash_bits": schema.bits,
            "forget": learner.forget,
            "labels": "integer" if kind in "iu" else "text",
            "ngrams": schema.words.ngrams,
            "lowercase": schema.words.lowercase,
            "binary": schema.words.binary,
        },
        ModelSettings,
    )
