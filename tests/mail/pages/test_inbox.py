"""The inbox in a real browser: mail comes in, is corrected, is marked anew, and stays so."""

import mailbox

import pytest
from tests.cli.commands import run_well
from tests.mail.messages import letter, mbox, message

SUBJECTS = ("Budget decision", "Contract review", "Great sale", "Deadline moved")


def upload(page, path):
    page.get_by_role("button", name="import mbox").click()
    page.locator(".q-dialog input[type=file]").set_input_files(path)
    page.locator(".mail-row").first.wait_for()
    page.locator(".q-dialog").wait_for(state="detached")


def row(page, subject):
    return page.locator(".mail-row", has=page.locator(".mail-subject", has_text=subject))


def marks(page):
    return {subject: row(page, subject).get_attribute("data-mark") for subject in SUBJECTS}


def press(page, subject, button):
    row(page, subject).get_by_role("button", name=button, exact=True).click()
    row(page, subject).locator(".mail-change").wait_for()


def test_mail_is_imported_corrected_marked_anew_and_outlives_a_killed_server(
    serve, visit, box_file, keep_picture
):
    server = serve()
    visitor = visit(server)
    page = visitor.page
    page.locator(".mail-empty", has_text="No messages yet").wait_for()
    upload(page, box_file)
    page.wait_for_function("document.querySelectorAll('.mail-row').length === 5")
    assert set(marks(page).values()) == {"undecided"}
    press(page, "Budget decision", "Important")
    press(page, "Contract review", "Important")
    press(page, "Great sale", "Not important")
    page.locator(".mail-row[data-answer=not]").wait_for()
    assert marks(page) == {
        "Budget decision": "important",
        "Contract review": "important",
        "Great sale": "not",
        "Deadline moved": "important",  # nobody has said anything about this one
    }
    assert row(page, "Deadline moved").get_attribute("data-answer") == ""
    because = row(page, "Deadline moved").locator(".mail-because").inner_text()
    assert "deadline +" in because
    assert row(page, "Deadline moved").locator("mark.for").first.inner_text() == "Deadline"
    moved = row(page, "Great sale").locator(".mail-change").inner_text()
    assert moved.startswith("Learned not important:")
    assert "sale 0.000 → −0." in moved
    assert page.locator(".mail-stats").inner_text().startswith("3 learned · ")
    keep_picture(page, "inbox-corrected")
    before = marks(page), because

    visitor.troubles.clear()
    visitor.page.close()
    server.stop(kill=True)
    server.start()
    again = visit(server).page
    again.locator(".mail-row").first.wait_for()
    assert (marks(again), row(again, "Deadline moved").locator(".mail-because").inner_text()) == before
    told = {subject: row(again, subject).get_attribute("data-answer") for subject in SUBJECTS}
    assert told == dict(zip(SUBJECTS, ("important", "important", "not", ""), strict=True))
    info = server.ask("GET", "/v1/models/inbox").json()
    assert info["clock"] == 3


def test_keys_move_correct_and_undo(serve, visit, box_file):
    visitor = visit(serve())
    page = visitor.page
    upload(page, box_file)

    def here():
        return page.locator(".mail-row.here .mail-subject").inner_text()

    assert here() == "Budget decision"
    page.keyboard.press("k")
    page.keyboard.press("j")
    page.locator(".mail-row.here", has_text="Contract review").wait_for()
    page.keyboard.press("j")
    page.locator(".mail-row.here", has_text="Great sale").wait_for()
    page.keyboard.press("k")
    page.locator(".mail-row.here", has_text="Contract review").wait_for()
    page.keyboard.press("i")
    page.locator(".mail-row.here[data-answer=important][data-mark=important]").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("n")
    page.locator(".mail-row.here[data-answer=not]").wait_for()
    assert here() == "Great sale"
    page.keyboard.press("Enter")
    page.locator(".mail-row.here .mail-text", has_text="A discount and a prize").wait_for()
    page.keyboard.press("u")
    page.locator(".mail-change", has_text="Undone: not important").wait_for()
    page.keyboard.press("u")
    page.locator(".mail-change", has_text="Undone: important").wait_for()
    assert set(marks(page).values()) == {"undecided"}
    assert page.locator(".mail-row[data-answer='']").count() == 5
    page.keyboard.press("/")
    page.wait_for_function("document.activeElement.tagName === 'INPUT'")
    page.keyboard.type("in")  # letters in the search are letters
    visitor.until(q="in")
    page.wait_for_function("document.querySelectorAll('.mail-row').length === 5")
    assert page.locator(".mail-row[data-answer='']").count() == 5


def test_hostile_mail_is_text(serve, visit, box_file):
    page = visit(serve()).page
    upload(page, box_file)
    hostile = row(page, "<script>")
    assert hostile.locator(".mail-subject").inner_text() == "<script>window.boom = 1</script><b>bold</b>"
    hostile.locator(".mail-subject").click()
    text = hostile.locator(".mail-text")
    text.wait_for()
    assert "onerror='window.boom = 2'" in text.inner_text()
    assert "{{ 7 * 7 }}" in text.inner_text()
    assert "said in HTML" in text.inner_text()
    assert page.evaluate("window.boom") is None
    assert page.locator(".mail-list img, .mail-list script, .mail-list a, .mail-list iframe").count() == 0


def test_search_and_filter_stand_in_the_address_and_what_is_learned_elsewhere_is_seen(serve, visit, box_file):
    server = serve()
    visitor = visit(server)
    page = visitor.page
    upload(page, box_file)
    page.get_by_label("Search messages").fill("deadline")
    visitor.until(q="deadline")
    page.wait_for_function("document.querySelectorAll('.mail-row').length === 3")
    told = {"label": "important", "features": {"deadline": 1, "contract": 1}}
    server.ask("POST", "/v1/models/inbox/feedback", json=told).raise_for_status()
    page.wait_for_function("document.querySelectorAll('.mail-row[data-mark=important]').length === 3")
    page.get_by_role("button", name="Unsure").click()
    visitor.until(show="undecided")
    page.locator(".mail-empty", has_text="No message matches").wait_for()
    other = visit(server, "/?q=deadline&show=important").page
    other.wait_for_function("document.querySelectorAll('.mail-row').length === 3")


def test_what_is_no_mbox_is_said(serve, visit, tmp_path):
    visitor = visit(serve())
    page = visitor.page
    (tmp_path / "picture.mbox").write_bytes(b"\x1f\x8b\x08 not mail")
    page.locator(".mail-empty input[type=file]").set_input_files(tmp_path / "picture.mbox")
    visitor.hear("not an mbox: it must begin with a line 'From ...'")
    assert page.locator(".mail-row").count() == 0


SMALL_TEXT = """() => [...document.querySelectorAll('body *')].filter(e => {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.getClientRects().length || e.closest('[aria-hidden=true], .q-icon')) return false;
  const svg = e.ownerSVGElement, scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
  return parseFloat(getComputedStyle(e).fontSize) * scale < 13.95;
}).map(e => e.className + ': ' + e.textContent.slice(0, 40))"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_pages_fit_the_screen_and_can_be_read(taught, visit, keep_picture, size, theme):
    visitor = visit(taught, size=size, theme=theme)
    page = visitor.page
    page.locator(".mail-row").first.wait_for()
    assert page.evaluate("document.body.classList.contains('body--dark')") is (theme == "dark")
    for path in ("/", "/model"):
        if path == "/model":
            visitor.open(path)
            page.locator(".mail-note", has_text="at most (R/γ)² =").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate(SMALL_TEXT) == []
        heights = page.evaluate("[...document.querySelectorAll('.mail-row .q-btn')].map(e => e.offsetHeight)")
        assert min((height for height in heights if height), default=44) >= (44 if size == "phone" else 36)
        keep_picture(page, f"{'inbox' if path == '/' else 'model'}-{size}-{theme}")


def test_a_message_that_cannot_be_read_is_listed_and_hostile_ones_freeze_nothing(serve, visit, tmp_path):
    large = b"Message-ID: <b>large</b>\nSubject: large\n\n" + b"x" * (64 << 20)
    hostile = b"Subject: tags\nContent-Type: text/html\n\n" + b"<script" * 150_000
    good = message("Budget", "The deadline is Friday.")
    (tmp_path / "<i>in.mbox").write_bytes(mbox([hostile, large, good]))
    page = visit(serve()).page
    upload(page, tmp_path / "<i>in.mbox")
    page.locator(".mail-failures", has_text="could not be read").wait_for()
    page.wait_for_function("document.querySelectorAll('.mail-row').length === 2")
    listed = page.locator(".mail-failures").inner_text()
    assert listed.startswith("1 message could not be read:")
    assert "<i>in.mbox:" in listed
    assert "message 2, <b>large</b>: larger than 64 MB" in listed


def test_many_messages_are_answered_at_once_and_taken_back_at_once(serve, visit, box_file, keep_picture):
    visitor = visit(serve())
    page = visitor.page
    upload(page, box_file)
    page.keyboard.press("x")
    page.locator(".mail-bulk", has_text="1 selected").wait_for()
    row(page, "Contract review").get_by_role("checkbox").click()
    page.locator(".mail-bulk", has_text="2 selected").wait_for()
    keep_picture(page, "inbox-selected")
    page.locator(".mail-bulk").get_by_role("button", name="Important", exact=True).click()
    visitor.hear("2 messages learned as important")
    page.wait_for_function("document.querySelectorAll('.mail-row[data-answer=important]').length === 2")
    page.locator(".mail-bulk").wait_for(state="hidden")
    assert marks(page)["Deadline moved"] == "important"
    page.keyboard.press("u")
    page.wait_for_function("document.querySelectorAll('.mail-row[data-answer=important]').length === 0")
    assert set(marks(page).values()) == {"undecided"}


def test_keys_do_nothing_behind_an_open_dialog(serve, visit, box_file):
    server = serve()
    page = visit(server).page
    upload(page, box_file)
    page.get_by_role("button", name="import mbox").click()
    page.locator(".q-dialog", has_text="Import mail").wait_for()
    for key in ("i", "n", "j", "x", "u"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    page.locator(".q-dialog").wait_for(state="detached")
    page.keyboard.press("j")  # and now they do: all before it were handled
    page.locator(".mail-row.here", has_text="Contract review").wait_for()
    assert page.locator(".mail-row[data-answer='']").count() == 5
    assert page.locator(".mail-bulk").is_hidden()
    assert server.ask("GET", "/v1/models/inbox").json()["clock"] == 0


def test_mail_that_arrives_appears_while_the_page_is_open(serve, visit, box_file, tmp_path):
    server = serve()
    page = visit(server).page
    upload(page, box_file)
    page.keyboard.press("j")
    page.locator(".mail-row.here", has_text="Contract review").wait_for()
    page.evaluate("""() => {
        window.current = new Set();
        const look = () => document.querySelectorAll('.mail-row.here .mail-subject')
            .forEach((each) => window.current.add(each.innerText));
        look();
        new MutationObserver(look).observe(document.body, {subtree: true, childList: true, attributes: true});
    }""")
    maildir = mailbox.Maildir(tmp_path / "Maildir")
    maildir.add(message("Fresh from the server", "A deadline.", hours=30))
    run_well(["mail", "watch", str(tmp_path / "Maildir"), "--once", "--data", str(server.folder)])
    row(page, "Fresh from the server").wait_for()
    page.keyboard.press("x")
    page.locator(".mail-bulk", has_text="1 selected").wait_for()
    # at no moment was another message the one that a key would have taught
    assert page.evaluate("[...window.current]") == ["Contract review"]


def test_what_is_open_shown_or_in_focus_stays_so_while_mail_arrives(serve, visit, tmp_path):
    server = serve()
    page = visit(server).page
    (tmp_path / "many.mbox").write_bytes(mbox([letter(seed, seed % 2 == 0) for seed in range(40)]))
    upload(page, tmp_path / "many.mbox")
    page.get_by_role("button", name="Show 10 more").click()
    page.wait_for_function("document.querySelectorAll('.mail-row').length === 40")
    last = page.locator(".mail-row").last
    last.locator(".mail-subject").click()
    last.locator(".mail-text").wait_for()
    last.get_by_role("button", name="Important", exact=True).click()
    last.locator(".mail-change", has_text="Learned important").wait_for()
    place = "document.querySelectorAll('.mail-row.open')[0].getBoundingClientRect().top"
    before = page.evaluate(place)
    maildir = mailbox.Maildir(tmp_path / "Maildir")
    maildir.add(message("Fresh from the server", "A deadline.", hours=99))
    run_well(["mail", "watch", str(tmp_path / "Maildir"), "--once", "--data", str(server.folder)])
    row(page, "Fresh from the server").wait_for()
    assert page.locator(".mail-row").first.locator(".mail-subject").inner_text() == "Fresh from the server"
    assert page.locator(".mail-row").count() == 41
    assert page.locator(".mail-row.open .mail-text").count() == 1
    assert "Learned important" in page.locator(".mail-row.open .mail-change").inner_text()
    assert page.evaluate("document.activeElement.closest('.mail-row.open') !== null")
    assert abs(page.evaluate(place) - before) < 20  # the view does not jump


def test_a_double_click_teaches_once(serve, visit, box_file):
    server = serve()
    page = visit(server).page
    upload(page, box_file)
    row(page, "Great sale").get_by_role("button", name="Not important").dblclick()
    page.locator(".mail-change", has_text="You said not important already").wait_for()
    assert server.ask("GET", "/v1/models/inbox").json()["clock"] == 1


def test_counts_do_not_change_with_the_search_and_the_model_page_is_a_link(serve, visit, box_file):
    visitor = visit(serve())
    page = visitor.page
    upload(page, box_file)
    page.locator(".mail-stats", has_text="5 unsure").wait_for()
    page.get_by_label("Search messages").fill("deadline")
    page.wait_for_function("document.querySelectorAll('.mail-row').length === 3")
    assert "5 unsure" in page.locator(".mail-stats").inner_text()
    link = page.get_by_role("link", name="model")
    assert link.get_attribute("href") == "/model"
    link.click()
    page.locator("h1", has_text="Model").wait_for()


def test_rows_are_dense_on_a_phone(taught, visit):
    page = visit(taught, size="phone").page
    page.locator(".mail-row").first.wait_for()
    heights = page.evaluate("[...document.querySelectorAll('.mail-row')].map(e => e.offsetHeight)")
    assert max(heights) <= 84
