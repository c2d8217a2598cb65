"""The learner itself: state, training and hypotheses, without scikit-learn."""

from rosenblatt.learner.learner import MULTI_CLASS, Learner
from rosenblatt.learner.training import Epoch, Evaluation

__all__ = ["MULTI_CLASS", "Epoch", "Evaluation", "Learner"]
