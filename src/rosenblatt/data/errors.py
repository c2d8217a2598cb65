"""What is wrong with an input file, and where."""

from collections.abc import Iterable
from typing import NamedTuple

MOST_LISTED = 10_000  # lines that are remembered one by one


class BadLine(NamedTuple):
    """A line that nothing was learned from, and why."""

    path: str
    line: int  # 1-based, the header counted
    reason: str
    column: int = 0  # 1-based, in bytes of the line; 0 where it is not known

    def __str__(self) -> str:
        return str(BadInput(*self))


class SkippedLines(list[BadLine]):
    """Lines that were passed over: the first ones, and how many there were in all, for a stream may never end.

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
        """Count a line, and list it where there is room."""
        self.total += 1
        if len(self) < MOST_LISTED:
            super().append(line)


class BadInput(ValueError):
    """An input that cannot be read. Its text is ``path:line:column: what is wrong and what to do``.

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
        where = [
            "<stdin>" if self.path == "-" else self.path,
            *([] if self.line is None else [str(self.line)]),
        ]
        where += [str(self.column)] if self.line is not None and self.column else []
        return f"{':'.join(where)}: {self.reason}"


class BadOption(BadInput):
    """An option that does not fit the input: a column that it lacks, hashing where no feature has a name."""


def shown(text: str, at_most: int = 40) -> str:
    """Quote a piece of a file in a message: unprintable characters escaped, long ones cut.

    >>> shown("3:x"), shown("a" * 100, at_most=5)
    ("'3:x'", "'aaaaa'...")
    """
    return repr(text) if len(text) <= at_most else repr(text[:at_most]) + "..."
