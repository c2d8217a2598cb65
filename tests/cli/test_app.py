"""Every command explains itself, is documented, and speaks the words of the library."""

import re
from pathlib import Path
from typing import get_args

import pytest
from tests.cli.commands import run, run_well

from rosenblatt import rules
from rosenblatt.cli import options
from rosenblatt.cli.app import COMMANDS
from rosenblatt.cli.commands import verify
from rosenblatt.core.hypotheses import NAMES
from rosenblatt.learner import MULTI_CLASS
from rosenblatt.learner.models import LEARNERS
from rosenblatt.proofs.claims import EXPECTATIONS

DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
NAMES_OF_COMMANDS = [command.__name__ for command in COMMANDS]


def help_of(command):
    return run_well([command, "--help"]).stdout


def section_of(command):
    return DOCS.partition(f"## rosenblatt {command}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("command", NAMES_OF_COMMANDS)
def test_help_has_examples_that_name_the_command(command):
    text = help_of(command)
    assert "Examples:" in text
    assert text.count(f"  rosenblatt {command} ") >= 2


@pytest.mark.parametrize("command", NAMES_OF_COMMANDS)
def test_every_option_has_help_and_is_documented(command):
    section = section_of(command)
    assert section, f"docs/cli.md has no section for {command}"
    listed = help_of(command).partition("Options:")[2]
    found = re.findall(r"^  (?:-\w, )?(--[\w-]+)(.*)\n(.*)", listed, re.MULTILINE)
    assert found
    for option, rest, below in found:
        assert re.search(r"\s{2,}\S", rest) or below.startswith(" " * 10), f"{option} has no help"
        assert option == "--help" or f"{option}" in section, f"{option} is not in docs/cli.md"


def test_the_list_of_commands_is_not_cut():
    assert "..." not in run_well("--help").stdout.partition("Commands:")[2]
    assert run([]).output.startswith("Usage: rosenblatt")


@pytest.mark.parametrize("command", NAMES_OF_COMMANDS)
def test_the_documentation_opens_with_every_command(command):
    assert f"\nrosenblatt {command} " in DOCS.partition("## ")[0]


def test_choices_are_those_of_the_library():
    assert get_args(verify.Expectation) == EXPECTATIONS
    assert set(get_args(options.HypothesisName)) == set(NAMES)
    text = help_of("fit")
    flat = re.sub(r"\s+", "", text)
    assert all(name in flat for name in [*rules.BY_NAME, *LEARNERS, *MULTI_CLASS, *NAMES])
