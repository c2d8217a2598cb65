"""Every page in a real browser: by mouse and by keyboard, on a desk and on a phone, light and dark."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from tests.lab.conftest import SIZES
from tests.patience import SECONDS

from rosenblatt import Perceptron
from rosenblatt.lab.learners import PlaygroundState
from rosenblatt.lab.points import arrays
from rosenblatt.lab.table import from_query

PAGES = [
    "/?clock=7&proof=yes&beside=perceptron.logistic",
    "/game?rounds=5",
    "/gates?gate=XOR&proof=yes",
    "/?data=overlapping&test=30&clock=40",
    "/networks",
    "/networks?builder=backpropagation&iterations=5",
    "/lessons/04-convergence",
]

# The smallest text that is seen, and whether anything sticks out of the window.
SMALLEST = """() => {
  let least = 99, where = '';
  const walk = document.createTreeWalker(document.querySelector('#app'), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode, own = text.parentElement, box = own.getBoundingClientRect();
    if (!text.data.trim() || !box.width || own.closest('.q-icon, .q-tooltip, sub, style, script')) continue;
    const svg = own.closest('svg'), scale = svg ? svg.getScreenCTM().a : 1;
    const floats = own.closest('.q-field--float .q-field__label'); // drawn at three quarters
    const size = parseFloat(getComputedStyle(own).fontSize) * scale * (floats ? 0.75 : 1);
    if (size > 0.1 && size < least) { least = size; where = text.data.trim().slice(0, 40); }
  }
  return [least, where];
}"""

CUT_OFF = "[...document.querySelectorAll('.lab-card')].filter(c => c.scrollWidth > c.clientWidth + 1).length"


def at(page, x, y, part="main .lab-plane:not(.small) svg"):
    """Where a point of the plane is on the screen."""
    box = page.locator(part).first.bounding_box()
    return box["x"] + (x + 4) / 8 * box["width"], box["y"] + (3 - y) / 6 * box["height"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_page_is_whole_and_readable(visit, size, theme):
    visitor = visit(size=size, theme=theme)
    for path in PAGES:
        page = visitor.open(path)
        page.wait_for_selector(".lab-card")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
        least, where = page.evaluate(SMALLEST)
        assert least >= 13.9, (path, where)
        assert page.evaluate("document.body.classList.contains('body--dark')") == (theme == "dark")
        assert page.evaluate(CUT_OFF) == 0, path
    for path in ("/?clock=40", "/?clock=40&space=kernel-rbf", "/?clock=40&space=polynomial-3"):
        ledger = visitor.open(path).locator(".lab-scroll:has([data-part=ledger])")
        assert ledger.evaluate("box => box.scrollWidth <= box.clientWidth"), path  # every column is in sight


@pytest.mark.parametrize("size", [(768, 1024), (820, 1180), (1000, 700), (1280, 800), (1920, 1080)])
def test_tablets_and_projectors_show_every_link_and_where_the_run_stands(visit, size):
    visitor = visit()
    visitor.page.set_viewport_size({"width": size[0], "height": size[1]})
    for path in ("/?clock=40&proof=yes", "/game?rounds=5", "/gates", "/networks", "/lessons"):
        page = visitor.open(path)
        page.wait_for_selector(".lab-card")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert page.locator(".lab-nav").evaluate("nav => nav.scrollWidth <= nav.clientWidth"), path
        assert page.evaluate(CUT_OFF) == 0, path
        least, where = page.evaluate(SMALLEST)
        assert least >= 13.9, (path, where)
    if size[0] > 1400:
        page = visitor.open("/?clock=40")
        box = page.locator(".lab-status").bounding_box()
        assert box["y"] + box["height"] <= size[1]


def numbers_in(text):
    return [float(part) for part in re.findall(r"-?\d+(?:\.\d+)?", text.replace("−", "-"))]


def ledger_on(page):
    """The lines of the ledger, oldest first; every cell as the texts that stand in it one below the other."""
    rows = page.locator('[data-part="ledger"] tbody tr').evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim().split(/\\n+/)))"
    )
    return rows[::-1]


def test_the_page_and_the_library_agree(visit):
    """Points put by mouse, stepped by buttons; then the library on the data of the address line."""
    visitor = visit()
    page = visitor.open("/?data=none")
    for tool, places in (
        ("Put +1", [(1, 1), (2, 0.5), (0.5, 2), (-1, 1.5)]),
        ("Put −1", [(-2, -1), (0, -1.5), (1, -2)]),
    ):
        page.get_by_role("button", name=tool).click()
        visitor.until(tool="plus" if tool == "Put +1" else "minus")
        for x, y in places:
            before = visitor.query.get("points", "")
            page.mouse.click(*at(page, x, y))
            page.wait_for_function(
                "before => new URL(location.href).searchParams.get('points') !== before", arg=before
            )
    for name, clock in (("Step", 1), ("Step", 2)):
        page.get_by_role("button", name=name, exact=True).click()
        visitor.until(clock=clock)
    page.get_by_role("button", name="Run").click()
    page.get_by_text("A clean pass").wait_for()
    state, problems = from_query(PlaygroundState, visitor.query)
    assert problems == []
    assert len(state.points) == 7
    X, y = arrays(state.points)
    assert np.abs(X[0] - [1, 1]).max() < 0.03
    model = Perceptron(hypothesis="last", shuffle=False, max_iter=200).fit(X, y)
    visitor.until(clock=int(model.clock_))
    shown, w = ledger_on(page), np.zeros(3)
    assert len(shown) == len(model.ledger_) <= 60
    for cells, line in zip(shown, model.ledger_, strict=True):
        (number,), (row, label), (score, right), (moved, after), (b, sqnorm), (clock, lived) = cells
        assert int(number) >= 1
        assert int(clock) == line["clock"] + 1
        assert int(lived) >= 0
        assert int(row) == line["row"] % len(y)
        assert int(label.replace("−", "-")) == y[int(row)]
        assert float(score.replace("−", "-")) == pytest.approx(line["score"], abs=0.006)
        assert right == ("✗" if line["score"] <= 0 else "✓")
        by = np.abs(line["tau"]) * X[line["row"] % len(y)]
        w += line["tau"] * np.array([1.0, *X[line["row"] % len(y)]])
        np.testing.assert_allclose(numbers_in(moved), by, atol=0.006)
        assert moved.startswith("w += " if line["tau"] > 0 else "w −= ")
        np.testing.assert_allclose([*numbers_in(b), *numbers_in(after)], w, atol=0.06)
        assert float(sqnorm) == pytest.approx(line["sqnorm"], rel=1e-3)
    told = page.locator('[data-part="weights"]').inner_text().replace("−", "-").replace("\n", "")
    numbers = [float(part) for part in re.findall(r"= (-?\d+\.\d+)", told)]
    margin = (y * (X @ model.coef_[0] + model.intercept_[0])).min() / np.linalg.norm(model.coef_[0])
    np.testing.assert_allclose(numbers, [model.intercept_[0], *model.coef_[0], margin], atol=0.006)


def test_points_are_dragged_flipped_and_erased(visit):
    visitor = visit()
    page = visitor.open("/?data=own&points=a100_100b-100_-100&clock=2")
    page.mouse.move(*at(page, 1, 1))
    page.mouse.down()
    page.mouse.move(*at(page, 2, -1), steps=8)
    page.mouse.up()
    page.wait_for_function(
        "() => /^a(19|20)\\d_-(9|10)/.test(new URL(location.href).searchParams.get('points'))"
    )
    page.get_by_role("button", name="Flip").click()
    visitor.until(tool="flip")
    page.mouse.click(*at(page, -1, -1))
    page.wait_for_function("() => /a-100_-100$/.test(new URL(location.href).searchParams.get('points'))")
    page.get_by_role("button", name="Erase").click()
    visitor.until(tool="erase")
    page.mouse.click(*at(page, -1, -1))
    page.wait_for_function("() => !/-100_-100$/.test(new URL(location.href).searchParams.get('points'))")
    assert page.locator('[data-part="plus"], [data-part="minus"]').count() == 1


def test_the_playground_by_keyboard(visit):
    visitor = visit()
    page = visitor.open("/?data=none&tool=plus")
    page.locator("main .lab-plane svg").first.focus()
    for key in ("ArrowUp", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    visitor.until(points="a10_10")
    page.get_by_role("button", name="Put −1").press("Enter")
    visitor.until(tool="minus")
    page.locator("main .lab-plane svg").first.focus()
    for _ in range(3):
        page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    visitor.until(points="a10_10b-140_10")
    page.keyboard.press("Alt+ArrowDown")
    visitor.until(points="a10_10b-140_0")
    page.locator("h2").first.click()
    for key, clock in (("s", 1), ("u", 2), ("e", 4), ("b", 2)):
        page.keyboard.press(key)
        visitor.until(clock=clock)


def test_touch_puts_points_on_a_phone_and_controls_are_in_a_drawer(visit):
    visitor = visit(size="phone", has_touch=True, is_mobile=True)
    page = visitor.open("/?data=none&tool=plus")
    page.touchscreen.tap(*at(page, 1, 1))
    page.wait_for_function("() => /^a\\d/.test(new URL(location.href).searchParams.get('points') || '')")
    assert not page.get_by_text("Upload CSV").is_visible()
    page.get_by_role("button", name="Controls").click()
    page.get_by_text("Upload CSV").wait_for(state="visible")


def test_the_first_visit_shows_data_and_one_highlighted_button(visit):
    page = visit().open("/")
    assert page.locator('[data-part="plus"]').count() > 10
    assert page.locator(".glow").all_inner_texts()[0].endswith("Step")
    assert page.locator(".glow").count() == 1


def test_is_it_separable_draws_the_proof(visit):
    visitor = visit()
    page = visitor.open("/?data=xor&n=8&noise=0.1")
    page.get_by_role("button", name="Is it separable?").click()
    page.get_by_text("No: a weighted average of one class equals one of the other.").wait_for()
    assert page.locator('circle[data-part="culprit"]').count() >= 3
    assert page.locator('[data-part="meet"]').count() == 1
    page = visitor.open("/?proof=yes")
    page.get_by_text("Yes: largest possible margin").wait_for()
    assert page.locator('line[data-part="band"]').count() == 2


def test_settings_change_the_state(visit):
    visitor = visit()
    page = visitor.open("/?n=20")
    for label, option, name, value in (
        ("Rule", "Passive-aggressive", "rule", "passive-aggressive"),
        ("Order", "Shuffled every pass", "order", "shuffled"),
        ("Feature map or kernel", "Kernel: Gaussian", "space", "kernel-rbf"),
        ("Learner", "Closest centroid", "learner", "centroid"),
    ):
        page.get_by_role("combobox", name=label, exact=True).click()
        page.get_by_role("option", name=option, exact=True).click()
        visitor.until(**{name: value})
    page.get_by_role("slider", name="Points").locator(".q-slider__track-container").press("ArrowRight")
    visitor.until(n=21)
    page.get_by_role("button", name=re.compile("Theme")).click()
    visitor.until(theme="dark")
    page.wait_for_function("document.body.classList.contains('body--dark')")
    page.reload()
    page.wait_for_function("document.body.classList.contains('body--dark')")
    page.get_by_text("Fitted in one go").wait_for()


def test_a_table_is_uploaded(visit, tmp_path):
    table = tmp_path / "flowers.csv"
    table.write_text("width,length,kind\n1,2,a\n2,1,a\n5,6,b\n6,5,b\n")
    visitor = visit()
    page = visitor.open("/")
    page.get_by_role("button", name="Upload CSV").click()
    page.locator('input[type="file"]').set_input_files(table)
    page.get_by_role("button", name="Use these columns").click()
    visitor.until(data="own", x_name="width", y_name="length")
    assert len(from_query(PlaygroundState, visitor.query)[0].points) == 4


def test_share_and_export(visit):
    visitor = visit()
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visitor.open("/?clock=5")
    page.get_by_role("button", name="Share").click()
    page.wait_for_function("navigator.clipboard.readText().then(text => text === location.href)")
    page.get_by_role("button", name="Export").click()
    code = page.locator('[data-part="code"]').inner_text()
    compile(code, "shown.py", "exec")
    for name, begins in (
        ("Picture, SVG", b"<svg"),
        ("Picture, PNG", b"\x89PNG"),
        ("Code, .py", b"# Made by"),
    ):
        with page.expect_download() as saved:
            page.get_by_role("button", name=name).click()
        content = Path(saved.value.path()).read_bytes()
        assert content.startswith(begins)
        assert b"var(--" not in content


def test_a_boolean_network_has_code_and_no_picture(visit):
    page = visit().open("/networks?data=parity-3")
    page.get_by_role("button", name="Export").click()
    page.locator('[data-part="code"]').wait_for()
    assert "every_input(3)" in page.locator('[data-part="code"]').inner_text()
    assert page.get_by_role("button", name="Picture").count() == 0


def test_a_bad_link_is_told_and_the_rest_is_used(visit):
    visitor = visit()
    visitor.open("/?eta=7&n=12")
    visitor.hear("eta must be a number from 0.01 to 1")
    visitor.until(n=12, eta=None)


def test_the_game_as_a(visit):
    visitor = visit()
    page = visitor.open("/game?role=A&angle=90")
    page.mouse.click(*at(page, 0, -1))
    page.get_by_text("Refused: u says −1 here").wait_for()
    page.mouse.click(*at(page, 3.5, 2))
    page.get_by_text("more than R").wait_for()
    page.mouse.click(*at(page, 1, 1))
    page.get_by_text("Round 1: B errs.").wait_for()
    page.locator("main .lab-plane svg").first.focus()
    for key in ("Shift+ArrowUp", "Shift+ArrowUp", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("Round 2").wait_for()
    assert page.locator('[data-part="rounds"] tbody tr').count() == 2


def test_the_game_as_b_and_as_a_spectator(visit):
    visitor = visit()
    page = visitor.open("/game?role=B")
    assert page.locator('[data-part="secret"]').count() == 0
    page.mouse.move(*at(page, 0, 0))
    page.mouse.down()
    page.mouse.move(*at(page, 0, 2), steps=4)
    page.mouse.up()
    visitor.until(aim=90)
    page.get_by_role("button", name="Let A present").click()
    page.get_by_text("Round 1:").wait_for()
    page.get_by_role("button", name="Show u").click()
    page.locator('line[data-part="secret"]').wait_for()
    page = visitor.open("/game")
    page.keyboard.press("s")
    visitor.until(rounds=1)
    page.get_by_role("button", name="To the end").click()
    page.get_by_text("the game is over").wait_for()
    assert "19 mistakes in 19 rounds; R²/γ² = 39.06" in page.locator('[data-part="verdict"]').inner_text()


def test_gates_are_set_learned_and_wired(visit):
    visitor = visit()
    page = visitor.open("/gates?w1=1&w2=1&b=-1.4")
    page.get_by_text("This unit is AND.").wait_for()
    for b in ("-1.3", "-1.2", "-1.1", "-1", "-0.9"):
        page.get_by_role("slider", name="Bias b").locator(".q-slider__track-container").press("ArrowRight")
        visitor.until(b=b)
    page.get_by_text("2 of 4 rows wrong.").wait_for()
    page.get_by_role("button", name="Learn until clean").click()
    page.get_by_text("This unit is AND.").wait_for()
    page.get_by_role("combobox", name="Truth table wanted").first.click()
    page.get_by_role("option", name="XOR").click()
    visitor.until(gate="XOR")
    page.get_by_role("button", name="Can one unit do it?").click()
    page.get_by_text("weighted average of rows of one class").wait_for()
    assert page.locator('[data-part="culprit"]').count() == 4
    assert page.get_by_text("The network is XOR.").is_visible()
    page.get_by_label("unit OR").click()
    page.get_by_label("unit AND").click()
    visitor.until(wiring="NAND.0.1-OR.0.1-AND.2")
    page.get_by_text("of 4 rows differ from XOR").wait_for()
    page.get_by_label("unit OR").press("Enter")
    page.get_by_label("unit AND").press("Enter")
    visitor.until(wiring=None)
    page.get_by_text("The network is XOR.").wait_for()


def test_networks_are_built_on_what_is_drawn(visit):
    visitor = visit()
    page = visitor.open("/networks")
    page.get_by_text("Zero errors").wait_for()
    page.get_by_role("button", name="Flip").click()
    visitor.until(tool="flip")
    page.mouse.click(*at(page, 1.5, 1.2))
    visitor.until(data="own")
    page.get_by_text("1 unit, 0 of 4 wrong").wait_for()
    page.get_by_role("combobox", name="Examples").click()
    page.get_by_role("option", name="Parity of 3 inputs").click()
    page.get_by_text("0 of 8 wrong").wait_for()
    page.get_by_role("combobox", name="Built by").click()
    page.get_by_role("option", name="Backpropagation").click()
    page.get_by_text("Nothing is promised").wait_for()


def test_networks_and_lessons_by_keyboard(visit):
    visitor = visit()
    page = visitor.open("/networks")
    page.get_by_role("button", name="Flip").press("Enter")
    visitor.until(tool="flip")
    page.locator("main .lab-plane svg").first.focus()
    for key in ["Shift+ArrowRight"] * 3 + ["Shift+ArrowUp"] * 2 + ["ArrowUp"] * 2 + ["Enter"]:
        page.keyboard.press(key)
    visitor.until(data="own")
    page.get_by_text("1 unit, 0 of 4 wrong").wait_for()
    page = visitor.open("/lessons")
    page.get_by_role("link", name="4. Convergence").press("Enter")
    page.get_by_role("link", name="Press Run").press("Enter")
    page.wait_for_url(re.compile(r"margin=0.1"))
    page.wait_for_function("window.socket && window.socket.connected")
    page.keyboard.press("r")
    page.get_by_text("A clean pass").wait_for()


def test_b_aims_by_keyboard(visit):
    visitor = visit()
    page = visitor.open("/game?role=B")
    page.locator("main .lab-plane svg").first.focus()
    page.keyboard.press("Shift+ArrowUp")
    visitor.until(aim=90)
    page.locator("h2").first.click()
    page.keyboard.press("s")
    visitor.until(guesses="90")


def test_a_lesson_leads_into_the_lab(visit):
    visitor = visit()
    page = visitor.open("/lessons")
    page.get_by_role("link", name="13. Gates and XOR").click()
    page.get_by_role("link", name="XOR", exact=True).click()
    page.wait_for_url(re.compile(r"/gates\?gate=XOR&proof=yes"))
    page.get_by_text("weighted average of rows of one class").wait_for()


def test_twenty_visitors_do_not_see_each_other(visit):
    """Six in windows, who step; fourteen who came at the same time and got their page with their own state in it."""
    visitor = visit()
    pages = []
    for number in range(6):
        pages.append(visitor.page if number == 0 else visitor.context.new_page())
        pages[-1].goto(f"{visitor.address}/?n={20 + number}", wait_until="commit")

    def came(number):
        with urlopen(f"{visitor.address}/?n={40 + number}&clock={3 * number}", timeout=SECONDS) as answer:
            return answer.read().decode()

    with ThreadPoolExecutor(14) as crowd:
        others = list(crowd.map(came, range(1, 15)))
    for number, html in enumerate(others, start=1):
        assert set(re.findall(r"(\d+) points:", html)) == {str(40 + number)}
        assert set(re.findall(r"(\d+) seen", html)) == {str(3 * number)}
    for page in pages:
        page.wait_for_function("window.socket && window.socket.connected")
    for number, page in enumerate(pages):
        for _ in range(1 + number % 3):
            page.get_by_role("button", name="Step", exact=True).click()
    for number, page in enumerate(pages):
        page.wait_for_function(
            "clock => new URL(location.href).searchParams.get('clock') === clock", arg=str(1 + number % 3)
        )
        assert page.locator("[data-part=plus], [data-part=minus]").count() == 20 + number
        assert f"{20 + number} points" in page.locator(".lab-status").inner_text()


# Faults that were seen in Chromium


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_selected_tool_can_be_seen(visit, theme):
    visitor = visit(theme=theme)
    page = visitor.open("/")
    look = """name => {
      const style = getComputedStyle(document.querySelector(`[aria-label="${name}"]`));
      return [style.boxShadow, style.backgroundColor];
    }"""
    for chosen, other in (("Put +1", "Move"), ("Move", "Put +1")):
        page.get_by_role("button", name=chosen).click()
        page.wait_for_selector(f'[aria-label="{chosen}"][aria-pressed=true]')
        page.mouse.move(5, 5)
        frame, background = page.evaluate(look, chosen)
        assert "inset" in frame
        ink, paper = (
            [int(value) for value in re.findall(r"\d+", colour.partition(")")[0])[:3]]
            for colour in (frame, background)
        )
        assert abs(sum(ink) - sum(paper)) > 3 * 120  # dark on light, or light on dark
        assert page.evaluate(look, other)[0] == "none"


ALL_KEYS = ["s", "u", "e", "r", "b", "Control+z", "Control+Shift+z", "Control+y"]


@pytest.mark.parametrize(
    ("path", "opener"),
    [
        ("/?clock=3", "Export"),
        ("/?clock=3", "Upload CSV"),
        ("/game?rounds=3", "Export"),
        ("/gates?gate=OR", "Export"),
        ("/networks?n=10", "Export"),
    ],
)
def test_shortcuts_do_not_act_behind_a_dialog(visit, path, opener):
    visitor = visit()
    page = visitor.open(path)
    page.get_by_role("button", name=re.compile("Theme")).click()  # something that Undo would not undo
    visitor.until(theme="dark")
    page.get_by_role("button", name=opener).click()
    page.locator(".q-dialog").wait_for()
    before = visitor.query
    page.locator(".q-dialog .lab-dialog").click(position={"x": 4, "y": 4})
    for key in ALL_KEYS:
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    page.locator(".q-dialog").wait_for(state="detached")
    assert visitor.query == before
    if path.startswith(("/?", "/game")):
        page.keyboard.press("b")  # without a dialog it does
        visitor.until(**({"rounds": 2} if "game" in path else {"clock": 2}))


def test_as_a_an_example_can_be_put_on_another(visit):
    visitor = visit()
    page = visitor.open("/game?role=A&angle=90")
    for moves in (1, 2):
        page.mouse.click(*at(page, 1, 1))
        page.wait_for_function(
            "n => document.querySelectorAll('[data-part=rounds] tbody tr').length === n", arg=moves
        )
    assert len(page.locator("[data-part=rounds] tbody tr").all()) == 2


def test_a_round_and_a_mistake_are_counted_in_the_singular(visit):
    page = visit().open("/game?rounds=1")
    assert page.locator("[data-part=verdict]").inner_text().startswith("1 mistake in 1 round;")


def test_a_network_without_data_is_not_too_large_to_draw(visit):
    page = visit().open("/networks?data=own")
    page.get_by_text("A network needs examples of both classes.").wait_for()
    assert page.get_by_text("too many to draw").count() == 0


@pytest.mark.parametrize("hidden", [2, 4, 8])
def test_the_weights_of_a_network_do_not_overlap(visit, hidden):
    page = visit().open(f"/networks?builder=backpropagation&hidden={hidden}")
    page.locator(".lab-weight").first.wait_for()
    boxes = page.evaluate("""[...document.querySelectorAll('.lab-weight')].map(label => {
      const box = label.getBBox();
      return [box.x, box.y, box.width, box.height];
    })""")
    assert boxes
    for k, (x, y, width, height) in enumerate(boxes):
        for u, v, other_width, other_height in boxes[:k]:
            overlap_x = min(x + width, u + other_width) - max(x, u)
            overlap_y = min(y + height, v + other_height) - max(y, v)
            assert overlap_x <= 0 or overlap_y <= 0.25 * height  # glyphs fill less than their box


@pytest.mark.parametrize("query", ["builder=backpropagation&hidden=4", "data=parity-3", "data=parity-4"])
def test_a_phone_shows_the_output_unit(visit, query):
    page = visit(size="phone").open(f"/networks?{query}")
    page.evaluate("document.querySelector('.lab-circuit').scrollIntoView()")
    box = page.locator(".lab-circuit ellipse").last.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_rules_are_written_as_in_their_papers(visit):
    page = visit().open("/")
    page.get_by_label("Rule", exact=True).click()
    names = [name.strip() for name in page.locator(".q-menu .q-item").all_inner_texts()]
    assert {"PAUM", "ROMMA", "ALMA", "AROW", "ScInOL hinge", "Passive-aggressive"} <= set(names)


def test_an_address_without_a_page_says_so_in_words(visit):
    visitor = visit()
    visitor.page.goto(visitor.address + "/nowhere")
    text = visitor.page.inner_text("body")
    assert "This page does not exist" in text
    assert "/nowhere" in text
    assert "HTTPException" not in text
    assert visitor.page.get_by_role("link", name="Playground", exact=True).count() == 1
    visitor.troubles = [said for said in visitor.troubles if "404" not in said]


def test_a_learner_without_a_step_is_not_called_wrong(visit):
    visitor = visit()
    page = visitor.open("/?beside=perceptron.centroid")
    row = page.locator("[data-part=losses] tbody tr").first
    row.wait_for()
    assert row.inner_text().split("\n")[0].startswith("Perceptron")
    assert "no step yet" in row.inner_text()
    assert "–" in row.inner_text()
    page.get_by_role("button", name="Epoch").click()
    page.wait_for_function(
        "!document.querySelector('[data-part=losses]').textContent.includes('no step yet')"
    )


def test_the_bound_is_promised_from_zero_weights(visit):
    page = visit().open("/lessons/04-convergence")
    text = page.locator(".lab-lesson").inner_text()
    assert "R²/γ²" in text
    assert "from any start" not in text


CONTRAST = """element => {
  const light = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(value => (value / 255 <= 0.04045 ? value / 255 / 12.92
      : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const style = getComputedStyle(element), [a, b] = [light(style.color), light(style.backgroundColor)];
  return Math.max(a, b) / Math.min(a, b);
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_dialogs_and_notifications_are_readable(visit, theme):
    page = visit(theme=theme).open("/?eta=7")
    shown = page.locator(".q-notification")
    shown.first.wait_for()
    assert shown.first.evaluate(CONTRAST) > 4.5  # a warning: black on yellow
    page.get_by_role("button", name="Share").click()
    shown.filter(has_text="copied").wait_for()
    assert shown.filter(has_text="copied").evaluate(CONTRAST) > 4.5
    for opener in ("Export", "Upload CSV"):
        page.get_by_role("button", name=opener).click()
        page.locator(".q-dialog .lab-dialog").wait_for()
        least, where = page.evaluate(SMALLEST.replace("#app", ".lab-dialog"))
        assert least >= 13.9, where
        page.keyboard.press("Escape")
        page.locator(".q-dialog").wait_for(state="detached")


def test_the_name_of_a_gate_stays_inside_its_unit(visit):
    page = visit(size="phone").open("/gates")
    units = page.locator(".lab-circuit g:has(> ellipse)")
    assert units.count() == 3
    for name, unit in units.evaluate_all(
        "units => units.map(u => [u.querySelector('text').getBBox().width, u.querySelector('ellipse').getBBox().width])"
    ):
        assert name < unit


def test_a_proof_of_xor_does_not_call_labels_wrong(visit):
    page = visit().open("/?data=xor&proof=yes")
    answer = page.locator("[data-part=answer] b")
    page.wait_for_function("document.querySelector('[data-part=answer]').textContent.startsWith('No')")
    assert answer.inner_text() == "No: a weighted average of one class equals one of the other."
