"""Colours, markers and the two themes of all plots, independent of matplotlib."""

from collections.abc import Sequence
from typing import Any, NamedTuple

BLUE, ORANGE, GREEN, PINK, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"
VERMILLION = "#D55E00"
NORMAL_VECTOR = GREEN
UPDATE = PINK
MISTAKE = VERMILLION

TEXT = 12.0  # points: 16 px at 96 to the inch
SMALL = 11.0  # smallest size
TITLE = 14.0
TINT = 0.08  # of a half-plane, in its class colour
LINE = 2.0
MARK = 46.0  # area of a point
RING = 150.0  # area of a ring around one


class Theme(NamedTuple):
    """The colours other than those of classes."""

    name: str
    paper: str
    ink: str
    faint: str
    grid: str


LIGHT = Theme("light", "#FFFFFF", "#1B1F24", "#57606A", "#DDE2E7")
DARK = Theme("dark", "#14181D", "#E6EDF3", "#A4AFBA", "#333A42")
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


class ClassLook(NamedTuple):
    """Colour and marker of the examples of a class."""

    colour: str
    mark: str  # matplotlib's
    word: str  # name of the mark, for descriptions
    hatch: str = ""


_IN_ORDER = (
    ClassLook(BLUE, "o", "circle"),
    ClassLook(ORANGE, "s", "square"),
    ClassLook(GREEN, "^", "triangle"),
    ClassLook(PINK, "D", "diamond"),
    ClassLook(SKY, "p", "pentagon"),
)
_HATCHES = ("///", "\\\\\\", "xxx", "...")


def class_looks(classes: Sequence[Any]) -> list[ClassLook]:
    """Return the look of every class: of two, the second is +1 and comes first in the table.

    >>> [look.word for look in class_looks([-1, 1])], [look.word for look in class_looks("abc")]
    (['square', 'circle'], ['circle', 'square', 'triangle'])
    """
    if len(classes) == 2:
        return [_IN_ORDER[1], _IN_ORDER[0]]
    looks = []
    for place in range(len(classes)):
        again, own = divmod(place, len(_IN_ORDER))
        hatch = _HATCHES[(again - 1) % len(_HATCHES)] if again else ""
        looks.append(_IN_ORDER[own]._replace(hatch=hatch))
    return looks


def theme_of(theme: "str | Theme") -> Theme:
    """Return a theme by its name.

    >>> theme_of("dark").paper
    '#14181D'
    """
    if isinstance(theme, Theme):
        return theme
    if theme not in THEMES:
        raise ValueError(f"theme must be one of {', '.join(THEMES)}, got {theme!r}")
    return THEMES[theme]


def for_text(colour: str, theme: Theme) -> str:
    """Mix a colour with the ink until text in it has a contrast of 4.5 on the paper.

    >>> for_text(ORANGE, LIGHT) != ORANGE, for_text(LIGHT.ink, LIGHT) == LIGHT.ink.lower()
    (True, True)
    """
    own, ink = _rgb(colour), _rgb(theme.ink)
    for step in range(21):
        share = step / 20
        mixed = [(1 - share) * a + share * b for a, b in zip(own, ink, strict=True)]
        if _contrast(mixed, _rgb(theme.paper)) >= 4.5:
            break
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in mixed)


def _rgb(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def _contrast(one: list[float], other: list[float]) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""

    def luminance(rgb: list[float]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
