"""The Vowpal Wabbit scanner accepts exactly what a plain reader accepts, and reads the same bits."""

import zlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.fuzz.plain import vw_line

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.scanners.names import NameTable, sorted_rows
from rosenblatt.data.scanners.vw import NUMBER, TEXT, count_rows_and_names, scan_vw

AFTER = b" " * 200 + b"\n"  # what is followed by this is read many bytes at a time, what ends the text is not


def plain_scan(text):
    rows, bad = [], []
    for offset, line in enumerate(text.split(b"\n")):
        try:
            row = vw_line(line)
        except ValueError:
            bad.append(offset)
        else:
            if row is not None:
                rows.append((offset, *row))
    return rows, bad


def scanned_rows(text, result):
    def name(spans):
        space, feature = result.text[spans[0] : spans[1]], result.text[spans[2] : spans[3]]
        return (space + b"^" if space else b"") + feature

    def label(row):
        if result.labelled[row] == TEXT:
            return text[slice(*result.label_spans[row].tolist())]
        return float(result.labels[row]) if result.labelled[row] == NUMBER else None

    rows = []
    for k in range(result.labels.size):
        pairs = range(result.indptr[k], result.indptr[k + 1])
        rows.append(
            (
                int(result.lines[k]),
                label(k),
                float(result.weights[k]),
                text[result.tags[k, 0] : result.tags[k, 1]],
                [(name(result.names[i]), float(result.values[i])) for i in pairs],
            )
        )
    return rows


TOKENS = st.sampled_from(
    [
        *(
            b"1",
            b"-1",
            b"2.5",
            b"0",
            b"1e400",
            b"nan",
            b"'tag",
            b"tag",
            b"|",
            b"|",
            b"|",
            b"|ns",
            b"|ns:2",
            b"|n:x",
        ),
        *(
            b"|:3",
            b"a",
            b"b",
            b"a:1",
            b"b:0.5",
            b"c:-1e-3",
            b"d:nan",
            b"e:inf",
            b"f:",
            b":4",
            b"g:1:2",
            b"h:1x",
        ),
        *(
            b"k:0.1000000000000000055511151231257827",
            b"|big:1e308",
            b"m:1e308",
            b"n^x",
            b"\xc3\xa9",
            b"\0",
            b"#",
        ),
        *(
            b"|h:0.30000000000000000000000000000001",
            b":red",
            b"i:red",
            b"j:-x",
            b"k:-.5",
            b"l:.",
            b"spam",
            b"a,b",
            b":-2.5",
        ),
    ]
)
SPACES = st.sampled_from([b" ", b" ", b" ", b"", b"\t", b"\n", b"\n", b"\r\n"])
MIXED = st.lists(st.tuples(TOKENS, SPACES), max_size=40).map(lambda parts: b"".join(a + b for a, b in parts))


@settings(max_examples=1500, deadline=None)
@given(text=st.one_of(MIXED, MIXED, st.binary(max_size=60)))
@example(text=b"1 2 0 'tag |a:2 x:3 |b y")
@example(text=b"1| a")
@example(text=b"1 'a b| c")
@example(text=b"1 |n:1e308 a:1e308\n1 | a")
def test_it_accepts_exactly_what_a_plain_reader_accepts(text):
    rows, bad = plain_scan(text)
    for result in (scan_vw(text), scan_vw(text + b"\n" + AFTER)):
        assert [line for line, _, _ in result.bad] == bad
        assert scanned_rows(text, result) == rows
        for spans, crc in zip(result.names, result.crcs, strict=True):
            space, feature = result.text[spans[0] : spans[1]], result.text[spans[2] : spans[3]]
            assert zlib.crc32((space + b"^" if space else b"") + feature) == crc


@settings(max_examples=500, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(
                st.characters(codec="ascii", exclude_characters=" :|\t\n\v\f\r"), min_size=1, max_size=30
            ),
            st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.decimals(-99, 99, places=4),
        ),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(["", "n", "name_of_a_space"]),
)
def test_names_and_values_of_any_length_are_read(features, space):
    tokens = [name if value is None else f"{name}:{value}" for name, value in features]
    text = f"1 |{space} {' '.join(tokens)}\n".encode()
    prefix = f"{space}^".encode() if space else b""
    expected = [(prefix + name.encode(), 1.0 if value is None else float(value)) for name, value in features]
    for end in (b"", AFTER):
        result = scan_vw(text + end)
        assert scanned_rows(text, result) == [(0, 1.0, 1.0, b"", expected)]
        assert result.crcs.tolist() == [zlib.crc32(name) for name, _ in expected]


@pytest.mark.parametrize("longest", [3, 20, 100, 400])
def test_entries_are_put_in_order_and_added_up(longest):
    """Against a dict: rows short enough to count smaller keys and long enough for a radix sort."""
    rng = np.random.default_rng(longest)
    rows = [
        rng.integers(-1, rng.choice([2, 40, 70_000, 2**31 - 1]), rng.integers(0, longest)) for _ in range(60)
    ]
    values = [rng.integers(1, 9, row.size).astype(float) for row in rows]
    indptr, values_in = np.cumsum([0] + [row.size for row in rows]), np.concatenate(values)
    places = np.concatenate(rows).astype(np.int32)
    kept, overflowing = sorted_rows(indptr, places, values_in)
    assert not overflowing.size
    for row, value, lo, hi in zip(rows, values, indptr[:-1], indptr[1:], strict=True):
        expected = {}
        for place, amount in zip(row.tolist(), value.tolist(), strict=True):
            if place >= 0:
                expected[place] = expected.get(place, 0.0) + amount
        assert places[lo:hi].tolist() == sorted(expected)
        assert values_in[lo:hi].tolist() == [expected[place] for place in sorted(expected)]
    assert kept == indptr[-1]


def numbers_of(table, result, grow=True):
    return table.numbers(result.text, result.names, result.crcs, grow).tolist()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([f"w{i}" for i in range(400)] + ["é", "a^b"]), min_size=1, max_size=900))
def test_names_are_numbered_in_order_of_appearance(words):
    text = "".join(f"1 | {word}\n" for word in words).encode()
    expected = {}
    numbers = [expected.setdefault(word, len(expected)) for word in words]
    table = NameTable()
    cut = text.index(b"\n", len(text) // 2) + 1
    got = [n for part in (text[:cut], text[cut:]) for n in numbers_of(table, scan_vw(part))]
    assert got == numbers
    assert table.names() == list(expected)
    fixed = NameTable(tuple(expected)[:3])
    known = numbers_of(fixed, scan_vw(text), grow=False)
    assert known == [n if n < 3 else -1 for n in numbers]


def test_a_file_of_vowpal_wabbit(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 | free:2 offer free\n\n-1 0.5 'mail7|from:2 bob ann:3 | offer\ntag| x\n")
    result = read_all(path)
    assert result.y.tolist() == [1, -1]
    assert result.weight.tolist() == [1, 0.5]
    assert result.feature_names == ["free", "offer", "from^bob", "from^ann", "x"]
    assert result.X.toarray().tolist() == [[3, 1, 0, 0, 0], [0, 1, 2, 6, 0]]
    assert result.tags.tolist() == ["", "mail7"]


def test_features_without_a_name_and_values_that_are_text_are_read_as_vw_reads_them(tmp_path):
    """A feature without a name is called by its number among those of its namespace; a text value is part of a name."""
    path = tmp_path / "a.vw"
    path.write_text("1 | :0.03 1:2 :4 |n:2 :1 colour:red :3 |n :5\n0 | 0:7 :red size:-1\n")
    rows = read_all(path)
    assert rows.feature_names == ["0", "1", "n^0", "n^colour:red", "n^1", ":red", "size"]
    assert rows.X.toarray().tolist() == [[0.03, 6, 7, 1, 6, 0, 0], [7, 0, 0, 0, 0, 1, -1]]
    hashed = read_all(path, hash_bits=20)
    names = ["0", "1", "n^0", "n^colour:red", "n^1", ":red", "size"]
    places = [zlib.crc32(name.encode()) & (2**20 - 1) for name in names]
    assert hashed.X.toarray()[:, places].tolist() == rows.X.toarray().tolist()


def test_labels_that_are_text(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("spam 2 'm1| free\nham | lunch\n| nothing\n7 | free\n")
    rows = read_all(path)
    assert rows.y.tolist() == ["spam", "ham", "7"]
    assert rows.weight.tolist() == [2, 1, 1]
    assert rows.schema.labels == "text"
    assert read_all(path, schema=rows.schema).y.tolist() == ["spam", "ham", "7"]
    path.write_text("1 | free\nspam | lunch\n")
    with pytest.raises(
        BadInput, match=r"a.vw:2:1: the label 'spam' is not a number, but the labels before it are"
    ):
        read_all(path)
    assert read_all(path, skip_bad=True).y.tolist() == [1]
    for line, label in (("1:0.5 | a", "1:0.5"), ("1,2 | a", "1,2"), ("1:2:0.4 | a", "1:2:0.4")):
        path.write_text("1 | a\n" + line + "\n")  # labels of other learners: costs, bandits, several at once
        with pytest.raises(BadInput, match=rf"a.vw:2:1: the label '{label}' has costs, or is several"):
            read_all(path)


def test_words_that_begin_like_infinity_are_labels(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("infrared | a\n-inf999-1 | b\nnanowire | c\n")
    assert read_all(path).y.tolist() == ["infrared", "-inf999-1", "nanowire"]
    for word in ("inf", "-Infinity", "NaN"):
        path.write_text(f"{word} | a\n")
        with pytest.raises(BadInput, match="is not a finite number"):
            read_all(path)


def test_lines_without_a_label_are_passed_over_and_counted(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("| a\n1 | b\n'tag| c\n0 | d\n")
    examples = open_examples(path)
    (batch,) = examples
    assert batch.y.tolist() == [1, 0]
    assert batch.lines.tolist() == [2, 4]
    assert examples.unlabelled == 2
    (batch,) = open_examples(path, labels=False)
    assert batch.y is None
    assert batch.lines.tolist() == [1, 2, 3, 4]


def test_a_target_of_real_numbers_stays_one(tmp_path):
    (tmp_path / "a.vw").write_text("0.5 | a\n1.25 | b\n-3e2 | c\n")
    assert read_all(tmp_path / "a.vw").y.tolist() == [0.5, 1.25, -300.0]


def test_tags_stay_with_their_rows(tmp_path, monkeypatch):
    path = tmp_path / "a.vw"
    rows = [(f"row{i}" if i % 3 else "") for i in range(100)]
    path.write_text(
        "".join(f"{i % 2} '{tag}| w{i}\n" if tag else f"{i % 2} | w{i}\n" for i, tag in enumerate(rows))
    )
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 60)
    assert read_all(path).tags.tolist() == rows
    assert [tag for batch in open_examples(path, batch_rows=7) for tag in batch.tags.tolist()] == rows
    path.write_text("1 | a\n0 | b\n")
    assert read_all(path).tags is None


def test_a_file_without_labels_has_none(tmp_path):
    (tmp_path / "a.vw").write_text("| a b\n| c\n")
    assert read_all(tmp_path / "a.vw").y is None


def test_splits_and_hashes(tmp_path, monkeypatch):
    path = tmp_path / "a.vw"
    path.write_text("".join(f"{i % 2} |n w{i * i % 17}:{i} w{i % 5} |m v{i}\n" for i in range(200)))
    whole = read_all(path)
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 97)
    split = read_all(path, batch_rows=7)
    assert (split.X.toarray() == whole.X.toarray()).all()
    assert split.feature_names == whole.feature_names
    hashed = read_all(path, hash_bits=6)
    assert hashed.X.shape == (200, 64)
    assert hashed.X.sum() == whole.X.sum()
    known = read_all(path, schema=whole.schema)
    assert (known.X.toarray() == whole.X.toarray()).all()


@pytest.mark.parametrize("options", [{}, {"hash_bits": 8}])
def test_values_that_add_up_beyond_a_float64_are_refused_by_line_and_column(tmp_path, options):
    path = tmp_path / "a.vw"
    path.write_text("1 | a:1\n-1 |n b a:1e308 |m c |n a:1e308\n1 | a:1e308 b:2\n")
    with pytest.raises(BadInput, match=r"a.vw:2:\d+: the values of 'a' add up beyond a float64") as error:
        read_all(path, **options)
    assert error.value.column == 25
    result = read_all(path, skip_bad=True, **options)
    assert result.lines.tolist() == [1, 3]
    assert result.y.tolist() == [1, 1]
    assert np.isfinite(result.X.data).all()
    path.write_text("1 | a:1\n-1 | a:-1e308 a:1e308 a:1e308\n")  # no sum on the way is too large
    assert read_all(path, **options).X.toarray().max() == 1e308


def test_text_that_is_not_utf8_is_told(tmp_path):
    (tmp_path / "a.vw").write_bytes(b"1 | a\n1 | \xff\n-1 | \xc3\xa9\n")
    with pytest.raises(BadInput, match=r"a.vw:2:5: not UTF-8"):
        read_all(tmp_path / "a.vw")
    result = read_all(tmp_path / "a.vw", skip_bad=True)
    assert result.feature_names == ["a", "é"]
    assert result.lines.tolist() == [1, 3]
    assert open_examples(tmp_path / "a.vw").format == "vw"


@given(st.lists(st.sampled_from(b"a: |\n\t1\x0b\r"), max_size=200).map(bytes))
@example(b": " * 60)
@example(b" :" * 60)
def test_rows_and_names_are_counted_in_vectors_as_byte_by_byte(text):
    space = [byte == 32 or 9 <= byte <= 13 for byte in text]
    bars, without_name = text.count(b"|"), sum(text[k] == 58 and space[k - 1] for k in range(1, len(text)))
    expected = text.count(b"\n"), bars, bars + sum(space), without_name
    assert count_rows_and_names(np.frombuffer(text, np.uint8)) == expected


@pytest.mark.parametrize("largest", [300, 2**24 - 1, 2**31 - 2])
@pytest.mark.parametrize("n", [1, 2, 96, 128, 129, 500])
def test_rows_of_any_length_and_width_are_sorted(n, largest):
    rng = np.random.default_rng(n)
    indices = rng.integers(0, largest, n, endpoint=True).astype(np.int32)
    indices[rng.integers(0, n)] = largest
    values, indptr = rng.integers(1, 9, n).astype(float), np.array([0, n])
    columns, which = np.unique(indices, return_inverse=True)
    sums = np.bincount(which, values)
    size, _ = sorted_rows(indptr, indices, values)
    assert indices[:size].tolist() == columns.tolist()
    assert values[:size].tolist() == sums.tolist()
