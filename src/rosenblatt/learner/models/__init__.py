"""Trained models behind one interface, by the name of their learner: what ``fit`` trains and model files hold.

Adding a learner adds one line to :data:`LEARNERS` and one module with ``train`` and ``load``.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from rosenblatt.learner.models.options import LEARNERS, TrainingOptions, learner_for

if TYPE_CHECKING:
    from rosenblatt.data.schema import Schema

__all__ = ["LEARNERS", "READ_ONLY", "Model", "TrainingOptions", "load", "stored_schema", "trainer"]

# Files that only the library writes: the learner they name, and the module that loads them.
READ_ONLY = {"planes": "rosenblatt.learner.models.hyperplane"}
OnPass = Callable[[int, str], bool]  # on_pass(number, message) returns whether there may be another pass


class Model(Protocol):
    """A trained model."""

    name: str  # of the learner
    classes: Any  # sorted labels; None where the score is the prediction, a number
    n_features: int
    hypothesis: str  # what predicts unless another is requested
    about: dict[str, Any]  # metadata of the file: schema, feature names
    learner: Any  # what was trained

    def hypotheses(self) -> tuple[str, ...]:
        """Return what it can predict by."""

    def cost(self, hypothesis: str) -> int:
        """Return the operations for a row beyond one product with the weights."""

    def scores(self, X: Any, hypothesis: str) -> Any:
        """Return the scores of every row: ``(n,)`` with two classes or a number, ``(n, classes)`` with more."""

    def weights(self, hypothesis: str) -> Any:
        """Return ``(rows, 1 + features)`` weights, the bias first."""

    def facts(self) -> dict[str, Any]:
        """Return a description of its training, as JSON can hold it."""

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Write the model to a file."""


def trainer(options: TrainingOptions) -> Callable[[TrainingOptions, Any, Any, Any, OnPass], Model]:
    """Return the function that trains a learner, ``train(options, X, y, weight, on_pass)``."""
    train: Callable[..., Model] = import_module(learner_for(options).module).train
    return train


def load(path: str) -> Model:
    """Read a model file by the learner that wrote it."""
    from rosenblatt.storage import BadModel, read_about

    name = read_about(path).get("learner", "perceptron")
    modules = {each: entry.module for each, entry in LEARNERS.items()} | READ_ONLY
    if not isinstance(name, str) or name not in modules:
        raise BadModel(f"{path}: a model of {name!r}, but this rosenblatt knows {', '.join(modules)}")
    model: Model = import_module(modules[name]).load(path)
    try:
        stored_schema(model)
    except ValueError as error:
        raise BadModel(f"{path}: the model file is inconsistent: {error}") from error
    return model


def stored_schema(model: Model) -> "Schema | None":
    """Return the schema that a model carries, or None; a ValueError where it does not fit the model."""
    from rosenblatt.data.schema import schema_from_dict

    stored = model.about.get("schema")
    if stored is None:
        return None
    schema = schema_from_dict(stored if isinstance(stored, dict) else {})
    if schema.n_features != model.n_features:
        raise ValueError(f"its schema has {schema.n_features:,} features, its weights {model.n_features:,}")
    return schema
