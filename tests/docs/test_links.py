"""A relative link in a Markdown page leads to a file that is there, and to a heading that is there."""

import re

import pytest
from tests.docs.places import DOCS, ROOT, pages

FENCE = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = ("http://", "https://", "mailto:")


def prose(page):
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """Return what headings are called in a link, as GitHub and MyST call them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title.replace("`", "")).strip().lower() for title in titles]
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for link in LINK.findall(prose(page)):
        if link.startswith(ELSEWHERE):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.relative_to(ROOT)} links to {link}, which is not there"
        assert target.is_relative_to(ROOT), f"{page.relative_to(ROOT)} links out of the checkout: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.relative_to(ROOT)} links to {link}: no such heading"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_rows_of_a_table_have_as_many_cells_as_its_header(page):
    """A bar in a cell is written with a backslash, also in code: otherwise the rest of the row is not shown."""
    for table in re.findall(r"(?:^\|.*\n)+", prose(page), re.MULTILINE):
        header, *rows = table.splitlines()
        bars = re.compile(r"(?<!\\)\|")
        for row in rows:
            assert len(bars.findall(row)) == len(bars.findall(header)), f"{page.relative_to(ROOT)}: {row}"


def test_every_page_is_reached_from_the_site():
    """Each page under docs/ is in a toctree, so that it is found without knowing its name."""
    listed = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.splitlines():
                entry = re.sub(r".*<(.+)>", r"\1", line.strip())  # "Title <page>" or "page"
                if entry and not entry.startswith(":"):
                    listed |= {found.relative_to(DOCS) for found in page.parent.glob(f"{entry}.md")}
    written = {
        page.relative_to(DOCS) for page in pages() if page.is_relative_to(DOCS) and page.name != "index.md"
    }
    assert not written - listed, f"in no toctree, add to docs/guide.md: {sorted(map(str, written - listed))}"
