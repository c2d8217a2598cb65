"""Compiling in advance: an interrupted or killed run leaves no process behind."""

import signal
import subprocess
import sys

import pytest
from tests.patience import SECONDS

# Workers import the script too, and with it the task.
SCRIPT = """
import os, threading
from rosenblatt.cli.commands import warmup

def wait():
    os.write(1, b"at work\\n")
    threading.Event().wait()

warmup.wait = wait
if __name__ == "__main__":
    warmup.compile_all([("wait",)] * 4, 2, lambda *_: None)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_workers_end_with_the_process_that_started_them(tmp_path, name):
    """Standard output is closed once the last process that can write to it has ended."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["at work\n"] * 2
        process.send_signal(getattr(signal, name))
        rest, _ = process.communicate(timeout=SECONDS)
    assert process.returncode != 0
    assert rest == ""
