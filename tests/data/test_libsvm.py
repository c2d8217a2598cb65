import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from rosenblatt.data import BadInput, Column, LibsvmSchema, TableSchema, libsvm, open_examples, read_all


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="data.svm"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write_file


SPARSE = st.lists(
    st.tuples(
        st.sampled_from([-1, 1, 3]),
        st.dictionaries(st.integers(1, 60), st.floats(allow_nan=False, allow_infinity=False), max_size=8),
    ),
    min_size=1,
    max_size=30,
)


def as_text(rows):
    lines = (f"{y} " + " ".join(f"{i}:{v!r}" for i, v in sorted(x.items())) for y, x in rows)
    return "\n".join(lines).encode() + b"\n"


def assert_same(one, other):
    assert one.y.dtype == other.y.dtype
    assert one.y.tolist() == other.y.tolist()
    assert one.lines.tolist() == other.lines.tolist()
    for field in ("indptr", "indices", "data"):
        assert getattr(one.X, field).tobytes() == getattr(other.X, field).tobytes()
    assert one.X.shape == other.X.shape


@settings(max_examples=150, deadline=None)
@given(rows=SPARSE, batch_rows=st.integers(1, 9), block_bytes=st.integers(1, 200))
def test_what_is_written_is_read_to_the_bit_in_any_split(tmp_path_factory, rows, batch_rows, block_bytes):
    folder = tmp_path_factory.mktemp("libsvm")
    path, packed = folder / "a.svm", folder / "b.svm.gz"
    path.write_bytes(as_text(rows))
    packed.write_bytes(gzip.compress(as_text(rows)))
    whole = read_all(path)
    assert whole.y.tolist() == [y for y, _ in rows]
    assert whole.y.dtype == np.int64
    expected = [value for _, x in rows for _, value in sorted(x.items())]
    assert whole.X.data.tobytes() == np.array(expected, float).tobytes()
    assert whole.X.indices.tolist() == [index - 1 for _, x in rows for index in sorted(x)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", block_bytes)
        assert_same(read_all(path, batch_rows=batch_rows), whole)
        sizes = [batch.y.size for batch in open_examples(path, batch_rows=batch_rows)]
    assert sizes[:-1] == [batch_rows] * (len(sizes) - 1)
    assert_same(read_all(packed), whole)


def test_it_agrees_with_scikit_learn(tmp_path):
    rng = np.random.default_rng(0)
    X = csr_array(rng.normal(size=(200, 30)) * (rng.random((200, 30)) < 0.2))
    dump_svmlight_file(
        X, rng.integers(0, 3, 200), str(tmp_path / "a.svm"), zero_based=False, comment="made up"
    )
    theirs, labels = load_svmlight_file(str(tmp_path / "a.svm"), zero_based=False)
    ours = read_all(tmp_path / "a.svm")
    assert (ours.X.toarray() == theirs.toarray()).all()
    assert ours.y.tolist() == labels.tolist()
    assert isinstance(ours.X, csr_array)
    assert ours.X.indices.dtype == ours.X.indptr.dtype == np.int32


def test_comments_blank_lines_and_queries_count_as_lines_only(write):
    text = b"\xef\xbb\xbf# a comment\n\n+1 qid:7 1:0.5 # \xff\r\n \t\n-1 3:2 #4:9"
    found = read_all(write(text))
    assert found.lines.tolist() == [3, 5]
    assert found.X.toarray().tolist() == [[0.5, 0, 0], [0, 0, 2]]
    assert found.feature_names is None
    assert found.schema == LibsvmSchema(3)


def test_labels_keep_their_kind(write):
    assert read_all(write(b"1.0 1:1\n-3 1:1\n")).y.dtype == np.int64
    assert read_all(write(b"0.5 1:1\n1 1:1\n")).y.dtype == np.float64


def test_zero_based_files(write):
    path = write(b"1 0:5 2:7\n")
    found = read_all(path, zero_based=True)
    assert found.X.toarray().tolist() == [[5, 0, 7]]
    assert found.schema == LibsvmSchema(3, zero_based=True)
    assert read_all(path, schema=found.schema.to_dict()).X.toarray().tolist() == [[5, 0, 7]]


def test_where_indices_count_from_is_known_when_all_is_read(write):
    examples = open_examples(write(b"# counts from zero\n1 1:5\n-1 0:2 2:7\n"))
    assert next(iter(examples)).X.toarray().tolist() == [[0, 5, 0], [2, 0, 7]]
    assert examples.zero_based
    examples = open_examples(write(b"1 1:5\n-1 2:7\n"))
    assert next(iter(examples)).X.toarray().tolist() == [[5, 0], [0, 7]]
    assert not examples.zero_based


LATE = b"# head 0:1\n" + b"1 1:1 10:0\n" * 40_000 + b"1 0:1 2:1\n" + b"1 1:1\n" * 100


@pytest.mark.parametrize("packed", [False, True])
def test_an_index_zero_anywhere_shifts_what_was_read_before(write, monkeypatch, packed):
    path = write(gzip.compress(LATE), "late.svm.gz") if packed else write(LATE)
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 5000)
    opened, reads = "rosenblatt.data.libsvm.scanned", []
    scanned = libsvm.scanned
    monkeypatch.setattr(opened, lambda path, *rest: reads.append(path) or scanned(path, *rest))
    found = read_all(path)
    assert len(reads) == 1  # without a read of its own
    assert found.schema == LibsvmSchema(11, zero_based=True)
    assert found.X.shape == (40_101, 11)
    assert found.X[:1].indices.tolist() == [1, 10]
    assert found.X[[40_000]].toarray().ravel()[:3].tolist() == [1, 0, 1]
    whole = read_all(path, zero_based=True)
    for name in ("indices", "indptr", "data"):
        assert (getattr(found.X, name) == getattr(whole.X, name)).all()
    two = read_all([write(b"1 1:1\n", "first.svm"), path])
    assert two.schema == found.schema
    assert two.X[:1].indices.tolist() == [1]
    examples = open_examples(path, batch_rows=7)
    batches = list(examples)
    assert [batch.first_index for batch in batches[:1] + batches[-1:]] == [1, 0]
    again = next(iter(examples))  # known from the reading before
    assert again.X[:1].indices.tolist() == [1, 10]


def test_a_schema_or_an_option_settles_where_indices_begin(write):
    path = write(LATE, "late.svm")
    with pytest.raises(BadInput, match="index 0"):
        read_all(path, zero_based=False)
    assert [bad.line for bad in read_all(path, zero_based=False, skip_bad=True).skipped] == [40_002]
    with pytest.raises(BadInput, match="index 0"):
        read_all(path, schema=LibsvmSchema(20))


def test_features_the_model_does_not_know_are_ignored_and_counted(write):
    path = write(b"1 1:1 3:3 4:4\n-1 4:4 9:9\n1 2:2\n")
    found = read_all(path, schema={"kind": "libsvm", "n_features": 3})
    assert found.X.toarray().tolist() == [[1, 0, 3], [0, 0, 0], [0, 2, 0]]
    assert found.unseen == 3
    assert read_all(path, schema=LibsvmSchema(50)).X.shape == (3, 50)


def test_batches_widen_as_indices_appear(write, monkeypatch):
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 6)
    examples = open_examples(write(b"1 1:1\n-1 5:1\n1 2:1\n"), batch_rows=1)
    assert [batch.X.shape for batch in examples] == [(1, 1), (1, 5), (1, 5)]
    assert examples.n_features == 5
    assert [batch.X.shape for batch in examples] == [(1, 1), (1, 5), (1, 5)]  # read again from the start


BAD = {
    b"1 1:nan": "the value of '1:nan' is not a finite number",
    b"1 1:-inf": "the value of '1:-inf' is not a finite number",
    b"nan 1:1": "the label 'nan' is not a finite number",
    b"1 1:1e999": "the value of '1e999' is not a finite number",
    b"1 3:1 2:1": "the index of '2:1' is below the one before it: sort the indices",
    b"1 2:1 2:1": "the index of '2:1' is given twice",
    b"1 2:1 garbage": "'garbage' is not index:value",
    b"1 2:1x": "the value of '2:1x' is not a number",
    b"1 2:": "the value of '2:' is not a number",
    b"2:1 3:1": "no label before '2:1': write 0",
    b"spam 3:1": "the label 'spam' is not a number",
    b"1,2 3:1": "the label '1,2' is not a number",
    b"1 2147483649:1": "the index of '2147483649:1' is above 2^31",
    b"1 99999999999999999999999:1": "is above 2^31",
    b"1 1:1\x002:1": "the value of '1:1\\x002:1' is not a number",
    b"1 \xff\xfe:1": "is not index:value",
    b"1 qid:a 1:1": "'qid:a' is not index:value",
    b"1 " + b"x" * 3_000_000: f"'{'x' * 40}'... is not index:value",
}


@pytest.mark.parametrize(("line", "reason"), BAD.items(), ids=[line[:24] for line in BAD])
def test_a_bad_line_is_named_and_nothing_is_learned_from_it(write, line, reason):
    path = write(b"# head\n1 1:1 2:2\n" + line + b"\n-1 2:1\n")
    with pytest.raises(BadInput) as caught:
        read_all(path)
    assert str(caught.value).startswith(f"{path}:3:{caught.value.column}: ")
    assert line[caught.value.column - 1 :].split(maxsplit=1)[0] in line
    assert reason in caught.value.reason
    found = read_all(path, skip_bad=True)
    assert found.lines.tolist() == [2, 4]
    assert found.X.toarray().tolist() == [[1, 2], [0, 1]]
    assert [(bad.path, bad.line) for bad in found.skipped] == [(str(path), 3)]
    assert str(found.skipped[0]) == str(caught.value)


def test_a_bad_line_far_into_the_file_keeps_its_number(write, monkeypatch):
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 64)
    with pytest.raises(BadInput, match=r"data.svm:501:1: no label"):
        read_all(write(b"1 1:1\n" * 500 + b"1:1\n"))


def test_a_file_of_bad_lines_only_is_an_error(write):
    with pytest.raises(BadInput, match=r"all 2 lines are bad, the first: .*data.svm:1:1: "):
        read_all(write(b"x\ny\n"), skip_bad=True)


def test_comments_only_is_an_error(write):
    with pytest.raises(BadInput, match="no examples in the file"):
        read_all(write(b"# nothing\n\n"))


def test_a_target_or_a_tables_schema_does_not_fit(write):
    path = write(b"1 1:1\n")
    with pytest.raises(BadInput, match="none is called 'y'"):
        open_examples(path, target="y")
    with pytest.raises(BadInput, match="trained on a table"):
        open_examples(path, schema=TableSchema((Column("a"),)))


def test_indices_from_0_to_2_to_the_31_are_refused(write):
    for text in (b"1 2147483648:1\n0 0:1\n", b"0 0:1 2147483648:1\n"):
        with pytest.raises(BadInput, match=r"indices from 0 to 2\^31: number the features more densely"):
            read_all(write(text))
    assert read_all(write(b"1 2147483648:1\n")).X.shape == (1, 2**31)
    assert read_all(write(b"1 0:1\n" * 2 + b"1 2147483647:1\n"), batch_rows=1).X.shape == (3, 2**31)
