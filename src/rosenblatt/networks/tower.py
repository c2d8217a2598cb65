"""The tower: each new unit reads the inputs and the unit below, and errs less than it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.networks.building import BuiltNetwork, UnitTraining, as_gate, errors_of, fires, trained_unit
from rosenblatt.networks.inputs import highest_peak
from rosenblatt.networks.network import Network, Unit


class Tower(BuiltNetwork):
    """A tower of perceptrons, built until it makes no error on the training data.

    **Update.** The first unit is a perceptron on the inputs. Each further unit reads the inputs and the output ``h`` of
    the unit below; it is trained by the perceptron rule, and where that does not err less than the unit below, it
    becomes ``(2h − 1)·B`` plus a function that overrules B at a single misclassified example.

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
        One for two classes (:attr:`network_`), else one for each class, against the rest.
    errors_ : list of ndarray
        Errors on the training data after each unit of each network.
    n_units_ : int
        Units in all.
    converged_ : bool
        Whether no error is left but those on equal rows with different labels.

    Notes
    -----
    **Guarantee.** Every unit errs on fewer training examples than the one below, so the tower ends, without an error,
    on any consistent finite data. Boolean inputs are read as they are; others get the coordinate ``‖x‖²``, which makes
    every point a corner.

    Examples
    --------
    >>> tower = Tower().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["even", "odd", "odd", "even"])
    >>> tower.predict([[0, 0], [1, 0]]).tolist(), tower.converged_
    (['even', 'odd'], True)

    References
    ----------
    S. Gallant (1990), Perceptron-based learning algorithms, section V (the tower algorithm).
    """

    def __init__(self, *, max_units: int | None = None, max_iter: int = 100, random_state: Any = 0) -> None:
        self.max_units = max_units
        self.max_iter = max_iter
        self.random_state = random_state

    def _build(
        self, Z: NDArray[np.float64], targets: NDArray[np.int64], names: list[str], options: UnitTraining
    ) -> tuple[Network, list[int]]:
        width = Z.shape[1]
        weights = trained_unit(Z, targets, options)
        outputs = fires(weights, Z)
        units, errors = [Unit(as_gate(weights), tuple(range(width)))], [int((outputs != targets).sum())]
        while errors[-1] and (self.max_units is None or len(units) < self.max_units):
            inputs = np.column_stack([Z, outputs])
            weights = trained_unit(inputs, targets, options)
            if errors_of(weights, inputs, targets) >= errors[-1]:
                weights = self._overruling(Z, targets, outputs)
            now = fires(weights, inputs)
            n_errors = int((now != targets).sum())
            if n_errors >= errors[-1]:  # the examples are nearer to each other than floats can tell
                break
            units.append(Unit(as_gate(weights), (*range(width), width + len(units) - 1)))
            errors.append(n_errors)
            outputs = now
        return Network(names, units), errors

    def _overruling(
        self, Z: NDArray[np.float64], targets: NDArray[np.int64], outputs: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return a unit that repeats the output of the one below, except for one example that it misclassifies."""
        peak = highest_peak(Z, np.flatnonzero(outputs != targets), self.inputs_.lifted)
        centre, half_range = (peak.second + peak.low) / 2.0, (peak.second - peak.low) / 2.0
        weight = (
            half_range + peak.top - centre
        ) / 2.0  # B: above the scores of the others, below that of the peak
        sign = 1.0 if targets[peak.row] else -1.0
        own = sign * peak.weights
        own[0] -= sign * centre + weight
        return np.append(own, 2.0 * weight)
