"""Closest centroid as hyperplanes (seed 001): no scikit-learn, mergeable, one read of the data."""

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.class_sums import ClassSums


class Centroids(ClassSums):
    """The mean of every class; the closest one wins.

    **Problem.** ``argmin_c ‖x − μ_c‖ = argmax_c μ_c·x − ½‖μ_c‖²``; between two classes the hyperplane
    ``w = μ₊ − μ₋``, ``b = −½(‖μ₊‖² − ‖μ₋‖²)``. A class that was named but never seen has no mean and is never chosen.

    Examples
    --------
    >>> learner = Centroids()
    >>> learner.learn([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]], ["a", "b", "a"])
    >>> learner.weights()
    array([[ 0.,  2., -2.]])
    """

    kind = "centroid"

    def means(self) -> NDArray[np.float64]:
        """Return the centroid of every class, in the order of ``classes``."""
        if (self.counts == 0.0).any():
            unseen = self.classes[self.counts == 0.0][0]
            raise ValueError(f"class {unseen!r} has no example yet, so it has no centroid")
        return np.asarray(self.sums / self.counts[:, None])

    def _weights_of_classes(self) -> NDArray[np.float64]:
        means = self.means()
        return np.column_stack([-0.5 * (means**2).sum(axis=1), means])
