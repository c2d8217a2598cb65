import json

import numpy as np
import pytest

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.named.json_lines import flattened
from rosenblatt.data.words import Words


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        (b'{"label": 1, "a": }', 19, "not JSON"),
        ('{"é": "éé", x}'.encode(), 16, "not JSON"),
        (b'{"label": 1, "a": "\xff"}', 20, "not UTF-8"),
        (b'{"label": 1, "a": NaN}', 19, "NaN is not a finite number"),
        (b'{"label": 1, "b": {"a": 1}, "a": 1e999}', 29, "'a'"),
        (b'{"label": 1, "b": {"a": 1e999}}', 14, "'b.a'"),
        (b'{"a": 1}', 1, "no label"),
        (b'{"a": 1, "label": ""}', 10, "no label"),
        (b'{"a": 1, "l\\u0061bel": [1]}', 10, "expected a number or text"),
        (b'{"label": 1, "a": 1, "a": 2}', 22, "'a' is given twice"),
        (b"  [1]", 3, "not an object"),
        (b'{"label": 1, "a": ' + b"[" * 9999, 1, "nested"),
        (b'{"label": 1, "a": ' + b"[" * 40 + b"7" + b"]" * 40 + b"}", 14, "nested"),
    ],
)
def test_an_error_has_a_column_in_bytes(tmp_path, line, column, reason):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"label": 1, "a": 2}\n' + line + b"\n")
    with pytest.raises(BadInput) as caught:
        read_all(path)
    assert str(caught.value).startswith(f"{path}:2:{column}: ")
    assert reason in caught.value.reason


def test_a_target_that_is_named_must_be_there(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": 2, "z": "up"}\n{"a": 3, "z": "down"}\n')
    with pytest.raises(BadInput, match=r"a.jsonl:1:1: no label: the field 'z' is missing"):
        read_all(path, target="z")
    assert read_all(path, target="z", skip_bad=True).y.tolist() == ["up", "down"]


@pytest.mark.parametrize(
    "record",
    [
        {"a.b": 1, "a": {"b": 2}},
        {"a": {"b": 2}, "a.b": 0.5},
        {"a": {"b.c": True, "b": {"c": 1}}},
        {"a=x": 3, "a": "x"},
        {"a": "x", "a=x": 1.0},
        {"a[0]": 1, "a": [2]},
        {"a": ["x"], "a=x": 2},
        {"a": {"b": "x"}, "a.b": "x"},
        {"t:free": 2, "t": "free offer"},
    ],
)
def test_two_fields_of_one_name_are_refused(tmp_path, record):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"label": 1, "z": 1}) + "\n" + json.dumps({"label": 0, **record}) + "\n")
    with pytest.raises(
        BadInput, match=r"a.jsonl:2:\d+: the feature '.*' comes from two fields: rename one"
    ) as error:
        read_all(path, text=["t"])
    assert error.value.column > 1
    assert read_all(path, text=["t"], skip_bad=True).y.tolist() == [1]


def test_a_list_may_repeat_its_items(tmp_path):
    assert flattened({"a": ["x", "y", "x", 3]}) == {"a=x": 1.0, "a=y": 1.0, "a[3]": 3.0}
    counts = flattened({"t": ["free offer", "free free"]}, ["t"], Words(weighting="counts"))
    assert counts == {"t:free": 3.0, "t:offer": 1.0}
    assert flattened({"t": ["free offer", "free"]}, ["t"], Words()) == {"t:free": 1.0, "t:offer": 1.0}


def test_labels_beyond_2_to_the_53_stay_apart(tmp_path):
    path = tmp_path / "a.jsonl"
    large = 2**53
    path.write_text("".join(f'{{"label": {label}, "a": 1}}\n' for label in (large, large + 1, 3, 4.0)))
    labels = read_all(path).y
    assert labels.dtype == np.int64
    assert labels.tolist() == [large, large + 1, 3, 4]
    for first, second in ((large + 1, 0.5), (0, 0.5)):
        path.write_text(f'{{"label": {first}, "a": 1}}\n{{"label": {second}, "a": 1}}\n')
        if first:
            with pytest.raises(BadInput, match=r"a.jsonl:2:2: the labels 'label' are both 9007199254740993"):
                read_all(path)
        else:
            assert read_all(path).y.tolist() == [0, 0.5]
    path.write_text(f'{{"label": 0, "a": 1}}\n{{"label": 0.5, "a": 1}}\n{{"label": {large}, "a": 1}}\n')
    with pytest.raises(BadInput, match=r"a.jsonl:3:2: the labels 'label' are both 9007199254740992"):
        read_all(path)


def test_a_label_that_only_looks_like_an_integer_is_refused_by_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"label": 1, "a": 1}\n{"label": 1e300, "a": -1}\n')
    with pytest.raises(BadInput, match=r"a.jsonl:2:2: the label 'label' is 1e\+300, beyond 2\^53"):
        read_all(path)
    path.write_text('{"label": 1.5, "a": 1}\n{"label": 1e300, "a": -1}\n')  # a target of regression
    assert read_all(path).y.tolist() == [1.5, 1e300]


def test_values_that_may_share_a_hash_stay_finite(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"label": 1, "a": 1e308, "b": 1e308, "c": 1e308}\n')
    assert np.isfinite(read_all(path).X.data).all()
    with pytest.raises(BadInput, match=r"a.jsonl:1:1: the values of this line add up beyond a float64"):
        read_all(path, hash_bits=1)


def test_strings_that_are_numbers_or_dates_are_reported(tmp_path):
    """They stay categories, one feature each, and the reader says so with the way out."""
    path = tmp_path / "data.jsonl"
    rows = [
        {
            "price": f"${k + 1},234.00",
            "day": f"2024-01-{k + 1:02}",
            "code": f"A{k}",
            "size": k,
            "y": "ab"[k % 2],
        }
        for k in range(25)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    examples = open_examples(path)
    (note,) = examples.notes
    assert "the strings of 'day' are dates, as '2024-01-01'" in note
    assert "the strings of 'price' are numbers, as '$1,234.00'" in note
    assert "'code'" not in note
    assert "Write numbers without quotes, or the rows as CSV or Parquet" in note
    assert read_all(path).X.shape[1] == 25 * 3 + 1
