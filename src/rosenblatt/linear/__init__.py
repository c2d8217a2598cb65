"""Linear estimators with the scikit-learn interface, over the learners of :mod:`rosenblatt.learner`."""
