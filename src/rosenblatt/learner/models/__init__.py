"""Learners by name: what ``fit --learner`` offers, and which module reads a model file back.

Adding a learner adds one line to :data:`LEARNERS` and one module with ``train`` and ``load``.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from rosenblatt.data.schema import Schema

# The name of a learner, and the module that trains and loads it.
LEARNERS = {
    "perceptron": "rosenblatt.learner.models.perceptron",
    "centroid": "rosenblatt.learner.models.sums",
    "naive-bayes": "rosenblatt.learner.models.sums",
    "multinomial-bayes": "rosenblatt.learner.models.sums",
    "logistic": "rosenblatt.learner.models.logistic",
    "kernel": "rosenblatt.learner.models.kernel",
}

# Files that only the library writes: what they say they are, and the module that loads them.
READ_ONLY = {
    "planes": "rosenblatt.learner.models.fixed_weights",
    "real": "rosenblatt.learner.models.regression",
}


class Options(NamedTuple):
    """What the flags of ``fit`` ask for; a learner refuses those that mean nothing to it."""

    learner: str
    parameters: Mapping[str, float]  # of the rule, those that were given
    rule: str | None = None
    hypothesis: str | None = None
    passes: int = 10
    shuffle: bool = True
    seed: int = 0
    multi_class: str = "joint"
    fit_intercept: bool = True
    keep_ledger: bool = True
    kernel: str | None = None
    forget: str | None = None


class Model(Protocol):
    """A trained model, as the commands see it."""

    name: str  # of the learner
    classes: Any  # sorted labels; None where the score is the prediction, a number
    n_features: int
    hypothesis: str  # what predicts unless another is asked for
    about: dict[str, Any]  # what the file says besides: schema, feature names
    learner: Any  # what was trained

    def hypotheses(self) -> tuple[str, ...]:
        """What it can predict by."""

    def cost(self, hypothesis: str) -> int:
        """Operations for a row beyond one product with the weights."""

    def scores(self, X: Any, hypothesis: str) -> Any:
        """Scores of every row: ``(n,)`` with two classes, ``(n, classes)`` with more."""

    def weights(self, hypothesis: str) -> Any:
        """``(rows, 1 + features)`` weights, the bias first."""

    def facts(self) -> dict[str, Any]:
        """What it says about its training, as JSON can hold it."""

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Write the model to a file."""


def trainer(name: str) -> Callable[[Options, Any, Any, Any, Callable[[int, str], bool]], Model]:
    """Return the function that trains a learner: ``train(options, X, y, weight, on_pass)``.

    ``on_pass(number, words)`` is called after every pass, and says whether there may be another.
    """
    if name not in LEARNERS:
        raise ValueError(f"--learner is {name!r}: expected one of {', '.join(LEARNERS)}")
    train: Callable[..., Model] = import_module(LEARNERS[name]).train
    return train


def load(path: str) -> Model:
    """Read a model file by the learner that wrote it."""
    from rosenblatt.storage import BadModel, read_about

    name, known = read_about(path).get("learner", "perceptron"), LEARNERS | READ_ONLY
    if not isinstance(name, str) or name not in known:
        raise BadModel(f"{path}: a model of {name!r}, but this rosenblatt knows {', '.join(known)}")
    model: Model = import_module(known[name]).load(path)
    try:
        stored_schema(model)
    except ValueError as error:
        raise BadModel(f"{path}: the model does not hold together: {error}") from error
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
