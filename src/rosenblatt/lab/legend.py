"""What the marks of the plane mean, as a line below it."""

from rosenblatt.plots.style import BLUE, GREEN, MISTAKE, ORANGE, PINK


def _mark(shape: str, width: int = 18) -> str:
    return f'<svg width="{width}" height="18" aria-hidden="true">{shape}</svg>'


def _ring(colour: str) -> str:
    return _mark(f'<circle cx="9" cy="9" r="7.5" fill="none" stroke="{colour}" stroke-width="2.2"/>')


def _arrow(colour: str) -> str:
    line = f'<path d="M1,9h18" stroke="{colour}" stroke-width="3"/>'
    return _mark(f'{line}<path d="M17,4l9,5l-9,5z" fill="{colour}"/>', 27)


_PARTS = {
    "plus": (_mark(f'<circle cx="9" cy="9" r="6.5" fill="{BLUE}"/>'), "y = +1"),
    "minus": (_mark(f'<rect x="3" y="3" width="12" height="12" fill="{ORANGE}"/>'), "y = −1"),
    "wrong": (_ring(MISTAKE), "misclassified"),
    "margin": (_ring("var(--ink)"), "on the margin"),
    "halo": (_mark('<circle cx="9" cy="9" r="8" fill="var(--ink)" opacity=".3"/>'), "being looked at"),
    "normal": (_arrow(GREEN), "w"),
    "update": (_arrow(PINK), "the update"),
    "secret": (_arrow(PINK), "u, hidden from B"),
    "guess": (_arrow(GREEN), "v, what B believes"),
}


def legend(*parts: str) -> str:
    """Return the marks with their meanings.

    >>> legend("plus").endswith("y = +1</span>")
    True
    """
    return "".join(f"<span>{_PARTS[part][0]} {_PARTS[part][1]}</span>" for part in parts)
