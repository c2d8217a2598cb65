"""A habit of our docstrings that numpydoc does not know: ``name : a sentence`` may continue on the next lines.

It is then a description and not a type.
"""

import re
from typing import Any

DESCRIBING = ("Parameters", "Attributes", "Returns")
ENTRY = re.compile(r"( *)([\w*][\w*, ]*) : (.+)")


def going_in(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Join such sentences before numpydoc reads the docstring."""
    section, at = "", 0
    while at < len(lines) - 1:
        if lines[at].strip() and set(lines[at + 1].strip()) == {"-"}:
            section = lines[at].strip()
        elif section in DESCRIBING:
            lines[at : at + 2] = joined(lines[at], lines[at + 1])
        at += 1


def joined(line: str, below: str) -> list[str]:
    """Return two lines as they are, or the first without its type where that is a sentence that goes on below.

    >>> joined("u : the plane to measure", "    against, as weights")
    ['u :', '    the plane to measure', '    against, as weights']
    >>> joined("C : float", "    The largest step.")
    ['C : float', '    The largest step.']
    """
    entry = ENTRY.fullmatch(line)
    if entry is None:
        return [line, below]
    indent, names, text = entry.groups()
    inner = len(below) - len(below.lstrip())
    goes_on = inner > len(indent) and below[inner : inner + 1].islower()
    return [f"{indent}{names} :", " " * inner + text, below] if goes_on else [line, below]


def setup(app: Any) -> dict[str, Any]:
    """Run before numpydoc, which listens at 500."""
    app.connect("autodoc-process-docstring", going_in, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
