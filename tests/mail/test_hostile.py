"""Hostile mail: each message stands alone, failures are counted and listed, and nothing of them is kept."""

import asyncio
import json

import pytest
from tests.cli.commands import run, run_well
from tests.mail.messages import letter, mbox

from rosenblatt.data.errors import BadLine, SkippedLines
from rosenblatt.data.named import mail
from rosenblatt.mail import mailbox as box_module
from rosenblatt.mail.features import features
from rosenblatt.mail.filter import Imported, MailFilter, import_sorted
from rosenblatt.mail.folders import new_mail, sorted_mail
from rosenblatt.mail.mailbox import Mailbox
from rosenblatt.mail.marks import IMPORTANT, MODEL
from rosenblatt.mail.message import Mail, read_mail
from rosenblatt.mail.pages.importing import failures_text
from rosenblatt.service.models import Models
from rosenblatt.service.writer import LocalModels, Service

SMALL = {"recent_bytes": 1 << 16}
HOSTILE = [
    b"From: " + b"(" * 3_000 + b")" * 3_000 + b"\nSubject: parentheses\n\na\n",
    b"Subject: idna\nContent-Type: text/plain; charset=idna\n\n\xff..\xff\n",
    b"Subject: undefined\nContent-Type: text/plain; charset=undefined\n\nb\n",
    b"Subject: nul\nContent-Type: text/plain; charset=\0\n\nc\n",
    b"Subject: =?undefined?q?x?= =?a\0b?b?YQ==?=\n\nd\n",
    b"Subject: tags\nContent-Type: text/html\n\n" + b"<script" * 150_000,
    b"Subject: deep\n"
    + b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(10_000)),
    b"Subject: digits\nContent-Type: text/html\n\n&#" + b"9" * 10_000 + b";",
    b"Subject: groups\nTo: " + b"a:" * 3_000 + b"\n\ne\n",
    b"Subject: one word\n\n" + b"a" * 1_000_000 + b"\n",
    b"Subject: quotes\n\n" + b">\n" * 300_000,
    b"Subject: marks\n\na" + "\u0300\u0316".encode() * 200_000,
    b"Subject: parameter\nContent-Disposition: attachment; filename*=undefined''%ff\n\nf\n",
    b"Subject: surrogate\nContent-Type: text/plain; charset=utf-7\n\n+2AA-\n",
]


@pytest.fixture
def models(tmp_path):
    models = LocalModels(tmp_path / "store", **SMALL)
    yield models
    models.close(snapshot=False)


@pytest.fixture
def box(models):
    box = Mailbox(models.store.folder)
    yield box
    box.close()


def test_hostile_messages_are_read_like_others(tmp_path, models, box):
    good = [letter(seed, seed % 2 == 0) for seed in range(4)]
    path = tmp_path / "in.mbox"
    path.write_bytes(mbox([*good[:2], *HOSTILE, *good[2:]]))
    imported = import_sorted(models, box, ((each, IMPORTANT) for each in new_mail(path)))
    assert imported.messages == imported.new == imported.learned == len(HOSTILE) + 4
    assert imported.failed == 0
    assert box.count() == len(HOSTILE) + 4


def with_a_large_one(path, monkeypatch):
    monkeypatch.setattr(mail, "LARGEST_MESSAGE", 10_000)
    large = b"Message-ID: <large@example.org>\nSubject: zebra\n\n" + b"zebra\n" * 5_000
    path.write_bytes(mbox([letter(1, True), large, letter(2, False)]))
    return path


def test_a_message_that_fails_is_listed_and_the_others_are_kept(tmp_path, models, box, monkeypatch):
    path = with_a_large_one(tmp_path / "in.mbox", monkeypatch)
    imported = import_sorted(models, box, sorted_mail(path, ["in"], ["rest"]))
    assert (imported.messages, imported.new, imported.learned, imported.failed) == (2, 2, 2, 1)
    (failure,) = imported.failures
    assert failure.path == str(path)
    assert path.read_bytes().splitlines()[failure.line - 1].startswith(b"From ")
    assert failure.reason.startswith("message 2, <large@example.org>: larger than")
    assert box.find("zebra", models.model(MODEL).number, 10) == []


def test_an_error_that_nobody_foresaw_fails_one_message_and_keeps_nothing_of_it(models, box, monkeypatch):
    def fragile(mail):
        if "table" in mail.text:
            raise RecursionError("too deep")
        return features(mail)

    monkeypatch.setattr(box_module, "features", fragile)
    mails = [(read_mail(letter(seed, True)), IMPORTANT) for seed in range(20)]
    failing = [each.subject for each, _ in mails if "table" in each.text]
    imported = import_sorted(models, box, mails)
    assert 0 < len(failing) < 20
    assert imported.failed == len(failing)
    assert [failure.path for failure in imported.failures] == failing
    assert box.count() == imported.messages == imported.learned == 20 - len(failing)


def test_an_error_of_the_reader_fails_one_message(tmp_path, monkeypatch):
    def fragile(content):
        if b"zebra" in content:
            raise RecursionError("too deep")
        return read_mail(content)

    monkeypatch.setattr("rosenblatt.mail.folders.read_mail", fragile)
    path = tmp_path / "in.mbox"
    path.write_bytes(mbox([letter(1, True), b"Message-ID: <z@z>\n\nzebra\n", letter(2, True)]))
    kinds = [type(each) for each in new_mail(path)]
    assert kinds == [Mail, BadLine, Mail]
    assert "message 2, <z@z>: RecursionError: too deep" in str(list(new_mail(path))[1])


def test_a_server_keeps_the_others_and_answers_meanwhile(tmp_path, monkeypatch):
    path = with_a_large_one(tmp_path / "in.mbox", monkeypatch)
    models = Models(tmp_path / "store", **SMALL)

    async def work():
        service = Service(models)
        service.start()
        box = Mailbox(models.store.folder)
        try:
            return await MailFilter(service, box).keep(new_mail(path), IMPORTANT)
        finally:
            box.close()
            await service.stop()

    imported = asyncio.run(work())
    assert (imported.messages, imported.learned, imported.failed) == (2, 2, 1)
    text = failures_text(imported)
    assert text.startswith("1 message could not be read:\n")
    assert "message 2, <large@example.org>: larger than" in text


def test_the_page_lists_a_bounded_number_of_failures():
    failures = SkippedLines(BadLine("in.mbox", line, "message: no") for line in range(1, 50))
    text = failures_text(Imported(1, 1, 0, 0, 0, failures))
    assert text.splitlines()[0] == "49 messages could not be read:"
    assert text.splitlines()[-1] == "and 29 more"
    assert failures_text(Imported(1, 1, 0, 0, 0, SkippedLines())) == ""


def test_the_command_lists_what_it_could_not_read(tmp_path):
    folder = tmp_path / "mail" / "Starred"
    folder.mkdir(parents=True)
    (tmp_path / "mail" / "INBOX").mkdir()
    (tmp_path / "secret").write_text("From: a@b\n\nsecret")
    for seed in range(4):
        (folder / f"{seed}.eml").write_bytes(letter(seed, True))
    for number, content in enumerate(HOSTILE[:5]):
        (tmp_path / "mail" / "INBOX" / f"{number}.eml").write_bytes(content)
    (folder / "link\x1b[31m.eml").symlink_to(tmp_path / "secret")
    importing = ["mail", "import", str(tmp_path / "mail"), "--important", "Starred", "--rest", "INBOX"]
    text = run_well([*importing, "--data", str(tmp_path / "a")]).stdout
    assert "9 messages read, 9 of them new" in text
    assert "1 message could not be read:" in text
    assert "a symbolic link" in text
    assert "\x1b" not in text
    counts = json.loads(run_well([*importing, "--data", str(tmp_path / "b"), "--json"]).stdout)
    assert (counts["messages"], counts["failed"]) == (9, 1)
    assert counts["failures"][0]["reason"].endswith("put the file itself there")
    sorting = ["mail", "sort", str(tmp_path / "mail"), "--data", str(tmp_path / "a")]
    assert run_well(sorting).stdout.count("unreadable") == 1
    lines = [json.loads(line) for line in run_well([*sorting, "--json"]).stdout.splitlines()]
    assert sum(line["mark"] is None for line in lines) == 1


def test_mail_of_which_nothing_can_be_read_makes_no_store(tmp_path):
    (tmp_path / "mail" / "Starred").mkdir(parents=True)
    (tmp_path / "mail" / "INBOX").mkdir()
    (tmp_path / "mail" / "Starred" / "a.eml").symlink_to("/dev/zero")
    answer = run(["mail", "import", str(tmp_path / "mail"), "--important", "Starred", "--rest", "INBOX", "--data",
                  str(tmp_path / "store")])  # fmt: skip
    assert answer.exit_code == 2
    assert "no message in it that can be read" in answer.stderr
    assert "a symbolic link" in answer.stderr
    assert not (tmp_path / "store").exists()


def test_a_terminal_is_never_told_what_to_do(tmp_path):
    data = ["--data", str(tmp_path / "store")]
    for name in ("yes", "no"):
        (tmp_path / "mail" / name).mkdir(parents=True)
        (tmp_path / "mail" / name / "1.eml").write_bytes(letter(len(name), name == "yes"))
    run_well(["mail", "import", str(tmp_path / "mail"), "--important", "yes", "--rest", "no", *data])
    (tmp_path / "new.eml").write_bytes(
        b"Subject: =?utf-8?q?=1B]0;owned=07_=C2=9B31m_=E2=80=AE?= end\n\nbudget\n"
    )
    for options in ([], ["--json"]):
        text = run_well(["mail", "sort", str(tmp_path / "new.eml"), *data, *options]).stdout
        assert "end" in text
        assert all(each.isprintable() or each == "\n" for each in text), options
