"""On valid files other readers say the same: scikit-learn's of LIBSVM text, Vowpal Wabbit's of its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from rosenblatt.data import read_all

FINITE = st.floats(allow_nan=False, allow_infinity=False)
LINES = st.lists(
    st.tuples(
        st.sampled_from(["1", "-1", "+1", "2.5", "0"]),
        st.sampled_from(["", " qid:3"]),
        st.dictionaries(
            st.integers(0, 40), FINITE | st.decimals(-99, 99, places=5) | st.integers(-9, 9), max_size=9
        ),
        st.sampled_from(["", " ", " # said 3:4", "\t#"]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(LINES)
def test_scikit_learn_reads_the_same_libsvm_text(tmp_path_factory, lines):
    """Both find by themselves whether indices count from 0: where one is 0, and else they do not."""
    path = tmp_path_factory.mktemp("libsvm") / "a.svm"
    text = ""
    for label, query, entries, comment in lines:
        pairs = "".join(f" {index}:{value}" for index, value in sorted(entries.items()))
        text += f"{label}{query}{pairs}{comment}\n"
    path.write_text(text)
    ours = read_all(path)
    theirs, labels = load_svmlight_file(str(path), n_features=max(ours.X.shape[1], 1))
    assert ours.y.tolist() == labels.tolist()
    assert ours.X.data.tobytes() == theirs.data.tobytes()
    assert ours.X.indices.tolist() == theirs.indices.tolist()
    assert ours.X.indptr.tolist() == theirs.indptr.tolist()


NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789_-", min_size=1, max_size=12)
VALUES = st.none() | st.decimals(-99, 99, places=4) | st.integers(-9, 9) | st.floats(-1e6, 1e6, width=32)
EXAMPLES = st.tuples(
    st.sampled_from(["1", "-1", "1 2.5", "-1 0.5", "0.25 3"]),
    st.sampled_from([" ", " 'tag", " 'a_longer-tag", " tag7"]),
    st.dictionaries(
        NAMES | st.just(""),
        st.tuples(st.sampled_from(["", ":2", ":0.5"]), st.lists(st.tuples(NAMES, VALUES), max_size=8)),
        max_size=3,
    ),
)


@pytest.fixture(scope="module")
def vowpal():
    peer = pytest.importorskip(
        "vowpalwabbit", reason="vowpalwabbit is not installed: pip install vowpalwabbit"
    )
    workspace = peer.Workspace("--quiet --noconstant --hash all -b 24 --no_stdin")
    yield [workspace]  # in a list: hypothesis takes what has a ``setup_example`` for a test case
    workspace.finish()


@settings(max_examples=200, deadline=None)
@given(example=EXAMPLES)
def test_vowpal_wabbit_reads_the_same_of_its_text(vowpal, tmp_path_factory, example):
    """Label, importance, tag and every feature: theirs are hashes and float32, so ours are made such."""
    label, tag, spaces = example
    (peer,) = vowpal
    parts = []
    for space, (scale, features) in spaces.items():
        tokens = [name if value is None else f"{name}:{value}" for name, value in features]
        parts.append(f"|{space}{scale if space else ''} {' '.join(tokens)}")
    line = label + tag + ("".join(f"{part} " for part in parts) or "|")
    path = tmp_path_factory.mktemp("vw") / "a.vw"
    path.write_text(line + "\n")
    ours = read_all(path)
    theirs = peer.parse(line)
    expected: dict[int, float] = {}
    for feature, value in theirs.iter_features():
        expected[feature] = expected.get(feature, 0.0) + value
    got: dict[int, float] = {}
    for name, value in zip(ours.feature_names, ours.X.toarray()[0].tolist(), strict=True):
        space, _, feature = name.rpartition("^")
        place = peer.hash_feature(feature, peer.hash_space(space) if space else 0) & (2**24 - 1)
        got[place] = got.get(place, 0.0) + value
    weight = 1.0 if ours.weight is None else ours.weight[0]
    assert ours.y.tolist() == [theirs.get_simplelabel_label()]
    assert np.float32(weight) == np.float32(theirs.get_simplelabel_weight())
    assert ("" if ours.tags is None else ours.tags[0]) == theirs.get_tag()
    assert {place for place, value in expected.items() if value} <= set(got)
    for place, value in got.items():
        assert expected.get(place, 0.0) == pytest.approx(value, rel=1e-5, abs=1e-4)
    peer.finish_example(theirs)
