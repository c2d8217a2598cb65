"""The result of a comparison of learners as a table (terminal, notebook, Markdown) and a plot."""

from dataclasses import dataclass, field
from html import escape
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.learner.estimate import percent
from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.style import BLUE, TEXT, Theme


class Row(NamedTuple):
    """One learner."""

    learner: str
    accuracy: float = nan  # on held-out rows, the mean of the folds
    spread: float = nan  # standard deviation of the folds
    mistakes: int = 0  # misclassified held-out rows
    perceptron_loss: float = nan  # means over all rows, at ‖w‖ = 1
    hinge_loss: float = nan
    logistic_loss: float = nan
    margin: float = nan  # min y f(x)/‖w‖ over all rows; negative with errors
    seconds: float = nan  # of one fit on all rows
    note: str = ""  # error of a learner that could not be fitted


HEADS = ("learner", "accuracy", "±", "mistakes", "perceptron", "hinge", "logistic", "margin", "seconds")


@dataclass(frozen=True)
class Comparison:
    """Learners on the same data, best first. ``models`` holds each of them fitted on all rows."""

    rows: tuple[Row, ...]
    models: dict[str, Any] = field(repr=False)
    n_rows: int
    n_features: int
    classes: tuple[Any, ...]
    folds: int

    @property
    def best(self) -> Any:
        """The fitted model of the first row."""
        if not self.models:
            raise ValueError(
                "no learner could be fitted to these data: " + "; ".join(row.note for row in self.rows)
            )
        return self.models[self.rows[0].learner]

    def cells(self) -> list[list[str]]:
        """Return the cells of the table as text; a learner that failed has its note in the second cell."""
        return [_cells(row) for row in self.rows]

    def to_frame(self) -> Any:
        """Return a pandas data frame, one row per learner."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        return pd.DataFrame([row._asdict() for row in self.rows]).set_index("learner")

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        lines = ["| " + " | ".join(HEADS) + " |", "|---" + "|---:" * (len(HEADS) - 1) + "|"]
        for cells in self.cells():
            padded = cells + [""] * (len(HEADS) - len(cells))
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in padded) + " |")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as a dict for JSON, with None for missing figures."""
        rows = [
            {
                key: None if isinstance(value, float) and isnan(value) else value
                for key, value in row._asdict().items()
            }
            for row in self.rows
        ]
        return {
            "rows": self.n_rows,
            "features": self.n_features,
            "classes": [str(label) for label in self.classes],
            "folds": self.folds,
            "learners": rows,
        }

    def plot(self, *, ax: Any = None, theme: str = "light") -> Any:
        """Draw the accuracies with their spread, and return the axes."""
        return comparison(self, ax=ax, theme=theme)

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        text = StringIO()
        Console(file=text, width=120).print(self)
        return text.getvalue()

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=self._title(), title_justify="left", box=None, pad_edge=False)
        for head in HEADS:
            table.add_column(head, justify="left" if head == "learner" else "right", no_wrap=True)
        for row, cells in zip(self.rows, self.cells(), strict=True):
            table.add_row(*(cells if not row.note else cells[:1]))
        for row in self.rows:
            if row.note:
                table.caption = "\n".join(f"{each.learner}: {each.note}" for each in self.rows if each.note)
                table.caption_justify = "left"
        return table

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(head)}</th>" for head in HEADS)
        body = []
        for row, cells in zip(self.rows, self.cells(), strict=True):
            rest = (
                f'<td colspan="{len(HEADS) - 1}">{escape(row.note)}</td>'
                if row.note
                else "".join(f'<td style="text-align:right">{escape(cell)}</td>' for cell in cells[1:])
            )
            body.append(f"<tr><td>{escape(row.learner)}</td>{rest}</tr>")
        caption = f"<caption>{escape(self._title())}</caption>"
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>"

    def _title(self) -> str:
        return (
            f"{self.n_rows:,} rows, {self.n_features:,} features, {len(self.classes)} classes; "
            f"{self.folds} folds; losses and margin at ‖w‖ = 1"
        )


def _cells(row: Row) -> list[str]:
    if row.note:
        return [row.learner, row.note]
    numbers = (row.perceptron_loss, row.hinge_loss, row.logistic_loss, row.margin)
    return [
        row.learner,
        percent(row.accuracy, 2, short=True),
        percent(row.spread, 2, short=True),
        f"{row.mistakes:,}",
        *("" if isnan(number) else f"{number:.4g}" for number in numbers),
        f"{row.seconds:.3f}" if row.seconds >= 0.001 else f"{row.seconds:.1e}",
    ]


def comparison(table: Comparison, *, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw the held-out accuracy of every learner of a ``Comparison``, one standard deviation either way."""
    rows = [row for row in table.rows if not row.note][::-1]
    if not rows:
        raise ValueError("no learner could be measured: there is nothing to draw")
    ax, look = new_axes(ax, theme, size=(8.0, 1.5 + 0.5 * len(rows)))
    places = np.arange(len(rows))
    accuracy = np.array([row.accuracy for row in rows])
    spread = np.array([row.spread for row in rows])
    lowest, highest = np.maximum(accuracy - spread, 0.0), np.minimum(accuracy + spread, 1.0)
    ax.hlines(places, lowest, highest, color=BLUE, lw=2, alpha=0.6)
    ax.plot(accuracy, places, "o", color=BLUE, ms=9, gid="accuracy")
    low = max(0.0, float(lowest.min()) - 0.03)
    ax.set_xlim(low, float(highest.max()) + 0.14 * (1.02 - low))
    for place, row in enumerate(rows):
        ax.annotate(
            percent(row.accuracy, short=True),
            (float(highest[place]), place),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=look.ink,
            fontsize=TEXT,
        )
    ax.set_yticks(places, [row.learner for row in rows])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.tick_params(axis="y", length=0, labelsize=TEXT)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}" if value <= 1.0 else "")
    ax.grid(axis="x", color=look.grid, lw=0.8)
    ax.spines["left"].set_visible(False)
    titled(ax, look, f"Held-out accuracy, {table.folds} folds", "accuracy ± one standard deviation")
    return ax
