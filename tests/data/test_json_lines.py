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
