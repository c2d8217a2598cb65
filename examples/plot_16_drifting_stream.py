r"""
A drifting stream
=================

The label that a reader would give changes over time. A plain average gives old examples as much weight
as new ones; with ``forget=`` the average has a half-life and follows the change. Every prediction is
made before its label is used.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import OnlineLearner
from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.style import BLUE, ORANGE, TEXT, for_text

rng = np.random.default_rng(7)
topics = np.array(["budget", "football", "travel", "release", "music", "weather", "garden", "politics"])
taste = rng.normal(0, 1, topics.size)
learners = {"forget=300": OnlineLearner(forget=300), "all alike": OnlineLearner()}
right = {name: [] for name in learners}
for t in range(6000):
    if t % 2000 == 0 and t:
        taste = rng.normal(0, 1, topics.size)
    counts = rng.poisson(0.7, topics.size)
    example = {str(topic): float(count) for topic, count in zip(topics, counts, strict=True) if count}
    label = "read" if counts @ taste + 0.4 * rng.normal() > 0 else "skip"
    for name, learner in learners.items():
        right[name].append(learner.predict_one(example) == label)
        learner.learn_one(example, label)

ax, look = new_axes(None, "light", (8.4, 5.0))
window = np.ones(200) / 200
for name, colour in (("forget=300", BLUE), ("all alike", ORANGE)):
    curve = np.convolve(right[name], window, mode="valid")
    ax.plot(np.arange(curve.size) + 200, curve, color=colour, lw=2)
    ax.text(6060, curve[-200:].mean(), name, color=for_text(colour, look), fontsize=TEXT, va="center")
for change in (2000, 4000):
    ax.axvline(change, color=look.faint, lw=1.2, ls=(0, (4, 3)))
    ax.text(change + 40, 0.31, "taste changes", fontsize=TEXT - 0.5, color=look.faint)
ax.set_xlim(0, 7300)
ax.set_ylim(0.29, 1.0)
ax.grid(axis="y", color=look.grid, lw=0.8)
titled(ax, look, "Following a taste that changes", "examples seen", "right, over the last 200")
plt.show()
