"""All that the page of networks shows, as one table."""

from dataclasses import dataclass

from rosenblatt.lab.playground_state import THEMES
from rosenblatt.lab.points import POINTS, Points, generated
from rosenblatt.lab.table import column, number, one_of, whole

PARITIES = ("parity-3", "parity-4", "parity-5", "parity-6")
DATA = ("corners", "xor", "circles", "moons", "overlapping", *PARITIES, "own")
BUILDERS = ("tower", "upstart", "backpropagation")
ALL = 60  # units: as many as it takes
CORNERS: Points = POINTS.read("b-150_-120a-150_120a150_-120b150_120")


@dataclass(frozen=True)
class NetworksState:
    """Data, a learner that builds a network, and how many units it may have."""

    data: str = column("corners", one_of(*DATA))
    n: int = column(40, whole(4, 200))
    noise: float = column(0.3, number(0.0, 1.0))
    seed: int = column(0, whole(0, 9999))
    points: Points = column((), POINTS)  # noqa: RUF009 (a tuple); used where data are "own"
    builder: str = column("tower", one_of(*BUILDERS))
    units: int = column(ALL, whole(1, ALL))
    hidden: int = column(4, whole(1, 16))
    tool: str = column("move", one_of("move", "plus", "minus", "flip", "erase"))
    theme: str = column("auto", one_of(*THEMES))

    @property
    def boolean(self) -> int:
        """How many inputs a Boolean function has, 0 where data lie in the plane."""
        return int(self.data[-1]) if self.data in PARITIES else 0

    def examples(self) -> Points:
        """Return the examples of the plane."""
        if self.data == "own":
            return self.points
        if self.data == "corners":
            return CORNERS
        return () if self.boolean else generated(self.data, self.n, 0.3, self.noise, self.seed)
