"""What is plainly right is read as typer reads it; what is not is left to typer."""

from typing import Literal, NamedTuple

import pytest
from tests.cli.commands import run

from rosenblatt.cli.plain import NOT_PLAIN, plain_value


class Info(NamedTuple):
    min: float | None = None
    max: float | None = None


class Described(NamedTuple):
    annotation: object
    parameter_info: Info = Info()


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (str | None, "a", "a"),
        (str | None, None, None),
        (int, "12", 12),
        (int, "-3", -3),
        (int, 7, 7),
        (int, "1.5", NOT_PLAIN),
        (int, "", NOT_PLAIN),
        (int, "1_000", NOT_PLAIN),
        (float | None, "0.25", 0.25),
        (float | None, "1e-3", 1e-3),
        (float, "half", NOT_PLAIN),
        (float, "nan", NOT_PLAIN),
        (Literal["a", "b"] | None, "b", "b"),
        (Literal["a", "b"], "c", NOT_PLAIN),
        (bool | None, None, None),
        (bool, True, True),
    ],
)
def test_values(annotation, value, expected):
    found = plain_value(value, Described(annotation), several=False)
    assert found is expected or found == expected
    assert type(found) is type(expected)


def test_lists_and_limits():
    assert plain_value(("a", "b"), Described(list[str] | None), several=True) == ["a", "b"]
    assert plain_value(None, Described(list[str] | None), several=True) == ()
    assert plain_value("5", Described(int | None, Info(min=1)), several=False) is NOT_PLAIN


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fit a.csv --passes many", "integer"),
        ("fit a.csv --eta much", "number"),
        ("fit a.csv --hypothesis best", "averaged"),
        ("explain m a.csv --row 0", "1"),
    ],
)
def test_what_is_wrong_is_said_by_typer(command, words):
    answer = run(command)
    assert answer.exit_code == 2
    assert "Invalid value" in answer.stderr
    assert words in answer.stderr
