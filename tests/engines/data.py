"""Examples that the tests of all engines share, and shards that kill whoever runs them."""

import os
import signal
from pathlib import Path

import numpy as np

from rosenblatt.engines.shard import Shard


def noisy(rows=240, features=5, classes=2, seed=0):
    """Return rows with zeros among them, and labels that no hyperplane tells apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)).round(2) * (rng.random((rows, features)) < 0.7)
    scores = X @ rng.normal(size=(features, classes)) + 0.3 * rng.normal(size=(rows, classes))
    return X, np.array(["a", "b", "c", "d"])[np.argmax(scores, axis=1)]


def same_learner(one, other):
    """Assert that two learners hold the same bits."""
    for name in ("W", "A", "running", "totals"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.W.dtype == other.W.dtype
    assert one.epochs == other.epochs
    assert one.converged == other.converged
    assert one.rows_seen == other.rows_seen


def kill_this_process():
    os.kill(os.getpid(), signal.SIGKILL)


def kill_the_executor():
    """Kill the Java process above this Python worker."""
    pid = os.getppid()
    while pid > 1:
        if "CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_text():
            os.kill(pid, signal.SIGKILL)
            return
        status = Path(f"/proc/{pid}/status").read_text()
        pid = int(status.partition("PPid:")[2].split()[0])
    raise AssertionError("no executor above this process")


def deadly_makers(X, y, shards, epoch, marker, kill):
    """Return makers of shards, the first of which kills in the middle of one epoch, once in all."""

    class Deadly(Shard):  # local, so that it travels by value
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
