"""Every command explains itself, is documented, and speaks the words of the library."""

import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from tests.cli.commands import run, run_well

from rosenblatt import rules
from rosenblatt.cli import options
from rosenblatt.cli.app import COMMANDS, GROUPS
from rosenblatt.cli.commands import verify
from rosenblatt.core.hypotheses import NAMES
from rosenblatt.learner import MULTI_CLASS
from rosenblatt.learner.models.options import CLASSIFIERS
from rosenblatt.proofs.claims import EXPECTATIONS

DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
COMMON = DOCS.partition("## How data are read\n")[2].partition("\n## ")[0]
NAMES_OF_COMMANDS = list(COMMANDS)
SUBCOMMANDS = [
    (group, name)
    for group in GROUPS
    for name in import_module(f"rosenblatt.cli.commands.{group}").SUBCOMMANDS
]


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
def test_the_list_of_commands_says_what_their_help_says(command):
    function = getattr(import_module(f"rosenblatt.cli.commands.{command}"), command)
    assert COMMANDS[command] == function.__doc__.partition("\n")[0]


@pytest.mark.parametrize("command", NAMES_OF_COMMANDS)
def test_every_option_has_help_and_is_documented(command):
    section = section_of(command)
    assert section, f"docs/cli.md has no section for {command}"
    listed = run_well([command, "--help-all" if "--help-all" in help_of(command) else "--help"]).stdout
    found = re.findall(r"^  (?:-\w, )?(--[\w-]+)(.*)\n(.*)", listed, re.MULTILINE)
    assert found
    for option, rest, below in found:
        assert re.search(r"\s{2,}\S", rest) or below.startswith(" " * 10), f"{option} has no help"
        assert option in ("--help", "--help-all") or option in section or option in COMMON, (
            f"{option} is not in docs/cli.md"
        )


@pytest.mark.parametrize(("group", "command"), SUBCOMMANDS)
def test_every_subcommand_has_examples_and_is_documented(group, command):
    text = run_well([group, command, "--help"]).stdout
    assert text.count(f"  rosenblatt {group} {command}") >= 2
    section = section_of(group)
    assert command in section
    for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE):
        assert option in ("--help", *re.findall(r"--[\w-]+", section)), f"{option} is not in docs/cli.md"


def test_help_lists_options_in_groups_and_the_rare_ones_on_request():
    short, whole = (run_well(["fit", option]).stdout for option in ("--help", "--help-all"))
    sections = [
        "Data",
        "Columns",
        "Learner",
        "Kernel",
        "Estimate",
        "Out of core",
        "Engine",
        "Output",
        "Options",
    ]
    for text in (short, whole):
        assert [line[:-1] for line in text.splitlines() if line[:-1] in sections] == sections
    assert "--seed" in whole
    assert "--seed" not in short
    assert "more options: rosenblatt fit --help-all" in short
    assert "--no-ledger" not in whole


def test_the_list_of_commands_is_not_cut():
    assert "..." not in run_well("--help").stdout.partition("Commands:")[2]
    assert run([]).output.startswith("Usage: rosenblatt")


@pytest.mark.parametrize("command", NAMES_OF_COMMANDS)
def test_the_documentation_opens_with_every_command(command):
    assert f"\nrosenblatt {command} " in DOCS.partition("## ")[0]


def test_choices_are_those_of_the_library():
    assert get_args(verify.Expectation) == EXPECTATIONS
    assert set(get_args(options.HypothesisName)) == set(NAMES)
    assert tuple(rules.BY_NAME) == options.RULES
    text = run_well(["fit", "--help-all"]).stdout
    flat = re.sub(r"\s+", "", text)
    assert all(name in flat for name in [*rules.BY_NAME, *CLASSIFIERS, *MULTI_CLASS, *NAMES])
