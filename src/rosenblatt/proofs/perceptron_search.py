"""The perceptron itself as a search: fast wherever the margin is wide, whatever the number of columns."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.proofs.clock import Clock
from rosenblatt.proofs.cone import Cone, Float64s
from rosenblatt.proofs.loops import active_perceptron as loops
from rosenblatt.proofs.loops.signs import csr_rows

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
        examples = cone.examples
        dense = isinstance(cone.work, np.ndarray)
        rows = cone.work if dense else csr_rows(cone.work)
        least = 1e-6 * cone.size
        self._cone = cone
        self._state: tuple[Any, ...] = (rows, examples.signs, cone.bias, least)
        self._sweeps: Callable[..., int] = loops.dense_sweeps if dense else loops.sparse_sweeps
        self._w = np.zeros(cone.work.shape[1] + 1)
        if cone.joint:
            self._state = (rows, examples.codes, cone.bias, least)
            self._sweeps = loops.dense_joint_sweeps if dense else loops.sparse_joint_sweeps
            self._w = np.zeros((cone.k, cone.work.shape[1] + 1))
        self._everything = np.arange(len(examples.codes))
        self._mistaken = np.empty_like(self._everything)
        self._scratch = np.empty_like(self._everything)
        self._seen = np.zeros(len(self._everything), dtype=np.bool_)
        self._active = self._everything[:0]
        self.clean = False  # whether the last sweep over all rows made no mistake (in floating point)
        self.visited = 0  # values of X read so far, about

    @property
    def w(self) -> Float64s:
        """The weights for the working copy."""
        w = self._w[:-1] - self._w[-1] if self._cone.joint else self._w
        return w[..., : self._cone.width].reshape(-1)

    def run(self, clock: Clock) -> bool:
        """Return whether a sweep was clean; stop early where mistakes are many or the active rows stay wrong."""
        stuck, before = 0, len(self._everything)
        for sweep in range(SWEEPS):
            count = self._sweep()
            many = count > 10 + len(self._everything) // 100
            falling = self._cone.is_sparse and count <= FALLING * before
            hopeless = sweep >= 2 and many and not falling
            before = count
            if self.clean or hopeless or clock.out_of_time():
                break
            stuck += self._cycle(count, clock) > 0
            if stuck >= 6:
                break  # not even the rows known to be hard come out clean
        return self.clean

    def go_on(self, clock: Clock, budget: float) -> bool:
        """Continue while mistakes fall and at most ``budget`` values are visited; return whether a sweep was clean."""
        fewest, idle = len(self._everything) + 1, 0
        while not self.clean and idle < PATIENCE and self.visited < budget and not clock.out_of_time():
            count = self._sweep()
            if not self.clean:
                idle = 0 if count < fewest else idle + 1
                fewest = min(fewest, count)
                self._cycle(count, clock)
        return self.clean

    def _sweep(self) -> int:
        """Visit every row once; return the number of mistakes."""
        count = self._sweeps(self._state, self._w, self._everything, 1, self._mistaken)
        self.clean = count == 0
        self.visited += self._values_per_row * len(self._everything)
        return count

    def _cycle(self, count: int, clock: Clock) -> int:
        """Add the last sweep's mistakes to the active rows and cycle on those; return the mistakes left among them."""
        wrong = self._mistaken[:count]
        self._active = np.append(self._active, wrong[~self._seen[wrong]])
        self._seen[wrong] = True
        values = self._values_per_row * len(self._active)
        rounds = min(CYCLES, max(1, CHUNK // max(values, 1)))
        left = count
        for done in range(0, CYCLES, rounds):
            cycles = min(rounds, CYCLES - done)
            left = self._sweeps(self._state, self._w, self._active, cycles, self._scratch)
            self.visited += cycles * values
            if not left or clock.out_of_time():
                break
        return left

    @property
    def _values_per_row(self) -> int:
        joint = self._cone.k if self._cone.joint else 1
        return self._cone.n_values * joint // len(self._everything) + 1


def perceptron_search(cone: Cone, clock: Clock) -> tuple[Float64s, bool]:
    """Return weights for the working copy, and whether a sweep over all rows was clean (in floats)."""
    perceptron = ActivePerceptron(cone)
    clean = perceptron.run(clock)
    return perceptron.w, clean
