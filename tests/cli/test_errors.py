"""What stops a command becomes one message and an exit code."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from rosenblatt import jit
from rosenblatt.cli.app import announce_compiling, compile_seconds, guarded, report_compiling
from rosenblatt.cli.errors import ExitCode, Refused, RefusedData
from rosenblatt.cli.output import note_skipped
from rosenblatt.data import BadInput
from rosenblatt.data.errors import BadLine, BadOption, SkippedLines
from rosenblatt.storage import BadModel


def stopped_by(error):
    def fit():
        raise error

    with pytest.raises(typer.Exit) as end:
        guarded(fit)()
    return end.value.exit_code


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (BadInput("a.csv", 3, "no value"), 2, "a.csv:3: no value\n"),  # there is no a.csv
        (BadInput(__file__, 3, "no value"), 65, f"{__file__}:3: no value\n"),
        (BadInput("-", 3, "no value"), 65, "<stdin>:3: no value\n"),
        (BadOption(__file__, 1, "no column is called 'z'"), 2, f"{__file__}:1: no column is called 'z'\n"),
        (BadModel("m: not a model"), 65, "m: not a model\n"),
        (RefusedData("a.csv: only one class"), 65, "a.csv: only one class\n"),
        (Refused("--model is missing"), 2, "rosenblatt fit: --model is missing\n"),
        (ValueError("eta is 7"), 2, "rosenblatt fit: eta is 7\n"),
        (PermissionError(13, "Permission denied", "m.safetensors"), 2, "m.safetensors: Permission denied\n"),
        (FileNotFoundError("m: no such model file"), 2, "m: no such model file\n"),
        (ImportError("it needs y: pip install x"), 2, "rosenblatt fit: it needs y: pip install x\n"),
        (MemoryError("8 GiB"), 2, "rosenblatt fit: not enough memory: 8 GiB\n"),
        (
            KeyError("x"),
            70,
            "rosenblatt fit: internal error, KeyError: 'x'\nThis is a bug in rosenblatt: please report the command and "
            "what it prints with ROSENBLATT_DEBUG=1 (CONTRIBUTING.md)\n",
        ),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (typer.Exit(3), 3, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_are_told_in_one_line(error, code, words, capsys, monkeypatch):
    monkeypatch.delenv("ROSENBLATT_DEBUG", raising=False)
    assert stopped_by(error) == code
    assert capsys.readouterr() == ("", words)


def test_every_exit_code_is_documented():
    from rosenblatt.cli import errors

    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    for code in ExitCode:
        assert f"\n  {code.value} " in errors.__doc__
        assert f"\n| {code.value} |" in page, f"docs/cli.md does not say what {code.value} means"


def test_skipped_lines_are_counted_and_the_first_listed(capsys):
    note_skipped(SkippedLines([BadLine("a.csv", line, "bad") for line in range(1000)], 1200))
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "a.csv:0: bad"
    assert told[-1] == "skipped 1,200 bad lines; the first 10 are listed"
    assert len(told) == 11


def test_why_a_first_run_takes_long_is_said_once_and_how_long_in_the_end(capsys, monkeypatch):
    """Whether or not stderr is a terminal."""
    log = logging.getLogger("rosenblatt.jit")
    level, propagate, handlers = log.level, log.propagate, list(log.handlers)
    log.handlers = []
    log.setLevel(logging.WARNING)
    try:
        announce_compiling()
        announce_compiling()  # by the next command of this process
        log.warning("compiling for this CPU")
        log.info("compiling rosenblatt.core.loop.learn")
    finally:
        log.setLevel(level)
        log.propagate, log.handlers = propagate, handlers
    monkeypatch.setattr(jit, "announced", lambda: True)
    monkeypatch.setattr(jit, "compile_seconds", lambda: 1.25)
    report_compiling(compile_seconds())
    monkeypatch.setattr(jit, "announced", lambda: False)
    report_compiling(compile_seconds())
    printed = capsys.readouterr()
    assert printed.err == "compiling for this CPU\ncompiling 1.2 s, once: the next run starts at once\n"
    assert printed.out == ""


def test_what_is_compiled_is_logged_and_what_is_loaded_is_not(tmp_path):
    """In processes of their own, with a cache of their own: the first compiles, the second loads."""
    code = (
        "import logging; logging.basicConfig(level=logging.INFO, format='%(message)s')\n"
        "import numpy as np\n"
        "from rosenblatt.core.order import Shuffle\n"
        "from rosenblatt.core.rows import rows_of\n"
        "Shuffle(rows_of(np.eye(3)), np.arange(3), 0).epoch(0)"
    )
    own = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "ROSENBLATT_SHIPPED_CODE": "off"}
    own.pop("NUMBA_CACHE_DIR", None)
    told = [
        subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert "compiling rosenblatt.core.order." in told[0].stderr
    assert told[1].stderr == ""
