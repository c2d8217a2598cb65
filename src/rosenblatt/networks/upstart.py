"""The upstart: daughters that silence a unit where it is wrongly on, and wake it where it is wrongly off."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.networks.building import BuiltNetwork, UnitTraining, as_gate, errors_of, fires, trained_unit
from rosenblatt.networks.inputs import highest_peak
from rosenblatt.networks.network import Network, Unit


class _Node:
    """A unit being built: its weights on the inputs, and its daughters."""

    def __init__(self, weights: NDArray[np.float64], output_weight: float) -> None:
        self.weights, self.output_weight = weights, output_weight
        self.silencer: _Node | None = None
        self.waker: _Node | None = None


class Upstart(BuiltNetwork):
    """A tree of perceptrons in which daughters correct the errors of their mother, until there are none.

    **Update.** A unit is trained by the perceptron rule. Where it is wrongly on, a daughter that fires there, and not
    where the unit is rightly on or wrongly off, silences it through a weight larger than any score; where it is
    wrongly off, another wakes it. Daughters are built the same way.

    Parameters
    ----------
    max_units : int or None, default=None
        The most units of a network; None goes on until there are no errors.
    max_iter : int, default=100
        The most passes with which one unit is trained.
    random_state : int, RandomState or None, default=0
        Seed of the shuffle.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn.
    networks_ : list of Network
        One for two classes (:attr:`network_`), else one for each class, against the rest; daughters come first.
    errors_ : list of ndarray
        Errors on the training data of the first unit alone and of the whole network.
    n_units_ : int
        Units in all.
    converged_ : bool
        Whether no error is left but those on equal rows with different labels.

    Notes
    -----
    **Guarantee.** A daughter errs on fewer examples than her mother, so the tree ends, without an error, on any
    consistent finite data. Boolean inputs are read as they are; others get the coordinate ``‖x‖²``, which makes every
    point a corner.

    Examples
    --------
    >>> upstart = Upstart().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["even", "odd", "odd", "even"])
    >>> upstart.predict([[0, 0], [1, 0]]).tolist(), upstart.converged_
    (['even', 'odd'], True)

    References
    ----------
    M. Frean (1990), The upstart algorithm: a method for constructing and training feedforward neural networks.
    """

    def __init__(self, *, max_units: int | None = None, max_iter: int = 100, random_state: Any = 0) -> None:
        self.max_units = max_units
        self.max_iter = max_iter
        self.random_state = random_state

    def _build(
        self, Z: NDArray[np.float64], targets: NDArray[np.int64], names: list[str], options: UnitTraining
    ) -> tuple[Network, list[int]]:
        root = self._node(Z, targets, options)
        waiting, units = [(root, Z, targets)], 1
        while waiting:
            node, own, target = waiting.pop(0)
            outputs = fires(node.weights, own)
            wrongly_on, wrongly_off = outputs > target, outputs < target
            # Where it is rightly off, the output of the silencer does not matter: it cannot be silenced further.
            for role, wrong, free in (
                ("silencer", wrongly_on, (outputs == 0) & ~wrongly_off),
                ("waker", wrongly_off, (outputs == 1) & ~wrongly_on),
            ):
                if not wrong.any() or (self.max_units is not None and units >= self.max_units):
                    continue
                rows, goal = own[~free], wrong[~free].astype(np.int64)
                daughter = self._node(rows, goal, options)
                if errors_of(daughter.weights, rows, goal) >= int(wrong.sum()):
                    continue  # the examples are nearer to each other than floats can tell
                setattr(node, role, daughter)
                waiting.append((daughter, rows, goal))
                units += 1
        network = Network(names, _listed(root, Z.shape[1]))
        first = int((fires(root.weights, Z) != targets).sum())
        return network, [first, int((network.evaluate(Z) != targets).sum())]

    def _node(self, Z: NDArray[np.float64], targets: NDArray[np.int64], options: UnitTraining) -> _Node:
        """Return a unit that errs on fewer rows than have the target 1: by training, or by firing at one of them."""
        weights = trained_unit(Z, targets, options)
        on = np.flatnonzero(targets)
        if on.size and errors_of(weights, Z, targets) >= on.size:
            peak = highest_peak(Z, on, self.inputs_.lifted)
            weights = peak.weights.copy()
            weights[0] -= (peak.top + peak.second) / 2.0
        scores = Z @ weights[1:] + weights[0]
        return _Node(weights, 1.0 + 2.0 * float(np.abs(scores).max()))


def _listed(root: _Node, width: int) -> list[Unit]:
    """Put a tree into a list, daughters before mothers."""
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += [each for each in (node.silencer, node.waker) if each is not None]
    order.reverse()
    number = {id(node): width + k for k, node in enumerate(order)}
    units = []
    for node in order:
        daughters = [(each, sign) for each, sign in ((node.silencer, -1.0), (node.waker, 1.0)) if each]
        weights = np.concatenate([node.weights, [sign * node.output_weight for _, sign in daughters]])
        units.append(Unit(as_gate(weights), (*range(width), *(number[id(each)] for each, _ in daughters))))
    return units
