"""The answer to "is it separable?" against an exact oracle, on every awkward kind of small data."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from tests.proofs.families import FAMILIES, generate
from tests.proofs.oracle import demands, touched

from rosenblatt.proofs import Inseparable, QuasiSeparable, Separable, Undecided, from_json, separability

GATES = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
CASES = 5100
CHUNKS = 10


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_answers_are_those_of_the_oracle_and_verify(chunk):
    seen = Counter()
    for seed in range(chunk, CASES, CHUNKS):
        case = generate(seed)
        rows = demands(case.X.tolist(), case.y.tolist(), case.fit_intercept)
        must_touch = touched(rows)
        X = sp.csr_array(case.X) if seed % 2 else case.X
        proof = separability(X, case.y, case.fit_intercept)
        expected = (
            Separable if not must_touch else Inseparable if len(must_touch) == len(rows) else QuasiSeparable
        )
        assert type(proof) is expected, (seed, case)
        assert proof.why_not(case.X, case.y, fit_intercept=case.fit_intercept) is None, (seed, case)
        if expected is QuasiSeparable:
            assert _demand_numbers(proof, case.y) == must_touch, (seed, case)
        if seed % 5 == 0:
            assert from_json(proof.to_json()) == proof
        seen[expected.__name__, case.family] += 1
    assert {family for _, family in seen} == set(FAMILIES)
    assert {answer for answer, _ in seen} == {"Separable", "QuasiSeparable", "Inseparable"}


def _demand_numbers(proof, y):
    """Number touched demands as the oracle does."""
    if not proof.touched_rivals:
        return set(proof.touched)
    k = len(proof.classes)
    codes = np.searchsorted(proof.classes, y)
    pairs = zip(proof.touched, proof.touched_rivals, strict=True)
    return {i * (k - 1) + rival - (rival > codes[i]) for i, rival in pairs}


def test_xor_is_inseparable_and_says_so_readably():
    proof = separability(GATES, [0, 1, 1, 0])
    assert type(proof) is Inseparable
    assert proof.rows == (0, 1, 2, 3)
    assert [str(weight) for weight in proof.weights] == ["1/4"] * 4
    assert proof.overlap is True
    text = str(proof)
    assert text.startswith("Inseparable. No hyperplane")
    assert (
        "A weighted average of rows of one class equals a weighted average of rows of the other, exactly"
        in text
    )
    assert text.count("1/4 on row") == 4


@pytest.mark.parametrize("labels", [[0, 0, 0, 1], [0, 1, 1, 1], [1, 1, 1, 0]])
def test_and_or_nand_are_separable_with_the_largest_margin(labels):
    proof = separability(GATES, labels)
    assert isinstance(proof, Separable)
    assert proof.verify(GATES, labels)
    assert len(proof.rows) == 3
    assert proof.bound >= 1
    assert "Separable. A hyperplane puts all 4 rows" in str(proof)


def test_labels_of_any_kind_name_the_classes():
    X = [[0.0], [1.0], [2.0], [3.0]]
    for y in (
        ["ham", "ham", "spam", "spam"],
        [False, False, True, True],
        [1.5, 1.5, 7.25, 7.25],
        [-1, -1, 1, 1],
    ):
        proof = separability(X, y)
        assert isinstance(proof, Separable)
        again = from_json(proof.to_json())
        assert again == proof
        assert again.verify(X, y)


def test_a_touching_separator_names_the_rows_that_every_one_touches():
    X, y = [[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]
    proof = separability(X, y)
    assert isinstance(proof, QuasiSeparable)
    assert isinstance(proof, Inseparable)
    assert proof.rows == (1, 2)
    assert proof.culprits == (1, 2)
    assert proof.verify(X, y)
    assert "touches 2 of them" in str(proof)
    assert np.sign(np.array(X) @ proof.w + proof.b).tolist() == [-1, 0, 0, 1]


def test_touching_may_be_left_open():
    X, y = [[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]
    proof = separability(X, y, touching=False)
    assert type(proof) is Inseparable
    assert proof.overlap is None
    assert proof.verify(X, y)


@pytest.mark.parametrize("seed", range(4))
def test_out_of_time_gives_a_valid_two_sided_bound(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 5))
    y = rng.integers(0, 2 + seed % 2, 300)
    proof = separability(X, y, time_limit=0.0)
    assert isinstance(proof, Undecided)
    assert proof.lower <= proof.upper
    assert proof.verify(X, y)
    assert from_json(proof.to_json()).verify(X, y)
    assert "between" in str(proof)


@pytest.mark.parametrize("limit", [0.0, 1e-5, 1e-4, 1e-3, 1e-2, 10.0])
@pytest.mark.parametrize("flipped", [0, 5])
def test_whenever_time_runs_out_what_is_said_is_true(limit, flipped):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4000, 12))
    f = X @ rng.standard_normal(12)
    X, y = X[np.abs(f) > 1e-3], (f > 0).astype(int)[np.abs(f) > 1e-3]
    y[:flipped] = 1 - y[:flipped]
    truth = separability(X, y)
    answer = separability(X, y, time_limit=limit)
    assert answer.verify(X, y)
    if isinstance(answer, Undecided):
        best = truth.margin if isinstance(truth, Separable) else 0.0
        assert answer.lower <= best + 1e-12
        assert answer.upper >= best - 1e-12
    else:
        assert isinstance(answer, Separable) == isinstance(truth, Separable)


def test_the_bounds_of_undecided_hold_the_true_margin():
    rng = np.random.default_rng(7)
    X = np.vstack([rng.standard_normal((200, 3)) + 4, rng.standard_normal((200, 3)) - 4])
    y = np.repeat([1, 0], 200)
    truth = separability(X, y)
    best = truth.margin
    from rosenblatt.proofs.decision import _hyperplanes
    from rosenblatt.proofs.examples import as_examples
    from rosenblatt.proofs.solvers.clock import Clock
    from rosenblatt.proofs.solvers.cone import Cone
    from rosenblatt.proofs.solvers.perceptron import ActivePerceptron
    from rosenblatt.proofs.statements import two_sided_statement

    cone = Cone(as_examples(X, y))
    perceptron = ActivePerceptron(cone)
    perceptron.run(Clock(None))
    bounds = two_sided_statement(cone, _hyperplanes(cone, perceptron.w), np.array([0, 399]), np.ones(2))
    assert bounds["lower"] <= best <= bounds["upper"]


def test_thin_margins_are_decided_exactly():
    rng = np.random.default_rng(3)
    w = np.array([1.0, -2.0, 3.0, 1.0])
    X = rng.standard_normal((400, 4))
    y = (X @ w > 0).astype(int)
    v = np.array([2.0, 1.0, 0.0, 0.0])  # orthogonal to w
    thin = 2.0**-50
    nudge = np.array([thin, 0.0, 0.0, 0.0])
    X = np.vstack([X, v + nudge, -v + nudge])
    y = np.append(y, [1, 1])
    proof = separability(X, y, fit_intercept=False)
    assert isinstance(proof, Separable)
    assert proof.verify(X, y, fit_intercept=False)
    X[-2:, 0] -= 2 * thin
    flipped = separability(X, y, fit_intercept=False)
    assert isinstance(flipped, Inseparable) != isinstance(flipped, Separable)
    assert flipped.verify(X, y, fit_intercept=False)


def test_float32_and_integers_are_taken_as_they_are():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 6)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    for data in (X, sp.csr_array(X), (X * 10).astype(np.int16)):
        proof = separability(data, y)
        assert proof.verify(data, y)


def test_sparse_data_are_never_made_dense():
    n, d = 2000, 200_000
    rng = np.random.default_rng(0)
    X = sp.random_array((n, d), density=5 / d, format="csr", random_state=rng)
    y = rng.integers(0, 2, n)
    X = sp.csr_array(sp.hstack([X, sp.csr_array(np.where(y, 1.0, -1.0)[:, None])]))
    proof = separability(X, y)  # dense would be 3.2 GB
    assert isinstance(proof, Separable)
    assert proof.verify(X, y)
