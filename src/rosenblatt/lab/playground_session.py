"""The playground without its page: a state, what the library says about it, and every action as another state."""

from typing import Any

import numpy as np

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.lab.fitted import Fitted, Losses, losses
from rosenblatt.lab.insight import Insight
from rosenblatt.lab.playground_state import PlaygroundState
from rosenblatt.lab.points import Points, arrays, counted, edited
from rosenblatt.lab.scene import Scene, empty_scene, model_scene, proof_scene, training_scene
from rosenblatt.lab.table import changed, to_query
from rosenblatt.lab.training import Training

SHOWN_ONLY = {"proof", "beside", "tool", "theme", "clock"}  # what can change without learning anew


class PlaygroundSession:
    """One visitor's playground."""

    def __init__(self, state: PlaygroundState, patience: float | None = None) -> None:
        self.state = state
        self.patience = (
            patience  # seconds to wait for a proof before showing the page without it; None: to its end
        )
        self.problem = ""
        self.training: Training | None = None
        self.fitted: Fitted | None = None
        self._past: list[int] = []  # clocks to go back to
        self._others: dict[str, tuple[Scene, Losses | None, str]] = {}  # learners beside that have no steps
        self._look_at_data()

    # What there is

    def _look_at_data(self) -> None:
        self.points: Points = self.state.examples()
        self.X, self.y = arrays(self.points)
        self.insight = Insight(self.state.space, self.X, self.y, self.patience)
        self._learn()

    def _learn(self) -> None:
        self.training, self.fitted, self.problem, self._others = None, None, "", {}
        state = self.state
        if state.learner != "perceptron":
            self.fitted = Fitted(state.learner, state, self.X, self.y)
            self.problem = "" if self.fitted.model is not None else self.fitted.note
            return
        try:
            self.training = Training(state, self.X, self.y)
        except ValueError as error:
            self.problem = str(error)
            return
        self._keep_clock()
        if self.training.learner.ledger is None and state.hypothesis in hypotheses.FROM_THE_LEDGER:
            self.problem = f"{state.rule} keeps no ledger, so only last and averaged are known."

    def _keep_clock(self) -> None:
        if self.training is not None:
            self.state = changed(self.state, clock=self.training.clock)

    @property
    def link(self) -> str:
        """The query that brings this very state back."""
        return to_query(self.state)

    # Actions

    def set(self, **values: Any) -> None:
        """Change the state; what depends on it is told anew by the library, at the same clock."""
        before = self.state
        if "rule" in values and "eta" not in values and values["rule"] != before.rule:
            own = rules.BY_NAME[values["rule"]]()
            values["eta"] = float(getattr(own, "eta", before.eta))
        self.state = changed(before, **values)
        different = {name for name in vars(before) if getattr(before, name) != getattr(self.state, name)}
        if different & {"data", "n", "margin", "noise", "seed", "points", "space"}:
            self._look_at_data()
        elif different - SHOWN_ONLY:
            self._learn()
        elif "clock" in different:
            self._go(self.state.clock)

    def edit(self, what: str, **told: Any) -> None:
        """Do to the points what was done on the plane: add, move, flip, erase."""
        self.set(data="own", points=edited(self.points, what, **told))

    def step(self) -> None:
        """Look at one example."""
        self._forward(lambda run: run.clock + 1)

    def update(self) -> None:
        """Go on until the weights move."""
        self._forward(lambda run: run.next_update())

    def epoch(self) -> None:
        """Go on to the end of the pass."""
        self._forward(lambda run: run.next_pass())

    def back(self) -> None:
        """Undo the last step, of whatever size; without one, go back by one example."""
        if self.training is not None and self.training.clock:
            earlier = [clock for clock in self._past if clock < self.training.clock]
            self._go(earlier[-1] if earlier else self.training.clock - 1)
            self._past = earlier[:-1]

    def reset(self) -> None:
        """Go back to the start."""
        self._past = []
        self._go(0)

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to step through."""
        return self.training is None or self.training.finished

    def _forward(self, when: Any) -> None:
        if self.training is not None and not self.training.finished:
            self._past.append(self.training.clock)
            self._go(when(self.training))

    def _go(self, clock: int) -> None:
        if self.training is None:
            return
        try:
            self.training.to(clock)
        except ValueError as error:
            self.problem = str(error)
        self._keep_clock()

    # What is shown

    def scene(self) -> Scene:
        """Return what the plane shows."""
        state = self.state
        scene = empty_scene(self.points, state.x_name, state.y_name)
        if self.training is not None:
            training_scene(self.training, self.points, scene)
        elif self.fitted is not None and self.fitted.model is not None:
            model_scene(self.fitted, self.points, scene)
        if state.proof and len(self.points):
            proof_scene(self.insight.proof, self.insight.space.is_plane, self.points, scene)
        return scene

    def beside(self) -> list[tuple[str, Scene, Losses | None, str]]:
        """Return learners side by side on the same data: name, picture, losses, note."""
        for name in self.state.beside:
            if name == "perceptron" or name not in self._others:
                self._others[name] = self._beside(name)
        return [(name, *self._others[name]) for name in self.state.beside]

    def _beside(self, name: str) -> tuple[Scene, Losses | None, str]:
        scene, note = empty_scene(self.points), ""
        model: Training | Fitted
        if name == "perceptron":
            try:
                model = self.training or Training(self.state, self.X, self.y)
            except ValueError as error:
                return scene, None, str(error)
            if not model.clock and not any(self.state.first_weights):
                return scene, None, "no step yet"
        else:
            model = Fitted(name, self.state, self.X, self.y)
            note = model.note
        if isinstance(model, Training) or model.model is not None:
            model_scene(model, self.points, scene)
        scores = model.scores(self.X) if len(self.points) else None
        return scene, losses(scores, model.weights(), self.y), note

    def losses(self) -> Losses | None:
        """Return the losses of what predicts."""
        model = self.training or self.fitted
        if model is None or not len(self.points):
            return None
        return losses(model.scores(self.X), model.weights(), self.y)

    def status(self) -> str:
        """Say in one line where the run stands."""
        if self.problem:
            return self.problem
        if not len(self.points):
            return "Put some points on the plane: choose + or −, then click."
        if self.fitted is not None:
            measured = self.losses()
            wrong = "" if measured is None else f"{measured.wrong} of {len(self.y)} misclassified."
            return " ".join(
                ["Fitted in one go: there is nothing to step through.", wrong, self.fitted.note]
            ).strip()
        run = self.training
        if run is None or not run.clock:
            return "Nothing seen yet. Press step: the learner looks at one example."
        if run.converged:
            return f"A clean pass: no update in pass {run.epoch}. {counted(run.learner.mistakes, 'mistake')} in all."
        row, update = run.row_at(run.clock - 1), run.last_update
        told = f"Row {row} (y = {'+1' if self.y[row] > 0 else '−1'}): "
        if update is None:
            return told + "right, nothing moves."
        why = "a mistake" if update.score <= 0.0 else "right, but the rule moves"
        return told + f"{why}, w {'+' if update.tau > 0 else '−'}= {_factor(update.tau)}x."

    def summary(self) -> str:
        """Say what there is in numbers."""
        run = self.training
        plus = int(np.sum(self.y > 0))
        points = f"{counted(len(self.y), 'point')}: {plus} of +1, {len(self.y) - plus} of −1."
        if run is None or not run.clock:
            return points
        number = run.epoch + (1 if run.clock % run.n else 0)
        return f"{points} Pass {number}, {run.clock} seen, {counted(run.learner.mistakes, 'mistake')}."


def _factor(tau: float) -> str:
    return "" if abs(abs(tau) - 1.0) < 1e-9 else f"{abs(tau):.3g}·"
