"""The heading of both pages: the state of the filter, the link to the other page, the theme."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from rosenblatt.learner.estimate import percent
from rosenblatt.mail.filter import MailFilter
from rosenblatt.service.sessions import SIGN_OUT
from rosenblatt.web.layout import Markup, html
from rosenblatt.web.theme import NEXT_THEME, THEMES, css


class Frame:
    """The heading of a page; its state is the query of its address."""

    def __init__(self, mail_filter: MailFilter, path: str, query: Mapping[str, str]) -> None:
        self.mail_filter, self.path = mail_filter, path
        self.query = {name: value[:200] for name, value in query.items()}
        if self.query.get("theme") not in THEMES:
            self.query.pop("theme", None)

    @property
    def signed_in(self) -> bool:
        """Whether this service asks for tokens, so that whoever sees the page has signed in."""
        return bool(ui.context.client.request.scope["state"].get("signed_in"))

    @property
    def theme(self) -> str:
        """Light, dark, or as the system has it."""
        return self.query.get("theme", "auto")

    def keep(self, **values: str) -> None:
        """Put values into the address of the page; empty ones leave it."""
        self.query.update(values)
        self.query = {name: value for name, value in self.query.items() if value and value != "auto"}
        ui.navigate.history.replace(self.path + (f"?{urlencode(self.query)}" if self.query else ""))

    def head(self, title: str, other: str, other_path: str, icon: str) -> Any:
        """Draw the heading; returns the place for what the page adds to it."""
        _look()
        self._dark = ui.dark_mode(THEMES[self.theme])
        with ui.header().classes("items-center q-pa-none"), ui.element("div").classes("lab-bar mail-bar-top"):
            html(Markup("<h1>{}<span> — mail filter</span></h1>").format(title)).classes("mail-title")
            self._stats = html().classes("mail-stats").props("aria-live=polite").mark("stats")
            own = ui.element("div").classes("mail-actions")
            with own:
                place = ui.element("div").classes("mail-actions")
                self._way = ui.button(other, icon=icon, color=None)  # a link: it can be opened in a new tab
                self._way.props("flat dense no-wrap").classes("lab-quiet q-px-sm")
                self._way.props["href"] = self._carried(other_path)
                self._other_path = other_path
                if self.signed_in:
                    with ui.element("form").props(f"method=post action={SIGN_OUT}").mark("sign-out"):
                        leave = ui.button("sign out", icon="logout", color=None)
                        leave.props("flat dense no-wrap type=submit").classes("lab-quiet q-px-sm")
                self._turner = ui.button(icon="contrast", on_click=self._turn, color=None)
                self._turner.props(f"flat dense aria-label='Theme: {self.theme}'").classes("lab-quiet")
        return place

    async def show_stats(self, unsure: int | None = None) -> None:
        """Show the state of the filter; ``unsure`` counts messages of the whole inbox, whatever the search."""
        model = self.mail_filter.model
        parts: list[str] = []
        if model is None or not model.learner.rows:
            parts.append("nothing learned yet")
        else:
            parts.append(Markup("<b>{:,}</b> learned").format(model.learner.rows))
            accuracy = await self.mail_filter.accuracy()
            if accuracy is not None:
                parts.append(Markup("<b>{}</b> right").format(percent(accuracy, short=True)))
        if unsure is not None:
            parts.append(Markup("<b>{:,}</b> unsure").format(unsure))
        self._stats.set_content(Markup(" · ").join(parts))

    def _carried(self, path: str) -> str:
        return path + (f"?{urlencode({'theme': self.theme})}" if self.theme != "auto" else "")

    def _turn(self) -> None:
        theme = NEXT_THEME[self.theme]
        self.keep(theme=theme)
        self._dark.value = THEMES[theme]
        self._turner.props(f"aria-label='Theme: {theme}'")
        self._way.props["href"] = self._carried(self._other_path)
        self._way.update()


def _look() -> None:
    ui.add_css(css() + (Path(__file__).parent / "mail.css").read_text(encoding="utf-8"))
    ui.colors(primary="#0072B2")


def trouble(reason: str) -> None:
    """Draw the page that is shown when the filter cannot be opened."""
    _look()
    ui.dark_mode(None)
    with ui.element("main").classes("mail-main"), ui.element("div").classes("mail-empty"):
        html(Markup("<h2>The mail filter cannot be shown</h2>"))
        ui.label(reason)
        ui.label(
            "Stop the server, and restore the file from a copy or move it away; what was learned is in the journal, "
            "and the API answers meanwhile."
        )
