"""All that the game shows, as one table."""

from dataclasses import dataclass

from rosenblatt.lab.players import STRATEGIES
from rosenblatt.lab.playground_state import THEMES
from rosenblatt.lab.points import POINTS, Points
from rosenblatt.lab.table import Column, column, flag, number, one_of, whole

ROLES = ("A", "B", "watch")
MOST_ROUNDS = 400


def _guesses() -> Column:
    def read(text: str) -> tuple[int, ...]:
        found = tuple(int(part) for part in text.split("_")) if text else ()
        if len(found) > MOST_ROUNDS or not all(0 <= angle < 360 for angle in found):
            raise ValueError
        return found

    return Column(
        lambda guesses: "_".join(str(angle) for angle in guesses),
        read,
        "angles from 0 to 359 with _ between them",
    )


GUESSES = _guesses()


@dataclass(frozen=True)
class GameState:
    """The rules, who plays, and every move so far; the rounds are told from these by playing them again."""

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
