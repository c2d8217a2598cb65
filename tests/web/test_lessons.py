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
from tests.web.test_perceptron_module import module_url

from rosenblatt import NaiveBayes
from rosenblatt.lab.game import GameSession, GameState
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
    assert [name for name, count in live.items() if not count] == []


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
            page.locator("[data-part=status]").wait_for()
        assert compared >= 25
        assert troubles == []


def test_the_figure_of_xor_shows_why_there_is_no_line(extension):
    text = extension.live((DOCS / "lessons" / "13-gates-and-xor.md").read_text(encoding="utf-8"))
    options = [json.loads(unescape(found)) for found in re.findall(r'data-live="([^"]*)"', text)]
    assert any(each["proof"] and each["labels"] == [-1, 1, 1, -1] for each in options)


def test_the_game_of_lesson_five_is_that_of_the_lab(extension):
    """Every round that A plays is a step of the figure, with B's mistakes and B's vector after it."""
    with chromium() as browser:
        page = browser.new_page()
        for query in ("", "margin=0.2", "strategy=passive-aggressive"):
            game = GameSession(from_query(GameState, dict(parse_qsl(query)))[0])
            game.play_all()
            _figure(page, extension, f"/game?{query}")
            for number, each in enumerate(game.rounds, start=1):
                page.evaluate("made.run.step()")
                clock, mistakes, w = page.evaluate("[made.run.clock, made.run.mistakes, made.run.w]")
                assert (clock, mistakes) == (number, sum(one.mistake for one in game.rounds[:number]))
                u = np.array([float(value) for value in game.referee.u])
                np.testing.assert_allclose([u @ w[1:], np.dot(w, w)], [each.along, each.sqnorm], rtol=1e-9)
            assert len(game.rounds) > 5


def test_naive_bayes_of_lesson_ten_is_that_of_the_library_and_follows_the_points(extension):
    with chromium() as browser:
        page = browser.new_page()
        for query in ("learner=naive-bayes&data=overlapping", "learner=naive-bayes&data=xor&noise=0.1"):
            session = PlaygroundSession(from_query(PlaygroundState, dict(parse_qsl(query)))[0])
            _figure(page, extension, f"/?{query}")
            model = session.fitted.model
            np.testing.assert_allclose(
                page.evaluate("made.fitted"), [*model.intercept_, *model.coef_[0]], rtol=1e-9, atol=1e-12
            )
            assert session.errors() in page.locator("[data-part=status]").inner_text()
            assert not page.get_by_role("button", name="Step", exact=True).is_visible()
        page.get_by_role("button", name="Flip").click()
        at = page.locator("[data-part=plus]").first.bounding_box()
        page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
        options = page.evaluate("made.options")
        other = NaiveBayes().fit(options["points"], options["labels"])
        assert sum(options["labels"]) == int(session.y.sum()) - 2
        np.testing.assert_allclose(
            page.evaluate("made.fitted"), [*other.intercept_, *other.coef_[0]], rtol=1e-9, atol=1e-12
        )


def _figure(page, extension, address):
    """Draw the figure of an address of the lab into an empty page."""
    page.set_content("<body><div id='live'></div></body>")
    page.evaluate(
        """async ([url, options]) => {
          window.made = (await import(url)).figure(document.getElementById("live"), options);
        }""",
        [module_url(), extension.options_of(address)],
    )
