"""What the pages show is what happens: blocks of ``>>>`` and of ``$`` are run, in order, in an empty folder."""

import doctest
import re
import shlex

import pytest
from tests.cli.commands import run
from tests.docs.places import DOCS

BLOCK = re.compile(r"^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHECK = doctest.OutputChecker()
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NEEDS_A_FILE_OF_YOURS = ("labelled.csv",)

PAGES = [
    page
    for page in [
        DOCS / "index.md",
        DOCS / "tutorial.md",
        DOCS / "api-formats.md",
        *sorted((DOCS / "for").glob("*.md")),
        *sorted((DOCS / "how-to").glob("*.md")),
        *sorted((DOCS / "theory").glob("*.md")),
    ]
    if BLOCK.search(page.read_text(encoding="utf-8"))
]


class Talk(doctest.DocTestRunner):
    """Collects what went otherwise than shown."""

    def __init__(self):
        super().__init__(optionflags=LENIENT)
        self.told = []

    def run_block(self, text, names, where):
        block = doctest.DocTestParser().get_doctest(text, names, where, where, 0)
        self.run(block, out=self.told.append, clear_globs=False)
        names.update(block.globs)


def run_commands(text):
    """Run every line that begins with ``$``, and compare what it prints with the lines below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        words = shlex.split(line)
        if set(words) & set(NEEDS_A_FILE_OF_YOURS):
            continue
        assert words[0] == "rosenblatt", f"only our own command is run: {line}"
        answer = run(words[1:])
        assert answer.exit_code == 0, answer.output
        if shown.strip():
            assert CHECK.check_output(shown, answer.stdout, LENIENT), f"$ {line}\n{answer.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_shows_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    talk, names = Talk(), {}
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "pycon":
            talk.run_block(text, names, page.name)
        else:
            run_commands(text)
    assert not talk.failures, "".join(talk.told)
