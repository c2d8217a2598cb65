"""SECURITY.md promises nothing that a test does not back: every test it names exists."""

import ast
import re

import pytest
from tests.docs.places import ROOT

NAMED = re.findall(
    r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`", (ROOT / "SECURITY.md").read_text(encoding="utf-8")
)


def test_promises_name_tests():
    assert len(NAMED) > 40


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name or path for path, name in NAMED])
def test_a_test_that_is_named_exists(path, name):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert any(each.startswith("test_") for each in names)
    assert not name or name in names
