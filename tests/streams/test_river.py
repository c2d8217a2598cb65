"""Inside river, where it is installed."""

import numpy as np
import pytest

river = pytest.importorskip("river")


def test_it_works_in_pipelines_and_progressive_validation():
    from river import compose, evaluate, metrics, preprocessing

    from rosenblatt.streams.river import RiverLearner

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    stream = [({"a": x[0], "b": x[1], "c": x[2]}, bool(x[0] + x[1] > 0)) for x in X.tolist()]
    model = compose.Pipeline(preprocessing.StandardScaler(), RiverLearner("averaged"))
    assert evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get() > 0.9
    assert RiverLearner("last").clone().hypothesis == "last"
