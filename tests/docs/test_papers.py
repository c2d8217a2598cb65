"""The papers of the project: versions agree, targets explain themselves, fragments and decisions are in order."""

import re
import subprocess
import tomllib

import pytest
from tests.docs.places import DOCS, ROOT

import rosenblatt

KINDS = {
    kind["directory"]
    for kind in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"][
        "type"
    ]
}


def test_the_citation_names_this_version():
    found = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert found[1] == rosenblatt.__version__


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split()
    told = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for target in targets:
        assert re.search(rf"^make {target} +\w", told, re.MULTILINE), f"make help does not explain {target}"


@pytest.mark.parametrize(
    "fragment",
    [path for path in sorted((ROOT / "changes").glob("*")) if path.name != "README.md"],
    ids=lambda path: path.name,
)
def test_a_changelog_fragment_has_a_kind_and_a_sentence(fragment):
    name = re.fullmatch(r"(\d+|\+[\w-]+)\.(\w+)(\.\d+)?\.md", fragment.name)
    assert name, f"changes/{fragment.name} is not called ISSUE.KIND.md"
    assert name[2] in KINDS, f"{name[2]} is none of {sorted(KINDS)}"
    assert fragment.read_text(encoding="utf-8").strip().endswith(".")


def test_the_changelog_has_a_place_for_fragments():
    assert "<!-- towncrier release notes start -->" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_decisions_are_numbered_and_listed():
    listed = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    pages = sorted((DOCS / "decisions").glob("0*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert f"]({page.name})" in listed
        assert all(part in text for part in ("**Decision.**", "**Why.**", "**What it costs.**")), page.name
