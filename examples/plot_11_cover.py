r"""
Cover's theorem: a perceptron holds two bits a weight
=====================================================

Label *n* points in general position at random. For *n* ≤ *d*, a hyperplane with *d* weights always
separates them; for *n* much larger than 2\ *d* almost never; for *n* = 2\ *d* in half of the cases
(Cover 1965). ``separability`` decides every trial exactly, so the curve does not depend on a learner
that may stop too early.
"""

from math import comb

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import separability
from rosenblatt.plots.canvas import keyed, new_axes, titled
from rosenblatt.plots.style import BLUE, GREEN, ORANGE
from rosenblatt.proofs import Separable

TRIALS = 24
rng = np.random.default_rng(0)


def share(n, d):
    """Measure how often random labels of n random points can be realised by d weights."""
    return np.mean(
        [
            isinstance(
                separability(
                    rng.normal(size=(n, d)), rng.permutation(np.arange(n)) % 2, False, touching=False
                ),
                Separable,
            )
            for _ in range(TRIALS)
        ]
    )


ax, look = new_axes(None, "light", (8.0, 5.4))
loads = np.linspace(1.0, 3.0, 7)
for d, colour, mark in ((5, ORANGE, "s"), (15, GREEN, "^"), (30, BLUE, "o")):
    sizes = np.unique(np.round(loads * d).astype(int))
    ax.plot(
        sizes / d,
        [share(n, d) for n in sizes],
        mark,
        color=colour,
        ms=7.5,
        label=f"{d} weights, {TRIALS} trials a dot",
    )
    every = range(d, 3 * d + 1)
    counted = [sum(comb(n - 1, k) for k in range(d)) / 2 ** (n - 1) for n in every]
    ax.plot(np.array(every) / d, counted, color=colour, lw=1.6)
ax.axvline(2, color=look.ink, lw=1.8, ls=(0, (1, 2)))
ax.text(2.03, 0.93, "capacity  $n = 2d$", fontsize=12, color=look.ink)
ax.grid(axis="y", color=look.grid, lw=0.8)
titled(
    ax, look, "Random labels that a hyperplane can realise", "examples per weight, $n/d$", "share of trials"
)
keyed(ax, look)
plt.show()
