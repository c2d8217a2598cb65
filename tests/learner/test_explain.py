"""Explanations by name that sum exactly to the score."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from rosenblatt.learner.explain import BIAS, explain_model, explain_row, names_or_numbers

finite = st.floats(-1e6, 1e6, allow_nan=False)


@settings(max_examples=100, deadline=None)
@given(weights=arrays(float, (1, 6), elements=finite), x=arrays(float, 5, elements=finite))
def test_the_parts_sum_exactly_to_the_score(weights, x):
    told = explain_row(weights, x, ["no", "yes"])
    assert math.fsum(part.contribution for part in told.parts) == told.score
    exact = sum((Fraction(part.contribution) for part in told.parts), Fraction(0))
    assert float(exact) == told.score  # the true sum, rounded once
    assert told.score == pytest.approx(float(weights[0, 1:] @ x + weights[0, 0]), rel=1e-9, abs=1e-3)


@settings(max_examples=50, deadline=None)
@given(weights=arrays(float, (3, 5), elements=finite), x=arrays(float, 4, elements=finite))
def test_sparse_dense_and_one_row_matrices_are_told_alike(weights, x):
    told = explain_row(weights, x, ["a", "b", "c"])
    assert told == explain_row(weights, x[None], ["a", "b", "c"])
    assert told == explain_row(weights, csr_array(x[None]), ["a", "b", "c"])
    assert told.label == ["a", "b", "c"][int(np.argmax(weights[:, 0] + weights[:, 1:] @ x))]


def test_one_class_against_another():
    weights = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 5.0], [0.0, 3.0, 0.0]])
    told = explain_row(weights, [2.0, 1.0], ["a", "b", "c"], ["u", "v"], label="c", against="b")
    assert (told.label, told.against, told.score) == ("c", "b", 6.0 - 5.0 - 1.0)
    assert [(part.feature, part.contribution) for part in told.parts] == [
        ("u", 6.0),
        ("v", -5.0),
        (BIAS, -1.0),
    ]
    other = explain_row(np.array([[1.0, 2.0, 0.0]]), [1.0, 9.0], ["no", "yes"], label="no")
    assert (other.label, other.against, other.score) == ("no", "yes", -3.0)


def test_a_model_is_told_by_its_largest_weights():
    ham, spam = explain_model(np.array([[0.5, 3.0, -1.0, 0.0, 2.0]]), ["ham", "spam"], list("abcd"), top=1)
    assert [each.feature for each in ham.features] == ["b"]
    assert [tuple(each) for each in spam.features] == [("a", 3.0)]
    assert "spam (bias 0.5)" in str(spam)
    (line,) = explain_model(np.array([[0.0, 1.0, -4.0]]), None, top=2)
    assert [each.feature for each in line.features] == ["x1", "x0"]


def test_bad_examples_are_named():
    weights = np.zeros((1, 3))
    for x, message in (
        ([1.0], r"one example of 2 features, got shape \(1,\)"),
        ([[1.0, 2.0], [1.0, 2.0]], "one example of 2 features"),
        ([1.0, np.inf], "value inf in column 1"),
    ):
        with pytest.raises(ValueError, match=message):
            explain_row(weights, x, [0, 1])
    with pytest.raises(ValueError, match="is not a class of the model"):
        explain_row(weights, [1.0, 2.0], [0, 1], label=7)
    with pytest.raises(ValueError, match="1 feature names were given for 2"):
        names_or_numbers(["only"], 2)
