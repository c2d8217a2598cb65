"""Gates without their page: one unit, taught or set by hand, and a network wired of gates."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.contour import from_scores, half_plane
from rosenblatt.lab.gates_state import (
    INPUTS,
    KINDS,
    LARGEST,
    MOST_UNITS,
    TABLES,
    XOR,
    GatesState,
    Wired,
    network_of,
)
from rosenblatt.lab.points import Point
from rosenblatt.lab.scene import Scene, add_line, add_shape, empty_scene, proof_scene
from rosenblatt.lab.table import changed, to_query
from rosenblatt.learner import Learner
from rosenblatt.networks import Gate, Network
from rosenblatt.networks.gate import every_input
from rosenblatt.proofs import separability

CORNERS = every_input(2)
REACH = np.array([1.4, 1.2])  # the square of zeros and ones is drawn from −REACH to REACH


class GatesSession:
    """One visitor's gates."""

    def __init__(self, state: GatesState) -> None:
        self.state = state

    @property
    def link(self) -> str:
        """The query that brings this very state back."""
        return to_query(self.state)

    # One unit

    @property
    def targets(self) -> NDArray[np.int64]:
        """What the unit should say for 00, 01, 10, 11."""
        return np.array(TABLES[self.state.gate])

    def learner(self) -> Learner:
        """Return the library's learner after as many examples of the truth table as the clock says."""
        learner = Learner()
        learner.start_from(np.zeros((1, 2)), 0.0, np.array([0, 1]))
        rows = np.arange(self.state.clock) % 4
        if rows.size:
            learner.learn(CORNERS[rows], self.targets[rows], classes=[0, 1])
        return learner

    @property
    def gate(self) -> Gate:
        """The unit as it stands."""
        if self.state.learned:
            w = self.learner().weights("last")[0]
            return Gate((float(w[1]), float(w[2])), float(w[0]), self.state.gate)
        return Gate((self.state.w1, self.state.w2), self.state.b, self.state.gate)

    @property
    def wrong(self) -> int:
        """On how many rows of the table the unit is wrong."""
        return int((self.gate.truth_table() != self.targets).sum())

    def proof(self) -> Any:
        """The library's answer to "can one unit do this?"."""
        return separability(CORNERS, self.targets)

    def set(self, **values: Any) -> None:
        """Change the state; weights set by hand end the learning, another gate begins it anew."""
        if {"w1", "w2", "b"} & set(values):
            values = {"learned": False, "clock": 0, **values}
        if "gate" in values and values["gate"] != self.state.gate:
            values = {"clock": 0, "proof": False, **values}
        self.state = changed(self.state, **values)

    def learn(self, examples: int) -> None:
        """Show the unit so many rows of the truth table, one after the other."""
        clock = min(4000, self.state.clock + examples) if self.state.learned else examples
        self.state = changed(self.state, learned=True, clock=clock)
        w = np.clip(self.learner().weights("last")[0], -LARGEST, LARGEST)
        self.state = changed(self.state, b=float(w[0]), w1=float(w[1]), w2=float(w[2]))

    def learn_all(self) -> bool:
        """Show the table until a pass is clean, at most 100 times; returns whether one was."""
        for _ in range(100):
            before = self.learner().updates if self.state.learned else -1
            self.learn(4 - self.state.clock % 4 if self.state.learned and self.state.clock % 4 else 4)
            if self.learner().updates == before:
                return True
        return False

    # A network

    @property
    def network(self) -> Network | None:
        """The network as it is wired."""
        return network_of(self.state.wiring)

    def add(self, kind: str) -> None:
        """Add a gate that reads nothing yet."""
        if kind not in KINDS:
            raise ValueError(f"a gate is one of {', '.join(KINDS)}, not {kind!r}")
        if len(self.state.wiring) >= MOST_UNITS:
            raise ValueError(f"a network here has at most {MOST_UNITS} gates: remove one first")
        self.set(wiring=(*self.state.wiring, Wired(kind, ())))

    def remove_last(self) -> None:
        """Remove the last gate."""
        self.set(wiring=self.state.wiring[:-1])

    def preset(self) -> None:
        """Wire XOR: AND of NAND and OR."""
        self.set(wiring=XOR)

    def wire(self, source: int, unit: int) -> None:
        """Lay a wire from a signal to a gate, or take it away where it lies."""
        own = self.state.wiring[unit]
        if source >= INPUTS + unit:
            raise ValueError("a gate reads what is before it: wire from left to right")
        if source in own.sources:
            sources = tuple(each for each in own.sources if each != source)
        elif own.kind == "NOT" and own.sources:
            sources = (source,)
        else:
            sources = (*own.sources, source)
        wiring = list(self.state.wiring)
        wiring[unit] = Wired(own.kind, sources)
        self.set(wiring=tuple(wiring))

    # Showing

    def unit_scene(self) -> Scene:
        """Return the corners of the square, the unit's half-plane, and the proof where it is asked for."""
        scene = square_scene(self.targets)
        gate = self.gate
        if any(gate.weights) or gate.bias:
            add_shape(scene, half_plane(_drawn(gate)))
        said = gate.truth_table()
        scene["rings"] = [[k, "wrong", ""] for k in range(4) if said[k] != self.targets[k]]
        if self.state.proof:
            placed, labels = _placed(CORNERS), np.where(self.targets > 0, 1, -1)
            points = tuple(Point.near(x, y, int(t)) for (x, y), t in zip(placed, labels, strict=True))
            proof_scene(separability(placed, labels), True, points, scene)
        return scene

    def network_scenes(self) -> list[tuple[str, Scene]]:
        """Return what every gate of the network says over the square, and last what all of it says."""
        network = self.network
        if network is None:
            return []
        scenes = []
        for k, unit in enumerate(self.state.wiring):
            scene = square_scene(network.signals(CORNERS)[:, k])
            up_to = network.up_to(k + 1)
            if all(source < INPUTS for source in unit.sources) and len(unit.sources) == INPUTS:
                gate = network.units[k].gate
                order = np.argsort(unit.sources)
                add_shape(scene, half_plane(_drawn(Gate(tuple(np.array(gate.weights)[order]), gate.bias))))
            else:
                add_shape(scene, from_scores(partial(_composed, up_to), steps=True))
            scenes.append((f"{k + 1}: {unit.kind}", scene))
        last = scenes[-1][1]
        for k, unit in enumerate(self.state.wiring[:-1]):
            if all(source < INPUTS for source in unit.sources):
                gate = network.units[k].gate
                weights = np.zeros(2)
                weights[list(unit.sources)] = gate.weights
                add_line(last, _drawn(Gate(tuple(weights), gate.bias)), "unit")
        return scenes


def square_scene(targets: NDArray[Any]) -> Scene:
    """Return the four corners of the square as points of the plane, +1 where the target is one."""
    scene = empty_scene((), "", "")
    scene["points"] = [
        [x, y, 1 if t else -1] for (x, y), t in zip(_placed(CORNERS).tolist(), targets, strict=True)
    ]
    scene["box"] = [-3.0, -2.25, 3.0, 2.25]
    scene["no_ticks"] = True
    for (x, y), name in zip(_placed(CORNERS).tolist(), ("00", "01", "10", "11"), strict=True):
        scene["notes"].append([x, y - 0.5 if y < 0 else y + 0.3, "", name])
    return scene


def _composed(network: Network, P: NDArray[np.float64]) -> NDArray[np.float64]:
    return network.scores(_unplaced(P))[:, -1]


def _placed(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((X - 0.5) * 2.0 * REACH)


def _unplaced(P: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(P / REACH / 2.0 + 0.5)


def _drawn(gate: Gate) -> NDArray[np.float64]:
    """Return the weights of a gate in the coordinates in which it is drawn, bias first."""
    w = np.array(gate.weights) / (2.0 * REACH)
    return np.array([gate.bias + 0.5 * sum(gate.weights), *w])
