"""Every interactive element of every page is reached with Tab, and acts by keys."""

import pytest
from tests.patience import SECONDS

Error = pytest.importorskip("playwright.sync_api").Error

# Every page in states that together show all of its controls; a name is that of the button which opens a dialog there.
PAGES = {
    "/": [
        ("?n=12&tool=plus&clock=3&margin=0.2&rule=margin&beside=centroid&proof=yes", ""),
        ("?data=xor&n=12&space=kernel-rbf&tool=minus&clock=2", ""),
        ("?learner=batch&clock=2&tool=erase", ""),
        ("?n=12&clock=5", "Export"),
        ("?n=12", "Upload CSV"),
    ],
    "/game": [("?rounds=2", ""), ("?role=A&label=minus&moves=a100_200", ""), ("?role=B&guesses=10", "")],
    "/gates": [("?gate=OR&w1=1&wiring=NAND.0.1", "")],
    "/networks": [
        ("?data=xor&n=8&builder=backpropagation&iterations=2&tool=plus", ""),
        ("?data=moons&n=12&units=3&tool=move", ""),
    ],
    "/lessons/04-convergence": [("?theme=dark", "")],
}
# What a person can act on: by its meaning, not by whether it can be focused. The cross of a chip only repeats what its
# list does.
FIND = """() => {
  const within = [...document.querySelectorAll('.q-dialog')].at(-1) || document;
  const seen = new Map(), found = [];
  const all = "a[href], button, [role=button], [role=slider], [role=combobox], summary, textarea, " +
    "input:not([type=hidden]):not([type=file]), main svg[style*='cursor']:not([style*='cursor: default'])";
  for (const each of within.querySelectorAll(all)) {
    const box = each.getBoundingClientRect(), style = getComputedStyle(each);
    const off = each.disabled || each.getAttribute('aria-disabled') === 'true' ||
      each.closest('[aria-hidden=true], .q-chip') || each.href === location.href;
    if (!box.width || !box.height || style.visibility === 'hidden' || off) continue;
    const kind = each.getAttribute('role') || each.tagName.toLowerCase();
    const label = each.getAttribute('aria-label') || each.closest('label')?.innerText;
    const name = label || each.innerText || each.href || '';
    const plain = `${kind} ${name.trim().replace(/\\s+/g, ' ')}`.replace(/^button Theme: .*/, 'button Theme');
    seen.set(plain, (seen.get(plain) || 0) + 1);
    each.dataset.key = `${plain} ${seen.get(plain)}`;
    const chosen = each.getAttribute('aria-pressed') === 'true';
    found.push([each.dataset.key, {chosen, navigation: !!each.closest('nav')}]);
  }
  return found;
}"""
REACHED = """() => {
  const at = document.activeElement;
  const own = at.dataset.key ? at : at.closest('[data-key]') || at.querySelector('[data-key]');
  return own ? own.dataset.key : null;
}"""
LOOKS = """() => JSON.stringify([
  location.href, document.body?.innerText, window.said.length,
  [...document.querySelectorAll('[data-part=cursor] circle')].map(each => each.outerHTML),
  [...document.querySelectorAll('[aria-pressed], [aria-valuenow], [aria-label], [aria-checked], details')].map(each =>
    [each.ariaPressed, each.ariaValueNow, each.ariaLabel, each.ariaChecked, each.open]),
  [...document.querySelectorAll('input')].map(each => each.value),
])"""


OTHER_OPTION = (
    ".q-menu [role=option].q-manual-focusable--focused:not([aria-selected=true])"  # highlighted, not chosen
)


def opened(visitor, path, opener):
    page = visitor.open(path)
    if opener:
        page.get_by_role("button", name=opener, exact=True).press("Enter")
        page.locator(".q-dialog .lab-dialog").wait_for()
    return page


def act(page, key):
    """Do by keys what an element is for."""
    kind = key.partition(" ")[0]
    if kind == "slider":
        own = "document.activeElement.closest('[role=slider]')"
        full = page.evaluate(f"{own}.ariaValueNow === {own}.ariaValueMax")
        page.keyboard.press("ArrowLeft" if full else "ArrowRight")
    elif kind == "combobox":
        page.keyboard.press("ArrowDown")
        page.locator(".q-menu [role=option]").first.wait_for()
        other = page.locator(OTHER_OPTION)
        for _ in range(SECONDS * 20):  # the list may appear before it takes keys
            if other.count():
                break
            page.keyboard.press("ArrowDown")
            page.wait_for_timeout(50)
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
    elif kind in ("input", "spinbutton"):
        page.keyboard.press("ArrowUp")
    elif kind == "img":
        for each in ("Shift+ArrowRight", "ArrowUp", "Enter"):
            page.keyboard.press(each)
    else:
        page.keyboard.press("Enter")


FOCUS = """key => {
  const own = document.querySelector(`[data-key=${JSON.stringify(key)}]`);
  (own.tabIndex >= 0 ? own : own.querySelector('[tabindex="0"]')).focus();
}"""


@pytest.mark.parametrize("path", PAGES)
def test_every_element_is_reached_and_acts_by_keyboard(visit, path):
    """An element is reached in every state of the page, and acts in the first that shows it; links to pages on one."""
    visitor = visit()
    outside, acted = [], set()  # files that were saved or asked for; elements
    for query, opener in PAGES[path]:
        page = opened(visitor, path + query, opener)
        if not acted:
            page.on("download", lambda download: outside.append(download.suggested_filename))
            page.on("filechooser", lambda chooser: outside.append("chosen"))
        elements = dict(page.evaluate(FIND))
        assert len(elements) >= (1 if opener else 7)
        reached = set()
        for _ in range(3 * len(elements) + 20):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(REACHED))
            if reached >= set(elements):
                break
        assert set(elements) - reached == set()
        # A chosen tool is chosen already.
        left = {
            key
            for key, each in elements.items()
            if not each["chosen"] and not (each["navigation"] and path != "/")
        }
        while left := left - acted:
            page = opened(visitor, path + query, opener)
            now = act_until_one_is_no_slider(page, sorted(left), outside)
            assert now, f"not there any more: {left}"
            acted |= now


def act_until_one_is_no_slider(page, keys, outside):
    """Act on elements that are there; return their keys. A slider leaves the page as it is, others may not."""
    acted = set()
    for key in keys:
        if key not in dict(page.evaluate(FIND)):
            continue  # the last action took it away
        page.evaluate(FOCUS, key)
        before, files = page.evaluate(LOOKS), len(outside)
        act(page, key)
        acted.add(key)
        for _ in range(SECONDS * 20):
            if len(outside) > files or looks(page) != before:
                break
            page.wait_for_timeout(50)
        else:
            pytest.fail(f"{key!r} does nothing by keyboard")
        if key.startswith("a "):
            page.wait_for_load_state()
            page.wait_for_function("window.socket && window.socket.connected")
        if not key.startswith("slider"):
            break
    return acted


def looks(page):
    """Return what the page looks like; nothing while another one is being loaded."""
    try:
        return page.evaluate(LOOKS)
    except Error:
        return ""
