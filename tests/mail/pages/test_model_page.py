"""The model page: top words, the bound, the ledger, and a file that the commands read."""

from tests.cli.commands import run_well


def test_the_model_page_tells_what_was_learned_and_gives_it_away(taught, visit, tmp_path):
    page = visit(taught, "/model").page
    words = [table.inner_text() for table in page.locator(".mail-words").all()]
    assert any(word in words[0] for word in ("deadline", "budget", "contract"))
    assert any(word in words[1] for word in ("sale", "discount", "offer"))
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
