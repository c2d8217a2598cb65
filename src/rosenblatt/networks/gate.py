"""A step unit as a logic gate: AND, OR, NOT and NAND are perceptrons, XOR is not."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Gate(NamedTuple):
    """A perceptron on inputs of 0 and 1: its output is 1 where ``w·x + b > 0``.

    Parameters
    ----------
    weights : tuple of float
        One for each input.
    bias : float
    name : str
        Label in drawings.

    Notes
    -----
    **Guarantee.** :meth:`learned` returns a gate with the given truth table, or raises a ValueError with the proof that
    no single unit has it.

    Examples
    --------
    >>> Gate.AND().evaluate([[0, 0], [0, 1], [1, 0], [1, 1]])
    array([0, 0, 0, 1])
    >>> Gate.learned([1, 1, 1, 0], name="NAND").truth_table().tolist()
    [1, 1, 1, 0]
    >>> Gate.learned([0, 1, 1, 0])
    Traceback (most recent call last):
    ValueError: no single unit has this truth table. Inseparable. ...

    References
    ----------
    W. McCulloch and W. Pitts (1943). M. Minsky and S. Papert (1969), Perceptrons.
    """

    weights: tuple[float, ...]
    bias: float
    name: str = ""

    @classmethod
    def AND(cls, inputs: int = 2) -> "Gate":
        """Return a gate whose output is 1 if all inputs are."""
        return cls((1.0,) * inputs, 0.5 - inputs, "AND")

    @classmethod
    def OR(cls, inputs: int = 2) -> "Gate":
        """Return a gate whose output is 1 if any input is."""
        return cls((1.0,) * inputs, -0.5, "OR")

    @classmethod
    def NAND(cls, inputs: int = 2) -> "Gate":
        """Return a gate whose output is 0 only if all inputs are 1."""
        return cls((-1.0,) * inputs, inputs - 0.5, "NAND")

    @classmethod
    def NOR(cls, inputs: int = 2) -> "Gate":
        """Return a gate whose output is 1 if no input is."""
        return cls((-1.0,) * inputs, 0.5, "NOR")

    @classmethod
    def NOT(cls) -> "Gate":
        """Return a gate of one input whose output is 1 if the input is 0."""
        return cls((-1.0,), 0.5, "NOT")

    @classmethod
    def learned(cls, targets: Any, name: str = "", max_iter: int = 10_000) -> "Gate":
        """Learn a gate from its truth table with the perceptron rule.

        Parameters
        ----------
        targets : sequence of 2, 4, 8 … zeros and ones
            The outputs for 00…0, 00…1, …, 11…1.
        name : str
            Label in drawings.
        max_iter : int
            Largest number of epochs.
        """
        from rosenblatt.learner import Learner
        from rosenblatt.proofs import Separable, separability

        outputs = np.asarray(targets).astype(int)
        inputs = outputs.size.bit_length() - 1
        if outputs.size != 1 << inputs or inputs < 1 or not np.isin(outputs, (0, 1)).all():
            raise ValueError(f"a truth table has 2, 4, 8 … outputs, each 0 or 1, got {list(targets)!r}")
        rows = every_input(inputs)
        if (outputs == outputs[0]).all():
            return cls((0.0,) * inputs, 1.0 if outputs[0] else -1.0, name)
        proof = separability(rows, outputs)
        if not isinstance(proof, Separable):
            raise ValueError(f"no single unit has this truth table. {proof}")  # noqa: TRY004
        learner = Learner()
        learner.train(rows, outputs, max_iter=max_iter, shuffle=False)
        if not learner.converged:
            raise ValueError(f"no epoch without a mistake within {max_iter} epochs: increase max_iter")
        w = learner.weights("last")[0]
        return cls(tuple(w[1:].tolist()), float(w[0]), name)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return ``w·x + b`` for every row."""
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.weights):
            raise ValueError(f"this gate has {len(self.weights)} input(s), X has shape {rows.shape}")
        return np.asarray(rows @ np.array(self.weights) + self.bias)

    def evaluate(self, X: Any) -> NDArray[np.int64]:
        """Return the output, 0 or 1, for every row."""
        return (self.scores(X) > 0.0).astype(np.int64)

    def truth_table(self) -> NDArray[np.int64]:
        """Return the outputs for 00…0, 00…1, …, 11…1."""
        return self.evaluate(every_input(len(self.weights)))


def every_input(inputs: int) -> NDArray[np.float64]:
    """Return the input rows of a truth table, in binary order.

    >>> every_input(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    return np.array(list(product((0.0, 1.0), repeat=inputs)))
