"""Files at the top of the checkout in the site: links to them lead to a page, and the page shows the file."""

import re
from pathlib import Path
from typing import Any

PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples/GALLERY_HEADER.rst": "gallery/index.rst",
}
SHOWN = {"changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md", "security": "SECURITY.md"}
UP = re.compile(r"\]\(((?:\.\./)+)([\w./-]+)(#[^)]*)?\)")
DOWN = re.compile(r"\]\(([\w./-]+)(#[^)]*)?\)")


def to_page(text: str) -> str:
    """Point every link of a page to a file at the top of the checkout at the page that shows it.

    >>> to_page("[it](../README.md), [x](../../CHANGELOG.md#0-1-0), [y](../learning.md)")
    '[it](index.md), [x](../changelog.md#0-1-0), [y](../learning.md)'
    """

    def instead(found: re.Match[str]) -> str:
        up, name, anchor = found.groups()
        return f"]({up[3:]}{PAGES[name]}{anchor or ''})" if name in PAGES else found[0]

    return UP.sub(instead, text)


def as_page(text: str) -> str:
    """Point the links of a file at the top of the checkout at pages.

    >>> as_page("[it](docs/cli.md), [x](CHANGELOG.md), [y](https://example.org)")
    '[it](cli.md), [x](changelog.md), [y](https://example.org)'
    """

    def instead(found: re.Match[str]) -> str:
        name, anchor = found.groups()
        return f"]({PAGES.get(name, name.removeprefix('docs/'))}{anchor or ''})"

    return DOWN.sub(instead, text)


def on_read(app: Any, page: str, source: list[str]) -> None:
    """Change the links before the page is parsed, or show the file in its place."""
    if page in SHOWN:
        path = Path(app.srcdir).parent / SHOWN[page]
        app.env.note_dependency(str(path))
        source[0] = as_page(path.read_text(encoding="utf-8"))
    else:
        source[0] = to_page(source[0])


def setup(app: Any) -> dict[str, Any]:
    """Listen to every page."""
    app.connect("source-read", on_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
