"""Arrow and Parquet files that lie about themselves."""

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.arrow_batches import write_batches
from rosenblatt.data.arrow_check import check_uncompressed_size
from rosenblatt.data.tables.header import MOST_COLUMNS

TABLE = pa.table({"sky": ["grey", "blue", "grey"], "wind": [1.0, 2.0, 3.0], "y": ["a", "b", "a"]})


def arrow_bytes(table, form=pa.ipc.new_file, compression=None):
    sink = pa.BufferOutputStream()
    with form(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("form", [pa.ipc.new_file, pa.ipc.new_stream])
def test_offsets_and_indices_outside_their_buffers_are_refused(tmp_path, form):
    offsets = pa.array(TABLE["sky"].chunk(0)).buffers()[1].to_pybytes()[:16]
    content = arrow_bytes(TABLE, form).replace(offsets, b"\0\0\0\0\4\0\0\0\xff\xff\xff\x7f\xff\xff\xff\x7f")
    path = tmp_path / "a.arrow"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"a.arrow: not an Arrow IPC file, or a damaged one"):
        read_all(path)
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), ["grey", "blue"])
    content = arrow_bytes(pa.table({"sky": codes, "y": [0, 1, 0]}), form)
    path.write_bytes(
        content.replace(np.array([0, 1, 0], "i4").tobytes(), np.array([0, 1 << 30, 0], "i4").tobytes())
    )
    with pytest.raises(BadInput, match=r"a.arrow: .*damaged"):
        read_all(path)


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("form", [pa.ipc.new_file, pa.ipc.new_stream])
def test_how_large_a_packed_batch_becomes_is_known_before_it_is_unpacked(tmp_path, form, compression):
    zeros = pa.table({"a": np.zeros(1 << 20), "y": np.zeros(1 << 20, np.int64)})
    content = arrow_bytes(zeros, form, compression)
    assert len(content) < 200_000
    check_uncompressed_size(io.BytesIO(content), 1 << 24)
    with pytest.raises(ValueError, match="becomes 16,777,216 bytes"):
        check_uncompressed_size(io.BytesIO(content), (1 << 24) - 1)
    path = tmp_path / "a.arrow"  # eight terabytes, it says
    path.write_bytes(content.replace((1 << 23).to_bytes(8, "little"), (1 << 43).to_bytes(8, "little")))
    with pytest.raises(BadInput, match=r"a.arrow: .* becomes [\d,]+ bytes when it is decompressed"):
        read_all(path)


def test_packed_dictionaries_count_together():
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), ["x" * 5000, "y" * 5000])
    content = arrow_bytes(pa.table({"a": codes, "b": codes, "y": [0, 1, 0]}), compression="zstd")
    check_uncompressed_size(io.BytesIO(content), 25_000)
    with pytest.raises(ValueError, match="becomes"):
        check_uncompressed_size(io.BytesIO(content), 15_000)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_text_with_a_nul_is_a_bad_row(tmp_path, form):
    table = pa.table({"sky": ["grey", "bl\0ue", "grey", "red"], "y": ["a", "b", "a\0", "b"]})
    path = tmp_path / f"a.{form}"
    path.write_bytes(arrow_bytes(table)) if form == "arrow" else parquet.write_table(table, path)
    for options in ({}, {"at_once": True}):
        with pytest.raises(BadInput, match=rf"a.{form}:2: column 'sky' has a text with a NUL"):
            read_all(path, **options)
        rows = read_all(path, skip_bad=True, **options)
        assert rows.lines.tolist() == [1, 4]
        assert rows.y.tolist() == ["a", "b"]
    parquet.write_table(pa.table({"a\0": [1, 2], "y": [0, 1]}), tmp_path / "b.parquet")
    with pytest.raises(BadInput, match=r"b.parquet: the column 'a\\x00' contains a NUL"):
        read_all(tmp_path / "b.parquet")


def test_integers_of_64_bits_are_read_whatever_their_size(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": [2**53 + 1, 1], "y": [2**53, 2**53 + 1]}), path)
    rows = read_all(path)
    assert rows.y.tolist() == [2**53, 2**53 + 1]
    assert rows.X.tolist() == [[2.0**53], [1.0]]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int8()), pa.binary(), pa.struct([("p", pa.int8())]), pa.binary_view()]
)
def test_columns_of_no_number_and_no_text_are_named(tmp_path, kind):
    path = tmp_path / "a.arrow"
    path.write_bytes(arrow_bytes(pa.table({"a": pa.nulls(2, kind), "y": [0, 1]})))
    with pytest.raises(BadInput, match=r"a.arrow: column 'a' holds .*, neither numbers nor text: .*--drop a"):
        read_all(path)


def test_rows_without_any_value_are_no_rows_however_many_they_say(tmp_path):
    nothing = pa.Array.from_buffers(pa.null(), (1 << 31) - 1, [None])  # takes no memory
    path = tmp_path / "a.arrow"
    path.write_bytes(arrow_bytes(pa.table({"a": nothing, "y": nothing})))
    with pytest.raises(BadInput, match="columns without any value"):
        read_all(path)


def test_a_table_has_a_largest_width(tmp_path, monkeypatch):
    assert MOST_COLUMNS >= 1_000_000
    monkeypatch.setattr("rosenblatt.data.tables.header.MOST_COLUMNS", 2)
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    with pytest.raises(BadInput, match=r"a.parquet: 3 columns, more than 2"):
        read_all(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,0\n")
    with pytest.raises(BadInput, match=r"a.csv:1: 3 columns, more than 2"):
        read_all(tmp_path / "a.csv")


def converted(tmp_path, text="1 1:0.5 3:2\n-1 2:1\n1 1:1 7:0.25\n"):
    source = tmp_path / "a.svm"
    source.write_text(text)
    path = tmp_path / "a.arrow"
    with path.open("wb") as file:
        write_batches(file, open_examples(source))
    return path


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        (b'"rows": 3', b'"rows": 9'),
        (b'"rows": 3', b'"rows":-3'),
        (b'"classes": [-1, 1]', b'"classes": [1,  1]'),
        (b'"classes": [-1, 1]', b'"classes": ["a",1]'),
        (b'"n_features": 7', b'"n_features":-7'),
        (b'"n_features": 7', b'"n_features": 3'),
        (b'"skipped": []', b'"skipped": 77'),
        (b'"schema"', b'"sch_ma"'),
    ],
)
def test_what_a_converted_file_says_of_itself_is_checked(tmp_path, said, instead):
    path = converted(tmp_path)
    content = path.read_bytes()
    assert said in content
    path.write_bytes(content.replace(said, instead))
    with pytest.raises(BadInput, match=r"a.arrow: .*damaged"):
        read_all(path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_of_a_converted_file_are_finite(tmp_path, value):
    path = converted(tmp_path)
    path.write_bytes(path.read_bytes().replace(np.float64(0.25).tobytes(), np.float64(value).tobytes()))
    with pytest.raises(BadInput, match=f"the file has the value {value}"):
        read_all(path)


def test_indices_of_a_converted_file_ascend(tmp_path):
    path = converted(tmp_path)
    first, swapped = np.array([0, 2, 1], np.int32).tobytes(), np.array([2, 0, 1], np.int32).tobytes()
    content = path.read_bytes()
    assert content.count(first) == 1
    path.write_bytes(content.replace(first, swapped))
    with pytest.raises(BadInput, match="do not ascend"):
        read_all(path)
