"""Many more columns than rows: answers, certificates, memory and the time limit."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proofs.oracle import demands, touched

from rosenblatt.proofs import (
    Inseparable,
    QuasiSeparable,
    Separable,
    Undecided,
    exact,
    separability,
    solve_cone,
)
from rosenblatt.proofs import decision as decision_module
from rosenblatt.proofs.examples import as_examples
from rosenblatt.proofs.solvers import combination, facial_reduction, refinement, simplex, wolfe
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.cone import Cone
from rosenblatt.proofs.solvers.pure_columns import reduced


def text_like(n, d, words=40, seed=0):
    """Return counts of words drawn by Zipf's law, and labels that a hyperplane gives."""
    rng = np.random.default_rng(seed)
    lengths = rng.poisson(words, n) + 1
    chance = np.cumsum(1 / np.arange(1, d + 1) ** 1.05)
    drawn = np.searchsorted(chance / chance[-1], rng.random(lengths.sum()))
    counts = np.ones(len(drawn))
    X = sp.csr_array((counts, np.minimum(drawn, d - 1), np.append(0, np.cumsum(lengths))), shape=(n, d))
    X.sum_duplicates()
    scores = X @ rng.standard_normal(d)
    return X, (scores > np.median(scores)).astype(np.int64)


def with_contradiction(X, y, seed=0):
    """Append two rows of each class whose sums are equal: ``a + b`` and ``c + d`` against ``a + c`` and ``b + d``."""
    a, b, c, d = (X[[i]] for i in np.random.default_rng(seed).choice(X.shape[0], 4, replace=False))
    return sp.csr_array(sp.vstack([X, a + b, c + d, a + c, b + d])), np.append(y, [1, 1, 0, 0])


@st.composite
def wide(draw):
    """Draw a small sparse matrix with more columns than rows, and labels."""
    n, d = draw(st.integers(2, 7)), draw(st.integers(4, 14))
    values = st.sampled_from([0.0] * 5 + [1.0, 1.0, 2.0, -1.0, 0.5])
    X = np.array(draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n)))
    labels = draw(st.lists(st.integers(0, draw(st.integers(1, 2))), min_size=n, max_size=n))
    if draw(st.booleans()):
        X[-1] = X[0]
    if n >= 4 and draw(st.booleans()):
        X[-1] = X[0] + X[1] - X[2]
    return X, np.array(labels), draw(st.booleans())


@given(wide())
@settings(max_examples=120, deadline=None, derandomize=True)
def test_wide_answers_are_those_of_the_oracle(case):
    X, y, fit_intercept = case
    rows = demands(X.tolist(), y.tolist(), fit_intercept)
    must_touch = touched(rows)
    expected = (
        Separable if not must_touch else Inseparable if len(must_touch) == len(rows) else QuasiSeparable
    )
    for data in (sp.csr_array(X), X):
        proof = separability(data, y, fit_intercept)
        assert type(proof) is expected
        assert proof.why_not(X, y, fit_intercept=fit_intercept) is None


@given(wide())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_columns_of_one_sign_settle_only_rows_that_are_in_no_contradiction(case):
    X, y, fit_intercept = case
    if len(set(y.tolist())) > 2:
        y = np.minimum(y, 1)
    cone = Cone(as_examples(sp.csr_array(X), y, fit_intercept))
    reduction = reduced(cone)
    if reduction is None:
        return
    must_touch = touched(demands(X.tolist(), y.tolist(), fit_intercept))
    assert must_touch <= set(reduction.rows.tolist())
    w = reduction.lifted([Fraction(0)] * (0 if reduction.core is None else reduction.core.dim))
    signs = cone.exact_signs(w)
    assert (np.delete(signs, reduction.rows) == 1).all()
    assert (signs[reduction.rows] == 0).all()


@pytest.mark.parametrize("shape", [(300, 4000), (1200, 17600)])
def test_text_is_separated_in_memory_of_the_size_of_the_data(shape):
    X, y = text_like(*shape)
    separability(X, y)  # compiles
    tracemalloc.start()
    proof = separability(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(proof, Separable)
    assert proof.verify(X, y)
    assert peak < 1000 * X.shape[1] + 100 * X.nnz  # dense rows would take 8 · rows · columns


def test_a_contradiction_among_thousands_of_words_is_exact():
    X, y = with_contradiction(*text_like(800, 6000))
    proof = separability(X, y, touching=False)
    assert isinstance(proof, Inseparable)
    assert len(proof.culprits) == 4
    assert proof.verify(X, y)


def test_many_classes_of_text():
    X, _ = text_like(300, 3000)
    y = np.random.default_rng(1).integers(0, 4, 300)
    proof = separability(X, y)
    assert isinstance(proof, Separable)
    assert proof.verify(X, y)


def test_wide_cone_programs():
    X, y = text_like(200, 3000)
    A = sp.csr_array(sp.diags_array(np.where(y, 1.0, -1.0)) @ X)
    assert solve_cone(A).verify(A)
    B = sp.csr_array(sp.vstack([A, -(A[[3]] + A[[4]])]))
    answer = solve_cone(B)
    assert type(answer).__name__ == "Infeasible"
    assert answer.verify(B)


class Ticks:
    """A clock whose time passes by one at each look."""

    def __init__(self):
        self.time = 0.0

    def __call__(self):
        self.time += 1.0
        return self.time


@pytest.mark.parametrize("case", ["wide", "contradiction", "thin", "flipped", "three classes"])
def test_whenever_the_clock_runs_out_the_answer_holds(case, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = text_like(60, 300, words=8)
    if case == "contradiction":
        X, y = with_contradiction(X, y)
    elif case != "wide":
        X = rng.standard_normal((60, 4))
        y = (X[:, 0] > 0).astype(np.int64)
        X[:2], y[:2] = [[1.0, 2.0, 0.0, 1.0], [-1.0, -2.0, 2.0**-45, -1.0]], [1, 1]
        y = np.where(rng.random(60) < 0.2, 1 - y, y) if case == "flipped" else y
        y = rng.integers(0, 3, 60) if case == "three classes" else y
    kinds = set()
    for limit in [0, 1, 2, 3, 5, 8, 13, 21, 50, 10_000]:
        monkeypatch.setattr(decision_module, "Clock", lambda _, limit=limit: Clock(limit, Ticks()))
        answer = separability(X, y)
        assert answer.why_not(X, y) is None
        kinds.add(type(answer))
        if isinstance(answer, Undecided):
            assert answer.lower <= answer.upper
    assert kinds - {Undecided}  # given time, it is decided


def test_no_exact_call_starts_that_is_predicted_to_take_longer_than_the_time_left(monkeypatch):
    left = 0.01
    started = []

    def watched(function, cost):
        def run(matrix, *arguments):
            started.append(cost(matrix))
            return function(matrix, *arguments)

        return run

    solve = watched(exact.solve_integers, lambda matrix: exact.solve_cost(len(matrix), exact.longest(matrix)))
    pivots = watched(exact.pivots, lambda matrix: exact.pivots_cost(len(matrix), len(matrix[0])))
    for module in (combination, simplex, facial_reduction):
        monkeypatch.setattr(module, "pivots", pivots)
    for module in (combination, simplex, exact):  # `exact.solve` calls it too
        monkeypatch.setattr(module, "solve_integers", solve)
    rows = wolfe.working_rows
    for module in (wolfe, refinement):
        monkeypatch.setattr(
            module,
            "working_rows",
            lambda cone, ids: started.append(wolfe.writing_cost(len(ids), cone)) or rows(cone, ids),
        )
    monkeypatch.setattr(decision_module, "Clock", lambda _: Clock(left, lambda: 0.0))  # time stands still
    rng = np.random.default_rng(0)
    for n, d in ((40, 3), (400, 20), (900, 60), (600, 150)):
        X, y = rng.standard_normal((n, d)), rng.integers(0, 2, n)
        answer = separability(X, y)
        assert answer.verify(X, y)
        assert isinstance(answer, (Inseparable, Undecided))
    assert started  # the small one was solved
    assert max(started) <= left


def test_the_simplex_looks_at_the_clock_before_every_solve(monkeypatch):
    """Rows with negative weights are left out one by one, each time with a solve; that too takes time."""
    solves = []
    solve = simplex.solve_integers
    monkeypatch.setattr(simplex, "solve_integers", lambda *system: solves.append(1) or solve(*system))
    A = np.random.default_rng(0).standard_normal((60, 30))
    cone = Cone(as_examples(A, np.ones(60, dtype=np.int64), False))
    start = np.arange(31)
    assert simplex.exact_simplex(cone, start, Clock(None)) is not None
    assert len(solves) > 8
    solves.clear()
    clock = Clock(3.5, lambda: float(len(solves)))  # a solve takes a second
    assert simplex.exact_simplex(cone, start, clock) is None
    assert len(solves) <= 4


def test_highs_is_given_the_time_that_is_left(monkeypatch):
    limits = []
    solve = refinement.BoxProgram.solve
    monkeypatch.setattr(
        refinement.BoxProgram, "solve", lambda self, limit: limits.append(limit) or solve(self, limit)
    )
    A = np.array([[1.0, 2.0**-48], [-1.0, 2.0**-49], [1.0, 1.0]])
    cone = Cone(as_examples(A, np.ones(3, dtype=np.int64), False))
    refinement.refinement_search(cone, np.arange(3), Clock(5.0, lambda: 0.0))
    assert limits
    assert max(limits) <= 5.0
