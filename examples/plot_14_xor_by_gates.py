r"""
XOR by gates
============

No single perceptron computes XOR: ``Gate.learned`` refuses to learn it, with a proof. Three gates
compute it: NAND and OR each cut off one corner, and AND keeps the strip between them.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import Gate, Network
from rosenblatt.plots.boundary import points
from rosenblatt.plots.canvas import dress, titled
from rosenblatt.plots.style import BLUE, LIGHT, LINE, ORANGE, TINT

try:
    Gate.learned([0, 1, 1, 0])
except ValueError as refusal:
    print(refusal)

gates = [Gate.NAND(), Gate.OR(), Gate.AND()]
xor = Network.layered(2, [gates[:2], gates[2:]])
print("truth table:", xor.truth_table())

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
said = xor.signals(X)
axis = np.linspace(-0.4, 1.4, 300)
grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
fields = xor.signals(grid)

figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.9), layout="constrained", sharey=True)
names = ["NAND", "OR", "AND of both: XOR"]
for k, ax in enumerate(axes):
    dress(ax, LIGHT)
    field = fields[:, k].reshape(300, 300)
    ax.contourf(axis, axis, field, levels=[-0.5, 0.5, 1.5], colors=[ORANGE, BLUE], alpha=TINT * 2)
    ax.contour(axis, axis, field, levels=[0.5], colors=[LIGHT.ink], linewidths=LINE)
    points(ax, X, said[:, k], np.array([0, 1]), LIGHT)
    ax.collections[-1].set_sizes([140])
    ax.collections[-2].set_sizes([140])
    for x, bit in zip(X, said[:, k], strict=True):
        ax.annotate(str(bit), x, xytext=(9, 9), textcoords="offset points", fontsize=14)
    ax.set_aspect("equal")
    titled(ax, LIGHT, names[k], "$x_1$", "$x_2$" if k == 0 else "")
    ax.set_xticks([0, 1])
    ax.set_yticks([0, 1])
plt.show()
