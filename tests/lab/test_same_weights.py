"""The lab, the ES module in Chromium and the library have the same weights, step by step."""

import csv
from itertools import product

import numpy as np
from tests.web.test_perceptron_module import STEP_BY_STEP, module_url

from rosenblatt import rules
from rosenblatt.lab.learners import PlaygroundState
from rosenblatt.lab.playground import PlaygroundSession
from rosenblatt.learner import Learner

RUNS = 100
STEPS = 60
SOME = (0, 7, 14, 21, 28, 35)  # runs that are also stepped on a page: every rule, both orders
PLACES = np.array([[0.5, 1.0], [-2.0, 0.3], [3.0, -2.5]])  # at which the vote is asked


def recorded():
    """A hundred states of the lab that differ in data, rule, learning rate, order, and number of points."""
    kinds = product(
        ("rosenblatt", "margin", "passive-aggressive"),
        (1.0, 0.25),
        ("given", "shuffled"),
        ("overlapping", "separable", "xor", "moons", "circles"),
        (12, 23),
    )
    states = [
        PlaygroundState(data=data, n=n, noise=0.7, margin=0.1, rule=rule, eta=eta, order=order, seed=seed)
        for seed, (rule, eta, order, data, n) in enumerate(kinds)
    ]
    return [states[k * len(states) // RUNS] for k in range(RUNS)]


def in_the_module(page, session):
    """Return the arguments of the module's run."""
    state, run = session.state, session.training
    return {
        "rows": session.X.tolist(),
        "labels": session.y.tolist(),
        "rule": state.rule,
        "parameters": {"eta": state.eta} if "eta" in rules.BY_NAME[state.rule]._fields else {},
        "orders": [[run.row_at(k * run.n + i) for i in range(run.n)] for k in range(STEPS // run.n + 1)],
        "points": PLACES.tolist(),
        "examples": STEPS,
    }


def test_a_hundred_runs_of_lab_module_and_library_are_equal_at_every_step(browser):
    page = browser.new_page()
    sessions = [PlaygroundSession(state) for state in recorded()]
    assert len({session.link for session in sessions}) == RUNS
    orders = STEP_BY_STEP.replace("intercept, points", "intercept, orders, points").replace(
        "parameters, intercept }", "parameters, intercept, orders }"
    )
    module = page.evaluate(orders, [module_url(), [in_the_module(page, each) for each in sessions]])
    page.close()
    moves = 0
    for session, found in zip(sessions, module, strict=True):
        run, state = session.training, session.state
        library = Learner(rules.resolve(state.rule, state.eta))
        library.start_from(np.zeros((1, 2)), 0.0, np.array([-1, 1]))
        steps = 0
        while steps < STEPS and not session.finished and steps < len(found["last"]):
            row = run.row_at(run.clock)
            session.step()
            library.learn(session.X[[row]], session.y[[row]], classes=[-1, 1])
            for name in ("last", "averaged"):
                assert np.array_equal(run.weights(name), library.weights(name)[0]), session.link
                np.testing.assert_allclose(found[name][steps], run.weights(name), rtol=1e-9, atol=1e-12)
            votes = run.learner.scores(PLACES, "voted")
            assert np.array_equal(votes, library.scores(PLACES, "voted"))
            np.testing.assert_allclose(found["voted"][steps], votes, rtol=1e-9, atol=1e-12)
            assert found["mistakes"][steps] == run.learner.mistakes == library.mistakes
            steps += 1
        if state.rule != "passive-aggressive":  # whose rounding decides whether a pass is clean
            assert steps == len(found["last"])
        assert steps >= min(STEPS, 2 * run.n)
        moves += run.learner.updates
    assert moves > 10 * RUNS


def test_the_pages_ledger_has_the_weights_of_the_session(visit, tmp_path):
    states = recorded()
    visitor = visit()
    for number in SOME:
        session = PlaygroundSession(states[number])
        page = visitor.open(f"/?{session.link}")
        for _ in range(3):
            page.get_by_role("button", name="Update", exact=True).click()
            session.update()
            visitor.until(clock=session.state.clock)
        page.get_by_role("button", name="Epoch", exact=True).click()
        session.epoch()
        visitor.until(clock=session.state.clock)
        with page.expect_download() as download:
            page.get_by_role("button", name="Ledger as CSV").click()
        path = tmp_path / f"{number}.csv"
        download.value.save_as(path)
        with path.open() as file:
            rows = list(csv.DictReader(file))
        lines = session.training.lines()
        assert len(rows) == len(lines)
        for row, line in zip(rows, lines, strict=True):
            assert [float(row[name]) for name in ("b", "w_x1", "w_x2")] == list(line.weights)
