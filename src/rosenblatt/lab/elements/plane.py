"""The plane as an element of a page: draws a scene, and tells what was done to its points."""

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from nicegui.element import Element

from rosenblatt.lab.scene import Scene

Handler = Callable[[Any], None]
DETAILS = {
    "add": "xyl",
    "move": "xyi",
    "flip": "i",
    "erase": "i",
    "aim": "xy",
}  # what an edit brings, by letters


class Edit(NamedTuple):
    """What was done on a plane; what does not come from its script is None."""

    what: str
    done: bool  # False: a point is still being dragged
    details: dict[str, Any]

    @classmethod
    def of(cls, event: Any) -> "Edit | None":
        """Read an event of a browser.

        >>> Edit.of({"what": "move", "i": 2, "x": 1, "y": 0.5, "done": False})
        Edit(what='move', done=False, details={'x': 1.0, 'y': 0.5, 'i': 2})
        >>> Edit.of({"what": "add", "x": float("inf"), "y": 0.0, "label": 1}) is None
        True
        """
        wanted = DETAILS.get(str(event.get("what"))) if isinstance(event, dict) else None
        if wanted is None:
            return None
        details: dict[str, Any] = {}
        for name in ("x", "y"):
            value = event.get(name)
            if name in wanted and isinstance(value, int | float) and math.isfinite(value):
                details[name] = float(value)
        for name in ("i", "label"):
            if name[0] in wanted and isinstance(event.get(name), int):
                details[name] = event[name]
        if len(details) < len(wanted):
            return None
        return cls(event["what"], bool(event.get("done", True)), details)

    @property
    def names(self) -> tuple[str, ...]:
        """What it sets, where a later one makes it superfluous."""
        return (self.what, str(self.details.get("i"))) if self.what in ("move", "aim") else ()


class Plane(Element, component="plane.js"):  # type: ignore[call-arg, misc]
    """Draws a scene; with a tool, points can be put, dragged, flipped and erased by pointer, touch and keys.

    Dragging is drawn in the browser at once; where a point went is reported at most every 50 ms, and when it is let go.
    """

    def __init__(
        self, scene: Scene, *, label: str, tool: str = "", on_edit: Handler | None = None, small: bool = False
    ) -> None:
        super().__init__()
        self._draw(scene)
        self._props["tool"] = tool
        self._props["label"] = label
        self._props["small"] = small
        if on_edit is not None:
            self.on("edit", lambda event: on_edit(event.args))

    def show(self, scene: Scene, tool: str | None = None) -> None:
        """Draw another scene."""
        self._draw(scene)
        if tool is not None:
            self._props["tool"] = tool
        self.update()

    def _draw(self, scene: Scene) -> None:
        self.scene = scene
        # As text: NiceGUI and Vue would watch every number of it for changes, which costs more than drawing it.
        self._props["written"] = json.dumps(scene)

    def save(self, kind: str, name: str) -> None:
        """Have the browser save the picture as ``svg`` or ``png``."""
        self.run_method("save", kind, name)
