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
    "csv": ["a,c,y", *(f"{1 if k % 2 else -1},{'xz'[k % 3 == 0]},{k % 2}" for k in range(8))],
    "vw": [f"{k % 2} | {'up' if k % 2 else 'down'}" for k in range(8)],
}


@pytest.mark.parametrize("form", ["jsonl", "svm", "vw", "csv"])
def test_predict_answers_each_line_as_it_comes(tmp_path, form):
    lines = list(TRAINING[form])
    (tmp_path / f"a.{form}").write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.safetensors"
    run_well(f"fit {tmp_path / f'a.{form}'} --model {model}")
    expected = run_well(f"predict {model} {tmp_path / f'a.{form}'}").stdout.splitlines()
    command = [sys.executable, "-m", "rosenblatt", "predict", str(model), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if form == "csv":  # its header has no answer
            process.stdin.write(lines.pop(0).encode() + b"\n")
        for line, label in zip(lines, expected, strict=True):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            assert select.select([process.stdout], [], [], SECONDS)[0], f"no answer to {line!r}"
            assert os.read(process.stdout.fileno(), 1 << 16).decode() == label + "\n"
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


LATE = "a,c,y\n" + "1,x,1\n-1,z,0\n" * 9000 + "spam,x,1\n1,x,1\n"  # more than one block of a pipe


@pytest.mark.parametrize("command", ["stream", "stream --model", "predict"])
def test_a_value_that_disagrees_later_in_a_pipe_is_an_error_with_its_line(tmp_path, command):
    train = tmp_path / "a.csv"
    train.write_text("".join(LATE.splitlines(keepends=True)[:40]))
    model = tmp_path / "m.safetensors"
    words = ["stream", "-"]
    if command != "stream":
        run_well(f"{'fit' if command == 'predict' else 'stream'} {train} --model {model}")
        words = (
            ["predict", str(model), "-"] if command == "predict" else ["stream", "-", "--model", str(model)]
        )
    result = subprocess.run(
        [sys.executable, "-m", "rosenblatt", *words], input=LATE.encode(), capture_output=True, check=False
    )
    assert result.returncode == 65
    assert result.stderr.decode().startswith("<stdin>:18002:1: column 'a' is 'spam', not a number")
    if command == "predict":
        assert result.stdout.decode().split() == ["1", "0"] * 9000  # however many lines arrived together
