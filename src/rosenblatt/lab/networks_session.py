"""Networks without their page: data, and a network that a learner of the library builds on them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.contour import from_grid, from_scores, grid
from rosenblatt.lab.networks_state import ALL, NetworksState
from rosenblatt.lab.points import arrays, edited
from rosenblatt.lab.scene import Scene, add_line, add_shape, empty_scene
from rosenblatt.lab.table import changed, to_query
from rosenblatt.networks import Backpropagation, Tower, Upstart
from rosenblatt.networks.gate import every_input

CLASSES = {"tower": Tower, "upstart": Upstart, "backpropagation": Backpropagation}
DRAWN = 12  # units whose own boundary is drawn


class NetworksSession:
    """One visitor's network."""

    def __init__(self, state: NetworksState) -> None:
        self.state = state
        self._build()

    def _build(self) -> None:
        state = self.state
        self.points = state.examples()
        self.X, self.y = arrays(self.points)
        if state.boolean:
            self.X = every_input(state.boolean)
            self.y = np.where(self.X.sum(axis=1) % 2 == 1, 1, -1)
        self.model: Any = None
        if np.unique(self.y).size == 2:
            self.model = CLASSES[state.builder](**self.arguments).fit(self.X, self.y)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the learner is told."""
        if self.state.builder == "backpropagation":
            return {"hidden": (self.state.hidden,)}
        return {} if self.state.units == ALL else {"max_units": self.state.units}

    @property
    def link(self) -> str:
        """The query that brings this very state back."""
        return to_query(self.state)

    @property
    def wrong(self) -> NDArray[np.int64]:
        """The examples that the network gets wrong."""
        if self.model is None:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self.model.predict(self.X) != self.y)

    def set(self, **values: Any) -> None:
        """Change the state; the network is built anew."""
        before, self.state = self.state, changed(self.state, **values)
        if any(
            getattr(before, n) != getattr(self.state, n) for n in vars(before) if n not in ("tool", "theme")
        ):
            self._build()

    def edit(self, what: str, **told: Any) -> None:
        """Do to the points what was done on the plane."""
        self.set(data="own", points=edited(self.points, what, **told))

    def status(self) -> str:
        """Say what was built."""
        if self.model is None:
            return "A network needs examples of both classes."
        wrong, n = len(self.wrong), len(self.y)
        if self.state.builder == "backpropagation":
            said = "the loss stopped moving" if self.model.converged_ else "stopped before the loss did"
            return f"{self.state.hidden} hidden units, {wrong} of {n} wrong; {said}. Nothing is promised."
        units = len(self.model.network_.units)
        told = f"{units} unit{'s' if units > 1 else ''}, {wrong} of {n} wrong."
        return told if wrong else told + " Zero errors, as promised on any consistent data."

    def errors(self) -> NDArray[np.int64] | None:
        """Return the errors after each unit, where units come one after the other."""
        return self.model.errors_[0] if self.state.builder == "tower" and self.model is not None else None

    def drawing(self) -> tuple[list[str], list[tuple[str, tuple[int, ...]]], list[Any] | None]:
        """Return the wiring: names of the inputs, units with what they read, weights."""
        if self.model is None:
            return [], [], None
        if self.state.builder == "backpropagation":
            hidden, inputs = self.state.hidden, self.X.shape[1]
            units = [(f"h{k + 1}", tuple(range(inputs))) for k in range(hidden)]
            output = ("out", tuple(range(inputs, inputs + hidden)))
            coefs = self.model.mlp_.coefs_
            weights = [list(coefs[0][:, k]) for k in range(hidden)] + [list(coefs[1][:, 0])]
            return [f"x{j + 1}" for j in range(inputs)], [*units, output], weights
        network = self.model.network_
        units = [(f"u{k + 1}", unit.sources) for k, unit in enumerate(network.units)]
        return list(network.input_names), units, [unit.gate.weights for unit in network.units]

    def scene(self) -> Scene:
        """Return the plane: examples, composed region, and the boundary of every unit."""
        scene = empty_scene(self.points)
        if self.model is None or self.state.boolean:
            return scene
        if self.state.builder == "backpropagation":
            add_shape(scene, from_scores(lambda P: self.model.predict_proba(P)[:, 1] - 0.5, steps=True))
            for plane in self.model.hidden_planes():
                add_line(scene, plane, "unit")
        else:
            add_shape(scene, from_scores(self.model.decision_function, steps=True))
            network, read = self.model.network_, self.model.inputs_.read
            scores = network.scores(read(grid()))
            for k in range(min(DRAWN, len(network.units) - 1)):
                edge = from_grid(scores[:, k], lambda P, k=k: network.scores(read(P))[:, k]).edge  # type: ignore[misc]
                scene["paths"].append([edge, "unit"])
        scene["rings"] = [[int(row), "wrong", ""] for row in self.wrong]
        return scene
