"""What every page has: heading, ways to the other pages, Share, Export, theme; controls that change the state."""

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlencode

from nicegui import Client, app, background_tasks, events, ui

from rosenblatt.lab.computing import Share, computed
from rosenblatt.lab.elements.plane import Plane
from rosenblatt.lab.table import Session, column_of, default_of, from_query, to_query
from rosenblatt.web import layout
from rosenblatt.web.layout import Markup, html
from rosenblatt.web.theme import NEXT_THEME, THEMES, css

PAGES = (
    ("/", "Playground"),
    ("/game", "Game"),
    ("/gates", "Gates"),
    ("/networks", "Networks"),
    ("/lessons", "Lessons"),
)
LONGEST = 20_000  # letters of a link
TOOLS = {
    "move": ("open_with", "Move", "Drag points"),
    "plus": ("circle", "Put +1", "Put blue circles, y = +1"),
    "minus": ("square", "Put −1", "Put orange squares, y = −1"),
    "flip": ("swap_horiz", "Flip", "Flip the label of a point"),
    "erase": ("close", "Erase", "Erase a point"),
}


class Change(NamedTuple):
    """Something to do for a page in another thread."""

    make: Callable[[], Any]
    merge: bool = False  # whether it takes the place of the last entry of the history
    names: tuple[str, ...] = ()  # what it sets: while it waits, a later change of the same takes its place
    whole: bool = True  # False: a point is being dragged, and only plane and status are shown
    then: Callable[[Any], None] | None = None  # what to do with the result, instead of showing the page


S = TypeVar("S", bound=Session[Any])
MOST_WAITING = 50  # changes of a page that wait for the one being made
SLIDE = 1.0  # seconds within which changes of one control are one step of the history
SCRIPT = Path(layout.__file__).with_name("lab.js")
BUSY = "This lab is shared: it computes for others now. Try again in a few seconds."


class LabPage(Generic[S]):
    """A page that shows a session; every state that it showed is an entry of the browser's history.

    The event loop does nothing but build elements: :meth:`apply` and :meth:`ask` call the session in another thread,
    one call after the other, where :meth:`look` also computes what is shown. While one is made, the session is that
    thread's alone; on the event loop :attr:`state` is read only.
    """

    path: str
    table: type[Any]
    plane: Plane
    has_picture = True  # whether the plane shows the state
    passing = frozenset({"tool", "theme", "speed"})  # values whose change is nothing to undo

    def __init__(self, session: S, share: Share) -> None:
        self.session, self.share = session, share
        self.controls: dict[str, Any] = {}  # by the name of the value that each shows
        self.at = self.last = 0  # the present entry of the history, and the last one
        self.working = False  # whether a change is being made
        self._waiting: list[Change] = []
        self._recorded = self._essence()
        self._changed: tuple[tuple[str, ...], float] = ((), 0.0)
        self._merge = self._showing = False
        self._refused_at = 0.0
        self.took = 0.0  # seconds from the beginning of the last change to its being shown
        self._client = ui.context.client
        self.undo_button: Any = None
        self.redo_button: Any = None

    @classmethod
    async def open(cls, query: Mapping[str, str], share: Share) -> None:
        """Compute the state of a link in another thread, then draw its page."""
        state, problems = from_query(cls.table, query)

        def begun() -> tuple[S, Any]:
            session = cls.begin(state, share)
            return session, cls.look(session)

        session, view = await computed(share, begun)
        page = cls(session, share)
        page.draw(first=not query)
        tell_problems(problems)
        page.show(view)

    # What a page says about itself

    @classmethod
    def begin(cls, state: Any, share: Share) -> S:
        """Return the session of a state."""
        raise NotImplementedError("a page begins its own session")

    @staticmethod
    def look(session: Any, whole: bool = True) -> Any:
        """Compute what is shown of a session; where not ``whole``, only what follows a dragged point."""
        raise NotImplementedError("a page looks at its own session")

    def draw(self, first: bool) -> None:
        """Build the elements of the page, for a first visit or for a link."""
        raise NotImplementedError("a page draws its own elements")

    def show(self, view: Any) -> None:
        """Bring the elements to what was computed."""
        raise NotImplementedError("a page shows its own view")

    @staticmethod
    def code(session: Any) -> str:
        """Return Python code that makes what a session shows."""
        raise NotImplementedError("a page writes its own code")

    def export(self) -> None:
        """Offer the code, and the picture where there is one."""
        name = self.path.strip("/") or "playground"
        save = self.plane.save if self.has_picture else None
        self.ask(partial(self.code, self.session), lambda code: show_export(code, name, save))

    @property
    def state(self) -> Any:
        """The table of the page."""
        return self.session.state

    @property
    def address(self) -> str:
        """Where the present state is: path and query."""
        link = self.session.link
        return self.path + (f"?{link}" if link else "")

    # Changes

    @property
    def allowed(self) -> bool:
        """Whether this page may compute now: in a lab for a class each visitor has a share of the time."""
        if self.share.allowed():
            return True
        self._refuse(BUSY)
        return False

    def _refuse(self, why: str) -> None:
        """Say why nothing is done, at most once a second."""
        now = time.monotonic()
        if now - self._refused_at > 1.0:
            self._refused_at = now
            ui.notify(why, type="info")

    def set(self, **values: Any) -> None:
        """Change the state and show it; a value that is refused is reported, and changes nothing."""
        names, when = tuple(sorted(values)), time.monotonic()
        merge = names == self._changed[0] and when - self._changed[1] < SLIDE
        self._changed = (names, when)
        self.apply(partial(self.session.set, **values), merge, names)

    def chosen(self, name: str, value: Any) -> None:
        """Change a value as a control says; what :meth:`record` brings to a control is no choice."""
        if not self._showing:
            self.set(**{name: value})

    def apply(
        self,
        make: Callable[[], str | None],
        merge: bool = False,
        names: tuple[str, ...] = (),
        whole: bool = True,
    ) -> None:
        """Make a change in another thread and show it; what it returns is a warning to the visitor.

        With ``merge`` it takes the place of the last entry of the history.
        """
        self._append(Change(make, merge, names, whole))

    def ask(self, make: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Compute something in another thread, after the changes that wait, and call a function with it."""
        self._append(Change(make, then=then))

    def _append(self, change: Change) -> None:
        if not self.allowed:
            return
        last = self._waiting[-1] if self._waiting else None
        if last is not None and change.names and last.names == change.names:
            self._waiting[-1] = change._replace(merge=last.merge and change.merge)
        elif len(self._waiting) >= MOST_WAITING:
            self._refuse(f"{MOST_WAITING} changes of this page are waiting: this one is left out.")
        else:
            self._waiting.append(change)
        if not self.working:
            self.working = True
            background_tasks.create(self._make_changes())

    async def _make_changes(self) -> None:
        try:
            while self._waiting and self._client.id in Client.instances:
                change, began = self._waiting.pop(0), time.perf_counter()
                result, view = await computed(self.share, partial(self._make, change))
                if self._client.id not in Client.instances:
                    return  # the visitor left
                with self._client:
                    if change.then is not None and not isinstance(result, ValueError):
                        change.then(result)
                    elif result:
                        ui.notify(sentence(str(result)), type="warning")
                    if change.then is None:
                        self._merge = change.merge
                        self.show(view)
                        self._merge = False
                self.took = time.perf_counter() - began
        finally:
            self.working = False

    def _make(self, change: Change) -> tuple[Any, Any]:
        """Make a change and look at the session; in another thread than the event loop's."""
        try:
            result = change.make()
        except ValueError as error:
            result = error
        return result, None if change.then is not None else self.look(self.session, change.whole)

    # History

    def _essence(self) -> str:
        """Return the link without the values that are nothing to undo."""
        state = self.session.state
        names = [name for name in self.passing if hasattr(state, name)]
        return to_query(replace(state, **{name: default_of(type(state), name) for name in names}))

    def record(self) -> None:
        """Put the present state into the address line, as a new entry of the history where it is another state."""
        essence = self._essence()
        push = essence != self._recorded and not self._merge
        self._recorded = essence
        if push:
            self.at = self.last = self.at + 1
        mark = {"lab": {"page": self._client.id, "at": self.at}}
        self._client.run_javascript(
            f"lab.show({json.dumps(self.address)}, {json.dumps(push)}, {json.dumps(mark)})"
        )
        if not self._waiting:  # a control that was moved on stays where it is
            self._bring_controls()
        if self.undo_button is not None:
            self.undo_button.set_enabled(self.at > 0)
            self.redo_button.set_enabled(self.at < self.last)

    def _bring_controls(self) -> None:
        """Bring every control to the value of the state that it shows."""
        self._showing = True
        try:
            for name, box in self.controls.items():
                value = getattr(self.state, name)
                shown = tuple(box.value) if isinstance(box.value, list) else box.value
                if shown != value:
                    box.value = list(value) if isinstance(value, tuple) else value
        finally:
            self._showing = False

    def undo(self) -> None:
        """Go back by one entry, as the browser's Back does; a change that is being made is undone too."""
        self._after_changes(lambda: ui.navigate.back() if self.at > 0 else None)

    def redo(self) -> None:
        """Go forward by one entry."""
        self._after_changes(lambda: ui.navigate.forward() if self.at < self.last else None)

    def _after_changes(self, act: Callable[[], None]) -> None:
        if self.working:
            self.ask(lambda: None, lambda _: act())
        else:
            act()

    def restore(self, query: str, page: str, at: int) -> None:
        """Show the state of an entry of the history."""
        state, _ = from_query(type(self.state), dict(parse_qsl(query[:LONGEST], keep_blank_values=True)))
        values = {name: value for name, value in vars(state).items() if name not in self.passing}

        def restored() -> None:
            if page == self._client.id:
                self.at = min(max(0, at), self.last)
            else:  # an entry of before the page was loaded again
                self.at = self.last = 0
            self.session.set(**values)

        self._changed = ((), 0.0)
        self.apply(restored, merge=True)


def head(
    page: LabPage[Any] | None, path: str, theme: str, controls: Callable[[], None] | None = None
) -> None:
    """Draw the heading, and beside the page a drawer with its controls; on small screens a button opens it."""
    ui.add_css(css())
    ui.colors(primary="#0072B2", info="#00567F", positive="#00684C", negative="#A83F00", warning="#F2C037")
    ui.add_head_html(f"<script>{SCRIPT.read_text(encoding='utf-8')}</script>")
    dark = ui.dark_mode(THEMES[theme])
    with ui.header().classes("items-center q-pa-none"), ui.element("div").classes("lab-bar"):
        if controls is not None:
            opener = ui.button(icon="tune", color=None).props("flat dense aria-label='Controls'")
            opener.classes("lab-only-narrow lab-quiet").mark("controls")
        ui.link("rosenblatt lab", "/").classes("lab-brand")
        with ui.element("nav").classes("lab-nav").props("aria-label=Pages"):
            for target, name in PAGES:
                here = "here" if target == path or (target != "/" and path.startswith(target)) else ""
                carried = f"?{urlencode({'theme': theme})}" if theme != "auto" else ""
                ui.link(name, target + carried).classes(here).props("aria-current=page" if here else "")
        if page is not None:
            _share_and_export(page)
        _theme_button(page, dark, theme)
    if controls is not None:
        with ui.left_drawer(value=None, bordered=False).props("width=290 breakpoint=1099") as drawer:
            controls()
        opener.on_click(drawer.toggle)


def _share_and_export(page: LabPage[Any]) -> None:
    def came_back(event: events.GenericEventArguments) -> None:
        page.restore(str(event.args["query"]), str(event.args["page"]), int(event.args["at"]))

    ui.on("lab_history", came_back)
    page.undo_button = _head_button("Undo", "undo", page.undo, "Ctrl-Z")
    page.redo_button = _head_button("Redo", "redo", page.redo, "Ctrl-Shift-Z")
    _head_button("Share", "link", partial(share, page))
    _head_button("Export", "download", page.export)


def _head_button(text: str, icon: str, act: Callable[[], None], key: str = "") -> Any:
    element = ui.button(text, icon=icon, on_click=act, color=None)
    element.props(f"flat dense no-wrap aria-label={text}").classes("lab-quiet lab-icon-when-narrow q-px-sm")
    if key:
        with element:
            ui.tooltip(f"Key: {key}")
    return element


def share(page: LabPage[Any]) -> None:
    """Copy the link to the present state, and say who can open it."""
    base = getattr(app.state, "public_address", None)
    ui.run_javascript(f"lab.share({json.dumps(page.address)}, {json.dumps(base)})")
    if base is None:
        ui.notify(
            "The link to this very state is copied. It is local: it opens on this computer, while the lab runs. "
            "For others, start the lab with --host 0.0.0.0.",
            type="info",
            timeout=8000,
            close_button="Close",
        )
        return
    ui.notify(
        "Copied: the link to this very state opens for everybody who has joined this lab.", type="positive"
    )


def _theme_button(page: LabPage[Any] | None, dark: Any, theme: str) -> None:
    now = {"theme": theme}

    def turn() -> None:
        now["theme"] = NEXT_THEME[now["theme"]]
        dark.value = THEMES[now["theme"]]
        turner.props(f"aria-label='Theme: {now['theme']}'")
        if page is not None:
            page.set(theme=now["theme"])

    turner = ui.button(icon="contrast", on_click=turn, color=None).props(
        f"flat dense aria-label='Theme: {theme}'"
    )
    turner.classes("lab-quiet q-ml-xs")
    with turner:
        ui.tooltip("Light, dark, or as the system has it")


def draw_message(path: str, title: str, text: str) -> None:
    """Draw a page that only says something, instead of the one at a path."""
    head(None, path, "auto")
    with ui.element("main").classes("lab-main one"), ui.element("section").classes("lab-card"):
        ui.label(title).props("role=heading aria-level=1").classes("text-h5")
        ui.label(text)
        ui.link("To the playground", "/").classes("lab-link")


def sentence(text: str) -> str:
    """Begin a message with a capital letter; names in quotes stay as they are.

    >>> sentence("erase some first")
    'Erase some first'
    """
    return text[:1].upper() + text[1:]


def tell_problems(problems: list[str]) -> None:
    """Say what of a link could not be read."""
    for problem in problems:
        ui.notify(f"In the link: {problem}. The rest of the link is used.", type="warning", timeout=8000)


def show_export(code: str, name: str, save: Callable[[str, str], None] | None) -> None:
    """Offer the picture, where it can be saved, and the Python code that reproduces it."""
    with ui.dialog() as dialog, ui.element("div").classes("lab-dialog"):
        html(Markup("<h2 style='font-size:20px;margin:0 0 10px'>Export</h2>"))
        with ui.element("div").classes("lab-tools"):
            if save is not None:
                for kind in ("svg", "png"):
                    button(f"Picture, {kind.upper()}", "image", partial(save, kind, name))
            button("Code, .py", "code", lambda: ui.download.content(code, f"{name}.py", "text/x-python"))
            button("Close", "close", dialog.close)
        ui.label("Python that reproduces this state with the library:").classes("q-mt-md")
        html(Markup('<pre data-part="code">{}</pre>').format(code)).classes("lab-code")
    dialog.open()


def shortcuts(page: LabPage[Any], act: Callable[[str], None] | None = None) -> None:
    """Undo and redo by key, and call a function with the name of every other key; not in inputs or behind a dialog."""
    client = ui.context.client

    def pressed_key(event: events.KeyEventArguments) -> None:
        held, name = event.modifiers, str(event.key.name)
        if not event.action.keydown:
            return
        if any(isinstance(element, ui.dialog) and element.value for element in client.elements.values()):
            return
        if (held.ctrl or held.meta) and not held.alt:
            if name in ("Z", "y") or (name == "z" and held.shift):
                page.redo()
            elif name == "z":
                page.undo()
        elif not held.alt and act is not None:
            act(name)

    ui.keyboard(pressed_key, ignore=["input", "select", "textarea"])


# Tables


def minus(text: str) -> str:
    """Write numbers with a real minus.

    >>> minus("(-1, 2)")
    '(−1, 2)'
    """
    return text.replace("-", "−")


def mark(right: bool) -> str:
    """Return the mark of what is right, or wrong."""
    return '<span class="lab-right">✓</span>' if right else '<span class="lab-wrong">✗</span>'


def html_table(
    part: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], words: Collection[int] = ()
) -> str:
    """Return a table of numbers as HTML; columns of words stand on the left side of their cells.

    >>> html_table("truth", ["x", "y"], [[0, 1]]).count("<td>")
    2
    """

    def cells(tag: str, values: Sequence[Any]) -> str:
        kinds = (" class=word" if k in words else "" for k in range(len(values)))
        return "".join(f"<{tag}{kind}>{value}</{tag}>" for kind, value in zip(kinds, values, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', heads)}</tr></thead>"
    return f'<table class="lab-table" data-part="{part}">{head}<tbody>{body}</tbody></table>'


# Controls


def choice(page: LabPage[Any], name: str, label: str, names: Mapping[str, str]) -> Any:
    """A list of names, one of which the state holds."""
    box = ui.select(dict(names), value=getattr(page.state, name), label=label)
    box.props("dense outlined options-dense").classes("w-full").mark(name)

    def chosen(event: Any) -> None:
        if event.value is not None:
            page.chosen(name, event.value)

    box.on_value_change(chosen)
    page.controls[name] = box
    return box


def slider(
    page: LabPage[Any], name: str, label: str, step: float, words: Mapping[float, str] | None = None
) -> Any:
    """A number of the state, in the range of its column; some values may have words."""

    def write(value: float) -> str:
        return (words or {}).get(value, minus(f"{value:g}"))

    kind = column_of(type(page.state), name)
    whole = isinstance(default_of(type(page.state), name), int)
    with ui.element("div").classes("lab-slider"):
        ui.label(label)
        shown = ui.label(write(getattr(page.state, name)))
        bar = ui.slider(min=kind.low, max=kind.high, step=step, value=getattr(page.state, name))
        bar.props(f"aria-label='{label}'").mark(name)

    def moved(event: Any) -> None:
        value = int(event.value) if whole else float(event.value)
        shown.text = write(value)
        page.chosen(name, value)

    bar.on_value_change(moved)
    page.controls[name] = bar
    return bar


def show_slider(bar: Any, on: bool) -> None:
    """Show a slider with its label, or hide both."""
    bar.parent_slot.parent.set_visibility(on)


def main_button(text: str, icon: str, act: Callable[[], None]) -> Any:
    """The button that a newcomer should press."""
    element = ui.button(text, icon=icon, on_click=act).props("no-wrap unelevated :ripple=false")
    return element.classes("lab-first")


def toolbar(label: str, kind: str = "lab-tools") -> Any:
    """A row of buttons that belong together."""
    return ui.element("div").classes(f"{kind} q-mb-sm").props(f"role=toolbar aria-label='{label}'")


def button(text: str, icon: str, act: Callable[[], None], key: str = "") -> Any:
    """A quiet button; its key is said where there is one."""
    element = ui.button(text, icon=icon, on_click=act, color=None).props("flat no-wrap :ripple=false")
    element.classes("lab-quiet")
    if key:
        with element:
            ui.tooltip(f"Key: {key}")
    return element


def editing_tools(page: LabPage[Any]) -> dict[str, Any]:
    """The tools for points, by name; one of them is the state's."""
    tools = {}
    for name, (icon, label, hint) in TOOLS.items():
        tool = button(label, icon, partial(page.set, tool=name))
        tool.classes(f"lab-tool-{name}").props(f"aria-label='{label}'")
        with tool:
            ui.tooltip(hint)
        tools[name] = tool
    return tools


def marked(element: Any, on: bool, name: str = "lab-tool-on") -> None:
    """Give an element a class, or take it away; one that has it already is not sent again."""
    if (name in element.classes) == on:
        return
    if on:
        element.classes(add=name)
    else:
        element.classes(remove=name)


def pressed(element: Any, on: bool) -> None:
    """Show a button as pressed, to eyes and to screen readers."""
    marked(element, on)
    said = "true" if on else "false"
    if element.props.get("aria-pressed") != said:
        element.props(f"aria-pressed={said}")
