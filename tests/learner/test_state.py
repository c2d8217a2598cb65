"""How the arrays of a learner grow with new classes."""

import tracemalloc

import numpy as np
import pytest

from rosenblatt import rules
from rosenblatt.core.geometry import initial_auxiliary
from rosenblatt.learner.learner import Learner

RULES = [rules.Rosenblatt(), rules.AROW(), rules.ScInOL(), rules.NAG()]


def grown(rule, classes, n_features, layout, used=1.0):
    """Return a learner of many classes whose first features have random numbers everywhere."""
    learner, rng = Learner(rule, keep_ledger=False), np.random.default_rng(0)
    learner.add_classes(np.array(classes))
    learner.add_features(n_features)
    width = 1 + int(used * n_features)
    for name in ("W", "average_offset", "S"):
        numbers = getattr(learner, name)
        if numbers is not None:
            numbers[:, :width] = 2.0 + rng.random(numbers[:, :width].shape)
            if name == "S" and numbers.ndim == 3:
                numbers[..., 0] = numbers[0, :, 0]  # the largest values are those of the features
            axes = (1, 0, 2)[: numbers.ndim] if layout == "by feature" else (0, 1, 2)[: numbers.ndim]
            setattr(learner, name, np.ascontiguousarray(numbers.transpose(axes)).transpose(axes))
    return learner


@pytest.mark.parametrize("layout", ["by class", "by feature"])
@pytest.mark.parametrize("used", [1.0, 0.1])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("new", [["a"], ["z"], ["ca"], ["a", "ca", "cb", "z"], ["ba", "ca", "da"]])
def test_old_classes_take_their_numbers_along_and_new_ones_begin(rule, layout, used, new):
    classes = ["b", "c", "d", "e"]
    learner = grown(rule, classes, 40, layout, used)
    before = {name: getattr(learner, name) for name in ("W", "average_offset", "S")}
    learner.add_classes(np.array(sorted(new)))
    after = dict(zip(learner.classes.tolist(), range(len(learner.classes)), strict=True))
    assert sorted(after) == sorted([*classes, *new])
    for name, old in before.items():
        if old is None:
            continue
        numbers = getattr(learner, name)
        assert numbers.swapaxes(0, 1).flags.c_contiguous == (layout == "by feature")
        for c, label in enumerate(classes):
            np.testing.assert_array_equal(numbers[after[label]], old[c])
        initial = (0.0,) if name != "S" else initial_auxiliary(learner.geometry)
        for label in new:
            own = numbers[after[label]].reshape(41, -1)
            expected = np.tile(initial, (41, 1)).astype(float)
            if name == "S" and isinstance(learner.geometry, rules.CoordinateSums):
                expected[:, 0] = old[0, :, 0]
            np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_new_class_copies_every_number_once(rule):
    """Classes stay sorted, so that a class in the middle moves those behind it; nothing is copied besides."""
    learner = grown(rule, [f"c{c:03d}" for c in range(100)], 2000, "by feature")
    stored = sum(each.nbytes for each in (learner.W, learner.average_offset, learner.S) if each is not None)
    for n in range(3):
        tracemalloc.start()
        learner.add_classes(np.array([f"c050{n}"]))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.35 * stored  # the new arrays, and a mark for every weight of one
