"""Feed-forward networks of step units: evaluation, signals of every unit, Graphviz output."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.networks.gate import Gate, every_input


class Unit(NamedTuple):
    """A gate and its sources: an input by its number from 0, unit k of the network as ``inputs + k``."""

    gate: Gate
    sources: tuple[int, ...]


class Network:
    """A feed-forward network of step units: each reads inputs and earlier units; the last one is the output.

    Parameters
    ----------
    inputs : int or sequence of str
        Number or names of the inputs.
    units : sequence of Unit
        Each after the units it reads.

    Notes
    -----
    **Guarantee.** :meth:`evaluate` is the composition of the gates, computed unit by unit.

    Examples
    --------
    >>> xor = Network.layered(2, [[Gate.NAND(), Gate.OR()], [Gate.AND()]])
    >>> xor.truth_table().tolist(), xor.depth
    ([0, 1, 1, 0], 2)
    """

    def __init__(self, inputs: int | Sequence[str], units: Sequence[Unit]) -> None:
        names = [f"x{j + 1}" for j in range(inputs)] if isinstance(inputs, int) else [str(n) for n in inputs]
        self.input_names = tuple(names)
        self.units = tuple(units)
        if not self.units:
            raise ValueError("a network needs at least one unit")
        for k, unit in enumerate(self.units):
            if len(unit.sources) != len(unit.gate.weights):
                raise ValueError(
                    f"unit {k} has {len(unit.gate.weights)} weights but reads {len(unit.sources)} signals"
                )
            if not all(0 <= source < self.inputs + k for source in unit.sources):
                raise ValueError(
                    f"unit {k} reads {unit.sources}: only sources 0 to {self.inputs + k - 1} precede it"
                )

    @classmethod
    def layered(cls, inputs: int | Sequence[str], layers: Sequence[Sequence[Gate]]) -> "Network":
        """Return a network in which every unit reads all units of the previous layer, or the inputs."""
        below = tuple(range(inputs if isinstance(inputs, int) else len(inputs)))
        units: list[Unit] = []
        after = len(below)
        for layer in layers:
            units += [Unit(gate, below) for gate in layer]
            below = tuple(range(after, after + len(layer)))
            after += len(layer)
        return cls(inputs, units)

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self.input_names)

    @property
    def layers(self) -> list[list[int]]:
        """Indices of the units by layer: a unit is one layer above the highest unit it reads."""
        level: list[int] = []
        for unit in self.units:
            below = [level[source - self.inputs] for source in unit.sources if source >= self.inputs]
            level.append(1 + max(below, default=-1))
        return [[k for k, own in enumerate(level) if own == each] for each in range(max(level) + 1)]

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.layers)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score ``w·inputs + b`` of every unit for every row, ``(rows, units)``."""
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.inputs:
            raise ValueError(f"this network has {self.inputs} inputs, X has shape {rows.shape}")
        signals = np.empty((rows.shape[0], self.inputs + len(self.units)))
        signals[:, : self.inputs] = rows
        scores = np.empty((rows.shape[0], len(self.units)))
        for k, unit in enumerate(self.units):
            scores[:, k] = unit.gate.scores(signals[:, unit.sources])
            signals[:, self.inputs + k] = scores[:, k] > 0.0
        return scores

    def signals(self, X: Any) -> NDArray[np.int64]:
        """Return the output of every unit for every row, ``(rows, units)`` of 0 and 1."""
        return (self.scores(X) > 0.0).astype(np.int64)

    def evaluate(self, X: Any) -> NDArray[np.int64]:
        """Return the output of the network, its last unit, for every row."""
        return self.signals(X)[:, -1]

    def truth_table(self) -> NDArray[np.int64]:
        """Return the outputs for 00…0, 00…1, …, 11…1."""
        return self.evaluate(every_input(self.inputs))

    def up_to(self, units: int) -> "Network":
        """Return the network of the first units only."""
        return Network(self.input_names, self.units[:units])

    def to_dot(self) -> str:
        """Return the network in the DOT language of Graphviz.

        >>> print(Network.layered(1, [[Gate.NOT()]]).to_dot())
        digraph network {
          rankdir=LR;
          i0 [shape=plaintext, label="x1"];
          u0 [shape=circle, label="NOT\\n0.5"];
          i0 -> u0 [label="-1"];
        }
        """
        lines = ["digraph network {", "  rankdir=LR;"]
        for j, name in enumerate(self.input_names):
            lines.append(f"  i{j} [shape=plaintext, label={_quote(name)}];")
        for k, unit in enumerate(self.units):
            shape = "doublecircle" if k == len(self.units) - 1 and k else "circle"
            label = _quote(unit.gate.name or f"unit {k + 1}")[:-1] + f'\\n{unit.gate.bias:.3g}"'
            lines.append(f"  u{k} [shape={shape}, label={label}];")
            for source, weight in zip(unit.sources, unit.gate.weights, strict=True):
                below = f"i{source}" if source < self.inputs else f"u{source - self.inputs}"
                lines.append(f'  {below} -> u{k} [label="{weight:.3g}"];')
        return "\n".join([*lines, "}"])


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
