"""Labels and names stay apart as they were written, or are refused: at every border of data."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rosenblatt import KernelPerceptron, OnlineLearner, Perceptron
from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.labels import TargetValues, checked_label, exact_labels, joined_classes
from rosenblatt.learner import Learner

X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
MERGED = {
    "a NUL at the end": ["x", "x\0", "y"],
    "a NUL inside": ["x", "a\0b", "y"],
    "half a surrogate pair": ["x", "a\ud800", "y"],
    "a number and text": ["1", 1, "2"],
    "a truth value and text": ["True", True, "x"],
    "integers beyond 2^53 beside a fraction": [2**53, 2**53 + 1, 0.5],
    "floats beyond 2^53": [2.0**53, 2.0**53 + 2, 0.0],
}


def each_container(labels):
    frame = [lambda y: pd.Series(y, dtype=object), lambda y: np.array(y, dtype=object)]
    return [list, tuple, *frame] + ([pl.Series] if all(isinstance(label, str) for label in labels) else [])


@pytest.mark.parametrize("labels", MERGED.values(), ids=MERGED)
def test_labels_that_numpy_would_merge_are_refused_whoever_brings_them(labels):
    learners = [Perceptron(), KernelPerceptron(), Learner(), OnlineLearner()]
    for learner in learners:
        fit = getattr(learner, "fit", None) or getattr(learner, "train", None)
        rows = X if fit is not None else [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}]
        for container in each_container(labels):
            if container is pl.Series and "\ud800" in labels[1]:
                continue  # polars holds no such text
            y = container(labels)
            exact_objects = isinstance(y, np.ndarray | pd.Series) and not isinstance(labels[0], str)
            if exact_objects and not isinstance(labels[0], float):
                continue  # Python's own numbers, compared exactly
            with pytest.raises(ValueError, match=r"y has|Unknown label|unicode|surrogate|label"):
                (fit or learner.learn_many)(rows, y)


@pytest.mark.parametrize("label", ["a\0", "\0", "a\0b", "\udc80", 2.0**53, float("nan"), 2**70, None, (1,)])
def test_one_label_at_a_time_is_no_way_around(label):
    learner = OnlineLearner()
    learner.learn_one({"a": 1}, 1 if isinstance(label, int | float) else "a")
    before = learner.learner.classes.tolist()
    with pytest.raises(ValueError, match="label"):
        learner.learn_one({"a": 1}, label)
    assert learner.learner.classes.tolist() == before
    assert learner.names == ("a",)


@pytest.mark.parametrize("example", [{"a\0": 1}, {"a": "x\0"}, {"a": {"b\0": 1}}, {"a": ["\ud800"]}])
@pytest.mark.parametrize("bits", [0, 10])
def test_names_with_a_nul_join_no_vocabulary(example, bits):
    learner = OnlineLearner(hash_bits=bits)
    learner.learn_one({"b": 1}, "x")
    with pytest.raises(ValueError, match=r"NUL|surrogate"):
        learner.learn_one(example, "new")
    with pytest.raises(ValueError, match=r"NUL|surrogate"):
        learner.learn_many([example], ["x"])
    assert learner.labels == ["x"]
    assert all("\0" not in name for name in learner.names)
    with pytest.raises(ValueError, match="NUL"):
        learner.learn_many({"c\0": [1.0]}, ["x"])


def test_classes_of_later_batches_are_not_rounded_either():
    learner = Learner()
    learner.learn(np.eye(2), np.array([2**53, 2**53 + 1]))
    assert learner.classes.tolist() == [2**53, 2**53 + 1]
    with pytest.raises(ValueError, match="float64 does not hold"):
        learner.learn(np.eye(2), np.array([0.5, 1.5]))
    with pytest.raises(ValueError, match="float64 does not hold"):
        joined_classes(np.array([0.5]), np.array([2**53 + 1]))


def test_labels_that_differ_stay_apart():
    assert exact_labels([2**53, 2**53 + 1]).tolist() == [2**53, 2**53 + 1]
    assert exact_labels([1, 1.0, True]).tolist() == [1.0, 1.0, 1.0]  # equal in Python, and here
    assert checked_label(2**53 + 1) == 2**53 + 1
    assert Perceptron().fit(X, ["x", "x ", "y"]).classes_.tolist() == ["x", "x ", "y"]


JSON_LINES = {
    ('{"label": "x"}', '{"label": "x\\u0000"}'): r":2:2: the label 'label' is 'x\\x00', which contains a NUL",
    ('{"label": "x"}', '{"label": "\\ud800"}'): r":2:2: the label 'label' is .* surrogate",
    ('{"label": "x"}', '{"label": "y", "a\\u0000": 1}'): r":2:16: the feature 'a\\x00' contains a NUL",
    ('{"label": "x"}', '{"label": "y", "b": {"a": "\\u0000"}}'): r":2:16: the feature",
    ('{"label": "1"}', '{"label": 1}'): r':2:2: the label \'label\' is 1 here and "1" on a line before',
    ('{"label": true}', '{"label": "true"}'): r":2:2: the label 'label' is \"true\" here and true on a line",
    ('{"label": 1}', '{"label": "1"}'): r":2:2: the label 'label' is '1', but labels were numbers",
    (
        '{"label": 1}',
        '{"label": 9223372036854775808}',
    ): r":2:2: the label 'label' is an integer of more than 64",
    ('{"label": 1}', '{"label": 2, "n": ' + "7" * 5000 + "}"): r":2:19: an integer of more than 4,300 digits",
    ('{"label": 1}', f'{{"n": "{"7" * 5000}", "label": -{"7" * 5000}}}'): r":2:5020: an integer of more",
}


@pytest.mark.parametrize(("lines", "reason"), JSON_LINES.items(), ids=range(len(JSON_LINES)))
def test_json_lines_that_would_merge_labels_are_refused_with_their_place(tmp_path, lines, reason):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(BadInput, match=reason):
        read_all(path)
    assert read_all(path, skip_bad=True).lines.tolist() == [1]


def test_a_bad_line_does_not_settle_how_a_label_is_written(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"label": "x"}\n{"label": "1", "a\\u0000": 1}\n{"label": 1}\n')
    assert read_all(path, skip_bad=True).y.tolist() == ["x", "1"]


def test_whole_labels_of_64_bits_are_exact_in_every_text_format_that_holds_them(tmp_path):
    labels = [2**53, 2**53 + 1, -(2**63)]
    lines = [json.dumps({"label": label, "a": 1}) for label in labels]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert read_all(tmp_path / "a.jsonl").y.tolist() == labels
    (tmp_path / "a.csv").write_text("a,y\n" + "".join(f"1,{label}\n" for label in labels))
    assert read_all(tmp_path / "a.csv").y.tolist() == labels
    assert read_all(tmp_path / "a.csv", at_once=True).y.tolist() == labels


@pytest.mark.parametrize("text", ["{} 1:1\n{} 1:2\n", "{} | a\n{} | b\n"])
def test_text_formats_of_float_labels_are_refused_as_classes_beyond_2_53(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_text(text.format(2**53, 2**53 + 1))
    rows = read_all(path, format="vw" if "|" in text else "libsvm")
    with pytest.raises(ValueError, match="beyond 2"):
        Learner().learn(rows.X, rows.y)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.tile([0, 1], 500), "classes"),
        (np.tile(np.arange(50), 100), "classes"),
        (np.arange(30), "numeric"),
        (np.tile(np.arange(51), 100), "numeric"),
        (np.tile([0.5, 1.0, 1.5], 30), "classes"),
        (np.arange(11) / 4, "numeric"),
        (np.array(["a", "b"]), "classes"),
    ],
)
def test_many_different_numbers_are_no_classes(labels, kind):
    for size in (1, 7, labels.size):
        target = TargetValues()
        for start in range(0, labels.size, size):
            target.update(labels[start : start + size])
        assert target.kind == kind


def test_a_real_valued_target_of_vw_libsvm_and_json_is_numeric(tmp_path):
    values = [f"{row / 7:.6f}" for row in range(40)]
    (tmp_path / "a.vw").write_text("".join(f"{value} | a:{value}\n" for value in values))
    (tmp_path / "a.svm").write_text("".join(f"{value} 1:{value}\n" for value in values))
    (tmp_path / "a.jsonl").write_text("".join(f'{{"y": {value}, "a": 1}}\n' for value in values))
    for name in ("a.vw", "a.svm", "a.jsonl"):
        examples = open_examples(tmp_path / name)
        assert examples.target_kind == "classes"
        list(examples)
        assert examples.target_kind == "numeric"
