"""``rosenblatt mail``: what is sorted teaches, what is new is marked, and every option is documented."""

import json
import mailbox
import re
from pathlib import Path

import pytest
from tests.cli.commands import run, run_well
from tests.mail.messages import letter, mbox

DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


@pytest.fixture
def mail(tmp_path):
    box = mailbox.Maildir(tmp_path / "Maildir")
    starred = box.add_folder("Starred")
    for seed in range(60):
        (box if seed % 2 else starred).add(letter(seed, seed % 2 == 0))
    (tmp_path / "new.mbox").write_bytes(mbox([letter(200 + seed, seed % 2 == 0) for seed in range(10)]))
    return tmp_path


def importing(mail, *more):
    return ["mail", "import", str(mail / "Maildir"), "--important", "Starred", "--rest", "INBOX", "--data",
            str(mail / "store"), *more]  # fmt: skip


def test_what_is_sorted_teaches_what_is_new(mail):
    told = json.loads(run_well(importing(mail, "--json")).stdout)
    assert told["messages"] == told["new"] == told["learned"] == told["clock"] == 60
    assert told["accuracy"] == pytest.approx(1 - told["mistakes"] / 60)
    assert json.loads(run_well(importing(mail, "--json")).stdout)["learned"] == 0
    sorting = ["mail", "sort", str(mail / "new.mbox"), "--data", str(mail / "store")]
    lines = [json.loads(line) for line in run_well([*sorting, "--json"]).stdout.splitlines()]
    assert [line["mark"] for line in lines] == ["important", "not"] * 5
    for line in lines:
        assert line["reasons"]
        assert (line["score"] > 0) == (line["mark"] == "important")
        assert 0.5 < line["probability"] < 1
    words = run_well(sorting).stdout
    assert words.count("because: ") == 10
    assert re.search(r"^Important +>?\d\d% \+\d\.\d\d  \w+", words, re.MULTILINE)


def test_mistakes_are_said_with_the_way_out(mail):
    store = ["--data", str(mail / "nothing")]
    for command, (code, message) in {
        (
            "mail",
            "sort",
            str(mail / "new.mbox"),
            *store,
        ): (2, "there is no store; make one with rosenblatt mail import"),
        (
            "mail",
            "import",
            str(mail / "no"),
            "--important",
            "a",
            "--rest",
            "b",
            *store,
        ): (2, "no such file or folder"),
        (
            "mail",
            "import",
            str(mail / "Maildir"),
            "--important",
            "Stars",
            "--rest",
            "INBOX",
            *store,
        ): (65, "no folder 'Stars' in it; there are "),
        (
            "mail",
            "import",
            str(mail / "Maildir"),
            "--important",
            "INBOX",
            "--rest",
            "inbox",
            *store,
        ): (2, "cannot hold both"),
    }.items():
        answer = run(list(command))
        assert answer.exit_code == code
        assert message in answer.stderr
        assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("command", ["import", "sort"])
def test_every_option_has_help_and_is_documented(command):
    text = run_well(["mail", command, "--help"]).stdout
    assert text.count(f"  rosenblatt mail {command} ") >= 2
    section = DOCS.partition("## rosenblatt mail\n")[2].partition("\n## ")[0]
    for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", text.partition("Options:")[2], re.MULTILINE):
        assert option == "--help" or option in section, option
    assert "\nrosenblatt mail " in DOCS.partition("## ")[0]
