import pytest

from rosenblatt.data import BadInput, read_all


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
    with pytest.raises(BadInput, match=r"a.jsonl:1:1: no label: the field 'z' is not there"):
        read_all(path, target="z")
    assert read_all(path, target="z", skip_bad=True).y.tolist() == ["up", "down"]
