"""Where scores are positive in the plane, as a path: exact for a hyperplane, cell by cell for anything else."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.points import HIGH, WIDE
from rosenblatt.plots.geometry import Box, line_in_box

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
    told = scores(grid())
    if told is None:
        return Shape("", "")
    return from_grid(np.asarray(told, dtype=np.float64), scores if steps else None)


def grid() -> NDArray[np.float64]:
    """Return the points at which scores are asked for."""
    xs, ys = _axes()
    return np.column_stack([each.ravel() for each in np.meshgrid(xs, ys)])


def from_grid(told: NDArray[np.float64], scores: Scores | None = None) -> Shape:
    """Return the region where the scores at the points of the grid are positive."""
    xs, ys = _axes()
    values = told.reshape(ROWS + 1, COLUMNS + 1)
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
    found = []
    for i in range(ROWS):
        change = np.flatnonzero(np.diff(np.concatenate([[0], full[i].astype(int), [0]])))
        for lo, hi in zip(change[::2], change[1::2], strict=True):
            found.append(
                _closed([(xs[lo], ys[i]), (xs[hi], ys[i]), (xs[hi], ys[i + 1]), (xs[lo], ys[i + 1])])
            )
    return found


def _clipped(corners: list[Any], values: list[float]) -> list[Any]:
    """Return the part of a polygon where the values at its corners are positive."""
    found = []
    for k in range(len(corners)):
        a, b = values[k], values[(k + 1) % len(corners)]
        if a > 0.0:
            found.append(corners[k])
        if (a > 0.0) != (b > 0.0):
            found.append(_between(corners[k], corners[(k + 1) % len(corners)], a, b))
    return found


def _between(p: Any, q: Any, a: float, b: float) -> tuple[float, float]:
    share = a / (a - b) if a != b else 0.5
    return p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])


def _open(points: list[Any]) -> str:
    return "M" + "L".join(f"{100 * x:.1f},{-100 * y:.1f}" for x, y in points)


def _closed(points: list[Any]) -> str:
    return _open(points) + "Z" if points else ""
