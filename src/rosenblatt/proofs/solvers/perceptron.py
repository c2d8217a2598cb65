"""The perceptron itself as a search: fast wherever the margin is wide, whatever the number of columns."""

import math

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.ledger import ENTRY
from rosenblatt.core.rows import flat, laid_out, rows_of
from rosenblatt.core.state import NOTHING, TOTALS, State, Visits, new_running
from rosenblatt.proofs.loops.perceptron import Normalised, sweep_until_clean
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.cone import Cone, Float64s
from rosenblatt.rules import Euclidean

SWEEPS = 25  # over all rows; in between, it cycles on the rows that some sweep got wrong
CYCLES = 50
FALLING = (
    0.75  # mistakes of a sweep, over those of the sweep before, up to which they fall fast (sparse rows)
)
CHUNK = 10_000_000  # values visited between two looks at the clock
PATIENCE = 6  # rounds without fewer mistakes than ever before, after which mistakes no longer fall


class ActivePerceptron:
    """A perceptron that cycles on the rows some sweep got wrong before it sweeps over all rows again.

    ``run`` gives up soon where another solver may be quicker; ``go_on`` continues from there for as long as
    the mistakes fall.
    """

    def __init__(self, cone: Cone) -> None:
        rows, classes = rows_of(cone.work), cone.k if cone.joint else 1
        # With several classes the loop measures x twice, for the class and for its rival.
        least = 1e-6 * cone.size / (math.sqrt(2.0) if cone.joint else 1.0)
        labels = cone.examples.codes if cone.joint else cone.examples.signs.astype(np.int8)
        self._cone = cone
        self._weights = laid_out(rows, np.zeros((classes, 1 + cone.work.shape[1])))
        offset = laid_out(rows, np.zeros_like(self._weights))
        self._state = State(
            flat(rows, self._weights),
            flat(rows, offset),
            new_running(1),
            np.empty(classes),
            np.zeros(1, TOTALS),
        )
        self._arguments = Normalised(least), Euclidean(), rows, labels
        self._ledger = np.empty(labels.size, ENTRY)
        self._everything = np.arange(labels.size, dtype=np.uintp)
        self._seen = np.zeros(len(self._everything), dtype=np.bool_)
        self._active = self._everything[:0]
        self.clean = False  # whether the last sweep over all rows made no mistake (in floating point)
        self.visited = 0  # values of X read so far, about

    @property
    def w(self) -> Float64s:
        """The weights for the working copy."""
        w = np.roll(self._weights, -1, axis=1)  # the bias last
        w = w[:-1] - w[-1] if self._cone.joint else w
        return w[..., : self._cone.width].reshape(-1)

    def run(self, clock: Clock) -> bool:
        """Return whether a sweep was clean; stop early where mistakes are many or the active rows stay wrong."""
        stuck, before = 0, len(self._everything)
        for sweep in range(SWEEPS):
            if not clock.affords(self._cone.pass_cost):
                break
            count = self._sweep()
            many = count > 10 + len(self._everything) // 100
            falling = self._cone.is_sparse and count <= FALLING * before
            hopeless = sweep >= 2 and many and not falling
            before = count
            if self.clean or hopeless:
                break
            stuck += self._cycle(count, clock) > 0
            if stuck >= 6:
                break  # not even the rows known to be hard come out clean
        return self.clean

    def go_on(self, clock: Clock, budget: float) -> bool:
        """Continue while mistakes fall and at most ``budget`` values are visited; return whether a sweep was clean."""
        fewest, idle = len(self._everything) + 1, 0
        while not self.clean and idle < PATIENCE and self.visited < budget:
            if not clock.affords(self._cone.pass_cost):
                break
            count = self._sweep()
            if not self.clean:
                idle = 0 if count < fewest else idle + 1
                fewest = min(fewest, count)
                self._cycle(count, clock)
        return self.clean

    def _sweep(self) -> int:
        """Visit every row once; return the number of mistakes."""
        count = self._learn(self._everything, 1)
        self.clean = count == 0
        self.visited += self._values_per_row * len(self._everything)
        return count

    def _cycle(self, count: int, clock: Clock) -> int:
        """Add the last sweep's mistakes to the active rows and cycle on those; return the mistakes left among them."""
        wrong = self._ledger["row"][:count].astype(np.uintp)
        self._active = np.append(self._active, wrong[~self._seen[wrong]])
        self._seen[wrong] = True
        values = self._values_per_row * len(self._active)
        seconds = self._cone.pass_cost * len(self._active) / len(self._everything)
        rounds = min(CYCLES, max(1, CHUNK // max(values, 1)))
        left = count
        for done in range(0, CYCLES, rounds):
            cycles = min(rounds, CYCLES - done)
            if not clock.affords(cycles * seconds):
                break
            left = self._learn(self._active, cycles)
            self.visited += cycles * values
            if not left:
                break
        return left

    def _learn(self, ids: NDArray[np.uintp], sweeps: int) -> int:
        """Sweep over these rows until a sweep is clean; return the mistakes of the last, which the ledger names."""
        visits = Visits(ids, NOTHING)
        return int(
            sweep_until_clean(*self._arguments, visits, self._cone.bias, self._state, self._ledger, sweeps)
        )

    @property
    def _values_per_row(self) -> int:
        joint = self._cone.k if self._cone.joint else 1
        return self._cone.n_values * joint // len(self._everything) + 1
