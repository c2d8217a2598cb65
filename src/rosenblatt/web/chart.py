"""A line chart as SVG: the curve of a run, and its theoretical bound as a dotted line."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

WIDTH, HEIGHT = 420, 176
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 28, 42
MOST = 400  # points of a line; more cannot be told apart
FEW = 24  # points that are also drawn as dots
FAR = 8.0  # a bound this many times the run is drawn on a logarithmic scale


class Curve(NamedTuple):
    """A line: ``stairs`` goes flat then up; ``dotted`` is a bound."""

    x: Any
    y: Any
    colour: str
    label: str
    dotted: bool = False
    stairs: bool = False


def chart(title: str, x_name: str, curves: Sequence[Curve], empty: str = "") -> str:
    """Draw curves over one axis, each labelled in the heading line.

    >>> chart("E(w)", "update k", []).startswith("<svg")
    True
    """
    drawn = [c for c in curves if len(c.x)]
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}" '
        'font-family="system-ui, sans-serif" font-size="17">'
    ]
    if not drawn:
        parts.append(
            f'<text x="{WIDTH / 2}" y="{HEIGHT / 2}" text-anchor="middle" fill="var(--faint)">{escape(empty)}</text>'
        )
        return "".join([*parts, "</svg>"])
    right = max(float(np.max(c.x)) for c in drawn) or 1.0
    values = np.concatenate([np.asarray(c.y, dtype=np.float64) for c in drawn])
    run = np.concatenate([np.asarray(c.y, dtype=np.float64) for c in drawn if not c.dotted] or [values])
    top, low = float(values.max()), min(0.0, float(values.min()))
    logarithmic = low >= 0.0 and top > FAR * max(float(run.max()), 1e-12) and float(run.max()) >= 1.0
    scale = _Scale(
        0.8 if logarithmic else low,
        top * 1.25 if logarithmic else top + (0.04 * (top - low) or 1.0),  # all zero: up to one
        logarithmic,
    )
    for tick in scale.ticks():
        y = scale.at(tick)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--grid)"/>'
        )
        parts.append(
            f'<text x="{LEFT - 6}" y="{y + 5:.1f}" text-anchor="end" fill="var(--faint)">{_short(tick)}</text>'
        )
    for tick in _ticks(0.0, right, 4, least=1.0):
        x = LEFT + (WIDTH - LEFT - RIGHT) * tick / right
        anchor = "end" if x > WIDTH - RIGHT - 14 else "middle"  # a number at the edge is not cut off
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="{anchor}" fill="var(--faint)">'
            f"{_short(tick)}</text>"
        )
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 5}" text-anchor="end" fill="var(--faint)">{escape(x_name)}</text>'
    )
    place = 4.0
    for c in drawn:
        parts.append(_line(c, right, scale))
        dash = ' stroke-dasharray="1.5 5" stroke-linecap="round"' if c.dotted else ""
        parts.append(
            f'<line x1="{place}" x2="{place + 20}" y1="10" y2="10" stroke="{c.colour}" stroke-width="3"{dash}/>'
        )
        parts.append(f'<text x="{place + 26}" y="15" fill="var(--ink)">{escape(c.label)}</text>')
        place += 26 + 9.0 * len(c.label) + 14
    return "".join([*parts, "</svg>"])


class _Scale(NamedTuple):
    low: float
    high: float
    logarithmic: bool

    def at(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = math.log(max(value, self.low)), math.log(low), math.log(high)
        share = (value - low) / (high - low) if high > low else 0.5
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def ticks(self) -> list[float]:
        if not self.logarithmic:
            return _ticks(self.low, self.high, 3)
        every = max(1, math.ceil(math.log10(self.high) / 3))
        return [10.0**k for k in range(0, int(math.log10(self.high)) + 1, every)]


def _line(curve: Curve, right: float, scale: _Scale) -> str:
    points, before = [], None
    chosen = np.unique(np.linspace(0, len(curve.x) - 1, min(len(curve.x), MOST)).astype(int))
    for x, y in ((curve.x[k], curve.y[k]) for k in chosen):
        px, py = LEFT + (WIDTH - LEFT - RIGHT) * float(x) / right, scale.at(float(y))
        if curve.stairs and before is not None:
            points.append(f"{px:.1f},{before:.1f}")
        points.append(f"{px:.1f},{py:.1f}")
        before = py
    dash = ' stroke-dasharray="1.5 5" stroke-linecap="round"' if curve.dotted else ""
    dots = ""
    if len(curve.x) <= FEW and not curve.stairs:
        radius = 2.2 if curve.dotted else 3.2
        dots = "".join(
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{curve.colour}"/>'
            for x, y in (point.split(",") for point in points)
        )
    width = 2.6 if curve.dotted else 2.4
    return (
        f'<polyline points="{" ".join(points)}" fill="none" stroke="{curve.colour}" stroke-width="{width}" '
        f'stroke-linejoin="round"{dash}/>{dots}'
    )


def _ticks(low: float, high: float, about: int, least: float = 0.0) -> list[float]:
    if not high > low:
        return [low]
    raw = max((high - low) / about, least)
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= raw)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _short(value: float) -> str:
    """Write a number shortly.

    >>> _short(1500.0), _short(-2.0), _short(0.25)
    ('1.5k', '−2', '0.25')
    """
    if abs(value) >= 1e6 or (value and abs(value) < 1e-3):
        text = f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
    elif abs(value) >= 1000:
        text = f"{value / 1000:g}k"
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")
