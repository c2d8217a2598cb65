"""Output of commands: tables and numbers for people, JSON for programs, notes on standard error."""

import math
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rosenblatt.cli.options import STANDARD_INPUT

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rosenblatt.data.errors import SkippedLines

BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 40
CONTROL = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]"
)  # and bidi marks
MOST_LINES = 10  # of skipped lines that are listed one by one
MISTAKE, RIGHT = "#D55E00", "#009E73"  # vermillion and green of Okabe and Ito


def printable(text: str) -> str:
    r"""Return a text that a terminal shows and does not obey: control characters become U+FFFD.

    Labels, names and proofs come from files of others; a proof could otherwise clear the screen and write a verdict.

    >>> printable("a\x1b[2Jb\n"), printable("é\tb")
    ('a�[2Jb\n', 'é\tb')
    """
    return CONTROL.sub("\ufffd", text)


def note(message: str) -> None:
    """Print a note on standard error."""
    print(printable(message), file=sys.stderr)


def note_skipped(skipped: "SkippedLines") -> None:
    """Count and list the lines that nothing was read from."""
    if not skipped:
        return
    for line in skipped[:MOST_LINES]:
        note(str(line))
    more = f"; the first {MOST_LINES} are listed" if skipped.total > MOST_LINES else ""
    note(f"skipped {counted(skipped.total, 'bad line')}{more}")


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def listed(names: Sequence[object], at_most: int = 6) -> str:
    """Write a list as a sentence does, cut where it is long.

    >>> listed(["a", "b", "c"]), listed(range(100), at_most=2)
    ('a, b and c', '0, 1 and 98 more')
    """
    words = [str(name) for name in names]
    if len(words) > at_most:
        return f"{', '.join(words[:at_most])} and {len(words) - at_most:,} more"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def console() -> "Console":
    """Return a console on standard output that adds nothing of its own."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def show(*parts: Any) -> None:
    """Print tables and lines, with an empty line between tables and no spaces at the ends of lines."""
    from rich.segment import Segments

    screen = console()
    with screen.capture() as drawn:
        for part in parts:
            drawing = screen.render(screen.render_str(part) if isinstance(part, str) else part)
            screen.print(Segments(each._replace(text=printable(each.text)) for each in drawing), end="")
    for line in drawn.get().splitlines():
        print(line.rstrip())


def title(source: str) -> "Text":
    """Return the first line of a report: what it is about."""
    from rich.text import Text

    return Text("standard input" if source == STANDARD_INPUT else source, style="bold")


def facts(rows: Sequence[tuple[str, Any]]) -> "Table":
    """Return a table of names and what they are, as text or as something rich can draw."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def columns(*names: str) -> "Table":
    """Return a table whose first column is words and whose others are numbers."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for place, name in enumerate(names):
        table.add_column(name, justify="right" if place else "left", no_wrap=place > 0, overflow="fold")
    return table


def sparkline(values: Sequence[float]) -> str:
    """Draw numbers as bars, neighbours joined where there are many.

    >>> sparkline([8, 4, 2, 0])
    '█▄▂▁'
    """
    if len(values) > MOST_BARS:
        ends = [round(k * len(values) / MOST_BARS) for k in range(MOST_BARS + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in pairwise(ends)]
    top = max(values, default=0) or 1
    return "".join(BARS[min(7, max(0, math.ceil(8 * value / top) - 1))] for value in values)


def can_draw() -> bool:
    """Whether standard output can show bars."""
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")


def number(value: float | None) -> str:
    """Write a number for people.

    >>> number(1234567.0), number(0.123456), number(float("inf")), number(None), number(1e-7)
    ('1,234,567', '0.1235', '∞', 'unknown', '1e-07')
    """
    if value is None or math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 1e15:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def share(value: float | None, roughly: bool = False) -> str:
    """Write an accuracy.

    >>> share(0.91234), share(0.91234, roughly=True), share(None), share(0.99996)
    ('0.9123', '~0.91', '', '>0.9999')
    """
    if value is None:
        return ""
    from rosenblatt.learner.estimate import fraction

    return f"~{value:.2f}" if roughly else fraction(value, 4)


def seconds(value: float) -> str:
    """Write a time.

    >>> seconds(0.0123), seconds(12.3)
    ('0.012 s', '12.3 s')
    """
    return f"{value:.3f} s" if value < 1 else f"{value:.1f} s"


def print_json(value: Any, indent: int | None = 1) -> None:
    """Print JSON that every parser reads: what is not finite becomes null."""
    import json

    print(json.dumps(finite(value), indent=indent, ensure_ascii=False, allow_nan=False))


def finite(value: Any) -> Any:
    """Replace what JSON cannot hold.

    >>> finite({"bound": float("inf"), "margin": [0.5]})
    {'bound': None, 'margin': [0.5]}
    """
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
