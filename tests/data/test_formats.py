"""Every format, every packing and every split tells the same examples."""

import bz2
import gzip
import json
import lzma

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.sources import (
    FRAME,
    SVM,
    WRITERS,
    as_arrow,
    as_csv,
    as_parquet,
    as_vw,
    by_name,
    dense,
    make,
)

from rosenblatt.data import BadInput, NamedSchema, open_examples, read_all

PACKINGS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", PACKINGS)
@pytest.mark.parametrize("named", [True, False])
def test_any_packing_reads_the_same(tmp_path, suffix, named):
    (tmp_path / "a.svm").write_bytes(SVM)
    packed = tmp_path / ("a.svm" + suffix if named else "packed.svm")
    packed.write_bytes(PACKINGS[suffix](SVM[:1000]) + PACKINGS[suffix](SVM[1000:]))
    one, other = read_all(tmp_path / "a.svm"), read_all(packed)
    assert (dense(one) == dense(other)).all()
    assert one.y.tolist() == other.y.tolist()
    assert one.lines.tolist() == other.lines.tolist()


@pytest.mark.parametrize("suffix", PACKINGS)
def test_packed_data_that_end_early_or_are_damaged(tmp_path, suffix):
    text = b"".join(b"1 1:%d\n" % (i * i) for i in range(1, 50_000))
    whole = PACKINGS[suffix](text)
    path = tmp_path / ("a.svm" + suffix)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"a\.svm.*ends early"):
        read_all(path)
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 255
    broken[len(whole) // 2 + 1] ^= 255
    path.write_bytes(broken)
    with pytest.raises(
        BadInput, match=r"a\.svm"
    ):  # what it unpacks to may be found out before the checksum is
        read_all(path)


@pytest.mark.parametrize("name", ["a", "a.csv"])
def test_a_folder_of_files_of_a_named_format(tmp_path, name):
    for folder in ("x", "y"):
        as_csv(make(tmp_path / folder)).rename(tmp_path / f"{name}.{folder}")
        (tmp_path / folder).rmdir()
    assert read_all(tmp_path, format="csv").y.size == 8


def test_several_files_are_one_stream(tmp_path):
    cuts = [0, 40, 41, 200, 299]
    lines = SVM.splitlines(keepends=True)
    for k in range(4):
        (tmp_path / f"part{k}.svm").write_bytes(b"".join(lines[cuts[k] : cuts[k + 1]]))
    (tmp_path / "whole").write_bytes(SVM)
    whole = read_all(tmp_path / "whole")
    for source in (str(tmp_path / "part*.svm"), [tmp_path / f"part{k}.svm" for k in range(4)]):
        assert (dense(read_all(source)) == dense(whole)).all()
    batch = next(iter(open_examples(str(tmp_path / "part*.svm"), batch_rows=250)))
    assert batch.where(0).endswith("part0.svm:1")
    assert batch.where(40).endswith("part1.svm:1")
    assert batch.where(249).endswith("part3.svm:50")
    (tmp_path / "part9.svm").write_bytes(b"1 1:x\n")
    with pytest.raises(BadInput, match=r"part9.svm:1:3: "):
        read_all(str(tmp_path / "part*.svm"))
    with pytest.raises(BadInput, match="no file matches"):
        read_all(str(tmp_path / "nothing*.svm"))


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("at_once", [False, True])
def test_every_format_tells_the_same_table(tmp_path, write, at_once):
    options = {} if write is as_vw else {"target": "play"}
    found = read_all(write(tmp_path), at_once=at_once, **options)
    expected = read_all(as_csv(tmp_path), target="play")
    assert by_name(found) == by_name(expected)
    assert found.lines.size == 4
    if write is not as_vw:
        assert found.y.tolist() == expected.y.tolist()
    again = read_all(write(tmp_path), schema=found.schema.to_dict(), **options)
    assert (dense(again) == dense(found)).all()


@pytest.mark.parametrize("write", [as_parquet, as_arrow, as_csv])
def test_several_tables_share_one_schema(tmp_path, write):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    write(tmp_path / "a")
    FRAME["sky"] = ["green", "blue", "grey", "red"]
    try:
        last = write(tmp_path / "b")
    finally:
        FRAME["sky"] = ["grey", "blue", "grey", "red"]
    found = read_all(str(tmp_path / "?" / last.name), target="play")
    assert found.feature_names == ["wind", "sky=blue", "sky=green", "sky=grey", "sky=red"]
    assert found.y.size == 8


@pytest.mark.parametrize("write", [as_parquet, as_arrow])
def test_damaged_tables_are_told(tmp_path, write):
    path = write(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(BadInput, match="damaged"):
        read_all(path, target="play")
    path.write_bytes(b"")
    with pytest.raises(BadInput):
        read_all(path, target="play")
    path.write_bytes(gzip.compress(content))
    with pytest.raises(BadInput, match="compressed with gzip as a whole"):
        read_all(path, target="play")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("at_once", [False, True])
def test_binary_files_are_read_a_few_rows_at_a_time_however_they_are_cut(tmp_path, kind, at_once):
    table = pa.table({"a": np.arange(40_000.0), "y": np.arange(40_000) % 2})
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=40_000)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    batches = list(open_examples(path, batch_rows=None, at_once=at_once))
    assert max(batch.lines.size for batch in batches) <= 1 << 14
    assert np.concatenate([batch.lines for batch in batches]).tolist() == list(range(1, 40_001))
    assert np.concatenate([batch.X.sum(axis=1) for batch in batches]).tolist() == list(range(40_000))


def test_a_missing_number_in_parquet_names_its_row_where_it_must_not_be(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, None, 3.0], "y": [0, 1, 0]}), tmp_path / "a.parquet")
    with pytest.raises(BadInput, match=r"a.parquet:2: column 'a' has no value"):
        read_all(tmp_path / "a.parquet", missing="refuse")
    assert read_all(tmp_path / "a.parquet", missing="refuse", skip_bad=True).lines.tolist() == [1, 3]
    assert read_all(tmp_path / "a.parquet").X.tolist() == [[1, 0], [2, 1], [3, 0]]


JSON_BAD = {
    '{"x": NaN, "y": 1}': "NaN is not a finite number",
    '{"x": 1e999, "y": 1}': "not a finite number",
    '{"x": 1, "x": 2, "y": 1}': "'x' is given twice",
    '{"x": 1}': "no label",
    '{"x": 1, "y": null}': "no label",
    '{"x": 1, "y": "spam"}': "labels were numbers",
    '{"x": 1, "y": [1]}': "expected a number or text",
    "[1, 2]": "is not an object",
    '{"x": 1, "y": 1': "not JSON",
    '{"x": ' + "[" * 100_000: "nested",
    '{"x": ' + "[" * 50 + "1" + "]" * 50 + ', "y": 1}': "nested",
    '{"x": ' + "1" * 400 + ', "y": 1}': "too large",
    '{"x": "\udcff", "y": 1}': "UTF-8",
}


@pytest.mark.parametrize(("line", "reason"), JSON_BAD.items(), ids=range(len(JSON_BAD)))
def test_bad_json_is_named_and_not_learned_from(tmp_path, line, reason):
    path = tmp_path / "a.jsonl"
    good = '{"x": 1, "y": 1}\n'
    path.write_bytes((good + line + "\n" + good).encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput) as caught:
        read_all(path, target="y")
    assert str(caught.value).startswith(f"{path}:2:")
    assert reason in caught.value.reason
    assert read_all(path, target="y", skip_bad=True).lines.tolist() == [1, 3]


def test_json_vocabulary_does_not_depend_on_the_split(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"y": i % 3, "n": {"deep": i}, "w": f"word{i % 7}", "tags": ["a", f"t{i}"]} for i in range(1, 60)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = read_all(path, target="y")
    assert whole.feature_names[:4] == ["n.deep", "w=word1", "tags=a", "tags=t1"]
    for size in (1, 7, 59):
        found = read_all(path, target="y", batch_rows=size)
        assert found.feature_names == whole.feature_names
        assert (dense(found) == dense(whole)).all()
    fixed = read_all(path, target="y", schema=NamedSchema(("n.deep", "tags=a"), target="y", labels="integer"))
    assert dense(fixed).shape == (59, 2)
    assert fixed.unseen == 2 * 59
    grown = read_all(
        path, target="y", grow=True, schema=NamedSchema(("n.deep", "tags=a"), target="y", labels="integer")
    )
    assert by_name(grown) == by_name(whole)
    hashed = read_all(path, target="y", hash_bits=8)
    assert dense(hashed).shape == (59, 256)
    assert dense(hashed).sum() == dense(whole).sum()


@pytest.mark.parametrize(
    ("line", "column", "reason"), [(b"1 |n a\0b", 7, "NUL"), (b"1 |n a\xff", 7, "UTF-8")]
)
def test_vw_lines_that_are_no_text_teach_no_name(tmp_path, line, column, reason):
    path = tmp_path / "a.vw"
    path.write_bytes(b"1 |n a\n" + line + b"\n0 |n c\n")
    with pytest.raises(BadInput) as caught:
        read_all(path)
    assert str(caught.value).startswith(f"{path}:2:{column}: ")
    assert reason in caught.value.reason
    found = read_all(path, skip_bad=True)
    assert found.lines.tolist() == [1, 3]
    assert found.feature_names == ["n^a", "n^c"]
