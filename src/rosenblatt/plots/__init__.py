"""Plots: each function draws on given or new axes and returns them. matplotlib is imported on use."""

from rosenblatt.plots.boundary import boundary
from rosenblatt.plots.convergence import convergence
from rosenblatt.plots.criterion import criterion
from rosenblatt.plots.curves import losses, sigmoid
from rosenblatt.plots.feature_map import feature_map
from rosenblatt.plots.ledger import ledger
from rosenblatt.plots.lemmas import lemmas
from rosenblatt.plots.votes import votes

__all__ = [
    "boundary",
    "convergence",
    "criterion",
    "feature_map",
    "ledger",
    "lemmas",
    "losses",
    "sigmoid",
    "votes",
]
