"""The page of networks: what Tower, Upstart and backpropagation build on data."""

from collections.abc import Mapping
from html import escape
from typing import Any

from nicegui import ui

from rosenblatt.lab import frame
from rosenblatt.lab.elements.circuit import Circuit, drawing_of
from rosenblatt.lab.elements.plane import Plane
from rosenblatt.lab.legend import legend
from rosenblatt.lab.networks_code import networks_code
from rosenblatt.lab.networks_session import NetworksSession
from rosenblatt.lab.networks_state import ALL, NetworksState
from rosenblatt.lab.table import from_query
from rosenblatt.plots.style import MISTAKE
from rosenblatt.web import layout
from rosenblatt.web.chart import Curve, chart
from rosenblatt.web.layout import Markup, html

DATA = {
    "corners": "XOR, four corners",
    "xor": "XOR, clouds",
    "circles": "Circles",
    "moons": "Moons",
    "overlapping": "Overlapping",
    "parity-3": "Parity of 3 inputs",
    "parity-4": "Parity of 4 inputs",
    "parity-5": "Parity of 5 inputs",
    "parity-6": "Parity of 6 inputs",
    "own": "Your own points",
}
BUILDERS = {"tower": "Tower", "upstart": "Upstart", "backpropagation": "Backpropagation"}
WHAT = {
    "tower": "Each new unit reads the inputs and the unit below it, and errs on fewer examples.",
    "upstart": "Daughters silence a unit where it is wrongly on, and wake it where it is wrongly off.",
    "backpropagation": "Soft units, all trained at once by scikit-learn. No guarantee.",
}
MOST_DRAWN = 16  # units of a circuit that can still be read


class NetworksPage(frame.LabPage[NetworksSession]):
    """One visitor's page."""

    path = "/networks"

    def __init__(self, query: Mapping[str, str]) -> None:
        state, problems = from_query(NetworksState, query)
        self.session = NetworksSession(state)
        opener = frame.head(self, self.path, state.theme, with_drawer=True)
        with ui.left_drawer(value=None, bordered=False).props("width=290 breakpoint=1099") as drawer:
            self._controls()
        opener.on_click(drawer.toggle)
        with ui.element("main").classes("lab-main even"):
            with ui.element("div").classes("lab-stack"):
                self._plane()
            with ui.element("div").classes("lab-stack"):
                with layout.card("The network"):
                    self.what = ui.label("").classes("lab-faint q-mb-sm")
                    self.circuit = Circuit(drawing_of(["x1"], [("u1", (0,))]), label="The wiring")
                    self.too_many = ui.label("").classes("lab-faint")
                with layout.card("Errors after each unit") as self.errors_card:
                    self.errors = html().classes("lab-chart")
        frame.tell_problems(problems)
        self.show()

    def export(self) -> None:
        """Offer picture and code."""
        frame.show_export(networks_code(self.session), "network", self.plane.save)

    def _controls(self) -> None:
        with ui.element("div").classes("lab-side"):
            layout.heading("Data")
            self.data = frame.choice(self, "data", "Examples", DATA)
            self.made = ui.element("div").classes("w-full")
            with self.made:
                frame.slider(self, "n", "Points", 1)
                frame.slider(self, "noise", "Noise", 0.05)
                frame.button("Draw others", "casino", lambda: self.set(seed=(self.state.seed + 1) % 10_000))
            layout.heading("Learner")
            frame.choice(self, "builder", "Built by", BUILDERS)
            self.units = frame.slider(self, "units", "Most units", 1, {ALL: "all it takes"})
            self.hidden = frame.slider(self, "hidden", "Hidden units", 1)

    def _plane(self) -> None:
        with layout.card() as box:
            box.classes("lab-plane-card")
            self.in_plane = ui.element("div").classes("lab-plane-card")
            with self.in_plane:
                with frame.toolbar("Editing tools"):
                    self.tools = frame.editing_tools(self)
                self.plane = Plane(
                    self.session.scene(),
                    label="The plane with the examples and the region of the network",
                    tool=self.state.tool,
                    on_edit=self._edited,
                )
            self.table = html().classes("lab-scroll")
            self.status = html().classes("lab-status q-mt-sm").props("role=status")
            html(Markup(legend("plus", "minus", "wrong"))).classes("lab-key")

    def _edited(self, told: dict[str, Any]) -> None:
        what, done = told.pop("what"), told.pop("done", True)
        if not done:
            return  # building anew takes longer than a drag
        try:
            self.session.edit(what, **told)
        except ValueError as error:
            ui.notify(str(error), type="warning")
        self.show()

    def show(self) -> None:
        """Bring the page to the state."""
        session, state = self.session, self.state
        self.in_plane.set_visibility(not state.boolean)
        self.table.set_visibility(bool(state.boolean))
        if state.boolean:
            self.table.content = Markup(self._truth())
        else:
            self.plane.show(session.scene(), state.tool)
        colour = "lab-right" if session.model is not None and not len(session.wrong) else ""
        self.status.content = Markup(f"<b class='{colour}'>{escape(session.status())}</b>")
        self.what.text = WHAT[state.builder]
        inputs, units, weights = session.drawing()
        readable = 0 < len(units) <= MOST_DRAWN
        self.circuit.set_visibility(readable)
        self.too_many.text = f"{len(units)} units: too many to draw." if len(units) > MOST_DRAWN else ""
        if readable:
            self.circuit.show(drawing_of(inputs, units, weights))
        errors = session.errors()
        self.errors_card.set_visibility(errors is not None)
        if errors is not None:
            curve = Curve(range(1, len(errors) + 1), errors, MISTAKE, f"errors: {errors[-1]}")
            self.errors.content = Markup(chart("Errors after each unit", "units", [curve]))
        self.made.set_visibility(state.data in ("xor", "circles", "moons", "overlapping"))
        soft = state.builder == "backpropagation"
        self.units.parent_slot.parent.set_visibility(not soft)
        self.hidden.parent_slot.parent.set_visibility(soft)
        if self.data.value != state.data:
            self.data.value = state.data
        for name, tool in self.tools.items():
            frame.pressed(tool, name == state.tool)
        frame.keep_link(self)

    def _truth(self) -> str:
        session = self.session
        said = session.model.predict(session.X)
        lines = []
        for row, wanted, told in zip(session.X.astype(int), session.y, said, strict=True):
            cells = "".join(f"<td>{value}</td>" for value in row)
            right = wanted == told
            mark = '<span class="lab-right">✓</span>' if right else '<span class="lab-wrong">✗</span>'
            lines.append(f"<tr>{cells}<td>{int(wanted > 0)}</td><td>{int(told > 0)} {mark}</td></tr>")
        heads = "".join(f"<th>x{j + 1}</th>" for j in range(session.X.shape[1]))
        return (
            f'<table class="lab-table" data-part="truth"><thead><tr>{heads}<th>parity</th><th>says</th></tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table>"
        )
