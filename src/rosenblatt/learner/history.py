"""Every update of a training run: which row made it, what it scored, the weights before and after."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.state import LearnerState

BLOCK = 256  # updates whose weights are replayed at once


class Update(NamedTuple):
    """One update of the weights of one class."""

    update: int  # counted from 1
    clock: float  # examples seen before it
    row: int  # of the data learned from, counted from 1
    label: str  # of the row; of one class against the rest, "not A" where the row is of another class
    of_class: str  # the class whose weights are given; of two classes, the one of positive scores
    score: float  # of the row before the update; of several classes, ahead of its best rival
    tau: float  # the step: weights += tau·x
    before: NDArray[Any]  # bias and weights
    after: NDArray[Any]


def updates_of(learner: LearnerState) -> Iterator[Update]:
    """Yield every update of a run that recorded its ledger; one of two classes at once is two updates with one number.

    Examples
    --------
    >>> from rosenblatt.learner import Learner
    >>> learner = Learner()
    >>> learner.train([[2.0], [-1.0]], ["in", "out"], shuffle=False)
    >>> [(each.row, each.label, each.of_class, each.after.tolist()) for each in updates_of(learner)]
    [(1, 'in', 'out', [-1.0, -2.0])]
    """
    ledger = learner.ledger
    if ledger is None:
        raise ValueError("the history needs the ledger, which was not recorded: train with keep_ledger=True")
    classes = [str(label) for label in learner.classes.tolist()]
    entries, two = ledger.entries, len(classes) == 2
    for start in range(0, entries.size, BLOCK):
        block = entries[start : start + BLOCK]
        weights = ledger.weights_after(np.arange(start, start + block.size + 1), learner.bias_input)
        for k, entry in enumerate(block):
            tau, target, rival = float(entry["tau"]), int(entry["target"]), int(entry["rival"])
            place = (start + k + 1, float(entry["clock"]), int(entry["row"]) + 1)
            score = float(entry["score"])
            if learner.joint:
                moved = [(target, tau), *([(rival, -tau)] if rival >= 0 else [])]
                for row, step in moved:
                    pair = weights[k, row], weights[k + 1, row]
                    yield Update(*place, classes[target], classes[row], score, step, *pair)
                continue
            positive = classes[1] if two else classes[target]
            negative = classes[0] if two else f"not {positive}"
            row = 0 if two else target
            sign = 1.0 if tau >= 0.0 else -1.0
            pair = weights[k, row], weights[k + 1, row]
            yield Update(*place, positive if tau >= 0.0 else negative, positive, sign * score, tau, *pair)


def history_frame(learner: LearnerState, feature_names: Sequence[str] | None = None) -> Any:
    """Return every update as a data frame: of pandas where installed, else of polars, else an Arrow table."""
    names = list(feature_names or (f"x{j}" for j in range(1, learner.n_features + 1)))
    rows = [*updates_of(learner)]
    columns: dict[str, Any] = {
        "update": [each.update for each in rows],
        "clock": [each.clock for each in rows],
        "row": [each.row for each in rows],
        "label": [each.label for each in rows],
        "class": [each.of_class for each in rows],
        "score": [each.score for each in rows],
        "tau": [each.tau for each in rows],
    }
    for when in ("before", "after"):
        stacked = np.array([getattr(each, when) for each in rows]).reshape(len(rows), 1 + len(names))
        columns |= {f"{name} {when}": stacked[:, j] for j, name in enumerate(("bias", *names))}
    for package in ("pandas", "polars"):
        try:
            module = __import__(package)
        except ImportError:
            continue
        return module.DataFrame(columns)
    import pyarrow as pa

    return pa.table(columns)
