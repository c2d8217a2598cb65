"""What people's columns are: every kind, as a file holds it, and what is reported about it."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rosenblatt.data import BadInput, NumberFormat, open_examples, read_all

N = 30  # rows: enough to tell identifiers


def table(tmp_path, file="data.csv", separator=",", encoding="utf-8", **columns):
    """Write columns and the target ``y`` to a file."""
    columns = {**columns, "y": [k % 2 for k in range(len(next(iter(columns.values()))))]}
    lines = [separator.join(columns)]
    lines += [separator.join(str(cell) for cell in row) for row in zip(*columns.values(), strict=True)]
    (tmp_path / file).write_bytes("\n".join([*lines, ""]).encode(encoding))
    return tmp_path / file


def values(path, column=0, **options):
    X = read_all(path, **options).X
    return (X if isinstance(X, np.ndarray) else X.toarray())[:, column].tolist()


def report(path, name, **options):
    return next(column for column in read_all(path, **options).columns if column.name == name)


def test_booleans_in_several_spellings_are_one_column_of_yes_and_no(tmp_path):
    mixed = ["Yes", "no", "Y", "N", "TRUE", "0", ""] * 5
    path = table(tmp_path, a=mixed, letters=["y", "f", "t", "n", "y", "f", "f"] * 5)
    assert report(path, "a").kind == "boolean"
    assert report(path, "a").note == "true, y, yes are 1"
    assert values(path, missing="mean")[:6] == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    assert report(path, "letters").kind == "category"  # letters alone are codes
    assert report(table(tmp_path, a=["yes", "no", "maybe"] * 10), "a").kind == "category"


def test_a_comma_in_dollars_groups_thousands_and_a_point_may_be_either(tmp_path):
    assert values(table(tmp_path, a=['"$1,100"', '"$2,250"', "$900"] * 10))[:3] == [1100.0, 2250.0, 900.0]
    for written in ("$1.100", '"€1,659"'):  # a price of fuel, or thousands
        with pytest.raises(BadInput, match="can be read two ways"):
            read_all(table(tmp_path, a=[written] * 29 + ["2"]))


NUMBERS = {
    "thousands": (['"1,234"', "950", '"1,234,567.5"'], [1234, 950, 1234567.5]),
    "thousands of another country": (['"1.234,5"', '"12,25"', "7"], [1234.5, 12.25, 7]),
    "thousands by spaces": (["1 234", "12\u00a0345\u00a0678", "7"], [1234, 12345678, 7]),
    "thousands by apostrophes": (["1'234.5", "12’345", "7"], [1234.5, 12345, 7]),
    "decimal comma": (['"0,5"', '"12,25"', "3"], [0.5, 12.25, 3]),
    "per cent": (["12%", "7.5 %", "-100%"], [0.12, 0.075, -1.0]),
    "dollars": (['"$1,299.00"', "-$5", "$ 7"], [1299, -5, 7]),
    "euros": (["1299 €", '"5,5€"', "-7 €"], [1299, 5.5, -7]),
    "a unit": (["5 cm", "1.5cm", '"1,200 cm"'], [5, 1.5, 1200]),
    "lakhs and crores": (['"12,34,567.5"', '"1,00,000"', '"5,000"'], [1234567.5, 100000, 5000]),
    "per cent but for zero": (["0", "7.5%", "0.0"], [0, 0.075, 0]),
    "a currency in some rows": (["1299", '"1,299.5"', "$7"], [1299, 1299.5, 7]),
    "a minus sign of accountants": (["12.5-", '"1,200.00"', '"1,200.00-"'], [-12.5, 1200, -1200]),
    "thousands and millions": (["€650K", "€1.5M", "€0"], [650000, 1500000, 0]),
    "billions without a currency": (["1.5B", "2.25bn", "12k"], [1.5e9, 2.25e9, 12000]),
    "a minus sign of typesetters": (["\u22125%", "3%", "4%"], [-0.05, 0.03, 0.04]),
}


@pytest.mark.parametrize(("cells", "expected"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_as_people_write_them(tmp_path, cells, expected):
    path = table(tmp_path, a=cells, b=[1, 5, 3])
    assert values(path) == pytest.approx(expected)
    assert report(path, "a").kind == "numeric"
    schema = read_all(path).schema
    assert values(path, schema=schema.to_dict()) == pytest.approx(expected)
    with pytest.raises(
        BadInput, match=r"data.csv:3:1: column 'a' is 'much', not a number written as in training"
    ):
        read_all(table(tmp_path, a=["5%" if "%" in "".join(cells) else "5", "much"], b=[1, 2]), schema=schema)


def test_numbers_that_can_be_read_two_ways_are_refused_naming_the_way_out(tmp_path):
    path = table(tmp_path, a=['"1,234"', '"5,678"', "7"], b=[1, 5, 3])
    with pytest.raises(
        BadInput, match=r"column 'a' .* two ways, as in '1,234' \(1234 or 1.234\): .*--decimal"
    ):
        read_all(path)
    assert values(path, decimal=".") == [1234, 5678, 7]
    assert values(path, decimal=",") == [1.234, 5.678, 7]
    assert values(table(tmp_path, a=['"1,234"', '"5,678"', "7"], b=[1.5, 5, 3])) == [
        1234,
        5678,
        7,
    ]  # b decides


def test_points_between_thousands_are_told_from_decimal_points(tmp_path):
    cells = ["1.234", "999", "12.500"]
    german = table(tmp_path, separator=";", a=cells, b=["0,5", "1,25", "3"])
    assert values(german) == [1234, 999, 12500]
    assert report(german, "a").note == "thousands separated by points"
    assert values(german, schema=read_all(german).schema) == [1234, 999, 12500]
    english = table(tmp_path, separator=";", a=cells, b=["0.5", "1.25", "3"])
    assert values(english) == [1.234, 999, 12.5]
    unclear = table(tmp_path, separator=";", a=cells, b=[1, 5, 3])
    with pytest.raises(
        BadInput, match=r"column 'a' .* two ways, as in '1.234' \(1234 or 1.234\): .*--decimal"
    ):
        read_all(unclear)
    assert values(unclear, decimal=",") == [1234, 999, 12500]
    assert values(unclear, decimal=",", numeric=["a"]) == [1234, 999, 12500]
    assert values(unclear, decimal=".") == values(unclear, numeric=["a"]) == [1.234, 999, 12.5]
    assert values(table(tmp_path, a=cells, b=[1, 5, 3])) == [1.234, 999, 12.5]  # commas separate the cells
    german = table(tmp_path, separator=";", a=cells, b=["0,5", "1,25", "3"])
    assert read_all(german, target="a").y.tolist() == [1234, 999, 12500]
    assert report(german, "a").summary == "999 to 12500"


def test_codes_that_end_in_letters_are_no_units(tmp_path):
    mixed = table(tmp_path, a=["12A", "7B", "3A"] * 10, b=range(30))
    assert report(mixed, "a").kind == "category"
    units = table(tmp_path, a=["12 kg", "7 kg", "3 kg"] * 10, b=range(30))
    assert report(units, "a")[1:] == ("numeric", 0, "3 to 12", 1, "in kg")
    with pytest.raises(ValueError, match="the unit '5' is no word after a number"):
        NumberFormat(unit="5")


def test_semicolons_and_decimal_commas(tmp_path):
    path = table(tmp_path, separator=";", a=["1,5", "2,25", "3"], b=["0,1", "0,2", "1.000,5"])
    found = read_all(path)
    assert found.X.tolist() == [[1.5, 0.1], [2.25, 0.2], [3, 1000.5]]
    assert "separated by ';'" in found.notes


@pytest.mark.parametrize("separator", ["|", ";", "\t"])
def test_separators_are_found_or_named(tmp_path, separator):
    path = table(tmp_path, separator=separator, a=[1, 2, 5], b=["x", "z", "x"])
    assert read_all(path).feature_names == ["a", "b=x", "b=z"]
    assert read_all(path, separator=separator).feature_names == ["a", "b=x", "b=z"]


def test_dates_become_days_weekdays_and_hours(tmp_path):
    path = table(
        tmp_path,
        day=["1970-01-01", "2024-02-29", "2000-01-03"],
        at=["2024-02-29T12:30:00Z", "2024-02-29 00:00", "2024-03-01 06:15:00+02:00"],
        clock=["08:30", "23:59:60"[:5], "00:00"],
    )
    found = read_all(path)
    names = ["day.days", "day.weekday", "at.days", "at.weekday", "at.hour", "clock.hour"]
    assert found.feature_names == names
    assert found.X[:, :2].tolist() == [[0, 4], [19782, 4], [10959, 1]]
    assert found.X[:, 4].tolist() == [12.5, 0, 6.25]
    assert found.X[:, 5].tolist() == pytest.approx([8.5, 23 + 59 / 60, 0])
    assert report(path, "day").summary == "1970-01-01 to 2024-02-29"
    with pytest.raises(BadInput, match=r"column 'day' is '2024-02-30', not a date in ISO 8601"):
        read_all(table(tmp_path, "n.csv", day=["2024-02-30"], at=[""], clock=["00:00"]), schema=found.schema)


@pytest.mark.parametrize(
    ("cells", "order"), [(["2/29/2024", "1/2/2024"], "month"), (["29/2/2024", "2/1/2024"], "day")]
)
def test_dates_with_slashes_are_read_where_a_value_shows_the_order(tmp_path, cells, order):
    path = table(tmp_path, when=[*cells, "2024-01-02"], b=[4, 7, 5])
    rows = read_all(path)
    assert rows.X[:, :2].tolist() == [[19782, 4], [19724, 2], [19724, 2]]
    assert report(path, "when").note == f"{order} first"
    assert report(path, "when").kind == "date"
    assert read_all(path, schema=rows.schema.to_dict()).X.tolist() == rows.X.tolist()
    unclear = table(tmp_path, when=["1/2/2024", "3/4/2024", "1/2/2024"], b=[4, 7, 5])
    assert report(unclear, "when").kind == "category"
    contradictory = table(tmp_path, when=["1/25/2024", "25/1/2024", "1/2/2024"], b=[4, 7, 5])
    assert report(contradictory, "when").kind == "category"


DATES = {
    "dots and two digits of the year": ["29.2.24", "3.1.00", "1.1.70"],
    "year first, without zeros": ["2024/2/29", "2000-1-3", "1970.1.1"],
    "month in letters": ["29 Feb 2024", "3-Jan-00", "Thu, 01 January 1970"],
    "month in letters first": ["Feb. 29, 2024", "January 3rd, 2000", "Jan 1 1970"],
    "month first, two digits of the year": ["2/29/24", "1/3/00", "01/01/70"],
    "day first, with dashes": ["29-02-2024", "3-1-2000", "01-01-1970"],
}


@pytest.mark.parametrize("cells", DATES.values(), ids=DATES)
def test_dates_as_people_write_them(tmp_path, cells):
    path = table(tmp_path, when=[f'"{cell}"' for cell in cells], b=[4, 7, 5])
    rows = read_all(path)
    assert rows.X[:, :2].tolist() == [[19782, 4], [10959, 1], [0, 4]]
    assert read_all(path, schema=rows.schema.to_dict()).X.tolist() == rows.X.tolist()


def test_codes_that_only_look_like_dates_are_none(tmp_path):
    versions = table(tmp_path, v=["3.11.12", "3.13.10", "2.40.07"], b=[4, 7, 5])
    assert report(versions, "v").kind == "category"
    numbers = table(tmp_path, v=["10-40-2024", "50-12-1999", "10-12-1999"], b=[4, 7, 5])
    assert report(numbers, "v").kind == "category"


def test_clocks_of_twelve_hours(tmp_path):
    path = table(tmp_path, clock=["12:30 AM", "12:30 p.m.", "11:45:00pm", "8 AM"], b=[4, 7, 5, 2])
    assert values(path) == [0.5, 12.5, 23.75, 8]
    moments = ["2/29/2024 1:30 PM", '"1/2/2024, 12:00:00 AM"', "2024-01-02 6:15 am"]
    assert values(table(tmp_path, at=moments, b=[4, 7, 5]), column=2) == [13.5, 0, 6.25]
    wrong = table(tmp_path, clock=["13:30 PM", "0:30 AM", "8:61 AM"], b=[4, 7, 5])
    assert report(wrong, "clock").kind == "category"


def test_dates_in_an_unknown_order_are_refused_where_they_are_asked_for(tmp_path):
    path = table(
        tmp_path, when=[f"{1 + k % 12}/{1 + k % 5}/2024" for k in range(N)], b=[k % 7 for k in range(N)]
    )
    assert "the day or the month first?" in report(path, "when").note
    with pytest.raises(
        BadInput, match="column 'when' holds dates that can be read with the day or the month first"
    ):
        read_all(path, date="when")


def test_clocks_with_short_hours_are_read_and_what_is_no_time_of_day_is_none(tmp_path):
    path = table(tmp_path, clock=["8:15", "23:30", "0:00:36"], b=[4, 7, 5])
    assert values(path) == [8.25, 23.5, 0.01]
    laps = table(tmp_path, lap=[f"{20 + k}:15" for k in range(N)], b=[k % 4 for k in range(N)])
    assert report(laps, "lap").kind == "identifier"


@pytest.mark.parametrize("pair", [("yes", "no"), ("True", "FALSE"), ("t", "f"), ("Y", "n"), ("on", "off")])
def test_truth_values_are_1_and_0(tmp_path, pair):
    path = table(tmp_path, a=[pair[0], pair[1], pair[0].lower()], b=[4, 7, 5])
    assert values(path) == [1, 0, 1]
    assert report(path, "a").kind == "boolean"


def test_identifiers_are_left_out_and_reported(tmp_path):
    path = table(
        tmp_path,
        key=[f"k{k:03}" for k in range(N)],
        number=range(101, 101 + N),
        user_id=[(k * 7919) % 10007 for k in range(N)],
        name=[f"Ann{k} Lee{k}" for k in range(N)],
        a=[k % 7 for k in range(N)],
    )
    found = read_all(path)
    kinds = {column.name: column.kind for column in found.columns}
    assert kinds["key"] == kinds["number"] == kinds["user_id"] == "identifier"
    assert (kinds["name"], kinds["a"]) == ("text", "numeric")
    assert found.schema.columns[0].name == "name"
    assert "number" in read_all(path, numeric=["number"]).feature_names
    assert "key=k003" in read_all(path, category="key").feature_names


def test_constant_columns_are_left_out_and_reported(tmp_path):
    path = table(tmp_path, a=[1, 2, 4], b=[5, 5, 5], c=["x"] * 3, d=["", "NA", "?"])
    found = read_all(path)
    assert found.feature_names == ["a"]
    assert [column.kind for column in found.columns] == [
        "numeric",
        "constant",
        "constant",
        "constant",
        "target",
    ]
    assert report(path, "d").note == "no row has a value"
    assert read_all(path, numeric=["b"], category=["c"]).feature_names == ["a", "b", "c=x"]


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_an_index_as_pandas_writes_it_is_left_out(tmp_path, name):
    text = pd.DataFrame({"a": [3, 1, 2], "y": [0, 1, 0]}).to_csv()
    (tmp_path / "a.csv").write_text(name + text)
    found = read_all(tmp_path / "a.csv")
    assert found.feature_names == ["a"]
    assert found.columns[0].kind == "index"
    assert any("an index, left out" in note for note in found.notes)


def test_repeated_and_missing_names_are_made_distinct(tmp_path):
    (tmp_path / "a.csv").write_text("a,a,,y\n1,2,3,0\n4,6,5,1\n")
    found = read_all(tmp_path / "a.csv")
    assert found.feature_names == ["a", "a.1", "column 3"]
    assert len(found.notes) == 2
    with pytest.raises(BadInput, match=r"two columns are called 'a'|has no name"):
        read_all(tmp_path / "a.csv", exact=True)


@pytest.mark.parametrize(
    ("encoding", "note"),
    [("latin-1", "cp1252"), ("utf-16", "UTF-16"), ("utf-8-sig", None), ("utf-16-be", None)],
)
def test_encodings_are_found_and_reported(tmp_path, encoding, note):
    path = table(tmp_path, encoding=encoding, größe=[1, 2, 4], d=["é", "ü", "é"])
    if encoding == "utf-16-be":
        path.write_bytes(b"\xfe\xff" + path.read_bytes())
        note = "UTF-16"
    found = read_all(path)
    assert found.feature_names == ["größe", "d=é", "d=ü"]
    assert any(note in each for each in found.notes) if note else not found.notes
    if encoding == "latin-1":
        assert read_all(path, encoding="latin-1").feature_names == ["größe", "d=é", "d=ü"]


def test_comments_are_passed_over_and_lines_stay_right(tmp_path):
    (tmp_path / "a.csv").write_text('# made by hand\na,b,y\n1,2,0\n# "odd\n4,6,1\n')
    found = read_all(tmp_path / "a.csv", comment="#")
    assert found.X.tolist() == [[1, 2], [4, 6]]
    assert found.lines.tolist() == [3, 5]


def test_options_override_what_values_look_like(tmp_path):
    path = table(tmp_path, a=[1, 2, 1], b=["x y", "z", "x y"], c=[7, 8, 9], d=["x", "z", "x"])
    assert read_all(path, category="a", text="b", drop="c", id="d").feature_names == [
        "a=1",
        "a=2",
        "b:x",
        "b:y",
        "b:z",
    ]
    with pytest.raises(BadInput, match="column 'd' is 'x', not a number"):
        read_all(path, numeric="d")
    with pytest.raises(BadInput, match=r"no column is called 'e'; there are 'a', 'b'"):
        read_all(path, drop="e")


def test_suspicious_categories_are_warned_about(tmp_path):
    path = table(
        tmp_path,
        mostly=[f"v{k % 20}" for k in range(N)],
        nearly=["x" if k == 11 else k % 9 for k in range(N)],
        a=[k % 7 for k in range(N)],
    )
    assert "warning: mostly different values" in report(path, "mostly").note
    assert "numbers but for 'x'" in report(path, "nearly").note


def test_one_word_among_different_numbers_is_an_error_with_its_line(tmp_path):
    path = table(tmp_path, a=["x" if k == 11 else k / 3 for k in range(N)])
    with pytest.raises(BadInput, match=r":13:1: column 'a' is 'x', not a number"):
        read_all(path)
    assert read_all(path, skip_bad=True).y.size == N - 1
    assert report(path, "a", category="a").kind == "category"


MISSING = ["", "NA", "na", "N/A", "?", "nan", "NaN", "null", "NULL", "None"]


@pytest.mark.parametrize("spelling", MISSING)
@pytest.mark.parametrize("text_too", [False, True])
def test_a_missing_number_is_the_mean_and_an_indicator(tmp_path, spelling, text_too):
    extra = {"d": ["u", "v", spelling, "u"]} if text_too else {}
    path = table(tmp_path, a=[1, spelling, 3, 5], b=[1, 5, 3, 4], **extra)
    found = read_all(path)
    X = found.X.toarray() if text_too else found.X
    assert found.feature_names[-1] == "a=(missing)"
    assert X[:, 0].tolist() == [1, 3, 3, 5]
    assert X[:, -1].tolist() == [0, 1, 0, 0]
    if text_too:
        assert "d=(missing)" in found.feature_names
    assert report(path, "a").missing == 1
    assert report(path, "a").features == 2
    again = read_all(path, schema=found.schema.to_dict())
    assert (again.X != found.X).sum() == 0
    raw = read_all(path, prepared=False)
    prepared = raw.plan.fit(raw.X).apply(raw.X)
    assert (prepared.toarray() if text_too else prepared).tolist() == X.tolist()


def test_other_ways_with_missing_numbers(tmp_path):
    path = table(tmp_path, a=[1, "", 2, 9], b=[1, 5, 3, 4])
    assert values(path, missing="mean") == [1, 4, 2, 9]
    assert values(path, missing="median") == [1, 2, 2, 9]
    assert values(path, missing="drop") == [1, 2, 9]
    assert any(
        "1 rows with a missing value left out" in note for note in read_all(path, missing="drop").notes
    )
    with pytest.raises(BadInput, match=r"data.csv:3:1: column 'a' has no value.*--missing"):
        read_all(path, missing="refuse")
    with pytest.raises(BadInput, match=r"data.csv:3:1: column 'a' has no value"):
        read_all(path, exact=True)


def test_a_gap_where_training_had_none_is_the_mean(tmp_path):
    schema = read_all(table(tmp_path, a=[1, 2, 6], b=[1, 5, 3])).schema
    new = read_all(table(tmp_path, "new.csv", a=["", 5], b=[1, 2]), schema=schema)
    assert new.X.tolist() == [[3, 1], [5, 2]]


def test_a_table_with_a_gap_in_every_row_is_learned_from_whole(tmp_path):
    cells = {f"c{j}": ["?" if k % 4 == j else k * j % 5 for k in range(40)] for j in range(4)}
    found = read_all(table(tmp_path, **cells))
    assert found.X.shape == (40, 8)
    assert np.isfinite(found.X).all()


def test_exact_reads_numbers_as_they_are_written(tmp_path):
    path = table(tmp_path, a=[1, 2, 4], b=[5, 5, 5], c=["yes", "no", "yes"], d=["5%", "6%", "5%"])
    found = read_all(path, exact=True)
    assert found.feature_names == ["a", "b", "c=no", "c=yes", "d=5%", "d=6%"]
    assert found.schema.preprocessing is None


def test_skip_bad_is_for_few_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n" + "1,0\n2,1\n" * 4 + "1\n" * 6)
    with pytest.raises(
        BadInput, match=r"6 of 14 lines are bad, more than skip_share=0.2 allows; the first: .*:10:"
    ):
        read_all(path, skip_bad=True)
    assert read_all(path, skip_bad=True, skip_share=0.5).y.size == 8


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([k % 2 for k in range(60)], "classes"),
        ([k % 10 for k in range(60)], "classes"),
        ([k * k for k in range(60)], "numeric"),
        ([k / 7 for k in range(60)], "numeric"),
        ([f"c{k}" for k in range(60)], "classes"),
    ],
)
def test_a_target_of_many_numbers_is_numeric(tmp_path, labels, kind):
    lines = [f"{k % 7},{k % 3},{label}" for k, label in enumerate(labels)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,y", *lines, ""]))
    found = read_all(tmp_path / "a.csv")
    assert found.target_kind == kind
    assert ("regression" in found.columns[-1].note) == (kind == "numeric")


FRAME = {
    "a": [1.5, None, 3.0, 4.0],
    "d": ["u", "v", None, "u"],
    "t": ["2024-01-01", "2024-01-02", "2024-01-05", "2024-01-09"],
    "y": [0, 1, 1, 0],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_are_read_like_files(tmp_path, make):
    pd.DataFrame(FRAME).to_csv(tmp_path / "a.csv", index=False)
    expected, found = read_all(tmp_path / "a.csv"), read_all(make(FRAME))
    assert found.feature_names == expected.feature_names
    assert (found.X != expected.X).nnz == 0
    assert found.y.tolist() == expected.y.tolist()


@pytest.mark.parametrize("first", [0, 400])
def test_integer_labels_beyond_64_bits_are_told_apart(tmp_path, first):
    """The first rows may be labelled by short numbers, so that they are scanned as numbers."""
    long = [str(2**63 + k % 2) for k in range(N)]
    labels = [str(k % 3) for k in range(first)] + long
    path = tmp_path / "long.csv"
    path.write_text("a,b,y\n" + "".join(f"{k % 7},{k % 5},{label}\n" for k, label in enumerate(labels)))
    rows = read_all(path, classes=True)
    assert rows.y.tolist() == labels
    assert rows.schema.labels == "text"
    assert read_all(path, schema=rows.schema.to_dict()).y.tolist() == labels
    batches = list(open_examples(path, batch_rows=16, classes=True))
    assert [label for batch in batches for label in batch.y.tolist()] == labels


def test_a_stream_tells_integer_labels_beyond_64_bits_apart_or_refuses_them(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,y\n" + "".join(f"{k},{2**63 + k % 2}\n" for k in range(N)))
    assert set(read_all(path, at_once=True).y.tolist()) == {str(2**63), str(2**63 + 1)}
    path.write_text(f"a,y\n1,0\n2,{2**63}\n")
    with pytest.raises(
        BadInput, match=r"long.csv:3:3: the target 'y' is '9223372036854775808', an integer of more"
    ):
        read_all(path, at_once=True)


INEXACT = {
    "a.csv": "a,y\n1,0.5\n2,9007199254740993\n",
    "a.jsonl": '{"a": 1, "y": 0.5}\n{"a": 2, "y": 1e300}\n',
    "a.svm": "0.5 1:1\n1e300 1:2\n",
    "a.vw": "0.5 | a:1\n1e300 | a:2\n",
}


@pytest.mark.parametrize("name", INEXACT)
def test_a_float_label_that_may_be_two_is_refused_with_its_line_where_labels_are_classes(tmp_path, name):
    (tmp_path / name).write_text(INEXACT[name])
    assert read_all(tmp_path / name).y.size == 2  # a target of regression
    line = 2 + name.endswith(".csv")
    with pytest.raises(BadInput, match=rf"{name}:{line}: the label .* is beyond 2\^53"):
        read_all(tmp_path / name, classes=True)


def test_several_files_without_names_then_one(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("p,1.5,0\ne,2.5,1\np,0.5,1\n")
    schema = read_all(str(tmp_path / "?.csv")).schema
    found = read_all(tmp_path / "b.csv", schema=schema.to_dict())
    assert found.X.toarray().tolist() == [[0, 1, 1.5], [1, 0, 2.5], [0, 1, 0.5]]
    (tmp_path / "c.csv").write_text("p,7\n")
    assert read_all(tmp_path / "c.csv", schema=schema.to_dict()).X.toarray().tolist() == [[0, 1, 7]]


@pytest.mark.parametrize("at_once", [False, True])
def test_labels_are_read_where_every_table_has_them(tmp_path, at_once):
    (tmp_path / "a.csv").write_text("a,y\n1,0\n2,1\n")
    schema = read_all(tmp_path / "a.csv", at_once=at_once).schema
    (tmp_path / "b.csv").write_text("a\n3\n")
    found = read_all([tmp_path / "a.csv", tmp_path / "b.csv"], schema=schema)
    assert found.X.shape[0] == 3
    assert found.y is None


def test_a_truncated_packed_table_is_reported_with_its_line(tmp_path):
    import gzip

    rng = np.random.default_rng(0)
    text = "a,b,y\n" + "".join(
        f"{u:.6f},{v:.6f},{k % 2}\n" for k, (u, v) in enumerate(rng.normal(size=(60000, 2)))
    )
    packed = gzip.compress(text.encode())
    (tmp_path / "a.csv.gz").write_bytes(packed[: len(packed) * 3 // 4])
    with pytest.raises(BadInput, match=r"a.csv.gz:\d+: the gzip data ends early"):
        read_all(tmp_path / "a.csv.gz")


def test_an_arrow_file_of_one_batch_is_not_held_whole(tmp_path):
    rows = 400_000
    content = {"a": np.random.default_rng(0).normal(size=rows), "y": np.arange(rows) % 2}
    arrow = pa.table(content)
    with pa.ipc.new_file(tmp_path / "a.arrow", arrow.schema) as writer:
        writer.write_table(arrow, max_chunksize=rows)
    del arrow
    examples, before, most = (
        open_examples(tmp_path / "a.arrow", batch_rows=None),
        pa.total_allocated_bytes(),
        0,
    )
    for _ in examples:
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < rows * 8 / 4


class Slowly(io.RawIOBase):
    """Standard input whose third line is asked for only after the second was answered."""

    def __init__(self, lines):
        self.buffer, self.lines, self.asked = io.BufferedReader(self), list(lines), 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.asked += 1
        piece = self.lines.pop(0) if self.lines else b""
        buffer[: len(piece)] = piece
        return len(piece)


def test_a_pipe_is_answered_from_its_second_line_on(monkeypatch):
    stdin = Slowly([b"a,b,y\n", b"1,2,0\n", b"3,4,1\n", b"5,6,0\n", b"7,8,1\n"])
    monkeypatch.setattr("sys.stdin", stdin)
    examples = open_examples("-", format="csv", at_once=True, batch_rows=None)
    assert stdin.asked <= 2
    assert sum(batch.lines.size for batch in examples) == 4


def test_number_formats_are_strict():
    with pytest.raises(ValueError, match="not a number format"):
        NumberFormat(decimal=";")
    with pytest.raises(ValueError, match="currency 'bitcoin' is not known"):
        NumberFormat(currency="bitcoin")
