"""From scores to classes."""

import numpy as np

from rosenblatt.learner.scoring import decided


def test_ties_go_to_the_first_class_or_to_the_marker():
    classes = np.array(["a", "b", "c"])
    scores = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    assert decided(scores, classes).tolist() == ["a", "b", "a"]
    assert decided(scores, classes, undecided="?").tolist() == ["?", "b", "?"]


def test_two_classes_are_split_at_zero():
    classes = np.array([10, 20])
    scores = np.array([-1.0, 0.0, 1e-300])
    assert decided(scores, classes).tolist() == [10, 10, 20]
    assert decided(scores, classes, undecided=-1).tolist() == [10, -1, 20]
    assert decided(scores, classes, undecided="don't know").tolist() == ["10", "don't know", "20"]


def test_one_class_is_always_said():
    assert decided(np.array([-1.0, 1.0]), np.array(["only"])).tolist() == ["only", "only"]
