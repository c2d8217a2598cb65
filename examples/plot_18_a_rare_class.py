r"""
A rare class: uneven margins
============================

When one class is rare, a line close to its few examples misses new ones. The rule PAUM requires a
wider margin on the side of the rare class.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import Perceptron, plots, rules

rng = np.random.default_rng(9)
X = np.vstack([rng.normal([1.3, 1.0], 0.6, (12, 2)), rng.normal([-0.6, -0.5], 0.62, (160, 2))])
y = np.repeat([1, -1], [12, 160])
fresh = rng.normal([1.3, 1.0], 0.6, (2000, 2))  # more of the rare class

figure, axes = plt.subplots(1, 2, figsize=(12.0, 5.8), layout="constrained")
for ax, rule in zip(axes, (rules.Rosenblatt(), rules.PAUM(tau_plus=8.0, tau_minus=0.5)), strict=True):
    clf = Perceptron(rule, max_iter=100).fit(X, y)
    found = (clf.predict(fresh) == 1).mean()
    plots.boundary(clf, X, y, ax=ax, title=f"{type(rule).__name__}: finds {found:.0%} of fresh blue ones")
plt.show()
