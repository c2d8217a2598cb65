"""A learner of the library taken through the data example by example, forwards and back."""

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.order import Shuffle
from rosenblatt.core.rows import rows_of
from rosenblatt.lab.playground_state import MOST_EPOCHS, PlaygroundState
from rosenblatt.lab.spaces import Space
from rosenblatt.learner import Learner
from rosenblatt.learner.kernel import KernelLearner

CLASSES = np.array([-1, 1])


class Line(NamedTuple):
    """One line of the ledger, told in rows of the page's data."""

    number: int
    row: int
    label: int
    score: float  # y·f(x) before the update
    tau: float  # w += tau·x
    clock: int  # examples seen before this one
    sqnorm: float  # ‖w‖² after it


class Training:
    """The run of a state: what the library's learner knows after ``clock`` examples.

    The clock is all that steps change; going back is going there again from the start, which the same ledger records.
    """

    def __init__(self, state: PlaygroundState, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        self.state, self.X, self.y = state, X, y
        self.space = Space.named(state.space)
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
                self.learner.start_from(start, self.state.start[0], CLASSES)
            else:
                self.learner.add_classes(CLASSES)
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
        return self.converged or not self.n or self.epoch >= MOST_EPOCHS

    def to(self, clock: int) -> None:
        """Go to a time, forwards or back; a clean pass ends the run."""
        if clock < self.clock:
            self._begin()
        while self.clock < clock and not self.finished:
            self._learn(min(clock, (self.epoch + 1) * self.n))

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

    def next_pass(self) -> int:
        """Return the time at the end of the present pass."""
        return (self.epoch + 1) * self.n if self.n else 0

    def row_at(self, clock: int) -> int:
        """Return which example is looked at when so many have been seen."""
        epoch, place = divmod(clock, self.n)
        while len(self._orders) <= epoch:
            given = np.arange(self.n)
            self._orders.append(self._shuffle.epoch(len(self._orders)).order if self._shuffle else given)
        return int(self._orders[epoch][place])

    def _learn(self, clock: int) -> None:
        rows = np.array([self.row_at(c) for c in range(self.clock, clock)])
        if self.clock % self.n == 0:
            self._updates_before_pass = self.learner.updates
        self.learner.learn(self.Z[rows], self.y[rows], classes=CLASSES)
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
        if ledger is None:
            return []
        first = 0 if most is None else max(0, len(ledger) - most)
        return [
            Line(
                first + k + 1,
                row := self.row_at(int(entry["row"])),
                int(self.y[row]),
                float(entry["score"]),
                float(entry["tau"]),
                int(entry["clock"]),
                float(entry["sqnorm"]),
            )
            for k, entry in enumerate(ledger.entries[first:])
        ]

    def weights(self, hypothesis: str | None = None) -> NDArray[np.float64] | None:
        """Return the weights of what predicts, bias first; None where it has none of its own."""
        name = hypothesis or self.state.hypothesis
        if self.space.kernel or name == "voted":
            return None
        if name == "pocket":
            found = self._after_whole_passes()
            return None if found is None else np.asarray(found.weights("pocket")[0])
        if self.learner.ledger is None and name in ("survivor", "random"):
            return None
        return np.asarray(self.learner.weights(name)[0], dtype=np.float64)

    def weights_before(self) -> NDArray[np.float64] | None:
        """Return the last weights as they were before the last update."""
        ledger = self.learner.ledger
        if self.space.kernel or ledger is None or not len(ledger):
            return None
        return np.asarray(ledger.weights_after(np.array([len(ledger) - 1]), self.learner.bias_input)[0, 0])

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
