"""Inside river, where it is installed."""

import numpy as np
import pytest

river = pytest.importorskip("river", reason="river is not installed")


def stream_of(n=400, classes=2, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    label = (X[:, 0] + X[:, 1] > 0).astype(int) + (classes > 2) * (X[:, 2] > 0.5)
    rows = [
        {"a": x[0], "b": x[1], "c": x[2], "kind": "even" if k % 2 else "odd"}
        for k, x in enumerate(X.tolist())
    ]
    return rows, label.tolist()


@pytest.mark.parametrize(
    "options", [{}, {"hypothesis": "last"}, {"hash_bits": 8}, {"forget": 50.0}, {"rule": "arow"}]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_it_works_in_pipelines_and_progressive_validation(options, classes):
    from river import compose, evaluate, metrics, preprocessing

    from rosenblatt.streams.river import RiverLearner

    rows, labels = stream_of(classes=classes)
    numbers = compose.Select("a", "b", "c") | preprocessing.StandardScaler()
    words = compose.Select("kind") | preprocessing.OneHotEncoder()
    model = (numbers + words) | RiverLearner(**options)
    stream = list(zip(rows, labels, strict=True))
    found = evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get()
    assert found > (0.85 if classes == 2 else 0.6)


def test_it_is_the_online_learner():
    from rosenblatt.streams.online import OnlineLearner
    from rosenblatt.streams.river import RiverLearner

    rows, labels = stream_of(classes=3)
    inside, alone = RiverLearner("averaged"), OnlineLearner("averaged")
    for x, label in zip(rows, labels, strict=True):
        assert inside.predict_one(x) == alone.predict_one(x)
        inside.learn_one(x, label)
        alone.learn_one(x, label)
    assert inside.predict_proba_one(rows[0]) == alone.predict_proba_one(rows[0])


def test_batches_are_the_loop():
    import pandas as pd

    from rosenblatt.streams.river import RiverLearner

    rows, labels = stream_of()
    frame = pd.DataFrame(rows).drop(columns="kind")
    loop, batches = RiverLearner(), RiverLearner()
    for x, label in zip(frame.to_dict("records"), labels, strict=True):
        loop.learn_one(x, label)
    for start in range(0, 400, 150):
        batches.learn_many(frame[start : start + 150], pd.Series(labels[start : start + 150]))
    assert batches.predict_many(frame).tolist() == [loop.predict_one(x) for x in frame.to_dict("records")]


def test_rivers_own_checks():
    from river import checks

    from rosenblatt.streams.river import RiverLearner

    model = RiverLearner("averaged")
    for check in checks.yield_checks(model):
        check(model.clone())
