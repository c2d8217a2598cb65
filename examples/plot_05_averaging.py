r"""
Averaging against the last weights, on noisy text
=================================================

On data with wrong labels, the last weights depend much on the last few mistakes. The mean of all
weights of the run varies less. Both come from the same run: ``clf.use("last")`` does not train again.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import BagOfWords, Perceptron
from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.style import BLUE, MISTAKE, TEXT, for_text

rng = np.random.default_rng(5)
words = np.array([f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"])
lean = rng.normal(0, 0.9, words.size)  # how much a word speaks for one class


def mails(n):
    """Write n mails of thirty words; one label in eight is wrong."""
    y = rng.integers(0, 2, n)
    odds = np.exp(np.outer(2 * y - 1, lean) * 0.35)
    odds /= odds.sum(axis=1, keepdims=True)
    texts = [" ".join(rng.choice(words, 30, p=p)) for p in odds]
    return texts, y, np.where(rng.random(n) < 1 / 8, 1 - y, y)


train, _, noisy = mails(1500)
test, truth, _ = mails(1500)
bag = BagOfWords().fit(train)
X, T = bag.transform(train), bag.transform(test)

clf = Perceptron()
curves = {"last": [], "averaged": []}
seen = np.linspace(50, len(train), 40).astype(int)
for low, high in zip([0, *seen[:-1]], seen, strict=True):
    clf.partial_fit(X[low:high], noisy[low:high], classes=[0, 1])
    for name, curve in curves.items():
        curve.append(clf.use(name).score(T, truth))

ax, look = new_axes(None, "light", (8.0, 5.0))
for name, colour in (("averaged", BLUE), ("last", MISTAKE)):
    ax.plot(seen, curves[name], color=colour, lw=2.4 if name == "averaged" else 1.6)
    ax.text(
        seen[-1] + 15,
        np.mean(curves[name][-6:]),
        name,
        color=for_text(colour, look),
        fontsize=TEXT,
        va="center",
    )
ax.set_xlim(0, 1.14 * seen[-1])
ax.grid(axis="y", color=look.grid, lw=0.8)
titled(ax, look, "One run, two hypotheses", "mails seen, one label in eight wrong", "right on clean mails")
plt.show()
