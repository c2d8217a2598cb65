"""Exact segments of boundary lines inside a box."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Segment = NDArray[np.float64]  # (2 points, 2 coordinates)


class Box(NamedTuple):
    """The part of the plane that is drawn."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def spans(self) -> NDArray[np.float64]:
        """Width and height."""
        return self.high - self.low


def box_around(X: NDArray[np.float64], padding: float = 0.12) -> Box:
    """Return a box around points with padding, equal on all sides if the spans are similar.

    >>> box_around(np.array([[0.0, 0.0], [1.0, 2.0]]), padding=0.5).spans
    array([3., 4.])
    """
    low, high = X.min(axis=0), X.max(axis=0)
    spans = np.where(high > low, high - low, 1.0)
    pad = padding * (np.full(2, spans.max()) if alike(spans) else spans)
    centre = (low + high) / 2
    return Box(centre - spans / 2 - pad, centre + spans / 2 + pad)


def alike(spans: NDArray[np.float64]) -> bool:
    """Whether the spans are similar enough for equal scales on both axes, which preserve angles."""
    return bool(spans.max() <= 2.6 * spans.min())


def line_in_box(w: Any, b: float, box: Box) -> Segment | None:
    """Return the part of ``w·x + b = 0`` inside a box, or None.

    >>> line_in_box([1.0, 0.0], -0.5, Box(np.zeros(2), np.ones(2))).tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    return _clipped(w, b, _walls(box))


def border_in_box(weights: NDArray[np.float64], i: int, j: int, box: Box) -> Segment | None:
    """Return the segment where classes ``i`` and ``j`` have the highest scores, equal; weights have the bias first."""
    difference = weights[i] - weights[j]
    others = [(weights[i] - weights[k])[[1, 2, 0]] for k in range(len(weights)) if k not in (i, j)]
    return _clipped(difference[1:], difference[0], [*_walls(box), *others])


def _walls(box: Box) -> list[NDArray[np.float64]]:
    """Return half-planes ``(a, b, c)``: inside where ``a·x + b·y + c ≥ 0``."""
    (x0, y0), (x1, y1) = box
    return [np.array(each, dtype=np.float64) for each in ((1, 0, -x0), (-1, 0, x1), (0, 1, -y0), (0, -1, y1))]


def _clipped(w: Any, b: float, inside: list[NDArray[np.float64]]) -> Segment | None:
    w = np.asarray(w, dtype=np.float64)
    norm_sq = float(w @ w)
    if norm_sq == 0.0:
        return None
    foot, along = -b * w / norm_sq, np.array([-w[1], w[0]]) / np.sqrt(norm_sq)
    start, end = -np.inf, np.inf
    for half in inside:
        rate, at = float(half[:2] @ along), float(half[:2] @ foot + half[2])
        if rate == 0.0:
            if at < 0.0:
                return None
        elif rate > 0.0:
            start = max(start, -at / rate)
        else:
            end = min(end, -at / rate)
    if not start < end:
        return None
    points = np.array([foot + start * along, foot + end * along])
    return points[np.lexsort((points[:, 1], points[:, 0]))]
