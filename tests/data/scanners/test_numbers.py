"""Blocks of plain numbers are read as the reader of strings reads them, or not at all."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data import read_all
from rosenblatt.data.scanners.numbers import MISSING, SKIPPED, scan_numbers

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: repr(x).encode()),
    st.floats(-1000, 1000).map(lambda x: b"%.4f" % x),
    st.integers(-(10**9), 10**9).map(lambda n: b"%d" % n),
    st.sampled_from(
        [b"0", b"-0", b"+1", b".5", b"5.", b" 7", b"7 ", b"1e5", b"0.1234567890123456", b"00012"]
    ),
    st.sampled_from([b"-0.9999999999999999", b"12345678.5", b"123456789.5", b"99999999.99999999"]),
)
ODD = st.sampled_from(
    [
        b"",
        b"NA",
        b" N/A ",
        b"?",
        b"NAN",
        b"null",
        b"nul",
        b"None",
        b"x",
        b'"1"',
        b"nan",
        b"1e999",
        b"1 2",
        b"--1",
        b"1-",
        b"1.2.3",
        b"\xff",
        b"\0",
        b"1e",
        b"9" * 17,
    ]
)


def plain(cell):
    """Return the number in a cell that the scanner must read; ValueError where it must refuse."""
    cell = cell.strip(b" \t")
    if cell.decode("latin-1") in MISSING:
        return float("nan")
    if NUMBER.fullmatch(cell) is None or not abs(float(cell)) < 2.0**53:
        raise ValueError(cell)
    return float(cell)


@settings(max_examples=800, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=8),
    st.none() | st.tuples(st.integers(0, 7), st.integers(0, 2), ODD),
    st.sampled_from([b",", b";", b"\t"]),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)
def test_every_cell_is_read_as_python_reads_it(rows, odd, separator, end, followed):
    if odd is not None:
        rows[odd[0] % len(rows)][odd[1]] = odd[2]
    text = b"".join(separator.join(row) + end for row in rows)
    if followed:  # then it is read many bytes at a time
        text += b"0" + separator + b"0" + separator + b"0" * 200 + b"\n"
    try:
        expected = [[plain(cell) for cell in row] for row in rows]
    except ValueError:
        expected = None
    result = scan_numbers(text, separator.decode(), np.array([0, 1, 2]), 2)
    if expected is None:
        assert result is None
    elif result is not None:  # it may leave hard decimals to others
        values = np.column_stack([result.values, result.others[0]])[: len(rows)]
        assert result.missing == np.isnan(values).sum()
        assert values.tobytes() == np.array(expected).tobytes()
    else:
        assert any(len(cell) > 17 or 0 < abs(plain(cell)) < 1e-50 for row in rows for cell in row)


def test_blank_lines_are_no_rows_and_columns_may_be_skipped():
    result = scan_numbers(b"\n1,any text,2\r\n\r\n\n3,,4\n", ",", np.array([0, SKIPPED, 1]), 1)
    assert result.lines.tolist() == [1, 4]
    assert result.values.tolist() == [[1.0], [3.0]]
    assert result.others.tolist() == [[2.0, 4.0]]


@pytest.mark.parametrize("text", [b"1,2\n3\n", b"1,2,3\n", b"1\n", b'1,"x"\n', b"1,2 3\n", b"1,\xe9\n"])
def test_ragged_and_quoted_lines_are_left_to_others(text):
    assert scan_numbers(text, ",", np.array([0, SKIPPED]), 1) is None or text == b"1,2 3\n"
    assert scan_numbers(text, ",", np.array([0, 1]), 1) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(CELLS, CELLS, st.sampled_from([b"0", b"1", b"2.5"])), min_size=1, max_size=60),
    st.integers(300, 600),
    st.none() | st.tuples(st.integers(0, 59), st.sampled_from([b"NA", b"x", b'"3"', b"", b" ? "])),
)
def test_a_table_is_the_same_in_any_blocks(tmp_path_factory, rows, block_bytes, odd):
    """In one block it is read as strings; in several, blocks of plain numbers are scanned.

    Rows are compared raw: the means that fill gaps are sums, whose last digit depends on the blocks.
    """
    cells = [list(row) for row in rows]
    if odd is not None:
        cells[odd[0] % len(cells)][0] = odd[1]
    path = tmp_path_factory.mktemp("table") / "a.csv"
    path.write_bytes(b"a,b,y\n" + b"".join(b",".join(row) + b"\n" for row in cells) + b"1,2,0\n")
    whole = read_all(path, skip_bad=True, prepared=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", block_bytes)
        patch.setattr("rosenblatt.data.textblocks.HEAD_BYTES", 40)
        parts = read_all(path, skip_bad=True, prepared=False)
    assert parts.schema == whole.schema
    assert parts.skipped == whole.skipped
    assert parts.lines.tolist() == whole.lines.tolist()
    assert parts.y.dtype == whole.y.dtype
    assert parts.y.tolist() == whole.y.tolist()
    if isinstance(whole.X, np.ndarray):
        assert parts.X.tobytes() == whole.X.tobytes()
    else:
        assert (parts.X.toarray() == whole.X.toarray()).all()
