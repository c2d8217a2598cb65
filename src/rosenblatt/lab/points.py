"""Examples in the plane of the lab: where they may lie, how a link writes them, how they are made."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.table import Column

WIDE, HIGH = 4.0, 3.0  # the plane reaches from −WIDE to WIDE and from −HIGH to HIGH
MOST = 500
GENERATORS = ("separable", "overlapping", "circles", "moons", "xor", "none")
_ONE = re.compile(r"([ab])(-?\d{1,3})_(-?\d{1,3})")


class Point(NamedTuple):
    """An example of two features, in hundredths, so that a link says exactly where it is."""

    x: int
    y: int
    label: int  # +1 or −1

    @classmethod
    def near(cls, x: float, y: float, label: int) -> "Point":
        """Return the point of the grid that is nearest, inside the plane."""
        reach_x, reach_y = round(100 * WIDE), round(100 * HIGH)
        return cls(
            min(max(round(100 * x), -reach_x), reach_x),
            min(max(round(100 * y), -reach_y), reach_y),
            1 if label > 0 else -1,
        )


Points = tuple[Point, ...]


def _points_column() -> Column:
    """Examples, written as ``a120_-35``: a for +1, b for −1, then hundredths."""

    def read(text: str) -> Points:
        matches = _ONE.findall(text)
        if sum(len(a) + len(x) + len(y) + 1 for a, x, y in matches) != len(text) or len(matches) > MOST:
            raise ValueError
        points = tuple(Point(int(x), int(y), 1 if a == "a" else -1) for a, x, y in matches)
        if any(abs(p.x) > 100 * WIDE or abs(p.y) > 100 * HIGH for p in points):
            raise ValueError
        return points

    def write(points: Iterable[Point]) -> str:
        return "".join(f"{'a' if p.label > 0 else 'b'}{p.x}_{p.y}" for p in points)

    return Column(write, read, f"at most {MOST} points like a120_-35 (a is +1, b is −1; hundredths)")


POINTS = _points_column()


def arrays(points: Points) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows and labels as the library takes them."""
    X = np.array([[p.x, p.y] for p in points], dtype=np.float64).reshape(-1, 2) / 100.0
    return X, np.array([p.label for p in points], dtype=np.int64)


def edited(points: Points, what: str, **details: Any) -> Points:
    """Do to the points what was done on the plane: add, move, flip, erase; a point that is gone stays gone.

    >>> edited((Point(1, 2, 1),), "flip", i=0)
    (Point(x=1, y=2, label=-1),)
    """
    if what == "add":
        if len(points) >= MOST:
            raise ValueError(f"the plane holds {MOST} points: erase some first")
        return (*points, Point.near(details["x"], details["y"], details["label"]))
    i = int(details["i"])
    if not 0 <= i < len(points):
        return points
    own = points[i]
    if what == "move":
        changed: Points = (Point.near(details["x"], details["y"], own.label),)
    elif what == "flip":
        changed = (own._replace(label=-own.label),)
    elif what == "erase":
        changed = ()
    else:
        raise ValueError(f"points are added, moved, flipped or erased, not {what!r}")
    return (*points[:i], *changed, *points[i + 1 :])


def generated(kind: str, n: int, margin: float, noise: float, seed: int) -> Points:
    """Make examples: ``separable`` by at least the margin (three lie on it), and four kinds that are not.

    >>> len(generated("xor", 40, 0.3, 0.5, 0))
    40
    """
    rng = np.random.default_rng(seed)
    if kind == "none" or n == 0:
        return ()
    X, signs = _MAKERS[kind](rng, n, margin, noise)
    return tuple(Point.near(x, y, int(sign)) for (x, y), sign in zip(X, signs, strict=True))


def _separable(rng: Any, n: int, margin: float, noise: float) -> tuple[Any, Any]:
    angle = rng.uniform(0.15, 0.5) * np.pi * rng.choice([-1, 1])
    u, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    shift = rng.uniform(-0.4, 0.4)
    edge = margin + 0.015  # rounding to hundredths moves a point by at most 0.0071
    on_it = [(edge, -1.1, 1), (edge, 1.3, 1), (-edge, 0.1, -1)][:n]
    rows = [(shift + side) * u + along * across for side, along, _ in on_it]
    signs = [sign for _, _, sign in on_it]
    while len(rows) < n:
        x = rng.uniform([-0.9 * WIDE, -0.9 * HIGH], [0.9 * WIDE, 0.9 * HIGH])
        distance = float(x @ u) - shift
        wanted = 1 if len(rows) % 2 else -1
        if wanted * distance > edge:
            rows.append(x)
            signs.append(wanted)
    order = rng.permutation(n)
    return np.array(rows)[order], np.array(signs)[order]


def _overlapping(rng: Any, n: int, margin: float, noise: float) -> tuple[Any, Any]:
    signs = _alternating(n)
    return rng.normal(0.0, 0.45 + 0.9 * noise, (n, 2)) + np.outer(signs, [1.1, 0.7]), signs


def _circles(rng: Any, n: int, margin: float, noise: float) -> tuple[Any, Any]:
    signs = _alternating(n)
    radius = np.where(signs > 0, 0.9, 2.1) + rng.normal(0.0, 0.35 * noise, n)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), signs


def _moons(rng: Any, n: int, margin: float, noise: float) -> tuple[Any, Any]:
    signs = _alternating(n)
    angle = rng.uniform(0.0, np.pi, n)
    upper = np.column_stack([1.7 * np.cos(angle) - 0.8, 1.9 * np.sin(angle) - 0.6])
    X = np.where((signs > 0)[:, None], upper, -upper)
    return X + rng.normal(0.0, 0.4 * noise, (n, 2)), signs


def _xor(rng: Any, n: int, margin: float, noise: float) -> tuple[Any, Any]:
    corner = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])[np.arange(n) % 4]
    X = 1.5 * corner + rng.normal(0.0, 0.1 + 0.55 * noise, (n, 2))
    return X, np.where(corner.prod(axis=1) > 0, -1, 1)


def _alternating(n: int) -> NDArray[np.int64]:
    return np.where(np.arange(n) % 2 == 0, 1, -1)


_MAKERS = {
    "separable": _separable,
    "overlapping": _overlapping,
    "circles": _circles,
    "moons": _moons,
    "xor": _xor,
}


def counted(number: int, word: str) -> str:
    """Write a number of things.

    >>> counted(1, "mistake"), counted(2, "mistake")
    ('1 mistake', '2 mistakes')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"
