"""The ES module of the lessons and of the widget makes the updates of the library, step by step, in a real browser."""

import base64
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.browsing import chromium

import rosenblatt
from rosenblatt import Perceptron, rules
from rosenblatt.lab.insight import curves
from rosenblatt.lab.learners import PlaygroundState
from rosenblatt.lab.playground import PlaygroundSession
from rosenblatt.lab.points import arrays
from rosenblatt.learner import Learner
from rosenblatt.proofs import hard_margin
from rosenblatt.web.widget import MODULE, options_of

RULES = [
    ("rosenblatt", rules.Rosenblatt(), {}),
    ("rosenblatt", rules.Rosenblatt(eta=0.25), {"eta": 0.25}),
    ("margin", rules.Margin(eta=0.5, beta=2.0), {"eta": 0.5, "beta": 2.0}),
    ("passive-aggressive", rules.PassiveAggressive(C=0.7), {"C": 0.7}),
    ("passive-aggressive", rules.PassiveAggressive(C=float("inf")), {"C": None}),
]
RUNS = 100
EXAMPLES = 60  # steps of every run

# Every run step by step: weights by each hypothesis, votes on a few points, mistakes.
STEP_BY_STEP = """async ([url, runs]) => {
  const { Run } = await import(url);
  return runs.map(({ rows, labels, rule, parameters, intercept, points, examples }) => {
    const run = new Run({ rows, labels, rule, parameters, intercept });
    const found = { last: [], averaged: [], voted: [], mistakes: [] };
    for (let k = 0; k < examples && !run.finished; k++) {
      run.step();
      found.last.push(run.weights("last"));
      found.averaged.push(run.weights("averaged"));
      found.voted.push(points.map((point) => run.score(point, "voted")));
      found.mistakes.push(run.mistakes);
    }
    return found;
  });
}"""


def module_url():
    return "data:text/javascript;base64," + base64.b64encode(MODULE.read_bytes()).decode()


@pytest.fixture(scope="module")
def page():
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        troubles = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        yield page
        assert troubles == []


def recorded(number):
    """A run of the library: examples, rule, and what it knew after every example."""
    rng = np.random.default_rng(number)
    rule, own, parameters = RULES[number % len(RULES)]
    n, width, intercept = int(rng.integers(5, 30)), int(rng.integers(1, 6)), bool(number % 7)
    X = rng.normal(size=(n, width)) * rng.uniform(0.3, 3.0)
    y = np.where(X @ rng.normal(size=width) + rng.normal(0.0, 0.5, n) > 0.0, 1, -1)
    learner = Learner(own, fit_intercept=intercept)
    learner.start_from(np.zeros((1, width)), 0.0, np.array([-1, 1]))
    points = rng.normal(size=(4, width))
    seen = {"last": [], "averaged": [], "voted": [], "mistakes": []}
    before = 0
    for k in range(EXAMPLES):
        row = k % n
        learner.learn(X[[row]], y[[row]], classes=[-1, 1])
        seen["last"].append(learner.weights("last")[0].copy())
        seen["averaged"].append(learner.weights("averaged")[0])
        seen["voted"].append(learner.scores(points, "voted"))
        seen["mistakes"].append(learner.mistakes)
        if (k + 1) % n == 0:
            if learner.updates == before:
                break  # a clean pass ends a run
            before = learner.updates
    told = {
        "rows": X.tolist(),
        "labels": y.tolist(),
        "rule": rule,
        "parameters": parameters,
        "intercept": intercept,
        "points": points.tolist(),
        "examples": EXAMPLES,
    }
    return told, seen


def test_a_hundred_runs_have_the_weights_of_the_library_at_every_step(page):
    runs = [recorded(number) for number in range(RUNS)]
    found = page.evaluate(STEP_BY_STEP, [module_url(), [told for told, _ in runs]])
    updates = 0
    for (told, seen), mine in zip(runs, found, strict=True):
        steps = len(mine["last"])
        if told["rule"] != "passive-aggressive":
            assert steps == len(seen["last"])
        # a passive-aggressive step ends at a loss of exactly zero, so rounding decides whether a pass is clean
        steps = min(steps, len(seen["last"]))
        assert steps >= min(EXAMPLES, 2 * len(told["labels"]))
        assert mine["mistakes"][:steps] == [int(each) for each in seen["mistakes"][:steps]]
        for name in ("last", "averaged", "voted"):
            theirs = np.array(seen[name][:steps])
            np.testing.assert_allclose(mine[name][:steps], theirs, rtol=1e-9, atol=1e-12)
        updates += len({tuple(w) for w in mine["last"]})
    assert updates > 10 * RUNS  # there was something to compare


def test_margin_bound_and_proof_are_those_of_the_library(page):
    cases = []
    for seed in range(12):
        for data in ("separable", "overlapping", "xor"):
            X, y = arrays(PlaygroundState(data=data, n=30, noise=0.6, margin=0.1, seed=seed).examples())
            cases.append((X, y))
    ask = """async ([url, cases]) => {
      const { separability, bound } = await import(url);
      return cases.map(([rows, labels]) => {
        const found = separability(rows, labels);
        return { ...found, bound: found.separable ? bound("rosenblatt", {}, found) : null };
      });
    }"""
    found = page.evaluate(ask, [module_url(), [(X.tolist(), y.tolist()) for X, y in cases]])
    separable = 0
    for (X, y), mine in zip(cases, found, strict=True):
        theirs = isinstance(rosenblatt.separability(X, y), rosenblatt.proofs.Separable)
        assert mine["separable"] == theirs
        E = np.column_stack([np.ones(len(y)), X])
        if theirs:
            separable += 1
            best = hard_margin(E, y, False)
            gamma = float((y * (E @ best.w)).min() / np.linalg.norm(best.w))
            assert mine["gamma"] == pytest.approx(gamma, rel=1e-6)
            assert mine["bound"] == pytest.approx(
                rules.Rosenblatt().mistakes_at_most((E**2).sum(axis=1).max() ** 0.5, gamma), rel=1e-5
            )
        else:
            weights, rows = np.array(mine["weights"]), mine["rows"]
            assert (weights > 0).all()
            assert (
                np.abs((weights * y[rows]) @ E[rows]).max() < 1e-6
            )  # a weighted average equals one of the other class
    assert separable >= 12


def test_the_lemmas_of_the_bound_are_those_of_the_lab(page):
    """Their values are the lab's, and the figure draws them as soon as something moved."""
    session = PlaygroundSession(PlaygroundState(n=30, margin=0.1, clock=90))
    theirs = curves(session.training, session.insight)
    options = {"points": session.X.tolist(), "labels": session.y.tolist(), "clock": 90}
    page.set_content("<body><div id='one'></div></body>")
    mine = page.evaluate(
        """async ([url, options]) => {
          const { figure, separability } = await import(url);
          window.shown = figure(document.getElementById("one"), { ...options, clock: 0 });
          window.before = document.querySelectorAll("[data-part=lemmas] svg").length;
          shown.show(options);
          return shown.run.lemmas(separability(options.points, options.labels));
        }""",
        [module_url(), options],
    )
    assert len(mine) == len(theirs.updates) > 3
    for name in ("dot", "floor", "sqnorm", "ceiling"):
        found = [each[name] for each in mine]
        np.testing.assert_allclose(found, getattr(theirs, name), rtol=1e-6, err_msg=name)
    assert page.evaluate("before") == 0
    assert page.locator("[data-part=lemmas] svg").count() == 2
    assert "never below kγ" in page.locator("[data-part=lemmas]").text_content()


def test_the_ledger_of_a_figure_keeps_its_heading_on_the_site(page):
    """The site hides headings of tables that have none in Markdown."""
    css = (Path(__file__).parents[2] / "docs" / "_static" / "site.css").read_text(encoding="utf-8")
    page.set_content(
        f"<style>{css}</style><table><thead><tr><th></th></tr></thead></table><div id='one'></div>"
    )
    page.evaluate(
        "async ([url, options]) => (await import(url)).figure(document.getElementById('one'), options)",
        [module_url(), {"points": [[1, 1], [-1, -1]], "labels": [1, -1], "clock": 1}],
    )
    assert page.locator("th:visible").all_inner_texts() == ["clock", "row", "y", "y·score", "w after", "b"]


def test_one_is_counted_in_the_singular(page):
    page.set_content("<body><div id='one'></div></body>")
    page.evaluate(
        "async ([url, options]) => (await import(url)).figure(document.getElementById('one'), options)",
        [module_url(), {"points": [[1, 1], [-1, -1]], "labels": [1, -1], "clock": 1}],
    )
    assert "1 example seen" in page.locator("[data-part=chart]").text_content()
    assert "1 update" in page.locator("[data-part=lemmas]").text_content()


def test_the_figure_does_not_call_the_labels_of_xor_wrong(page):
    """It says what the proof shows, and a wrong label is one possible reason of several."""
    page.set_content("<body><div id='xor'></div></body>")
    page.evaluate(
        "async ([url, options]) => (await import(url)).figure(document.getElementById('xor'), options)",
        [module_url(), {"points": [[0, 0], [0, 1], [1, 0], [1, 1]], "labels": [-1, 1, 1, -1], "proof": True}],
    )
    answer = page.locator("[data-part=answer]").inner_text()
    assert answer.startswith(
        "No: a weighted average of one class equals one of the other. This does not say why"
    )
    assert answer.index("lie as in XOR") < answer.index("a label may be wrong")


def test_the_widget_is_stepped_in_the_browser_and_reports(page):
    """As a notebook does it: anywidget hands the module a model and an element."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.where(X @ [1.0, -0.5] > 0.2, "yes", "no")
    clf = Perceptron("passive-aggressive", hypothesis="averaged", random_state=3, max_iter=2).fit(X, y)
    made = rosenblatt.widget(clf, X, y)
    assert Path(made._esm._path if hasattr(made._esm, "_path") else MODULE).name == MODULE.name
    page.set_content("<body><div id='cell'></div></body>")
    page.evaluate(
        """async ([url, options]) => {
          const values = { options };
          window.model = { get: (name) => values[name], set: (name, value) => { values[name] = value; },
            save_changes() {}, on() {}, values };
          const [start, stop] = [setInterval, clearInterval];
          window.timers = new Set();
          window.setInterval = (...words) => { const timer = start(...words); timers.add(timer); return timer; };
          window.clearInterval = (timer) => { timers.delete(timer); stop(timer); };
          window.cleared = (await import(url)).default.render({ model, el: document.getElementById("cell") });
        }""",
        [module_url(), json.loads(json.dumps(made.options))],
    )
    assert page.locator("[data-part=plus], [data-part=minus]").count() == 30
    assert page.locator("[data-part=line]").count() == 1  # of the fitted model
    page.get_by_role("button", name="Step", exact=True).click()
    assert page.evaluate("model.values.clock") == 1
    for _ in range(2):
        page.get_by_role("button", name="Epoch").click()
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Epoch").click()
    assert page.evaluate("model.values.clock") == 60
    np.testing.assert_allclose(
        page.evaluate("model.values.weights"), [*clf.intercept_, *clf.coef_[0]], rtol=1e-9, atol=1e-12
    )
    assert page.evaluate("model.values.mistakes") == clf.n_mistakes_
    page.get_by_role("button", name="Is it separable?").click()
    page.get_by_text("Yes: margin").wait_for()
    assert page.locator("[data-part=band]").count() == 2
    assert page.locator("[data-part=bound]").count() == 1
    legend = page.locator("[data-part=legend]").inner_text()
    for words in ("yes (+1)", "no (−1)", "boundary", "fitted", "the proof: a separator", "its margin"):
        assert words in legend
    fills = page.locator("[data-part=plane] polygon").evaluate_all(
        "sides => sides.map(s => s.getAttribute('fill'))"
    )
    assert fills == ["#0072B2", "#E69F00"]  # each side in the colour of its class, and only that
    page.get_by_role("button", name="Restart").click()
    page.get_by_role("button", name="Run").click()
    assert page.evaluate("timers.size") == 1
    page.evaluate("cleared()")  # the cell is run again: nothing of it runs on
    assert page.evaluate("timers.size") == 0


def test_a_kernel_sends_the_module_and_hears_what_is_on_screen():
    """The messages of a notebook: what the widget sends when it is made, and what the page reports."""
    made = rosenblatt.widget([[0.0, 1.0], [1.0, 0.0]], ["ham", "spam"])
    state = json.loads(
        json.dumps({name: value for name, value in made.get_state().items() if name != "layout"})
    )
    assert "export default" in state["_esm"]
    assert state["options"]["classes"] == ["ham", "spam"]
    assert "application/vnd.jupyter.widget-view+json" in made._repr_mimebundle_()[0]
    report = {"clock": 3, "mistakes": 2, "weights": [0.0, 1.0, -1.0]}
    made._handle_msg(
        {"content": {"data": {"method": "update", "state": report, "buffer_paths": []}}, "buffers": []}
    )
    assert (made.clock, made.mistakes, made.weights) == (3, 2, [0.0, 1.0, -1.0])


def test_points_of_the_figure_are_edited_by_mouse_and_keys(page):
    page.set_content("<body><div id='cell'></div></body>")
    options = options_of(None, [[2.0, 1.0], [-1.0, -2.0], [1.0, 2.0]], [1, 0, 1])
    page.evaluate(
        """async ([url, options]) => {
          const cell = document.getElementById("cell");
          window.made = (await import(url)).figure(cell, { ...options, box: [-4, -3, 4, 3] });
        }""",
        [module_url(), options],
    )
    plane = page.locator("[data-part=plane]")
    box = plane.bounding_box()

    def at(x, y):
        return box["x"] + (x + 4) / 8 * box["width"], box["y"] + (3 - y) / 6 * box["height"]

    page.mouse.move(*at(2, 1))
    page.mouse.down()
    page.mouse.move(*at(3, -1), steps=4)
    page.mouse.up()
    assert np.abs(np.array(page.evaluate("made.options.points[0]")) - [3, -1]).max() < 0.03
    page.get_by_role("button", name="Put −1").click()
    page.mouse.click(*at(0, 2))
    assert page.evaluate("made.options.labels") == [1, -1, 1, -1]
    page.get_by_role("button", name="Erase").click()
    plane.focus()
    for key in ["Shift+ArrowUp"] * 4 + ["Enter"]:
        page.keyboard.press(key)
    assert page.evaluate("made.options.labels") == [1, -1, 1]
    page.get_by_role("button", name="Run").click()
    page.get_by_text("A clean pass").wait_for()
    assert page.get_by_role("button", name="Step", exact=True).is_disabled()


def test_what_the_widget_cannot_show_is_refused(monkeypatch):
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    with pytest.raises(ValueError, match="two columns"):
        rosenblatt.widget([[1.0], [2.0]], y)
    with pytest.raises(ValueError, match="two classes"):
        rosenblatt.widget(X, [1, 1])
    with pytest.raises(ValueError, match="not finite"):
        rosenblatt.widget([[0.0, np.nan], [1.0, 0.0]], y)
    with pytest.raises(ValueError, match="not by AROW"):
        rosenblatt.widget(Perceptron("arow"), X, y)
    with pytest.raises(TypeError, match="X, y or clf, X, y"):
        rosenblatt.widget(X)
    assert rosenblatt.widget(X=X, y=y).options == rosenblatt.widget(X, y).options
    monkeypatch.setitem(sys.modules, "anywidget", None)
    rosenblatt.web.widget._widget_class.cache_clear()
    with pytest.raises(ImportError, match=r'pip install "rosenblatt\[widget\]"'):
        rosenblatt.widget(X, y)
    rosenblatt.web.widget._widget_class.cache_clear()
