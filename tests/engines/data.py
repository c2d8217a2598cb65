"""Examples that the tests of all engines share, and shards that kill whoever runs them."""

import os
import signal
from pathlib import Path

import numpy as np

from rosenblatt.engines.shards import Shard


def noisy(rows=240, features=5, classes=2, seed=0):
    """Return rows with zeros among them, and labels that no hyperplane tells apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)).round(2) * (rng.random((rows, features)) < 0.7)
    scores = X @ rng.normal(size=(features, classes)) + 0.3 * rng.normal(size=(rows, classes))
    return X, np.array(["a", "b", "c", "d"])[np.argmax(scores, axis=1)]


def same_learner(one, other):
    """Assert that two learners hold the same bits."""
    for name in ("W", "average_offset", "running", "totals"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.W.dtype == other.W.dtype
    assert one.epochs == other.epochs
    assert one.converged == other.converged
    assert one.rows_seen == other.rows_seen


def deadly_loaders(X, y, shards, epoch, marker, whom="worker"):
    """Return loaders of shards, the first of which kills its worker in the middle of one epoch, once in all.

    On Spark the ``executor`` dies: the Java process above the Python worker. Everything here is local, so that it
    travels by value to workers that cannot import the tests.
    """

    def kill():
        pid = os.getpid()
        while (
            whom == "executor"
            and "CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_text()
        ):
            pid = int(Path(f"/proc/{pid}/status").read_text().partition("PPid:")[2].split()[0])
        assert pid > 1, "no executor above this process"
        os.kill(pid, signal.SIGKILL)

    class Deadly(Shard):
        def visits(self, setup, number):
            if number == epoch and self.index == 0:
                try:
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    kill()
            return Shard.visits(self, setup, number)

        def __reduce__(self):
            return Deadly, (self.X, self.y, self.weight, self.index)

    parts = np.array_split(np.arange(len(y)), shards)
    return [lambda index, part=part: Deadly(X[part], y[part], None, index) for part in parts]
