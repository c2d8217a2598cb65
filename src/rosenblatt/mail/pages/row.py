"""One message on the page: its mark, why, and the two buttons that correct it."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nicegui import ui

from rosenblatt.mail.mailbox import StoredMessage
from rosenblatt.mail.marks import IMPORTANT, NOT, WORD_FOR
from rosenblatt.mail.pages import wording
from rosenblatt.web.layout import Markup, html

if TYPE_CHECKING:
    from rosenblatt.mail.pages.inbox import InboxPage

REASONS = 5
WHAT = Markup(
    '<div class="mail-subject">{subject}</div><div class="mail-from">{sender}</div>'
    '<div class="mail-because">{because}</div>'
)
NO_SUBJECT, NO_TEXT = Markup("<i>(no subject)</i>"), Markup("<i>(no text)</i>")


class Row:
    """A line of the inbox; ``at`` is the place of its message in the listing."""

    def __init__(self, page: "InboxPage", at: int) -> None:
        self.page, self.at = page, at
        self.message: StoredMessage = page.shown.messages[at]
        self.label: str | None = None  # the mark that is shown
        self.was: str | None = None  # before the last correction, where it changed
        self.open, self.text = False, ""
        with ui.element("article").classes("mail-row").props("tabindex=0 role=listitem") as self.box:
            self._tick = ui.checkbox("", on_change=self._ticked).classes("mail-tick")
            self._tick.props("dense").props["aria-label"] = f"Select: {self.message.subject}"
            self._mark = html().classes("mail-head")
            self._what = html().classes("mail-what").on("click", self._clicked)
            with ui.element("div").classes("mail-buttons"):
                self._answer = html().classes("mail-answer")
                self._buttons = {
                    IMPORTANT: self._button("Important", "check_circle"),
                    NOT: self._button("Not important", "block"),
                }
            self._text = html().classes("mail-text")
            self._change = html().classes("mail-change").props("role=status")
        self.box.on("focus", lambda: page.select(self, focus=False))
        self.box.on("keydown.enter.self", self.toggle)
        self._text.set_visibility(False)
        self._change.set_visibility(False)
        for label, button in self._buttons.items():
            button.on_click(lambda label=label: page.answer(self, label))
        self.draw()

    def _button(self, word: str, icon: str) -> Any:
        button = ui.button(word, icon=icon, color=None).props(f'flat dense no-wrap aria-label="{word}"')
        return button.classes("lab-quiet")

    # Selection

    @property
    def selected(self) -> bool:
        """Whether the message is one of those that a bulk answer is about."""
        return bool(self._tick.value)

    def set_selected(self, on: bool) -> None:
        """Select the message for a bulk answer, or no longer."""
        self._tick.set_value(on)

    def _ticked(self) -> None:
        self.page.tell_selected()

    async def _clicked(self) -> None:
        self.page.select(self, focus=False)
        await self.toggle()

    def select(self, on: bool, focus: bool) -> None:
        """Make this the message that keys speak of, or no longer."""
        if on:
            self.box.classes(add="here").props("aria-current=true")
            if focus:
                ui.run_javascript(
                    f"const row = getElement({self.box.id}); row.focus({{preventScroll: true}}); "
                    "row.scrollIntoView({block: 'nearest', behavior: 'instant'});"
                )
        else:
            self.box.classes(remove="here").props(remove="aria-current")

    async def toggle(self) -> None:
        """Show the text of the message, or hide it."""
        self.open = not self.open
        self.box.classes(**{"add" if self.open else "remove": "open"})
        self.box.props(f"aria-expanded={'true' if self.open else 'false'}")
        if self.open:
            self.text = await asyncio.to_thread(self.page.mail_filter.box.text, self.message.number)
        self._draw_text()

    # What is drawn

    def draw(self) -> None:
        """Show the message as the filter marks it now."""
        listing, message = self.page.shown, self.message
        mark, answer = listing.mark(self.at), listing.answers.get(message.number)
        why = listing.reasons(self.at, REASONS)
        self._words = {each.word: each.push for each in why}
        self.label = mark.label
        was = (
            ""
            if self.was is None
            else Markup('<span class="mail-was">was {}</span>').format(WORD_FOR[self.was])
        )
        self._mark.set_content(Markup("{}{}").format(wording.draw_mark(mark), was))
        sender = wording.sender(message.name, message.sender, self._words)
        self._what.set_content(
            WHAT.format(
                subject=wording.highlighted(message.subject, self._words) or NO_SUBJECT,
                sender=Markup(" · ").join(part for part in (sender, wording.when(message.sent)) if part),
                because=wording.because(why, mark),
            )
        )
        self.box.props(f'data-mark="{mark.label}" data-answer="{answer or ""}"')
        self._answer.set_visibility(answer is not None)
        if answer is not None:
            self._answer.set_content(Markup("you said <b>{}</b>").format(wording.SENTENCE[answer]))
        for label, button in self._buttons.items():
            button.set_visibility(label != answer)
        self._draw_text()

    def _draw_text(self) -> None:
        self._text.set_visibility(self.open)
        if self.open:
            self._text.set_content(wording.highlighted(self.text, self._words) or NO_TEXT)

    def show_change(self, change: Markup | None) -> None:
        """Say below the message what a correction did, or nothing."""
        self._change.set_visibility(change is not None)
        if change is not None:
            self._change.set_content(change)

    def remark(self, flash: Callable[["Row"], None]) -> bool:
        """Draw anew after something was learned; return whether the mark changed."""
        before = self.label
        now = self.page.shown.mark(self.at).label
        self.was = before if before != now else None
        self.draw()
        if self.was is not None:
            flash(self)
        return self.was is not None
