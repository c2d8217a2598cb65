"""Accuracies of learners side by side."""

from typing import Any

import numpy as np

from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.style import BLUE, TEXT, Theme


def comparison(table: Any, *, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw the held-out accuracy of every learner of a ``Comparison``, one standard deviation either way."""
    rows = [row for row in table.rows if not row.note][::-1]
    if not rows:
        raise ValueError("no learner could be measured: there is nothing to draw")
    ax, look = new_axes(ax, theme, size=(8.0, 1.5 + 0.5 * len(rows)))
    places = np.arange(len(rows))
    accuracy = np.array([row.accuracy for row in rows])
    spread = np.array([row.spread for row in rows])
    ax.hlines(places, accuracy - spread, accuracy + spread, color=BLUE, lw=2, alpha=0.6)
    ax.plot(accuracy, places, "o", color=BLUE, ms=9, gid="accuracy")
    low = max(0.0, float((accuracy - spread).min()) - 0.03)
    ax.set_xlim(low, min(1.0, float((accuracy + spread).max())) + 0.14 * (1.02 - low))
    for place, row in enumerate(rows):
        ax.annotate(
            f"{row.accuracy:.1%}",
            (row.accuracy + row.spread, place),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=look.ink,
            fontsize=TEXT,
        )
    ax.set_yticks(places, [row.learner for row in rows])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.tick_params(axis="y", length=0, labelsize=TEXT)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}" if value <= 1.0 else "")
    ax.grid(axis="x", color=look.grid, lw=0.8)
    ax.spines["left"].set_visible(False)
    titled(ax, look, f"Held-out accuracy, {table.folds} folds", "accuracy ± one standard deviation")
    return ax
