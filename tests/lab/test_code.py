"""The exported code runs, and makes the very model that the page shows."""

import contextlib
import io
import re

import numpy as np
import pytest

from rosenblatt.lab.game import GameSession, GameState, game_code
from rosenblatt.lab.gates import GatesSession, GatesState, gates_code
from rosenblatt.lab.learners import PlaygroundState
from rosenblatt.lab.networks import NetworksSession, NetworksState, networks_code
from rosenblatt.lab.playground import PlaygroundSession, playground_code


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


def run(code):
    told, names = io.StringIO(), {}
    with contextlib.redirect_stdout(told):
        exec(compile(code, "exported.py", "exec"), names)
    return told.getvalue(), names


STATES = [
    {"clock": 0},
    {"clock": 7},
    {"clock": 95, "order": "shuffled"},
    {"clock": 4000, "margin": 0.1},
    {"clock": 33, "start": (1.0, -2.0, 0.5), "eta": 0.5},
    {"clock": 80, "start": (1.0, -2.0, 0.5), "hypothesis": "averaged"},
    {"clock": 100, "rule": "passive-aggressive", "hypothesis": "voted"},
    {"clock": 130, "data": "overlapping", "hypothesis": "pocket", "order": "shuffled", "proof": True},
    {"clock": 90, "data": "circles", "space": "squares", "proof": True},
    {"clock": 50, "data": "xor", "space": "kernel-poly-2", "order": "shuffled"},
    {"clock": 120, "data": "moons", "space": "kernel-rbf", "hypothesis": "averaged"},
    {"clock": 50, "rule": "arow", "hypothesis": "averaged"},
]


@pytest.mark.parametrize("values", STATES, ids=str)
def test_the_code_of_the_playground_makes_its_model(values):
    session = PlaygroundSession(PlaygroundState(**values))
    told, names = run(playground_code(session))
    clf, training = names["clf"], session.training
    grid = np.random.default_rng(0).uniform(-3, 3, (30, 2))
    if values["clock"] and values.get("hypothesis") != "pocket":
        assert f"{training.learner.mistakes} mistakes in {training.clock} examples" in told
    if values["clock"]:
        mapped = names["fmap"].transform(grid) if "fmap" in names else grid
        np.testing.assert_allclose(
            clf.decision_function(mapped), session.training.scores(grid), rtol=1e-8, atol=1e-9
        )
    if session.state.proof:
        assert names["proof"].verify(names["Z"], names["y"])


@pytest.mark.parametrize(
    "learner", ["batch", "logistic", "centroid", "naive-bayes", "gaussian", "max-margin"]
)
@pytest.mark.parametrize("data", ["separable", "overlapping"])
def test_the_code_of_a_fitted_learner_makes_it(learner, data):
    session = PlaygroundSession(PlaygroundState(learner=learner, data=data, clock=7))
    _, names = run(playground_code(session))
    np.testing.assert_allclose(names["clf"].decision_function(names["Z"]), session.fitted.scores(session.X))


@pytest.mark.parametrize("values", [{"data": "none"}, {"n": 1}, {"learner": "centroid", "n": 0}])
def test_code_without_data_says_so(values):
    told, _ = run(playground_code(PlaygroundSession(PlaygroundState(**values))))
    assert "both classes" in told


@pytest.mark.parametrize(
    "values",
    [
        {"rounds": 0},
        {"rounds": 15},
        {"rounds": 8, "strategy": "passive-aggressive"},
        {"rounds": 8, "strategy": "averaged"},
        {"role": "B", "guesses": (0, 90, 180, 60)},
    ],
    ids=str,
)
def test_the_code_of_a_game_plays_it_again(values):
    session = GameSession(GameState(**values))
    told, _ = run(game_code(session))
    if session.rounds:
        assert int(re.search(r"mistakes (\d+)", told)[1]) == session.mistakes
        assert float(re.search(r"bound (\S+)", told)[1]) == pytest.approx(float(session.referee.bound))


def test_the_code_of_gates_has_their_truth_tables():
    session = GatesSession(GatesState(gate="XOR", w1=1.0, w2=1.0, b=-0.5))
    told, names = run(gates_code(session))
    assert names["unit"].truth_table().tolist() == session.gate.truth_table().tolist()
    assert names["network"].truth_table().tolist() == [0, 1, 1, 0]
    assert "Inseparable" in told


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"data": "circles", "builder": "upstart"},
        {"builder": "backpropagation"},
        {"data": "parity-4", "units": 2},
    ],
    ids=str,
)
def test_the_code_of_a_network_builds_it(values):
    session = NetworksSession(NetworksState(**values))
    told, names = run(networks_code(session))
    assert f"wrong {len(session.wrong)} of {len(session.y)}" in told
    assert (names["clf"].predict(names["X"]) == session.model.predict(session.X)).all()
