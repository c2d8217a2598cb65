"""Mail that is already sorted: folders, labels and copies."""

import mailbox

import pytest
from tests.mail.messages import letter, mbox, message

from rosenblatt.data.errors import BadInput, BadLine
from rosenblatt.mail.folders import Sorted, new_mail, sorted_mail
from rosenblatt.mail.message import read_mail


def labels(path, important=("Starred",), rest=("INBOX",)):
    return sorted((each.mail.subject, each.label) for each in sorted_mail(path, important, rest))


@pytest.fixture
def four():
    return {name: message(name, f"text of {name}") for name in ("one", "two", "three", "four")}


def test_maildir_folders_and_a_copy_in_the_inbox(tmp_path, four):
    box = mailbox.Maildir(tmp_path / "Maildir")
    starred, other = box.add_folder("Starred"), box.add_folder("Other")
    for name, where in (("one", starred), ("two", box), ("one", box), ("three", other)):
        where.add(four[name])
    assert labels(tmp_path / "Maildir") == [("one", "important"), ("two", "not")]


def test_folders_of_eml_files(tmp_path, four):
    for folder, names in {"Important": ["one"], "Rest": ["two", "three"], "Else": ["four"]}.items():
        (tmp_path / folder / "deep").mkdir(parents=True)
        for name in names:
            (tmp_path / folder / "deep" / f"{name}.eml").write_bytes(four[name])
    found = labels(tmp_path, ["important"], ["rest"])
    assert found == [("one", "important"), ("three", "not"), ("two", "not")]


def test_a_folder_of_mboxes(tmp_path, four):
    (tmp_path / "Starred.mbox").write_bytes(mbox([four["one"]]))
    (tmp_path / "INBOX").write_bytes(mbox([four["one"], four["two"]]))
    assert labels(tmp_path) == [("one", "important"), ("two", "not")]


def test_labels_in_the_headers_of_an_mbox(tmp_path):
    gmail = [
        message("one", "x", headers=[("X-Gmail-Labels", "Inbox,Starred")]),
        message("two", "y", headers=[("X-Gmail-Labels", "Inbox")]),
        message("three", "z", headers=[("X-Gmail-Labels", "Sent")]),
    ]
    path = tmp_path / "all.mbox"
    path.write_bytes(mbox(gmail))
    assert labels(path) == [("one", "important"), ("three", None), ("two", "not")]
    with pytest.raises(BadInput, match="labelled Nope or Inboxes; its labels: Inbox, Starred, Sent"):
        labels(path, ["Nope"], ["Inboxes"])


def test_a_folder_that_is_not_there_is_named_before_anything_is_read(tmp_path, four):
    (tmp_path / "Starred").mkdir()
    (tmp_path / "Starred" / "a.eml").write_bytes(four["one"])
    with pytest.raises(BadInput, match="no folder 'INBOX' in it; there are Starred"):
        next(iter(sorted_mail(tmp_path, ["Starred"], ["INBOX"])))
    with pytest.raises(ValueError, match="both"):
        next(iter(sorted_mail(tmp_path, ["Starred"], ["starred"])))


def test_new_mail_comes_from_an_mbox_a_folder_or_a_file(tmp_path, four):
    (tmp_path / "new.mbox").write_bytes(mbox(four.values()))
    (tmp_path / "eml").mkdir()
    for name, content in four.items():
        (tmp_path / "eml" / f"{name}.eml").write_bytes(content)
    assert [mail.subject for mail in new_mail(tmp_path / "new.mbox")] == list(four)
    assert sorted(mail.subject for mail in new_mail(tmp_path / "eml")) == sorted(four)
    assert [mail.subject for mail in new_mail(tmp_path / "eml" / "two.eml")] == ["two"]
    assert len({mail.digest for mail in new_mail(tmp_path / "new.mbox")}) == 4
    assert letter(3, True) == letter(3, True)


ENVELOPE = b"From ann@example.org Wed May  1 00:00:00 2024\n"


def test_an_envelope_line_before_the_headers_is_left_out():
    content = message("Budget", "décision", sender="ann@example.org", html="<p>décision</p>")
    assert read_mail(ENVELOPE + content) == read_mail(content)
    assert read_mail(ENVELOPE.replace(b"\n", b"\r\n") + content.replace(b"\n", b"\r\n")).subject == "Budget"
    assert read_mail(b"From now on\nall is text").text == "From now on\nall is text"


def test_a_file_that_is_not_mail_is_reported_and_not_learned(tmp_path):
    for folder, subject in {"ham": "Budget", "spam": "Sale"}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "0001").write_bytes(ENVELOPE + message(subject, "text"))
        (tmp_path / folder / "cmds").write_bytes(b"mv 1 0001.of.many\nmv 2 0002\n")
    items = list(sorted_mail(tmp_path, ["ham"], ["spam"]))
    assert [(each.mail.subject, each.label) for each in items if isinstance(each, Sorted)] == [
        ("Budget", "important"),
        ("Sale", "not"),
    ]
    bad = [each for each in items if isinstance(each, BadLine)]
    assert [each.path.rpartition("/")[2] for each in bad] == ["cmds", "cmds"]
    assert "not a mail message" in str(bad[0])
