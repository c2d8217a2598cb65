"""Models equal those recorded before the core was rebuilt, in every layout and one example at a time."""

import json

import numpy as np
import pytest
from tests.golden.models import (
    FROM_LEDGER,
    RECORD,
    ROUNDING,
    data,
    examples_of,
    figures,
    fitted,
    kernel_cases,
    kernel_figures,
    layouts,
    linear_cases,
    rounded,
)

from rosenblatt.streams.online import OnlineLearner

GOLDEN = json.loads(RECORD.read_text(encoding="utf-8"))
LINEAR, KERNEL = linear_cases(), kernel_cases()


def assert_same(own, golden, rtol):
    """Compare counts and text exactly, and numbers with a tolerance."""
    assert own.keys() == golden.keys()
    for key, value in golden.items():
        if isinstance(value, dict):
            assert_same(own[key], value, rtol)
        elif isinstance(value, list) and value and isinstance(value[0], float):
            numbers, own_numbers = (
                [each for each in values if not isinstance(each, str)] for values in (value, own[key])
            )
            np.testing.assert_allclose(own_numbers, numbers, rtol=rtol, atol=rtol, err_msg=key)
            text, own_text = (
                [each for each in values if isinstance(each, str)] for values in (value, own[key])
            )
            assert own_text == text, key
        elif isinstance(value, float):
            assert own[key] == pytest.approx(value, rel=rtol), key
        else:
            assert own[key] == value, key


def test_every_recorded_model_can_still_be_trained():
    """A rule that is added later has no record and needs none."""
    assert set(GOLDEN) <= {*LINEAR, *(f"kernel {key} {k}" for key in KERNEL for k in (2, 3))}


def has_rounding_steps(model):
    """Whether rounding decided some updates, and with them how long weights survived.

    Passive-aggressive moves a row to a margin of exactly 1. When the row comes again at once, as a weight of 2 has it,
    its loss is 0 up to rounding, which differs with the number of SIMD lanes.
    """
    ledger = model.learner_.ledger
    return ledger is not None and bool((np.abs(model.ledger_["tau"]) <= ROUNDING).any())


@pytest.mark.parametrize("key", [key for key in LINEAR if key in GOLDEN])
def test_linear_models_are_as_recorded_in_every_layout(key):
    case = LINEAR[key]
    X, y, weight = examples_of(case)
    rtol = 1e-9 if case["dtype"] == "float64" else 1e-4
    for layout, rows in layouts(X).items():
        if case["dtype"] == "float32" and layout == "csr int64":
            continue
        model = fitted(case, rows, y, weight)
        own, golden = figures(model, rows), GOLDEN[key]
        if case["weighted"] and has_rounding_steps(model):
            own, golden = ({k: v for k, v in each.items() if k not in FROM_LEDGER} for each in (own, golden))
        if case["integer"]:  # every step is: weights of small dyadic numbers, which twelve digits hold
            own = rounded(own)
            assert own["last"] == golden["last"], layout
            assert own["ledger"] == golden["ledger"], layout
        assert_same(own, golden, rtol)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("key", [key for key in KERNEL if f"kernel {key} 2" in GOLDEN])
def test_kernel_models_are_as_recorded(key, classes):
    X, y, _ = data(classes, integer=False)
    assert_same(kernel_figures(KERNEL[key].fit(X, y), X), GOLDEN[f"kernel {key} {classes}"], 1e-9)


ONLINE = [
    key
    for key, case in LINEAR.items()
    if key in GOLDEN
    and case["dtype"] == "float64"
    and case["multi_class"] == "joint"
    and case["classes"] == 2
    and not case["weighted"]
]


@pytest.mark.parametrize("key", ONLINE)
def test_one_example_at_a_time_gives_the_recorded_weights(key):
    case = LINEAR[key]
    X, y, _ = examples_of(case)
    learner = OnlineLearner("last", rule=case["rule"])
    learner.add_classes([0, 1])
    names = [f"x{j}" for j in range(X.shape[1])]
    for _ in GOLDEN[key]["mistakes"]:
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            learner.learn_one(dict(zip(names, row, strict=True)), label)
    weights = learner.learner.weights("last")
    own = [weights[0, 0], *(weights[0, 1 + learner.names.index(name)] for name in names)]
    np.testing.assert_allclose(own, GOLDEN[key]["last"], rtol=1e-9, atol=1e-9)
