"""What was wrong with reading mail in version 0.1, shown by ``rosenblatt mail import``.

Run with the code of version 0.1, every test here fails at an assertion.
"""

import subprocess
import sys

import pytest
from tests.cli.commands import run

LETTER = b"From: a@example.org\nSubject: letter %d\nMessage-ID: <%d@example.org>\n\nhello %d\n"
HOSTILE = {
    "parentheses": b"From: " + b"(" * 3_000 + b")" * 3_000 + b"\nSubject: x\n\na\n",
    "idna": b"Subject: x\nContent-Type: text/plain; charset=idna\n\n\xff..\xff\n",
    "undefined": b"Subject: x\nContent-Type: text/plain; charset=undefined\n\nb\n",
    "nul": b"Subject: x\nContent-Type: text/plain; charset=\0\n\nc\n",
}
MINUTES = 5 * 60  # of processor time; a message of this size took hours


def folders(path, *hostile):
    """Write two folders of mail, one with hostile messages in it, and return the command that imports them."""
    for n, name in enumerate(("Starred", "INBOX")):
        (path / "mail" / name).mkdir(parents=True)
        for seed in (n, n + 2):
            (path / "mail" / name / f"{seed}.eml").write_bytes(LETTER % (seed, seed, seed))
    for n, message in enumerate(hostile):
        (path / "mail" / "INBOX" / f"hostile-{n}.eml").write_bytes(message)
    command = ["mail", "import", str(path / "mail"), "--important", "Starred", "--rest", "INBOX"]
    return [*command, "--data", str(path / "store")]


@pytest.mark.parametrize("kind", HOSTILE)
def test_one_message_does_not_end_an_import(tmp_path, kind):
    answer = run(folders(tmp_path, HOSTILE[kind]))
    assert answer.exit_code == 0, answer.output
    assert "5 messages" in answer.output


def test_a_megabyte_of_html_is_read_in_linear_time(tmp_path):
    resource = pytest.importorskip("resource")
    head, tags = b"Subject: x\nContent-Type: text/html\n\n", (b"<script", b"<style>", b"<!--", b"<")
    command = folders(tmp_path, *(head + tag * (1_000_000 // len(tag)) for tag in tags))
    answer = subprocess.run(
        [sys.executable, "-m", "rosenblatt", *command],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MINUTES, MINUTES)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr  # below 0: killed for the processor time it took
