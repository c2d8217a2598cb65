"""The tower algorithm: each new unit reads the inputs and the previous unit, and makes fewer errors."""

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


class Tower(BuiltNetwork):
    """A tower of perceptrons, extended until it makes no error on the training data.

    **Update.** The first unit is a perceptron on the inputs. Each further unit reads the inputs and the output ``h`` of
    the unit below and is trained by the perceptron rule. If that does not make fewer errors than the unit below, the
    unit becomes ``(2h − 1)·B`` plus a linear function that exceeds B at one misclassified example only.

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
        One for two classes (:attr:`network_`), else one per class against the rest.
    errors_ : list of ndarray
        Errors on the training data after each unit of each network.
    n_units_ : int
        Total number of units.
    converged_ : bool
        Whether no errors are left except those on equal rows with different labels.

    Notes
    -----
    **Guarantee.** Every unit makes fewer errors on the training examples than the one below, so the construction ends
    without errors on any consistent finite data. Boolean inputs stay unchanged; others get the coordinate ``‖x‖²``,
    which makes every point a vertex of the convex hull.

    Examples
    --------
    >>> tower = Tower().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["even", "odd", "odd", "even"])
    >>> tower.predict([[0, 0], [1, 0]]).tolist(), tower.converged_
    (['even', 'odd'], True)

    References
    ----------
    S. Gallant (1990), Perceptron-based learning algorithms, section V (the tower algorithm).
    """

    def _build(
        self, Z: NDArray[np.float64], targets: NDArray[np.int64], names: list[str], training: UnitTraining
    ) -> tuple[Network, list[int]]:
        width = Z.shape[1]
        weights = train_unit(Z, targets, training)
        outputs = unit_outputs(weights, Z)
        units, errors = [Unit(as_gate(weights), tuple(range(width)))], [int((outputs != targets).sum())]
        while errors[-1] and (self.max_units is None or len(units) < self.max_units):
            sources = np.column_stack([Z, outputs])
            weights = train_unit(sources, targets, training)
            if unit_errors(weights, sources, targets) >= errors[-1]:
                weights = self._overruling_unit(Z, targets, outputs)
            new_outputs = unit_outputs(weights, sources)
            new_errors = int((new_outputs != targets).sum())
            if new_errors >= errors[-1]:  # floats cannot separate the examples
                break
            units.append(Unit(as_gate(weights), (*range(width), width + len(units) - 1)))
            errors.append(new_errors)
            outputs = new_outputs
        return Network(names, units), errors

    def _overruling_unit(
        self, Z: NDArray[np.float64], targets: NDArray[np.int64], outputs: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return a unit that repeats the output of the one below, except at one misclassified example."""
        peak = highest_peak(Z, np.flatnonzero(outputs != targets), self.inputs_.lifted)
        centre, reach = (peak.second + peak.low) / 2.0, (peak.second - peak.low) / 2.0
        strength = (reach + peak.top - centre) / 2.0  # B: above all other values, below that of the peak
        sign = 1.0 if targets[peak.row] else -1.0
        weights = sign * peak.weights
        weights[0] -= sign * centre + strength
        return np.append(weights, 2.0 * strength)
