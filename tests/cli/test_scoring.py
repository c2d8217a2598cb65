"""Accuracies are those of the labels that predict would print."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.cli.scoring import _affordable, codes_of, named, torn, unseen_labels
from rosenblatt.learner.scoring import decided

labels = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1),
    st.lists(st.sampled_from([0.5, 1.0, 2.5]), min_size=1),
    st.lists(st.sampled_from(["a", "b", "ß", ""]), min_size=1),
)


@given(seen=labels, found=labels)
def test_codes_name_the_class_or_none(seen, found):
    classes, truth = np.unique(seen), np.array(found)
    codes = codes_of(truth, classes)
    both_numbers = classes.dtype.kind in "if" and truth.dtype.kind in "if"
    for label, code in zip(truth.tolist(), codes.tolist(), strict=True):
        same = [
            at
            for at, each in enumerate(classes.tolist())
            if (each == label if both_numbers else str(each) == str(label))
        ]
        assert code == (same[0] if same else -1)
    assert sum(unseen_labels(truth, codes).values()) == int((codes < 0).sum())


@given(st.integers(2, 4), st.lists(st.lists(st.integers(-1, 1), min_size=4, max_size=4), min_size=1))
def test_what_scores_name_is_what_the_learner_decides(n_classes, rows):
    scores = np.array(rows, dtype=float)[:, :n_classes]
    scores = scores[:, 0] if n_classes == 2 else scores
    classes = np.arange(n_classes) * 10
    assert np.array_equal(classes[named(scores, n_classes)], decided(scores, classes))
    assert np.array_equal(torn(scores), decided(scores, classes, undecided=-7) == -7)


def test_some_rows_are_spread_over_all():
    X = np.arange(1000.0)[:, None]
    some, codes = _affordable(X, np.arange(1000), cost=10**6)
    assert codes.size == 100
    assert some[0] == 0
    assert some[-1] == 990
    assert np.array_equal(some[:, 0], codes)
