r"""
Parity by upstart
=================

Parity asks whether the number of ones is odd. Every input matters in every case, which makes parity the
hardest Boolean function for perceptrons. The upstart starts with one unit and adds daughter units that
inhibit it where it is wrongly on and excite it where it is wrongly off. On any consistent data it ends
without errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import Perceptron, Upstart
from rosenblatt.networks.gate import every_input
from rosenblatt.plots.canvas import keyed, new_axes, titled
from rosenblatt.plots.style import BLUE, MISTAKE, TEXT

bits = np.arange(2, 8)
single, grown, units = [], [], []
for n in bits:
    X = every_input(int(n))
    y = X.sum(axis=1).astype(int) % 2
    single.append(1 - Perceptron(hypothesis="pocket", max_iter=30).fit(X, y).score(X, y))
    upstart = Upstart().fit(X, y)
    grown.append(1 - upstart.score(X, y))
    units.append(upstart.n_units_)
assert max(grown) == 0.0

ax, look = new_axes(None, "light", (8.0, 5.2))
ax.bar(bits - 0.28, np.array(single) * 100, width=0.3, color=MISTAKE, label="one perceptron (pocket)")
ax.bar(bits + 0.2, np.maximum(grown, 0.004) * 100, width=0.5, color=BLUE, label="upstart")
for n, count in zip(bits, units, strict=True):
    ax.text(n + 0.2, 1.6, f"0 with\n{count} units", ha="center", fontsize=TEXT - 1.5, color=look.ink)
ax.set_xticks(bits)
ax.set_ylim(0, 58)
titled(ax, look, "Parity of all inputs", "bits", "wrong rows of the truth table, %")
keyed(ax, look)
plt.show()
