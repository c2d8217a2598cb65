"""Gates, networks, uploads and lessons, without their pages."""

import gzip
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from rosenblatt.lab.game import GameSession, GameState
from rosenblatt.lab.gates import TABLES, GatesSession, GatesState
from rosenblatt.lab.learners import PlaygroundState
from rosenblatt.lab.networks import NetworksSession, NetworksState
from rosenblatt.lab.playground import PlaygroundSession
from rosenblatt.lab.scene import from_scores, half_plane
from rosenblatt.lab.table import from_query
from rosenblatt.lab.upload import Uploaded
from rosenblatt.networks import Backpropagation
from rosenblatt.proofs import Inseparable


@pytest.mark.parametrize("gate", TABLES)
def test_a_unit_learns_its_table_or_the_proof_says_why_not(gate):
    session = GatesSession(GatesState(gate=gate))
    clean = session.learn_all()
    assert clean == (session.wrong == 0)
    assert clean != isinstance(session.proof(), Inseparable)
    assert gate != "XOR" or not clean
    session.set(proof=True)
    parts = {ring[1] for ring in session.unit_scene()["rings"]}
    assert ("culprit" in parts) == (gate == "XOR")


def test_weights_by_hand_make_and():
    session = GatesSession(GatesState())
    session.set(w1=1.0, w2=1.0, b=-1.5)
    assert session.wrong == 0
    session.learn(1)
    session.set(b=0.5)
    assert not session.state.learned


def test_wires_are_laid_and_taken_away():
    session = GatesSession(GatesState(wiring=()))
    assert session.network is None
    for kind in ("NAND", "OR", "AND"):
        session.add(kind)
    assert session.network is None  # gates that read nothing
    for source, unit in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 2), (3, 2)):
        session.wire(source, unit)
    assert session.network.truth_table().tolist() == list(TABLES["XOR"])
    assert len(session.network_scenes()) == 3
    session.wire(3, 2)
    assert session.network.truth_table().tolist() == list(TABLES["NAND"])
    with pytest.raises(ValueError, match="left to right"):
        session.wire(4, 0)
    for _ in range(5):
        session.add("NOT")
    with pytest.raises(ValueError, match="at most 8"):
        session.add("NOT")
    session.remove_last()
    assert GatesSession(session.state).state == session.state


@pytest.mark.parametrize("builder", ["tower", "upstart"])
@pytest.mark.parametrize("data", ["corners", "circles", "moons", "parity-4"])
def test_networks_make_no_error(builder, data):
    session = NetworksSession(NetworksState(data=data, builder=builder, noise=0.8))
    assert len(session.wrong) == 0
    assert "Zero errors" in session.status()
    _, units, weights = session.drawing()
    assert len(units) == len(session.model.network_.units) == len(weights)
    assert session.scene()["box"]
    session.set(units=1)
    assert len(session.model.network_.units) == 1


def test_backpropagation_is_drawn_and_one_class_is_no_data():
    session = NetworksSession(NetworksState(builder="backpropagation"))
    assert len(session.scene()["lines"]) >= 1
    session.edit("erase", i=1)
    session.edit("erase", i=1)
    assert session.model is None
    assert "both classes" in session.status()


@pytest.mark.parametrize("iterations", [1, 7])
def test_iterations_of_backpropagation_are_those_of_the_library(iterations):
    session = NetworksSession(NetworksState(data="moons", builder="backpropagation", noise=0.8))
    session.step(1)
    if iterations > 1:
        session.step(iterations - 1)
    model = Backpropagation((4,), max_iter=iterations).fit(session.X, session.y)
    np.testing.assert_array_equal(session.model.predict_proba(session.X), model.predict_proba(session.X))
    clocks, losses, percents = session.path()
    assert clocks[-1] == session.state.iterations == iterations
    assert losses[-1] == pytest.approx(model.mlp_.loss_)
    assert percents[-1] == pytest.approx(100 * (model.predict(session.X) != session.y).mean())
    session.set(iterations=0)
    assert session.trained


# Regions


def inside(path, x, y):
    """Whether a point is inside an SVG path of straight pieces, by counting crossings of all its rings."""
    count = False
    for ring in path.split("Z"):
        if not ring:
            continue
        points = [tuple(map(float, p.split(","))) for p in ring[1:].split("L")]
        for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1], strict=True):
            if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
                count = not count
    return count


@pytest.mark.parametrize("steps", [False, True])
def test_the_region_is_where_scores_are_positive(steps):
    def circle(P):
        value = 1.5 - np.hypot(P[:, 0], P[:, 1])
        return np.sign(value) if steps else value

    shape = from_scores(circle, steps=steps)
    rng = np.random.default_rng(0)
    for x, y in rng.uniform([-3.9, -2.9], [3.9, 2.9], (200, 2)):
        if abs(np.hypot(x, y) - 1.5) > 0.03:
            assert inside(shape.region, 100 * x, -100 * y) == (np.hypot(x, y) < 1.5)
    weights = np.array([0.3, 1.0, -2.0])
    region = half_plane(weights).region
    for x, y in rng.uniform([-3.9, -2.9], [3.9, 2.9], (200, 2)):
        if abs(0.3 + x - 2 * y) > 0.02:
            assert inside(region, 100 * x, -100 * y) == (0.3 + x - 2 * y > 0)


# Uploads


def test_two_columns_of_a_table_become_points():
    table = Uploaded.read(b"a,b,name,y\n0,10,p,yes\n5,20,q,no\n10,30,r,yes\n,1,s,no\n3,4,t,\n")
    assert table.numeric == ["a", "b"]
    assert "y" in table.labels
    points, said = table.points("a", "b", "y", "yes")
    assert said == "3 points, scaled to the plane; 2 rows without a number or a label left out."
    assert [p.label for p in points] == [1, -1, 1]
    assert points[0].x == -points[2].x == -340
    assert points[1][:2] == (0, 0)
    many = "u,v,k\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(2000))
    points, said = Uploaded.read(many.encode()).points("u", "v", "k", "1")
    assert said == "500 points, scaled to the plane: an even sample of 2,000 rows."
    assert (len(points), points[0].x, points[-1].x) == (500, -340, 340)  # evenly spread over the file


def test_a_table_without_names_keeps_its_first_row():
    table = Uploaded.read(b"0.5,10,yes\n5,20,no\n10,30,yes\n2,1,no\n")
    assert table.columns["x1"].tolist() == [0.5, 5, 10, 2]
    assert list(table.labels)[-1] == "x3"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not a CSV table"),
        (b"a,b\nx,y\n", "two columns of numbers"),
        (b"a,b\n1\n2,3\n", "not a CSV table"),
        (gzip.compress(b"a,b,t\n" + b"1,2,yes\n" * 1_000_000), "the file is gzip: unpack"),
        (b"a" + b",a" * 300_000 + b"\n1" + b",1" * 300_000 + b"\n", "300,001 columns; the lab takes 100"),
        (b"a,b,t\n" + b"1,2,x\n" * 700_000, "the lab takes 4,194,304"),
        (b'a,b,t\n"' + b"x" * 1_000_000, "never closes"),
        (b"\0" * 100_000, "NUL byte"),
    ],
    ids=["empty", "words", "short row", "compressed", "columns", "bytes", "quote", "NUL"],
)
def test_a_file_that_is_no_table_is_refused(content, told):
    with pytest.raises(ValueError, match=told):
        Uploaded.read(content)


# Lessons

SESSIONS = {
    "/": (PlaygroundState, PlaygroundSession),
    "/game": (GameState, GameSession),
    "/gates": (GatesState, GatesSession),
    "/networks": (NetworksState, NetworksSession),
}


def all_links():
    pytest.importorskip("nicegui")
    from rosenblatt.lab.lessons import lessons, links_of

    return [(lesson.name, link) for lesson in lessons() for link in links_of(lesson)]


def test_there_is_a_lesson_for_every_chapter():
    chapters = {name.partition("-")[2] for name, _ in all_links()}
    assert len(chapters) == 13
    assert {"hyperplane", "margin", "convergence", "kernels", "gates-and-xor"} <= chapters


def test_every_link_of_a_lesson_is_a_state_that_can_be_shown():
    for name, link in all_links():
        parts = urlsplit(link)
        table, session = SESSIONS[parts.path]
        state, problems = from_query(table, dict(parse_qsl(parts.query, keep_blank_values=True)))
        assert problems == [], f"{name}: {link}"
        shown = session(state)
        assert (
            shown.state.clock == state.clock or shown.stepped.converged if hasattr(state, "clock") else True
        )
        assert shown.unit_scene() if hasattr(shown, "unit_scene") else shown.scene()
