"""Converted examples read back the same."""

import json

import numpy as np
import pytest
from tests.sources import SVM, WRITERS, as_vw, dense

from rosenblatt.data import BadInput, LibsvmSchema, open_examples, read_all
from rosenblatt.data.arrow_batches import BatchFile, write_batches


@pytest.mark.parametrize("write", [*WRITERS, None])
def test_converted_batches_read_back_the_same(tmp_path, write, monkeypatch):
    if write is None:
        source, options = tmp_path / "a.svm", {}
        source.write_bytes(SVM)
    else:
        source, options = write(tmp_path), {} if write is as_vw else {"target": "play"}
    examples = open_examples(source, batch_rows=2, **options)
    with (tmp_path / "out.arrow").open("wb") as file:
        write_batches(file, examples)
    one, other = read_all(source, **options), read_all(tmp_path / "out.arrow")
    assert (dense(one) == dense(other)).all()
    assert one.y.tolist() == other.y.tolist()
    assert one.y.dtype.kind == other.y.dtype.kind
    assert one.lines.tolist() == other.lines.tolist()
    assert one.schema == other.schema
    kept = BatchFile(str(tmp_path / "out.arrow"))
    assert kept.batch(1).where(0) == next(iter(open_examples(source, **options))).where(2)
    monkeypatch.setattr("rosenblatt.data.arrow_batches.RESIDENT_SHARE", 0.0)
    for at in range(len(kept)):
        kept.forget(at)
    assert (dense(read_all(tmp_path / "out.arrow", schema=one.schema)) == dense(one)).all()


def test_converted_batches_fit_a_narrower_model(tmp_path):
    (tmp_path / "a.svm").write_bytes(SVM)
    with (tmp_path / "out.arrow").open("wb") as file:
        write_batches(file, open_examples(tmp_path / "a.svm"))
    narrow = read_all(tmp_path / "out.arrow", schema=LibsvmSchema(2))
    assert (dense(narrow) == dense(read_all(tmp_path / "a.svm", schema=LibsvmSchema(2)))).all()
    content = (tmp_path / "out.arrow").read_bytes()
    (tmp_path / "out.arrow").write_bytes(content[:-20])
    with pytest.raises(BadInput, match="damaged"):
        read_all(tmp_path / "out.arrow")


def test_labels_of_batches_held_for_the_next_pass_take_no_more_than_the_file(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"t": "x" * 9000 if k % 50 == 0 else "o", "a": k}) + "\n" for k in range(200))
    )
    with (tmp_path / "out.arrow").open("wb") as file:
        write_batches(file, open_examples(tmp_path / "a.jsonl", target="t", batch_rows=50))
    size = (tmp_path / "out.arrow").stat().st_size
    kept = BatchFile(str(tmp_path / "out.arrow"))
    assert sum(kept.batch(at).y.nbytes for at in range(len(kept))) > size
    assert kept._resident_copies == sum(held.y.nbytes for held in kept._resident.values()) <= size
    for at in range(len(kept)):
        assert kept.batch(at).y.tolist() == ["x" * 9000, *"o" * 49]
        kept.forget(at, even_if_small=True)
    assert not kept._resident
    assert not kept._resident_copies


def converted(source, out):
    """Write a source as ``convert`` does, in batches of two rows."""
    examples = open_examples(source, batch_rows=2)
    with out.open("wb") as file:
        write_batches(file, examples)
    return read_all(out)


def test_the_tags_of_vowpal_wabbit_text_are_converted_too(tmp_path):
    source, out = tmp_path / "a.vw", tmp_path / "a.arrow"
    source.write_text("1 | a\n0 | b\n1 'mail7| a\n0 'été| b\n1 | c\n")  # the first batch has none
    assert (
        converted(source, out).tags.tolist() == read_all(source).tags.tolist() == ["", "", "mail7", "été", ""]
    )
    again = tmp_path / "b.arrow"
    assert converted(out, again).tags.tolist() == ["", "", "mail7", "été", ""]
    source.write_text("1 | a\n0 | b\n")
    assert converted(source, out).tags is None


def test_labels_beyond_2_to_the_53_are_converted_exactly(tmp_path):
    source, out = tmp_path / "a.jsonl", tmp_path / "a.arrow"
    labels = [2**53, 2**53 + 1, -(2**63), 2**63 - 1, 5]
    source.write_text("".join(f'{{"label": {label}, "a": 1}}\n' for label in labels))
    read = converted(source, out)
    assert read.y.dtype == np.int64
    assert read.y.tolist() == labels
    assert sorted(BatchFile(str(out)).classes.tolist()) == sorted(labels)
    source.write_text("".join(f'{{"label": {label}, "a": 1}}\n' for label in [1, 2, 3, 2**53 + 1]))
    with pytest.raises(BadInput, match=r"a.jsonl:4: the label 9007199254740993 .* write labels as text"):
        converted(source, out)
