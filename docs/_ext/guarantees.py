"""The section *Guarantee* of our docstrings, which numpydoc does not know: it passes as *Notes*, then is renamed."""

from typing import Any

OURS, THEIRS = "Guarantee", "Notes"


def going_in(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rename the heading before numpydoc reads the docstring."""
    for at, line in enumerate(lines[:-1]):
        if line.strip() == OURS and set(lines[at + 1].strip()) == {"-"}:
            indent = line[: len(line) - len(line.lstrip())]
            lines[at : at + 2] = [indent + THEIRS, indent + "-" * len(THEIRS)]


def coming_out(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Give the heading its own name back."""
    for at, line in enumerate(lines):
        if line.strip() == f".. rubric:: {THEIRS}":
            lines[at] = line.replace(THEIRS, OURS)


def setup(app: Any) -> dict[str, Any]:
    """Stand on both sides of numpydoc, which listens at 500."""
    app.connect("autodoc-process-docstring", going_in, priority=400)
    app.connect("autodoc-process-docstring", coming_out, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
