import pytest

from rosenblatt.data import BadInput, read_all


@pytest.mark.parametrize(
    ("line", "column"),
    [(b'{"label": 1, "a": }', 19), ('{"é": "éé", x}'.encode(), 16), (b'{"label": 1, "a": "\xff"}', 20)],
)
def test_where_json_is_wrong_is_told_in_bytes(tmp_path, line, column):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"label": 1, "a": 2}\n' + line + b"\n")
    with pytest.raises(BadInput) as caught:
        read_all(path)
    assert str(caught.value).startswith(f"{path}:2:{column}: not ")


@pytest.mark.parametrize(
    ("line", "column"),
    [
        (b'{"label": 1, "a": NaN}', 19),
        (b'{"label": 1, "b": {"a": 1}, "a": 1e999}', 29),
        (b'{"label": 1, "b": {"a": 1e999}}', 14),
        (b'{"a": 1}', 1),
        (b'{"a": 1, "label": ""}', 10),
        (b'{"a": 1, "l\\u0061bel": [1]}', 10),
        (b'{"label": 1, "a": 1, "a": 2}', 22),
        (b"  [1]", 3),
        (b'{"label": 1, "a": ' + b"[" * 9999, 1),
        (b'{"label": 1, "a": ' + b"[" * 40 + b"7" + b"]" * 40 + b"}", 14),
    ],
)
def test_every_error_has_a_column(tmp_path, line, column):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"label": 1, "a": 2}\n' + line + b"\n")
    with pytest.raises(BadInput) as caught:
        read_all(path)
    assert str(caught.value).startswith(f"{path}:2:{column}: ")
