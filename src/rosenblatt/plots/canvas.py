"""Axes in the style of a theme, titles, legends and number formats."""

from typing import Any

from rosenblatt.plots.style import SMALL, TEXT, TITLE, Theme, theme_of

PIP = 'pictures need matplotlib: pip install "rosenblatt[plots]"'


def new_axes(
    ax: Any, theme: "str | Theme", size: tuple[float, float] = (7.0, 5.4), columns: int = 1
) -> tuple[Any, Theme]:
    """Return the given axes or new ones, ``columns`` of them side by side, in the style of the theme."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(PIP) from error
    look = theme_of(theme)
    if ax is None:
        _, ax = plt.subplots(1, columns, figsize=size, layout="constrained", facecolor=look.paper)
    for each in ax if columns > 1 else [ax]:
        dress(each, look)
    return ax, look


def dress(ax: Any, theme: Theme) -> None:
    """Apply the colours and sizes of a theme to axes."""
    figure = ax.get_figure()
    figure.set_facecolor(theme.paper)
    ax.set_facecolor(theme.paper)
    ax.tick_params(colors=theme.faint, labelsize=SMALL, labelcolor=theme.ink)
    for side, spine in ax.spines.items():
        spine.set_color(theme.faint)
        spine.set_visible(side in ("left", "bottom"))
    ax.set_axisbelow(True)


def titled(ax: Any, theme: Theme, title: str, x: str = "", y: str = "") -> None:
    """Set the title and the labels of the axes."""
    ax.set_title(title, color=theme.ink, fontsize=TITLE, loc="left", pad=10)
    ax.set_xlabel(x, color=theme.ink, fontsize=TEXT)
    ax.set_ylabel(y, color=theme.ink, fontsize=TEXT)


def keyed(ax: Any, theme: Theme, columns: int = 3, below: float = -0.16) -> None:
    """Put the legend below the axes."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    key = ax.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, below),
        ncol=min(columns, len(handles)),
        frameon=False,
        fontsize=SMALL,
        labelcolor=theme.ink,
        handletextpad=0.5,
        columnspacing=1.4,
    )
    key.set_in_layout(True)


def in_words(number: float) -> str:
    """Format a number briefly.

    >>> in_words(1234567.0), in_words(0.03456), in_words(12.0)
    ('1,234,567', '0.0346', '12')
    """
    if abs(number) >= 1e9:
        return f"{number:.3g}"
    if abs(number) >= 100 or number == round(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"
