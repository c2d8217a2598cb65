r"""
Convergence, update by update
=============================

The perceptron looks at one example at a time. If ``y (w·x + b) ≤ 0`` it adds the example to the
weights, and the line turns towards it (dashed before, solid after; the pink arrow is the change). The
ledger records every update, so that the run can be replayed afterwards. On separable data the
corrections end; here after a few.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import Perceptron
from rosenblatt.plots.boundary import points
from rosenblatt.plots.canvas import dress, titled
from rosenblatt.plots.geometry import box_around, line_in_box
from rosenblatt.plots.style import BLUE, LIGHT, LINE, ORANGE, TEXT, TINT, UPDATE, for_text

rng = np.random.default_rng(4)
X = rng.uniform([-1.4, -1.6], [2.6, 2.4], size=(60, 2))
side = X @ [0.5, 0.87] - 0.6
X, y = X[np.abs(side) > 0.35], np.sign(side[np.abs(side) > 0.35]).astype(int)

clf = Perceptron(hypothesis="last", shuffle=False, max_iter=50).fit(X, y)
print(f"{clf.n_mistakes_} mistakes, then a clean pass: {clf.converged_}")

ledger = clf.learner_.ledger
weights = ledger.weights_after(np.arange(clf.n_mistakes_ + 1), 1.0)[:, 0]  # (updates, bias and two weights)
shown = np.unique(np.linspace(1, clf.n_mistakes_, 6).astype(int))

figure, axes = plt.subplots(2, 3, figsize=(11.0, 7.4), layout="constrained", sharex=True, sharey=True)
box = box_around(np.vstack([X, X.min(axis=0) - 0.4, X.max(axis=0) + np.array([1.3, 0.2])]))
for ax, k in zip(axes.flat, shown, strict=False):
    dress(ax, LIGHT)
    b, *w = weights[k]
    entry = ledger.entries[k - 1]
    x, sign = X[entry["row"]], np.sign(entry["tau"])
    grid = np.stack(np.meshgrid(*(np.linspace(box.low[j], box.high[j], 200) for j in (0, 1))), -1)
    ax.contourf(
        *np.moveaxis(grid, -1, 0), grid @ w + b, levels=[-1e9, 0, 1e9], colors=[ORANGE, BLUE], alpha=TINT
    )
    for own, style, colour in ((weights[k - 1], (0, (4, 3)), LIGHT.faint), (weights[k], "-", LIGHT.ink)):
        line = line_in_box(own[1:], own[0], box) if own[1:].any() else None
        if line is not None:
            ax.plot(*line.T, ls=style, color=colour, lw=LINE)
    points(ax, X, y, clf.classes_, LIGHT)
    ax.scatter(*x, s=190, facecolors="none", edgecolors=LIGHT.ink, linewidths=2.2, zorder=5)
    step = 0.9 * sign * x / np.linalg.norm(x)
    ax.annotate(
        "", x + step, x, arrowprops={"arrowstyle": "-|>", "color": UPDATE, "lw": 2.4, "mutation_scale": 16}
    )
    ax.annotate(
        "+y x",
        x + step,
        tuple(18 * step),
        textcoords="offset points",
        ha="center",
        va="center",
        color=for_text(UPDATE, LIGHT),
        fontsize=TEXT,
        bbox={"facecolor": LIGHT.paper, "edgecolor": "none", "pad": 1, "alpha": 0.75},
    )
    titled(ax, LIGHT, f"update {k}: {'w += x' if sign > 0 else 'w −= x'}")
    ax.set_xlim(box.low[0], box.high[0])
    ax.set_ylim(box.low[1], box.high[1])
for ax in axes.flat[len(shown) :]:
    ax.set_visible(False)
plt.show()
