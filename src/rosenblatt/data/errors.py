"""Errors of input files, with path, line and column."""

from collections.abc import Iterable
from typing import NamedTuple

MOST_LISTED = 10_000  # skipped lines that are listed; the others are only counted


class BadLine(NamedTuple):
    """An invalid line, and the reason."""

    path: str
    line: int  # 1-based, the header counted
    reason: str
    column: int = 0  # 1-based, in bytes of the line; 0 if unknown

    def __str__(self) -> str:
        return str(BadInput(*self))


class SkippedLines(list[BadLine]):
    """Skipped lines: a list of the first ones, and the total; the list is bounded because a stream may be endless.

    >>> lines = SkippedLines()
    >>> for line in range(MOST_LISTED + 5):
    ...     lines.append(BadLine("a.svm", line, "no label"))
    >>> len(lines) == MOST_LISTED, lines.total - MOST_LISTED
    (True, 5)
    """

    def __init__(self, lines: Iterable[BadLine] = (), total: int | None = None) -> None:
        super().__init__(lines)
        self.total = len(self) if total is None else total

    def append(self, line: BadLine) -> None:
        """Count a line, and list it unless the list is full."""
        self.total += 1
        if len(self) < MOST_LISTED:
            super().append(line)


class BadInput(ValueError):
    """An input that cannot be read. Its text is ``path:line:column: the reason and the way out``.

    ``line`` is None when the whole file is at fault, ``column`` 0 when the whole line is. The path ``-`` is written
    ``<stdin>``.

    >>> print(BadInput("train.svm", 3, "index 0", 7))
    train.svm:3:7: index 0
    """

    def __init__(self, path: str, line: int | None, reason: str, column: int = 0) -> None:
        super().__init__(path, line, reason, column)
        self.path = path
        self.line = line
        self.reason = reason
        self.column = column

    def __str__(self) -> str:
        location = "<stdin>" if self.path == "-" else self.path
        if self.line is not None:
            location += f":{self.line}:{self.column}" if self.column else f":{self.line}"
        return f"{location}: {self.reason}"


class BadOption(BadInput):
    """An option that this input cannot be read with, such as a target column that it does not have."""


def shown(text: str, at_most: int = 40) -> str:
    """Quote a piece of a file for a message: escape unprintable characters, truncate long text.

    >>> shown("3:x"), shown("a" * 100, at_most=5)
    ("'3:x'", "'aaaaa'...")
    """
    return repr(text) if len(text) <= at_most else repr(text[:at_most]) + "..."
