"""A hash forgets names; the weightiest are written down."""

import numpy as np

from rosenblatt.data import open_examples
from rosenblatt.data.named.vocabulary import hashed
from rosenblatt.streams.names import NameSketch, collect_names, stored_names
from rosenblatt.streams.online import OnlineLearner


def test_the_majority_names_a_feature():
    sketch = NameSketch()
    for name in ["a", "b", "a", "b", "a", "c", "a"]:
        sketch.add(3, name)
    assert sketch.name(3) == "a"


def test_when_there_are_too_many_the_lightest_lose_their_names():
    sketch, weights = NameSketch(most=10), np.zeros((1, 65))
    for at in range(40):
        sketch.add(at, f"n{at}")
        weights[0, 1 + at] = (at * 7) % 40
        sketch.prune(weights)
    kept = sketch.heaviest(weights, most=100)
    assert len(kept) < 20
    assert all(kept[at] == f"n{at}" for at in kept)
    heaviest = sorted(range(20), key=lambda at: -((at * 7) % 40))[:5]
    assert set(heaviest) <= set(kept)


def test_without_weights_those_heard_least_go():
    sketch = NameSketch(most=2)
    for at, times in enumerate([5, 1, 4, 1]):
        for _ in range(times):
            sketch.add(at, f"n{at}")
    sketch.prune(np.zeros((1, 9)))
    assert [sketch.name(at) for at in range(4)] == ["n0", "#1", "n2", "#3"]


def test_every_format_that_hashes_tells_its_names(tmp_path):
    (tmp_path / "a.vw").write_text("1 | free:2 offer |from bob:3\n-1 | lunch |from ann\n")
    (tmp_path / "a.jsonl").write_text('{"free": 2, "from": "bob", "y": 1}\n{"lunch": 1, "y": 0}\n')
    (tmp_path / "a.csv").write_text("free,from,y\n2,bob,1\n,ann,0\n")
    expected = {
        "a.vw": {"free", "offer", "from^bob", "lunch", "from^ann"},
        "a.jsonl": {"free", "from=bob", "lunch"},
        "a.csv": {"free", "free=(missing)", "from=bob", "from=ann"},
    }
    for name, names in expected.items():
        heard = {}
        sketch = NameSketch()
        sketch.add = lambda at, called, heard=heard: heard.update({at: called})
        examples = open_examples(tmp_path / name, hash_bits=16, grow=True, at_once=name.endswith("csv"))
        collect_names(examples, sketch)
        found = {int(at) for batch in examples for at in batch.X.indices}
        assert set(heard.values()) == names
        assert found == {hashed(called, 16) for called in names} == set(heard)


def test_an_online_learner_that_hashes_names_its_top_features(tmp_path):
    learner = OnlineLearner(hash_bits=12)
    rng = np.random.default_rng(0)
    for k in range(400):
        spam = bool(k % 2)
        x = {f"w{rng.integers(500)}": 1, "free" if spam else "lunch": 1, "from": "bob" if spam else "ann"}
        learner.learn_one(x, "spam" if spam else "ham")
    top = learner.top_features(12)
    assert {"free", "lunch", "from=bob", "from=ann"} <= set(top)
    assert top["free"] > 0 > top["lunch"]
    learner.save(tmp_path / "m")
    again = OnlineLearner.load(tmp_path / "m")
    assert again.top_features(12) == top
    told = again.explain_one({"free": 1, "from": "bob"})
    assert {part.feature for part in told.parts} - {"(bias)"} == {"free", "from=bob"}


def test_names_that_share_a_feature_are_both_told():
    learner = OnlineLearner(hash_bits=1)
    learner.learn_one({"a": 1, "b": 1, "c": 1, "d": 1}, "x")
    learner.learn_one({"a": -1, "b": 1, "c": 2, "d": 1}, "y")
    told = " + ".join(part.feature for part in learner.explain_one({"a": 1, "b": 2, "c": 3, "d": 4}).parts)
    assert {"a", "b", "c", "d"} <= set(told.split(" + "))


def test_names_of_a_file_are_numbered():
    assert stored_names({"hashed_names": {"3": "a"}}) == {3: "a"}
    assert stored_names({}) == {}
