"""The upstart algorithm: daughter units correct the false positives and false negatives of a unit."""

import numpy as np
from numpy.typing import NDArray

from rosenblatt.networks.building import (
    BuiltNetwork,
    UnitTraining,
    as_gate,
    train_unit,
    unit_errors,
    unit_outputs,
)
from rosenblatt.networks.inputs import highest_peak
from rosenblatt.networks.network import Network, Unit


class _Node:
    """A unit under construction: its weights on the inputs, and its daughters."""

    def __init__(self, weights: NDArray[np.float64], strength: float) -> None:
        self.weights, self.strength = weights, strength
        self.inhibitor: _Node | None = None
        self.exciter: _Node | None = None


class Upstart(BuiltNetwork):
    """A tree of perceptrons in which daughter units correct the errors of their parent, until there are none.

    **Update.** A unit is trained by the perceptron rule. One daughter is trained to be 1 on the false positives of the
    unit, and 0 on its true positives and false negatives; its weight on the unit is negative and larger than any score.
    Another corrects the false negatives with a positive weight. Daughters are constructed the same way.

    Parameters
    ----------
    max_units : int or None, default=None
        Largest number of units of a network; None: until there are no errors.
    max_iter : int, default=100
        Largest number of epochs for one unit.
    random_state : int, RandomState or None, default=0
        Seed of the shuffle.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn.
    networks_ : list of Network
        One for two classes (:attr:`network_`), else one per class against the rest; daughters precede parents.
    errors_ : list of ndarray
        Errors on the training data of the first unit alone and of the whole network.
    n_units_ : int
        Total number of units.
    converged_ : bool
        Whether no errors are left except those on equal rows with different labels.

    Notes
    -----
    **Guarantee.** A daughter makes fewer errors than its parent, so the construction ends without errors on any
    consistent finite data. Boolean inputs stay unchanged; others get the coordinate ``‖x‖²``, which makes every point a
    vertex of the convex hull.

    Examples
    --------
    >>> upstart = Upstart().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["even", "odd", "odd", "even"])
    >>> upstart.predict([[0, 0], [1, 0]]).tolist(), upstart.converged_
    (['even', 'odd'], True)

    References
    ----------
    M. Frean (1990), The upstart algorithm: a method for constructing and training feedforward neural networks.
    """

    def _build(
        self, Z: NDArray[np.float64], targets: NDArray[np.int64], names: list[str], training: UnitTraining
    ) -> tuple[Network, list[int]]:
        root = self._node(Z, targets, training)
        waiting, units = [(root, Z, targets)], 1
        while waiting:
            node, node_rows, node_targets = waiting.pop(0)
            outputs = unit_outputs(node.weights, node_rows)
            false_positive, false_negative = outputs > node_targets, outputs < node_targets
            # On true negatives a negative weight changes nothing, so the output of that daughter is free there.
            for role, errors, free in (
                ("inhibitor", false_positive, (outputs == 0) & ~false_negative),
                ("exciter", false_negative, (outputs == 1) & ~false_positive),
            ):
                if not errors.any() or (self.max_units is not None and units >= self.max_units):
                    continue
                rows, daughter_targets = node_rows[~free], errors[~free].astype(np.int64)
                daughter = self._node(rows, daughter_targets, training)
                if unit_errors(daughter.weights, rows, daughter_targets) >= int(errors.sum()):
                    continue  # floats cannot separate the examples
                setattr(node, role, daughter)
                waiting.append((daughter, rows, daughter_targets))
                units += 1
        network = Network(names, _units_of(root, Z.shape[1]))
        first = int((unit_outputs(root.weights, Z) != targets).sum())
        return network, [first, int((network.evaluate(Z) != targets).sum())]

    def _node(self, Z: NDArray[np.float64], targets: NDArray[np.int64], training: UnitTraining) -> _Node:
        """Return a unit with fewer errors than positive targets: trained, or 1 at a single positive row."""
        weights = train_unit(Z, targets, training)
        positive = np.flatnonzero(targets)
        if positive.size and unit_errors(weights, Z, targets) >= positive.size:
            peak = highest_peak(Z, positive, self.inputs_.lifted)
            weights = peak.weights.copy()
            weights[0] -= (peak.top + peak.second) / 2.0
        scores = Z @ weights[1:] + weights[0]
        return _Node(weights, 1.0 + 2.0 * float(np.abs(scores).max()))


def _units_of(root: _Node, width: int) -> list[Unit]:
    """Return the units of a tree, daughters before parents."""
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += [each for each in (node.inhibitor, node.exciter) if each is not None]
    order.reverse()
    number = {id(node): width + k for k, node in enumerate(order)}
    units = []
    for node in order:
        daughters = [(each, sign) for each, sign in ((node.inhibitor, -1.0), (node.exciter, 1.0)) if each]
        weights = np.concatenate([node.weights, [sign * node.strength for _, sign in daughters]])
        units.append(Unit(as_gate(weights), (*range(width), *(number[id(each)] for each, _ in daughters))))
    return units
