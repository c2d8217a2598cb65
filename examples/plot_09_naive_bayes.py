r"""
Naive Bayes weights that can be read
====================================

Naive Bayes on zeros and ones is a hyperplane whose weights are computed from counts. A word that is
present contributes :math:`p_i`, an absent word :math:`q_i`; the weight is :math:`p_i - q_i`. In base 2
the contributions are bits: +1 doubles the odds.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import BagOfWords, NaiveBayes
from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.style import BLUE, ORANGE, TEXT

mails = [
    ("budget meeting moved to friday", "important"),
    ("decision on the budget needed by friday", "important"),
    ("deadline for the report is friday", "important"),
    ("can we move the meeting", "important"),
    ("the report needs your decision", "important"),
    ("weekly digest fourteen new posts", "not"),
    ("your weekly offer is here", "not"),
    ("unsubscribe from the weekly digest", "not"),
    ("new offer unsubscribe here", "not"),
    ("the digest of new posts", "not"),
]
texts, y = zip(*mails, strict=True)
bag = BagOfWords().fit(texts)
clf = NaiveBayes().fit(bag.transform(texts), y)  # 'important' sorts first; the log odds are those of 'not'
odds = -clf.log_odds(base=2)  # now for 'important'
names = np.array(bag.get_feature_names_out())
weight = odds[:, 0] - odds[:, 1]
order = np.argsort(weight)
chosen = np.concatenate([order[:6], order[-6:]])

ax, look = new_axes(None, "light", (9.6, 6.2))
colours = np.where(weight[chosen] > 0, BLUE, ORANGE)
ax.barh(np.arange(12), weight[chosen], color=colours, height=0.62)
ax.set_yticks(np.arange(12), names[chosen], fontsize=TEXT)
ax.axvline(0, color=look.ink, lw=1)
for row, k in enumerate(chosen):
    aside = 0.06 * np.sign(weight[k])
    said = f"{odds[k, 0]:+.1f} there, {odds[k, 1]:+.1f} absent".replace("-", "−")
    ax.text(weight[k] + aside, row, said, va="center", ha="left" if aside > 0 else "right", fontsize=11)
ax.set_xlim(-6.7, 6.7)
titled(ax, look, "Bits for “important”", "weight  $w_i = p_i - q_i$, in bits")
plt.show()
