"""The referee never accepts an illegal example, and the bound is never beaten."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.lab.game import PROMISED, GameSession, GameState, LearningB, Referee
from rosenblatt.lab.points import Point

ANGLES = st.floats(0, 359)
GRID = st.builds(Point, st.integers(-400, 400), st.integers(-300, 300), st.sampled_from([-1, 1]))


@given(angle=ANGLES, radius=st.floats(0.5, 2.9), margin=st.floats(0.05, 1.5), point=GRID)
@settings(max_examples=300, deadline=None)
def test_what_is_accepted_is_legal_and_what_is_legal_is_accepted(angle, radius, margin, point):
    referee = Referee.of(angle, radius, margin)
    u0, u1 = referee.u
    assert u0 * u0 + u1 * u1 == 1
    x, y = Fraction(point.x, 100), Fraction(point.y, 100)
    legal = x * x + y * y <= referee.radius**2 and point.label * (u0 * x + u1 * y) >= referee.margin
    told = referee.refusal(point)
    assert (told is None) == legal
    assert told is None or any(word in told for word in ("‖x‖", "too near", "u says"))


@given(angle=ANGLES)
@settings(max_examples=50, deadline=None)
def test_the_hidden_direction_is_the_one_asked_for(angle):
    u = [float(value) for value in Referee.of(angle, 1.0, 0.1).u]
    wanted = [math.cos(math.radians(angle)), math.sin(math.radians(angle))]
    if abs(angle - 180) > 20:  # tan(angle/2) is steep there
        assert np.allclose(u, wanted, atol=0.002)


@given(
    angle=ANGLES,
    margin=st.sampled_from([0.2, 0.4, 0.8]),
    strategy=st.sampled_from(PROMISED),
    picks=st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from([-1, 1])), min_size=1, max_size=120),
)
@settings(max_examples=40, deadline=None)
def test_no_legal_sequence_beats_the_bound(angle, margin, strategy, picks):
    referee = Referee.of(angle, 1.5, margin)
    steps = referee.legal_steps()
    b, mistakes = LearningB(strategy), 0
    for number, sign in picks:
        worst = steps[np.argsort(steps @ b.guess(), kind="stable")[: 1 + number % 50]]
        x, y = (int(value) for value in worst[number % len(worst)])
        point = Point(sign * x, sign * y, sign)
        assert referee.refusal(point) is None
        mistakes += sign * float(b.guess() @ [point.x, point.y]) <= 0.0
        b.learn(point)
    assert mistakes <= referee.bound


@pytest.mark.parametrize("strategy", PROMISED)
@pytest.mark.parametrize("margin", [0.15, 0.3, 0.7])
@pytest.mark.parametrize("angle", [0.0, 60.0, 180.0, 271.0])
def test_the_machine_plays_to_the_end_within_the_bound(strategy, margin, angle):
    session = GameSession(GameState(strategy=strategy, margin=margin, angle=angle, rounds=400))
    assert session.over
    assert 2 <= session.mistakes <= session.referee.bound
    if strategy == "perceptron" and margin < 0.5:
        assert session.mistakes > 0.3 * float(session.referee.bound)  # a strong A
        for k, each in enumerate([each for each in session.rounds if each.mistake], start=1):
            assert each.along >= k * margin - 1e-9
            assert each.sqnorm <= k * 2.5**2 + 1e-9


def test_as_a_an_illegal_example_is_refused_with_the_reason():
    session = GameSession(GameState(role="A", angle=90.0))
    for x, y, told in ((0.0, 2.9, "more than R"), (1.0, 0.1, "too near"), (0.0, -1.0, "u says −1")):
        session.present(x, y)
        assert told in session.status()
        assert session.rounds == []
    session.present(0.0, 1.0)
    assert session.mistakes == 1  # from zero, the first example is always a mistake
    assert GameSession(session.state).rounds == session.rounds
    assert (
        GameSession(GameState(role="A", angle=270.0, moves=session.state.moves)).rounds == []
    )  # a forged link


def test_as_b_a_direction_near_u_cannot_be_beaten():
    session = GameSession(GameState(role="B", angle=40.0, margin=0.5))
    session.aim(-1.0, -1.0)
    session.play()
    assert session.mistakes == 1
    session.aim(math.cos(math.radians(40)), math.sin(math.radians(40)))
    for _ in range(5):
        session.play()
    assert session.mistakes == 1
    assert "u" not in [arrow[5] for arrow in session.scene()["arrows"]]  # hidden
    session.set(reveal=True)
    assert "u" in [arrow[5] for arrow in session.scene()["arrows"]]
    session.back()
    assert len(session.rounds) == 5


def test_without_room_the_machine_says_so():
    session = GameSession(GameState(radius=0.5, margin=1.0))
    session.play()
    assert "no example is legal" in session.status()
