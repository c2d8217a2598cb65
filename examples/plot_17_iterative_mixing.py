r"""
Iterative mixing: the perceptron on shards
==========================================

A cluster cannot update one weight vector example by example. Instead, each shard runs a pass from shared
weights, and their changes are averaged, epoch after epoch (McDonald, Hall and Mann 2010). The number of
corrections, weighted like the average, stays below :math:`R^2/\gamma^2` for any number of shards. More
shards make more mistakes in the first epoch, because they do not know each other's updates; later the
averaged weights are stable. One shard gives the local learner, bit for bit. The same call runs on Dask
and Spark.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import Perceptron
from rosenblatt.engines import fit_local
from rosenblatt.plots.canvas import keyed, new_axes, titled
from rosenblatt.plots.style import BLUE, GREEN, ORANGE, PINK

rng = np.random.default_rng(11)
X = rng.normal(size=(4000, 20))
u = rng.normal(size=20)
side = X @ u / np.linalg.norm(u)
X, side = X[np.abs(side) > 0.1], side[np.abs(side) > 0.1]
y = np.where(side > 0, 1, -1)

ax, look = new_axes(None, "light", (8.2, 5.4))
for shards, colour, mark in ((1, BLUE, "o"), (2, GREEN, "^"), (4, ORANGE, "s"), (16, PINK, "D")):
    clf = fit_local(Perceptron(hypothesis="last", max_iter=60), X, y, shards=shards, threads=2)
    mistakes = clf.mixing_.mistakes.sum(axis=1)
    name = f"{shards} shard{'s' if shards > 1 else ''}: clean after {len(mistakes)} epochs"
    ax.plot(np.arange(1, len(mistakes) + 1), mistakes, mark + "-", color=colour, ms=6, lw=1.8, label=name)
    assert clf.converged_
    assert clf.mixing_.holds
ax.set_yscale("symlog", linthresh=1)
ax.set_ylim(-0.15, None)
ax.set_yticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
ax.grid(axis="y", color=look.grid, lw=0.8)
titled(ax, look, "The same promise for any number of shards", "epoch", "mistakes in the epoch")
keyed(ax, look, columns=2)
plt.show()
