r"""
A feature map
=============

No line separates a disc from the ring around it. In the squares of the coordinates the circle *is* a
line, and the perceptron finds it. ``separability`` proves both statements.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import FeatureMap, plots, separability
from rosenblatt.data import read_all

circles = read_all("sample:circles")
X, y = circles.X, circles.y
squares = FeatureMap(np.square).fit(X)
print("as they are: ", type(separability(X, y)).__name__)
print("squared:     ", type(separability(squares.transform(X), y)).__name__)

plots.feature_map(X, y, squares)
plt.show()
