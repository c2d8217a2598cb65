"""The kernel learner: the ledger is the model, and examples are compared through a kernel."""

from rosenblatt.learner.kernel.file import load_dual, save_dual
from rosenblatt.learner.kernel.learner import FORGET, KernelLearner

__all__ = ["FORGET", "KernelLearner", "load_dual", "save_dual"]
