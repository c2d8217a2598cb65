"""The referee of the perceptron game (seed 004): exact about what A may present, and about the bound."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.lab.points import Point

FINE = 1000  # the hidden direction is a fraction with such denominators in tan(angle/2)


class Referee(NamedTuple):
    """The rules: a hidden unit vector u, a radius R, a margin γ; all fractions, so that nothing hangs on a rounding.

    Guarantee: whatever :meth:`refusal` lets through has ``‖x‖ ≤ R`` and ``y (u·x) ≥ γ`` exactly, so Rosenblatt's rule
    from zero weights errs at most ``R²/γ²`` times on it, in any order.

    >>> referee = Referee.of(angle=90, radius=2.5, margin=0.4)
    >>> referee.refusal(Point(0, 100, 1)) is None, referee.refusal(Point(0, 100, -1))
    (True, 'u says +1 here: y (u·x) is −1.00, and must be at least γ = 0.4')
    """

    u: tuple[Fraction, Fraction]
    radius: Fraction
    margin: Fraction

    @classmethod
    def of(cls, angle: float, radius: float, margin: float) -> "Referee":
        """Return the rules for a direction in degrees."""
        half = math.radians(angle) / 2.0
        if abs(math.cos(half)) < 1e-9:
            u = (Fraction(-1), Fraction(0))
        else:
            t = Fraction(round(FINE * math.tan(half)), FINE)
            u = ((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t))  # of norm one, exactly
        return cls(u, Fraction(f"{radius:.6f}"), Fraction(f"{margin:.6f}"))

    @property
    def bound(self) -> Fraction:
        """``R²/γ²``."""
        return (self.radius / self.margin) ** 2

    def along(self, point: Point) -> Fraction:
        """Return ``u·x``."""
        return (self.u[0] * point.x + self.u[1] * point.y) / 100

    def refusal(self, point: Point) -> str | None:
        """Say why A may not present this example, or None where it may."""
        if Fraction(point.x**2 + point.y**2, 10_000) > self.radius**2:
            norm = math.hypot(point.x, point.y) / 100
            return f"‖x‖ is {norm:.2f}, more than R = {float(self.radius):g}"
        along = self.along(point)
        if abs(along) < self.margin:
            distance = float(abs(along))
            return f"too near to the line of u: the distance is {distance:.2f}, less than γ = {float(self.margin):g}"
        if point.label * along < self.margin:
            right, told = "+1" if along > 0 else "−1", f"−{float(abs(along)):.2f}"
            return f"u says {right} here: y (u·x) is {told}, and must be at least γ = {float(self.margin):g}"
        return None

    def legal_steps(self) -> NDArray[np.int64]:
        """Return every legal ``y·x`` of the grid, in hundredths."""
        reach = int(100 * self.radius)
        axis = np.arange(-reach, reach + 1)
        x, y = (each.ravel() for each in np.meshgrid(axis, axis))
        ux, uy = (float(value) for value in self.u)
        inside = x * x + y * y <= float(10_000 * self.radius**2)
        near = inside & (ux * x + uy * y >= 100 * float(self.margin) - 1e-6)
        steps = np.column_stack([x[near], y[near]])
        edge = ux * steps[:, 0] + uy * steps[:, 1] < 100 * float(self.margin) + 1e-6
        edge |= (steps**2).sum(axis=1) > float(10_000 * self.radius**2) - 1e-3
        kept = ~edge
        for k in np.flatnonzero(edge):  # only on the edge can floats be wrong
            kept[k] = self.refusal(Point(int(steps[k, 0]), int(steps[k, 1]), 1)) is None
        return steps[kept]
