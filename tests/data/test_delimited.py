import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data import BadInput
from rosenblatt.data.delimited import read_rows
from rosenblatt.data.header import Header, read_header
from rosenblatt.data.lines import Block

NAMES = ["a", "b", "c"]


def read(text, separator=","):
    rows = read_rows(Block(2, text), Header(1, NAMES, separator), NAMES)
    columns = [rows.columns[name].to_pylist() for name in NAMES]
    return list(zip(*columns, strict=True)), rows.lines.tolist(), rows.bad


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\t \x0b\x0c"), max_size=6)


@settings(deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=12), st.sampled_from(",;\t"))
def test_what_python_writes_is_read_back(tmp_path_factory, rows, separator):
    path = tmp_path_factory.mktemp("delimited") / "file"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    text = path.read_bytes()
    if text:
        assert read(text, separator) == (rows, list(range(2, 2 + len(rows))), [])


def test_blank_lines_are_no_rows_and_spaces_around_values_do_not_count():
    rows, lines, bad = read(b'\n1, x y ,3\r\n\r\n\n4,"5,""6", \n')
    assert rows == [("1", "x y", "3"), ("4", '5,"6', "")]
    assert lines == [3, 6]
    assert bad == []


BAD = {
    b"1,2": (4, "2 values where the header names 3"),
    b"1,2,3,4": (7, "4 values where the header names 3"),
    b"x": (2, "1 values where the header names 3"),
    b'1,"2,3': (3, "a quote that does not close on its line"),
    b'1",2,"3': (6, "a quote that does not close on its line"),
    b'1,2",3': (4, "a quote that does not close on its line"),
    b"1,2\x00,3": (4, "a NUL byte"),
    b"1,\xff,3": (3, "not UTF-8 text: convert the file to UTF-8"),
    b"1,2,3\r4,5,6": (6, "a carriage return inside the line"),
    b"z" * 5_000_000: (5000001, "1 values where the header names 3"),
}


@pytest.mark.parametrize(("line", "told"), BAD.items(), ids=[line[:16] for line in BAD])
def test_a_bad_line_spoils_no_other(line, told):
    rows, lines, bad = read(b'1,2,3\n\n"4",5,6\n' + line + b'\n7,8,"9"\n')
    assert rows == [("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9")]
    assert lines == [2, 4, 6]
    assert [(line, column) for line, _, column in bad] == [(5, told[0])]
    assert told[1] in bad[0].reason


def test_all_bad_lines_at_once():
    text = b"\n".join(BAD) + b"\n1,2,3\n"
    rows, lines, bad = read(text)
    assert rows == [("1", "2", "3")]
    assert lines == [2 + len(BAD)]
    assert [line for line, _, _ in bad] == list(range(2, 2 + len(BAD)))


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([b'"', b",", b"1", b"x", b"\n", b"\r", b" ", b"\0", b"\xc3", b"\xa9"]), max_size=60
    )
)
def test_every_line_is_a_row_or_bad_or_blank(parts):
    text = b"".join(parts) + b"\n"
    rows, lines, bad = read(text)
    blank = {2 + at for at, line in enumerate(text.split(b"\n")[:-1]) if line in (b"", b"\r")}
    assert len(rows) == len(lines)
    assert sorted([*lines, *(line for line, _, _ in bad), *blank]) == list(range(2, 2 + text.count(b"\n")))


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([b'"', b"\t", b"1", b"x", b"\n", b"\r", b" ", b"\0", b"\xc3", b"\xa9"]), max_size=60
    )
)
def test_every_tab_separated_line_is_a_row_or_bad_or_blank_and_no_quote_is_at_fault(parts):
    text = b"".join(parts) + b"\n"
    rows, lines, bad = read(text, "\t")
    blank = {2 + at for at, line in enumerate(text.split(b"\n")[:-1]) if line in (b"", b"\r")}
    assert len(rows) == len(lines)
    assert sorted([*lines, *(line for line, _, _ in bad), *blank]) == list(range(2, 2 + text.count(b"\n")))
    assert not [reason for _, reason, _ in bad if "quote" in reason]


@pytest.mark.parametrize(
    ("first", "separator"), [("a,b,c", ","), ("a;b;c,d", ";"), ("a\tb", "\t"), ('"x,y";b;c', ";")]
)
def test_the_separator_is_found(tmp_path, first, separator):
    (tmp_path / "f.csv").write_text(f"\n{first}\n")
    header = read_header(str(tmp_path / "f.csv"))
    assert (header.separator, header.line) == (separator, 2)


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (b"a,b,a", "two columns are called 'a': rename one"),
        (b"a,,b", "column 2 has no name"),
        (b"5.1,3.5,Iris-setosa", "the first line holds '5.1', not names: add a line with the column names"),
        (b"39, State-gov, 77516", "the first line holds '39', not names"),
        (b"a,\xff", "the header is not UTF-8"),
        (b"a,\x00b", "NUL byte"),
        (b'a,"b', "the header cannot be read"),
    ],
)
def test_bad_headers(tmp_path, first, reason):
    (tmp_path / "f.csv").write_bytes(first + b"\n1,2,3\n")
    with pytest.raises(BadInput, match=r"f.csv:1: ") as caught:
        read_header(str(tmp_path / "f.csv"))
    assert reason in str(caught.value)


@pytest.mark.parametrize("first", ["0,1,2", "label,0,1,2", "1,2,3,target", "x,nan"])
def test_numbered_columns_are_names(tmp_path, first):
    (tmp_path / "f.csv").write_text(first + "\n")
    assert read_header(str(tmp_path / "f.csv")).names == first.split(",")
