"""The options of ``python -m benchmarks --against``."""

import re

import pytest
from benchmarks.__main__ import main
from benchmarks.against import compare, median_interval, rows_matching
from benchmarks.turns import ROWS


def test_rows_are_chosen_by_a_pattern():
    every = rows_matching(list(ROWS))
    assert len(every) == sum(map(len, ROWS.values()))
    assert rows_matching(list(ROWS), "^kernel: .*voted$") == [("kernel", "predict, RBF, voted")]
    assert set(rows_matching(list(ROWS), "words")) < set(every)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["heart", "--against", "HEAD", "--turns", "6"], "--turns must be 7 or more, got 6"),
        (["heart", "--against", "HEAD", "--turns", "x"], "invalid literal"),
        (["heart", "--against", "HEAD", "--rows", "no such"], "no row of heart matches 'no such'"),
        (["heart", "--against"], "--against needs a value"),
        (["heart", "--rows", "fit"], "--rows, --turns and --time need --against COMMIT"),
        (["heart", "--against", "HEAD", "--time", "wall"], "--time is clock or cpu"),
        (["hearts", "--against", "HEAD"], "no rows for hearts"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_runs(words, message):
    with pytest.raises(SystemExit, match=re.escape(message)):
        main(words)


def test_the_help_names_the_options(capsys):
    main(["--help"])
    text = capsys.readouterr().out
    assert all(option in text for option in ("--against COMMIT", "--rows PATTERN", "--turns N"))


def test_seven_turns_have_an_interval_and_fewer_are_refused():
    assert median_interval([1.0] * 3 + [2.0] + [3.0] * 3) == (2.0, 1.0, 3.0)
    with pytest.raises(ValueError, match="7 or more"):
        compare(["heart"], "HEAD", turns=1)
