"""Data frames in and out: names are learned and held to, and transformers answer in the frame that is asked for."""

import numpy as np
import pytest
from tests.interoperability.estimators import ESTIMATORS

import rosenblatt

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
polars = pytest.importorskip("polars", reason="polars is not installed")
pyarrow = pytest.importorskip("pyarrow")

BITS = (np.random.default_rng(0).random((40, 3)) > 0.5).astype(float)
SIDES = np.where(BITS[:, 0] > 0, "a", "b")
NAMES = ["size", "weight", "the age"]
FRAMES = {
    "pandas": pandas.DataFrame(BITS, columns=NAMES, index=range(100, 140)),
    "polars": polars.DataFrame(BITS, schema=NAMES),
    "arrow": pyarrow.table(dict(zip(NAMES, BITS.T, strict=True))),
}
KINDS = {"pandas": pandas.DataFrame, "polars": polars.DataFrame}  # what scikit-learn can be asked for
PARAMETERS = {"MaxMargin": {"C": 1.0}, "Attributes": {"sparse": False}}
OF_TEXT = {"BagOfWords"}
PREDICT = [name for name, value in ESTIMATORS.items() if hasattr(value, "predict")]
TRANSFORM = [name for name in ESTIMATORS if name not in {*PREDICT, *OF_TEXT}]


def made(name):
    return ESTIMATORS[name](**PARAMETERS.get(name, {}))


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("name", [*PREDICT, *TRANSFORM])
def test_names_are_learned_and_held_to(name, frame):
    y = BITS[:, 0] if name == "PerceptronRegressor" else SIDES
    model, plain = made(name).fit(frame, y), made(name).fit(BITS, y)
    assert model.feature_names_in_.tolist() == NAMES
    if name in PREDICT:
        assert np.array_equal(model.predict(frame), plain.predict(BITS))
        with pytest.raises(ValueError, match="feature names"):
            model.predict(FRAMES["pandas"][NAMES[::-1]])
    else:
        assert np.array_equal(model.transform(frame), plain.transform(BITS))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("name", TRANSFORM)
def test_frames_come_out(name, frame, kind):
    model = made(name).set_output(transform=kind)
    out = model.fit(frame).transform(frame)
    assert isinstance(out, KINDS[kind])
    assert list(out.columns) == list(model.get_feature_names_out())
    assert np.array_equal(np.asarray(out), made(name).fit(frame).transform(frame))
    if kind == "pandas" and frame is FRAMES["pandas"]:
        assert list(out.index) == list(frame.index)
    clf = rosenblatt.Perceptron().fit(out, SIDES)
    assert list(clf.feature_names_in_) == list(out.columns)


def test_arrow_comes_out_of_polars():
    out = made("Attributes").set_output(transform="polars").fit_transform(FRAMES["arrow"])
    assert out.to_arrow().column_names == NAMES


def test_words_stay_sparse_and_say_so():
    texts = ["a free prize", "lunch at noon"]
    words = rosenblatt.BagOfWords().fit(texts)
    assert set(words.get_feature_names_out()) == {"a", "free", "prize", "lunch", "at", "noon"}
    with pytest.raises(ValueError, match="sparse"):
        words.set_output(transform="pandas").transform(texts)
