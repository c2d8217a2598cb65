"""One by one, in batches, or all at once: the same learner."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rosenblatt import rules
from rosenblatt.learner import Learner
from rosenblatt.streams import online
from rosenblatt.streams.online import OnlineLearner
from rosenblatt.streams.rows_learner import RowsLearner, as_wide

NAMES = ["a", "b", "c", "d"]


def examples(n=150, classes=("no", "yes", "maybe"), seed=0, integers=True):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, 4)).astype(float) if integers else rng.normal(size=(n, 4))
    return X, rng.choice(classes, n)


def one_by_one(learner, X, y):
    for x, label in zip(X, y, strict=True):
        learner.learn_one(dict(zip(NAMES, x.tolist(), strict=True)), str(label))
    return learner


def weights(learner, hypothesis):
    n = len(learner.names)
    return learner.learner.weights(hypothesis)[:, : n + 1]


FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table({name: X[:, k] for k, name in enumerate(NAMES)}),
    "columns": lambda X: {name: X[:, k] for k, name in enumerate(NAMES)},
    "dicts": lambda X: [dict(zip(NAMES, x, strict=True)) for x in X.tolist()],
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("classes", [("no", "yes"), ("no", "yes", "maybe")])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("forget", [None, 20.0])
def test_learn_many_is_the_loop(frame, classes, multi_class, forget):
    X, y = examples(classes=classes)
    loop = one_by_one(OnlineLearner(multi_class=multi_class, forget=forget), X, y)
    many = OnlineLearner(multi_class=multi_class, forget=forget)
    for start, stop in ((0, 1), (1, 40), (40, 41), (41, 150)):
        many.learn_many(FRAMES[frame](X[start:stop]), y[start:stop])
    for hypothesis in ("last", "averaged"):
        assert np.array_equal(weights(loop, hypothesis), weights(many, hypothesis))
    assert loop.learner.mistakes == many.learner.mistakes
    assert loop.rows == many.rows == 150


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("rule", ["rosenblatt", "passive-aggressive", "pegasos"])
def test_the_loop_to_the_last_bit_on_numbers_that_round(frame, rule):
    X, y = examples(integers=False)
    loop = one_by_one(OnlineLearner(rule=rule), X, y)
    many = OnlineLearner(rule=rule)
    for start, stop in ((0, 1), (1, 64), (64, 150)):
        many.learn_many(FRAMES[frame](X[start:stop]), y[start:stop])
    for hypothesis in ("last", "averaged"):
        assert np.array_equal(weights(loop, hypothesis), weights(many, hypothesis))


@pytest.mark.parametrize("bits", [0, 3])
def test_names_in_any_order_and_weights_are_the_loop_to_the_last_bit(bits):
    rng = np.random.default_rng(5)
    names = [f"n{k}" for k in range(12)]
    xs = []
    for k in range(120):
        chosen = rng.permutation(names)[: 6 if k < 60 else rng.integers(0, 12)].tolist()
        xs.append({name: float(rng.normal()) for name in chosen})
    xs[7] = {"kind": "new", "ok": True, "n3": 2, "no": None}
    y, w = rng.choice(["p", "q", "r"], 120).tolist(), rng.choice([1.0, 1.0, 0.0, 2.0, 0.4], 120).tolist()
    loop, many = OnlineLearner(hash_bits=bits), OnlineLearner(hash_bits=bits)
    for x, label, weight in zip(xs, y, w, strict=True):
        loop.predict_one(x)
        loop.learn_one(x, label, weight)
    for start, stop in ((0, 50), (50, 51), (51, 120)):
        many.learn_many(xs[start:stop], y[start:stop], w[start:stop])
    assert loop.names == many.names
    assert loop.rows == many.rows == 120
    n = loop.learner.n_features if bits else len(loop.names)
    for hypothesis in ("last", "averaged"):
        one, other = (each.learner.weights(hypothesis)[:, : n + 1] for each in (loop, many))
        assert np.array_equal(one, other)
    assert many.predict_many(xs).tolist() == [loop.predict_one(x) for x in xs]


def test_rows_of_no_weight_are_numbered_in_the_ledger_as_in_the_loop():
    X, y = examples()
    xs = [dict(zip(NAMES, x, strict=True)) for x in X.tolist()]
    weight = np.arange(y.size) % 3.0 + (np.arange(y.size) == 0)
    loop, many = OnlineLearner("survivor"), OnlineLearner("survivor")
    for x, label, one in zip(xs, y.tolist(), weight.tolist(), strict=True):
        loop.learn_one(x, label, one)
    many.learn_many(xs, y, weight)
    assert loop.learner.ledger.entries.tolist() == many.learner.ledger.entries.tolist()


@pytest.mark.parametrize("bits", [0, 6])
def test_names_that_are_no_text_are_their_text(bits):
    rng = np.random.default_rng(0)
    numbered = [dict(zip((0, 1.5, True, 7), row, strict=True)) for row in rng.normal(size=(40, 4)).tolist()]
    numbered[20:] = [dict(zip((False, 1, 2), row, strict=True)) for row in rng.normal(size=(20, 3)).tolist()]
    labels = (rng.random(40) < 0.5).tolist()
    one, other = OnlineLearner("last", hash_bits=bits), OnlineLearner("last", hash_bits=bits)
    for x, y in zip(numbered, labels, strict=True):
        text = {str(name): value for name, value in x.items()}
        assert one.predict_one(x) == other.predict_one(text)
        one.learn_one(x, y)
        other.learn_one(text, y)
    assert one.names == other.names
    assert np.array_equal(one.learner.W, other.learner.W)


def test_columns_in_another_order_and_columns_that_share_a_hash():
    X, y = examples(integers=False)
    for bits in (0, 1):
        loop = one_by_one(OnlineLearner(hash_bits=bits), X, y)
        many = OnlineLearner(hash_bits=bits)
        many.learn_many(FRAMES["pandas"](X[:40]), y[:40])
        turned = FRAMES["pandas"](X[40:])[["c", "a", "d", "b"]]
        many.learn_many(turned, y[40:])
        got, expected = (each.learner.weights("averaged")[:, :5] for each in (many, loop))
        np.testing.assert_allclose(got, expected, rtol=1e-12 if bits else 0)
        extra = FRAMES["pandas"](X).assign(zzz=1.0)
        if not bits:
            assert many.predict_many(extra).tolist() == many.predict_many(FRAMES["pandas"](X)).tolist()


@pytest.mark.parametrize(
    ("classes", "multi_class"), [(2, "joint"), (3, "joint"), (3, "ovr")], ids=["two", "joint", "ovr"]
)
@pytest.mark.parametrize("rule", [*rules.BY_NAME, rules.ALMA(p=4.0)], ids=str)
def test_every_rule_learns_as_the_batch_learner_does(rule, classes, multi_class):
    X, y = examples(classes=("no", "yes", "maybe")[:classes], integers=False)
    online = one_by_one(OnlineLearner("last", rule=rule, multi_class=multi_class), X, y)
    many = OnlineLearner("last", rule=rule, multi_class=multi_class)
    for start, stop in ((0, 1), (1, 40), (40, 150)):
        many.learn_many(FRAMES["dicts"](X[start:stop]), y[start:stop])
    batch = Learner(rule, multi_class=multi_class, keep_ledger=False)
    for k in range(y.size):
        batch.learn(csr_array(X[k : k + 1]), y[k : k + 1])
    assert online.learner.mistakes == many.learner.mistakes == batch.mistakes
    for hypothesis in ("last", "averaged"):
        assert np.array_equal(weights(online, hypothesis), weights(many, hypothesis))
        np.testing.assert_allclose(
            weights(online, hypothesis), batch.weights(hypothesis), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("hypothesis", ["last", "averaged", "voted", "survivor", "random"])
def test_predictions_are_those_of_the_batch_learner(hypothesis):
    X, y = examples()
    online = OnlineLearner(hypothesis)
    batch = Learner()
    for k in range(y.size):
        x = dict(zip(NAMES, X[k].tolist(), strict=True))
        if k > 20:
            assert online.predict_one(x) == batch.predict(X[k : k + 1], hypothesis)[0]
        online.learn_one(x, str(y[k]))
        batch.learn(X[k : k + 1], y[k : k + 1])
    assert online.predict_many(FRAMES["pandas"](X)).tolist() == batch.predict(X, hypothesis).tolist()


@pytest.mark.parametrize(
    ("hypothesis", "forget"),
    # The ledger, and so the survivor, forgets nothing.
    [("last", None), ("last", 30.0), ("averaged", None), ("averaged", 30.0), ("survivor", None)],
)
def test_progress_is_predict_then_learn(hypothesis, forget):
    X, y = examples(n=120)
    loop, batches = OnlineLearner(hypothesis, forget=forget), OnlineLearner(hypothesis, forget=forget)
    right = []
    for x, label in zip(X, y, strict=True):
        row = dict(zip(NAMES, x.tolist(), strict=True))
        right.append(loop.predict_one(row) == label)
        loop.learn_one(row, str(label))
    sparse = csr_array(X)
    got = np.concatenate([batches.progress(sparse[a:b], y[a:b]) for a, b in ((0, 50), (50, 51), (51, 120))])
    assert got.tolist() == right
    assert np.array_equal(loop.learner.weights("averaged")[:, :5], batches.learner.weights("averaged")[:, :5])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from("abcdefgh"), st.integers(-3, 3) | st.sampled_from("xyz"), max_size=5
            ),
            st.sampled_from(["p", "q", "r", "s"]),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_any_stream_of_dicts_in_any_batches(stream):
    loop, many = OnlineLearner(), OnlineLearner()
    for x, y in stream:
        loop.predict_one(x)
        loop.learn_one(x, y)
    half = len(stream) // 2
    for part in (stream[:half], stream[half:]):
        if part:
            many.learn_many([x for x, _ in part], [y for _, y in part])
    assert loop.names == many.names
    assert np.array_equal(weights(loop, "averaged"), weights(many, "averaged"))


def test_features_and_classes_that_appear_later():
    learner = OnlineLearner()
    assert learner.predict_one({"a": 1}) is None
    assert learner.predict_proba_one({"a": 1}) == {}
    learner.learn_one({"a": 1}, "x")
    assert learner.predict_one({"zzz": 1}) == "x"
    for _ in range(3):
        learner.learn_one({"b": 1, "kind": "new", "ok": True, "no": None}, "y")
        learner.learn_one({f"f{k}": 1 for k in range(300)}, "z")
    assert learner.predict_one({"b": 1, "kind": "new"}) == "y"
    assert learner.predict_one({"f7": 1, "f9": 1}) == "z"
    assert learner.names[:4] == ("a", "b", "kind=new", "ok")
    proba = learner.predict_proba_one({"f7": 1})
    assert max(proba, key=proba.get) == "z"
    assert sum(proba.values()) == pytest.approx(1.0)


def test_an_example_changed_between_predicting_and_learning_is_seen_as_it_is():
    one, other = OnlineLearner(), OnlineLearner()
    x = {"a": 1.0, "b": 2.0}
    for learner in (one, other):
        learner.learn_one({"a": 1.0, "b": 1.0}, "p")
    one.predict_one(x)
    x["a"] = -5.0
    one.learn_one(x, "q")
    other.learn_one({"a": -5.0, "b": 2.0}, "q")
    assert np.array_equal(weights(one, "last"), weights(other, "last"))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 10**400, object()])
def test_values_that_are_no_numbers_are_refused_and_nothing_is_learned(bad):
    learner = one_by_one(OnlineLearner(), *examples(n=10))
    before = weights(learner, "last").copy()
    with pytest.raises(ValueError, match="'a' is"):
        learner.learn_one({"a": bad}, "no")
    assert np.array_equal(weights(learner, "last"), before)
    with pytest.raises(ValueError, match="label"):
        learner.learn_one({"a": 1}, None)
    with pytest.raises(ValueError, match="label"):
        learner.learn_many([{"a": 1}, {"a": 2}], [1.0, float("nan")])
    with pytest.raises(ValueError, match="label"):
        learner.learn_many([{"a": 1}, {"a": 2}], ["no", None])
    with pytest.raises(ValueError, match="'b' is"):
        learner.learn_many([{"a": 1, "b": 1}, {"a": 2, "b": bad}], ["no", "no"])
    with pytest.raises(ValueError, match="'b' is"):
        learner.predict_one({"a": 1.0, "b": bad})
    if isinstance(bad, float):
        with pytest.raises(ValueError, match="column 'b' is"):
            learner.learn_many({"a": [1.0, 2.0], "b": [0.0, bad]}, ["no", "yes"])
        with pytest.raises(ValueError, match="column 'b' is"):
            learner.predict_many({"a": [1.0, 2.0], "b": [0.0, bad]})
    assert np.array_equal(weights(learner, "last"), before)


@pytest.mark.parametrize("hypothesis", ["averaged", "survivor"])
@pytest.mark.parametrize("weight", [None, 2.0])
def test_a_bad_example_brings_no_class_and_no_name(hypothesis, weight):
    learner = one_by_one(OnlineLearner(hypothesis), *examples(20, ("no", "yes")))
    bad = {"a": 1.0, "new": float("nan")}
    for refused in (
        lambda: learner.learn_one(bad, "other", weight or 1.0),
        lambda: learner.learn_one({"new": object()}, "other"),
        lambda: learner.learn_many([bad], ["other"], None if weight is None else [weight]),
        lambda: learner.learn_many(pd.DataFrame([{"a": 1.0, "b": np.inf}]), ["other"]),
    ):
        with pytest.raises(ValueError, match="number"):
            refused()
    assert learner.labels == ["no", "yes"]
    assert list(learner.names) == NAMES
    assert learner.rows == 20


def test_labels_of_two_kinds_are_refused_as_in_the_loop():
    with pytest.raises(ValueError, match="all text, or all numbers"):
        OnlineLearner().learn_many([{"a": 1}, {"b": 1}], ["x", 2])


@pytest.mark.parametrize("weights_of", ["whole", "fractions"])
@pytest.mark.parametrize(
    ("hypothesis", "options"),
    [("averaged", {}), ("last", {"rule": "arow"}), ("averaged", {"forget": 20.0}), ("survivor", {})],
)
def test_progress_with_weights_is_predict_then_learn(hypothesis, options, weights_of):
    X, y = examples(n=120)
    weight = np.arange(120) % 4.0 if weights_of == "whole" else np.arange(120) % 7 / 2.5
    loop, batches = RowsLearner(hypothesis, **options), RowsLearner(hypothesis, **options)
    right = []
    for k in range(120):
        known = y[k] in loop.labels
        first = loop.labels[0] if loop.labels and not loop.learner.clock else None
        row = as_wide(X[k : k + 1], max(4, loop.learner.n_features))
        right.append(known and (first or loop.learner.predict(row, hypothesis)[0]) == y[k])
        loop.learn_rows(csr_array(X[k : k + 1]), y[k : k + 1], weight[k : k + 1])
    for start, stop in ((0, 1), (1, 50), (50, 120)):
        got = batches.progress(csr_array(X[start:stop]), y[start:stop], weight[start:stop])
        assert got.tolist() == right[start:stop]
    for name in ("last", "averaged"):
        assert np.array_equal(loop.learner.weights(name)[:, :5], batches.learner.weights(name)[:, :5])
    assert loop.learner.mistakes == batches.learner.mistakes
    assert loop.learner.rows_seen == batches.learner.rows_seen


@pytest.mark.parametrize("bits", [0, 6])
def test_words_that_come_up_as_a_stream_goes_on(bits):
    rng = np.random.default_rng(6)
    xs = [{f"w{k}": 1 + k % 3 for k in rng.permutation(9 * n + 5)[:60].tolist()} for n in range(60)]
    y = rng.choice(["p", "q", "r"], 60).tolist()
    loop, learned, many = (OnlineLearner(hash_bits=bits) for _ in range(3))
    for x, label in zip(xs, y, strict=True):
        loop.predict_one(x)
        loop.learn_one(x, label)
        learned.learn_one(x, label)
    many.learn_many(xs, y)
    assert loop.names == learned.names == many.names
    n = 1 + (loop.learner.n_features if bits else len(loop.names))
    for hypothesis in ("last", "averaged"):
        expected = many.learner.weights(hypothesis)[:, :n]
        assert np.array_equal(loop.learner.weights(hypothesis)[:, :n], expected)
        assert np.array_equal(learned.learner.weights(hypothesis)[:, :n], expected)
    assert many.predict_many(xs).tolist() == [loop.predict_one(x) for x in xs]


def test_predicting_adds_no_name_and_refuses_what_learning_refuses():
    learner = one_by_one(OnlineLearner(), *examples(20, ("no", "yes")))
    learner.predict_one({"a": 1.0, "new": 2.0, 3: 1.0})
    learner.learn_one({"a": 1.0, "off": False, "flag": True, 3: 1.0}, "no")
    assert list(learner.names) == [*NAMES, "flag", "3"]
    assert learner.predict_one({3: 1.0}) == learner.predict_one({"3": 1.0})
    for bad in ({"new": float("inf")}, {"a\0": 1.0}, {"a": 1.0, "ne\ud800w": 1}):
        with pytest.raises(ValueError, match=r"'a|'new'|ne"):
            learner.predict_one(bad)
        with pytest.raises(ValueError, match=r"'a|'new'|ne"):
            learner.learn_one(bad, "no")
    assert list(learner.names) == [*NAMES, "flag", "3"]


def test_hashed_names_take_no_more_room():
    learner = OnlineLearner(hash_bits=6)
    for k in range(500):
        learner.learn_one({f"w{k}": 1, "free": k % 2}, "spam" if k % 2 else "ham")
    assert learner.learner.n_features == 64
    assert learner.predict_one({"free": 1}) == "spam"


def test_a_saved_stream_goes_on_as_if_it_had_never_stopped(tmp_path):
    X, y = examples()
    for forget in (None, 25.0):
        whole = one_by_one(OnlineLearner(forget=forget), X, y)
        half = one_by_one(OnlineLearner(forget=forget), X[:70], y[:70])
        half.save(tmp_path / "m.safetensors")
        again = one_by_one(OnlineLearner.load(tmp_path / "m.safetensors"), X[70:], y[70:])
        assert again.names == whole.names
        assert again.rows == whole.rows
        for hypothesis in ("last", "averaged"):
            assert np.array_equal(weights(again, hypothesis), weights(whole, hypothesis))


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("rule", rules.BY_NAME)
def test_every_bit_is_the_same_after_saving_at_any_moment(rule, multi_class, tmp_path):
    """A loaded learner has room for fewer features than one that grew: no sum may depend on that."""
    rule = {"widrow-hoff": rules.WidrowHoff(0.01), "alma": rules.ALMA(p=4.0)}.get(rule, rule)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        whole, parts = (OnlineLearner(rule=rule, multi_class=multi_class) for _ in range(2))
        for t in range(50):
            names = rng.choice(8 + t // 3, 3 + min(t // 3, 3), replace=False)
            x = {f"n{name}": round(rng.uniform(-2, 2), 3) for name in names.tolist()}
            label = "cabed"[rng.integers(2 + t // 15)]
            if rng.random() < 0.2 and t:
                parts.save(tmp_path / "m.safetensors")
                parts = OnlineLearner.load(tmp_path / "m.safetensors")
            whole.learn_one(x, label)
            parts.learn_one(x, label)
        width = 1 + len(whole.names)
        for name in ("W", "average_offset", "S"):
            one, other = (getattr(each.learner, name) for each in (whole, parts))
            if one is not None:
                assert one[:, :width].tobytes() == other[:, :width].tobytes(), name
        assert whole.learner.running.tobytes() == parts.learner.running.tobytes()
        assert whole.learner.totals.tobytes() == parts.learner.totals.tobytes()


@pytest.mark.parametrize("options", [{}, {"hash_bits": 8}, {"hypothesis": "voted"}, {"forget": 30.0}])
def test_a_copy_goes_its_own_way(options):
    import copy
    import pickle

    X, y = examples()
    learner = one_by_one(OnlineLearner(**options), X[:100], y[:100])
    learner.predict_one({"a": 1.0, "b": 2.0, "c": 0.0, "d": 1.0})
    width = learner.learner.n_features
    before = learner.learner.weights("averaged").copy()
    copies = [copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]
    for each in copies:
        one_by_one(each, X[100:], y[100:])
    assert np.array_equal(learner.learner.weights("averaged")[:, : width + 1], before)
    one_by_one(learner, X[100:], y[100:])
    for each in copies:
        assert np.array_equal(each.learner.weights("averaged"), learner.learner.weights("averaged"))


def test_probabilities_of_the_only_class_there_is():
    learner = OnlineLearner()
    learner.learn_one({"a": 1}, "x")
    assert learner.predict_proba_one({"a": 1}) == {"x": 1.0}


def test_explanations_add_up():
    learner = one_by_one(OnlineLearner(), *examples(classes=("no", "yes")))
    told = learner.explain_one({"a": 1.0, "b": -2.0, "unknown": 5.0})
    assert {part.feature for part in told.parts} <= {"a", "b", "(bias)"}
    assert told.score == pytest.approx(float(learner.learner.scores(np.array([[1.0, -2] + [0] * 62]))[0]))


def test_forgetting_follows_a_stream_that_turns_around():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y = np.where((X[:, 0] > 0) ^ (np.arange(4000) >= 2000), "yes", "no")
    right = {
        forget: OnlineLearner(forget=forget).progress(csr_array(X), y)[2500:].mean()
        for forget in (None, 100.0)
    }
    assert right[100.0] > 0.95 > right[None]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"hypothesis": "pocket"}, "pocket"),
        ({"hypothesis": "best"}, "hypothesis must be one of"),
        ({"forget": 0.0}, "half-life"),
        ({"hypothesis": "voted", "forget": 5.0}, "ledger"),
        ({"hash_bits": 99}, "bits"),
        ({"hypothesis": "voted", "rule": "arow"}, "does not keep"),
    ],
)
def test_what_makes_no_sense_is_refused(options, reason):
    with pytest.raises(ValueError, match=reason):
        OnlineLearner(**options)


@pytest.mark.parametrize("rule", ["rosenblatt", "passive-aggressive", "alma"])
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_that_overflow_are_noticed_by_one_example_as_by_many(rule, classes):
    def learn(by_one):
        learner = OnlineLearner("last", rule=rule)
        for k in range(3 * classes):
            x = {"a": 3e-160 if rule != "rosenblatt" else 1e155, f"b{k % classes}": 1e-160}
            learner.learn_one(x, k % classes) if by_one else learner.learn_many([x], [k % classes])

    messages = []
    for by_one in (True, False):
        try:
            learn(by_one)
        except ValueError as error:
            messages.append(str(error))
        else:
            messages.append("")
    assert messages[0] == messages[1]
    if rule == "rosenblatt":
        assert "the weights grew beyond what a float can hold: scale the features" in messages[0]


def test_new_classes_in_the_first_rows_copy_only_the_weights_of_features_so_far(monkeypatch):
    features = []
    add = RowsLearner._add_new_classes
    monkeypatch.setattr(
        RowsLearner,
        "_add_new_classes",
        lambda self, classes: features.append(self.learner.n_features) or add(self, classes),
    )
    n, classes = 5000, 10
    X = csr_array((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))  # names numbered as they appear
    y = np.arange(n) % classes
    block, single = RowsLearner("last"), RowsLearner("last")
    right = block.progress(X, y)
    assert len(features) == classes
    assert max(features) <= 100  # not 5000
    assert block.learner.n_features >= n
    one_by_one = [bool(single.progress(X[i : i + 1], y[i : i + 1])[0]) for i in range(100)]
    assert right[:100].tolist() == one_by_one


@pytest.mark.parametrize("example", [3, "free offer", [1.0, 2.0], None])
def test_an_example_without_names_is_refused_with_an_example_of_one(example):
    learner = OnlineLearner()
    with pytest.raises(TypeError, match=r"a dict of features such as \{'wind': 3"):
        learner.learn_one(example, "spam")
    learner.learn_one({"free": 1}, "spam")
    with pytest.raises(TypeError, match="a dict of features"):
        learner.predict_one(example)


def test_a_wrong_hypothesis_names_those_that_a_stream_has():
    with pytest.raises(
        ValueError, match="must be one of auto, last, averaged, voted, survivor, random, got 'best'"
    ):
        OnlineLearner("best")


def test_a_growing_vocabulary_reads_no_example_of_numbers_in_python(monkeypatch):
    learner = OnlineLearner()
    for label in ("no", "yes"):
        learner.learn_one({label: 1.0}, label)

    def refuse(example):
        raise AssertionError(f"{example} was read in Python")

    monkeypatch.setattr(online, "named_numbers", refuse)
    for first in range(0, 5000, 250):
        learner.learn_one({f"w{k}": 1.0 for k in range(first, first + 250)}, "yes")
    assert len(learner.names) == 5002
