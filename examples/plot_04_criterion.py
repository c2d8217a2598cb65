r"""
The perceptron criterion as a landscape
=======================================

The criterion :math:`E(w) = -\sum y_i\, w\cdot x_i` over the misclassified examples is piecewise linear:
zero inside the cone of solutions, and rising outside. Gradient descent on it is the batch form of the
perceptron.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import BatchPerceptron, plots

rng = np.random.default_rng(3)
X = rng.normal(size=(60, 2))
side = X @ [0.8, 0.6]
X, y = X[np.abs(side) > 0.3], np.sign(side[np.abs(side) > 0.3])

clf = BatchPerceptron(fit_intercept=False).fit(X, y)
print(f"batch descent ended after {clf.n_iter_} steps, everything right: {clf.score(X, y) == 1.0}")

plots.criterion(X, y)
plt.show()
