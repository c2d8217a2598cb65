"""The lessons: the texts of ``docs/lessons`` as pages, their links leading into this lab."""

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

from nicegui import ui

from rosenblatt.lab import frame
from rosenblatt.lab.app import LOOPBACK, PORT
from rosenblatt.web import layout

HOME = f"http://{LOOPBACK}:{PORT}"


class Lesson(NamedTuple):
    """A text with links."""

    name: str
    title: str
    text: str


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons in order; a wheel brings them along, a checkout has them in ``docs``."""
    here = Path(__file__).parent
    for folder in (here / "lessons", here.parents[2] / "docs" / "lessons"):
        if folder.is_dir():
            texts = []
            for path in sorted(folder.glob("[0-9]*.md")):
                text = path.read_text(encoding="utf-8")
                texts.append(Lesson(path.stem, text.partition("\n")[0].removeprefix("# "), text))
            return tuple(texts)
    return ()


def links_of(lesson: Lesson) -> list[str]:
    """Return where the links of a lesson lead, inside the lab.

    >>> all(link.startswith("/") for lesson in lessons() for link in links_of(lesson))
    True
    """
    return [link.removeprefix(HOME) for link in re.findall(r"\]\((http[^)\s]+)\)", lesson.text)]


class LessonsPage:
    """The list of lessons, and one of them."""

    def __init__(self, name: str, theme: str) -> None:
        every = lessons()
        chosen = next((lesson for lesson in every if lesson.name == name), every[0] if every else None)
        carried = f"?theme={theme}" if theme != "auto" else ""

        def contents() -> None:
            with ui.element("nav").classes("lab-side lab-lesson-list").props("aria-label=Lessons"):
                layout.heading("Lessons")
                for lesson in every:
                    here = "here" if lesson is chosen else ""
                    ui.link(lesson.title, f"/lessons/{lesson.name}{carried}").classes(here)

        frame.head(None, "/lessons", theme, contents)
        with ui.element("main").classes("lab-main one"), layout.card():
            if chosen is None:
                ui.label("The lessons are not installed here; they are in docs/lessons.")
                return
            ui.markdown(_for_the_lab(chosen, theme)).classes("lab-lesson")
            self._neighbours(every, chosen, carried)

    def _neighbours(self, every: tuple[Lesson, ...], chosen: Lesson, carried: str) -> None:
        place = every.index(chosen)
        with ui.element("div").classes("lab-steps"):
            for step, word in ((-1, "←"), (1, "→")):
                if 0 <= place + step < len(every):
                    other = every[place + step]
                    label = f"{word} {other.title}" if step < 0 else f"{other.title} {word}"
                    ui.link(escape(label), f"/lessons/{other.name}{carried}").classes("lab-link q-mr-lg")


def _for_the_lab(lesson: Lesson, theme: str) -> str:
    def inside(link: re.Match[str]) -> str:
        path = link[1]
        if theme != "auto":
            path += ("&" if "?" in path else "?") + f"theme={theme}"
        return f"]({path})"

    return re.sub(rf"\]\({re.escape(HOME)}([^)\s]*)\)", inside, lesson.text)
