r"""
Finding a wrong label with a certificate
========================================

Two hundred rows, one of them with a wrong label. ``separability`` answers that no hyperplane separates
the classes, and names a few rows that contradict each other, with weights: their weighted mean in one
class equals *exactly* their weighted mean in the other. Overlapping classes give such rows too; here
the wrong label is among them, because without it the data are separable.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import separability
from rosenblatt.plots.boundary import points
from rosenblatt.plots.canvas import keyed, new_axes, titled
from rosenblatt.plots.style import LIGHT, MISTAKE, TEXT, for_text

rng = np.random.default_rng(2)
X = np.round(rng.uniform(-1, 1, size=(230, 2)), 2)
X = X[np.abs(X @ [0.7, 0.7] - 0.1) > 0.12]
y = np.where(X @ [0.7, 0.7] > 0.1, 1, -1)
wrong = int(np.argmin(np.abs(X - [0.45, 0.55]).sum(axis=1)))
y[wrong] = -y[wrong]

proof = separability(X, y)
print(proof)
assert proof.verify(X, y)
assert wrong in proof.culprits

ax, look = new_axes(None, "light")
points(ax, X, y, np.array([-1, 1]), LIGHT)
culprits = list(proof.culprits)
ax.scatter(
    *X[culprits].T,
    s=200,
    facecolors="none",
    edgecolors=MISTAKE,
    linewidths=2.4,
    label="culprits, with their weight",
    zorder=4,
)
for row, weight in zip(culprits, proof.weights, strict=True):
    ax.annotate(
        f"{float(weight):.2g}",
        X[row],
        xytext=(10, 8),
        textcoords="offset points",
        color=for_text(MISTAKE, look),
        fontsize=TEXT,
        fontweight="bold",
        zorder=6,
        bbox={"facecolor": look.paper, "edgecolor": "none", "pad": 1, "alpha": 0.85},
    )
positive = [row for row in culprits if y[row] > 0]
share = np.array([float(w) for row, w in zip(culprits, proof.weights, strict=True) if y[row] > 0])
meeting = share @ X[positive] / share.sum()
for row in culprits:
    ax.plot(*np.array([X[row], meeting]).T, color=MISTAKE, lw=1.3, zorder=2)
ax.plot(*meeting, "X", color=MISTAKE, ms=12, mec=look.paper, label="where both means meet", zorder=5)
ax.set_aspect("equal")
titled(ax, look, f"{len(culprits)} of {len(X)} rows prove that no line parts the classes", "$x_1$", "$x_2$")
keyed(ax, look, columns=2)
plt.show()
