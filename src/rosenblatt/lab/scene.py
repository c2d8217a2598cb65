"""What the plane shows, as a plain table that the drawing element reads. Coordinates are those of the data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.contour import BOX, Shape, from_scores, half_plane
from rosenblatt.lab.fitted import Fitted
from rosenblatt.lab.points import HIGH, WIDE, Points
from rosenblatt.lab.training import Training
from rosenblatt.plots.geometry import line_in_box
from rosenblatt.proofs import Inseparable, Separable

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
        if straight and weights is not None and right_by.min() > 0.0:
            _add_band(scene, weights, right_by)
    return scene


def training_scene(training: Training, points: Points, scene: Scene) -> Scene:
    """Add the example being looked at and what it did, to what the learner says."""
    model_scene(training, points, scene)
    row = training.looked_at
    if row is None:
        return scene
    scene["halo"] = row
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


def add_line(scene: Scene, weights: NDArray[np.float64], kind: str, label: str = "") -> None:
    """Draw the line of ``w·x + b = 0`` where it crosses the plane."""
    segment = line_in_box(weights[1:], float(weights[0]), BOX)
    if segment is not None:
        scene["lines"].append([*segment.ravel().tolist(), kind, label])


def proof_scene(proof: Any, plain: bool, points: Points, scene: Scene) -> Scene:
    """Draw a proof in: the widest band and the rows on it, or the culprits, their weights and where they meet."""
    if isinstance(proof, Separable):
        scene["rings"] += [[int(row), "margin", ""] for row in proof.rows]
        if plain:
            w = np.array([float(value) for value in proof.w])
            b, norm = float(proof.b), float(np.linalg.norm(w))
            for side, kind in ((0.0, "proof"), (proof.margin, "band"), (-proof.margin, "band")):
                add_line(scene, np.array([b + side * norm, *w]), kind)
    elif isinstance(proof, Inseparable):
        rows, weights = proof.culprits, proof.weights
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
                scene["lines"].append([a.x / 100, a.y / 100, b.x / 100, b.y / 100, "hull", ""])
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


def _add_band(scene: Scene, weights: NDArray[np.float64], right_by: NDArray[np.float64]) -> None:
    norm = float(np.linalg.norm(weights[1:]))
    margin = float(right_by.min())
    for side in (margin, -margin):
        add_line(scene, weights + np.array([side, 0.0, 0.0]), "margin")
    if norm > 0.0:
        on_it = np.flatnonzero(right_by <= margin * (1 + ON_IT))
        scene["rings"] += [[int(i), "margin", ""] for i in on_it]


def _step(tau: float) -> str:
    return "" if abs(tau - 1.0) < 1e-9 else f"{tau:.2g} · "


def _share(weight: Any) -> str:
    """Write a weight as a fraction where that is short."""
    written = str(weight)
    return written if len(written) <= 7 else f"{float(weight):.3g}"
