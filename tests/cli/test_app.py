"""Every command explains itself, is documented, and speaks the words of the library."""

import re
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal, get_args

import pytest
import typer
from tests.cli.commands import run, run_well
from typer.core import TyperCommand

from rosenblatt import rules
from rosenblatt.cli import options
from rosenblatt.cli.app import COMMANDS, GROUPS
from rosenblatt.cli.commands import verify
from rosenblatt.cli.flags import GroupedCommand
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


def test_several_files_on_the_command_line_are_refused_with_the_way_out():
    result = run("fit a.csv b.csv")
    assert result.exit_code == 2
    assert "several files are one SOURCE, as in 'logs/*.csv'" in result.output


@pytest.mark.parametrize("command", [(name,) for name in (*NAMES_OF_COMMANDS, *GROUPS)] + SUBCOMMANDS)
def test_help_fits_eighty_columns_and_names_no_type_of_python(command):
    everything = run_well([*command, "--help"]).stdout
    if "--help-all" in everything:
        everything = run_well([*command, "--help-all"]).stdout
    assert [line for line in everything.splitlines() if len(line) > 80] == []
    assert not re.search(r"<(str|int|float|list)\b", everything)
    assert "..." not in everything.partition("Commands:")[2]


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


VALUES = [
    ["x.csv"],
    [],
    ["x.csv", "y.csv"],
    ["x.csv", "--count", "3"],
    ["x.csv", "--count", "-3"],
    ["x.csv", "--count", "1_000"],
    ["x.csv", "--count", "3.0"],
    ["x.csv", "--count", "9" * 30],
    ["x.csv", "--count", "x"],
    ["x.csv", "--rate", "0.5"],
    ["x.csv", "--rate", "-2"],
    ["x.csv", "--rate", "1e3"],
    ["x.csv", "--rate", "nan"],
    ["x.csv", "--rate", "1e999"],
    ["x.csv", "--rate", ""],
    ["x.csv", "--limit", "5"],
    ["x.csv", "--limit", "-5"],
    ["x.csv", "--kind", "a"],
    ["x.csv", "--kind", "A"],
    ["x.csv", "--kind", "c"],
    ["x.csv", "--name", "a", "--name", "b"],
    ["x.csv", "--on"],
    ["x.csv", "--off"],
    ["x.csv", "--loud"],
    ["-", "--name", ""],
]


@pytest.mark.parametrize("arguments", VALUES, ids=" ".join)
def test_plain_values_are_read_as_typer_reads_them(arguments, capsys):
    """GroupedCommand takes plain values as they are, so that pydantic need not be loaded."""
    answers = []
    for cls in (TyperCommand, GroupedCommand):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        calls = []

        @app.command("read", cls=cls)
        def read(
            source: Annotated[str, typer.Argument()],
            count: Annotated[int | None, typer.Option("--count")] = None,
            rate: Annotated[float, typer.Option("--rate")] = 0.25,
            limit: Annotated[float | None, typer.Option("--limit", min=0)] = None,
            kind: Annotated[Literal["a", "b"] | None, typer.Option("--kind")] = None,
            name: Annotated[list[str] | None, typer.Option("--name")] = None,
            on: Annotated[bool | None, typer.Option("--on/--off")] = None,
            loud: Annotated[bool, typer.Option("--loud")] = False,
        ):
            calls.append([source, count, rate, limit, kind, name, on, loud])  # noqa: B023 (called at once)

        with pytest.raises(SystemExit) as exit_:
            app(arguments, prog_name="read")
        kinds = [[type(value) for value in call] for call in calls]
        answers.append((exit_.value.code, repr(calls), kinds, capsys.readouterr().err))
    assert answers[0] == answers[1]
