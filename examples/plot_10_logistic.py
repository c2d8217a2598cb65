r"""
Logistic regression against the perceptron
==========================================

Both learn a hyperplane. The perceptron stops as soon as every example is classified correctly, however
small the margin. The logistic loss still falls with a larger margin, so its line settles farther from
both classes. The third line has the largest possible margin.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import LogisticRegression, MaxMargin, Perceptron, plots

rng = np.random.default_rng(12)
X = np.vstack([rng.normal([1.3, 0.9], 0.45, (30, 2)), rng.normal([-1.0, -0.6], 0.45, (30, 2))])
y = np.repeat([1, -1], 30)

learners = [Perceptron(hypothesis="last"), LogisticRegression(), MaxMargin()]
figure, axes = plt.subplots(1, 3, figsize=(13.5, 5.4), layout="constrained")
for ax, clf in zip(axes, learners, strict=True):
    clf.fit(X, y)
    plots.boundary(clf, X, y, ax=ax, title=type(clf).__name__)
plt.show()
