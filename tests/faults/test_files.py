"""What was wrong with model files and data files in version 0.1, shown through what it had too.

Run with the code of version 0.1, every test here fails at an assertion. Files that could end the process are read by a
child of this process.
"""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from tests.cli.commands import run

from rosenblatt.data import read_all

MODELS = Path(__file__).parents[1] / "fixtures" / "v0.1" / "models"
REFUSED = (
    2  # with the name of the file; 0: accepted, 3: refused without its name, below 0: killed by a signal
)
READER = """
import os, sys
import numpy as np
from tests.model_files import inner, load

for path in sys.argv[1:]:
    child = os.fork()
    if not child:
        kind, _, name = os.path.basename(path).partition("-")
        try:
            load(kind, name.partition(".")[0], path)
        except ValueError as error:
            os._exit(2 if os.path.basename(path) in str(error) else 3)
        os._exit(0)  # accepted
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def put(name, place, value):
    def change(header, arrays):
        arrays[name][place] = value

    return change


def say(path, value):
    *way, last = path.split(".")

    def change(header, arrays):
        for name in way:
            header = header[name]
        header[last] = value

    return change


HOSTILE = {
    "a negative class in the ledger": ("learner-joint-sparse", put("ledger.down", 3, -4)),
    "a class far outside": ("learner-joint-sparse", put("ledger.down", 0, -100)),
    "a ledger without examples": ("learner-binary", lambda header, arrays: arrays.pop("ledger.support")),
    "clocks that descend": (
        "learner-binary",
        lambda _, a: a.update({"ledger.clock": a["ledger.clock"][::-1].copy()}),
    ),
    "a negative clock": ("learner-binary", put("ledger.clock", 0, -1.0)),
    "a scale of zero": ("learner-binary", put("running.scale", 0, 0.0)),
    "a kernel learner with a scale of zero": ("kernel-poly", put("running.scale", 0, 0.0)),
    "standings": ("learner-binary", say("learner.standings.last", [1.0, -5.0, 0.5])),
    "a schema whose names are one text": ("stream-online", say("about.schema.names", "abcdefghijkl")),
    "a name for twelve features": ("stream-online", say("about.feature_names", ["a"])),
    "a stream with a scale of zero": ("stream-online", put("running.scale", 0, 0.0)),
    "a snapshot with a scale of zero": ("service-words", put("running.scale", 0, 0.0)),
    "a checkpoint with a scale of zero": ("checkpoint-ovr", put("running.scale", 0, 0.0)),
    "a checkpoint with a negative clock": ("checkpoint-arow", put("totals.clock", 0, -1.0)),
}


@pytest.fixture(scope="module")
def exit_codes(tmp_path_factory):
    """Load every hostile file in a process of its own."""
    folder, paths = tmp_path_factory.mktemp("hostile"), []
    for n, (seed, change) in enumerate(HOSTILE.values()):
        content = (MODELS / f"{seed}.safetensors").read_bytes()
        (size,) = struct.unpack("<Q", content[:8])
        header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["rosenblatt"])
        arrays = {name: np.array(array) for name, array in load_tensors(content).items()}
        change(header, arrays)
        path = folder / f"{seed}.{n}"
        path.write_bytes(save_tensors(arrays, metadata={"rosenblatt": json.dumps(header)}))
        paths.append(str(path))
    root = Path(__file__).parents[2]
    answer = subprocess.run(
        [sys.executable, "-c", READER, *paths],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(HOSTILE, map(int, answer.stdout.split()), strict=True))


@pytest.mark.parametrize("fault", HOSTILE)
def test_a_model_file_that_breaks_an_invariant_is_refused_by_name(exit_codes, fault):
    assert exit_codes[fault] == REFUSED


def read_alone(path):
    """Read a data file in a child; return its exit code and what it wrote."""
    script = "import sys; from rosenblatt.data import read_all; print(read_all(sys.argv[1]).y.tolist())"
    return subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )


def test_offsets_outside_an_arrow_file_do_not_end_the_process(tmp_path):
    table = pa.table({"sky": ["grey", "blue", "grey"], "wind": [1.0, 2.0, 3.0], "y": ["a", "b", "a"]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    offsets = table["sky"].chunk(0).buffers()[1].to_pybytes()[:16]
    path = tmp_path / "hostile.arrow"
    far = struct.pack("<4i", 0, 4, 0x7FFFFFFF, 0x7FFFFFFF)
    path.write_bytes(sink.getvalue().to_pybytes().replace(offsets, far))
    answer = read_alone(path)
    assert answer.returncode == 1, answer.returncode  # an exception, not a signal
    assert "BadInput" in answer.stderr
    assert str(path) in answer.stderr


def test_inner_lines_of_a_quoted_value_are_not_learned(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('a,y\n1,x\n"2\n3,z\n4,z\n",x,\n5,x\n', encoding="utf-8")
    assert read_all(str(path), skip_bad=True).y.tolist() == ["x", "x"]


@pytest.mark.parametrize("labels", [("x", "x\0"), ("1", 1), ("true", True)], ids=repr)
def test_labels_of_json_lines_are_not_merged(tmp_path, labels):
    path = tmp_path / "data.jsonl"
    lines = [json.dumps({"a": n, "label": label}) for n, label in enumerate(labels)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = run(f"fit {path} --target label")
    assert answer.exit_code in (2, 65), answer.output
    assert f"{path}:2" in answer.output


def test_an_integer_of_5000_digits_is_reported_with_its_line(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"a": 1, "y": 0}\n{"a": ' + "9" * 5000 + ', "y": 1}\n', encoding="utf-8")
    answer = run(f"fit {path} --target y")
    assert answer.exit_code in (2, 65), answer.output
    assert f"{path}:2" in answer.output
