"""Golden command lines, kept as data in cases.json."""

import json

import pytest
from tests.cli.commands import CASES, run, write


def contains(found, wanted):
    """Whether every key that is wanted is there with its value."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and contains(found[key], value) for key, value in wanted.items())
    return found == wanted


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_command(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, CASES["files"] | case.get("files", {}))
    for command in case.get("before", []):
        assert run(command).exit_code in (0, 1)
    before = {path.name for path in tmp_path.iterdir()}
    answer = run(case["command"])
    assert answer.exit_code == case["exit"], answer.output
    for fragment in case.get("stdout", []):
        assert fragment in answer.stdout
    for fragment in case.get("stderr", []):
        assert fragment in answer.stderr
    for fragment in case.get("absent", []):
        assert fragment not in answer.output
    if "stdout_is" in case:
        assert answer.stdout == case["stdout_is"]
    if "json" in case:
        assert contains(json.loads(answer.stdout), case["json"]), answer.stdout
    for name, content in case.get("creates", {}).items():
        assert (tmp_path / name).read_text() == content
    assert {path.name for path in tmp_path.iterdir()} - before <= set(case.get("creates", {})), "a stray file"
    if case["exit"] in (2, 65):
        assert answer.stdout == ""
        assert "internal error" not in answer.stderr
        assert "Traceback" not in answer.stderr


def test_every_case_has_a_name_of_its_own():
    names = [case["name"] for case in CASES["cases"]]
    assert len(set(names)) == len(names)
