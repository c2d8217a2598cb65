"""Every state is a link, and every link is a state: exactly, or the reason is told."""

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.lab.game import GameState
from rosenblatt.lab.gates import KINDS, GatesState, Wired
from rosenblatt.lab.learners import PlaygroundState
from rosenblatt.lab.networks import NetworksState
from rosenblatt.lab.points import Point, arrays, generated
from rosenblatt.lab.table import changed, from_query, to_query

TABLES = [PlaygroundState, GameState, GatesState, NetworksState]
POINTS = st.lists(
    st.builds(Point, st.integers(-400, 400), st.integers(-300, 300), st.sampled_from([-1, 1])), max_size=20
).map(tuple)


@st.composite
def wirings(draw):
    units = []
    for k in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(KINDS))
        most = 1 if kind == "NOT" else 3
        sources = draw(st.lists(st.integers(0, 1 + k), unique=True, max_size=most))
        units.append(Wired(kind, tuple(sources)))
    return tuple(units)


SPECIAL = {
    "points": POINTS,
    "moves": POINTS,
    "wiring": wirings(),
    "guesses": st.lists(st.integers(0, 359), max_size=9).map(tuple),
    "start": st.tuples(*[st.floats(-10, 10).map(lambda v: float(f"{v:.12g}"))] * 3),
    "beside": st.lists(st.sampled_from(["batch", "centroid", "perceptron"]), unique=True).map(tuple),
    "x_name": st.text(max_size=40),
    "y_name": st.text(max_size=40),
}


def values_of(each):
    column = each.metadata["column"]
    if each.name in SPECIAL:
        return SPECIAL[each.name]
    if isinstance(each.default, bool):
        return st.booleans()
    if column.names:
        return st.sampled_from(column.names)
    if isinstance(each.default, int):
        return st.integers(int(column.low), int(column.high))
    return st.floats(column.low, column.high).map(lambda v: float(f"{v:.12g}"))


@pytest.mark.parametrize("table", TABLES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_state_is_its_link(table, data):
    state = table(**{each.name: data.draw(values_of(each)) for each in fields(table)})
    query = to_query(state)
    assert query.isascii()
    back, problems = from_query(table, dict(pairs(query)))
    assert back == state
    assert problems == []


def pairs(query):
    from urllib.parse import parse_qsl

    return parse_qsl(query, keep_blank_values=True)


@pytest.mark.parametrize("table", TABLES)
def test_the_beginning_is_an_empty_link(table):
    assert to_query(table()) == ""


@pytest.mark.parametrize("table", TABLES)
@given(name=st.text(max_size=12), value=st.text(max_size=30))
@settings(max_examples=60, deadline=None)
def test_nothing_in_a_link_breaks_a_page(table, name, value):
    for key in [name, *(each.name for each in fields(table))]:
        state, problems = from_query(table, {key: value})
        assert isinstance(state, table)
        assert state == table() or not problems


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"eta": "nan"}, "eta must be a number from 0.01 to 1, not 'nan'"),
        ({"n": "501"}, "n must be a whole number from 0 to 500"),
        ({"points": "a1_2c"}, "points must be at most 500 points"),
        ({"points": "a999_2"}, "points must be"),
        ({"rule": "x"}, "rule must be one of rosenblatt"),
        ({"who": "me"}, "knows nothing of 'who'"),
    ],
)
def test_a_bad_value_is_named(query, told):
    state, problems = from_query(PlaygroundState, query)
    assert state == PlaygroundState()
    assert told in problems[0]


def test_values_from_a_control_are_checked_as_those_of_a_link():
    with pytest.raises(ValueError, match="eta must be a number"):
        changed(PlaygroundState(), eta=2.0)


@pytest.mark.parametrize("kind", ["separable", "overlapping", "circles", "moons", "xor"])
@pytest.mark.parametrize("n", [1, 2, 5, 500])
def test_generated_points_are_those_asked_for(kind, n):
    points = generated(kind, n, 0.2, 0.5, seed=7)
    assert len(points) == n
    assert all(abs(p.x) <= 400 and abs(p.y) <= 300 and p.label in (-1, 1) for p in points)
    assert points == generated(kind, n, 0.2, 0.5, seed=7)
    assert n < 5 or points != generated(kind, n, 0.2, 0.5, seed=8)


@given(seed=st.integers(0, 9999), margin=st.sampled_from([0.01, 0.2, 0.7, 1.0]))
@settings(max_examples=15, deadline=None)
def test_separable_points_have_the_chosen_margin(seed, margin):
    from rosenblatt import MaxMargin

    X, y = arrays(generated("separable", 40, margin, 0.0, seed))
    assert margin <= MaxMargin().fit(X, y).margin_ <= margin + 0.06
