"""What was measured and what is told of it are the same: JSON, page and README; every question is asked or missed."""

import json
import re

import pytest
from benchmarks.record import BEGIN, END, SHOWN, SIZES, in_markdown, in_short, questions
from tests.docs.places import DOCS, ROOT

KEPT = json.loads((DOCS / "benchmarks.json").read_text(encoding="utf-8"))


def test_the_page_is_written_from_the_record():
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert page == in_markdown(KEPT), "write it again: python -m benchmarks.record"


def test_the_table_of_the_readme_is_written_from_the_record():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.partition(BEGIN)[2].partition(END)[0] == in_short(KEPT), "python -m benchmarks.record"


@pytest.mark.parametrize("name", questions())
def test_a_question_is_answered_or_said_to_be_open(name):
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert f"\n## {name}\n" in page or f"\n- {name}: not run yet" in page
    source = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    assert "\ndef main() -> None:" in source


@pytest.mark.parametrize(("name", "what"), SHOWN)
def test_what_the_readme_shows_was_measured(name, what):
    rows = [row for table in KEPT[name]["tables"] for row in table["rows"] if what in row["what"]]
    assert len(rows) == 1


def test_the_variables_are_those_that_are_read():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py"))
    for name, usual, *_ in SIZES[1:]:
        default = re.search(rf'environ\.get\("{name}"(?:, "(\w+)")?\)', sources)
        assert default, f"{name} is told, and read nowhere"
        assert (default[1] or "") == usual
