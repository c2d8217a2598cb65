"""One message on the page: its mark, why, and the two buttons that correct it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nicegui import ui

from rosenblatt.service.mail.marks import IMPORTANT, NOT, UNDECIDED, WORD_FOR
from rosenblatt.service.pages import wording

if TYPE_CHECKING:
    from rosenblatt.service.pages.inbox import InboxPage

OPPOSITE = {IMPORTANT: NOT, NOT: IMPORTANT}


class Row:
    """A line of the inbox; ``at`` is the place of its message among those that were found."""

    def __init__(self, page: "InboxPage", at: int) -> None:
        self.page, self.at = page, at
        self.label: str | None = None  # the mark that is shown
        self.was: str | None = None  # before the last correction, where it changed
        self.open = False
        with ui.element("article").classes("mail-row").props("tabindex=0 role=listitem") as self.box:
            self._mark = ui.html("", sanitize=False).classes("mail-head")
            self._what = ui.html("", sanitize=False).classes("mail-what").on("click", self._clicked)
            with ui.element("div").classes("mail-buttons"):
                self._told = ui.html("", sanitize=False).classes("mail-told")
                self._first = self._button()
                self._second = self._button()
            self._text = ui.html("", sanitize=False).classes("mail-text")
            self._change = ui.html("", sanitize=False).classes("mail-change").props("role=status")
        self.box.on("focus", lambda: page.select(self, focus=False))
        self.box.on("keydown.enter.self", self.toggle)
        self._text.set_visibility(False)
        self._change.set_visibility(False)
        self._says: tuple[str, str] = (IMPORTANT, NOT)
        self._first.on_click(lambda: page.answer(self, self._says[0]))
        self._second.on_click(lambda: page.answer(self, self._says[1]))
        self.draw()

    def _button(self) -> Any:
        return ui.button("", color=None).props("flat dense no-wrap").classes("lab-quiet")

    def _clicked(self) -> None:
        self.page.select(self, focus=False)
        self.toggle()

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

    def toggle(self) -> None:
        """Show the text of the message, or hide it."""
        self.open = not self.open
        self._draw_text()

    def draw(self) -> None:
        """Show the message as the filter marks it now."""
        page, kept = self.page, self.page.kept[self.at]
        found, told = page.marks.mark(self.at), page.told.get(kept.number)
        why = page.reasons(self.at)
        self._words = {each.word: each.push for each in why}
        self.label = found.label
        self._mark.set_content(wording.mark(found) + self._was())
        subject = wording.highlighted(kept.subject, self._words) or "<i>(no subject)</i>"
        sender = wording.sender(kept.name, kept.sender, self._words)
        date = wording.when(kept.sent)
        self._what.set_content(
            f'<div class="mail-subject">{subject}</div>'
            f'<div class="mail-from">{sender}{" · " if sender and date else ""}{date}</div>'
            f'<div class="mail-because">{wording.because(why, found)}</div>'
        )
        self.box.props(f'data-mark="{found.label}" data-told="{told or ""}"')
        self._draw_buttons(found.label, told)
        self._draw_text()

    def _was(self) -> str:
        if self.was is None:
            return ""
        return f'<span class="mail-was">was {WORD_FOR[self.was]}</span>'

    def _draw_buttons(self, label: str, told: str | None) -> None:
        self._told.set_visibility(told is not None)
        self._first.set_visibility(told is None)
        if told is not None:
            self._told.set_content(f"you said <b>{wording.SENTENCE[told]}</b>")
            self._says, words = (told, OPPOSITE[told]), ("", "change")
        elif label == UNDECIDED:
            self._says, words = (IMPORTANT, NOT), ("important", "not")
        else:
            self._says, words = (label, OPPOSITE[label]), ("right", "wrong")
        for button, word, says in zip((self._first, self._second), words, self._says, strict=True):
            button.set_text(word)
            button.props(f'aria-label="{word}: it is {wording.SENTENCE[says]}"')

    def _draw_text(self) -> None:
        self._text.set_visibility(self.open)
        self.box.props(f"aria-expanded={'true' if self.open else 'false'}")
        if self.open:
            text = self.page.desk.box.text(self.page.kept[self.at].number)
            self._text.set_content(wording.highlighted(text, self._words) or "<i>(no text)</i>")

    def tell(self, told: str | None) -> None:
        """Say below the message what a correction did, or nothing."""
        self._change.set_visibility(told is not None)
        if told is not None:
            self._change.set_content(told)

    def remark(self, flash: Callable[["Row"], None]) -> bool:
        """Draw anew after something was learned; return whether the mark changed."""
        before = self.label
        now = self.page.marks.mark(self.at).label
        self.was = before if before != now else None
        self.draw()
        if self.was is not None:
            flash(self)
        return self.was is not None
