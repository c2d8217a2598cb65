r"""
Voting
======

Every weight vector that the run has held votes on a new example, with as many votes as examples it
survived. The table shows the longest-lived ones, what each says about one point, and how the vote
ends.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import Perceptron, plots

rng = np.random.default_rng(8)
X = np.vstack([rng.normal([1.0, 0.6], 0.9, (120, 2)), rng.normal([-0.8, -0.7], 0.9, (120, 2))])
y = np.repeat(["important", "not"], 120)

clf = Perceptron(hypothesis="voted", max_iter=1).fit(X, y)
doubtful = X[np.argmin(np.abs(clf.use("averaged").decision_function(X)))]
print("the vote:", clf.predict([doubtful])[0])

plots.votes(clf, doubtful)
plt.show()
