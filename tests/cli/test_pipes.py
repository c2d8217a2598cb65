"""A command at the end of a pipe answers each line as it comes."""

import json
import os
import select
import subprocess
import sys

import pytest
from tests.cli.commands import run_well

SECONDS = 60  # that a missing answer is waited for

TRAINING = {
    "jsonl": [
        json.dumps({"label": "up" if k % 2 else "down", "a": 1.0 if k % 2 else -1.0}) for k in range(8)
    ],
    "svm": [f"{k % 2} 1:{1 if k % 2 else -1}" for k in range(8)],
    "vw": [f"{k % 2} | {'up' if k % 2 else 'down'}" for k in range(8)],
}


@pytest.mark.parametrize("form", ["jsonl", "svm", "vw"])
def test_predict_answers_each_line_as_it_comes(tmp_path, form):
    lines = TRAINING[form]
    (tmp_path / f"a.{form}").write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.safetensors"
    run_well(f"fit {tmp_path / f'a.{form}'} --model {model}")
    expected = run_well(f"predict {model} {tmp_path / f'a.{form}'}").stdout.splitlines()
    command = [sys.executable, "-m", "rosenblatt", "predict", str(model), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for line, label in zip(lines, expected, strict=True):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            assert select.select([process.stdout], [], [], SECONDS)[0], f"no answer to {line!r}"
            assert os.read(process.stdout.fileno(), 1 << 16).decode() == label + "\n"
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0
