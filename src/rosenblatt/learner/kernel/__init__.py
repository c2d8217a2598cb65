"""The kernel learner: weights are a sum of support rows, and products of rows are kernel values."""

from rosenblatt.learner.kernel.file import load_kernel_learner, save_kernel_learner
from rosenblatt.learner.kernel.learner import FORGET, KernelLearner

__all__ = ["FORGET", "KernelLearner", "load_kernel_learner", "save_kernel_learner"]
