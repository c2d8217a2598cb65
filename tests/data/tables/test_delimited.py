import csv
import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data import BadInput, read_all
from rosenblatt.data.tables.delimited import read_rows
from rosenblatt.data.tables.header import Header, read_header
from rosenblatt.data.textblocks import Block

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
    b'1,2",3': (4, "a quote that does not close"),
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
    every, told = set(range(2, 2 + text.count(b"\n"))), [*lines, *(line for line, _, _ in bad)]
    assert len(set(told)) == len(told)
    inner = every - {*told, *blank}  # of rows over several lines: each follows one that opens a quote
    assert set(told) | inner | blank == every
    assert not inner or min(inner) > min(told, default=99) or b'"' in text.split(b"\n")[min(inner) - 2]


OVER_LINES = {
    (b'1,"2,3', b'x",y'): ("1", "2,3\nx", "y"),
    (b'"1', b"7,8,9", b'10",11,12'): ("1\n7,8,9\n10", "11", "12"),
    (b'"', b"7,8,9", b"", b'",",', b"7,8,9", b'",""'): ("7,8,9", ",\n7,8,9", ""),
    (b'1,2,"say ""hi', b"7,8,9", b'"" he said"'): ("1", "2", 'say "hi\n7,8,9\n" he said'),
    (b'1,2,"3\r', b"7,8,9\r", b'"\r'): ("1", "2", "3\r\n7,8,9"),
    (b'1,"2', b'3","4', b'5"'): ("1", "2\n3", "4\n5"),
}


@pytest.mark.parametrize(("lines", "cells"), OVER_LINES.items(), ids=range(len(OVER_LINES)))
def test_a_quoted_value_over_several_lines_is_part_of_one_row(lines, cells):
    record = b"\n".join(lines)
    rows, numbered, bad = read(b'1,2,3\n"4",5,6\n' + record + b'\n7,8,"9"\n' + record + b"\n")
    after = 4 + len(lines)
    assert rows == [("1", "2", "3"), ("4", "5", "6"), cells, ("7", "8", "9"), cells]
    assert numbered == [2, 3, 4, after, after + 1]
    assert bad == []


BAD_OVER_LINES = [
    (b'1",2,"3', b'"'),
    (b'"', b"7,8,9", b'"'),
    (b'1,2,"3', b'7,8,""9""', b"4,5,\xff", b'"'),
    (b'1,2,"3', b"4,\0,5", b'"'),
    (b'1,2,"3', b'4","5', b'6",7'),
]


@pytest.mark.parametrize("lines", BAD_OVER_LINES, ids=range(len(BAD_OVER_LINES)))
def test_a_record_over_several_lines_that_is_bad_is_one_bad_row(lines):
    record = b"\n".join(lines)
    rows, numbered, bad = read(b'1,2,3\n"4",5,6\n' + record + b'\n7,8,"9"\n' + record + b"\n")
    after = 4 + len(lines)
    assert rows == [("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9")]
    assert numbered == [2, 3, after]
    assert [row.line for row in bad] == [4, after + 1]
    assert all(row.column for row in bad)


OPTIONS = [{"category": ["b"]}, {"category": ["b"], "at_once": True}, {"text": ["b"]}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("block", [10, 31, 64, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
def test_a_quoted_value_over_several_blocks_is_part_of_one_row(tmp_path, monkeypatch, options, block, packed):
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", block)
    monkeypatch.setattr("rosenblatt.data.textblocks.HEAD_BYTES", block)
    monkeypatch.setattr("rosenblatt.data.tables.header.SAMPLED_LINES", 2)
    inner = "".join(f"{n},9,1\n" for n in range(40))
    text = f'a,b,y\n1,2,0\n3,"4\n{inner}",0\n5,6,1\n{inner}7,"8\n{inner}{inner}","\n1"\n'
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    rows = read_all(path, **options)
    assert rows.lines.tolist() == [2, 3, 45, *range(46, 86), 86]
    assert rows.skipped == []
    assert rows.feature_names[0] == "a"
    assert rows.X[:, [0]].toarray().ravel().tolist() == [1, 3, 5, *range(40), 7]
    assert rows.y.tolist() == [0, 0] + [1] * 42


@pytest.mark.parametrize("options", [{}, {"at_once": True}])
@pytest.mark.parametrize("block", [10, 1 << 20])
def test_a_quote_that_never_closes_is_an_error_on_the_line_where_it_opens(
    tmp_path, monkeypatch, options, block
):
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", block)
    monkeypatch.setattr("rosenblatt.data.textblocks.HEAD_BYTES", block)
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + "1,2,0\n" * 30 + '3,"4,1\n' + "1,2,0\n" * 30)
    with pytest.raises(BadInput, match=r"a.csv:32:3: a quote"):
        read_all(path, **options)
    with pytest.raises(BadInput, match=r"a.csv:32:3: a quote that opens here and never closes"):
        read_all(path, skip_bad=True, **options)


def test_a_short_tab_separated_line_with_an_open_quote_says_that_values_end_on_their_line():
    rows = read_rows(Block(2, b'1\t2\n1\t"so\nit"\t3\n'), Header(1, ["a", "b", "c"], "\t"), ["a"])
    assert all(row.reason.endswith("may have several") for row in rows.bad[1:])


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
        (b"5.1,3.5,Iris-setosa", "the first line holds '5.1', not names: add a line with the column names"),
        (b"39, State-gov, 77516", "the first line holds '39', not names"),
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
