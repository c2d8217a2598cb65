"""A block is called plain exactly where every cell is: against a regular expression for a cell."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rosenblatt.data.scanners.table_check import FRACTIONS, NOT_PLAIN, WHOLE, check_numbers

CELL = re.compile(rb"-?\d+(\.\d+)?")
PLAIN = st.sampled_from(
    [b"0", b"-1", b"12", b"3.5", b"-0.25", b"123456789", b"-98765.4321", b"0.123456789", b"7.0"]
)
ROWS = st.lists(
    st.tuples(PLAIN, PLAIN, st.integers(-99, 99).map(lambda n: b"%d" % n) | PLAIN), min_size=1, max_size=20
)


def expected(text, separator):
    lines = text.removesuffix(b"\n").split(b"\n")
    cells = [line.split(separator) for line in lines]
    if not all(len(row) == 3 and all(CELL.fullmatch(cell) for cell in row) for row in cells):
        return NOT_PLAIN
    return FRACTIONS if any(b"." in row[2] for row in cells) else WHOLE


@settings(max_examples=200, deadline=None)
@given(ROWS, st.sampled_from([b",", b";", b"\t"]))
def test_plain_numbers_are_plain(rows, separator):
    text = b"".join(separator.join(row) + b"\n" for row in rows)
    found = check_numbers(text, separator.decode(), 3)
    long = any(len(row[2]) > 15 for row in rows)  # perhaps not exact: left to others
    assert found == (NOT_PLAIN if long else expected(text, separator))


@settings(max_examples=600, deadline=None)
@given(
    ROWS,
    st.integers(0, 400),
    st.sampled_from([b"", b".", b"-", b",", b"\n", b" ", b"x", b"5", b"\r", b"..", b"\0"]),
    st.integers(0, 2),
)
@example([(b"1", b"2", b"3")], 5, b"", 1)
def test_one_wrong_byte_anywhere_is_seen(rows, at, piece, dropped):
    """A byte put in or left out at any place of any window: the answer is the regular expression's."""
    text = b"".join(b",".join(row) + b"\n" for row in rows)
    at %= len(text)
    text = text[:at] + piece + text[at + dropped :]
    text = text if text.endswith(b"\n") else text + b"\n"
    found = check_numbers(text, ",", 3)
    assert found in (expected(text, b","), NOT_PLAIN)
    if found != expected(text, b","):
        assert any(len(line.rpartition(b",")[2]) > 15 for line in text.split(b"\n"))


@pytest.mark.parametrize("digits", [100, 200, 1000])
def test_very_long_numbers_are_left_to_others(digits):
    found = check_numbers(b"1," + b"7" * digits + b",0\n" + b"1,2,3\n" * 50, ",", 3)
    assert found == (NOT_PLAIN if digits >= 200 else WHOLE)
