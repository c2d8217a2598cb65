"""Layers of step units: evaluate them, look at every unit, draw the wiring."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.networks.gate import Gate, every_input


class Unit(NamedTuple):
    """A gate and what it reads: inputs are numbered from 0, unit k of the network is number ``inputs + k``."""

    gate: Gate
    sources: tuple[int, ...]


class Network:
    """Step units wired forwards: each reads inputs and units before it; the last one is the output.

    Parameters
    ----------
    inputs : int or names of the inputs
    units : the units, each after those it reads

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
        named = [f"x{j + 1}" for j in range(inputs)] if isinstance(inputs, int) else [str(n) for n in inputs]
        self.input_names = tuple(named)
        self.units = tuple(units)
        if not self.units:
            raise ValueError("a network needs a unit")
        for k, unit in enumerate(self.units):
            if len(unit.sources) != len(unit.gate.weights):
                raise ValueError(
                    f"unit {k} has {len(unit.gate.weights)} weights but reads {len(unit.sources)} signals"
                )
            if not all(0 <= source < self.inputs + k for source in unit.sources):
                raise ValueError(
                    f"unit {k} reads {unit.sources}: only signals 0 to {self.inputs + k - 1} come before it"
                )

    @classmethod
    def layered(cls, inputs: int | Sequence[str], layers: Sequence[Sequence[Gate]]) -> "Network":
        """Wire every unit of a layer to all of the layer before; the first layer to the inputs."""
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
        """How many inputs there are."""
        return len(self.input_names)

    @property
    def layers(self) -> list[list[int]]:
        """The numbers of the units, layer by layer: a unit is one layer above the highest unit it reads."""
        level: list[int] = []
        for unit in self.units:
            below = [level[source - self.inputs] for source in unit.sources if source >= self.inputs]
            level.append(1 + max(below, default=-1))
        return [[k for k, own in enumerate(level) if own == each] for each in range(max(level) + 1)]

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(self.layers)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return ``w·(what it reads) + b`` of every unit for every row, ``(rows, units)``."""
        return self._run(X)[1]

    def signals(self, X: Any) -> NDArray[np.int64]:
        """Return what every unit says for every row, ``(rows, units)`` of zeros and ones."""
        return (self._run(X)[1] > 0.0).astype(np.int64)

    def evaluate(self, X: Any) -> NDArray[np.int64]:
        """Return what the last unit says for every row."""
        return self.signals(X)[:, -1]

    def truth_table(self) -> NDArray[np.int64]:
        """Return the outputs for 00…0, 00…1, …, 11…1."""
        return self.evaluate(every_input(self.inputs))

    def up_to(self, units: int) -> "Network":
        """Return the network of the first units only."""
        return Network(self.input_names, self.units[:units])

    def to_dot(self) -> str:
        """Describe the wiring in the language of Graphviz.

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
            lines.append(f"  i{j} [shape=plaintext, label={_quoted(name)}];")
        for k, unit in enumerate(self.units):
            shape = "doublecircle" if k == len(self.units) - 1 and k else "circle"
            label = _quoted(unit.gate.name or f"unit {k + 1}")[:-1] + f'\\n{unit.gate.bias:.3g}"'
            lines.append(f"  u{k} [shape={shape}, label={label}];")
            for source, weight in zip(unit.sources, unit.gate.weights, strict=True):
                below = f"i{source}" if source < self.inputs else f"u{source - self.inputs}"
                lines.append(f'  {below} -> u{k} [label="{weight:.3g}"];')
        return "\n".join([*lines, "}"])

    def _run(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.inputs:
            raise ValueError(f"this network has {self.inputs} inputs, X has shape {rows.shape}")
        signals = np.empty((rows.shape[0], self.inputs + len(self.units)))
        signals[:, : self.inputs] = rows
        scores = np.empty((rows.shape[0], len(self.units)))
        for k, unit in enumerate(self.units):
            scores[:, k] = unit.gate.scores(signals[:, unit.sources])
            signals[:, self.inputs + k] = scores[:, k] > 0.0
        return signals, scores


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
