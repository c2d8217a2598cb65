"""Lessons that are live on the site: links into the lab become figures that the page itself draws and steps.

The ES module of ``rosenblatt.widget`` is put into the page, so a lesson works without a server, also from a disk. A
link whose state the module cannot show (a game with a visitor, a Gaussian kernel, a network) leads to the page about
the lab, and says which address to open there.
"""

import json
import math
import re
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

LAB = "http://127.0.0.1:8137"
LINK = re.compile(rf"\[([^\]]+)\]\({re.escape(LAB)}([^)\s]*)\)")
RULES = {"rosenblatt", "margin", "passive-aggressive", "logistic"}
HYPOTHESES = {"last", "averaged", "voted"}
BOX = [-4, -3, 4, 3]
SQUARE = [-0.6, -0.325, 1.6, 1.325]  # around the corners of a truth table


def options_of(address: str) -> dict[str, Any] | None:
    """Return the figure of an address of the lab, or None where the module has no such figure.

    >>> options_of("/?n=12&seed=3&clock=5")["clock"], options_of("/game?role=A") is None
    (5, True)
    """
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.path == "/":
        return _playground(query)
    if parts.path == "/game":
        return _game(query)
    return _gate(query) if parts.path == "/gates" and {"gate", "w1", "w2", "b"} & set(query) else None


def _playground(query: dict[str, str]) -> dict[str, Any] | None:
    from rosenblatt import rules
    from rosenblatt.lab.learners import Fitted, PlaygroundState, Space, Training
    from rosenblatt.lab.points import arrays
    from rosenblatt.lab.table import from_query

    state, problems = from_query(PlaygroundState, query)
    if problems:
        raise ValueError(f"?{query} is no state of the lab: {problems}")
    space = Space.named(state.space)
    X, y = arrays(state.examples())
    fitted = [name for name in (*state.beside, state.learner) if name != "perceptron"]
    if fitted == ["naive-bayes"] and state.learner == "naive-bayes" and space.is_plane:
        points = {"points": X.tolist(), "labels": y.tolist(), "box": BOX, "proof": False}
        return {"learner": "naive-bayes", "map": "signs", **points}
    if (
        state.rule not in RULES
        or state.hypothesis not in HYPOTHESES
        or space.kind == "rbf"
        or "naive-bayes" in fitted
    ):
        return None
    options: dict[str, Any] = {
        "points": X.tolist(),
        "labels": y.tolist(),
        "rule": state.rule,
        "parameters": {"eta": state.eta} if "eta" in rules.BY_NAME[state.rule]._fields else {},
        "hypothesis": state.hypothesis,
        "clock": state.clock if state.learner == "perceptron" else 0,
        "proof": state.proof,
        "box": BOX,
    }
    if any(state.start):
        options["start"] = list(state.start)
    if space.kernel:  # (1 + a·b)^d is a product of monomials, each times the root of its count
        options["map"] = _monomials(space.degree)
        options["intercept"] = False
    elif not space.is_plane:
        options["map"] = [[*_powers(name), 1] for name in space.names()]
    if state.order == "shuffled":
        run = Training(state, X, y)
        options["orders"] = [[run.row_at(k * run.n + i) for i in range(run.n)] for k in range(200)]
    if fitted:
        if not space.is_plane:
            return None
        models = [(name, Fitted(name, state, X, y).weights()) for name in dict.fromkeys(fitted)]
        options["lines"] = [{"w": w.tolist(), "label": name} for name, w in models if w is not None]
    return options


def _monomials(degree: int) -> list[list[float]]:
    """Return powers and factors of monomials whose products are those of the kernel ``(1 + a·b)^degree``.

    >>> len(_monomials(2))
    6
    """
    powers = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
    return [[i, j, math.sqrt(math.comb(degree, i) * math.comb(degree - i, j))] for i, j in powers]


def _powers(name: str) -> list[int]:
    """Return the powers of the two features in the name of a monomial.

    >>> _powers("x1^2 x2")
    [2, 1]
    """
    found = [0, 0]
    for feature, power in re.findall(r"x([12])(?:\^(\d+))?", name):
        found[int(feature) - 1] += int(power or 1)
    return found


def _game(query: dict[str, str]) -> dict[str, Any] | None:
    """Return the examples that A presents to B, in their order: a run through the origin, and the line of u."""
    from rosenblatt.lab.game import PROMISED, GameSession, GameState
    from rosenblatt.lab.table import from_query

    state, _ = from_query(GameState, query)
    if state.role != "watch" or state.strategy not in PROMISED:
        return None
    game = GameSession(state)
    game.play_all()
    options: dict[str, Any] = {
        "points": [[each.point.x / 100, each.point.y / 100] for each in game.rounds],
        "labels": [each.point.label for each in game.rounds],
        "intercept": False,
        "lines": [{"w": [0.0, *(float(value) for value in game.referee.u)], "label": "u"}],
        "box": BOX,
        "fixed": True,
    }
    if state.strategy == "passive-aggressive":
        options |= {"rule": "passive-aggressive", "parameters": {"C": None}}
    return options


def _gate(query: dict[str, str]) -> dict[str, Any]:
    from rosenblatt.lab.gates import CORNERS, TABLES, GatesState
    from rosenblatt.lab.table import from_query

    state, _ = from_query(GatesState, query)
    start = [state.b, state.w1, state.w2]
    return {
        "points": CORNERS.tolist(),
        "labels": np.where(np.array(TABLES[state.gate]) > 0, 1, -1).tolist(),
        "start": start if any(start) else None,
        "proof": state.proof,
        "box": SQUARE,
        "fixed": True,
    }


def live(text: str) -> str:
    """Return a lesson with live links, a figure after the paragraph of the first of them, and the module at its end."""
    first: list[str] = []

    def instead(found: re.Match[str]) -> str:
        words, address = found.groups()
        options = options_of(address)
        if options is None:
            return f'[{words}](../lab.md "in the lab: rosenblatt lab, then {address or "/"}")'
        written = escape(json.dumps(options, separators=(",", ":")))
        if not first:
            first.append(written)
        return f'<a href="#live" data-live="{written}">{words}</a>'

    changed = LINK.sub(instead, text)
    if not first:
        return changed
    paragraphs = changed.split("\n\n")
    place = next(k for k, each in enumerate(paragraphs) if "data-live=" in each) + 1
    paragraphs.insert(place, f'<div id="live" data-live="{first[0]}"></div>')
    return "\n\n".join([*paragraphs, f'<script type="module">\n{module()}\nfigures();\n</script>', ""])


def module() -> str:
    """Return the ES module of the figures."""
    from rosenblatt.web.widget import MODULE

    return MODULE.read_text(encoding="utf-8")


def on_read(app: Any, page: str, source: list[str]) -> None:
    """Change a lesson before it is parsed."""
    if page.startswith("lessons/"):
        source[0] = live(source[0])


def setup(app: Any) -> dict[str, Any]:
    """Listen to every page."""
    app.connect("source-read", on_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
