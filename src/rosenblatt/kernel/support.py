"""The rows that a kernel model is made of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.kernel import KernelLearner


class SupportRows:
    """Which rows a kernel model remembers, and how much each counts in the hypothesis that predicts."""

    hypothesis: str
    normalise: bool

    @property
    def support_(self) -> NDArray[np.int64]:
        """The examples the model is made of."""
        return self._learner().support_rows

    @property
    def n_support_(self) -> int:
        """How many rows the model remembers."""
        return self._learner().n_support

    @property
    def support_vectors_(self) -> Any:
        """The rows the model is made of, where they live; columns of the Gram matrix where it is precomputed."""
        return self._learner().support.all()

    @property
    def dual_coef_(self) -> NDArray[Any]:
        """Coefficients of the support rows in the hypothesis that predicts."""
        if self.hypothesis == "voted":
            raise AttributeError(
                "'voted' is a vote of many hypotheses and has no coefficients; 'averaged' has"
            )
        return self._learner().weights(self.hypothesis, self.normalise)

    def _learner(self) -> KernelLearner:
        raise NotImplementedError
