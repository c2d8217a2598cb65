"""The page of gates: a unit by hand or by learning, XOR with its proof, and gates wired into a network."""

from collections.abc import Mapping
from functools import partial
from html import escape
from typing import Any

from nicegui import ui

from rosenblatt.lab import frame
from rosenblatt.lab.elements.circuit import Circuit, drawing_of
from rosenblatt.lab.elements.plane import Plane
from rosenblatt.lab.gates_code import gates_code
from rosenblatt.lab.gates_session import CORNERS, GatesSession
from rosenblatt.lab.gates_state import INPUTS, KINDS, TABLES, GatesState
from rosenblatt.lab.table import from_query
from rosenblatt.web import layout
from rosenblatt.web.layout import Markup, html

NAMES = {name: name if name != "NOT" else "NOT (of x₁)" for name in TABLES}
ROWS = ("00", "01", "10", "11")


class GatesPage(frame.LabPage[GatesSession]):
    """One visitor's page."""

    path = "/gates"

    def __init__(self, query: Mapping[str, str]) -> None:
        state, problems = from_query(GatesState, query)
        self.session = GatesSession(state)
        self.chosen: int | None = None
        frame.head(self, self.path, state.theme)
        with ui.element("main").classes("lab-main even"):
            with ui.element("div").classes("lab-stack"):
                self._unit()
            with ui.element("div").classes("lab-stack"):
                self._network()
        frame.tell_problems(problems)
        self.show()

    def export(self) -> None:
        """Offer picture and code."""
        frame.show_export(gates_code(self.session), "gates", self.plane.save)

    def _unit(self) -> None:
        with layout.card("One unit: it fires where w₁x₁ + w₂x₂ + b > 0"):
            with ui.element("div").classes("lab-pair"):
                with ui.element("div"):
                    self.plane = Plane(
                        self.session.unit_scene(), label="The square of the truth table and the unit's line"
                    )
                with ui.element("div").classes("lab-stack").style("gap:6px"):
                    frame.choice(self, "gate", "Truth table wanted", NAMES)
                    self.bars = {
                        name: frame.slider(self, name, label, 0.1)
                        for name, label in (("w1", "Weight w₁"), ("w2", "Weight w₂"), ("b", "Bias b"))
                    }
            with frame.toolbar("Learning", "lab-steps"):
                frame.main_button("Learn one row", "play_arrow", partial(self._learn, 1))
                frame.button("Learn until clean", "fast_forward", self._learn_all)
                frame.button("Zero weights", "replay", partial(self.set, w1=0.0, w2=0.0, b=0.0))
                self.ask = frame.button(
                    "Can one unit do it?", "help_outline", lambda: self.set(proof=not self.state.proof)
                )
            self.status = html().classes("lab-status").props("role=status")
            self.table = html().classes("q-mt-sm lab-wide")
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
            with frame.toolbar("Gates", "lab-steps"):
                for kind in KINDS:
                    frame.button(kind, "add", partial(self._add, kind))
                frame.button("Remove last", "backspace", partial(self._change, "remove_last"))
                frame.button("XOR", "auto_fix_high", partial(self._change, "preset"))
            with ui.element("div").classes("lab-pair"):
                with ui.element("div"):
                    frame.choice(self, "target", "Truth table wanted", NAMES)
                    self.network_status = html().classes("q-mt-sm").props("data-part=network")
                self.network_table = html().classes("lab-wide")
        with layout.card("What every gate says over the square; the last is the composed region"):
            self.small = ui.element("div").classes("lab-small-planes")
        self.planes: list[Plane] = []
        self.names: list[str] = []

    def _learn(self, examples: int) -> None:
        self.session.learn(examples)
        self.show()

    def _learn_all(self) -> None:
        if not self.session.learn_all():
            ui.notify("100 passes and no clean one: ask whether one unit can do it at all.", type="warning")
        self.show()

    def _add(self, kind: str) -> None:
        try:
            self.session.add(kind)
        except ValueError as error:
            ui.notify(str(error), type="warning")
        self.show()

    def _change(self, what: str) -> None:
        getattr(self.session, what)()
        self.chosen = None
        self.show()

    def _chosen(self, node: int) -> None:
        if self.chosen is None or node < INPUTS or node == self.chosen:
            self.chosen = None if node == self.chosen else node
        else:
            try:
                self.session.wire(self.chosen, node - INPUTS)
            except ValueError as error:
                ui.notify(str(error), type="warning")
            self.chosen = None
        self.show()

    def show(self) -> None:
        """Bring the page to the state."""
        session, state = self.session, self.state
        self.plane.show(session.unit_scene())
        for name, bar in self.bars.items():
            if bar.value != getattr(state, name):
                bar.value = getattr(state, name)
        gate = session.gate
        w = ", ".join(
            f"{n} = {v:g}" for n, v in (("w₁", gate.weights[0]), ("w₂", gate.weights[1]), ("b", gate.bias))
        )
        wrong = session.wrong
        verdict = (
            f'<b class="lab-right">This unit is {state.gate}.</b>'
            if not wrong
            else f'<b class="lab-wrong">{wrong} of 4 rows wrong.</b>'
        )
        seen = f" {state.clock} rows seen." if state.learned else ""
        self.status.content = Markup(f"{verdict} <span class='lab-faint'>{w.replace('-', '−')}.{seen}</span>")
        self.table.content = Markup(_truth_table(gate.scores(CORNERS), gate.truth_table(), session.targets))
        self.proof.content = Markup(f"<p>{escape(str(session.proof()))}</p>" if state.proof else "")
        frame.pressed(self.ask, state.proof)
        self._show_network()
        frame.keep_link(self)

    def _show_network(self) -> None:
        session, state = self.session, self.state
        units = [(f"{unit.kind}", unit.sources) for unit in state.wiring]
        network = session.network
        weights = [unit.gate.weights for unit in network.units] if network is not None else None
        self.circuit.show(drawing_of(["x₁", "x₂"], units, weights, self.chosen))
        wanted = TABLES[state.target]
        if network is None:
            self.network_status.content = Markup(
                "<b>Wire every gate: one of them reads nothing yet.</b>" if units else "<b>Add a gate.</b>"
            )
            self.network_table.content = ""
        else:
            signals = network.signals(CORNERS)
            wrong = int((signals[:, -1] != wanted).sum())
            self.network_status.content = Markup(
                f'<b class="lab-right">The network is {state.target}.</b>'
                if not wrong
                else f'<b class="lab-wrong">{wrong} of 4 rows differ from {state.target}.</b>'
            )
            names = [f"{k + 1}: {unit.kind}" for k, unit in enumerate(state.wiring)]
            self.network_table.content = Markup(_network_table(names, signals, wanted))
        scenes = session.network_scenes()
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
    lines = []
    for k, row in enumerate(ROWS):
        mark = (
            '<span class="lab-right">✓</span>' if said[k] == wanted[k] else '<span class="lab-wrong">✗</span>'
        )
        score = f"{scores[k]:.2f}".replace("-", "−")
        lines.append(
            f"<tr><td>{row[0]}</td><td>{row[1]}</td><td>{wanted[k]}</td><td>{score}</td><td>{said[k]} {mark}</td></tr>"
        )
    return (
        '<table class="lab-table" data-part="truth"><thead><tr><th>x₁</th><th>x₂</th><th>wanted</th>'
        "<th>score</th><th>says</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _network_table(names: list[str], signals: Any, wanted: Any) -> str:
    lines = []
    for k, row in enumerate(ROWS):
        cells = "".join(f"<td>{value}</td>" for value in signals[k])
        mark = (
            '<span class="lab-right">✓</span>'
            if signals[k, -1] == wanted[k]
            else '<span class="lab-wrong">✗</span>'
        )
        lines.append(f"<tr><td>{row[0]}</td><td>{row[1]}</td>{cells}<td>{wanted[k]} {mark}</td></tr>")
    heads = "".join(f"<th>{escape(name)}</th>" for name in names)
    return (
        '<table class="lab-table" data-part="network-truth"><thead><tr><th>x₁</th><th>x₂</th>'
        f"{heads}<th>wanted</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
