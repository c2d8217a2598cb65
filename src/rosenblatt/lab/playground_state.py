"""All that the playground shows, as one table."""

from dataclasses import dataclass

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.lab.points import GENERATORS, MOST, POINTS, Points, generated
from rosenblatt.lab.table import column, flag, number, numbers, one_of, some_of, text, whole

LEARNERS = ("perceptron", "batch", "logistic", "centroid", "naive-bayes", "gaussian", "max-margin")
SPACES = (
    "plane",
    "squares",
    "products",
    "polynomial-2",
    "polynomial-3",
    "kernel-poly-2",
    "kernel-poly-3",
    "kernel-poly-4",
    "kernel-rbf",
)
TOOLS = ("move", "plus", "minus", "flip", "erase")
THEMES = ("auto", "light", "dark")
MOST_EPOCHS = 200
MOST_CLOCK = MOST * MOST_EPOCHS


@dataclass(frozen=True)
class PlaygroundState:
    """Data, learner, and how far it has come: everything else is told by the library from these."""

    data: str = column("separable", one_of(*GENERATORS, "own"))
    n: int = column(40, whole(0, MOST))
    margin: float = column(0.3, number(0.01, 1.0))
    noise: float = column(0.3, number(0.0, 1.0))
    seed: int = column(0, whole(0, 9999))
    points: Points = column((), POINTS)  # noqa: RUF009 (a tuple); used where data are "own"
    x_name: str = column("x₁", text(40))
    y_name: str = column("x₂", text(40))
    learner: str = column("perceptron", one_of(*LEARNERS))
    rule: str = column("rosenblatt", one_of(*rules.BY_NAME))
    eta: float = column(1.0, number(0.01, 1.0))
    start: tuple[float, ...] = column((0.0, 0.0, 0.0), numbers(3, -10.0, 10.0))  # bias first
    order: str = column("given", one_of("given", "shuffled"))
    space: str = column("plane", one_of(*SPACES))
    hypothesis: str = column("last", one_of(*hypotheses.NAMES))
    clock: int = column(0, whole(0, MOST_CLOCK))
    proof: bool = column(False, flag())
    beside: tuple[str, ...] = column((), some_of(*LEARNERS))
    tool: str = column("move", one_of(*TOOLS))
    theme: str = column("auto", one_of(*THEMES))

    @property
    def first_weights(self) -> tuple[float, ...]:
        """The weights before the first example, bias first: ``start``, or zeros where the learner takes no others."""
        return self.start if self.takes_start else (0.0, 0.0, 0.0)

    @property
    def takes_start(self) -> bool:
        """Whether weights may begin elsewhere than at zero: not in a kernel's space, nor as sums over gradients.

        >>> PlaygroundState().takes_start, PlaygroundState(rule="scinol").takes_start
        (True, False)
        """
        geometry = rules.geometry_of(rules.BY_NAME[self.rule]())
        return not self.space.startswith("kernel-") and not isinstance(geometry, rules.CoordinateSums)

    def examples(self) -> Points:
        """Return the examples, drawn by hand or made."""
        if self.data == "own":
            return self.points
        return generated(self.data, self.n, self.margin, self.noise, self.seed)
