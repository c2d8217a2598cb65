"""The built pages ask nothing of the network: a page or style sheet that would fetch something fails the build."""

import re
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

FETCHES = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["'](?:https?:)?//"""
    r"""|<link\b(?=[^>]*rel=["'](?:stylesheet|preload|icon))[^>]*\bhref=["'](?:https?:)?//"""
    r"""|url\(["']?(?:https?:)?//|@import\s+["'](?:https?:)?//"""
)


def outside(text: str) -> list[str]:
    """Return what a page or style sheet would fetch from elsewhere; a link that somebody may follow is no fetch.

    >>> outside('<script src="https://cdn.example/x.js">'), outside('<a href="https://example.org">')
    (['<script src="https://'], [])
    """
    return FETCHES.findall(text)


def check(app: Any, failed: Exception | None) -> None:
    """Look through everything that was built."""
    if failed is not None or app.builder.format != "html":
        return
    found = [
        f"{page.relative_to(app.outdir)}: {what}"
        for page in sorted([*Path(app.outdir).rglob("*.html"), *Path(app.outdir).rglob("*.css")])
        for what in outside(page.read_text(encoding="utf-8"))
    ]
    if found:
        raise ExtensionError("pages would fetch from elsewhere:\n" + "\n".join(found))


def setup(app: Any) -> dict[str, Any]:
    """Look when all is written."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
