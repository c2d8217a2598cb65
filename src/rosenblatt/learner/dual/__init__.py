"""The learner in its dual form: the ledger is the model, and examples are met through a kernel."""

from rosenblatt.learner.dual.file import load_dual, save_dual
from rosenblatt.learner.dual.learner import FORGET, DualLearner

__all__ = ["FORGET", "DualLearner", "load_dual", "save_dual"]
