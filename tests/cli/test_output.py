"""What files of others say reaches a terminal as text."""

import json
from pathlib import Path

import pytest
from tests.cli.commands import run, run_well

CLEAR = "\x1b[2J\x1b[H"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a,b,y\n1,2,p\n3,4,q\n5,1,p\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("field", ["target", "format"])
def test_a_proof_cannot_write_a_verdict_on_the_screen(folder, field):
    run_well("prove data.csv -o proof.json")
    content = json.loads(Path("proof.json").read_text(encoding="utf-8"))
    content["reading"][field] = f"{CLEAR}\nproof.json holds\u202e"
    Path("proof.json").write_text(json.dumps(content), encoding="utf-8")
    answer = run("verify proof.json data.csv")
    assert answer.exit_code == 2
    assert not {"\x1b", "\u202e"} & set(answer.output)
    assert "\nproof.json holds" not in answer.output


def test_labels_and_names_cannot_command_the_terminal(folder):
    Path("data.csv").write_text(f"a,{CLEAR}b,y\n1,2,{CLEAR}p\n3,4,q\n5,1,{CLEAR}p\n", encoding="utf-8")
    for command in (
        "prove data.csv",
        "fit data.csv -o m.model",
        "inspect data.csv",
        "prove data.csv --target nope",
    ):
        assert "\x1b" not in run(command).output, command
