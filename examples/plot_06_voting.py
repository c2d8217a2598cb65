r"""
Voting
======

Every weight vector of the run votes on a new example, with as many votes as examples it survived. The
table shows the vectors with the longest survival, what each predicts for one point, and the result
of the vote.
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
