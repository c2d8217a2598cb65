"""Parts of pages that the lab and the service share."""

from contextlib import contextmanager
from typing import Any

from nicegui import ui


def heading(text: str) -> None:
    """A heading of a group of controls."""
    ui.html(text, sanitize=False, tag="h2")


@contextmanager
def card(title: str = "") -> Any:
    """A box with a title."""
    with ui.element("section").classes("lab-card") as box:
        if title:
            heading(title)
        yield box
