"""The map of the code names files that exist, and every package."""

import re

import pytest
from tests.docs.places import DOCS, ROOT

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "rosenblatt"
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
NAMED = sorted(set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:/|\.py))`", PAGE)))


def test_files_are_named():
    assert len(NAMED) > 40


@pytest.mark.parametrize("name", NAMED)
def test_what_the_map_names_exists(name):
    assert (SOURCE / name).exists() or (ROOT / name).exists(), (
        f"docs/architecture.md names {name}, which is not there"
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_a_line(package):
    assert f"`{package}/`" in PAGE, f"docs/architecture.md says nothing of {package}/"
    assert re.search(
        rf"^{package}\b|\s{package}\s", PAGE.partition("```text")[2].partition("```")[0], re.MULTILINE
    )
