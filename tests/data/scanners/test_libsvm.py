"""The scanner accepts exactly what a plain reader accepts, and reads the same bits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.fuzz.plain import libsvm_line

from rosenblatt.data.scanners.libsvm import has_index_zero, scan

AFTER = b"#" * 200 + b"\n"  # what is followed by this is read many bytes at a time, what ends the text is not


def plain_scan(text, zero_based):
    rows, bad = [], []
    for offset, line in enumerate(text.split(b"\n")):
        try:
            row = libsvm_line(line, zero_based)
        except ValueError:
            bad.append(offset)
        else:
            if row is not None:
                rows.append((offset, *row))
    return rows, bad


def scanned_rows(result):
    return [
        (int(line), label, result.indices[lo:hi].tolist(), result.values[lo:hi].tolist())
        for line, label, lo, hi in zip(
            result.lines, result.labels.tolist(), result.indptr[:-1], result.indptr[1:], strict=True
        )
    ]


# Pieces that make valid lines likely, and every mistake possible.
TOKENS = st.sampled_from(
    [
        *(
            b"1",
            b"-1",
            b"+1",
            b"0",
            b"2.5",
            b"1e3",
            b".5",
            b"5.",
            b"-.5e-3",
            b"nan",
            b"-inf",
            b"infinity",
            b"NaN",
        ),
        *(b"1:1", b"2:0.5", b"3:-1e-5", b"0:1", b"2147483648:1", b"2147483649:1", b"99999999999999999999:1"),
        *(
            b"4:1e308",
            b"4:1e309",
            b"5:123456789012345678901234567890",
            b"6:1e",
            b"6:e5",
            b"6:.",
            b"6:",
            b":6",
        ),
        *(
            b"7:0.1000000000000000055511151231257827",
            b"7:nan",
            b"7:inf",
            b"7:--1",
            b"7:1x",
            b"7 :1",
            b"x",
            b"\0",
        ),
        *(b"qid:3", b"qid:", b"qid:x", b"qid", b"#", b"# 8:nan", b"\xff", b"1:2:3", b"1,2", b"1e99999999999"),
    ]
)
SPACES = st.sampled_from([b" ", b" ", b" ", b"  ", b"\t", b"\n", b"\n", b"\r\n", b"\x0b", b""])
MIXED = st.lists(st.tuples(TOKENS, SPACES), max_size=40).map(lambda parts: b"".join(a + b for a, b in parts))


@settings(max_examples=1500, deadline=None)
@given(text=st.one_of(MIXED, MIXED, st.binary(max_size=60)), zero_based=st.booleans())
@example(text=b"1 1:1\n1e400 1:1\n1 1:1 2:1e400\n1 3:1\n", zero_based=False)
@example(text=b"1 1:0.12345678901234567 1:1\n1 1:2\n", zero_based=False)
@example(text=b"1 qid:3 qid:4 1:1 qid:2", zero_based=False)
def test_it_accepts_exactly_what_a_plain_reader_accepts(text, zero_based):
    rows, bad = plain_scan(text, zero_based)
    for result in (scan(text, zero_based), scan(text + b"\n" + AFTER, zero_based)):
        assert [line for line, _, _ in result.bad] == bad
        assert scanned_rows(result) == rows


@settings(max_examples=500, deadline=None)
@given(text=MIXED, before=st.integers(0, 90))
def test_an_index_zero_is_found_wherever_a_good_line_has_one(text, before):
    text = b"1 3:1\n" * before + text
    rows, _ = plain_scan(text, zero_based=True)
    expected = any(0 in indices for _, _, indices, _ in rows)
    assert has_index_zero(text) == has_index_zero(text + b"\n" + AFTER) == expected


@settings(max_examples=500, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_every_float_is_read_back_to_the_bit(numbers):
    text = "".join(f"{number!r} 1:{number!r} 2:{number:.3e}\n" for number in numbers).encode()
    result = scan(text + AFTER)
    exact = np.array(numbers)
    rounded = np.array([float(f"{number:.3e}") for number in numbers])
    if not np.isfinite(rounded).all():  # 1.798e308 overflows: tested above
        return
    assert result.labels.tobytes() == exact.tobytes()
    assert result.values[0::2].tobytes() == exact.tobytes()
    assert result.values[1::2].tobytes() == rounded.tobytes()


@settings(max_examples=500, deadline=None)
@given(
    st.integers(0, 10**25) | st.integers(10**16, 10**19) | st.integers(2**53, 2**55),
    st.integers(-400, 300) | st.integers(-30, 30) | st.integers(-85, 85),
    st.sampled_from(["{}e{}", "0.{}e{}", "000{}.00e{}", "-{}E{:+}"]),
)
def test_every_decimal_is_rounded_correctly(digits, power, form):
    text = form.format(digits, power)
    result = scan(f"1 1:{text}\n".encode() + AFTER)
    expected = float(text)
    assert result.values.tolist() == ([expected] if np.isfinite(expected) else [])


@settings(max_examples=1000, deadline=None)
@given(
    st.integers(0, 10**9) | st.integers(0, 9),
    st.integers(0, 10**18) | st.integers(0, 9999) | st.integers(10**15, 10**17),
    st.integers(0, 19),
    st.integers(1, 10**9),
    st.sampled_from(["", "-", "+", "0", "-00"]),
)
def test_plain_decimals_are_rounded_correctly(whole, fraction, places, index, sign):
    """The numbers of most files: up to eight digits, a point, up to sixteen; and what is just longer."""
    number = f"{sign}{whole}.{fraction:0{places}d}" if places else f"{sign}{whole}"
    result = scan(f"1 {index}:{number} {index + 1}:1\n".encode() + AFTER)
    assert result.values.tolist() == [float(number), 1.0]
    assert result.indices.tolist() == [index - 1, index]


@pytest.mark.parametrize("step", [-1, 0, 1])
@pytest.mark.parametrize(
    "bits", [0x3FF0000000000000, 0x4340000000000000, 0x3FB999999999999A, 1, 0x7FEFFFFFFFFFFFFF]
)
def test_halfway_decimals_round_to_even(bits, step):
    """A decimal exactly between two floats, and its neighbours 40 digits further on."""
    low, high = np.array([bits - 1, bits], np.uint64).view(np.float64)
    halfway = (Fraction(float(low)) + Fraction(float(high))) / 2
    scale = 10**1100
    digits = int(halfway * scale) + step
    text = f"{digits}e-1100"
    assert scan(f"1 1:{text}\n".encode()).values.tolist() == [float(text)]


def test_long_lines_and_long_tokens_are_read():
    pairs = b" ".join(b"%d:1" % index for index in range(1, 300_001))
    result = scan(b"1 " + pairs + b"\n-1 1:0." + b"3" * 2_000_000 + b"\n1 " + b"9" * 1_000_000 + b":1\n")
    assert result.indptr.tolist() == [0, 300_000, 300_001]
    assert result.values[-1] == 1 / 3
    assert [line for line, _, _ in result.bad] == [2]
