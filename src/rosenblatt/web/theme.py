"""The look of all pages: the table of ``rosenblatt.plots.style`` as CSS, for light and dark."""

from pathlib import Path

from rosenblatt.plots.style import BLUE, DARK, GREEN, LIGHT, VERMILLION, Theme, for_text

THEMES = {"auto": None, "light": False, "dark": True}  # what NiceGUI's dark mode is set to
NEXT_THEME = {"auto": "dark", "dark": "light", "light": "auto"}


def css() -> str:
    """Return the style sheet of every page: colours of the two themes, then ``lab.css``."""
    light = _variables(LIGHT, panel="#F4F6F8", raised="#FFFFFF")
    dark = _variables(DARK, panel="#0D1115", raised="#1B2128")
    rest = (Path(__file__).parent / "lab.css").read_text(encoding="utf-8")
    return f":root {{{light}}}\nbody.body--dark {{{dark}}}\n{rest}"


def _variables(theme: Theme, panel: str, raised: str) -> str:
    on_panel = theme._replace(paper=raised)
    return (
        f"--paper:{theme.paper};--ink:{theme.ink};--faint:{theme.faint};--grid:{theme.grid};--panel:{panel};"
        f"--raised:{raised};--wrong-text:{for_text(VERMILLION, on_panel)};--right-text:{for_text(GREEN, on_panel)};"
        f"--link:{for_text(BLUE, on_panel)};"
    )
