"""The README to the letter: its commands run in order beside examples/, and print what it shows; its Python runs."""

import doctest
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


def claims():
    """Return the rows of the table of features: what is claimed, and what is said of us."""
    table = README.partition("## Beside others")[2].partition("<!-- benchmarks")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return [(row[0], row[1]) for row in rows[2:]]


@pytest.mark.parametrize(("claim", "ours"), claims())
def test_every_claim_links_to_what_shows_it(claim, ours):
    links = re.findall(r"\]\(([^)]+)\)", ours)
    if ours == "no":
        return
    assert links, f"{claim!r}: no test or benchmark is named"
    for link in links:
        assert link.startswith(("tests/", "benchmarks/"))
        assert "def " in (ROOT / link).read_text(encoding="utf-8")


def changes_over():
    """Return the rows of the table of gains and losses."""
    table = README.partition("What you would gain and lose")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return rows[2:]


def test_every_peer_has_a_row_of_gains_and_losses():
    peers = [row[0] for row in changes_over()]
    head = README.partition("## Beside others")[2]
    columns = next(line for line in head.splitlines() if line.startswith("|"))
    assert all(peer in columns for peer in peers)
    assert len(peers) == len(columns.strip("| ").split(" | ")) - 1  # all but ours


@pytest.mark.parametrize("row", changes_over(), ids=lambda row: row[0])
def test_gains_and_losses_link_to_what_shows_them(row):
    """The links themselves are followed by test_links."""
    links = re.findall(r"\]\(([^)]+)\)", " ".join(row))
    assert links or "the table above" in row[1]
    assert all(link.startswith(("tests/", "docs/benchmarks.md#", "docs/lessons/")) for link in links)
