"""The game without its page: rounds played by the rules, and what is drawn of them."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.contour import half_plane
from rosenblatt.lab.game_state import MOST_ROUNDS, GameState
from rosenblatt.lab.players import PROMISED, AdversaryA, LearningB
from rosenblatt.lab.points import Point, counted
from rosenblatt.lab.referee import Referee
from rosenblatt.lab.scene import Scene, add_line, add_shape, empty_scene
from rosenblatt.lab.table import changed, to_query

RULES = {"role", "radius", "margin", "angle", "strategy"}  # changing one of these begins a new game


class Round(NamedTuple):
    """One round: what A presented, and how B's guess did."""

    point: Point
    score: float  # y·(v·x)
    mistake: bool
    along: float  # v·u after it
    sqnorm: float  # ‖v‖² after it


class GameSession:
    """One visitor's game."""

    def __init__(self, state: GameState) -> None:
        self.state = state
        self._play_again()

    def _play_again(self) -> None:
        """Begin, and play the moves that the state holds; illegal ones are left out, and told."""
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
            self.state = changed(state, moves=tuple(legal))
        elif state.role == "B":
            for angle in state.guesses:
                self._machine_round(direction(angle))
        else:
            for _ in range(state.rounds):
                if not self.over:
                    self._machine_round(self.b.guess())
            self.state = changed(state, rounds=len(self.rounds))

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
    def link(self) -> str:
        """The query that brings this very game back."""
        return to_query(self.state)

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
        if RULES & set(values):
            values = {"moves": (), "guesses": (), "rounds": 0, "reveal": False, **values}
        before, self.state = self.state, changed(self.state, **values)
        kept = {"aim", "label", "reveal", "theme"}
        if any(
            getattr(before, name) != getattr(self.state, name) for name in vars(before) if name not in kept
        ):
            self._play_again()

    def present(self, x: float, y: float) -> None:
        """Put an example, as A; the referee may refuse it."""
        point = Point.near(x, y, 1 if self.state.label == "plus" else -1)
        refusal = self.referee.refusal(point)
        if refusal is not None:
            self.problem = f"Refused: {refusal}."
        elif self.over:
            self.problem = f"A game has at most {MOST_ROUNDS} rounds."
        else:
            self.problem = ""
            self._round(point, self.b.guess())
            self.state = changed(self.state, moves=(*self.state.moves, point))

    def aim(self, x: float, y: float) -> None:
        """Point B's vector there, as B."""
        if x or y:
            self.state = changed(self.state, aim=float(round(math.degrees(math.atan2(y, x))) % 360))

    def play(self) -> None:
        """Let the machine move: A against your line, or both."""
        if self.over:
            return
        if self.state.role == "B":
            self.set(guesses=(*self.state.guesses, int(self.state.aim)))
        elif self.state.role == "watch":
            self._machine_round(self.b.guess())
            self.state = changed(self.state, rounds=len(self.rounds))

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
        told = f"Round {len(self.rounds)}: " + ("B errs." if last.mistake else "B is right.")
        if self.over:
            return told + " No legal example is left that B gets wrong: the game is over."
        return told

    def verdict(self) -> str:
        """Compare the score with the bound."""
        bound = float(self.referee.bound)
        told = f"{counted(self.mistakes, 'mistake')} in {counted(len(self.rounds), 'round')}; R²/γ² = {bound:.4g}."
        if self.state.role == "B":
            return told + " A learner by Rosenblatt's rule could not err more often than that."
        if self.state.strategy not in PROMISED:
            return told + " For the averaged guess the bound is not promised."
        return told + " B cannot err more often than that."


def direction(angle: float) -> NDArray[np.float64]:
    """Return the unit vector of an angle in degrees."""
    return np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
