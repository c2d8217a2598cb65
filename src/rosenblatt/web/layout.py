"""Parts of pages that the lab and the mail filter share."""

from contextlib import contextmanager
from typing import Any

from markupsafe import Markup, escape
from nicegui import ui


def html(content: str = "", tag: str = "div") -> Any:
    """Draw HTML: a text is escaped, and only :class:`markupsafe.Markup` is markup.

    What is put into the element later (``set_content``, ``content``) is escaped alike.
    """
    return ui.html(content, sanitize=_escaped, tag=tag)


def _escaped(content: str) -> str:
    """Return a text escaped, and markup as it is.

    >>> _escaped("a < b"), _escaped(Markup("<b>{}</b>").format("a < b"))
    ('a &lt; b', '<b>a &lt; b</b>')
    """
    return str(escape(content))


def heading(text: str) -> None:
    """Draw the heading of a group of controls."""
    html(text, tag="h2")


@contextmanager
def card(title: str = "") -> Any:
    """Draw a box with a title."""
    with ui.element("section").classes("lab-card") as box:
        if title:
            heading(title)
        yield box


__all__ = ["Markup", "card", "heading", "html"]
