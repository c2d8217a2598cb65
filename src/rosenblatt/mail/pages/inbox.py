"""The inbox: messages with their marks, corrected by a click or a key and marked again at once."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from nicegui import ui

from rosenblatt.mail.filter import Imported, Listing, MailFilter
from rosenblatt.mail.mailbox import StoredMessage
from rosenblatt.mail.marks import IMPORTANT, NOT, UNDECIDED, WORD_FOR
from rosenblatt.mail.pages import wording
from rosenblatt.mail.pages.frame import Frame
from rosenblatt.mail.pages.importing import failures_text, import_button, offer
from rosenblatt.web.layout import Markup, html
from rosenblatt.web.refusals import Refusal

AT_ONCE = 30  # rows that are added
MOVED = 6  # words of a message whose weights moved, that are listed
REASONS = 5
WHAT = Markup(
    '<div class="mail-subject">{subject}</div><div class="mail-from">{sender}</div>'
    '<div class="mail-because">{because}</div>'
)
NO_SUBJECT, NO_TEXT = Markup("<i>(no subject)</i>"), Markup("<i>(no text)</i>")
SHOWS = {
    "all": "All",
    "open": "To review",
    IMPORTANT: "Important",
    NOT: "Not important",
    UNDECIDED: "Unsure",
}
KEYS = Markup(" · ").join(
    Markup("{} {}").format(
        Markup(" ").join(Markup("<kbd>{}</kbd>").format(key) for key in keys.split()), what
    )
    for keys, what in {
        "j k": "move",
        "i": "important",
        "n": "not important",
        "x": "select",
        "u": "undo",
        "↵": "open",
        "/": "search",
    }.items()
)


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
        """Make this the current message, which keys act on, or no longer."""
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

    def remark(self) -> bool:
        """Draw again after something was learned; a mark that changed flashes. Return whether it did."""
        before = self.label
        now = self.page.shown.mark(self.at).label
        self.was = before if before != now else None
        self.draw()
        if self.was is not None:
            ui.run_javascript(
                f"const row = getElement({self.box.id}); row.classList.remove('flash'); void row.offsetWidth; "
                "row.classList.add('flash');"
            )
        return self.was is not None


class InboxPage:
    """One visitor's inbox: search and filter choose the messages, whose marks change as the filter learns."""

    def __init__(self, mail_filter: MailFilter, query: Mapping[str, str]) -> None:
        self.mail_filter = mail_filter
        self.frame = Frame(mail_filter, "/", query)
        self.listing: Listing | None = None
        self.rows: list[Row] = []
        self.here: Row | None = None
        self.dialog: Any = None  # the import, behind which keys do nothing
        self._order: list[int] = []  # places in the listing of the messages that pass the filter
        self._numbers: set[int] = set()  # of these messages, which stay until another search or filter
        self._busy = asyncio.Lock()
        self._seen: tuple[int, Any] = (
            0,
            None,
        )  # the newest message, and the state of the filter, when last read

    @property
    def shown(self) -> Listing:
        """The listing, once it was read."""
        assert self.listing is not None
        return self.listing

    async def show(self) -> None:
        """Draw the page."""
        with self.frame.head("Inbox", "model", "/model", "insights"):
            self.dialog = import_button(self.mail_filter, self._imported)
        with ui.element("main").classes("mail-main"):
            with ui.element("div").classes("mail-tools"):
                self._search = ui.input(placeholder="Search", value=self.frame.query.get("q", ""))
                self._search.props(
                    "dense outlined clearable debounce=300 type=search aria-label='Search messages'"
                )
                self._search.classes("mail-search").on_value_change(self._searched).mark("search")
                self._shows = ui.toggle(SHOWS, value=self._show, on_change=self._filtered)
                self._shows.props("no-caps unelevated dense aria-label='Which messages'").classes(
                    "mail-shows"
                )
                self._undo = ui.button("undo", icon="undo", on_click=self.undo, color=None)
                self._undo.props("flat dense no-wrap").classes("lab-quiet")
                html(KEYS).classes("mail-keys")
            self._draw_bulk()
            self._failures = ui.label("").classes("mail-failures").props("role=status").mark("failures")
            self._failures.set_visibility(False)
            self._list = ui.element("section").classes("mail-list").props("role=list aria-label=Messages")
            self._more = (
                ui.button("Show more", on_click=self._add_rows, color=None).props("flat").classes("lab-quiet")
            )
            self._empty = ui.element("div").classes("mail-empty")
        ui.keyboard(on_key=self._key, ignore=["input", "select", "textarea"])
        await self.load()
        ui.timer(1.0, self._look)

    @property
    def _show(self) -> str:
        show = self.frame.query.get("show", "all")
        return show if show in SHOWS else "all"

    # What is listed

    async def load(self, arrived: bool = False) -> None:
        """Find messages and list them: from the top, or put those that arrived among the rows that are there."""
        async with self._busy:
            state = self.mail_filter.state
            self.listing = await self.mail_filter.listing(self.frame.query.get("q", ""))
            self._seen = (self.listing.newest, state)
            if arrived:
                self._insert_rows()
            else:
                self._list_rows()
            await self._tell()

    def _passing(self, listed: Collection[int] = ()) -> list[int]:
        """Return the places of the messages that pass the filter, or whose numbers are ``listed`` already."""
        show, listing = self._show, self.shown
        return [
            at
            for at, each in enumerate(listing.messages)
            if show == "all"
            or each.number in listed
            or (show == "open" and each.number not in listing.answers)
            or (show != "open" and listing.mark(at).label == show)
        ]

    def _list_rows(self) -> None:
        """List the messages that pass the filter, from the top."""
        self._order = self._passing()
        self._numbers = {self.shown.messages[at].number for at in self._order}
        self._list.clear()
        self.rows, self.here = [], None
        self._add_rows()
        if self.rows:
            self.select(self.rows[0], focus=False)
        self._tell_empty()

    def _insert_rows(self) -> None:
        """List the messages that arrived; the rows that are there stay as they are: current, selected, open.

        This never awaits: a key pressed meanwhile acts on the message that was current before.
        """
        rows = {row.message.number: row for row in self.rows}
        self._order = self._passing(self._numbers)
        numbers = [self.shown.messages[at].number for at in self._order]
        self._numbers.update(numbers)
        last = max((place for place, number in enumerate(numbers) if number in rows), default=-1)
        self.rows = []
        for place, at in enumerate(self._order[: max(last + 1, AT_ONCE)]):
            row = rows.pop(numbers[place], None)
            if row is not None:
                row.at = at
                row.draw()
            else:
                with self._list:
                    row = Row(self, at)
                row.box.move(target_index=place)
            self.rows.append(row)
        for row in rows.values():  # the listing holds the newest messages only
            row.box.delete()
        if self.rows and self.here not in self.rows:
            self.select(self.rows[0], focus=False)
        self._tell_more()
        self._tell_empty()

    async def _imported(self, imported: Imported) -> None:
        """List the messages of an import, and until the next one those that could not be read."""
        text = failures_text(imported)
        self._failures.set_text(text)
        self._failures.set_visibility(bool(text))
        await self.load()

    def _add_rows(self) -> None:
        more = self._order[len(self.rows) : len(self.rows) + AT_ONCE]
        with self._list:
            self.rows += [Row(self, at) for at in more]
        self._tell_more()

    def _tell_more(self) -> None:
        """Say how many messages are not shown yet, and how many of those shown are selected."""
        self._more.set_visibility(len(self._order) > len(self.rows))
        left = len(self._order) - len(self.rows)
        self._more.set_text(f"Show {min(left, AT_ONCE)} more of {left:,}")
        self.tell_selected()

    def _tell_empty(self) -> None:
        self._empty.clear()
        self._list.set_visibility(bool(self.rows))
        self._empty.set_visibility(not self.rows)
        if self.rows:
            return
        with self._empty:
            if len(self.shown) or self.frame.query.get("q"):
                ui.label("No message matches.")
            else:
                offer(self.mail_filter, self._imported)

    async def _searched(self, event: Any) -> None:
        self.frame.keep(q=event.value or "")
        await self.load()

    async def _filtered(self, event: Any) -> None:
        self.frame.keep(show="" if event.value == "all" else event.value)
        async with self._busy:
            self._list_rows()
            await self._tell()

    # Selection

    def _draw_bulk(self) -> None:
        """Draw what is done with all selected messages."""
        with (
            ui.element("div")
            .classes("mail-bulk")
            .props("role=toolbar aria-label='Selected messages'") as self._bulk
        ):
            self._every = ui.checkbox("", on_change=self._select_every).props(
                "dense aria-label='Select all shown'"
            )
            self._count = ui.label("").classes("mail-count").props("role=status").mark("selected")
            for label, word in ((IMPORTANT, "Important"), (NOT, "Not important")):
                button = ui.button(word, on_click=lambda label=label: self.answer_selected(label), color=None)
                button.props("flat dense no-wrap").classes("lab-quiet").mark(f"bulk-{label}")
            clear = ui.button(icon="close", on_click=self.clear_selection, color=None)
            clear.props("flat dense aria-label='Clear the selection'").classes("lab-quiet")

    @property
    def selected(self) -> list[Row]:
        """The rows that are selected."""
        return [row for row in self.rows if row.selected]

    def tell_selected(self) -> None:
        """Say how many messages are selected, where some are."""
        count = len(self.selected)
        self._bulk.set_visibility(bool(count))
        self._count.set_text(f"{count:,} selected")
        self._every.set_value(bool(count) and count == len(self.rows))

    def _select_every(self, event: Any) -> None:
        some = len(self.selected)
        if event.value != (bool(some) and some == len(self.rows)):  # a person's click
            for row in self.rows:
                row.set_selected(bool(event.value))
            self.tell_selected()

    def clear_selection(self) -> None:
        """Select nothing."""
        for row in self.selected:
            row.set_selected(False)
        self.tell_selected()

    # Corrections

    async def answer(self, row: Row, label: str) -> None:
        """Learn an answer about a message, and mark the messages on screen again."""
        self.select(row, focus=False)
        async with self._work():
            listed = row in self.rows  # a search may have been under way
            before = self.shown.words(row.at) if listed else {}
            learned = await self._learn([row], label)
            changed = await self._remark(apart_from=[row])
            if not listed:
                return
            if learned:
                row.show_change(wording.learned(self._moved(row.at, before), changed, label))
            else:
                row.show_change(Markup("You said <b>{}</b> already.").format(wording.SENTENCE[label]))
            self.select(row, focus=True)  # the button that had the focus is hidden now

    async def answer_selected(self, label: str) -> None:
        """Learn the same about all selected messages; one undo takes it back."""
        async with self._work():
            rows = self.selected
            learned = await self._learn(rows, label)
            if not learned:
                ui.notify(f"Nothing to learn: you called these {wording.SENTENCE[label]} already.")
                return
            changed = await self._remark(apart_from=rows)
            self.clear_selection()
            others = f"; {changed} other marks on screen changed" if changed else ""
            ui.notify(f"{wording.messages(learned)} learned as {wording.SENTENCE[label]}{others}.")

    async def _learn(self, rows: Sequence[Row], label: str) -> int:
        """Learn what is said about messages; return for how many of them that is new."""
        counts = await self.mail_filter.answer([row.message.number for row in rows], label)
        return counts.learned

    async def undo(self) -> None:
        """Undo the last correction, of one message or of many."""
        async with self._work("Not undone"):
            answers = await self.mail_filter.undo()
            changed = await self._remark()
            messages = {answer.message for answer in answers}
            rows = [row for row in self.rows if row.message.number in messages]
            for row in rows:
                row.show_change(wording.taken_back(answers[0].label))
            if rows:
                self.select(rows[0], focus=True)
            if len(answers) > 1 or not rows:
                ui.notify(f"Undone for {wording.messages(len(answers))}; {changed} marks on screen changed.")

    @contextlib.asynccontextmanager
    async def _work(self, failed: str = "Not learned") -> AsyncIterator[None]:
        """Make one correction at a time; a refusal is shown, and nothing has changed."""
        async with self._busy:
            try:
                yield
            except (Refusal, sqlite3.Error) as error:
                ui.notify(f"{failed}: {error}", type="negative", timeout=8000)

    def _moved(self, at: int, before: dict[str, float]) -> list[tuple[str, float, float]]:
        """Return the words whose weights moved, those that now say most first."""
        after = self.shown.words(at)
        moved = [
            (word, before[word], now) for word, now in after.items() if abs(now - before[word]) >= 0.0005
        ]
        return sorted(moved, key=lambda each: -abs(each[2]))[:MOVED]

    async def _remark(self, apart_from: Sequence[Row] = ()) -> int:
        """Mark all messages on screen again; return how many other marks changed."""
        self._seen = (self._seen[0], self.mail_filter.state)
        await self.mail_filter.refresh(self.shown, answers=True)
        changed = 0
        for row in self.rows:
            row.show_change(None)
            changed += row.remark() and row not in apart_from
        await self._tell()
        return changed

    async def _tell(self) -> None:
        await self.frame.show_stats(await self.mail_filter.unsure())
        self._undo.set_enabled(await self.mail_filter.can_undo())

    # What others do meanwhile

    async def _look(self) -> None:
        """See whether messages have come, or something was learned elsewhere."""
        newest = await asyncio.to_thread(self.mail_filter.box.newest)
        if self._busy.locked():
            return
        if newest != self._seen[0]:
            await self.load(arrived=True)
        elif self.mail_filter.state != self._seen[1]:
            async with self._busy:
                await self._remark()

    # Keys

    def select(self, row: Row, focus: bool) -> None:
        """Make a message the current one, which keys act on."""
        if self.here is not None and self.here is not row:
            self.here.select(False, False)
        self.here = row
        row.select(True, focus)

    def _move(self, by: int) -> None:
        if not self.rows:
            return
        at = self.rows.index(self.here) if self.here in self.rows else 0
        at = min(max(at + by, 0), len(self._order) - 1)
        if at >= len(self.rows):
            self._add_rows()
        self.select(self.rows[at], focus=True)

    async def _key(self, event: Any) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        if self.dialog is not None and self.dialog.value:  # keys speak of what is in front
            return
        key = str(event.key)
        if key in ("j", "k"):
            self._move(1 if key == "j" else -1)
        elif event.action.repeat:
            return
        elif key in ("i", "n"):
            label = IMPORTANT if key == "i" else NOT
            if self.selected:
                await self.answer_selected(label)
            elif self.here is not None:
                await self.answer(self.here, label)
        elif key == "x" and self.here is not None:
            self.here.set_selected(not self.here.selected)
            self.tell_selected()
        elif key == "u":
            await self.undo()
        elif key == "/":
            self._search.run_method("focus")
