r"""
A linear program by correcting mistakes
=======================================

``A w ≥ 1`` asks for a point that satisfies every row. If each row is read as a positive example, the
perceptron solves it; ``solve_cone`` also proves the answer exactly. The example computes amounts of two
foods with enough of every nutrient and not too much sugar. The plot shows the cone of all solutions,
with the last column, which is constant, fixed.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import solve_cone
from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.style import GREEN, LINE, MISTAKE, TEXT, for_text

# 3a + b ≥ 6 of protein, a + 2b ≥ 6 of fibre, … , 2a + b ≤ 14 of sugar; the third column is the scale
rows = {
    "protein": (3, 1, -6),
    "fibre": (1, 2, -6),
    "iron": (1, 1, -4),
    "sugar": (-2, -1, 14),
    "fat": (-1, -3, 21),
    "scale": (0, 0, 1),
}
A = np.array(list(rows.values()), dtype=float)
answer = solve_cone(A)
print(answer)
assert answer.verify(A)
a, b, scale = (float(value) for value in answer.hyperplanes[0])
a, b = a / scale, b / scale

refused = solve_cone(np.vstack([A, [-1, -1, 3]]))  # at most three in all, though iron wants four
print(refused)

ax, look = new_axes(None, "light")
grid = np.stack(np.meshgrid(np.linspace(0, 9, 500), np.linspace(0, 9, 500)), -1)
inside = np.all([grid @ row[:2] + row[2] > 0 for row in A[:5]], axis=0)
ax.contourf(grid[..., 0], grid[..., 1], inside, levels=[0.5, 1.5], colors=[GREEN], alpha=0.18)
at = {
    "protein": (0.5, 4.85),
    "fibre": (4.75, 0.75),
    "sugar": (5.35, 3.6),
    "fat": (5.2, 5.5),
}
for name, (p, q, r) in list(rows.items())[:5]:
    line = np.linspace(-1, 10, 2)
    ax.plot(line, (-r - p * line) / q, color=look.ink, lw=LINE - 0.6)
    if name in at:
        ax.text(*at[name], name, fontsize=TEXT, color=look.ink)
ax.annotate(
    "iron", (3.2, 0.8), (4.0, 1.55), fontsize=TEXT, arrowprops={"arrowstyle": "-", "color": look.faint}
)
ax.plot([0, 5], [3, -2], color=MISTAKE, lw=LINE, ls=(0, (4, 3)))
ax.text(
    4.5,
    7.3,
    "with the dashed row as well:\ninfeasible, and proved",
    color=for_text(MISTAKE, look),
    fontsize=TEXT,
)
ax.plot(a, b, "*", ms=18, color=GREEN, mec=look.ink)
ax.annotate("what solve_cone\nreturned", (a, b), (6, 14), textcoords="offset points", fontsize=TEXT)
ax.set_xlim(0, 9)
ax.set_ylim(0, 9)
ax.set_aspect("equal")
titled(ax, look, "A w ≥ 1, solved and proved", "first food", "second food")
plt.show()
