"""Cells and short numbers, many at a time, are what Python reads one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data.scanners.cells import MAX_CELLS, SEGMENT
from rosenblatt.data.scanners.libsvm import scan
from rosenblatt.data.scanners.numbers import scan_numbers

SHAPES = st.sampled_from(
    ["%.0f", "%.1f", "%.3f", "%.6f", "%.7f", "%.9f", "%.13f", "%.17g", "%.5e", "%d", "%08d", "+%d", "-%d"]
)
VALUES = st.floats(-2000, 2000, allow_nan=False).map(lambda x: round(x, 12))  # tiny ones are left to others
ODD = st.sampled_from([".", "-", "-.", "1.2.3", "1-2", "0x1", "1_0", "/", ":", "1..2", "--1", "1e", "٣"])


def rendered(shape, value):
    return shape % (abs(int(value)) if shape.endswith("d") else value)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(SHAPES, VALUES), min_size=4, max_size=12),
    st.none() | st.tuples(st.integers(0, 11), ODD),
)
def test_a_row_among_many_is_read_as_python_reads_it(cells, odd):
    """Plain rows stand around it, so that it is read with many others."""
    row = [rendered(*cell) for cell in cells]
    if odd is not None:
        row[odd[0] % len(row)] = odd[1]
    around = ",".join(["1.5"] * len(row)) + "\n"
    text = (around * 8 + ",".join(row) + "\n" + around * 40).encode()
    result = scan_numbers(text, ",", np.arange(len(row)), len(row))
    if odd is not None:
        assert result is None
        return
    assert result.values[8].tobytes() == np.array([float(cell) for cell in row]).tobytes()
    assert (np.delete(result.values, 8, axis=0) == 1.5).all()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(SHAPES, VALUES), min_size=1, max_size=12),
    st.none() | st.tuples(st.integers(0, 11), ODD),
)
def test_a_line_of_pairs_among_many_is_read_as_python_reads_it(cells, odd):
    values = [rendered(*cell) for cell in cells]
    if odd is not None:
        values[odd[0] % len(values)] = odd[1]
    line = " ".join(f"{3 * k + 1}:{value}" for k, value in enumerate(values))
    text = ("-1 2:3.5\n" * 8 + f"+1 {line}\n" + "-1 2:3.5 \n" * 40).encode()
    result = scan(text)
    if odd is not None:
        assert [line for line, _, _ in result.bad] == [8]
        assert result.labels.tolist() == [-1.0] * 48
        return
    lo, hi = result.indptr[8:10]
    assert result.indices[lo:hi].tolist() == [3 * k for k in range(len(values))]
    assert result.values[lo:hi].tobytes() == np.array([float(value) for value in values]).tobytes()
    assert result.values.sum() - result.values[lo:hi].sum() == pytest.approx(3.5 * 48)


@pytest.mark.parametrize("index", [b"0", b"2", b"1", b"123456789", b"x", b"-3", b"+3", b"3.0", b""])
def test_an_index_that_is_wrong_spoils_its_line_alone(index):
    text = b"1 1:1\n" * 10 + b"1 2:1 " + index + b":1 5:1\n" + b"1 1:1\n" * 30
    result = scan(text)
    assert [line for line, _, _ in result.bad] == [10]
    assert result.indptr[:11].tolist() == list(range(11))
    assert result.lines[-1] == 40


@pytest.mark.parametrize("length", [SEGMENT - 3, SEGMENT + 5, 3 * MAX_CELLS])
def test_a_line_longer_than_a_segment(length):
    n = length // 8
    long = b"1 " + b" ".join(b"%d:0.5" % k for k in range(10_000, 10_000 + n)) + b"\n"
    result = scan(b"-1 1:2\n" * 20 + long + b"-1 1:2\n" * 20)
    assert result.indptr[21] - result.indptr[20] == n
    assert result.labels.tolist() == [-1.0] * 20 + [1.0] + [-1.0] * 20
    cells = n // 2
    table = scan_numbers((b",".join([b"1.25"] * cells) + b"\n") * 7, ",", np.arange(cells), cells - 1)
    assert table.values.shape == (7, cells - 1)
    assert (table.values == 1.25).all()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n"])
def test_every_byte_may_begin_a_segment(end):
    """Lines of all lengths around the size of a segment, so that cuts fall everywhere."""
    rows = [b"%d,%d.%d" % (k % 7, k, k % 10) for k in range(9000)]
    result = scan_numbers(end.join(rows) + end, ",", np.arange(2), 2)
    assert result.values.tolist() == [[float(cell) for cell in row.split(b",")] for row in rows]
    pairs = [b"%d 1:%d %d:0.%d" % (k % 2, k, k + 2, k) for k in range(9000)]
    scanned = scan(end.join(pairs) + end)
    assert scanned.bad == []
    assert scanned.values[1::2].tolist() == [float(b"0.%d" % k) for k in range(9000)]
