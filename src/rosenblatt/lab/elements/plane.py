"""The plane as an element of a page: draws a scene, and tells what was done to its points."""

import json
from collections.abc import Callable
from typing import Any

from nicegui import ui
from nicegui.element import Element

from rosenblatt.lab.scene import Scene

Handler = Callable[[dict[str, Any]], None]


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


def focus(plane: Plane) -> None:
    """Put the keyboard on a plane."""
    ui.run_javascript(f"getElement({plane.id}).$el.querySelector('svg').focus()")
