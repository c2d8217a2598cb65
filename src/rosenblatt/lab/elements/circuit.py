"""A network as an element of a page: its units and wires, from left to right; nodes can be chosen."""

from collections.abc import Callable, Sequence
from typing import Any

from nicegui.element import Element

ROW, COLUMN, CLOSE = 78, 190, 62


class Circuit(Element, component="circuit.js"):  # type: ignore[call-arg, misc]
    """Draws inputs and units in layers, with the weight of every wire; tells which node was chosen."""

    def __init__(
        self, drawing: dict[str, Any], *, label: str, on_node: Callable[[int], None] | None = None
    ) -> None:
        super().__init__()
        self._props["drawing"] = drawing
        self._props["label"] = label
        self._props["active"] = on_node is not None
        if on_node is not None:
            self.on("node", lambda event: on_node(int(event.args)))

    def show(self, drawing: dict[str, Any]) -> None:
        """Draw another network."""
        self._props["drawing"] = drawing
        self.update()


def drawing_of(
    inputs: Sequence[str],
    units: Sequence[tuple[str, Sequence[int]]],
    weights: Sequence[Sequence[float]] | None = None,
    chosen: int | None = None,
) -> dict[str, Any]:
    """Lay a network out: units named and wired by the numbers of the signals they read, inputs first.

    >>> drawing = drawing_of(["x1", "x2"], [("AND", (0, 1))])
    >>> [node["name"] for node in drawing["nodes"]], len(drawing["wires"])
    (['x1', 'x2', 'AND'], 2)
    """
    level = [0] * len(inputs)
    for _, sources in units:
        level.append(1 + max((level[source] for source in sources), default=0))
    tallest = max(level.count(each) for each in set(level))
    skips = any(level[len(inputs) + k] - level[s] > 1 for k, (_, own) in enumerate(units) for s in own)
    # a phone shows about 500 units of width: deep networks are drawn closer, the inputs keep their distance
    column, first = (CLOSE, COLUMN - CLOSE) if max(level) > 4 else (COLUMN if max(level) <= 2 else 110, 0)
    height = (max(2, tallest) + (1 if skips else 0)) * ROW
    nodes: list[dict[str, Any]] = []
    for k, own in enumerate(level):
        peers = [j for j, other in enumerate(level) if other == own]
        place = height / 2 + (peers.index(k) - (len(peers) - 1) / 2) * ROW
        if skips and own:  # wires that skip a layer pass above or below its units
            place += (own % 2 - 0.5) * 1.3 * ROW
        name = inputs[k] if k < len(inputs) else units[k - len(inputs)][0]
        nodes.append(
            {
                "x": 50 + own * column + (first if own else 0),
                "y": round(place, 1),
                "name": name,
                "input": k < len(inputs),
            }
        )
    wires = []
    for k, (_, sources) in enumerate(units):
        for j, source in enumerate(sources):
            weight = f"{weights[k][j]:.2g}".replace("-", "−") if weights is not None else ""
            wires.append(
                {"from": source, "to": len(inputs) + k, "weight": weight, "less": weight.startswith("−")}
            )
    return {
        "nodes": nodes,
        "wires": wires,
        "chosen": chosen,
        "width": 100 + max(level) * column + first,
        "height": height,
    }
