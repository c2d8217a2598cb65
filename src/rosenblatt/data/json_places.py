"""Where in its line a field of JSON stands: asked only when something is wrong with it."""

import json
import re
import sys
from collections.abc import Iterator

TOKEN = re.compile(
    rb'("(?:[^"\\]|\\.)*+")(\s*+:)?|-?[A-Za-z]+|[{}\[\]]'
)  # a string, and whether it is a name


class BadValue(ValueError):
    """A value that cannot be a feature or a label; its text says why."""

    def __init__(self, reason: str, field: str | None = None, word: str | None = None) -> None:
        super().__init__(reason)
        self.field = field  # of the line's object that it is, or is in
        self.word = word  # that stands for it in the line, where that is no number and no string

    def column(self, line: bytes) -> int:
        r"""Return where the field, or else the word, stands: 1-based, in bytes; else where the line's value begins.

        >>> BadValue("too large", "b").column(b'{"a": {"b": 1}, "b": 1e999}')
        17
        >>> BadValue("not finite", word="NaN").column(b' {"a": "NaN", "b": NaN}'), BadValue("no label").column(b" {}")
        (20, 2)
        """
        found = [*self._places(line), len(line) - len(line.lstrip())]
        return found[0] + 1

    def _places(self, line: bytes) -> Iterator[int]:
        depth = 0
        for token in TOKEN.finditer(line):
            text = token.group()
            if text in b"{[":
                depth += 1
            elif text in b"}]":
                depth -= 1
            elif token[1] is not None:
                if depth == 1 and token[2] is not None and _spelled(token[1]) == self.field:
                    yield token.start()
            elif self.word is not None and text == self.word.encode():
                yield token.start()


class TooManyDigits(BadValue):
    """An integer with more digits than Python converts."""

    def _places(self, line: bytes) -> Iterator[int]:
        for token in re.finditer(rb'"(?:[^"\\]|\\.)*+"|(-?\d{%d,})' % sys.get_int_max_str_digits(), line):
            if token[1] is not None:
                yield token.start()


class GivenTwice(BadValue):
    """A field that an object has twice, however deep."""

    def _places(self, line: bytes) -> Iterator[int]:
        names = [token for token in TOKEN.finditer(line) if token[2] is not None]
        yield from reversed([name.start() for name in names if _spelled(name[1]) == self.field])


def _spelled(text: bytes) -> str | None:
    try:
        return str(json.loads(text))
    except ValueError:
        return None
