"""What the playground learns with: its state, the space of learning, a learner taken step by step, and others."""

import copy
import warnings
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.core.order import Shuffle
from rosenblatt.core.rows import rows_of
from rosenblatt.lab.points import GENERATORS, MOST, POINTS, Points, generated
from rosenblatt.lab.table import column, flag, number, numbers, one_of, some_of, text, whole
from rosenblatt.learner import Learner
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.web.theme import THEMES

# The state of the page

STEPPED = ("perceptron", "batch", "logistic")  # learners with steps; the others are fitted at once
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
MOST_EPOCHS = 200
MOST_CLOCK = MOST * MOST_EPOCHS
MOST_COSTLY = 10_000  # examples of a run whose picture costs as much as it has updates: kernels, votes
MOST_ITERATIONS = 300  # of the learners that see all examples at once
SPEEDS = (1, 3, 10, 30, 100, 300, 1000, 3000)  # examples a second of a run
GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class PlaygroundState:
    """Data, learner, and how far it has come: everything else follows from these by the library."""

    data: str = column("separable", one_of(*GENERATORS, "own"))
    n: int = column(40, whole(0, MOST))
    margin: float = column(0.3, number(0.01, 1.0))
    noise: float = column(0.3, number(0.0, 1.0))
    seed: int = column(0, whole(0, 9999))
    test: int = column(0, whole(0, 80))  # percent of the examples that are held out
    points: Points = column((), POINTS)  # noqa: RUF009 (a tuple); used where data are "own"
    x_name: str = column("x₁", text(40))
    y_name: str = column("x₂", text(40))
    learner: str = column("perceptron", one_of(*LEARNERS))
    rule: str = column("rosenblatt", one_of(*rules.BY_NAME))
    eta: float = column(1.0, number(0.01, 1.0))
    start: tuple[float, ...] = column((0.0, 0.0, 0.0), numbers(3, -10.0, 10.0))  # bias first
    order: str = column("given", one_of("given", "shuffled"))
    space: str = column("plane", one_of(*SPACES))
    gamma: float = column(1.0, number(0.05, 10.0))  # of the Gaussian kernel exp(−γ‖a − b‖²)
    hypothesis: str = column("last", one_of(*hypotheses.NAMES))
    clock: int = column(0, whole(0, MOST_CLOCK))
    proof: bool = column(False, flag())
    beside: tuple[str, ...] = column((), some_of(*LEARNERS))
    speed: int = column(5, whole(0, len(SPEEDS) - 1))  # a place in SPEEDS
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
        """Return the examples, drawn by hand or generated."""
        if self.data == "own":
            return self.points
        return generated(self.data, self.n, self.margin, self.noise, self.seed)

    def held_out(self, n: int) -> NDArray[np.bool_]:
        """Return which of ``n`` examples are held out for the test; another point does not change the others' part.

        >>> int(PlaygroundState(test=25).held_out(40).sum())
        10
        """
        place = np.arange(n) * GOLDEN + self.seed * GOLDEN**2 + 0.5
        return np.asarray(place % 1.0 < self.test / 100.0)


# The space of learning

NOTHING = 1e-13  # an eigenvalue this small beside the largest is zero


class Space(NamedTuple):
    """A feature map (``kind`` and ``degree``) or a kernel."""

    kind: str
    degree: int
    kernel: bool
    gamma: float = 1.0  # of the Gaussian kernel exp(−γ‖a − b‖²)

    @classmethod
    def named(cls, name: str, gamma: float = 1.0) -> "Space":
        """Return a space by its name in a link.

        >>> Space.named("kernel-poly-3")
        Space(kind='poly', degree=3, kernel=True, gamma=1.0)
        """
        kernel = name.startswith("kernel-")
        kind, _, degree = name.removeprefix("kernel-").partition("-")
        return cls(kind, int(degree or 2), kernel, gamma)

    @property
    def is_plane(self) -> bool:
        """Whether boundaries are straight."""
        return self.kind == "plane"

    def rows(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the learner reads: the features, or those of the map; a kernel reads the points."""
        if self.kernel or self.is_plane or not len(X):
            return X
        from rosenblatt.linear.encoders import FeatureMap

        return np.ascontiguousarray(FeatureMap(self.kind, degree=self.degree).fit_transform(X))

    def names(self) -> list[str]:
        """Return the names of the features."""
        if self.kernel or self.is_plane:
            return ["x1", "x2"]
        from rosenblatt.linear.encoders import FeatureMap

        mapping = FeatureMap(self.kind, degree=self.degree).fit(np.zeros((1, 2)))
        return [str(name) for name in mapping.get_feature_names_out(["x1", "x2"])]

    def kernel_arguments(self) -> dict[str, Any]:
        """Return the arguments of the kernel learner."""
        return {"kernel": "rbf", "gamma": self.gamma} if self.kind == "rbf" else {"degree": self.degree}

    def told_apart(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
        """Return rows on which to ask for separability, and whether a bias is to be added.

        A polynomial kernel with a constant has all monomials up to its degree; a Gaussian one is asked by its Gram
        matrix.
        """
        if not self.kernel:
            return self.rows(X), True
        if self.kind == "rbf":
            return self.gram(X), False
        from rosenblatt.linear.encoders import FeatureMap

        monomials: NDArray[np.float64] = FeatureMap("polynomial", degree=self.degree).fit_transform(X)
        return monomials, True

    def gram(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel of every pair."""
        if self.kind == "rbf":
            apart = ((X[:, None] - X[None]) ** 2).sum(axis=2)
            return np.asarray(np.exp(-self.gamma * apart))
        return np.asarray((X @ X.T + 1.0) ** self.degree)

    def embedded(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows whose plain products are those of the space in which learning happens, bias included."""
        if not self.kernel:
            return np.column_stack([np.ones(len(X)), self.rows(X)])
        if self.kind == "poly":  # every monomial x^i y^j, by the square root of its count in (1 + a·b)^degree
            powers = [(i, j) for i in range(self.degree + 1) for j in range(self.degree + 1 - i)]
            counts = [comb(self.degree, i) * comb(self.degree - i, j) for i, j in powers]
            columns = [X[:, 0] ** i * X[:, 1] ** j for i, j in powers]
            return np.column_stack(columns) * np.sqrt(counts)
        values, vectors = np.linalg.eigh(self.gram(X))
        there = values > NOTHING * values[-1]
        return np.asarray(vectors[:, there] * np.sqrt(values[there]))


# A learner example by example, forwards and back

SIGNS = np.array([-1, 1])


class Line(NamedTuple):
    """One line of the ledger, in rows of the page's data."""

    number: int
    row: int
    label: int
    score: float  # y·f(x) before the update
    tau: float  # w += tau·x
    clock: int  # examples seen before this one
    sqnorm: float  # ‖w‖² after it
    weights: tuple[float, ...] = ()  # after it, bias first; empty in a kernel's space


class Training:
    """The run of a state: what the library's learner knows after ``clock`` examples.

    The clock is all that steps change; going back is going there again from the start, which the same ledger records.
    """

    def __init__(
        self,
        state: PlaygroundState,
        X: NDArray[np.float64],
        y: NDArray[np.int64],
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        self.state, self.X, self.y = state, X, y
        self.rows = np.arange(len(y)) if rows is None else rows  # which points of the page these examples are
        self.space = Space.named(state.space, state.gamma)
        self.Z = self.space.rows(X)
        self._shuffle: Shuffle | None = None
        if state.order == "shuffled" and len(y):
            self._shuffle = Shuffle(rows_of(self.Z), (y > 0).astype(np.int64), seed=state.seed)
        self._orders: list[NDArray[Any]] = []
        self._begin()
        self.to(state.clock)

    def _begin(self) -> None:
        rule = rules.resolve(self.state.rule, self.state.eta)
        self.learner: Any
        if self.space.kernel:
            self.learner = KernelLearner(rule, seed=self.state.seed, **self.space.kernel_arguments())
        else:
            self.learner = Learner(rule, seed=self.state.seed)
            start = np.zeros((1, max(2, self.Z.shape[1])))
            start[0, :2] = self.state.start[1:]
            if self.state.takes_start:
                self.learner.start_from(start, self.state.start[0], SIGNS)
            else:
                self.learner.add_classes(SIGNS)
                self.learner.add_features(start.shape[1])
        self.clock = 0
        self.converged = False
        self._updates_before_pass = 0

    # Moving

    @property
    def n(self) -> int:
        """How many examples there are."""
        return len(self.y)

    @property
    def epoch(self) -> int:
        """How many whole passes there have been."""
        return self.clock // self.n if self.n else 0

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to see: a clean pass, no data, or the most passes."""
        return self.converged or not self.n or self.epoch >= MOST_EPOCHS or self.clock >= self.most

    @property
    def most(self) -> int:
        """The most examples that are looked at."""
        costly = self.space.kernel or self.state.hypothesis == "voted"
        return MOST_COSTLY if costly else MOST_CLOCK

    def to(self, clock: int) -> None:
        """Go to a time, forwards or back; a clean pass ends the run."""
        if clock < self.clock:
            self._begin()
        while self.clock < clock and not self.finished:
            self._learn(min(clock, (self.epoch + 1) * self.n, self.most))

    def next_update(self) -> int:
        """Return the time just after the next update, or of the end of the run where there is none."""
        if self.learner.ledger is None:
            return self.clock + 1
        ahead = copy.deepcopy(self)
        lines = len(ahead.learner.ledger)
        while not ahead.finished:
            ahead.to((ahead.epoch + 1) * self.n)
            if len(ahead.learner.ledger) > lines:
                return int(ahead.learner.ledger.entries["clock"][lines]) + 1
        return ahead.clock

    def steps(self, count: int) -> int:
        """Return the time after so many examples more."""
        return self.clock + count

    def next_pass(self) -> int:
        """Return the time at the end of the present pass."""
        return (self.epoch + 1) * self.n if self.n else 0

    def row_at(self, clock: int) -> int:
        """Return which example is looked at when so many have been seen."""
        epoch, place = divmod(clock, self.n)
        while len(self._orders) <= epoch:
            in_order = np.arange(self.n)
            self._orders.append(self._shuffle.epoch(len(self._orders)).order if self._shuffle else in_order)
        return int(self._orders[epoch][place])

    def _learn(self, clock: int) -> None:
        rows = np.array([self.row_at(c) for c in range(self.clock, clock)])
        if self.clock % self.n == 0:
            self._updates_before_pass = self.learner.updates
        self.learner.learn(self.Z[rows], self.y[rows], classes=SIGNS)
        self.clock = clock
        if clock % self.n == 0:
            still = self.space.kernel or bool((self.learner.running["decay"] == 1.0).all())
            self.converged = still and self.learner.updates == self._updates_before_pass

    # Looking

    @property
    def looked_at(self) -> int | None:
        """The example seen last."""
        return self.row_at(self.clock - 1) if self.clock else None

    @property
    def last_update(self) -> Line | None:
        """The update that the last example made, if it did."""
        ledger = self.learner.ledger
        if ledger is None or not len(ledger) or int(ledger.entries["clock"][-1]) != self.clock - 1:
            return None
        return self.lines(1)[-1]

    def lines(self, most: int | None = None) -> list[Line]:
        """Return the lines of the ledger, the last ones where only so many are asked for."""
        ledger = self.learner.ledger
        if ledger is None or not len(ledger):
            return []
        first = 0 if most is None else max(0, len(ledger) - most)
        after = self._weights_after(np.arange(first, len(ledger)) + 1)
        return [
            Line(
                first + k + 1,
                row := self.row_at(int(entry["row"])),
                int(self.y[row]),
                float(entry["score"]),
                float(entry["tau"]),
                int(entry["clock"]),
                float(entry["sqnorm"]),
                tuple(after[k].tolist()),
            )
            for k, entry in enumerate(ledger.entries[first:])
        ]

    def _weights_after(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the last weights after each number of updates, bias first; no columns in a kernel's space."""
        if self.space.kernel:
            return np.empty((numbers.size, 0))
        return np.asarray(self.learner.ledger.weights_after(numbers, self.learner.bias_input)[:, 0])

    def scores_after(self, numbers: NDArray[np.int64], P: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of points of the plane after each number of updates: ``(points, numbers)``."""
        learner, rows = self.learner, self.space.rows(P)
        if self.space.kernel:
            after = learner.ledger.weights_after(numbers, learner.bias_input)[:, 0]
            return np.asarray(learner.space.all_times(rows, learner.support.all(), after.T))
        weights = self._weights_after(numbers)
        return np.asarray(rows @ weights[:, 1:].T + weights[:, 0])

    def weights(self, hypothesis: str | None = None) -> NDArray[np.float64] | None:
        """Return the weights of what predicts, bias first; None where it has none of its own."""
        name = hypothesis or self.state.hypothesis
        if self.space.kernel or name == "voted":
            return None
        if name == "pocket":
            learner = self._after_whole_passes()
            return None if learner is None else np.asarray(learner.weights("pocket")[0])
        if self.learner.ledger is None and name in ("survivor", "random"):
            return None
        return np.asarray(self.learner.weights(name)[0], dtype=np.float64)

    def weights_before(self) -> NDArray[np.float64] | None:
        """Return the last weights as they were before the last update."""
        ledger = self.learner.ledger
        if self.space.kernel or ledger is None or not len(ledger):
            return None
        return np.asarray(self._weights_after(np.array([len(ledger) - 1]))[0])

    def scores(self, P: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the score of any points of the plane; None where nothing is known yet."""
        name = self.state.hypothesis
        learner = self._after_whole_passes() if name == "pocket" else self.learner
        from_ledger = name not in ("last", "averaged")
        if learner is None or not learner.clock or (from_ledger and learner.ledger is None):
            return None if self.space.kernel or from_ledger else self._start_scores(P)
        return np.asarray(learner.scores(self.space.rows(P), name))

    def _start_scores(self, P: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.learner.scores(self.space.rows(P), "last"))

    def _after_whole_passes(self) -> Any:
        """Return the learner as trained on whole passes only: the pocket is chosen on a whole training set."""
        if not self.epoch or np.unique(self.y).size < 2:
            return None
        fresh = Training.__new__(Training)
        fresh.state, fresh.space, fresh.Z, fresh.y = self.state, self.space, self.Z, self.y
        Training._begin(fresh)
        options = {"evaluate": True} if self.space.kernel else {}
        fresh.learner.train(
            self.Z, self.y, max_iter=self.epoch, shuffle=self.state.order == "shuffled", **options
        )
        return fresh.learner


# Learners that see all examples at once

# Name in a link -> the class in rosenblatt, and its arguments, as the exported code writes them.
CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "batch": ("BatchPerceptron", {}),
    "logistic": ("LogisticRegression", {"C": 10.0}),
    "centroid": ("ClosestCentroid", {}),
    "naive-bayes": ("NaiveBayes", {}),
    "gaussian": ("GaussianDiscriminant", {}),
    "max-margin": ("MaxMargin", {}),
}
SOFT = {"C": 1.0}  # of the largest margin, where there is no hard one
ONE_CLASS = "Needs examples of both classes."


class Losses(NamedTuple):
    """How a learner stands on the data; losses are means at ‖w‖ = 1."""

    wrong: int
    perceptron: float
    hinge: float
    logistic: float
    margin: float


class Fitted:
    """A model of the library fitted on the data of a state, in its space (a kernel's is left for the plane).

    The batch perceptron and logistic regression have steps: with ``iterations`` they are fitted with that ``max_iter``,
    so what a page shows after so many steps is what the library returns. Without it they are fitted to the end.
    """

    def __init__(
        self,
        name: str,
        state: PlaygroundState,
        X: NDArray[np.float64],
        y: NDArray[np.int64],
        rows: NDArray[np.int64] | None = None,
        iterations: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self.seconds = seconds  # after which the search for the largest margin ends
        space = Space.named(state.space, state.gamma)
        self.name, self.state, self.X, self.y = name, state, X, y
        self.rows = np.arange(len(y)) if rows is None else rows
        self.space = Space.named("plane") if space.kernel else space
        self.Z = self.space.rows(X)
        self.class_name = CLASSES[name][0]
        self.model: Any = None
        self.note = ""
        self.arguments: dict[str, Any] = {}
        self.clock = 0  # iterations so far, of a learner with steps
        self.converged = False
        self.has_steps = iterations is not None and name in STEPPED
        self._after: dict[int, Any] = {}  # models by their number of iterations
        if np.unique(y).size < 2:
            self.note = ONE_CLASS
        elif self.has_steps:
            self.to(iterations or 0)
        else:
            self._fit()

    def _fit(self, **more: Any) -> None:
        own = dict(CLASSES[self.name][1])
        self.arguments = {**own, "eta": self.state.eta, **more} if self.name == "batch" else {**own, **more}
        try:
            self.model = self._fitted(self.arguments)
        except (ValueError, np.linalg.LinAlgError) as error:
            if self.name == "max-margin":
                late = "time limit" in str(error)
                found = f" found within {self.seconds:g} s" if late else ""
                self.arguments, self.note = dict(SOFT), f"No hard margin{found}: C = 1."
                self.model = self._fitted(SOFT)
            else:
                said = str(error).partition(". ")[0].removesuffix(".")
                self.note = f"{said[:1].upper()}{said[1:]}."

    def _fitted(self, arguments: dict[str, Any]) -> Any:
        import rosenblatt

        limit = {"time_limit": self.seconds} if self.name == "max-margin" else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters is on the page
            return getattr(rosenblatt, self.class_name)(**arguments, **limit).fit(self.Z, self.y)

    # Steps

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to step through."""
        return not self.has_steps or self.note == ONE_CLASS or self.converged or self.clock >= MOST_ITERATIONS

    def to(self, clock: int) -> None:
        """Show the model after so many iterations, or after the last one where there are fewer."""
        self.clock = min(clock, MOST_ITERATIONS)
        self.converged = False
        if not self.clock:
            self.model, self.arguments = None, {}
            return
        if self.clock not in self._after:
            self._fit(max_iter=self.clock)
            self._after[self.clock] = (self.model, self.arguments)
        self.model, self.arguments = self._after[self.clock]
        done = int(np.max(self.model.n_iter_))
        self.converged = bool(self.model.converged_) if self.name == "batch" else done < self.clock
        self.clock = min(self.clock, done)

    def steps(self, count: int) -> int:
        """Return the time after so many iterations more."""
        return self.clock + max(1, count)

    def next_update(self) -> int:
        """Return the time after the next iteration: each moves the weights."""
        return self.clock + 1

    def next_pass(self) -> int:
        """Return the time after ten iterations more."""
        return self.clock + 10

    def path(self, most: int = 24) -> tuple[NDArray[np.int64], list[NDArray[np.float64]]]:
        """Return iterations so far, evenly chosen, and the weights after each of them."""
        clocks = np.unique(np.linspace(1, self.clock, min(self.clock, most)).astype(np.int64))
        if self.name == "batch" and self.model is not None:
            return clocks, list(self.model.trajectory_[clocks, 0])
        for clock in clocks.tolist():
            if clock not in self._after:
                arguments = {**self.arguments, "max_iter": clock}
                self._after[clock] = (self._fitted(arguments), arguments)
        return clocks, [_hyperplane(self._after[clock][0]) for clock in clocks.tolist()]

    # Looking

    def weights(self) -> NDArray[np.float64] | None:
        """Return the weights of the hyperplane, bias first; None where it is not one in this space."""
        return None if self.model is None or self.name == "naive-bayes" else _hyperplane(self.model)

    def scores(self, P: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the score of any points of the plane."""
        return None if self.model is None else np.asarray(self.model.decision_function(self.space.rows(P)))


def _hyperplane(model: Any) -> NDArray[np.float64]:
    return np.concatenate([model.intercept_, model.coef_[0]]).astype(np.float64)


def losses(
    scores: NDArray[np.float64] | None, weights: NDArray[np.float64] | None, y: NDArray[np.int64]
) -> Losses | None:
    """Measure scores on the data; without weights they are taken as they are."""
    if scores is None or not len(y):
        return None
    norm = float(np.linalg.norm(weights[1:])) if weights is not None else 1.0
    margins = y * scores / (norm or 1.0)
    return Losses(
        int((y * scores <= 0.0).sum()),
        float(np.maximum(0.0, -margins).mean()),
        float(np.maximum(0.0, 1.0 - margins).mean()),
        float(np.logaddexp(0.0, -margins).mean() / np.log(2.0)),
        float(margins.min()),
    )
