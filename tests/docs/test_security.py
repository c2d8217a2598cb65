"""SECURITY.md promises nothing that a test does not back: every promise names tests, and these exist."""

import ast
import re

import pytest
from tests.docs.places import ROOT

TEXT, BACKING = (ROOT / "SECURITY.md").read_text(encoding="utf-8").split("## What backs each promise")
PROMISES = re.findall(r"^- \*\*([A-Z]\d+)\*\*", TEXT, re.MULTILINE)
NAMED = [
    (promise, path, names)
    for promise, line in re.findall(r"^- \*\*([A-Z]\d+)\*\* (.*)$", BACKING, re.MULTILINE)
    for path, names in re.findall(r"`(tests/[\w/]+\.py)`((?:[:,] `test_\w+`)*)", line)
]


def test_every_promise_names_tests():
    assert len(set(PROMISES)) == len(PROMISES) > 30
    assert {promise for promise, _, _ in NAMED} == set(PROMISES)


def test_tests_are_named_in_the_last_section_alone():
    assert re.findall(r"tests/[\w/]+\.py", TEXT) == ["tests/docs/test_security.py"]


@pytest.mark.parametrize(("promise", "path", "names"), NAMED)
def test_the_tests_of_a_promise_exist(promise, path, names):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    defined = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert any(each.startswith("test_") for each in defined), promise
    assert set(re.findall(r"test_\w+", names)) <= defined, promise


@pytest.mark.parametrize("path", re.findall(r"`(tests/faults/\w+\.py)`", BACKING))
def test_the_tests_of_old_faults_exist(path):
    assert "def test_" in (ROOT / path).read_text(encoding="utf-8")
