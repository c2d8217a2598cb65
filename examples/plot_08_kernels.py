r"""
Kernels
=======

The kernel perceptron does not compute features: it stores the examples that caused updates, and the
kernel compares them with a new example. Three kernels (linear, polynomial of degree 3, Gaussian) on the
same two moons; misclassified rows have a ring.
"""

import matplotlib.pyplot as plt

from rosenblatt import KernelPerceptron, plots
from rosenblatt.data import read_all

moons = read_all("sample:moons")
X, y = moons.X, moons.y

learners = {
    "linear": KernelPerceptron(kernel="linear", fit_intercept=True, max_iter=30),
    "degree 3": KernelPerceptron(kernel="poly", degree=3, max_iter=30),
    "Gaussian": KernelPerceptron(kernel="rbf", gamma=2.0, max_iter=30),
}
figure, axes = plt.subplots(1, 3, figsize=(13.5, 5.4), layout="constrained")
for ax, (name, clf) in zip(axes, learners.items(), strict=True):
    clf.fit(X, y)
    plots.boundary(clf, X, y, ax=ax, title=f"{name}: {clf.n_support_} rows kept")
plt.show()
