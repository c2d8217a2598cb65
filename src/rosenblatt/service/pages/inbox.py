"""The inbox: messages as the filter marks them, corrected by a click or a key, marked anew at once."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Mapping
from typing import Any

from nicegui import ui

from rosenblatt.service.mail.box import Kept
from rosenblatt.service.mail.features import Said
from rosenblatt.service.mail.marks import IMPORTANT, NOT, UNDECIDED, Marks
from rosenblatt.service.mail.teaching import Desk
from rosenblatt.service.pages import wording
from rosenblatt.service.pages.frame import Frame
from rosenblatt.service.pages.importing import import_button, offer
from rosenblatt.service.pages.row import Row
from rosenblatt.web.refusals import Refusal

FOUND = 2000  # messages that a search finds, the newest
AT_ONCE = 30  # rows that are added
REASONS = 5
MOVED = 6
SHOWS = {
    "all": "All",
    "open": "Not said yet",
    IMPORTANT: "Important",
    NOT: "Not",
    UNDECIDED: "Don't know",
}
KEYS = " · ".join(
    " ".join(f"<kbd>{key}</kbd>" for key in keys.split()) + f" {what}"
    for keys, what in {
        "j k": "move",
        "i": "important",
        "n": "not",
        "u": "undo",
        "↵": "open",
        "/": "search",
    }.items()
)


class InboxPage:
    """One visitor's inbox. Which messages are listed is settled by search and filter; how they are marked is not."""

    def __init__(self, desk: Desk, query: Mapping[str, str]) -> None:
        self.desk = desk
        self.frame = Frame(desk, "/", query)
        self.kept: list[Kept] = []
        self.told: dict[int, str] = {}
        self.marks = Marks([])
        self.rows: list[Row] = []
        self.here: Row | None = None
        self._order: list[int] = []
        self._again: set[str] = set()  # senders with more than one message
        self._busy = asyncio.Lock()
        self._seen: tuple[Any, ...] = ()

    async def show(self) -> None:
        """Draw the page."""
        with self.frame.head("Inbox<span> — mail filter</span>", "model", "/model", "insights"):
            import_button(self)
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
                ui.html(KEYS, sanitize=False).classes("mail-keys")
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

    async def load(self) -> None:
        """Find messages and list them."""
        query = self.frame.query.get("q", "")
        self.kept = await asyncio.to_thread(self.desk.box.find, query, self.desk.number, FOUND)
        self.told = {each.number: each.told for each in self.kept if each.told is not None}
        self._again = await asyncio.to_thread(self.desk.box.met_again, [each.sender for each in self.kept])
        self.marks = Marks([each.features for each in self.kept])
        self.kept = [
            each._replace(features={}) for each in self.kept
        ]  # the marks have them, and in less room
        self.marks.look(self.desk.model)
        self._seen = self._state()
        self._list_rows()

    def _list_rows(self) -> None:
        """List what the filter lets through, from the top."""
        show = self._show
        self._order = [
            at
            for at, each in enumerate(self.kept)
            if show == "all"
            or (show == "open" and each.number not in self.told)
            or (show not in ("all", "open") and self.marks.mark(at).label == show)
        ]
        self._list.clear()
        self.rows, self.here = [], None
        self._add_rows()
        if self.rows:
            self.select(self.rows[0], focus=False)
        self._tell_empty()
        self._tell()

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

    def _tell_empty(self) -> None:
        self._empty.clear()
        self._list.set_visibility(bool(self.rows))
        self._empty.set_visibility(not self.rows)
        if self.rows:
            return
        with self._empty:
            if self.kept or self.frame.query.get("q"):
                ui.label("No message is like that.")
            else:
                offer(self)

    def reasons(self, at: int) -> list[Said]:
        """Return what decided a message."""
        return self.marks.reasons(at, REASONS, self._lone(at))

    def _lone(self, at: int) -> bool:
        return self.kept[at].sender not in self._again

    async def _searched(self, event: Any) -> None:
        self.frame.keep(q=event.value or "")
        await self.load()

    def _filtered(self, event: Any) -> None:
        self.frame.keep(show="" if event.value == "all" else event.value)
        self._list_rows()

    # Corrections

    async def answer(self, row: Row, label: str) -> None:
        """Learn what is said about a message, and mark anew what is on screen."""
        number = self.kept[row.at].number
        self.select(row, focus=False)
        if self.told.get(number) == label:
            row.tell(f"You said <b>{wording.SENTENCE[label]}</b> already.")
            return
        async with self._work():
            before = self.marks.words(row.at, self._lone(row.at))
            await self.desk.answer(number, label)
            self.told[number] = label
            changed = self._remark(apart_from=row)
            row.tell(wording.learned(self._moved(row.at, before), changed, label))

    async def undo(self) -> None:
        """Take the last correction back."""
        async with self._work():
            answer = await self.desk.undo()
            self.told.pop(answer.message, None)
            told = self.desk.box.told(answer.message, self.desk.number)
            if told is not None:
                self.told[answer.message] = told
            changed = self._remark()
            said = f"Taken back: <b>{wording.SENTENCE[answer.label]}</b>. The filter is as if it had never been said."
            for row in self.rows:
                if self.kept[row.at].number == answer.message:
                    row.tell(said)
                    self.select(row, focus=True)
                    return
            ui.notify(f"Taken back; {changed} marks on screen changed.")

    @contextlib.asynccontextmanager
    async def _work(self) -> AsyncIterator[None]:
        """One correction at a time; a refusal is said, and nothing has changed."""
        async with self._busy:
            try:
                yield
            except (Refusal, sqlite3.Error) as error:
                ui.notify(f"Not learned: {error}", type="negative", timeout=8000)
            self._seen = self._state()

    def _moved(self, at: int, before: dict[str, float]) -> list[tuple[str, float, float]]:
        """Return the words whose weights moved, those that now say most first."""
        after = self.marks.words(at, self._lone(at))
        moved = [
            (word, before[word], now) for word, now in after.items() if abs(now - before[word]) >= 0.0005
        ]
        return sorted(moved, key=lambda each: -abs(each[2]))[:MOVED]

    def _remark(self, apart_from: Row | None = None) -> int:
        """Mark all that is on screen anew; return how many other marks changed."""
        self.marks.look(self.desk.model)
        changed = 0
        for row in self.rows:
            row.tell(None)
            changed += row.remark(_flash) and row is not apart_from
        self._tell()
        return changed

    def _tell(self) -> None:
        open_ones = (at for at, each in enumerate(self.kept) if each.number not in self.told)
        self.frame.tell_stats(sum(self.marks.mark(at).label == UNDECIDED for at in open_ones))
        self._undo.set_enabled(self.desk.box.last_answer(self.desk.number) is not None)

    # What others do meanwhile

    def _state(self) -> tuple[Any, ...]:
        model = self.desk.model
        return (self.desk.imports, None if model is None else (model.number, model.counts.seq, id(model)))

    async def _look(self) -> None:
        """See whether messages have come, or something was learned elsewhere."""
        if self._busy.locked() or self._state() == self._seen:
            return
        came = self._state()[0] != self._seen[0]
        self._seen = self._state()
        if came:
            await self.load()
        else:
            self.told = self.desk.box.told_among([each.number for each in self.kept], self.desk.number)
            self._remark()

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
        key = str(event.key)
        if key in ("j", "k"):
            self._move(1 if key == "j" else -1)
        elif event.action.repeat:
            return
        elif key in ("i", "n") and self.here is not None:
            await self.answer(self.here, IMPORTANT if key == "i" else NOT)
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
