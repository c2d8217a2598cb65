"""The perceptron game: its rules and referee, the players, rounds played by them, and the page."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from html import escape
from typing import Any, NamedTuple

import numpy as np
from nicegui import ui
from numpy.typing import NDArray

from rosenblatt.lab import frame
from rosenblatt.lab.computing import Share
from rosenblatt.lab.elements.plane import Edit, Plane
from rosenblatt.lab.playground import data_code
from rosenblatt.lab.points import POINTS, Point, Points, counted
from rosenblatt.lab.scene import Scene, add_line, add_shape, empty_scene, half_plane, legend_of
from rosenblatt.lab.table import Column, Session, column, flag, number, one_of, whole
from rosenblatt.learner import Learner
from rosenblatt.plots.style import BLUE, GREEN, MISTAKE
from rosenblatt.rules import PassiveAggressive, Rosenblatt
from rosenblatt.web import layout
from rosenblatt.web.chart import Curve, chart
from rosenblatt.web.layout import Markup, html
from rosenblatt.web.theme import THEMES

# The rules

FINE = 1000  # the hidden direction is a fraction with such denominators in tan(angle/2)


class Referee(NamedTuple):
    """The rules: a hidden unit vector u, a radius R, a margin γ; all fractions, so that nothing hangs on a rounding.

    Guarantee: whatever :meth:`refusal` lets through has ``‖x‖ ≤ R`` and ``y (u·x) ≥ γ`` exactly, so Rosenblatt's rule
    from zero weights errs at most ``R²/γ²`` times on it, in any order.

    >>> referee = Referee.of(angle=90, radius=2.5, margin=0.4)
    >>> referee.refusal(Point(0, 100, 1)) is None, referee.refusal(Point(0, 100, -1))
    (True, 'u says +1 here: y (u·x) is −1.00, and must be at least γ = 0.4')
    """

    u: tuple[Fraction, Fraction]
    radius: Fraction
    margin: Fraction

    @classmethod
    def of(cls, angle: float, radius: float, margin: float) -> "Referee":
        """Return the rules for a direction in degrees."""
        half = math.radians(angle) / 2.0
        if abs(math.cos(half)) < 1e-9:
            u = (Fraction(-1), Fraction(0))
        else:
            t = Fraction(round(FINE * math.tan(half)), FINE)
            u = ((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t))  # of norm one, exactly
        return cls(u, Fraction(f"{radius:.6f}"), Fraction(f"{margin:.6f}"))

    @property
    def bound(self) -> Fraction:
        """``R²/γ²``."""
        return (self.radius / self.margin) ** 2

    def along(self, point: Point) -> Fraction:
        """Return ``u·x``."""
        return (self.u[0] * point.x + self.u[1] * point.y) / 100

    def refusal(self, point: Point) -> str | None:
        """Say why A may not present this example, or None where it may."""
        if Fraction(point.x**2 + point.y**2, 10_000) > self.radius**2:
            norm = math.hypot(point.x, point.y) / 100
            return f"‖x‖ is {norm:.2f}, more than R = {float(self.radius):g}"
        along = self.along(point)
        if abs(along) < self.margin:
            distance = float(abs(along))
            return f"too near to the line of u: the distance is {distance:.2f}, less than γ = {float(self.margin):g}"
        if point.label * along < self.margin:
            right, value = "+1" if along > 0 else "−1", f"−{float(abs(along)):.2f}"
            return f"u says {right} here: y (u·x) is {value}, and must be at least γ = {float(self.margin):g}"
        return None

    def legal_steps(self) -> NDArray[np.int64]:
        """Return every legal ``y·x`` of the grid, in hundredths."""
        reach = int(100 * self.radius)
        axis = np.arange(-reach, reach + 1)
        x, y = (each.ravel() for each in np.meshgrid(axis, axis))
        ux, uy = (float(value) for value in self.u)
        inside = x * x + y * y <= float(10_000 * self.radius**2)
        near = inside & (ux * x + uy * y >= 100 * float(self.margin) - 1e-6)
        steps = np.column_stack([x[near], y[near]])
        edge = ux * steps[:, 0] + uy * steps[:, 1] < 100 * float(self.margin) + 1e-6
        edge |= (steps**2).sum(axis=1) > float(10_000 * self.radius**2) - 1e-3
        legal = ~edge
        for k in np.flatnonzero(edge):  # only on the edge can floats be wrong
            legal[k] = self.refusal(Point(int(steps[k, 0]), int(steps[k, 1]), 1)) is None
        return steps[legal]


# The players

STRATEGIES = ("perceptron", "averaged", "passive-aggressive")
# Those for which R²/γ² is proved: the averaged guess may err more often.
PROMISED = ("perceptron", "passive-aggressive")


class LearningB:
    """B as a learner through the origin: predicts, sees the truth, and moves as its rule says."""

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
        """Learn from an example and its label."""
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


# The state of the page

ROLES = ("A", "B", "watch")
MOST_ROUNDS = 400


def _guesses() -> Column:
    def read(text: str) -> tuple[int, ...]:
        angles = tuple(int(part) for part in text.split("_")) if text else ()
        if len(angles) > MOST_ROUNDS or not all(0 <= angle < 360 for angle in angles):
            raise ValueError
        return angles

    return Column(
        lambda guesses: "_".join(str(angle) for angle in guesses),
        read,
        "angles from 0 to 359 with _ between them",
    )


GUESSES = _guesses()


@dataclass(frozen=True)
class GameState:
    """The rules, who plays, and every move so far; the rounds follow from these by playing them again."""

    role: str = column("watch", one_of(*ROLES))
    radius: float = column(2.5, number(0.5, 2.9))
    margin: float = column(0.4, number(0.05, 1.5))
    angle: float = column(60.0, number(0.0, 359.0))
    strategy: str = column("perceptron", one_of(*STRATEGIES))
    moves: Points = column((), POINTS)  # noqa: RUF009 (a tuple); A's, where A is the visitor
    guesses: tuple[int, ...] = column((), GUESSES)
    aim: float = column(0.0, number(0.0, 359.0))  # where B's visitor points now
    rounds: int = column(0, whole(0, MOST_ROUNDS))  # where both are machines
    label: str = column("plus", one_of("plus", "minus"))
    reveal: bool = column(False, flag())
    theme: str = column("auto", one_of(*THEMES))


# The session

NEW_GAME = {"role", "radius", "margin", "angle", "strategy"}  # changing one of these begins a new game
SHOWN_ONLY = {"aim", "label", "reveal", "theme"}  # what can change without playing again


class Round(NamedTuple):
    """One round: what A presented, and how B's guess did."""

    point: Point
    score: float  # y·(v·x)
    mistake: bool
    along: float  # v·u after it
    sqnorm: float  # ‖v‖² after it


class GameSession(Session[GameState]):
    """One visitor's game."""

    def __init__(self, state: GameState) -> None:
        self.state = state
        self._play_again()

    def _play_again(self) -> None:
        """Begin, and play the moves that the state holds; illegal ones are left out, and reported."""
        state = self.state
        self.referee = Referee.of(state.angle, state.radius, state.margin)
        self.problem = ""
        self.rounds: list[Round] = []
        self.b = LearningB(state.strategy)
        self.adversary: AdversaryA | None = None if state.role == "A" else AdversaryA(self.referee)
        legal = []
        if state.role == "A":
            for point in state.moves:
                refusal = self.referee.refusal(point)
                if refusal is None:
                    self._round(point, self.b.guess())
                    legal.append(point)
                else:
                    self.problem = f"Refused: {refusal}."
            self.change(moves=tuple(legal))
        elif state.role == "B":
            for angle in state.guesses:
                self._machine_round(direction(angle))
        else:
            for _ in range(state.rounds):
                if not self.over:
                    self._machine_round(self.b.guess())
            self.change(rounds=len(self.rounds))

    def _machine_round(self, guess: NDArray[np.float64]) -> None:
        assert self.adversary is not None
        try:
            point = self.adversary.present(guess, len(self.rounds))
        except ValueError as error:
            self.problem = str(error)
            return
        assert self.referee.refusal(point) is None  # the machine keeps the rules like everybody
        self._round(point, guess)

    def _round(self, point: Point, guess: NDArray[np.float64]) -> None:
        score = point.label * float(guess @ np.array([point.x, point.y])) / 100.0
        self.b.learn(point)
        v = guess if self.state.role == "B" else self.b.believes()
        u = np.array([float(value) for value in self.referee.u])
        self.rounds.append(Round(point, score, score <= 0.0, float(v @ u), float(v @ v)))

    @property
    def mistakes(self) -> int:
        """How often B has erred."""
        return sum(each.mistake for each in self.rounds)

    @property
    def guess(self) -> NDArray[np.float64]:
        """What B predicts the next round by."""
        return direction(self.state.aim) if self.state.role == "B" else self.b.guess()

    @property
    def over(self) -> bool:
        """Whether no legal example is left that B gets wrong, or the most rounds are played."""
        if len(self.rounds) >= MOST_ROUNDS:
            return True
        if self.state.role != "watch":
            return False
        adversary = self.adversary
        return adversary is not None and bool(self.rounds) and not adversary.can_win(self.b.guess())

    # Actions

    def set(self, **values: Any) -> None:
        """Change the state; another rule begins a new game."""
        if NEW_GAME & set(values):
            values = {"moves": (), "guesses": (), "rounds": 0, "reveal": False, **values}
        if self.change(**values) - SHOWN_ONLY:
            self._play_again()

    def present(self, x: float, y: float) -> None:
        """Put an example, as A; the referee may refuse it."""
        if self.state.role != "A":
            return
        point = Point.near(x, y, 1 if self.state.label == "plus" else -1)
        refusal = self.referee.refusal(point)
        if refusal is not None:
            self.problem = f"Refused: {refusal}."
        elif self.over:
            self.problem = f"A game has at most {MOST_ROUNDS} rounds."
        else:
            self.problem = ""
            self._round(point, self.b.guess())
            self.change(moves=(*self.state.moves, point))

    def aim(self, x: float, y: float) -> None:
        """Point B's vector there, as B."""
        if x or y:
            self.change(aim=float(round(math.degrees(math.atan2(y, x))) % 360))

    def play(self) -> None:
        """Let the machine move: A against your line, or both."""
        if self.over:
            return
        if self.state.role == "B":
            self.set(guesses=(*self.state.guesses, int(self.state.aim)))
        elif self.state.role == "watch":
            self._machine_round(self.b.guess())
            self.change(rounds=len(self.rounds))

    def play_all(self) -> None:
        """Let both machines play to the end."""
        before = -1
        while self.state.role == "watch" and not self.over and len(self.rounds) > before:
            before = len(self.rounds)
            self.play()

    def toggle_u(self) -> None:
        """Show the hidden direction, or hide it again."""
        self.set(reveal=not self.state.reveal)

    def back(self) -> None:
        """Take the last round back."""
        state = self.state
        self.set(moves=state.moves[:-1], guesses=state.guesses[:-1], rounds=max(0, state.rounds - 1))

    def restart(self) -> None:
        """Begin anew."""
        self.set(moves=(), guesses=(), rounds=0, reveal=False)

    # Showing

    def scene(self) -> Scene:
        """Return what the plane shows: examples, R, B's vector and line, and u with its band where it is not hidden."""
        scene = empty_scene(tuple(each.point for each in self.rounds))
        scene["fixed"] = True
        scene["circles"] = [[0.0, 0.0, float(self.referee.radius)]]
        guess = self.guess
        length = float(np.linalg.norm(guess))
        if length > 0.0:
            add_shape(scene, half_plane(np.array([0.0, *guess])))
            tip = guess / length * min(float(self.referee.radius), max(0.8, length))
            scene["arrows"].append([0.0, 0.0, *tip.tolist(), "guess", "v"])
        if self.state.role != "B" or self.state.reveal:
            u = np.array([float(value) for value in self.referee.u])
            gamma = float(self.referee.margin)
            for side in (gamma, -gamma):
                add_line(scene, np.array([side, *u]), "legal")
            scene["arrows"].append([0.0, 0.0, *u.tolist(), "secret", "u"])
        scene["rings"] = [[k, "wrong", ""] for k, each in enumerate(self.rounds) if each.mistake]
        scene["halo"] = len(self.rounds) - 1 if self.rounds else None
        return scene

    def status(self) -> str:
        """Say where the game stands."""
        if self.problem:
            return self.problem
        role = self.state.role
        if not self.rounds:
            return {
                "A": "You are A. Choose a label and click where B will err: inside R, outside the band, on u's side.",
                "B": "You are B. Aim v by dragging, then let A present an example.",
                "watch": "A and B are machines. Press round.",
            }[role]
        last = self.rounds[-1]
        text = f"Round {len(self.rounds)}: " + ("B errs." if last.mistake else "B is right.")
        if self.over:
            return text + " No legal example is left that B gets wrong: the game is over."
        return text

    def verdict(self) -> str:
        """Compare the score with the bound."""
        bound = float(self.referee.bound)
        text = f"{counted(self.mistakes, 'mistake')} in {counted(len(self.rounds), 'round')}; R²/γ² = {bound:.4g}."
        if self.state.role == "B":
            return text + " A learner by Rosenblatt's rule could not err more often than that."
        if self.state.strategy not in PROMISED:
            return text + " For the averaged guess the bound is not promised."
        return text + " B cannot err more often than that."


def direction(angle: float) -> NDArray[np.float64]:
    """Return the unit vector of an angle in degrees."""
    return np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


# The game as Python code


def game_code(session: GameSession) -> str:
    """Return code that lets B learn from the examples of the game, and prints mistakes and bound."""
    state = session.state
    points = tuple(each.point for each in session.rounds)
    begin = f"# Made by the lab of rosenblatt: the game ?{session.link}\n"
    if not points:
        return begin + 'print("no round has been played yet")\n'
    u = [float(value) for value in session.referee.u]
    rules = f"\nu = np.array({u!r})\nR, gamma = {state.radius!r}, {state.margin!r}\n"
    checks = (
        "assert (np.linalg.norm(X, axis=1) <= R + 1e-9).all() and (y * (X @ u) >= gamma - 1e-9).all()\n"
        "print('bound', (R / gamma) ** 2)\n"
    )
    if state.role == "B":
        play = (
            f"angles = np.radians({list(state.guesses)!r})\n"
            "guesses = np.column_stack([np.cos(angles), np.sin(angles)])\n"
            "print('mistakes', int((y * (guesses * X).sum(axis=1) <= 0).sum()))\n"
        )
    else:
        rule = (
            "rules.PassiveAggressive(C=np.inf)"
            if state.strategy == "passive-aggressive"
            else "rules.Rosenblatt()"
        )
        hypothesis = "averaged" if state.strategy == "averaged" else "last"
        play = (
            "from rosenblatt import rules\nfrom rosenblatt.learner import Learner\n\n"
            f"b = Learner({rule}, fit_intercept=False)\nb.start_from([[0.0, 0.0]], 0.0, [-1, 1])\nmistakes = 0\n"
            "for x, label in zip(X, y):\n"
            f"    mistakes += label * (b.weights({hypothesis!r})[0, 1:] @ x) <= 0\n"
            "    b.learn([x], [label])\n"
            "print('mistakes', int(mistakes))\nprint('v', b.weights('last')[0, 1:])\n"
        )
    return begin + data_code(points) + rules + checks + play


# The page

ROLE_TITLES = {"watch": "Watch both", "A": "You are A", "B": "You are B"}
STRATEGY_TITLES = {
    "perceptron": "Perceptron",
    "averaged": "Averaged perceptron",
    "passive-aggressive": "Passive-aggressive",
}
INK = "var(--ink)"


class GameView(NamedTuple):
    """What the page shows of a game; while B aims, the first two only."""

    scene: Scene
    status: str
    verdict: str = ""
    charts: str = ""
    rounds: str = ""
    over: bool = False
    begun: bool = False
    whole: bool = False


class GamePage(frame.LabPage[GameSession]):
    """One visitor's page."""

    path, table, code = "/game", GameState, staticmethod(game_code)
    passing = frame.LabPage.passing | {"aim", "label", "reveal"}

    @classmethod
    def begin(cls, state: GameState, share: Share) -> GameSession:
        """Play the game of a state."""
        return GameSession(state)

    @staticmethod
    def look(session: GameSession, whole: bool = True) -> GameView:
        """Compute what is shown of a game."""
        wrong = "lab-wrong" if session.problem else ""
        status = f"<b class='{wrong}'>{escape(session.status())}</b>"
        if not whole:
            return GameView(session.scene(), status)
        return GameView(
            session.scene(),
            status,
            f"<p><b>{escape(session.verdict())}</b></p>",
            "".join(_charts(session)),
            _rounds(session),
            session.over,
            bool(session.rounds),
            whole=True,
        )

    def draw(self, first: bool) -> None:
        """Build the elements."""
        frame.head(self, self.path, self.state.theme, self._controls)
        with ui.element("main").classes("lab-main"):
            with ui.element("div").classes("lab-stack"):
                self._plane()
            with ui.element("div").classes("lab-stack"):
                with layout.card("Score"):
                    self.verdict = html().props("data-part=verdict")
                    self.charts = html().classes("lab-chart")
                with layout.card("Rounds"):
                    self.rounds = html().classes("lab-scroll")
        frame.shortcuts(self, self._key)

    def _controls(self) -> None:
        with ui.element("div").classes("lab-side"):
            layout.heading("Who plays")
            frame.choice(self, "role", "Role", ROLE_TITLES)
            self.strategy = frame.choice(self, "strategy", "B learns by", STRATEGY_TITLES)
            layout.heading("The rules for A")
            frame.slider(self, "radius", "Radius R", 0.1)
            frame.slider(self, "margin", "Margin γ", 0.05)
            self.angle = frame.slider(self, "angle", "Direction of u, degrees", 1)
            html(Markup(RULES_TEXT)).classes("lab-faint")

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
                    button = frame.button(text, icon, partial(self.set, label=name)).classes(
                        f"lab-tool-{name}"
                    )
                    self.label_buttons[name] = button
            self.plane = Plane(
                empty_scene(),
                label="The plane of the game: examples, R, B's vector v. Arrow keys move, Enter presents an example.",
                tool="plus",
                on_edit=self._edited,
            )
            with frame.toolbar("Steps", "lab-steps"):
                self.back = frame.button("Back", "skip_previous", partial(self._act, "back"), "b")
                self.play = frame.main_button("Round", "play_arrow", partial(self._act, "play"))
                self.all = frame.button("To the end", "fast_forward", partial(self._act, "play_all"))
                frame.button("New game", "replay", partial(self._act, "restart"))
                self.reveal = frame.button("Show u", "visibility", partial(self._act, "toggle_u"))
            self.status = html().classes("lab-status q-mt-sm").props("role=status")
            self.key = html().classes("lab-key")

    def _act(self, what: str) -> None:
        self.apply(getattr(self.session, what))

    def _edited(self, event: Any) -> None:
        edit = Edit.of(event)
        if edit is not None and edit.what == "aim":
            self.apply(partial(self.session.aim, **edit.details), names=edit.names, whole=edit.done)
        elif edit is not None and edit.what == "add":
            self.apply(partial(self.session.present, edit.details["x"], edit.details["y"]))

    def _key(self, name: str) -> None:
        if name == "s" and self.state.role != "A":
            self._act("play")
        elif name == "b":
            self._act("back")

    def show(self, view: GameView) -> None:
        """Bring the page to the state."""
        state = self.state
        self.plane.show(view.scene, {"A": state.label, "B": "aim", "watch": ""}[state.role])
        self.status.content = Markup(view.status)
        if not view.whole:
            return
        self.key.content = Markup(legend_of(view.scene))
        self.verdict.content = Markup(view.verdict)
        self.charts.content = Markup(view.charts)
        self.rounds.content = Markup(view.rounds)
        self.labels.set_visibility(state.role == "A")
        for name, button in self.label_buttons.items():
            frame.pressed(button, name == state.label)
        self.play.set_visibility(state.role != "A")
        self.all.set_visibility(state.role == "watch")
        self.play.set_text("Round" if state.role == "watch" else "Let A present")
        self.play.set_enabled(not view.over)
        self.all.set_enabled(not view.over)
        self.reveal.set_visibility(state.role == "B")
        self.reveal.set_text("Hide u" if state.reveal else "Show u")
        self.back.set_enabled(view.begun)
        self.strategy.set_visibility(state.role != "B")
        frame.show_slider(self.angle, state.role != "B")
        self.record()


def _charts(session: GameSession) -> list[str]:
    rounds = session.rounds
    total, errors = 0, [0]
    for each in rounds:
        total += each.mistake
        errors.append(total)
    bound = float(session.referee.bound)
    charts = [
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
        k = range(len(moved) + 1)  # from v = 0 on
        gamma, radius = float(session.referee.margin), float(session.referee.radius)
        dot, norm = [0.0, *(each.along for each in moved)], [0.0, *(each.sqnorm for each in moved)]
        floor = Curve(k, [n * gamma for n in k], INK, "never below kγ", dotted=True)
        ceiling = Curve(k, [n * radius**2 for n in k], INK, "never above kR²", dotted=True)
        charts.append(chart("v·u", "mistake k", [Curve(k, dot, BLUE, "v·u"), floor]))
        charts.append(chart("‖v‖²", "mistake k", [Curve(k, norm, GREEN, "‖v‖²"), ceiling]))
    elif session.state.role != "B" and session.state.strategy not in PROMISED:
        charts.append('<p class="lab-faint">It learns as the perceptron does, but predicts by a mean.</p>')
    return charts


def _rounds(session: GameSession) -> str:
    rows = []
    for count, each in reversed(list(enumerate(session.rounds, start=1))):
        point = frame.minus(f"({each.point.x / 100:.2f}, {each.point.y / 100:.2f})")
        score = f"{frame.minus(f'{each.score:.2f}')} {frame.mark(not each.mistake)}"
        rows.append([count, point, "+1" if each.point.label > 0 else "−1", score])
    if not rows:
        return '<p class="lab-faint">Every round will be a line here.</p>'
    return frame.html_table("rounds", ["round", "x", "y", "y (v·x)"], rows)


RULES_TEXT = (
    "<p>A hides a direction <b>u</b> and presents examples with ‖x‖ ≤ R and y (u·x) ≥ γ. B predicts by the sign of "
    "v·x, is told y, and learns. A wants B to err; B's mistakes can never pass R²/γ².</p>"
)
