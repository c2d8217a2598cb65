"""The ledger as a table: the example and the change of the weights in each update."""

from typing import Any

import numpy as np

from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.rows import draw_rows
from rosenblatt.plots.style import MISTAKE, Theme, class_looks, for_text

MOVED_BETWEEN = ("added to true", "taken from")  # heads, with three classes or more


def ledger(clf: Any, *, last: int = 15, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw the last updates in the ledger of a fitted ``Perceptron``; a cross marks a mistake."""
    entries = clf.ledger_
    listed = entries[-last:]
    ax, look = new_axes(ax, theme, size=(9.0, 1.4 + 0.36 * max(len(listed), 1)))
    classes = [str(label) for label in clf.classes_]
    looks = class_looks(classes)
    several = len(classes) > 2
    rows, colours = [], []
    for number, line in enumerate(listed, start=len(entries) - len(listed) + 1):
        truth = _truth(line, len(classes))
        wrong = line["score"] <= 0.0
        rows.append(
            [
                f"{number:,}",
                f"{int(line['row']):,}",
                _short(classes[truth]),
                f"{line['score'] + 0.0:+.4g}",
                "✕" if wrong else "",
                *(_moved_between(line, classes) if several else [_update_text(line)]),
                f"{np.sqrt(line['sqnorm']):.4g}",
            ]
        )
        moved = [None, None] if several else [None]
        colours.append([look.faint, None, for_text(looks[truth].colour, look), None, MISTAKE, *moved, None])
    draw_rows(
        ax,
        look,
        [
            "#",
            "row",
            "true class",
            "y·score",
            "",
            *(MOVED_BETWEEN if several else ["what moved"]),
            "‖w‖ after",
        ],
        rows,
        (0.07, 0.15, 0.18, 0.49, 0.515, 0.54, 0.74, 1.0)
        if several
        else (0.07, 0.17, 0.21, 0.50, 0.54, 0.59, 1.0),
        ("right", "right", "left", "right", "center", "left", *(["left"] if several else []), "right"),
        colours,
    )
    titled(
        ax,
        look,
        f"Ledger: {len(entries):,} updates"
        + (f", the last {len(listed)}" if len(listed) < len(entries) else ""),
    )
    return ax


def _truth(line: Any, n_classes: int) -> int:
    if n_classes == 2:
        return int(line["tau"] > 0.0)
    return int(line["target"])


def _update_text(line: Any) -> str:
    return f"w {'+' if line['tau'] > 0 else '−'}= {_times_example(line)}"


def _moved_between(line: Any, classes: list[str]) -> list[str]:
    """Return what was added to the weights of the true class, and from which class it was subtracted."""
    return [_times_example(line), _short(classes[line["rival"]]) if line["rival"] >= 0 else ""]


def _times_example(line: Any) -> str:
    size = abs(float(line["tau"]))
    times = "" if size == 1.0 else f"{size:.3g} "
    return f"{times}x" + "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(int(line["row"])))


def _short(label: str, limit: int = 11) -> str:
    return label if len(label) <= limit else label[: limit - 1] + "…"
