"""The page of the perceptron game: be A, be B, or watch."""

from collections.abc import Mapping
from functools import partial
from html import escape
from typing import Any

from nicegui import ui

from rosenblatt.lab import frame
from rosenblatt.lab.elements.plane import Plane
from rosenblatt.lab.game_code import game_code
from rosenblatt.lab.game_session import GameSession
from rosenblatt.lab.game_state import GameState
from rosenblatt.lab.legend import legend
from rosenblatt.lab.players import PROMISED
from rosenblatt.lab.table import from_query
from rosenblatt.plots.style import BLUE, GREEN, MISTAKE
from rosenblatt.web import layout
from rosenblatt.web.chart import Curve, chart
from rosenblatt.web.layout import Markup, html

ROLES = {"watch": "Watch both", "A": "You are A", "B": "You are B"}
STRATEGIES = {
    "perceptron": "Perceptron",
    "averaged": "Averaged perceptron",
    "passive-aggressive": "Passive-aggressive",
}
INK = "var(--ink)"


class GamePage(frame.LabPage[GameSession]):
    """One visitor's page."""

    path = "/game"

    def __init__(self, query: Mapping[str, str]) -> None:
        state, problems = from_query(GameState, query)
        self.session = GameSession(state)
        opener = frame.head(self, self.path, state.theme, with_drawer=True)
        with ui.left_drawer(value=None, bordered=False).props("width=290 breakpoint=1099") as drawer:
            self._controls()
        opener.on_click(drawer.toggle)
        with ui.element("main").classes("lab-main"):
            with ui.element("div").classes("lab-stack"):
                self._plane()
            with ui.element("div").classes("lab-stack"):
                with layout.card("Score"):
                    self.verdict = html().props("data-part=verdict")
                    self.charts = html().classes("lab-chart")
                with layout.card("Rounds"):
                    self.table = html().classes("lab-scroll")
        frame.shortcuts(self._key)
        frame.tell_problems(problems)
        self.show()

    def export(self) -> None:
        """Offer picture and code."""
        frame.show_export(game_code(self.session), "game", self.plane.save)

    def _controls(self) -> None:
        with ui.element("div").classes("lab-side"):
            layout.heading("Who plays")
            frame.choice(self, "role", "Role", ROLES)
            self.strategy = frame.choice(self, "strategy", "B learns by", STRATEGIES)
            layout.heading("The rules for A")
            frame.slider(self, "radius", "Radius R", 0.1)
            frame.slider(self, "margin", "Margin γ", 0.05)
            self.angle = frame.slider(self, "angle", "Direction of u, degrees", 1)
            html(Markup(RULES)).classes("lab-faint")

    def _plane(self) -> None:
        with layout.card() as box:
            box.classes("lab-plane-card")
            self.labels = frame.toolbar("Label")
            with self.labels:
                self.label_buttons = {}
                for name, icon, text in (
                    ("plus", "circle", "Present y = +1"),
                    ("minus", "square", "Present y = −1"),
                ):
                    made = frame.button(text, icon, partial(self.set, label=name)).classes(f"lab-tool-{name}")
                    self.label_buttons[name] = made
            self.plane = Plane(
                self.session.scene(),
                label="The plane of the game: examples, R, B's vector v. Arrow keys move, Enter presents an example.",
                tool="plus",
                on_edit=self._edited,
            )
            with frame.toolbar("Steps", "lab-steps"):
                self.back = frame.button("Back", "skip_previous", partial(self._act, "back"), "b")
                self.play = frame.main_button("Round", "play_arrow", partial(self._act, "play"))
                self.all = frame.button("To the end", "fast_forward", self._to_the_end)
                frame.button("New game", "replay", partial(self._act, "restart"))
                self.reveal = frame.button(
                    "Show u", "visibility", lambda: self.set(reveal=not self.state.reveal)
                )
            self.status = html().classes("lab-status q-mt-sm").props("role=status")
            html(Markup(legend("plus", "minus", "wrong", "guess", "secret"))).classes("lab-key")

    def _act(self, what: str) -> None:
        getattr(self.session, what)()
        self.show()

    def _to_the_end(self) -> None:
        while not self.session.over and self.state.role == "watch":
            before = len(self.session.rounds)
            self.session.play()
            if len(self.session.rounds) == before:
                break
        self.show()

    def _edited(self, told: dict[str, Any]) -> None:
        done = told.get("done", True)
        if told["what"] == "aim":
            self.session.aim(told["x"], told["y"])
        elif told["what"] == "add" and self.state.role == "A":
            self.session.present(told["x"], told["y"])
        self.show(everything=done)

    def _key(self, name: str) -> None:
        if name == "s" and self.state.role != "A":
            self._act("play")
        elif name == "b":
            self._act("back")

    def show(self, everything: bool = True) -> None:
        """Bring the page to the state."""
        session, state = self.session, self.state
        tool = {"A": state.label, "B": "aim", "watch": ""}[state.role]
        self.plane.show(session.scene(), tool)
        wrong = "lab-wrong" if session.problem else ""
        self.status.content = Markup(f"<b class='{wrong}'>{escape(session.status())}</b>")
        if not everything:
            return
        self.verdict.content = Markup(f"<p><b>{escape(session.verdict())}</b></p>")
        self.charts.content = Markup("".join(self._charts()))
        self.table.content = Markup(self._table())
        self.labels.set_visibility(state.role == "A")
        for name, made in self.label_buttons.items():
            frame.pressed(made, name == state.label)
        self.play.set_visibility(state.role != "A")
        self.all.set_visibility(state.role == "watch")
        self.play.set_text("Round" if state.role == "watch" else "Let A present")
        self.play.set_enabled(not session.over)
        self.all.set_enabled(not session.over)
        self.reveal.set_visibility(state.role == "B")
        self.reveal.set_text("Hide u" if state.reveal else "Show u")
        self.back.set_enabled(bool(session.rounds))
        self.strategy.set_visibility(state.role != "B")
        self.angle.parent_slot.parent.set_visibility(state.role != "B")
        frame.keep_link(self)

    def _charts(self) -> list[str]:
        session = self.session
        rounds = session.rounds
        total, errors = 0, [0]
        for each in rounds:
            total += each.mistake
            errors.append(total)
        bound = float(session.referee.bound)
        found = [
            chart(
                "Mistakes round by round",
                "rounds",
                [
                    Curve(range(len(errors)), errors, MISTAKE, f"mistakes: {total}", stairs=True),
                    Curve([0, max(1, len(rounds))], [bound, bound], INK, f"R²/γ² = {bound:.4g}", dotted=True),
                ],
            )
        ]
        moved = [each for each in rounds if each.mistake]
        if session.state.role != "B" and session.state.strategy == "perceptron" and moved:
            k = range(1, len(moved) + 1)
            gamma, radius = float(session.referee.margin), float(session.referee.radius)
            dot, norm = [each.along for each in moved], [each.sqnorm for each in moved]
            floor = Curve(k, [n * gamma for n in k], INK, "never below kγ", dotted=True)
            ceiling = Curve(k, [n * radius**2 for n in k], INK, "never above kR²", dotted=True)
            found.append(chart("v·u", "mistake k", [Curve(k, dot, BLUE, "v·u"), floor]))
            found.append(chart("‖v‖²", "mistake k", [Curve(k, norm, GREEN, "‖v‖²"), ceiling]))
        elif session.state.role != "B" and session.state.strategy not in PROMISED:
            found.append('<p class="lab-faint">It learns as the perceptron does, but predicts by a mean.</p>')
        return found

    def _table(self) -> str:
        rows = []
        for number, each in reversed(list(enumerate(self.session.rounds, start=1))):
            mark = '<span class="lab-wrong">✗</span>' if each.mistake else '<span class="lab-right">✓</span>'
            point = f"({each.point.x / 100:.2f}, {each.point.y / 100:.2f})".replace("-", "−")
            score = f"{each.score:.2f}".replace("-", "−")
            label = "+1" if each.point.label > 0 else "−1"
            rows.append(f"<tr><td>{number}</td><td>{point}</td><td>{label}</td><td>{score} {mark}</td></tr>")
        if not rows:
            return '<p class="lab-faint">Every round will be a line here.</p>'
        return (
            '<table class="lab-table" data-part="rounds"><thead><tr><th>round</th><th>x</th><th>y</th>'
            "<th>y (v·x)</th></tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table>"
        )


RULES = (
    "<p>A hides a direction <b>u</b> and presents examples with ‖x‖ ≤ R and y (u·x) ≥ γ. B predicts by the sign of "
    "v·x, is told y, and learns. A wants B to err; B's mistakes can never pass R²/γ².</p>"
)
