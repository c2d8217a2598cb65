"""The lessons of the documentation site are live without a server, and show what the lab shows."""

import importlib.util
import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from tests.browsing import chromium

from rosenblatt.lab.learners import PlaygroundState
from rosenblatt.lab.playground import PlaygroundSession
from rosenblatt.lab.table import from_query

DOCS = Path(__file__).parents[2] / "docs"
LESSONS = sorted((DOCS / "lessons").glob("[0-9]*.md"))


@pytest.fixture(scope="module")
def extension():
    spec = importlib.util.spec_from_file_location("docs_live_lessons", DOCS / "_ext" / "live_lessons.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_lesson_of_the_site_leads_to_this_computer(extension):
    live = {}
    for path in LESSONS:
        text = extension.live(path.read_text(encoding="utf-8"))
        assert "127.0.0.1" not in text, path.name
        live[path.name] = text.count('<a href="#live"')
    assert sum(live.values()) >= 35
    assert {name[:2] for name, count in live.items() if not count} == {"05", "10"}  # a game, a curved model


def test_every_live_link_shows_the_state_of_the_lab(extension):
    """Weights and mistakes of the figure in Chromium, after the link was clicked, and of the lab's session."""
    with chromium() as browser:
        page = browser.new_page()
        troubles = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        compared = 0
        for path in LESSONS:
            source = path.read_text(encoding="utf-8")
            links = [found[2] for found in extension.LINK.finditer(source) if extension.options_of(found[2])]
            text = extension.live(source)
            if not links:
                continue
            html = "".join(re.findall(r"<a href=.#live.[^>]*>|<div id=.live.[^>]*></div>", text))
            script = re.search(r"<script.*</script>", text, re.DOTALL)[0]
            script = script.replace("figures();", "window.made = figures();")
            page.set_content(f"<body>{html.replace('<a ', '<a>x</a><a ')}</body>{script}")
            page.wait_for_function("window.made && window.made.length === 1")
            assert page.locator("a[data-live]").count() == len(links)
            for number, link in enumerate(links):
                page.locator("a[data-live]").nth(number).dispatch_event("click")
                parts = urlsplit(link)
                state, _ = from_query(PlaygroundState, dict(parse_qsl(parts.query)))
                if parts.path != "/" or state.learner != "perceptron":
                    continue
                session = PlaygroundSession(state)
                clock, mistakes, scores = page.evaluate(
                    """() => { const { run, options, rows } = made[0];
                      return [run.clock, run.mistakes, rows.map((row) => run.score(row, options.hypothesis))]; }"""
                )
                assert (clock, mistakes) == (session.training.clock, session.training.learner.mistakes), link
                if clock:
                    np.testing.assert_allclose(
                        scores, session.training.scores(session.X), rtol=1e-7, atol=1e-7
                    )
                compared += 1
            page.get_by_role("button", name="Step", exact=True).wait_for()
        assert compared >= 25
        assert troubles == []


def test_the_figure_of_xor_shows_why_there_is_no_line(extension):
    text = extension.live((DOCS / "lessons" / "13-gates-and-xor.md").read_text(encoding="utf-8"))
    options = [json.loads(unescape(found)) for found in re.findall(r'data-live="([^"]*)"', text)]
    assert any(each["proof"] and each["labels"] == [-1, 1, 1, -1] for each in options)
