"""The page of gates: a unit by hand or by learning, XOR with its proof, and gates wired into a network."""

from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, NamedTuple

import numpy as np
from nicegui import ui
from numpy.typing import NDArray

from rosenblatt.lab import frame
from rosenblatt.lab.computing import Share
from rosenblatt.lab.elements.circuit import Circuit, drawing_of
from rosenblatt.lab.elements.plane import Plane
from rosenblatt.lab.points import Point, counted
from rosenblatt.lab.scene import (
    Scene,
    add_line,
    add_shape,
    empty_scene,
    from_scores,
    half_plane,
    legend,
    legend_of,
    proof_scene,
)
from rosenblatt.lab.table import Column, Session, column, flag, number, one_of, whole
from rosenblatt.learner import Learner
from rosenblatt.networks import Gate, Network, Unit
from rosenblatt.networks.gate import every_input
from rosenblatt.proofs import separability
from rosenblatt.web import layout
from rosenblatt.web.layout import Markup, html
from rosenblatt.web.theme import THEMES

# The state of the page

TABLES = {
    "AND": (0, 0, 0, 1),
    "OR": (0, 1, 1, 1),
    "NAND": (1, 1, 1, 0),
    "NOR": (1, 0, 0, 0),
    "NOT": (1, 1, 0, 0),  # of the first input
    "XOR": (0, 1, 1, 0),
}
KINDS = ("AND", "OR", "NAND", "NOR", "NOT")
MOST_UNITS = 8
LARGEST = 6.0  # of a weight
INPUTS = 2


@dataclass(frozen=True)
class Wired:
    """A gate of the network and the signals it reads: 0 and 1 are the inputs, 2 the first gate."""

    kind: str
    sources: tuple[int, ...]


def _wiring() -> Column:
    def read(text: str) -> tuple[Wired, ...]:
        units: list[Wired] = []
        for part in text.split("-") if text else ():
            kind, *sources = part.split(".")
            wired = Wired(kind, tuple(int(source) for source in sources))
            if kind not in KINDS or not all(0 <= source < INPUTS + len(units) for source in wired.sources):
                raise ValueError
            if len(set(wired.sources)) != len(wired.sources) or (kind == "NOT" and len(wired.sources) > 1):
                raise ValueError
            units.append(wired)
        if len(units) > MOST_UNITS:
            raise ValueError
        return tuple(units)

    def write(units: tuple[Wired, ...]) -> str:
        return "-".join(".".join([unit.kind, *(str(source) for source in unit.sources)]) for unit in units)

    says = f"at most {MOST_UNITS} gates like NAND.0.1 with - between them, each reading what is before it"
    return Column(write, read, says)


WIRING = _wiring()
XOR = (Wired("NAND", (0, 1)), Wired("OR", (0, 1)), Wired("AND", (2, 3)))


@dataclass(frozen=True)
class GatesState:
    """One unit with its weights, and a network of gates."""

    gate: str = column("AND", one_of(*TABLES))
    w1: float = column(0.0, number(-LARGEST, LARGEST))
    w2: float = column(0.0, number(-LARGEST, LARGEST))
    b: float = column(0.0, number(-LARGEST, LARGEST))
    clock: int = column(0, whole(0, 4000))  # examples seen, where the weights are learned
    learned: bool = column(False, flag())
    proof: bool = column(False, flag())
    wiring: tuple[Wired, ...] = column(XOR, WIRING)
    target: str = column("XOR", one_of(*TABLES))
    theme: str = column("auto", one_of(*THEMES))


def network_of(wiring: tuple[Wired, ...]) -> Network | None:
    """Return the network; None where it has no gate, or one that reads nothing."""
    if not wiring or not all(unit.sources for unit in wiring):
        return None
    units = []
    for unit in wiring:
        gate = Gate.NOT() if unit.kind == "NOT" else getattr(Gate, unit.kind)(len(unit.sources))
        units.append(Unit(gate, unit.sources))
    return Network(INPUTS, units)


# The session

CORNERS = every_input(2)
REACH = np.array([1.4, 1.2])  # the square of zeros and ones is drawn from −REACH to REACH


class GatesSession(Session[GatesState]):
    """One visitor's gates."""

    def __init__(self, state: GatesState) -> None:
        self.state = state

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

    def toggle_proof(self) -> None:
        """Ask whether one unit can do it, or no longer."""
        self.set(proof=not self.state.proof)

    def set(self, **values: Any) -> None:
        """Change the state; weights set by hand end the learning, another gate begins it anew."""
        if {"w1", "w2", "b"} & set(values):
            values = {"learned": False, "clock": 0, **values}
        if "gate" in values and values["gate"] != self.state.gate:
            values = {"clock": 0, "proof": False, **values}
        self.change(**values)

    def learn(self, examples: int = 1) -> None:
        """Show the unit so many rows of the truth table, one after the other."""
        clock = min(4000, self.state.clock + examples) if self.state.learned else examples
        self.change(learned=True, clock=clock)
        w = np.clip(self.learner().weights("last")[0], -LARGEST, LARGEST)
        self.change(b=float(w[0]), w1=float(w[1]), w2=float(w[2]))

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
    scene["classes"] = ["wanted: 1", "wanted: 0"]
    scene["points"] = [
        [x, y, 1 if t else -1] for (x, y), t in zip(_placed(CORNERS).tolist(), targets, strict=True)
    ]
    scene["box"] = [-3.0, -2.25, 3.0, 2.25]
    scene["no_ticks"] = True
    for (x, y), name in zip(_placed(CORNERS).tolist(), ("00", "01", "10", "11"), strict=True):
        scene["notes"].append([x, y - 0.75 if y < 0 else y + 0.35, "", name])
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


# The page as Python code


def gates_code(session: GatesSession) -> str:
    """Return code that makes the unit and the network, and prints their truth tables."""
    gate, wanted = session.gate, session.targets.tolist()
    lines = [
        f"# Made by the lab of rosenblatt: the gates ?{session.link}",
        "from rosenblatt import Gate, Network, separability",
        "from rosenblatt.networks import Unit",
        "from rosenblatt.networks.gate import every_input",
        "",
        f"unit = Gate({tuple(gate.weights)!r}, {gate.bias!r}, {gate.name!r})",
        f"print('unit', unit.truth_table(), 'wanted', {wanted!r})",
        f"print(separability(every_input(2), {wanted!r}))",
    ]
    network = session.network
    if network is not None:
        lines += ["", "network = Network(2, ["]
        for wired in session.state.wiring:
            count = "" if wired.kind == "NOT" else str(len(wired.sources))
            lines.append(f"    Unit(Gate.{wired.kind}({count}), {wired.sources!r}),")
        lines += ["])", "print('network', network.truth_table())", "print(network.to_dot())"]
    return "\n".join([*lines, ""])


# The page

NAMES = {name: name if name != "NOT" else "NOT (of x₁)" for name in TABLES}
ROWS = ("00", "01", "10", "11")


class GatesView(NamedTuple):
    """What the page shows of a session."""

    unit_scene: Scene
    status: str
    table: str
    proof: str
    weights: list[Any] | None  # of the network's gates
    network_status: str
    network_table: str
    network_scenes: list[tuple[str, Scene]]

    @classmethod
    def of(cls, session: GatesSession) -> "GatesView":
        """Look at a session."""
        state, gate, wrong = session.state, session.gate, session.wrong
        w = ", ".join(
            f"{n} = {v:g}" for n, v in (("w₁", gate.weights[0]), ("w₂", gate.weights[1]), ("b", gate.bias))
        )
        verdict = (
            f'<b class="lab-right">This unit is {state.gate}.</b>'
            if not wrong
            else f'<b class="lab-wrong">{wrong} of 4 rows wrong.</b>'
        )
        seen = f" {counted(state.clock, 'row')} seen." if state.learned else ""
        network, wanted = session.network, TABLES[state.target]
        network_table = ""
        if network is None:
            said = "Wire every gate: one of them reads nothing yet." if state.wiring else "Add a gate."
            network_status = f"<b>{said}</b>"
        else:
            signals = network.signals(CORNERS)
            differ = int((signals[:, -1] != wanted).sum())
            network_status = (
                f'<b class="lab-right">The network is {state.target}.</b>'
                if not differ
                else f'<b class="lab-wrong">{differ} of 4 rows differ from {state.target}.</b>'
            )
            names = [f"{k + 1}: {unit.kind}" for k, unit in enumerate(state.wiring)]
            network_table = _network_table(names, signals, wanted)
        return cls(
            session.unit_scene(),
            f"{verdict} <span class='lab-faint'>{w.replace('-', '−')}.{seen}</span>",
            _truth_table(gate.scores(CORNERS), gate.truth_table(), session.targets),
            f"<p>{escape(str(session.proof()))}</p>" if state.proof else "",
            [unit.gate.weights for unit in network.units] if network is not None else None,
            network_status,
            network_table,
            session.network_scenes(),
        )


class GatesPage(frame.LabPage[GatesSession]):
    """One visitor's page."""

    path, table, code = "/gates", GatesState, staticmethod(gates_code)

    @classmethod
    def begin(cls, state: GatesState, share: Share) -> GatesSession:
        """Return the session of a state."""
        return GatesSession(state)

    @staticmethod
    def look(session: GatesSession, whole: bool = True) -> GatesView:
        """Compute what is shown of a session."""
        return GatesView.of(session)

    def draw(self, first: bool) -> None:
        """Build the elements."""
        self.signal: int | None = None  # that was chosen, to be wired
        self.weights: list[Any] | None = None
        frame.head(self, self.path, self.state.theme)
        with ui.element("main").classes("lab-main even"):
            with ui.element("div").classes("lab-stack"):
                self._unit()
            with ui.element("div").classes("lab-stack"):
                self._network()
        frame.shortcuts(self)

    def _unit(self) -> None:
        with layout.card("One unit: it fires where w₁x₁ + w₂x₂ + b > 0"):
            with ui.element("div").classes("lab-pair"):
                with ui.element("div"):
                    self.plane = Plane(
                        empty_scene(), label="The square of the truth table and the unit's line"
                    )
                with ui.element("div").classes("lab-stack").style("gap:6px"):
                    frame.choice(self, "gate", "Truth table wanted", NAMES)
                    for name, label in (("w1", "Weight w₁"), ("w2", "Weight w₂"), ("b", "Bias b")):
                        frame.slider(self, name, label, 0.1)
            with frame.toolbar("Learning", "lab-steps"):
                frame.main_button("Learn one row", "play_arrow", partial(self._change, "learn"))
                frame.button("Learn until clean", "fast_forward", self._learn_all)
                frame.button("Zero weights", "replay", partial(self.set, w1=0.0, w2=0.0, b=0.0))
                self.ask_button = frame.button(
                    "Can one unit do it?", "help_outline", partial(self._change, "toggle_proof")
                )
            self.status = html().classes("lab-status").props("role=status")
            self.key = html().classes("lab-key").props("data-part=legend")
            self.truth = html().classes("q-mt-sm lab-wide")
            self.proof = html().classes("q-mt-sm").props("data-part=proof")

    def _network(self) -> None:
        with layout.card("A network of gates"):
            html(
                "Choose a signal, then a gate on its right: that lays a wire, or takes it away. "
                "The last gate is the output."
            ).classes("lab-faint")
            self.circuit = Circuit(
                {"nodes": [], "wires": [], "chosen": None, "width": 100, "height": 100},
                label="The wiring",
                on_node=self._chosen,
            )
            html(Markup(legend("wire", "negative"))).classes("lab-key").props("data-part=wires")
            with frame.toolbar("Gates", "lab-steps"):
                for kind in KINDS:
                    frame.button(kind, "add", partial(self._add, kind))
                frame.button("Remove last", "backspace", partial(self._change, "remove_last"))
                frame.button("Wire XOR", "auto_fix_high", partial(self._change, "preset"))
            with ui.element("div").classes("lab-pair"):
                with ui.element("div"):
                    frame.choice(self, "target", "Truth table wanted", NAMES)
                    self.network_status = html().classes("q-mt-sm").props("data-part=network")
                self.network_table = html().classes("lab-wide")
        with layout.card("What every gate says over the square; the last is the composed region"):
            self.small = ui.element("div").classes("lab-small-planes")
        self.planes: list[Plane] = []
        self.names: list[str] = []

    def _learn_all(self) -> None:
        def learn() -> str | None:
            if self.session.learn_all():
                return None
            return "100 passes and no clean one: ask whether one unit can do it at all."

        self.apply(learn)

    def _add(self, kind: str) -> None:
        self.apply(partial(self.session.add, kind))

    def _change(self, what: str) -> None:
        self.signal = None
        self.apply(getattr(self.session, what))

    def _chosen(self, node: int) -> None:
        """Choose a signal, or wire the one that is chosen to a gate."""
        source, self.signal = self.signal, None
        if source is None or node < INPUTS:
            self.signal = None if node == source else node
            self._show_circuit()
        elif node != source:
            self.apply(partial(self.session.wire, source, node - INPUTS))
        else:
            self._show_circuit()

    def show(self, view: GatesView) -> None:
        """Bring the page to the state."""
        self.plane.show(view.unit_scene)
        self.key.content = Markup(legend_of(view.unit_scene))
        self.status.content = Markup(view.status)
        self.truth.content = Markup(view.table)
        self.proof.content = Markup(view.proof)
        frame.pressed(self.ask_button, self.state.proof)
        self.weights = view.weights
        self._show_circuit()
        self.network_status.content = Markup(view.network_status)
        self.network_table.content = Markup(view.network_table)
        self._show_small(view.network_scenes)
        self.record()

    def _show_circuit(self) -> None:
        units = [(f"{unit.kind}", unit.sources) for unit in self.state.wiring]
        self.circuit.show(drawing_of(["x₁", "x₂"], units, self.weights, self.signal))

    def _show_small(self, scenes: list[tuple[str, Scene]]) -> None:
        names = [name for name, _ in scenes]
        if names != self.names:
            self.names, self.planes = names, []
            self.small.clear()
            with self.small:
                for name, scene in scenes:
                    with ui.element("div"):
                        html(name if name != names[-1] else f"{name}, the output", tag="h3")
                        self.planes.append(Plane(scene, label=name, small=True))
        for plane, (_, scene) in zip(self.planes, scenes, strict=True):
            plane.show(scene)


def _truth_table(scores: Any, said: Any, wanted: Any) -> str:
    rows = [
        [*row, wanted[k], frame.minus(f"{scores[k]:.2f}"), f"{said[k]} {frame.mark(said[k] == wanted[k])}"]
        for k, row in enumerate(ROWS)
    ]
    return frame.html_table("truth", ["x₁", "x₂", "wanted", "score", "says"], rows)


def _network_table(names: list[str], signals: Any, wanted: Any) -> str:
    rows = [
        [*row, *signals[k], f"{wanted[k]} {frame.mark(signals[k, -1] == wanted[k])}"]
        for k, row in enumerate(ROWS)
    ]
    return frame.html_table("network-truth", ["x₁", "x₂", *names, "wanted"], rows)
