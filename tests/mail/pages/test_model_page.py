"""The model page: top words, the bound, the ledger, and a file that the commands read."""

from tests.cli.commands import run_well


def test_the_model_page_tells_what_was_learned_and_gives_it_away(taught, visit, tmp_path):
    page = visit(taught, "/model").page
    words = [table.inner_text() for table in page.locator(".mail-words").all()]
    assert any(word in words[0] for word in ("deadline", "budget", "contract"))
    assert any(word in words[1] for word in ("sale", "discount", "offer"))
    assert not any("0.00" in numbers for numbers in words)  # what rounds to nothing speaks for nothing
    note = page.locator(".mail-note", has_text="at most (R/γ)² =")
    note.wait_for()
    bound = float(note.inner_text().rpartition("(R/γ)² = ")[2].split()[0].replace(",", ""))
    mistakes = int(page.locator(".mail-fact", has_text="marked wrong before").locator("b").inner_text())
    assert 0 < mistakes <= bound
    lines = page.locator(".mail-ledger tbody tr")
    assert lines.count() > mistakes
    assert lines.locator("text=✗").count() == mistakes
    with page.expect_download() as download:
        page.get_by_text("Download inbox.safetensors").click()
    file = tmp_path / "inbox.safetensors"
    download.value.save_as(file)
    assert "passive-aggressive" in run_well(["info", str(file)]).stdout


def test_without_anything_learned_it_says_so(serve, visit):
    page = visit(serve(), "/model").page
    assert "Nothing learned yet" in page.locator(".mail-empty").inner_text()


def test_on_a_phone_the_ledger_is_as_wide_as_the_page_and_names_its_numbers(taught, visit):
    page = visit(taught, "/model", size="phone").page
    ledger = page.locator(".mail-ledger")
    ledger.wait_for()
    assert ledger.evaluate("box => box.scrollWidth - box.clientWidth") == 0
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    cells = ledger.locator("tbody tr").first.locator("td[data-name]")
    shown = cells.evaluate_all("all => all.map(each => getComputedStyle(each, '::before').content)")
    assert [each.strip('" ').partition('"')[0] for each in shown] == [
        "truth",
        "mark before",
        "score",
        "weights",
        "mistakes",
    ]
