"""All that the page of gates shows, as one table."""

from dataclasses import dataclass

from rosenblatt.lab.playground_state import THEMES
from rosenblatt.lab.table import Column, column, flag, number, one_of, whole
from rosenblatt.networks import Gate, Network, Unit

TABLES = {
    "AND": (0, 0, 0, 1),
    "OR": (0, 1, 1, 1),
    "NAND": (1, 1, 1, 0),
    "NOR": (1, 0, 0, 0),
    "NOT": (1, 1, 0, 0),  # of the first input
    "XOR": (0, 1, 1, 0),
}
KINDS = ("AND", "OR", "NAND", "NOR", "NOT")
MOST_UNITS = 8
LARGEST = 6.0  # of a weight
INPUTS = 2


@dataclass(frozen=True)
class Wired:
    """A gate of the network and the signals it reads: 0 and 1 are the inputs, 2 the first gate."""

    kind: str
    sources: tuple[int, ...]


def _wiring() -> Column:
    def read(text: str) -> tuple[Wired, ...]:
        found: list[Wired] = []
        for part in text.split("-") if text else ():
            kind, *sources = part.split(".")
            wired = Wired(kind, tuple(int(source) for source in sources))
            if kind not in KINDS or not all(0 <= source < INPUTS + len(found) for source in wired.sources):
                raise ValueError
            if len(set(wired.sources)) != len(wired.sources) or (kind == "NOT" and len(wired.sources) > 1):
                raise ValueError
            found.append(wired)
        if len(found) > MOST_UNITS:
            raise ValueError
        return tuple(found)

    def write(units: tuple[Wired, ...]) -> str:
        return "-".join(".".join([unit.kind, *(str(source) for source in unit.sources)]) for unit in units)

    says = f"at most {MOST_UNITS} gates like NAND.0.1 with - between them, each reading what is before it"
    return Column(write, read, says)


WIRING = _wiring()
XOR = (Wired("NAND", (0, 1)), Wired("OR", (0, 1)), Wired("AND", (2, 3)))


@dataclass(frozen=True)
class GatesState:
    """One unit with its weights, and a network of gates."""

    gate: str = column("AND", one_of(*TABLES))
    w1: float = column(0.0, number(-LARGEST, LARGEST))
    w2: float = column(0.0, number(-LARGEST, LARGEST))
    b: float = column(0.0, number(-LARGEST, LARGEST))
    clock: int = column(0, whole(0, 4000))  # examples seen, where the weights are learned
    learned: bool = column(False, flag())
    proof: bool = column(False, flag())
    wiring: tuple[Wired, ...] = column(XOR, WIRING)
    target: str = column("XOR", one_of(*TABLES))
    theme: str = column("auto", one_of(*THEMES))


def network_of(wiring: tuple[Wired, ...]) -> Network | None:
    """Return the network; None where it has no gate, or one that reads nothing."""
    if not wiring or not all(unit.sources for unit in wiring):
        return None
    units = []
    for unit in wiring:
        gate = Gate.NOT() if unit.kind == "NOT" else getattr(Gate, unit.kind)(len(unit.sources))
        units.append(Unit(gate, unit.sources))
    return Network(INPUTS, units)
