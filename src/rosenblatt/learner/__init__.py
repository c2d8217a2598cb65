"""The learner itself: state, training and hypotheses, without scikit-learn.

Its names load their modules, and with them numba, when they are used: ``rosenblatt --help`` imports the table of
learners in :mod:`rosenblatt.learner.models` and nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rosenblatt.learner.learner import MULTI_CLASS, Learner
    from rosenblatt.learner.training import Epoch, Evaluation

__all__ = ["MULTI_CLASS", "Epoch", "Evaluation", "Learner"]

_HOME = {
    "MULTI_CLASS": "rosenblatt.learner.learner",
    "Learner": "rosenblatt.learner.learner",
    "Epoch": "rosenblatt.learner.training",
    "Evaluation": "rosenblatt.learner.training",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rosenblatt.learner' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
