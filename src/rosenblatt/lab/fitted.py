"""Learners without steps on the same data: closest centroid, naive Bayes, logistic regression, largest margin."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.playground_state import PlaygroundState
from rosenblatt.lab.spaces import Space

# Name in a link -> the class in rosenblatt, and what it is told, as the exported code writes it.
CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "batch": ("BatchPerceptron", {}),
    "logistic": ("LogisticRegression", {"C": 10.0}),
    "centroid": ("ClosestCentroid", {}),
    "naive-bayes": ("NaiveBayes", {}),
    "gaussian": ("GaussianDiscriminant", {}),
    "max-margin": ("MaxMargin", {}),
}
SOFT = {"C": 1.0}  # of the largest margin, where there is no hard one


class Losses(NamedTuple):
    """How a learner stands on the data; losses are means at ‖w‖ = 1."""

    wrong: int
    perceptron: float
    hinge: float
    logistic: float
    margin: float


class Fitted:
    """A model of the library fitted on the data of a state, in its space (a kernel's is left for the plane)."""

    def __init__(
        self, name: str, state: PlaygroundState, X: NDArray[np.float64], y: NDArray[np.int64]
    ) -> None:
        space = Space.named(state.space)
        self.name, self.y = name, y
        self.space = Space.named("plane") if space.kernel else space
        self.Z = self.space.rows(X)
        self.model: Any = None
        self.note = ""
        self.arguments: dict[str, Any] = {}
        if np.unique(y).size < 2:
            self.note = "needs examples of both classes"
            return
        self._fit(state)

    def _fit(self, state: PlaygroundState) -> None:
        import rosenblatt

        self.class_name, told = CLASSES[self.name]
        self.arguments = {**told, "eta": state.eta} if self.name == "batch" else dict(told)
        make = getattr(rosenblatt, self.class_name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what matters is on the page
                self.model = make(**self.arguments).fit(self.Z, self.y)
        except (ValueError, np.linalg.LinAlgError) as error:
            if self.name == "max-margin":
                self.arguments, self.note = dict(SOFT), "no hard margin: C = 1"
                self.model = make(**SOFT).fit(self.Z, self.y)
            else:
                self.note = str(error).partition(". ")[0]

    def weights(self) -> NDArray[np.float64] | None:
        """Return the weights of the hyperplane, bias first; None where it is not one in this space."""
        if self.model is None or self.name == "naive-bayes":
            return None
        return np.concatenate([self.model.intercept_, self.model.coef_[0]]).astype(np.float64)

    def scores(self, P: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the score of any points of the plane."""
        return None if self.model is None else np.asarray(self.model.decision_function(self.space.rows(P)))


def losses(
    scores: NDArray[np.float64] | None, weights: NDArray[np.float64] | None, y: NDArray[np.int64]
) -> Losses | None:
    """Measure scores on the data; without weights they are taken as they are."""
    if scores is None or not len(y):
        return None
    norm = float(np.linalg.norm(weights[1:])) if weights is not None else 1.0
    margins = y * scores / (norm or 1.0)
    return Losses(
        int((y * scores <= 0.0).sum()),
        float(np.maximum(0.0, -margins).mean()),
        float(np.maximum(0.0, 1.0 - margins).mean()),
        float(np.logaddexp(0.0, -margins).mean() / np.log(2.0)),
        float(margins.min()),
    )
