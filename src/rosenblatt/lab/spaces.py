"""The spaces in which the playground learns: the plane, what a feature map makes of it, or a kernel's."""

from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RBF_GAMMA = 1.0
NOTHING = 1e-13  # an eigenvalue this small beside the largest is zero


class Space(NamedTuple):
    """A feature map (``kind`` and ``degree``) or a kernel."""

    kind: str
    degree: int
    kernel: bool

    @classmethod
    def named(cls, name: str) -> "Space":
        """Return a space by its name in a link.

        >>> Space.named("kernel-poly-3")
        Space(kind='poly', degree=3, kernel=True)
        """
        kernel = name.startswith("kernel-")
        kind, _, degree = name.removeprefix("kernel-").partition("-")
        return cls(kind, int(degree or 2), kernel)

    @property
    def is_plane(self) -> bool:
        """Whether boundaries are straight."""
        return self.kind == "plane"

    def rows(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the learner reads: the features, or those of the map; a kernel reads the points."""
        if self.kernel or self.is_plane or not len(X):
            return X
        from rosenblatt.linear.encoders import FeatureMap

        return np.ascontiguousarray(FeatureMap(self.kind, degree=self.degree).fit_transform(X))

    def names(self) -> list[str]:
        """Return the names of the features."""
        if self.kernel or self.is_plane:
            return ["x1", "x2"]
        from rosenblatt.linear.encoders import FeatureMap

        made = FeatureMap(self.kind, degree=self.degree).fit(np.zeros((1, 2)))
        return [str(name) for name in made.get_feature_names_out(["x1", "x2"])]

    def kernel_arguments(self) -> dict[str, Any]:
        """Return what the kernel learner is told."""
        return {"kernel": "rbf", "gamma": RBF_GAMMA} if self.kind == "rbf" else {"degree": self.degree}

    def told_apart(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
        """Return rows on which to ask for separability, and whether a bias is to be added.

        A polynomial kernel with a constant has all monomials up to its degree; a Gaussian one is asked by its Gram
        matrix.
        """
        if not self.kernel:
            return self.rows(X), True
        if self.kind == "rbf":
            return self.gram(X), False
        from rosenblatt.linear.encoders import FeatureMap

        made: NDArray[np.float64] = FeatureMap("polynomial", degree=self.degree).fit_transform(X)
        return made, True

    def gram(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel of every pair."""
        if self.kind == "rbf":
            apart = ((X[:, None] - X[None]) ** 2).sum(axis=2)
            return np.asarray(np.exp(-RBF_GAMMA * apart))
        return np.asarray((X @ X.T + 1.0) ** self.degree)

    def embedded(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows whose plain products are those of the space in which learning happens, bias included."""
        if not self.kernel:
            return np.column_stack([np.ones(len(X)), self.rows(X)])
        if self.kind == "poly":  # every monomial x^i y^j, by the square root of its count in (1 + a·b)^degree
            powers = [(i, j) for i in range(self.degree + 1) for j in range(self.degree + 1 - i)]
            counts = [comb(self.degree, i) * comb(self.degree - i, j) for i, j in powers]
            columns = [X[:, 0] ** i * X[:, 1] ** j for i, j in powers]
            return np.column_stack(columns) * np.sqrt(counts)
        values, vectors = np.linalg.eigh(self.gram(X))
        there = values > NOTHING * values[-1]
        return np.asarray(vectors[:, there] * np.sqrt(values[there]))
