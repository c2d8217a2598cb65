"""A table drawn as rows of text, for votes and the ledger."""

from collections.abc import Sequence
from typing import Any

from rosenblatt.plots.style import SMALL, TEXT, Theme


def draw_rows(
    ax: Any,
    theme: Theme,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    places: Sequence[float],
    align: Sequence[str],
    colours: Sequence[Sequence[str | None]] | None = None,
) -> None:
    """Draw rows of text below their headings; ``places`` are x coordinates from 0 to 1, row ``k`` is at y = k."""
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(len(rows) + 0.6, -0.6)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    for head, place, side in zip(heads, places, align, strict=True):
        ax.text(place, 0, head, color=theme.faint, fontsize=SMALL, ha=side, va="center")
    ax.plot([0, 1], [0.5, 0.5], color=theme.faint, lw=1.0)
    for number, row in enumerate(rows, start=1):
        for column, (cell, place, side) in enumerate(zip(row, places, align, strict=True)):
            own = colours[number - 1][column] if colours else None
            ax.text(
                place,
                number,
                cell,
                color=own or theme.ink,
                fontsize=TEXT,
                ha=side,
                va="center",
                family="DejaVu Sans Mono" if side == "right" else None,
            )
        ax.plot([0, 1], [number + 0.5, number + 0.5], color=theme.grid, lw=0.7)
