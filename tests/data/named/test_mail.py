"""Mail and folders of texts: in time order, by box or by class, every message with its file and line."""

import mailbox
from email.message import EmailMessage

import pytest
from tests.cli.commands import run_well
from tests.sources import Stdin, as_parquet, by_name, dense, make

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.arrow_batches import write_batches
from rosenblatt.data.words import Words


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
    found = read_all(str(tmp_path / "*.mbox"), words=Words())
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


def test_stray_files_beside_class_folders_are_passed_over_with_a_note(tmp_path):
    reviews = tmp_path / "reviews"
    for name in (
        "neg/1.txt",
        "pos/1.txt",
        "pos/deeper/2.txt",
        "README",
        "LICENSE.md",
        "notes.txt",
        "urls.txt",
    ):
        (reviews / name).parent.mkdir(parents=True, exist_ok=True)
        (reviews / name).write_text("a word")
    for options in ({}, {"format": "folders"}):
        examples = open_examples(reviews, **options)
        assert examples.format == "folders"
        assert sorted(label for batch in examples for label in batch.y) == ["neg", "pos", "pos"]
        assert examples.notes == [
            f"{reviews}: 4 files beside the class folders skipped (LICENSE.md, README, notes.txt, ...)"
        ]
    answer = run_well(f"fit {reviews} --model {tmp_path / 'm'}")
    assert "4 files beside the class folders skipped" in answer.stderr
    (reviews / "data.csv").write_text("a,y\n1,0\n2,1\n")  # a table is data: which is meant must be said
    assert open_examples(reviews, format="folders").format == "folders"
    assert len(list(open_examples(reviews, format="folders"))) == 1


def test_mail_in_class_folders_loses_its_envelope_line_and_what_is_not_mail_is_passed_over(tmp_path):
    envelope = b"From ann@example.org Wed May  1 00:00:00 2024\n"
    for name in ("ham", "spam"):
        (tmp_path / name).mkdir()
        for at in range(6):
            content = b"Subject: word%d\nContent-Transfer-Encoding: base64\n\naGVsbG8=\n" % at
            (tmp_path / name / f"{at}").write_bytes(envelope + content)
    (tmp_path / "spam" / "cmds").write_bytes(b"mv 1 0001\n")
    examples = open_examples(tmp_path)
    assert sum(len(batch.y) for batch in examples) == 12
    assert examples.notes == [f"{tmp_path}: 1 file that is not mail skipped ({tmp_path / 'spam' / 'cmds'})"]
    names = set(examples.feature_names)
    assert {"hello", "subject:word3"} <= names
    assert "from" not in names


def test_folders_are_classes_where_that_is_asked_for(tmp_path):
    """Also where they could be the parts of a Maildir, or there is only one."""
    for name in ("cars/new/1.txt", "cars/cur/1.txt", "one/only/1.txt", "one/README"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a car")
    assert sorted(read_all(tmp_path / "cars", format="folders").y) == ["cur", "new"]
    assert read_all(tmp_path / "cars").y.tolist() == ["INBOX", "INBOX"]
    assert read_all(tmp_path / "one", format="folders").y.tolist() == ["only"]


def test_many_texts_are_counted_as_few_are(tmp_path, monkeypatch):
    """By compiled loops from some size on, and in any split."""
    for row in range(60):
        file = tmp_path / "texts" / ("yes" if row % 3 else "no") / f"{row}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        header = f"Subject: word{row % 7} prize\nFrom: bob{row % 5}@example.org\n\n" if row % 2 else ""
        file.write_text(header + f"Prize word{row % 11} word{row % 7} été don't " * 3)
    few = read_all(tmp_path / "texts", words=Words(weighting="counts"))
    for name, value in (
        ("words.MANY_CHARACTERS", 0),
        ("named.mail.ROWS_AT_ONCE", 7),
        ("words.PART_CHARACTERS", 50),
    ):
        monkeypatch.setattr(f"rosenblatt.data.{name}", value)
        many = read_all(tmp_path / "texts", words=Words(weighting="counts"))
        assert many.feature_names == few.feature_names
        assert (dense(many) == dense(few)).all()
        known = read_all(tmp_path / "texts", schema=few.schema)
        assert (dense(known) == dense(few)).all()
        hashed = read_all(tmp_path / "texts", hash_bits=3, words=Words(weighting="counts"))
        assert hashed.X.sum() == few.X.sum()


def test_files_that_are_no_text_are_told(tmp_path):
    as_parquet(make(tmp_path / "all" / "tables"))
    (make(tmp_path / "all" / "texts") / "b.txt").write_text("words")
    with pytest.raises(BadInput, match=r"a.parquet:1:\d+: a NUL byte: is this a text file?"):
        read_all(tmp_path / "all")
    found = read_all(tmp_path / "all", skip_bad=True)
    assert found.y.tolist() == ["texts"]
    assert found.feature_names == ["words"]


def test_html_is_read_as_text_and_nothing_of_it_is_run(tmp_path):
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content(
        "<style>p{}</style><p>Buy&nbsp;<b>gold</b></p><script>steal()</script>", subtype="html"
    )
    (tmp_path / "m" / "spam").mkdir(parents=True)
    (tmp_path / "m" / "spam" / "1.eml").write_bytes(message.as_bytes())
    assert set(read_all(tmp_path / "m").feature_names) == {"subject:x", "buy", "gold"}
