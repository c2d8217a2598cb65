"""The README to the letter: its commands run in order beside examples/, and print what it shows; its Python runs."""

import doctest
import itertools
import re
import shlex

import pytest
from tests.cli.commands import run
from tests.docs.places import EXAMPLES, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SERVES = {
    "serve": ["--check"],
    "lab": ["--help"],
}  # they end when they are told to: asked only whether they could
EXIT = {"prove": 1}  # the example has a wrong label


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)


def timeless(text):
    """Leave out how long it took."""
    return re.sub(r"^time .*$", "time", text, flags=re.MULTILINE)


def run_line(line, shown):
    words = shlex.split(line, comments=True)
    assert words[0] == "rosenblatt", f"only our own command is run: {line}"
    name = words[1]
    answer = run([*words[1:], *SERVES.get(name, [])])
    assert answer.exit_code == EXIT.get(name, 0), f"$ {line}\n{answer.output}"
    if shown.strip():
        same = doctest.OutputChecker().check_output(timeless(shown), timeless(answer.stdout), LENIENT)
        assert same, f"$ {line}\n{answer.stdout}"


@pytest.mark.filterwarnings("ignore")  # dask's, of its own diagnostics
def test_every_block_of_the_readme_runs(checkout):
    for needed in ("dask.array", "distributed", "nicegui"):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    names = {}
    for kind, text in BLOCK.findall(README):
        if kind == "python":
            exec(text, names)
        else:
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, shown = part.partition("\n")
                run_line(line, shown)


def test_the_readme_shows_all_six():
    commands = {line.split()[2] for line in README.splitlines() if line.startswith("$ rosenblatt ")}
    assert {"fit", "prove", "stream", "serve", "lab"} <= commands
    assert "--engine dask" in README


def rows_of(text):
    """Return the cells of every row of the first table of a text, its head first."""
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("|"))
    table = itertools.takewhile(lambda line: line.startswith("|"), lines[start:])
    return [
        [cell.strip() for cell in line[1:-1].split(" | ")] for line in table if not line.startswith("|--")
    ]


FEATURES = rows_of((ROOT / "docs" / "beside-others.md").read_text(encoding="utf-8").partition("\n## ")[0])
CHANGES_OVER = rows_of(README.partition("## Beside others")[2])[1:]


@pytest.mark.parametrize(("claim", "ours"), [row[:2] for row in FEATURES[1:]])
def test_every_claim_links_to_what_shows_it(claim, ours):
    links = re.findall(r"\]\(([^)]+)\)", ours)
    if ours == "no":
        return
    assert links, f"{claim!r}: no test or benchmark is named"
    for link in links:
        assert link.startswith("../tests/")
        assert "def " in (ROOT / "docs" / link).read_text(encoding="utf-8")


def test_every_peer_has_a_row_of_gains_and_losses():
    peers = [row[0] for row in CHANGES_OVER]
    compared = FEATURES[0][2:]  # all but ours
    assert len(peers) == len(compared)
    assert all(name.startswith(peer) for peer, name in zip(peers, compared, strict=True))


@pytest.mark.parametrize("row", CHANGES_OVER, ids=lambda row: row[0])
def test_gains_and_losses_link_to_what_shows_them(row):
    """The links themselves are followed by test_links."""
    links = re.findall(r"\]\(([^)]+)\)", " ".join(row))
    assert links
    assert all(
        link.startswith(("tests/", "docs/benchmarks.md#", "docs/beside-others.md", "docs/lessons/"))
        for link in links
    )
