"""The time limit: no call that cannot be interrupted starts unless its predicted seconds are left.

Time is simulated here: it passes only inside calls, by what is predicted for each, and no clock of the machine is read.
"""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proofs.test_wide import text_like, with_contradiction

from rosenblatt.proofs import Separable, Undecided, hard_margin, kernel_separability, separability, solve_cone
from rosenblatt.proofs import decision as decision_module
from rosenblatt.proofs import kernel as kernel_module
from rosenblatt.proofs import largest_margin as margin_module
from rosenblatt.proofs.examples import as_examples
from rosenblatt.proofs.solvers import facial_reduction, refinement, search, wolfe
from rosenblatt.proofs.solvers.clock import Clock
from rosenblatt.proofs.solvers.cone import Cone
from rosenblatt.proofs.solvers.perceptron import ActivePerceptron
from rosenblatt.proofs.statements import statement_cost


class Simulated:
    """Time that passes only in the calls that are watched, each by its predicted seconds."""

    def __init__(self, monkeypatch):
        self.now, self.calls, self.limit = 0.0, [], None
        for module in (decision_module, margin_module, kernel_module):
            monkeypatch.setattr(module, "Clock", lambda limit: Clock(limit, lambda: self.now))
        watch = partial(self._watch, monkeypatch)
        watch(ActivePerceptron, "_learn", lambda p, ids, n: n * p._cone.pass_cost * len(ids) / p._seen.size)
        watch(Cone, "exact_signs", lambda cone, _: cone.pass_cost)
        watch(Cone, "prices", lambda cone, _: cone.pass_cost)
        watch(Clock, "run", lambda clock, seconds, _: seconds)
        for module in (search, facial_reduction):
            watch(module, "contradictions", lambda cone: 2 * cone.pass_cost)
            watch(module, "reduced", lambda cone: 2 * cone.pass_cost)
        for module in (wolfe, refinement):
            watch(module, "working_rows", lambda cone, ids: wolfe.writing_cost(len(ids), cone))
        watch(decision_module, "margin_statement", lambda examples, _: statement_cost(Cone(examples)))
        watch(margin_module, "hard_margin_statement", lambda cone, *_: statement_cost(cone))
        watch(decision_module, "two_sided_statement", self._bounds_cost)

    def _watch(self, monkeypatch, owner, name, cost):
        function = getattr(owner, name)

        def watched(*arguments):
            seconds = cost(*arguments)
            self.calls.append((name, seconds, self.limit - self.now))
            answer = function(*arguments)
            self.now += seconds
            return answer

        monkeypatch.setattr(owner, name, watched)

    @staticmethod
    def _bounds_cost(cone, _, ids, weights):
        values = len(ids) * cone.width * cone.k if len(ids) > 1 else 0  # one row is always summed
        return statement_cost(cone) + search.SUM_TIME * values

    def run(self, limit, call):
        """Answer within simulated seconds; return the answer and the calls that were watched."""
        self.now, self.calls, self.limit = 0.0, [], limit
        return call(limit), self.calls


@pytest.fixture(scope="module")
def simulated():
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield Simulated(monkeypatch)


@st.composite
def problems(draw):
    """Draw data of every kind that the portfolio tells apart."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    kind = draw(st.sampled_from(["wide", "contradiction", "separable", "noise", "thin", "three"]))
    if kind in ("wide", "contradiction"):
        X, y = text_like(draw(st.integers(20, 120)), draw(st.integers(50, 600)), 8, int(rng.integers(99)))
        return with_contradiction(X, y) if kind == "contradiction" else (X, y)
    X = rng.standard_normal((draw(st.integers(20, 400)), draw(st.integers(1, 8))))
    scores = X @ rng.standard_normal(X.shape[1])
    y = (scores > 0).astype(np.int64)
    if kind == "thin":
        X = np.vstack([X, X[0] + 2.0**-45, -X[0]])
        y = np.append(y, [y[0], y[0]])
    if kind == "noise":
        y = np.where(rng.random(len(y)) < 0.1, 1 - y, y)
    return X, rng.integers(0, 3, len(y)) if kind == "three" else y


WAYS = {
    "separability": lambda X, y, limit: separability(X, y, time_limit=limit),
    "solve_cone": lambda X, y, limit: solve_cone(X, limit),
    "hard_margin": lambda X, y, limit: hard_margin(X, y, time_limit=limit),
}


@pytest.mark.parametrize("way", WAYS)
@given(problem=problems(), share=st.floats(0, 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_call_starts_that_is_predicted_to_take_longer_than_the_time_left(way, problem, share, simulated):
    X, y = problem

    def answered(limit):
        try:
            return WAYS[way](X, y, limit)
        except ValueError as error:
            assert way == "hard_margin"  # there is none, or none was found in time
            return error

    _, calls = simulated.run(1e9, answered)
    needed = sum(seconds for _, seconds, _ in calls)
    limit = share * needed
    answer, calls = simulated.run(limit, answered)
    overdrawn = [call for call in calls if call[1] > call[2] * (1 + 1e-9) + 1e-12]
    if limit < statement_cost(Cone(as_examples(X, y))) * 1.01:
        overdrawn = overdrawn[1:]  # bounds are stated however short the limit is
    assert not overdrawn
    if not isinstance(answer, ValueError):
        assert answer.why_not(X, None if way == "solve_cone" else y) is None


def test_too_short_a_limit_is_spent_on_the_bounds_alone(simulated):
    X, y = text_like(100, 500)
    for limit in (0.0, statement_cost(Cone(as_examples(X, y)))):
        answer, calls = simulated.run(limit, lambda limit: separability(X, y, time_limit=limit))
        assert isinstance(answer, Undecided)
        assert [name for name, _, _ in calls] == ["two_sided_statement"]
        assert answer.verify(X, y)


def test_a_clean_sweep_that_cannot_be_proved_in_time_is_stated_as_a_lower_bound(simulated):
    X, y = text_like(300, 3000)
    cone = Cone(as_examples(X, y))
    _, calls = simulated.run(1e9, lambda limit: separability(X, y, time_limit=limit))
    names = [name for name, _, _ in calls]
    sweeps = names.index("exact_signs")
    assert set(names[:sweeps]) == {"_learn"}
    limit = sum(seconds for _, seconds, _ in calls[:sweeps]) + statement_cost(cone) + cone.pass_cost / 2
    answer, _ = simulated.run(limit, lambda limit: separability(X, y, time_limit=limit))
    assert isinstance(answer, Undecided)
    assert answer.lower > 0
    assert answer.verify(X, y)
    answer, _ = simulated.run(limit + 2 * cone.pass_cost, lambda limit: separability(X, y, time_limit=limit))
    assert isinstance(answer, Separable)


def test_the_gram_matrix_counts_against_the_limit(simulated, monkeypatch):
    gram = kernel_module.exact_gram

    def slow(*arguments):
        simulated.now += 5.0
        return gram(*arguments)

    monkeypatch.setattr(kernel_module, "exact_gram", slow)
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    for limit, kind in ((4.0, Undecided), (6.0, Separable)):
        answer, _ = simulated.run(limit, lambda limit: kernel_separability(X, y, time_limit=limit))
        assert isinstance(answer.proof, kind)
