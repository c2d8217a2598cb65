r"""
Margin and bound
================

The smaller the margin between the classes, the more mistakes are possible: at most
:math:`R^2/\gamma^2`. Each dot is one run, and each column of dots shows the same data in twelve
orders. All runs stay below the bound, most of them far below, because it holds for the worst order of
the worst data.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter

from rosenblatt import MaxMargin, Perceptron
from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.style import MISTAKE, TEXT, for_text

ORDERS = 12
rng = np.random.default_rng(1)
gammas, bounds, mistakes = [], [], []
for gap in np.geomspace(0.01, 0.5, 14):
    X = rng.uniform(-1, 1, size=(300, 2))
    side = X @ [0.6, 0.8]
    X = X + np.sign(side)[:, None] * gap * np.array([0.6, 0.8])  # push the classes apart
    y = np.sign(side)
    runs = [Perceptron(hypothesis="last", max_iter=2000, random_state=k).fit(X, y) for k in range(ORDERS)]
    margin = MaxMargin().fit(X, y).margin_
    gammas.append(margin)
    bounds.append((runs[0].radius_ / margin) ** 2)
    mistakes.append([clf.n_mistakes_ for clf in runs])
assert all(max(made) <= bound for made, bound in zip(mistakes, bounds, strict=True))

ax, look = new_axes(None, "light")
ax.loglog(gammas, bounds, color=look.ink, ls=(0, (1, 2)), lw=2)
ax.loglog(gammas, mistakes, "o", color=MISTAKE, ms=5, alpha=0.7)
ax.text(gammas[4], bounds[4] * 1.25, "the bound  $R^2/\\gamma^2$", color=look.ink, fontsize=TEXT)
ax.text(0.042, 48, "mistakes made", color=for_text(MISTAKE, look), fontsize=TEXT)
ax.grid(color=look.grid, lw=0.8)
ax.xaxis.set_minor_formatter(NullFormatter())
titled(
    ax,
    look,
    "Fourteen margins, twelve orders, none above the bound",
    "largest margin $\\gamma$ of the data",
    "mistakes",
)
plt.show()
