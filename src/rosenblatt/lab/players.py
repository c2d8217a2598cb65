"""The players of the perceptron game: B learns by the library's learners, A looks for what B gets wrong."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.points import Point
from rosenblatt.lab.referee import Referee
from rosenblatt.learner import Learner
from rosenblatt.rules import PassiveAggressive, Rosenblatt

STRATEGIES = ("perceptron", "averaged", "passive-aggressive")
# Those for which R²/γ² is proved: the averaged guess may err more often.
PROMISED = ("perceptron", "passive-aggressive")


class LearningB:
    """B as a learner through the origin: predicts, is told the truth, moves as its rule says."""

    def __init__(self, strategy: str) -> None:
        rule: Any = PassiveAggressive(C=np.inf) if strategy == "passive-aggressive" else Rosenblatt()
        self._hypothesis = "averaged" if strategy == "averaged" else "last"
        self._learner = Learner(rule, fit_intercept=False)
        self._learner.start_from(np.zeros((1, 2)), 0.0, np.array([-1, 1]))

    def guess(self) -> NDArray[np.float64]:
        """Return the vector that B predicts by."""
        return np.asarray(self._learner.weights(self._hypothesis)[0, 1:], dtype=np.float64)

    def believes(self) -> NDArray[np.float64]:
        """Return the last vector, which the lemmas speak of."""
        return np.asarray(self._learner.weights("last")[0, 1:], dtype=np.float64)

    def learn(self, point: Point) -> None:
        """Be told an example and its label."""
        self._learner.learn([[point.x / 100, point.y / 100]], [point.label], classes=[-1, 1])


class AdversaryA:
    """A as a machine: presents what B's guess gets most wrong, among all that is legal.

    Against Rosenblatt's rule in the plane this forces about ``R²/2γ²`` mistakes: the first example leans half way to
    one side, and every further one swings the guess across u.
    """

    def __init__(self, referee: Referee) -> None:
        self._steps, self._margin = referee.legal_steps(), float(referee.margin)
        self._u = np.array([float(value) for value in referee.u])
        self._across = np.array([-self._u[1], self._u[0]])

    def present(self, guess: NDArray[np.float64], number: int) -> Point:
        """Return the next example; its label is such that the round's number decides the sign."""
        if not self._steps.size:
            raise ValueError("no example is legal: the margin leaves no room within the radius")
        if not guess.any():
            reach = (self._steps @ self._across).max()
            aim = 100 * self._margin * self._u + self._across * reach / 2
            cost = ((self._steps - aim) ** 2).sum(axis=1)
        else:
            cost = self._steps @ guess
        x, y = (int(value) for value in self._steps[int(np.argmin(cost))])
        sign = 1 if number // 2 % 2 == 0 else -1  # both corners come with both labels
        return Point(sign * x, sign * y, sign)

    def can_win(self, guess: NDArray[np.float64]) -> bool:
        """Whether some legal example is a mistake of this guess."""
        return bool(self._steps.size and (self._steps @ guess).min() <= 0.0)
