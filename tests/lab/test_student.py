"""What a student does in a real browser: undo, run at a speed, save numbers, hold out a test, step other learners."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from tests.lab.test_pages import at

from rosenblatt import LogisticRegression
from rosenblatt.lab.learners import PlaygroundState
from rosenblatt.lab.points import arrays
from rosenblatt.lab.table import from_query


def test_undo_redo_and_the_browsers_back_step_through_states(visit):
    visitor = visit()
    page = visitor.open("/?data=own&points=a100_100b-100_-100&tool=flip")
    undo, redo = (page.get_by_role("button", name=name) for name in ("Undo", "Redo"))
    assert undo.is_disabled()
    page.mouse.click(*at(page, 1, 1))
    visitor.until(points="b100_100b-100_-100")
    page.get_by_role("button", name="Erase").click()
    visitor.until(tool="erase")
    page.mouse.click(*at(page, -1, -1))
    visitor.until(points="b100_100")
    page.get_by_role("button", name="Step", exact=True).click()
    visitor.until(clock=1)
    page.locator("h2").first.click()
    page.keyboard.press("Control+z")
    visitor.until(clock=None, points="b100_100")
    page.keyboard.press("Control+z")
    visitor.until(points="b100_100b-100_-100")
    page.wait_for_function("document.querySelectorAll('[data-part=minus]').length === 2")
    page.go_back()
    visitor.until(points="a100_100b-100_-100")
    page.wait_for_function("document.querySelectorAll('[data-part=plus]').length === 1")
    page.wait_for_function("document.querySelector('[aria-label=Undo]').disabled")
    page.keyboard.press("Control+Shift+z")
    visitor.until(points="b100_100b-100_-100")
    redo.click()
    visitor.until(points="b100_100")
    page.go_forward()
    visitor.until(clock=1)
    page.reload()  # the entries of before are still states
    page.wait_for_function("window.socket && window.socket.connected")
    page.go_back()
    visitor.until(clock=None, points="b100_100")
    page.get_by_text("Nothing seen yet").wait_for()


def test_controls_follow_undo_and_a_dragged_slider_is_one_step(visit):
    visitor = visit()
    page = visitor.open("/?n=20")
    page.get_by_role("combobox", name="Rule", exact=True).click()
    page.get_by_role("option", name="Passive-aggressive", exact=True).click()
    visitor.until(rule="passive-aggressive")
    bar = page.get_by_role("slider", name="Points").locator(".q-slider__track-container")
    for n in (21, 22, 23):
        bar.press("ArrowRight")
        visitor.until(n=n)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("!location.href.includes('n=23')")
    page.get_by_role("button", name="Undo").click()
    visitor.until(rule=None)
    page.wait_for_function(
        "document.querySelector('[aria-label=Rule]').closest('.q-field').textContent.includes('Rosenblatt')"
    )


def test_undo_on_the_other_pages(visit):
    visitor = visit()
    page = visitor.open("/gates")
    page.get_by_role("button", name="Remove last").click()
    visitor.until(wiring="NAND.0.1-OR.0.1")
    page.locator("h2").first.click()
    page.keyboard.press("Control+z")
    visitor.until(wiring=None)
    page.get_by_text("The network is XOR.").wait_for()
    page = visitor.open("/game")
    page.keyboard.press("s")
    visitor.until(rounds=1)
    page.keyboard.press("Control+z")
    visitor.until(rounds=None)
    page = visitor.open("/networks?tool=flip")
    page.mouse.click(*at(page, 1.5, 1.2))
    visitor.until(data="own")
    page.locator("h2").first.click()
    page.keyboard.press("Control+z")
    visitor.until(data=None)
    page.get_by_text("0 of 4 wrong. Zero errors").wait_for()


def test_a_run_has_a_speed_and_the_address_is_current(visit):
    visitor = visit()
    page = visitor.open("/?data=overlapping&noise=0.9&speed=0")
    page.get_by_role("button", name="Run", exact=True).click()
    visitor.until(clock=1)  # one a second: no example is left out
    visitor.until(clock=2)
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Run", exact=True).wait_for()
    page.get_by_role("slider", name="Speed of Run").locator(".q-slider__track-container").press("PageUp")
    visitor.until(speed=7)
    page.get_by_text("3,000 a second").wait_for()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("Number(new URL(location.href).searchParams.get('clock')) > 200")
    assert page.get_by_role("button", name="Pause").count() == 1  # and it still runs
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Run", exact=True).wait_for()
    page.go_back()  # all of a run is one step back
    page.wait_for_function("Number(new URL(location.href).searchParams.get('clock')) <= 3")


def test_an_edit_during_a_run_is_a_step_of_its_own(visit):
    """And so is a run that begins after a step."""
    visitor = visit()
    page = visitor.open("/?data=overlapping&noise=0.9&speed=1&tool=plus")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("Number(new URL(location.href).searchParams.get('clock')) >= 2")
    page.mouse.click(*at(page, -3.5, 2.8))
    visitor.until(data="own")
    clock = int(visitor.query["clock"])
    page.wait_for_function(
        "clock => Number(new URL(location.href).searchParams.get('clock')) > clock + 1", arg=clock
    )
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Run", exact=True).wait_for()
    page.get_by_role("button", name="Undo").click()
    visitor.until(data="overlapping")
    assert 2 <= int(visitor.query["clock"]) <= clock  # the point is gone, and what was run before it is there
    page.get_by_role("button", name="Undo").click()
    visitor.until(clock=None)
    page = visitor.open("/networks?builder=backpropagation&data=moons")
    page.get_by_role("button", name="Step", exact=True).click()
    visitor.until(iterations=1)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("Number(new URL(location.href).searchParams.get('iterations')) >= 3")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Undo").click()
    visitor.until(iterations=1)


def test_the_ledger_is_saved_as_csv(visit):
    visitor = visit()
    page = visitor.open("/?data=overlapping&n=30&clock=60")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Ledger as CSV").click()
    rows = list(csv.DictReader(Path(saved.value.path()).read_text().splitlines()))
    X, y = arrays(PlaygroundState(data="overlapping", n=30).examples())
    w = np.zeros(3)
    for row in rows:
        w += float(row["tau"]) * np.array([1.0, *X[int(row["row"])]])
        assert int(row["y"]) == y[int(row["row"])]
        np.testing.assert_allclose([float(row[name]) for name in ("b", "w_x1", "w_x2")], w, atol=1e-9)
    assert len(rows) == page.locator("[data-part=ledger] tbody tr").count() <= 60


def test_training_and_test_have_a_curve_each(visit):
    visitor = visit()
    page = visitor.open("/?data=overlapping&noise=0.6&n=80&clock=200")
    assert page.get_by_text("test error:").count() == 0
    bar = page.get_by_role("slider", name="Held out for the test").locator(".q-slider__track-container")
    for percent in (5, 10, 15, 20, 25):
        bar.press("ArrowRight")
        visitor.until(test=percent)
    chart = page.locator('svg[aria-label="Misclassified, in percent"]')
    chart.wait_for()
    assert re.search(r"training error: [\d.]+%.*test error: [\d.]+%", chart.text_content())
    assert chart.locator("polyline").count() == 2
    assert page.locator("main .lab-plane:not(.small) [data-held-out]").count() == 20
    page.get_by_text("20 held out.").wait_for()


@pytest.mark.parametrize("learner", ["batch", "logistic"])
def test_batch_and_logistic_learners_have_steps(visit, learner):
    visitor = visit()
    page = visitor.open(f"/?data=overlapping&noise=0.5&learner={learner}")
    page.get_by_text("Nothing learned yet").wait_for()
    assert page.locator('[data-part="boundary"]').first.get_attribute("d") == ""
    for clock in (1, 2):
        page.get_by_role("button", name="Step", exact=True).click()
        visitor.until(clock=clock)
        page.get_by_text(f"{clock} iteration").wait_for()
    assert page.locator('[data-part="boundary"]').first.get_attribute("d")
    assert page.get_by_role("button", name="Update", exact=True).count() == 0  # every step is one
    assert page.get_by_role("button", name="Epoch", exact=True).count() == 0
    page.get_by_role("button", name="Back", exact=True).click()
    visitor.until(clock=1)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("Number(new URL(location.href).searchParams.get('clock')) >= 5")
    if learner == "logistic":
        page.get_by_text("The gradient is zero.").wait_for()
        state, _ = from_query(PlaygroundState, visitor.query)
        model = LogisticRegression(C=10.0).fit(*arrays(state.examples()))
        told = page.locator('[data-part="weights"]').inner_text().replace("−", "-").replace("\n", "")
        numbers = [float(part) for part in re.findall(r"= (-?\d+\.\d+)", told)][:3]
        np.testing.assert_allclose(numbers, [*model.intercept_, *model.coef_[0]], atol=0.02)
    else:
        page.get_by_role("button", name="Pause").click()


def test_backpropagation_has_steps(visit):
    visitor = visit()
    page = visitor.open("/networks?builder=backpropagation&data=moons")
    page.get_by_role("button", name="Step", exact=True).click()
    visitor.until(iterations=1)
    page.get_by_text("after 1 iteration;").wait_for()
    page.get_by_role("button", name="Ten steps").click()
    visitor.until(iterations=11)
    assert page.locator('svg[aria-label="Loss"] polyline').count() == 1
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("Number(new URL(location.href).searchParams.get('iterations')) >= 13")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="To the end").click()
    visitor.until(iterations=None)
    page.get_by_text("the loss stopped moving").wait_for()


def test_the_gaussian_kernel_has_a_width(visit):
    visitor = visit()
    page = visitor.open("/?data=moons&noise=0.6&n=40&clock=80")
    slider = page.get_by_role("slider", name="Kernel γ")
    assert slider.count() == 0 or not slider.is_visible()
    page = visitor.open("/?data=moons&noise=0.6&n=40&clock=80&space=kernel-rbf")
    edge = page.locator('[data-part="boundary"]').first.get_attribute("d")
    slider.locator(".q-slider__track-container").press("ArrowRight")
    visitor.until(gamma=1.05)
    page.wait_for_function(
        "edge => document.querySelector('[data-part=boundary]').getAttribute('d') !== edge", arg=edge
    )


def test_rings_do_not_hide_five_hundred_points(visit):
    page = visit().open("/?n=500&data=overlapping&noise=0.9&clock=500")
    page.locator("circle[data-part=wrong]").first.wait_for()
    rings = page.locator("main .lab-plane:not(.small) circle[data-part=wrong]")
    assert rings.count() > 50
    ring, stroke, mark = page.evaluate("""() => {
      const ring = document.querySelector('main circle[data-part=wrong]');
      const mark = document.querySelector('main circle[data-part=plus]');
      return [ring.r.baseVal.value, parseFloat(ring.parentElement.getAttribute('stroke-width')), mark.r.baseVal.value];
    }""")
    assert ring - stroke / 2 > mark  # the point itself is seen
    assert ring + stroke / 2 < 2 * mark  # and a point beside it


def test_the_legend_has_every_line_that_is_drawn(visit):
    visitor = visit()
    page = visitor.open("/?clock=3")
    page.keyboard.press("u")
    says = "words => document.querySelector('[data-part=legend]').innerText.includes(words)"
    page.wait_for_function(says, arg="boundary before the update")
    assert not page.evaluate(says, "proof")
    page.get_by_role("button", name="Is it separable?").click()
    page.get_by_text("Yes: largest possible margin").wait_for()
    page.wait_for_function(says, arg="widest separator")
    page = visitor.open("/?data=xor&n=8&noise=0.1&proof=yes")
    page.wait_for_function(says, arg="where they are equal")


def test_gates_and_networks_explain_their_marks(visit):
    page = visit().open("/gates?gate=XOR&proof=yes")
    legend = page.locator("[data-part=legend]").inner_text()
    for words in (
        "wanted: 1",
        "wanted: 0",
        "misclassified",
        "with this weight in the proof",
        "where they are equal",
    ):
        assert words in legend
    assert "negative weight" in page.locator("[data-part=wires]").inner_text()
    page = visit().open("/networks")
    assert page.get_by_text("negative weight").is_visible()


def test_the_focus_has_a_ring_on_every_kind_of_button(visit):
    """Also on the tool that is chosen, whose own ring stays."""
    page = visit().open("/?tool=plus")
    page.get_by_role("button", name="Move", exact=True).focus()
    rings = {}
    for _ in range(12):
        page.keyboard.press("Tab")
        name, ring = page.evaluate(
            "(at => [(at.innerText ?? '').trim().split('\\n').pop(), getComputedStyle(at).boxShadow])"
            "(document.activeElement)"
        )
        rings[name] = ring
    for name in ("Put +1", "Flip", "Step", "Is it separable?"):
        assert "rgb(86, 180, 233)" in rings[name], name
    assert "inset" in rings["Put +1"]


def test_a_chart_without_mistakes_has_whole_numbers(visit):
    page = visit().open("/?data=none")
    chart = page.get_by_role("img", name="Mistakes against the bound")
    ticks = chart.locator("text").all_inner_texts()
    assert "0.02" not in ticks


def test_text_of_charts_disabled_buttons_and_tools_of_a_phone(visit):
    for size in ("desktop", "phone"):
        page = visit(size=size).open("/?clock=30")
        sizes = page.evaluate("""() => [...document.querySelectorAll('.lab-chart svg')].map(svg =>
          parseFloat(getComputedStyle(svg.querySelector('text')).fontSize) * svg.getScreenCTM().a)""")
        body = page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
        assert sizes
        assert max(sizes) <= body + 0.1
        look = "name => getComputedStyle(document.querySelector(`[aria-label='${name}']`)).filter"
        assert "opacity(0.5)" in page.evaluate(look, "Undo")
        assert page.evaluate(look, "Move") == "none"
    for tool in ("Move", "Put +1", "Put −1", "Flip", "Erase", "Clear"):
        text = page.get_by_role("button", name=tool).evaluate(
            "e => [e.innerText, parseFloat(getComputedStyle(e).fontSize)]"
        )
        assert text[0].strip().endswith(tool)
        assert text[1] >= 14


def test_a_shared_link_says_that_it_is_local(visit):
    visitor = visit()
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visitor.open("/?n=25")
    page.get_by_role("button", name="Share").click()
    visitor.hear("It is local")
    page.wait_for_function("async () => (await navigator.clipboard.readText()).endsWith('/?n=25')")
