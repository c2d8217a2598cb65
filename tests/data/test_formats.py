"""Every format, every packing and every split tells the same examples."""

import bz2
import gzip
import io
import json
import lzma
import mailbox
import threading
from email.message import EmailMessage

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from rosenblatt.data import BadInput, LibsvmSchema, NamedSchema, open_examples, read_all
from rosenblatt.data.arrow_batches import BatchFile, write_batches

PACKINGS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}
SVM = b"".join(b"%d 1:%d 3:%d.5\n" % (i % 2, i, -i) for i in range(1, 300))


def dense(found):
    return found.X if isinstance(found.X, np.ndarray) else found.X.toarray()


def by_name(found):
    """Rows as dicts, so that the order of features does not matter."""
    names = found.feature_names
    return [{names[j]: v for j, v in enumerate(row) if v} for row in dense(found).tolist()]


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


class Stdin:
    """Standard input that arrives in pieces."""

    def __init__(self, data, piece):
        self.buffer = io.BufferedReader(Pieces(data, piece))


class Pieces(io.RawIOBase):
    def __init__(self, data, piece):
        self.data, self.piece = data, piece

    def readable(self):
        return True

    def readinto(self, buffer):
        n = min(len(buffer), self.piece, len(self.data))
        buffer[:n], self.data = self.data[:n], self.data[n:]
        return n


@pytest.mark.parametrize("piece", [7, 100, 1 << 20])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(tmp_path, monkeypatch, piece, pack):
    monkeypatch.setattr("sys.stdin", Stdin(pack(SVM), piece))
    (tmp_path / "a.svm").write_bytes(SVM)
    assert (dense(read_all("-")) == dense(read_all(tmp_path / "a.svm"))).all()
    with pytest.raises(BadInput, match="only once"):
        read_all("-", format="libsvm")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "batches"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_binary_files_may_come_through_a_pipe(tmp_path, monkeypatch, kind, pack):
    path = as_arrow(tmp_path) if kind == "arrow" else as_parquet(tmp_path)
    expected = read_all(path, target="play")
    if kind == "batches":
        with (tmp_path / "b.arrow").open("wb") as file:
            write_batches(file, open_examples(path, target="play"))
        path = tmp_path / "b.arrow"
    monkeypatch.setattr("sys.stdin", Stdin(pack(path.read_bytes()), 100))
    found = read_all("-", target="play")
    assert (dense(found) == dense(expected)).all()
    assert found.y.tolist() == expected.y.tolist()


@pytest.mark.parametrize("name", ["a", "a.csv"])
def test_a_folder_of_files_of_a_named_format(tmp_path, name):
    for folder in ("x", "y"):
        as_csv(make(tmp_path / folder)).rename(tmp_path / f"{name}.{folder}")
        (tmp_path / folder).rmdir()
    assert read_all(tmp_path, format="csv").y.size == 8


class Stalling(Pieces):
    """What arrives in one piece; whoever asks for more waits, at most until ``patience`` is over."""

    patience = 20.0

    def __init__(self, data):
        super().__init__(data, 1 << 20)
        self.over = threading.Event()

    def readinto(self, buffer):
        if not self.data:
            self.over.wait(self.patience)
            self.over.set()
        return super().readinto(buffer)


@pytest.mark.parametrize(
    "line", ["1 1:2\n", "1 |n a\n", "1,2,0\n", '{"a": 1, "y": 0}\n'], ids=["libsvm", "vw", "csv", "jsonl"]
)
def test_what_has_arrived_waits_for_no_more(monkeypatch, line):
    text = ("a,b,y\n" if "," in line and line[0] != "{" else "") + line * 30
    stdin, arriving = Stdin(b"", 0), Stalling(text.encode())
    stdin.buffer = io.BufferedReader(arriving)
    monkeypatch.setattr("sys.stdin", stdin)
    batches = iter(open_examples("-", batch_rows=None, at_once=True))
    assert next(batches).lines.size == 30
    assert not arriving.over.is_set()
    arriving.over.set()
    assert not list(batches)


def test_the_first_rows_to_be_predicted_wait_for_no_more(monkeypatch, tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,0\n3,4,1\n5,7,1\n")
    schema = read_all(tmp_path / "a.csv").schema
    stdin, arriving = Stdin(b"", 0), Stalling(b"a,b\n1,2\n")
    stdin.buffer = io.BufferedReader(arriving)
    monkeypatch.setattr("sys.stdin", stdin)
    batches = iter(open_examples("-", schema=schema, batch_rows=None))
    assert next(batches).X.tolist() == [[1, 2]]
    assert not arriving.over.is_set()
    arriving.over.set()
    assert not list(batches)


def test_a_table_on_standard_input_is_kept_to_be_read_twice(monkeypatch):
    monkeypatch.setattr("sys.stdin", Stdin(b"a,b,y\n1,x,0\n2,z,1\n", 5))
    found = read_all("-")
    assert by_name(found) == [{"a": 1, "b=x": 1}, {"a": 2, "b=z": 1}]


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


FRAME = pd.DataFrame(
    {
        "wind": [1.5, 2.0, -3.0, 1.0],
        "sky": ["grey", "blue", "grey", "red"],
        "play": ["no", "yes", "no", "yes"],
    }
)


def as_csv(path):
    FRAME.to_csv(path / "a.csv", index=False)
    return path / "a.csv"


def as_parquet(path):
    FRAME.astype({"sky": "category"}).to_parquet(path / "a.parquet")
    return path / "a.parquet"


def as_arrow(path):
    FRAME.to_feather(path / "a.arrow")
    return path / "a.arrow"


def as_json(path):
    FRAME.to_json(path / "a.jsonl", orient="records", lines=True)
    return path / "a.jsonl"


def as_vw(path):
    rows = zip(FRAME.wind, FRAME.sky, FRAME.play, strict=True)
    (path / "a.vw").write_text("".join(f"{int(y == 'yes')} | wind:{w} sky={s}\n" for w, s, y in rows))
    return path / "a.vw"


WRITERS = [as_csv, as_parquet, as_arrow, as_json, as_vw]


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
    with pytest.raises(BadInput, match="packed with gzip as a whole"):
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


def test_a_missing_number_in_parquet_names_its_row(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, None, 3.0], "y": [0, 1, 0]}), tmp_path / "a.parquet")
    with pytest.raises(BadInput, match=r"a.parquet:2: column 'a' has no value"):
        read_all(tmp_path / "a.parquet")
    assert read_all(tmp_path / "a.parquet", skip_bad=True).lines.tolist() == [1, 3]


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


def letter(subject, body, date, **headers):
    message = EmailMessage()
    message["From"], message["Subject"], message["Date"] = "Ann <ann@example.org>", subject, date
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message


MAIL = [
    letter("Lunch", "see you at noon", "Tue, 02 Jan 2024 10:00:00 +0000"),
    letter("Free prize", "click now", "Mon, 01 Jan 2024 10:00:00 +0000"),
    letter("Minutes", "From here on we agree", "Wed, 03 Jan 2024 10:00:00 +0000"),
]


def test_mailboxes_are_read_in_time_order_by_box(tmp_path):
    for name, messages in (("ham", [MAIL[0], MAIL[2]]), ("spam", [MAIL[1]])):
        box = mailbox.mbox(tmp_path / f"{name}.mbox")
        for message in messages:
            box.add(message)
        box.flush()
        box.close()
    found = read_all(str(tmp_path / "*.mbox"))
    assert found.y.tolist() == ["spam", "ham", "ham"]
    rows = by_name(found)
    assert rows[0] == dict.fromkeys(
        ["subject:free", "subject:prize", "from:ann", "from:example", "from:org", "click", "now"], 1
    )
    assert "here" in rows[2]


def test_a_header_can_be_the_target(tmp_path):
    box = mailbox.mbox(tmp_path / "all.mbox")
    box.add(letter("a", "x", "Mon, 01 Jan 2024 10:00:00 +0000", X_Label="important"))
    box.add(letter("b", "y", "Tue, 02 Jan 2024 10:00:00 +0000", X_Label="rest"))
    box.flush()
    box.close()
    assert read_all(tmp_path / "all.mbox").y.tolist() == ["important", "rest"]
    assert read_all(tmp_path / "all.mbox", target="subject").y.tolist() == ["a", "b"]


def test_maildir_and_folders(tmp_path):
    for name, message in (("", MAIL[0]), (".Spam", MAIL[1])):
        folder = tmp_path / "mail" / name
        for part in ("cur", "new", "tmp"):
            (folder / part).mkdir(parents=True)
        (folder / "cur" / "1").write_bytes(message.as_bytes())
    assert read_all(tmp_path / "mail").y.tolist() == ["Spam", "INBOX"]
    for name, text in (("neg/1.txt", "bad bad"), ("pos/1.txt", "good"), ("pos/2.txt", "very good")):
        file = tmp_path / "texts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = read_all(tmp_path / "texts")
    assert sorted(found.y.tolist()) == ["neg", "pos", "pos"]
    assert found.y.tolist() == ["pos", "neg", "pos"]  # in turn, in proportion
    (tmp_path / "x.mbox").write_text("hello\n")
    with pytest.raises(BadInput, match="not an mbox"):
        read_all(tmp_path / "x.mbox")


def test_mail_through_a_pipe_is_read_in_time_order(tmp_path, monkeypatch):
    box = mailbox.mbox(tmp_path / "in.mbox")
    for message in MAIL:
        box.add(message)
    box.flush()
    box.close()
    expected = read_all(tmp_path / "in.mbox", target="subject")
    monkeypatch.setattr("sys.stdin", Stdin((tmp_path / "in.mbox").read_bytes(), 100))
    found = read_all("-", target="subject")
    assert found.y.tolist() == expected.y.tolist() == ["Free prize", "Lunch", "Minutes"]
    assert (dense(found) == dense(expected)).all()


def test_every_message_and_text_knows_its_file_and_line(tmp_path):
    box = mailbox.mbox(tmp_path / "in.mbox")
    for message in MAIL:
        box.add(message)
    box.flush()
    box.close()
    lines = (tmp_path / "in.mbox").read_text().splitlines()
    begins = [at for at, line in enumerate(lines, 1) if line.startswith("From ")]
    (batch,) = open_examples(tmp_path / "in.mbox")
    assert [batch.where(row) for row in range(3)] == [
        f"{tmp_path / 'in.mbox'}:{begins[k]}" for k in (1, 0, 2)
    ]
    for name in ("no/a.txt", "yes/b.txt", "yes/c.txt"):
        (tmp_path / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / name).write_text("a word")
    (batch,) = open_examples(tmp_path / "texts")
    assert [batch.where(row) for row in range(3)] == [
        f"{tmp_path / 'texts' / name}:1" for name in ("yes/b.txt", "no/a.txt", "yes/c.txt")
    ]
    with (tmp_path / "a.arrow").open("wb") as file:
        write_batches(file, open_examples(tmp_path / "texts", batch_rows=1))
    (again,) = open_examples(tmp_path / "a.arrow")
    assert [again.where(row) for row in range(3)] == [batch.where(row) for row in range(3)]


def test_classes_may_be_called_new_and_hidden_files_are_no_texts(tmp_path):
    for name in ("new/1.txt", "used/1.txt", "used/.DS_Store", ".git/config"):
        (tmp_path / "cars" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cars" / name).write_text("a car")
    assert sorted(read_all(tmp_path / "cars").y) == ["new", "used"]
    (tmp_path / "box" / "new").mkdir(parents=True)
    (tmp_path / "box" / "new" / "1").write_bytes(MAIL[0].as_bytes())
    (tmp_path / "box" / "new" / ".hidden").write_bytes(MAIL[0].as_bytes())
    assert read_all(tmp_path / "box").y.tolist() == ["INBOX"]


def test_files_that_are_no_text_are_told(tmp_path):
    as_parquet(make(tmp_path / "all" / "tables"))
    (make(tmp_path / "all" / "texts") / "b.txt").write_text("words")
    with pytest.raises(BadInput, match=r"a.parquet:1:\d+: a NUL byte: is this a text file?"):
        read_all(tmp_path / "all")
    found = read_all(tmp_path / "all", skip_bad=True)
    assert found.y.tolist() == ["texts"]
    assert found.feature_names == ["words"]


def make(folder):
    folder.mkdir(parents=True)
    return folder


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


def test_html_is_read_as_text_and_nothing_of_it_is_run(tmp_path):
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content(
        "<style>p{}</style><p>Buy&nbsp;<b>gold</b></p><script>steal()</script>", subtype="html"
    )
    (tmp_path / "m" / "spam").mkdir(parents=True)
    (tmp_path / "m" / "spam" / "1.eml").write_bytes(message.as_bytes())
    assert set(read_all(tmp_path / "m").feature_names) == {"subject:x", "buy", "gold"}


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
    monkeypatch.setattr("rosenblatt.data.arrow_batches.KEPT_SHARE", 0.0)
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
    assert kept._copied == sum(held.y.nbytes for held in kept._held.values()) <= size
    for at in range(len(kept)):
        assert kept.batch(at).y.tolist() == ["x" * 9000, *"o" * 49]
        kept.forget(at, small_too=True)
    assert not kept._held
    assert not kept._copied
