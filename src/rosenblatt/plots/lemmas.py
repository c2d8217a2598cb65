"""The two lemmas of the mistake bound, update by update."""

from typing import Any

import numpy as np

from rosenblatt.plots.canvas import in_words, keyed, new_axes, titled
from rosenblatt.plots.style import BLUE, LINE, Theme


def lemmas(trace: Any, *, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw ``v·u ≥ kγ`` and ``‖v‖² ≤ kR²`` side by side, and return the two axes.

    ``trace`` is the result of ``Perceptron.trace(reference)``; γ is the smallest gain of an update.
    """
    if not len(trace.dot):
        raise ValueError("the trace has no updates: the run never made a mistake")
    ax, look = new_axes(ax, theme, size=(11.0, 5.0), columns=2)
    k = np.arange(1, len(trace.dot) + 1)
    gamma, radius = float(np.min(trace.gain)), float(trace.radius)
    pairs = (
        (ax[0], trace.dot, k * gamma, "$v_k\\cdot u$", f"$k\\gamma$,  γ = {in_words(gamma)}", "never below"),
        (
            ax[1],
            trace.sqnorm,
            k * radius**2,
            "$\\|v_k\\|^2$",
            f"$kR^2$,  R = {in_words(radius)}",
            "never above",
        ),
    )
    for each, values, line, name, bound, side in pairs:
        each.plot(
            k, values, color=BLUE, lw=LINE, marker="o" if k.size <= 60 else None, ms=4, label=name, gid="run"
        )
        each.plot(k, line, color=look.ink, lw=1.8, ls=(0, (1, 2)), label=bound, gid="bound")
        each.fill_between(k, values, line, color=BLUE, alpha=0.08, lw=0)
        each.set_xlim(0, k.size * 1.03)
        each.set_ylim(min(0.0, float(np.min(values)) * 1.05), None)
        each.grid(axis="y", color=look.grid, lw=0.8)
        titled(each, look, f"{name} is {side} the line", "update $k$", name)
        keyed(each, look)
    return ax
