"""Every command that a page or a --help shows is one that exists, with options that exist and values that they take."""

import re
import shlex

import pytest
import typer.main
from tests.docs.places import ROOT, pages

from rosenblatt.cli.app import app

GROUP = typer.main.get_command(app)
FENCE = re.compile(r"^```(.*)\n([\s\S]*?)^```$", re.MULTILINE)
CALL = re.compile(r"^ *(?:\$ |cat \S+ \| )?rosenblatt ([a-z].*)$", re.MULTILINE)
ENDS = {"|", ">", "&&", "&", ";"}


def texts():
    """Return (where, text) of every block of a page, and of the help of every command."""
    for page in pages():
        for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
            if language in ("", "console"):
                yield page.relative_to(ROOT).as_posix(), block
    groups = [GROUP]
    while groups:
        for name, command in groups.pop().commands.items():
            yield f"{name} --help", command.help or ""
            groups += [command] if hasattr(command, "commands") else []


def shown():
    """Return (where, words after rosenblatt) of every command."""
    found = []
    for where, text in texts():
        for line in CALL.findall(text):
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|>&;")
            lexer.whitespace_split = True
            words = list(lexer)
            end = next((at for at, word in enumerate(words) if word in ENDS), len(words))
            found.append((where, words[:end]))
    return found


def test_there_are_commands_to_check():
    assert len(shown()) > 100


@pytest.mark.parametrize(("where", "words"), shown(), ids=lambda value: str(value)[:60])
def test_a_command_that_is_shown_can_be_typed(where, words):
    command, rest = GROUP, words
    while hasattr(command, "commands"):
        assert rest[0] in command.commands, f"{where}: there is no command {rest[0]!r}"
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context("rosenblatt", rest)  # raises where an option or a value is not taken
