"""What the plane shows: regions as paths, a plain table that the drawing element reads, and the legend below it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.learners import Fitted, Training
from rosenblatt.lab.points import HIGH, WIDE, Points
from rosenblatt.plots.geometry import Box, line_in_box
from rosenblatt.plots.style import BLUE, GREEN, MISTAKE, ORANGE, PINK
from rosenblatt.proofs import Inseparable, Separable

# Regions

COLUMNS, ROWS = 112, 84
HALVINGS = 7
Scores = Callable[[NDArray[np.float64]], Any]
BOX = Box(np.array([-WIDE, -HIGH]), np.array([WIDE, HIGH]))


class Shape(NamedTuple):
    """The positive region and its edge, in hundredths with y downwards, as SVG writes paths."""

    region: str
    edge: str


def half_plane(weights: NDArray[np.float64]) -> Shape:
    """Return the region of ``w·x + b > 0``, bias first."""
    corners = [(-WIDE, -HIGH), (WIDE, -HIGH), (WIDE, HIGH), (-WIDE, HIGH)]
    values = [float(weights[0] + weights[1] * x + weights[2] * y) for x, y in corners]
    region = _closed(_clipped(corners, values))
    segment = line_in_box(weights[1:], float(weights[0]), BOX)
    return Shape(region, "" if segment is None else _open(segment.tolist()))


def from_scores(scores: Scores, steps: bool = False) -> Shape:
    """Return the region where any score is positive, straight inside every cell of a grid.

    ``steps`` says that scores jump: where they change sign is then searched for by halving, not interpolated.
    """
    values = scores(grid())
    if values is None:
        return Shape("", "")
    return from_grid(np.asarray(values, dtype=np.float64), scores if steps else None)


def grid() -> NDArray[np.float64]:
    """Return the points at which scores are asked for."""
    xs, ys = _axes()
    return np.column_stack([each.ravel() for each in np.meshgrid(xs, ys)])


def from_grid(at_grid: NDArray[np.float64], scores: Scores | None = None) -> Shape:
    """Return the region where the scores at the points of the grid are positive."""
    xs, ys = _axes()
    values = at_grid.reshape(ROWS + 1, COLUMNS + 1)
    on = values > 0.0
    count = on[:-1, :-1].astype(int) + on[1:, :-1] + on[:-1, 1:] + on[1:, 1:]
    region, edge = _full_runs(count == 4, xs, ys), []
    i, j = np.nonzero((count > 0) & (count < 4))
    # The corners of every cell that the edge crosses, once around: (cells, 4, 2) and (cells, 4).
    corners = np.stack(
        [xs[j], ys[i], xs[j + 1], ys[i], xs[j + 1], ys[i + 1], xs[j], ys[i + 1]], axis=1
    ).reshape(-1, 4, 2)
    own = np.stack([values[i, j], values[i, j + 1], values[i + 1, j + 1], values[i + 1, j]], axis=1)
    cuts = _cuts(corners, own, scores)
    for cell, inside, cut in zip(corners.tolist(), (own > 0.0).tolist(), cuts.tolist(), strict=True):
        polygon, crossings = [], []
        for k in range(4):
            if inside[k]:
                polygon.append(cell[k])
            if inside[k] != inside[(k + 1) % 4]:
                polygon.append(cut[k])
                crossings.append(cut[k])
        region.append(_closed(polygon))
        edge += [_open(crossings[k : k + 2]) for k in range(0, len(crossings) - 1, 2)]
    return Shape("".join(region), "".join(edge))


def _axes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.linspace(-WIDE, WIDE, COLUMNS + 1), np.linspace(-HIGH, HIGH, ROWS + 1)


def _cuts(
    corners: NDArray[np.float64], values: NDArray[np.float64], scores: Scores | None
) -> NDArray[np.float64]:
    """Return where the sign changes on the way from every corner of every cell to the next."""
    ahead, then = np.roll(corners, -1, axis=1), np.roll(values, -1, axis=1)
    changes = (values > 0.0) != (then > 0.0)
    if scores is None:
        difference = np.where(changes, values - then, 1.0)
        share = np.where(changes, values / np.where(difference == 0.0, 1.0, difference), 0.5)
        return np.asarray(corners + share[..., None] * (ahead - corners))
    low, high = corners[changes], ahead[changes]
    begins_on = values[changes] > 0.0
    for _ in range(HALVINGS if low.size else 0):
        middle = (low + high) / 2.0
        same = (np.asarray(scores(middle)) > 0.0) == begins_on
        low, high = np.where(same[:, None], middle, low), np.where(same[:, None], high, middle)
    cuts = (corners + ahead) / 2.0
    cuts[changes] = (low + high) / 2.0
    return np.asarray(cuts)


def _full_runs(full: NDArray[np.bool_], xs: NDArray[np.float64], ys: NDArray[np.float64]) -> list[str]:
    """Return the cells that lie wholly inside, row by row, neighbours as one."""
    paths = []
    for i in range(ROWS):
        change = np.flatnonzero(np.diff(np.concatenate([[0], full[i].astype(int), [0]])))
        for lo, hi in zip(change[::2], change[1::2], strict=True):
            paths.append(
                _closed([(xs[lo], ys[i]), (xs[hi], ys[i]), (xs[hi], ys[i + 1]), (xs[lo], ys[i + 1])])
            )
    return paths


def _clipped(corners: list[Any], values: list[float]) -> list[Any]:
    """Return the part of a polygon where the values at its corners are positive."""
    inside = []
    for k in range(len(corners)):
        a, b = values[k], values[(k + 1) % len(corners)]
        if a > 0.0:
            inside.append(corners[k])
        if (a > 0.0) != (b > 0.0):
            inside.append(_between(corners[k], corners[(k + 1) % len(corners)], a, b))
    return inside


def _between(p: Any, q: Any, a: float, b: float) -> tuple[float, float]:
    share = a / (a - b) if a != b else 0.5
    return p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])


def _open(points: list[Any]) -> str:
    return "M" + "L".join(f"{100 * x:.1f},{-100 * y:.1f}" for x, y in points)


def _closed(points: list[Any]) -> str:
    return _open(points) + "Z" if points else ""


# The table of a scene; coordinates are those of the data

Scene = dict[str, Any]
ON_IT = 1e-6  # relative: how near the margin a row must be to count as on it
ARROW = 0.9


def empty_scene(points: Points = (), x_name: str = "x₁", y_name: str = "x₂") -> Scene:
    """Return a plane with examples and nothing else."""
    return {
        "box": [-WIDE, -HIGH, WIDE, HIGH],
        "x_name": x_name,
        "y_name": y_name,
        "points": [[p.x / 100, p.y / 100, p.label] for p in points],
        "classes": ["y = +1", "y = −1"],  # what their colours mean
        "held_out": [],  # points that are held out for the test
        "region": "",
        "edge": "",
        "lines": [],
        "paths": [],
        "arrows": [],
        "rings": [],
        "notes": [],
        "halo": None,
        "circles": [],
        "fixed": False,  # whether points can not be dragged
    }


def add_shape(scene: Scene, shape: Shape) -> None:
    """Tint the two sides and draw the boundary between them."""
    scene["region"], scene["edge"] = shape.region, shape.edge
    scene["tinted"] = True


def model_scene(model: Training | Fitted, points: Points, scene: Scene) -> Scene:
    """Add what a learner says about the plane: sides, boundary, w, margin band, misclassified examples."""
    weights = model.weights()
    straight = model.space.is_plane and weights is not None
    X = np.array([[p.x, p.y] for p in points], dtype=np.float64).reshape(-1, 2) / 100.0
    y = np.array([p.label for p in points])
    scores = model.scores(X) if len(points) else None
    if straight and weights is not None:
        if weights.any():
            add_shape(scene, half_plane(weights))
            _add_normal(scene, weights)
    else:
        add_shape(scene, from_scores(model.scores))
        scene["tinted"] = bool(scene["region"] or scene["edge"])
    if scores is not None and np.any(scores):
        right_by = y * scores
        scene["rings"] += [[int(i), "wrong", ""] for i in np.flatnonzero(right_by <= 0.0)]
        if straight and weights is not None and right_by[model.rows].min() > 0.0:
            _add_band(scene, weights, right_by, model.rows)
    return scene


def training_scene(training: Training, points: Points, scene: Scene) -> Scene:
    """Add the example being looked at and what it did, to what the learner says."""
    model_scene(training, points, scene)
    row = training.looked_at
    if row is None:
        return scene
    scene["halo"] = int(training.rows[row])
    update = training.last_update
    if update is not None:
        x = training.X[row]
        length = float(np.linalg.norm(x))
        if length > 0.0:
            tip = x + np.sign(update.tau) * x / length * ARROW
            scene["arrows"].append(
                [
                    *x.tolist(),
                    *tip.tolist(),
                    "update",
                    f"{_step(abs(update.tau))}{'+' if update.tau > 0 else '−'}x",
                ]
            )
        before = training.weights_before()
        if training.space.is_plane and training.state.hypothesis == "last" and before is not None:
            add_line(scene, before, "before")
    return scene


def add_line(scene: Scene, weights: NDArray[np.float64], kind: str) -> None:
    """Draw the line of ``w·x + b = 0`` where it crosses the plane."""
    segment = line_in_box(weights[1:], float(weights[0]), BOX)
    if segment is not None:
        scene["lines"].append([*segment.ravel().tolist(), kind])


def proof_scene(
    proof: Any, plain: bool, points: Points, scene: Scene, examples: NDArray[np.int64] | None = None
) -> Scene:
    """Draw a proof in: the widest band and the rows on it, or the culprits, their weights and where they meet.

    ``examples`` says which points the rows of the proof are, where some are held out.
    """
    which = np.arange(len(points)) if examples is None else examples
    if isinstance(proof, Separable):
        scene["rings"] += [[int(which[row]), "margin", ""] for row in proof.rows]
        if plain:
            w = np.array([float(value) for value in proof.w])
            b, norm = float(proof.b), float(np.linalg.norm(w))
            for side, kind in ((0.0, "proof"), (proof.margin, "band"), (-proof.margin, "band")):
                add_line(scene, np.array([b + side * norm, *w]), kind)
    elif isinstance(proof, Inseparable):
        rows, weights = [int(which[row]) for row in proof.culprits], proof.weights
        scene["rings"] += [[int(r), "culprit", _share(w)] for r, w in zip(rows, weights, strict=True)]
        if plain:
            _add_meeting(scene, rows, weights, points)
    return scene


def _add_meeting(scene: Scene, rows: Any, weights: Any, points: Points) -> None:
    """Join the culprits of each class; their weighted means are one and the same point."""
    for label in (1, -1):
        own = [(points[r], float(w)) for r, w in zip(rows, weights, strict=True) if points[r].label == label]
        if not own:
            return
        for k in range(len(own)):
            for other in range(k + 1, len(own)):
                a, b = own[k][0], own[other][0]
                scene["lines"].append([a.x / 100, a.y / 100, b.x / 100, b.y / 100, "hull"])
        total = sum(w for _, w in own)
        x = sum(w * p.x for p, w in own) / total / 100
        y = sum(w * p.y for p, w in own) / total / 100
    scene["notes"].append([x, y, "meet", ""])


def _add_normal(scene: Scene, weights: NDArray[np.float64]) -> None:
    """Draw w from the point of the boundary nearest to the middle."""
    w = weights[1:]
    norm = float(np.linalg.norm(w))
    segment = line_in_box(w, float(weights[0]), BOX)
    if norm == 0.0 or segment is None:
        return
    along = segment[1] - segment[0]
    share = float(np.clip(-(segment[0] @ along) / (along @ along), 0.2, 0.8))
    foot = segment[0] + share * along
    tip = foot + w / norm * ARROW
    scene["arrows"].append([*foot.tolist(), *tip.tolist(), "normal", "w"])


def _add_band(
    scene: Scene, weights: NDArray[np.float64], right_by: NDArray[np.float64], rows: NDArray[np.int64]
) -> None:
    norm = float(np.linalg.norm(weights[1:]))
    margin = float(right_by[rows].min())
    for side in (margin, -margin):
        add_line(scene, weights + np.array([side, 0.0, 0.0]), "margin")
    if norm > 0.0:
        on_it = rows[right_by[rows] <= margin * (1 + ON_IT)]
        scene["rings"] += [[int(i), "margin", ""] for i in on_it]


def _step(tau: float) -> str:
    return "" if abs(tau - 1.0) < 1e-9 else f"{tau:.2g} · "


def _share(weight: Any) -> str:
    """Write a weight as a fraction where that is short."""
    written = str(weight)
    return written if len(written) <= 7 else f"{float(weight):.3g}"


# The legend


def _mark(shape: str, width: int = 18) -> str:
    return f'<svg width="{width}" height="18" aria-hidden="true">{shape}</svg>'


def _ring(colour: str, width: float = 2.2) -> str:
    return _mark(f'<circle cx="9" cy="9" r="7" fill="none" stroke="{colour}" stroke-width="{width}"/>')


def _arrow(colour: str) -> str:
    line = f'<path d="M1,9h18" stroke="{colour}" stroke-width="3"/>'
    return _mark(f'{line}<path d="M17,4l9,5l-9,5z" fill="{colour}"/>', 27)


def _line(colour: str, dash: str = "", width: float = 2.2) -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return _mark(f'<path d="M0,9h26" stroke="{colour}" stroke-width="{width}"{dashes}/>', 27)


_CROSS = f'<path d="M3,3L15,15M3,15L15,3" stroke="{MISTAKE}" stroke-width="3"/>'
_HOLLOW = f'<circle cx="9" cy="9" r="5.5" fill="var(--paper)" stroke="{BLUE}" stroke-width="2.6"/>'
_PARTS = {
    "plus": (_mark(f'<circle cx="9" cy="9" r="6.5" fill="{BLUE}"/>'), "y = +1"),
    "minus": (_mark(f'<rect x="3" y="3" width="12" height="12" fill="{ORANGE}"/>'), "y = −1"),
    "wrong": (_ring(MISTAKE), "misclassified"),
    "margin": (_ring("var(--ink)"), "on the margin"),
    "held_out": (_mark(_HOLLOW), "held out for the test"),
    "boundary": (_line("var(--ink)"), "boundary"),
    "before": (_line("var(--faint)", "2 4", 1.6), "boundary before the update"),
    "band": (_line("var(--ink)", "6 5", 1.6), "margin of this boundary"),
    "proof": (_line(GREEN), "the proof: widest separator"),
    "proof_band": (_line(GREEN, "6 5"), "its margin, the largest"),
    "culprit": (_ring(MISTAKE, 3.2), "with this weight in the proof"),
    "hull": (_line(MISTAKE), "averages of one class"),
    "meet": (_mark(_CROSS), "where they are equal"),
    "unit": (_line("var(--faint)", "", 1.6), "boundary of a unit"),
    "wire": (_line("var(--faint)"), "wire with its weight"),
    "negative": (_line(MISTAKE, "7 4"), "negative weight"),
    "legal": (_line(PINK, "6 5", 1.6), "margin γ of u"),
    "radius": (_line("var(--ink)", "2 4", 1.6), "radius R"),
    "halo": (_mark('<circle cx="9" cy="9" r="8" fill="var(--ink)" opacity=".3"/>'), "being looked at"),
    "normal": (_arrow(GREEN), "w"),
    "update": (_arrow(PINK), "the update"),
    "secret": (_arrow(PINK), "u, hidden from B"),
    "guess": (_arrow(GREEN), "v, what B believes"),
}


def legend(*parts: str, **words: str) -> str:
    """Return the marks with their meanings, or with other words for them.

    >>> legend("plus", "minus", minus="wanted: 0").endswith("wanted: 0</span>")
    True
    """
    return "".join(f"<span>{_PARTS[part][0]} {words.get(part, _PARTS[part][1])}</span>" for part in parts)


def legend_of(scene: Scene) -> str:
    """Return the legend of what a scene shows, and of nothing else.

    >>> "boundary" in legend_of(empty_scene())
    False
    """
    rings = {ring[1] for ring in scene["rings"]}
    lines = {line[4] for line in scene["lines"]} | {path[1] for path in scene["paths"]}
    arrows = {arrow[4] for arrow in scene["arrows"]}
    there = {
        "plus": True,
        "minus": True,
        "held_out": bool(scene["held_out"]),
        "wrong": "wrong" in rings,
        "margin": "margin" in rings,
        "culprit": "culprit" in rings,
        "halo": scene["halo"] is not None,
        "boundary": bool(scene["edge"]),
        "before": "before" in lines,
        "band": "margin" in lines,
        "proof": "proof" in lines,
        "proof_band": "band" in lines,
        "hull": "hull" in lines,
        "meet": any(note[2] == "meet" for note in scene["notes"]),
        "unit": "unit" in lines,
        "legal": "legal" in lines,
        "radius": bool(scene["circles"]),
        **{kind: kind in arrows for kind in ("normal", "update", "secret", "guess")},
    }
    plus, minus = scene["classes"]
    return legend(*(part for part, shown in there.items() if shown), plus=plus, minus=minus)
