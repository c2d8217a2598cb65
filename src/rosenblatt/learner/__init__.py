"""The learner itself: state, passes and hypotheses in one object that knows nothing of scikit-learn."""

from rosenblatt.learner.evaluation import Standing
from rosenblatt.learner.learner import MULTI_CLASS, Epoch, Learner

__all__ = ["MULTI_CLASS", "Epoch", "Learner", "Standing"]
