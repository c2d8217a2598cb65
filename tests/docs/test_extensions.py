"""The small extensions of the site: every command and option is told; links, formulas, docstrings."""

import importlib.util
import re

import pytest
import typer.main
from tests.docs.places import DOCS

from rosenblatt.cli.app import app

GROUP = typer.main.get_command(app)


def extension(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


commands = extension("commands")


EVERY = dict(commands.every(GROUP))


def test_commands_within_commands_are_told_too():
    assert {"fit", "mail import", "mail sort"} <= set(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_a_command_is_told_with_all_its_options(name):
    text = "\n".join(node.astext() for node in commands.described(EVERY[name], name))
    assert f"rosenblatt {name} " in text
    for parameter in EVERY[name].params:
        if not getattr(parameter, "hidden", False):
            for written in [option for option in parameter.opts if option.startswith("-")]:
                assert written in text, f"{name} does not tell {written}"


@pytest.mark.parametrize("name", list(GROUP.commands))
def test_a_command_is_explained_in_words_too(name):
    words = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert re.search(rf"^## rosenblatt {name}$", words, re.MULTILINE), f"docs/cli.md has no section on {name}"


def test_links_to_the_top_of_the_checkout_lead_to_pages():
    links = extension("outside_links")
    assert (
        links.to_page("[a](../../README.md#x) [b](../learning.md)")
        == "[a](../index.md#x) [b](../learning.md)"
    )
    assert links.as_page("[a](docs/cli.md#x) [b](SECURITY.md)") == "[a](cli.md#x) [b](security.md)"


def test_a_formula_that_cannot_be_drawn_is_a_warning(caplog):
    mathml = extension("mathml")
    assert mathml._one_line(r"\frac{1}{2}", as_block=False).startswith("<math")
    assert mathml._one_line(r"\nosuchcommand", as_block=False) == r"\nosuchcommand"


def test_sentences_that_go_on_are_descriptions():
    ours = extension("our_docstrings")
    lines = [
        "Parameters",
        "----------",
        "u : the plane",
        "    to measure against",
        "C : float",
        "    A step.",
        "",
    ]
    ours.going_in(None, "", "", None, None, lines)
    assert lines[2:7] == ["u :", "    the plane", "    to measure against", "C : float", "    A step."]


@pytest.mark.parametrize(
    ("text", "fetches"),
    [
        ('<script async="async" src="https://cdn.example/mathjax.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example/css">', True),
        ("@font-face { src: url(https://fonts.example/a.woff) }", True),
        ('<a href="https://example.org">elsewhere</a>', False),
        ('<img src="../_images/plot.png">', False),
    ],
)
def test_a_page_that_would_fetch_from_elsewhere_is_found(text, fetches):
    assert bool(extension("offline").outside(text)) is fetches
