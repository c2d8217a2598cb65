"""What is wrong with an input file, and where."""

from typing import NamedTuple


class BadLine(NamedTuple):
    """A line that nothing was learned from, and why."""

    path: str
    line: int  # 1-based, the header counted
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


class BadInput(ValueError):
    """An input that cannot be read. Its text is ``path:line: what is wrong and what to do``.

    ``line`` is None when the whole file is at fault.

    >>> print(BadInput("train.svm", 3, "index 0"))
    train.svm:3: index 0
    """

    def __init__(self, path: str, line: int | None, reason: str) -> None:
        super().__init__(path, line, reason)
        self.path = path
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.reason}"


def shown(text: str, at_most: int = 40) -> str:
    """Quote a piece of a file in a message: unprintable characters escaped, long ones cut.

    >>> shown("3:x"), shown("a" * 100, at_most=5)
    ("'3:x'", "'aaaaa'...")
    """
    return repr(text) if len(text) <= at_most else repr(text[:at_most]) + "..."
