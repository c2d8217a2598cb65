"""What the page shows is the library's: the same ledger, the same weights, at every time, forwards and back."""

import csv
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import BatchPerceptron, FeatureMap, KernelPerceptron, LogisticRegression, Perceptron, rules
from rosenblatt.lab.insight import Insight, curves, error_curve
from rosenblatt.lab.learners import MOST_COSTLY, SPACES, PlaygroundState, Space, Training
from rosenblatt.lab.playground import PlaygroundSession
from rosenblatt.lab.points import arrays
from rosenblatt.proofs import Inseparable, Separable, separability

FIELDS = ["tau", "clock", "score", "sqnorm"]


def training(**values):
    state = PlaygroundState(**values)
    return Training(state, *arrays(state.examples()))


def library(run):
    """The library's own estimator on the same data, as a user would call it."""
    state = run.state
    told = {
        "rule": rules.resolve(state.rule, state.eta),
        "hypothesis": state.hypothesis,
        "max_iter": run.epoch,
        "shuffle": state.order == "shuffled",
        "random_state": state.seed,
    }
    if run.space.kernel:
        kernel = {"kernel": "rbf", "gamma": 1.0} if run.space.kind == "rbf" else {"degree": run.space.degree}
        return KernelPerceptron(**kernel, **told).fit(run.X, run.y)
    Z = (
        run.X
        if run.space.is_plane
        else FeatureMap(run.space.kind, degree=run.space.degree).fit_transform(run.X)
    )
    if not state.takes_start:
        return Perceptron(**told).fit(Z, run.y)
    start = [[state.start[1], state.start[2], *[0.0] * (Z.shape[1] - 2)]]
    return Perceptron(**told).fit(Z, run.y, coef_init=start, intercept_init=[state.start[0]])


@pytest.mark.parametrize("order", ["given", "shuffled"])
@pytest.mark.parametrize("space", SPACES)
def test_ledger_and_scores_are_those_of_the_library(space, order):
    run = training(data="moons", n=50, noise=0.6, space=space, order=order, seed=3, clock=50 * 6)
    model = library(run)
    lines, theirs = run.lines(), model.ledger_
    assert [line.row for line in lines] == theirs["row"].tolist()
    for name in FIELDS:
        mine = [getattr(line, name) for line in lines]
        np.testing.assert_allclose(mine, theirs[name], rtol=1e-9, atol=1e-9)
    assert run.learner.mistakes == model.n_mistakes_
    assert run.converged == model.converged_
    grid = np.random.default_rng(0).uniform(-3, 3, (40, 2))
    mapped = grid
    if not run.space.kernel and not run.space.is_plane:
        mapped = FeatureMap(run.space.kind, degree=run.space.degree).fit(run.X).transform(grid)
    np.testing.assert_allclose(run.scores(grid), model.decision_function(mapped), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("hypothesis", ["last", "averaged", "survivor", "pocket", "random"])
def test_every_hypothesis_has_the_weights_of_the_library(hypothesis):
    run = training(data="overlapping", n=40, noise=0.7, hypothesis=hypothesis, order="shuffled", clock=40 * 5)
    model = library(run)
    weights = run.weights()
    np.testing.assert_allclose(weights[1:], model.coef_[0], rtol=1e-9)
    np.testing.assert_allclose(weights[0], model.intercept_[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", list(rules.BY_NAME))
def test_every_rule_runs_as_in_the_library(rule):
    eta = getattr(rules.BY_NAME[rule](), "eta", 1.0)
    run = training(data="overlapping", n=30, rule=rule, eta=eta, clock=90, start=(0.5, -1.0, 2.0))
    if not isinstance(run.learner.geometry, rules.Euclidean):
        assert run.lines() == []
    assert run.scores(run.X).shape == (30,)
    assert any(run.state.first_weights) == (rule not in ("scinol", "scinol-hinge"))
    model = library(run)
    np.testing.assert_allclose(run.weights()[1:], model.coef_[0], rtol=1e-9)
    assert run.learner.mistakes == model.n_mistakes_


@given(
    clocks=st.lists(st.integers(0, 130), min_size=1, max_size=6),
    space=st.sampled_from(["plane", "products", "kernel-poly-2"]),
)
@settings(max_examples=25, deadline=None)
def test_any_way_to_a_time_shows_the_same(clocks, space):
    walked = training(data="xor", n=20, noise=0.4, space=space, order="shuffled")
    for clock in clocks:
        walked.to(clock)
    straight = training(data="xor", n=20, noise=0.4, space=space, order="shuffled", clock=clocks[-1])
    assert walked.clock == straight.clock
    assert [line[:3] for line in walked.lines()] == [line[:3] for line in straight.lines()]
    grid = np.random.default_rng(0).uniform(-3, 3, (9, 2))
    mine, theirs = walked.scores(grid), straight.scores(grid)
    assert (mine is None and theirs is None) or np.allclose(mine, theirs)


@pytest.mark.parametrize("rule", ["rosenblatt", "passive-aggressive", "arow"])
def test_an_update_is_the_next_one(rule):
    session = PlaygroundSession(PlaygroundState(n=40, margin=0.1, rule=rule, order="shuffled"))
    seen = 0
    while not session.finished and seen < 30:
        before = session.training.learner.updates
        session.update()
        after = session.training.learner.updates
        assert after == before + 1 or session.finished or rule == "arow"
        if after > before and rule != "arow":
            assert session.training.last_update is not None
        seen += 1
    assert rule == "arow" or session.training.converged or seen == 30


def test_back_undoes_steps_of_any_size():
    session = PlaygroundSession(PlaygroundState(data="overlapping", n=20, noise=0.6))
    links = [session.link]
    for act in ("step", "update", "epoch", "step"):
        getattr(session, act)()
        links.append(session.link)
    while links:
        assert session.link == links.pop()
        session.back()
    assert session.training.clock == 0


def test_a_state_from_a_link_is_the_state_that_was_left():
    session = PlaygroundSession(PlaygroundState(n=30, order="shuffled"))
    session.edit("add", x=1.234, y=-2.0, label=-1)
    session.edit("flip", i=3)
    session.edit("move", i=0, x=9.0, y=0.5)
    session.edit("erase", i=1)
    session.update()
    session.update()
    again = PlaygroundSession(session.state)
    assert again.points == session.points
    assert again.training.lines() == session.training.lines()
    assert again.scene() == session.scene()
    assert session.points[0].x == 400  # what is dragged out stays inside


def test_the_lemmas_hold_along_the_run():
    for space in ("plane", "squares", "kernel-rbf"):
        run = training(n=40, margin=0.15, order="shuffled", space=space, clock=8000)
        insight = Insight(space, run.X, run.y)
        told = curves(run, insight)
        assert run.converged
        assert run.learner.mistakes <= insight.best.bound
        assert (told.dot >= told.floor - 1e-9).all()
        assert (told.sqnorm <= told.ceiling + 1e-9).all()
        assert told.criterion[-1] == pytest.approx(0.0, abs=1e-12)


def test_is_it_separable_in_every_space():
    X, y = arrays(PlaygroundState(data="circles", noise=0.2).examples())
    assert isinstance(Insight("plane", X, y).proof, Inseparable)
    for space in ("squares", "kernel-poly-2", "kernel-rbf"):
        insight = Insight(space, X, y)
        assert isinstance(insight.proof, Separable)
        assert insight.answer().startswith("Yes in this space: largest possible margin")
    assert Insight("plane", X[:0], y[:0]).answer() == "There are no examples yet."


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"n": 2, "test": 80}, "Every point is held out for the test: put more points, or hold out fewer."),
        ({"n": 1, "learner": "logistic"}, "Needs examples of both classes."),
    ],
)
def test_a_state_that_cannot_be_stepped_says_why(values, said):
    session = PlaygroundSession(PlaygroundState(**values))
    assert session.finished
    assert session.status() == said


@pytest.mark.parametrize(
    "values",
    [
        {"data": "none"},
        {"data": "own", "points": arrays},
        {"n": 1},
        {"n": 0},
        {"rule": "widrow-hoff", "eta": 1.0, "n": 60, "clock": 6000},
        {"rule": "arow", "hypothesis": "voted", "clock": 20},
        {"learner": "max-margin", "data": "overlapping"},
        {"learner": "centroid", "n": 1},
        {"hypothesis": "pocket", "clock": 7},
    ],
)
def test_odd_states_show_something(values):
    if values.get("points") is arrays:
        values["points"] = PlaygroundState(n=3).examples()[:1] * 3  # one place, three times
    session = PlaygroundSession(PlaygroundState(**values, proof=True, beside=("perceptron", "centroid")))
    for act in ("step", "update", "epoch", "back", "reset"):
        getattr(session, act)()
    assert session.scene()["box"]
    assert session.status()
    assert len(session.beside()) == 2


@pytest.mark.parametrize("name", ["kernel-poly-2", "kernel-poly-3", "kernel-poly-4", "kernel-rbf"])
def test_embedded_rows_have_the_products_of_the_kernel(name):
    space = Space.named(name)
    X = np.random.default_rng(0).uniform(-3, 3, (40, 2))
    E = space.embedded(X)
    np.testing.assert_allclose(E @ E.T, space.gram(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("clock", [1, 4, 300])
@pytest.mark.parametrize("learner", ["batch", "logistic"])
def test_iterations_are_those_of_the_library(learner, clock):
    state = PlaygroundState(learner=learner, data="overlapping", noise=0.6, eta=0.5, test=30, seed=2)
    session = PlaygroundSession(state)
    assert session.status().startswith("Nothing learned yet")
    assert session.losses() is None
    for _ in range(min(clock, 5)):
        session.step()
    if clock > 5:
        session.advance(20 * (clock - session.state.clock))
    X, y = session.X[session.train], session.y[session.train]
    model = {
        "batch": lambda: BatchPerceptron(eta=0.5, max_iter=clock),
        "logistic": lambda: LogisticRegression(C=10.0, max_iter=clock),
    }[learner]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    np.testing.assert_allclose(session.fitted.weights(), [*model.intercept_, *model.coef_[0]], rtol=1e-12)
    assert session.state.clock == session.fitted.clock == np.max(model.n_iter_)
    curve = error_curve(session.fitted, session.X, session.y, session.test)
    assert curve.steps[-1] == session.state.clock
    assert curve.train[-1] == pytest.approx(100 * (model.predict(X) != y).mean())
    held = session.test
    wrong = (model.predict(session.X[held]) != session.y[held]).mean()
    assert curve.test[-1] == pytest.approx(100 * wrong)
    for _ in range(30):
        session.back()
    session.reset()
    assert session.fitted.weights() is None


@pytest.mark.parametrize("space", ["plane", "polynomial-2", "kernel-rbf"])
def test_what_is_held_out_is_not_learned_from(space):
    state = PlaygroundState(data="overlapping", n=60, noise=0.6, test=25, clock=90, space=space, seed=1)
    session = PlaygroundSession(state)
    assert int(session.test.sum()) == len(session.scene()["held_out"]) == 15
    run = session.training
    assert {int(run.rows[line.row]) for line in run.lines()} <= set(session.train.tolist())
    alone = Training(replace(state, test=0), session.X[session.train], session.y[session.train])
    np.testing.assert_array_equal(run.scores(session.X), alone.scores(session.X))
    curve = error_curve(run, session.X, session.y, session.test)
    for which, percent in ((session.train, curve.train[-1]), (np.flatnonzero(session.test), curve.test[-1])):
        wrong = session.y[which] * run.scores(session.X[which]) <= 0
        assert percent == pytest.approx(100 * wrong.mean())
    before = session.test.copy()
    session.edit("add", x=0.0, y=0.0, label=1)
    assert (session.test[:60] == before).all()  # another point changes nobody's part


def test_the_ledger_as_csv_has_the_weights_of_the_library():
    session = PlaygroundSession(PlaygroundState(data="overlapping", n=30, noise=0.7, clock=72, test=20))
    lines = list(csv.DictReader(session.ledger_csv().splitlines()))
    X, y = session.X[session.train], session.y[session.train]
    w = np.zeros(3)
    assert len(lines) > 5
    for line in lines:
        row = int(line["row"])
        assert [float(line["x1"]), float(line["x2"])] == session.X[row].tolist()
        w += float(line["tau"]) * np.array([1.0, *session.X[row]])
        np.testing.assert_allclose([float(line[n]) for n in ("b", "w_x1", "w_x2")], w, atol=1e-12)
        assert float(line["w_sqnorm"]) == pytest.approx(w @ w)
    model = Perceptron(hypothesis="last", shuffle=False, max_iter=3).fit(X, y)
    np.testing.assert_allclose(w[1:], model.coef_[0])


def test_the_width_of_the_gaussian_kernel_is_that_of_the_library():
    run = training(data="moons", n=40, noise=0.6, space="kernel-rbf", gamma=3.5, clock=120)
    model = KernelPerceptron(kernel="rbf", gamma=3.5, hypothesis="last", shuffle=False, max_iter=3)
    model.fit(run.X, run.y)
    np.testing.assert_allclose(run.scores(run.X), model.decision_function(run.X))


def test_a_run_that_is_costly_to_draw_ends_earlier():
    """A link of one visitor must not keep the lab of a class busy for a minute."""
    for costly, most in (({"hypothesis": "voted"}, MOST_COSTLY), ({}, 200 * 60)):
        run = training(data="overlapping", n=60, noise=1.0, clock=99_999, **costly)
        assert run.finished
        assert not run.converged
        assert run.clock == most


def test_a_long_proof_is_not_waited_for(monkeypatch):
    """The page shows what there is, and the proof once another thread has it."""
    allowed = threading.Event()

    def slow(*arguments, **options):
        allowed.wait()
        return separability(*arguments, **options)

    monkeypatch.setattr("rosenblatt.lab.insight.separability", slow)
    session = PlaygroundSession(PlaygroundState(data="xor", proof=True), patience=0.0)
    insight = session.insight
    try:
        assert insight.proof is None
        assert insight.pending
        assert insight.best is None
        assert insight.answer() == "Looking for a proof …"
        session.scene()
    finally:
        allowed.set()
    insight._computing.result()
    assert not insight.pending
    assert insight.answer().startswith("No: a weighted average of one class")


def test_a_proof_of_data_that_have_changed_leaves_the_queue(monkeypatch):
    allowed, computed = threading.Event(), []

    def slow(X, y, *arguments, **options):
        allowed.wait()
        computed.append(len(y))
        return separability(X, y, *arguments, **options)

    monkeypatch.setattr("rosenblatt.lab.insight.separability", slow)
    session = PlaygroundSession(PlaygroundState(data="xor", n=10, proof=True), patience=0.0)
    try:
        for n in range(10, 16):  # as while a point is dragged; two are computed at a time
            session.set(n=n)
            session.scene()
    finally:
        allowed.set()
    session.insight._computing.result()
    assert 15 in computed
    assert len(computed) <= 3
