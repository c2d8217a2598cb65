"""The inbox: messages as the filter marks them, corrected by a click or a key, marked anew at once."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from nicegui import ui

from rosenblatt.mail.filter import Listing, MailFilter
from rosenblatt.mail.marks import IMPORTANT, NOT, UNDECIDED
from rosenblatt.mail.pages import wording
from rosenblatt.mail.pages.frame import Frame
from rosenblatt.mail.pages.importing import import_button, offer
from rosenblatt.mail.pages.row import Row
from rosenblatt.web.layout import Markup, html
from rosenblatt.web.refusals import Refusal

AT_ONCE = 30  # rows that are added
MOVED = 6
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


class InboxPage:
    """One visitor's inbox. Which messages are listed is settled by search and filter; how they are marked is not."""

    def __init__(self, mail_filter: MailFilter, query: Mapping[str, str]) -> None:
        self.mail_filter = mail_filter
        self.frame = Frame(mail_filter, "/", query)
        self.listing: Listing | None = None
        self.rows: list[Row] = []
        self.here: Row | None = None
        self.dialog: Any = None  # the import, behind which keys do nothing
        self._order: list[int] = []
        self._busy = asyncio.Lock()
        self._seen: tuple[Any, ...] = ()

    @property
    def shown(self) -> Listing:
        """The listing, once it was read."""
        assert self.listing is not None
        return self.listing

    async def show(self) -> None:
        """Draw the page."""
        with self.frame.head("Inbox", "model", "/model", "insights"):
            self.dialog = import_button(self)
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

    async def load(self, keep_place: bool = False) -> None:
        """Find messages and list them, from the top or with the same message current and the same ones selected."""
        self.listing = await self.mail_filter.listing(self.frame.query.get("q", ""))
        self._seen = await self._state()
        await self._list_rows(keep_place)

    async def _list_rows(self, keep_place: bool = False) -> None:
        """List the messages that pass the filter.

        The current message is set before this first awaits: a key pressed meanwhile must act on no other message.
        """
        here = self.here.message.number if keep_place and self.here is not None else None
        selected = {row.message.number for row in self.selected} if keep_place else set()
        show, listing = self._show, self.shown
        self._order = [
            at
            for at, each in enumerate(listing.messages)
            if show == "all"
            or (show == "open" and each.number not in listing.answers)
            or (show not in ("all", "open") and listing.mark(at).label == show)
        ]
        self._list.clear()
        self.rows, self.here = [], None
        at = next((i for i, each in enumerate(self._order) if listing.messages[each].number == here), 0)
        self._add_rows()
        while at >= len(self.rows) and self.rows:
            self._add_rows()
        for row in self.rows:
            if row.message.number in selected:
                row.set_selected(True)
        if self.rows:
            self.select(self.rows[at], focus=False)
        self._tell_empty()
        self.tell_selected()
        await self._tell()

    def tell_failures(self, text: str) -> None:
        """List the messages of an import that could not be read, until the next import."""
        self._failures.set_text(text)
        self._failures.set_visibility(bool(text))

    def _add_rows(self) -> None:
        more = self._order[len(self.rows) : len(self.rows) + AT_ONCE]
        with self._list:
            self.rows += [Row(self, at) for at in more]
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
                offer(self)

    async def _searched(self, event: Any) -> None:
        self.frame.keep(q=event.value or "")
        await self.load()

    async def _filtered(self, event: Any) -> None:
        self.frame.keep(show="" if event.value == "all" else event.value)
        await self._list_rows()

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
        """Learn what is said about a message, and mark anew what is on screen."""
        self.select(row, focus=False)
        if self.shown.answers.get(row.message.number) == label:
            row.show_change(Markup("You said <b>{}</b> already.").format(wording.SENTENCE[label]))
            return
        async with self._work():
            before = self.shown.words(row.at)
            await self._learn([row], label)
            changed = await self._remark(apart_from=[row])
            row.show_change(wording.learned(self._moved(row.at, before), changed, label))

    async def answer_selected(self, label: str) -> None:
        """Learn the same about all selected messages; one undo takes it back."""
        rows = [row for row in self.selected if self.shown.answers.get(row.message.number) != label]
        if not rows:
            ui.notify(f"Nothing to learn: these are {wording.SENTENCE[label]} already.")
            return
        async with self._work():
            await self._learn(rows, label)
            changed = await self._remark(apart_from=rows)
            self.clear_selection()
            messages = "1 message" if len(rows) == 1 else f"{len(rows):,} messages"
            ui.notify(
                f"{messages} learned as {wording.SENTENCE[label]}; {changed} other marks on screen changed.",
            )

    async def _learn(self, rows: Sequence[Row], label: str) -> None:
        numbers = [row.message.number for row in rows]
        await self.mail_filter.answer(numbers, label)
        self.shown.answers.update(dict.fromkeys(numbers, label))

    async def undo(self) -> None:
        """Take the last correction back, of one message or of many."""
        async with self._work():
            answers = await self.mail_filter.undo()
            await self.mail_filter.refresh(self.shown, answers=True)
            changed = await self._remark()
            messages = {answer.message for answer in answers}
            rows = [row for row in self.rows if row.message.number in messages]
            for row in rows:
                row.show_change(wording.taken_back(answers[0].label))
            if rows:
                self.select(rows[0], focus=True)
            if len(answers) > 1 or not rows:
                ui.notify(f"Taken back for {len(answers):,}; {changed} marks on screen changed.")

    @contextlib.asynccontextmanager
    async def _work(self) -> AsyncIterator[None]:
        """One correction at a time; a refusal is said, and nothing has changed."""
        async with self._busy:
            try:
                yield
            except (Refusal, sqlite3.Error) as error:
                ui.notify(f"Not learned: {error}", type="negative", timeout=8000)
            self._seen = await self._state()

    def _moved(self, at: int, before: dict[str, float]) -> list[tuple[str, float, float]]:
        """Return the words whose weights moved, those that now say most first."""
        after = self.shown.words(at)
        moved = [
            (word, before[word], now) for word, now in after.items() if abs(now - before[word]) >= 0.0005
        ]
        return sorted(moved, key=lambda each: -abs(each[2]))[:MOVED]

    async def _remark(self, apart_from: Sequence[Row] = ()) -> int:
        """Mark all that is on screen anew; return how many other marks changed."""
        await self.mail_filter.refresh(self.shown)
        changed = 0
        for row in self.rows:
            row.show_change(None)
            changed += row.remark(_flash) and row not in apart_from
        await self._tell()
        return changed

    async def _tell(self) -> None:
        await self.frame.show_stats(await self.mail_filter.unsure())
        self._undo.set_enabled(await self.mail_filter.can_undo())

    # What others do meanwhile

    async def _state(self) -> tuple[Any, ...]:
        return (await asyncio.to_thread(self.mail_filter.box.newest), self.mail_filter.state)

    async def _look(self) -> None:
        """See whether messages have come, or something was learned elsewhere."""
        if self._busy.locked():
            return
        state = await self._state()
        if self._busy.locked() or state == self._seen:
            return
        came = state[0] != self._seen[0]
        self._seen = state
        if came:
            await self.load(keep_place=True)
        else:
            await self.mail_filter.refresh(self.shown, answers=True)
            await self._remark()

    # Keys

    def select(self, row: Row, focus: bool) -> None:
        """Make a message the one that keys speak of."""
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


def _flash(row: Row) -> None:
    """Let a row be seen to have changed."""
    ui.run_javascript(
        f"const row = getElement({row.box.id}); row.classList.remove('flash'); void row.offsetWidth; "
        "row.classList.add('flash');"
    )
