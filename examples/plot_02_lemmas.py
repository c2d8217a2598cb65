r"""
The two lemmas behind the mistake bound
=======================================

Every mistake adds at least :math:`\gamma` to :math:`v\cdot u`, and at most :math:`R^2` to
:math:`\|v\|^2`. So :math:`v\cdot u` grows at least like :math:`k` and :math:`\|v\|` at most like
:math:`\sqrt{k}`, which bounds the number :math:`k` of mistakes. ``Perceptron.trace`` returns both
sides after every update of a run; the page :doc:`/theory/mistake-bound` has the proof.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import MaxMargin, Perceptron, plots

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 2))
distance = X @ [0.8, 0.6] - 0.2
X, distance = X[np.abs(distance) > 0.06], distance[np.abs(distance) > 0.06]
y = np.where(distance > 0, 1, -1)

clf = Perceptron(hypothesis="last", max_iter=200).fit(X, y)
widest = MaxMargin().fit(X, y)
trace = clf.trace((widest.coef_, widest.intercept_))
print(f"{clf.n_mistakes_} mistakes; the bound with this u is {(trace.radius / trace.gamma) ** 2:,.0f}")
assert (trace.dot >= trace.floor - 1e-9).all()
assert (trace.sqnorm <= trace.ceiling + 1e-9).all()

plots.lemmas(trace)
plt.show()
