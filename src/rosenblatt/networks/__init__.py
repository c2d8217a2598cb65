"""Networks of perceptrons: gates, networks of step units, and constructive learners with a guarantee."""

from rosenblatt.networks.backpropagation import Backpropagation
from rosenblatt.networks.gate import Gate
from rosenblatt.networks.network import Network, Unit
from rosenblatt.networks.tower import Tower
from rosenblatt.networks.upstart import Upstart

__all__ = ["Backpropagation", "Gate", "Network", "Tower", "Unit", "Upstart"]
