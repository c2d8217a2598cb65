"""The playground: data, a learner, and every step of it."""

from collections.abc import Mapping
from functools import partial
from html import escape
from typing import Any

from nicegui import ui

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.lab import frame, views
from rosenblatt.lab.code import playground_code
from rosenblatt.lab.elements.plane import Plane
from rosenblatt.lab.legend import legend
from rosenblatt.lab.playground_session import PlaygroundSession
from rosenblatt.lab.playground_state import LEARNERS, PlaygroundState
from rosenblatt.lab.table import from_query
from rosenblatt.lab.upload_dialog import ask_for_table
from rosenblatt.web import layout
from rosenblatt.web.layout import Markup, html

DATA = {
    "separable": "Separable",
    "overlapping": "Overlapping",
    "circles": "Circles",
    "moons": "Moons",
    "xor": "XOR",
    "none": "Empty plane",
    "own": "Your own points",
}
SPACES = {
    "plane": "None: the plane itself",
    "squares": "Map: squares",
    "products": "Map: products",
    "polynomial-2": "Map: polynomial, degree 2",
    "polynomial-3": "Map: polynomial, degree 3",
    "kernel-poly-2": "Kernel: (1 + a·b)²",
    "kernel-poly-3": "Kernel: (1 + a·b)³",
    "kernel-poly-4": "Kernel: (1 + a·b)⁴",
    "kernel-rbf": "Kernel: Gaussian",
}
PAPERS = {  # names that papers write in capitals
    "norma": "NORMA",
    "paum": "PAUM",
    "romma": "ROMMA",
    "alma": "ALMA",
    "arow": "AROW",
    "nag": "NAG",
    "scinol": "ScInOL",
    "widrow-hoff": "Widrow–Hoff",
}
PARTS = ("plus", "minus", "wrong", "margin", "halo", "normal", "update")
KEYS = {"s": "step", "u": "update", "e": "epoch", "b": "back"}
PATIENCE = 0.05  # seconds that the page waits for a proof before it is shown without
POLL = 0.2  # seconds between looks whether a proof is there
TICK = 0.09  # seconds between two steps of a run
BY_UPDATES = 40  # ticks of a run that go update by update; then pass by pass


def rule_title(name: str) -> str:
    """Return the name of a rule as its paper writes it.

    >>> [rule_title(name) for name in ("arow", "scinol-hinge", "widrow-hoff", "passive-aggressive")]
    ['AROW', 'ScInOL hinge', 'Widrow–Hoff', 'Passive-aggressive']
    """
    first, _, rest = name.partition("-")
    written = PAPERS.get(name) or PAPERS.get(first)
    if written is None:
        return name.capitalize().replace("-squared", ", squared")
    return f"{written} {rest}" if rest and name not in PAPERS else written


class PlaygroundPage(frame.LabPage[PlaygroundSession]):
    """One visitor's page."""

    path = "/"

    def __init__(self, query: Mapping[str, str]) -> None:
        state, problems = from_query(PlaygroundState, query)
        self.session = PlaygroundSession(state, PATIENCE)
        self.timer = ui.timer(TICK, self._tick, active=False)
        self.first = not query
        self.ticks = 0
        self.awaiting = ui.timer(POLL, self._show_proof, active=False)
        opener = frame.head(self, self.path, state.theme, with_drawer=True)
        with ui.left_drawer(value=None, bordered=False).props("width=290 breakpoint=1099") as drawer:
            self._controls()
        opener.on_click(drawer.toggle)
        with ui.element("main").classes("lab-main"):
            with ui.element("div").classes("lab-stack"):
                self._plane()
                self._beside()
            with ui.element("div").classes("lab-stack"):
                self._numbers()
        frame.shortcuts(self._key)
        frame.tell_problems(problems)
        self.show()

    def export(self) -> None:
        """Offer picture and code."""
        frame.show_export(playground_code(self.session), "playground", self.plane.save)

    # Parts

    def _controls(self) -> None:
        with ui.element("div").classes("lab-side"):
            layout.heading("Data")
            self.data = frame.choice(self, "data", "Examples", DATA)
            self.made = ui.element("div").classes("w-full")
            with self.made:
                self.n = frame.slider(self, "n", "Points", 1)
                self.margin = frame.slider(self, "margin", "Margin γ", 0.01)
                self.noise = frame.slider(self, "noise", "Noise", 0.05)
                frame.button("Draw others", "casino", self._others)
            frame.button("Upload CSV", "upload_file", partial(ask_for_table, self.set))
            layout.heading("Learner")
            self.learner = frame.choice(self, "learner", "Learner", views.NAMES)
            self.stepped = ui.element("div").classes("lab-stack").style("gap:8px")
            with self.stepped:
                frame.choice(self, "rule", "Rule", {name: rule_title(name) for name in rules.BY_NAME})
                self.eta = frame.slider(self, "eta", "Learning rate η", 0.01)
                frame.choice(self, "order", "Order", {"given": "As given", "shuffled": "Shuffled every pass"})
                frame.choice(
                    self, "hypothesis", "Hypothesis", {name: name.capitalize() for name in hypotheses.NAMES}
                )
                self._start()
            layout.heading("Space")
            frame.choice(self, "space", "Feature map or kernel", SPACES)
            layout.heading("Side by side")
            several = ui.select(
                {name: views.NAMES[name] for name in LEARNERS},
                value=list(self.state.beside),
                multiple=True,
                label="Learners on the same data",
            )
            several.props("dense outlined options-dense use-chips").classes("w-full").mark("beside")
            several.on_value_change(lambda event: self.set(beside=tuple(event.value)))

    def _start(self) -> None:
        """Where the weights begin."""
        self.start = ui.row().classes("w-full no-wrap").style("gap:6px")
        with self.start:
            for k, name in enumerate(("b", "w₁", "w₂")):
                box = ui.number(f"Start {name}", value=self.state.start[k], step=0.5, min=-10, max=10)
                box.props("dense outlined").classes("col").mark(f"start{k}")

                def begun(event: Any, k: int = k) -> None:
                    start = list(self.state.start)
                    start[k] = float(event.value or 0.0)
                    self.set(start=tuple(start))

                box.on_value_change(begun)

    def _plane(self) -> None:
        with layout.card() as box:
            box.classes("lab-plane-card")
            with frame.toolbar("Editing tools"):
                self.tools = frame.editing_tools(self)
                clear = frame.button(
                    "Clear", "delete_sweep", partial(self.set, data="own", points=(), clock=0)
                )
                clear.classes("lab-icon-when-narrow").props("aria-label=Clear")
            self.plane = Plane(
                self.session.scene(),
                label="The plane with the examples and the boundary. Arrow keys move a cursor, Enter uses the tool.",
                tool=self.state.tool,
                on_edit=self._edited,
            )
            with frame.toolbar("Steps", "lab-steps"):
                self.back_button = frame.button("Back", "skip_previous", lambda: self._act("back"), "b")
                self.step_button = frame.main_button("Step", "play_arrow", lambda: self._act("step"))
                self.update_button = frame.button("Update", "skip_next", lambda: self._act("update"), "u")
                self.epoch_button = frame.button("Epoch", "fast_forward", lambda: self._act("epoch"), "e")
                self.run_button = frame.button("Run", "directions_run", self._run, "r")
                self.reset_button = frame.button("Restart", "replay", lambda: self._act("reset"))
                self.ask_button = frame.button("Is it separable?", "help_outline", self._ask)
            self.status = html().classes("lab-status q-mt-sm").props("role=status")
            self.answer = html().classes("q-mt-xs").props("data-part=answer")
            html(Markup(legend(*PARTS))).classes("lab-key")

    def _beside(self) -> None:
        self.beside_card = ui.element("section").classes("lab-card")
        with self.beside_card:
            layout.heading("Side by side")
            self.small = ui.element("div").classes("lab-small-planes q-mb-md")
            self.losses = html()
            ui.label("Losses are means over the examples, at ‖w‖ = 1.").classes("lab-faint q-mt-sm")
        self.small_planes: dict[str, Plane] = {}

    def _numbers(self) -> None:
        with layout.card("The run"):
            self.charts = html().classes("lab-chart")
            self.weights = html().classes("lab-faint").props("data-part=weights")
        with layout.card("Ledger"):
            self.ledger = html().classes("lab-scroll")

    # Actions

    def _act(self, what: str) -> None:
        self.first = False
        self._stop()
        getattr(self.session, what)()
        self.show()

    def _run(self) -> None:
        self.first = False
        if self.timer.active:
            self._stop()
        elif not self.session.finished:
            self.ticks = 0
            self.timer.activate()
        self.show()

    def _stop(self) -> None:
        if self.timer.active:
            self.timer.deactivate()

    def _tick(self) -> None:
        self.ticks += 1
        if self.ticks <= BY_UPDATES:
            self.session.update()
        else:
            self.session.epoch()
        if self.session.finished:
            self._stop()
        self.show()

    def _show_proof(self) -> None:
        """Show the page again once the proof that it was shown without is there."""
        if not self.session.insight.pending:
            self.awaiting.deactivate()
            self.show()

    def _ask(self) -> None:
        self.set(proof=not self.state.proof)

    def _others(self) -> None:
        self.set(seed=(self.state.seed + 1) % 10_000, clock=0)

    def _edited(self, told: dict[str, Any]) -> None:
        what = told.pop("what")
        done = told.pop("done", True)
        try:
            self.session.edit(what, **told)
        except ValueError as error:
            ui.notify(str(error), type="warning")
        self.show(everything=done)

    def _key(self, name: str) -> None:
        if name in KEYS:
            self._act(KEYS[name])
        elif name == "r":
            self._run()

    # Showing

    def show(self, everything: bool = True) -> None:
        """Bring the page to the state."""
        session, state = self.session, self.state
        self.plane.show(session.scene(), state.tool)
        self.status.content = Markup(
            f"<b>{escape(session.status())}</b><br><span class='lab-faint'>{session.summary()}</span>"
        )
        if not everything:
            return
        self.answer.content = Markup(self._answer())
        self.charts.content = Markup("".join(views.charts(session)))
        self.weights.content = Markup(views.weights_line(session))
        self.ledger.content = Markup(views.ledger_table(session))
        self._show_beside()
        self._show_controls()
        if self.session.insight.pending:
            self.awaiting.activate()
        if not self.timer.active:  # browsers dislike an address line that changes many times a second
            frame.keep_link(self)

    def _answer(self) -> str:
        if not self.state.proof:
            return ""
        proof = self.session.insight.proof
        told = (
            ""
            if proof is None
            else f"<details class='lab-faint'><summary>the proof in words</summary>{proof}</details>"
        )
        return f"<b>{self.session.insight.answer()}</b>{told}"

    def _show_beside(self) -> None:
        rows = self.session.beside()
        self.beside_card.set_visibility(bool(rows))
        if list(self.small_planes) != [name for name, *_ in rows]:
            self.small.clear()
            self.small_planes = {}
            with self.small:
                for name, scene, _, _ in rows:
                    with ui.element("div"):
                        html(Markup(views.NAMES[name]), tag="h3")
                        self.small_planes[name] = Plane(scene, label=views.NAMES[name], small=True)
        for name, scene, _, _ in rows:
            if self.small_planes[name].scene is not scene:  # most of them do not change with a step
                self.small_planes[name].show(scene)
        self.losses.content = Markup(views.losses_table([(name, told, note) for name, _, told, note in rows]))

    def _show_controls(self) -> None:
        state, session = self.state, self.session
        made = state.data not in ("own", "none")
        self.made.set_visibility(made)
        self.margin.parent_slot.parent.set_visibility(state.data == "separable")
        self.noise.parent_slot.parent.set_visibility(made and state.data != "separable")
        self.stepped.set_visibility(state.learner == "perceptron")
        self.eta.parent_slot.parent.set_visibility("eta" in rules.BY_NAME[state.rule]._fields)
        self.start.set_visibility(state.takes_start)
        if self.eta.value != state.eta:
            self.eta.value = state.eta
        if self.data.value != state.data:
            self.data.value = state.data
        for name, tool in self.tools.items():
            frame.pressed(tool, name == state.tool)
        seen = session.training is not None and session.training.clock > 0
        for each in (self.back_button, self.reset_button):
            each.set_enabled(seen)
        for each in (self.step_button, self.update_button, self.epoch_button, self.run_button):
            each.set_enabled(not session.finished)
        frame.marked(self.step_button, self.first, "glow")
        self.run_button.set_text("Pause" if self.timer.active else "Run")
        frame.pressed(self.ask_button, state.proof)
