"""Models that score by hyperplanes, wherever the weights come from."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.matrix import checked_matrix
from rosenblatt.learner.scoring import decided, linear_scores
from rosenblatt.storage import Content


class LinearWeights:
    """Base of models with one hyperplane for two classes, or one per class with more.

    A subclass defines :meth:`weights`; ``kind`` names its declaration in :mod:`rosenblatt.storage`, by which it is
    written to a file and read.
    """

    kind = ""
    classes: NDArray[Any]

    def weights(self, hypothesis: str = "last") -> NDArray[Any]:
        """Return ``(rows, 1 + features)`` weights, the bias first; ``hypothesis`` is ignored, there is only one."""
        raise NotImplementedError

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Rebuild a model from a checked file."""
        return content.restore(cls(**content.settings))

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.weights().shape[1]) - 1

    def scores(self, X: Any, hypothesis: str = "last") -> NDArray[Any]:
        """Return the score of every row: ``(n,)`` with two classes, ``(n, classes)`` with more."""
        weights = self.weights(hypothesis)
        scores = linear_scores(checked_matrix(X, n_features=weights.shape[1] - 1), weights)
        return scores[:, 0] if weights.shape[0] == 1 else scores

    def predict(self, X: Any, hypothesis: str = "last", undecided: Any = None) -> NDArray[Any]:
        """Return the class of every row; where scores are tied, ``undecided`` if given, else the first class."""
        return decided(self.scores(X, hypothesis), self.classes, undecided)


class FixedWeights(LinearWeights):
    """Hyperplanes with given weights.

    Parameters
    ----------
    weights : ndarray of shape (1 or classes, 1 + features)
        The bias first.
    classes : ndarray

    Examples
    --------
    >>> planes = FixedWeights(np.array([[0.5, 1.0, -1.0]]), np.array(["no", "yes"]))
    >>> planes.predict([[2.0, 1.0], [0.0, 1.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    kind = "planes"

    def __init__(self, weights: NDArray[Any], classes: NDArray[Any]) -> None:
        self._weights = np.atleast_2d(np.asarray(weights))
        self.classes = np.asarray(classes)
        rows = 1 if self.classes.size <= 2 else self.classes.size
        if self._weights.shape[0] != rows or not np.isfinite(self._weights).all():
            raise ValueError(
                f"{self.classes.size} classes need {rows} row(s) of finite weights, got shape {self._weights.shape}"
            )

    def weights(self, hypothesis: str = "last") -> NDArray[Any]:
        """Return the given weights."""
        return self._weights

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Rebuild a model from a checked file."""
        return cls(content["weights"], content.classes)
