"""A game as Python that plays it again with the library."""

from rosenblatt.lab.code import data_code
from rosenblatt.lab.game_session import GameSession


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
