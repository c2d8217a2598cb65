"""Commands run in this process, on small files, as a user would."""

import base64
import gzip
import json
import shlex
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from rosenblatt.cli.app import app

CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))


def run(command: str | list[str], input: str | None = None) -> Any:
    """Run a command line; the answer has exit_code, stdout and stderr."""
    arguments = shlex.split(command) if isinstance(command, str) else command
    return CliRunner().invoke(app, arguments, input, prog_name="rosenblatt")


def run_well(command: str | list[str]) -> Any:
    """Run a command line that must succeed."""
    answer = run(command)
    assert answer.exit_code == 0, answer.output
    return answer


def write(folder: Path, files: dict[str, Any]) -> None:
    """Write files given as text, as bytes in base64, or as text to be packed and cut short."""
    for name, content in files.items():
        if isinstance(content, str):
            (folder / name).write_text(content, encoding="utf-8")
            (folder / name).chmod(0o600)  # as files of tokens must be
        elif "base64" in content:
            (folder / name).write_bytes(base64.b64decode(content["base64"]))
        else:
            (folder / name).write_bytes(gzip.compress(content["cut_gzip"].encode())[:-9])
