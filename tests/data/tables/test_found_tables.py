"""Tables as people have them: exports of spreadsheets, accounts, registers; every column read as a person would."""

import numpy as np
import pytest

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.open import find_format
from rosenblatt.data.schema import schema_from_dict

N = 40
RNG = np.random.default_rng(0)
NUMBERS = [round(value, 2) for value in RNG.normal(50, 20, N)]
LABELS = ["ja" if k % 2 else "nein" for k in range(N)]


def text(separator=",", names=("a", "b", "y"), **columns):
    columns = {"a": NUMBERS, "b": [k % 7 for k in range(N)], "y": LABELS} | columns
    rows = zip(*(columns[name] for name in names), strict=True)
    return "\n".join([separator.join(names), *(separator.join(map(str, row)) for row in rows)]) + "\n"


def written(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_column(folder, values, separator=","):
    """Return how a column was read, and its features."""
    rows = read_all(written(folder, text(separator, a=values)))
    names = [name for name in rows.feature_names if name.split("=")[0].split(".")[0] == "a"]
    dense = rows.X.toarray() if hasattr(rows.X, "toarray") else rows.X
    return rows.columns[0], dense[:, [rows.feature_names.index(name) for name in names]]


def german(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,")) + " €"


NUMERIC = {
    "euros": german,
    "accounting": lambda value: f"({-value:.2f})" if value < 0 else f"{value:.2f}",
    "accounting in dollars": lambda value: f"(${-value:.2f})" if value < 0 else f"${value:.2f}",
    "minus sign": lambda value: f"{value:.2f}".replace("-", "\u2212"),
    "thin spaces": lambda value: f"{value:,.2f}".replace(",", "\u2009"),
    "Fortran": lambda value: f"{value:.8e}".replace("e", "D"),
    "in quotes": lambda value: f'"{value}"',
}


@pytest.mark.parametrize("write", NUMERIC.values(), ids=list(NUMERIC))
def test_numbers_as_they_are_written_elsewhere(tmp_path, write):
    values = [round(1000 * (value - 50), 2) for value in NUMBERS]
    column, X = read_column(tmp_path, [write(value) for value in values], ";")
    assert column.kind == "numeric"
    assert np.allclose(X[:, 0], values)


def test_parentheses_around_anything_else_are_no_number(tmp_path):
    column, _ = read_column(tmp_path, [f"({'-' if k % 2 else ''}{'abc'[k % 3]})" for k in range(N)])
    assert column.kind == "category"


@pytest.mark.parametrize("word", ["-", "--", "–", ".", "n.a.", "#NV", "#DIV/0!", "#VALUE!"])
def test_what_spreadsheets_write_for_nothing_is_missing(tmp_path, word):
    column, X = read_column(tmp_path, [word if k % 5 == 0 else value for k, value in enumerate(NUMBERS)])
    assert (column.kind, column.missing, column.features) == ("numeric", N // 5, 2)
    assert X[:, 1].sum() == N // 5
    column, _ = read_column(tmp_path, [word if k % 5 == 0 else "xyz"[k % 3] for k in range(N)])
    assert (column.kind, column.missing, column.features) == ("category", N // 5, 4)


@pytest.mark.parametrize("at_once", [False, True])
def test_plus_and_minus_are_labels(tmp_path, at_once):
    rows = read_all(written(tmp_path, text(y=["+-"[k % 2] for k in range(N)])), at_once=at_once)
    assert rows.y.tolist() == ["+-"[k % 2] for k in range(N)]
    assert [column.missing for column in rows.columns] == ([] if at_once else [0, 0, 0])


@pytest.mark.parametrize("pair", [("ja", "nein"), ("Oui", "Non"), ("WAHR", "FALSCH"), ("sí", "no")])
def test_truth_in_other_languages(tmp_path, pair):
    column, X = read_column(tmp_path, [pair[k % 2] for k in range(N)])
    assert column.kind == "boolean"
    assert X[:, 0].tolist() == [1.0, 0.0] * (N // 2)


def test_dates_whose_order_cannot_be_mistaken(tmp_path):
    days = [f"{1 + k % 28}.{1 + k % 12:02}.2024" for k in range(N)]
    days[3], days[5] = "2024-02-29", "2024/02/29"
    column, X = read_column(tmp_path, days)
    assert (column.kind, column.summary) == ("date", "1.01.2024 to 24.12.2024")
    assert X[3].tolist() == X[5].tolist() == [19782.0, 4.0]
    column, _ = read_column(tmp_path, [f"{1 + k % 12}/{1 + k % 11}/2024" for k in range(N)])
    assert (column.kind, column.note) == (
        "identifier",
        "dates with the day or the month first? write them as 2024-02-29; --category a keeps it",
    )


def test_codes_keep_their_zeros(tmp_path):
    column, X = read_column(tmp_path, [["01067", "80331", "04109"][k % 3] for k in range(N)])
    assert (column.kind, column.summary) == ("category", "01067, 04109, 80331")
    assert X.sum(axis=0).tolist() == [14, 13, 13]
    column, _ = read_column(tmp_path, [f"{7 * k:05}" for k in range(N)])
    assert (column.kind, column.features) == ("identifier", 0)
    column, _ = read_column(tmp_path, [f"{k % 9}" for k in range(N)])
    assert column.kind == "numeric"


@pytest.mark.parametrize("write", ["+49 30 {}", "(555) {}-0199", "A-{:04}"])
def test_telephone_numbers_and_keys_are_identifiers(tmp_path, write):
    column, _ = read_column(tmp_path, [write.format(100_000 + 77 * k) for k in range(N)])
    assert (column.kind, column.features) == ("identifier", 0)


def test_line_ends_in_categories_stay_on_one_line_of_the_report(tmp_path):
    column, _ = read_column(tmp_path, [f'"{"xyz"[k % 3]}\nb"' for k in range(N)])
    assert column.summary == "3 values: x\\nb, y\\nb, z\\nb"


def test_the_separator_that_excel_names(tmp_path):
    content = "sep=;\r\n" + text(";", a=[german(value) for value in NUMBERS]).replace("\n", "\r\n")
    rows = read_all(written(tmp_path, content))
    assert rows.X[:, 0].tolist() == NUMBERS
    assert rows.lines.tolist() == list(range(3, N + 3))


def test_empty_columns_at_the_end_are_not_the_target(tmp_path):
    lines = text().splitlines()
    rows = read_all(written(tmp_path, "\n".join(line + ",," for line in lines) + "\n"))
    assert rows.schema.target == "y"
    assert [(column.name, column.kind, column.summary) for column in rows.columns][2:4] == [
        ("column 4", "constant", ""),
        ("column 5", "constant", ""),
    ]


def test_a_row_of_totals_and_names_in_the_middle_are_bad_lines(tmp_path):
    lines = text().splitlines()
    content = "\n".join([*lines[:20], lines[0], *lines[20:], "Total,7,"]) + "\n"
    path = written(tmp_path, content)
    with pytest.raises(BadInput, match=r"a.csv:21:1: the names of the columns again: delete the line"):
        read_all(path)
    examples = open_examples(path, skip_bad=True)
    assert examples.read().y.tolist() == LABELS
    assert [line.line for line in examples.skipped] == [21, N + 3]
    assert [column.kind for column in examples.columns] == ["numeric", "numeric", "target"]


def test_a_title_above_the_names_is_an_error_that_says_so(tmp_path):
    with pytest.raises(BadInput, match=r"a.csv:1: 1 value where most lines below have 3: delete what stands"):
        read_all(written(tmp_path, "Sales of 2024\n\n" + text()))
    with pytest.raises(BadInput, match=r"a.csv:1: 'Sales of 2024' stands alone above 3 columns: delete what"):
        read_all(written(tmp_path, "Sales of 2024,,\n" + text()))
    with pytest.raises(BadInput, match=r"a.csv:1: 1 value where .*: a comment\? --comment '#' passes over"):
        read_all(written(tmp_path, "# of 2024\n" + text()))


def test_lines_of_an_old_mac_are_an_error_that_says_so(tmp_path):
    with pytest.raises(BadInput, match=r"a.csv:1: carriage returns inside the line: .*`tr "):
        read_all(written(tmp_path, text().replace("\n", "\r")))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize("name", ["a.csv", "a"])
def test_utf16_with_and_without_a_mark(tmp_path, encoding, name):
    rows = read_all(written(tmp_path, text(b=["rot", "grün"] * (N // 2)).encode(encoding), name))
    assert rows.X.shape == (N, 3)
    assert rows.feature_names == ["a", "b=grün", "b=rot"]
    assert "UTF-16 text" in rows.notes


@pytest.mark.parametrize(
    ("lines", "form"),
    [
        ("a|b|y\n1|x|0\n", "csv"),
        ("a||y\n1|x|0\n", "csv"),
        ("a | b | y\n", "csv"),
        ("1 |a x:1 |b y\n", "vw"),
        ("tag|x y\n", "vw"),
        ("|x y |z w\n", "vw"),
        ("1 | x\n", "vw"),
    ],
)
def test_bars_separate_columns_or_namespaces(tmp_path, lines, form):
    assert find_format(str(written(tmp_path, lines, "a"))) == form


TARGETS = {
    "1,234": (lambda value: f"{1000 * value:,.0f}", 1000.0, ";"),
    "12.3%": (lambda value: f"{value:.2f}%", 0.01, ","),
    "€5": (lambda value: f"€{value:.2f}", 1.0, ","),
}


@pytest.mark.parametrize("write", TARGETS)
def test_a_target_in_a_number_format_is_numeric(tmp_path, write):
    form, factor, separator = TARGETS[write]
    path = written(tmp_path, text(separator, y=[form(abs(value)) for value in NUMBERS]))
    examples = open_examples(path, batch_rows=None)
    assert np.allclose(examples.read().y, factor * np.abs(NUMBERS), atol=0.006 * factor)
    assert (examples.target_kind, examples.schema.labels) == ("numeric", "number")
    assert " to " in examples.columns[-1].summary
    schema = schema_from_dict(examples.schema.to_dict())
    assert schema == examples.schema
    path.write_text(f"a{separator}b{separator}y\n1{separator}2{separator}{form(7.0)}\n")
    assert read_all(path, schema=schema).y.tolist() == pytest.approx([7.0 * factor])
    path.write_text(f"a{separator}b{separator}y\n1{separator}2{separator}much\n")
    with pytest.raises(BadInput, match=r"a.csv:2:5: the target 'y' is 'much', not a number written as in"):
        read_all(path, schema=schema)


def test_few_targets_in_a_number_format_are_classes(tmp_path):
    rows = read_all(written(tmp_path, text(y=[f"{5 * (k % 3)}%" for k in range(N)])))
    assert (rows.target_kind, sorted(set(rows.y))) == ("classes", ["0%", "10%", "5%"])
    with pytest.raises(ValueError, match="only a numeric target has a number format"):
        schema_from_dict(
            rows.schema.to_dict()
            | {"target_format": {"decimal": ".", "percent": True, "currency": ""}, "labels": "text"}
        )


def test_wide_tables_and_long_cells_are_read(tmp_path):
    wide = ",".join(f"c{k}" for k in range(10_000)) + ",y\n"
    wide += "".join(
        ",".join(str((k * k + row) % 9) for k in range(10_000)) + f",{row % 2}\n" for row in range(5)
    )
    assert read_all(written(tmp_path, wide)).X.shape == (5, 10_000)
    column, _ = read_column(tmp_path, ["x" * 100_000 if k == 7 else "uv"[k % 2] for k in range(N)])
    assert (column.kind, column.features) == ("category", 3)
    assert len(column.summary) < 50


def test_lines_of_separators_alone_are_bad_lines_that_say_so(tmp_path):
    path = written(tmp_path, text() + ",,\n")
    with pytest.raises(BadInput, match=rf"a.csv:{N + 2}: the line holds no value: delete it"):
        read_all(path)
    assert read_all(path, skip_bad=True).X.shape == (N, 2)


def test_a_title_in_a_spreadsheet_stands_above_empty_cells(tmp_path):
    path = written(tmp_path, "Report of 2023,,\n,,\n" + text())
    with pytest.raises(BadInput, match=r"a.csv:1: 'Report of 2023' stands alone above 3 columns"):
        read_all(path)


@pytest.mark.parametrize(
    ("write", "days"),
    [("2024{:02d}01", (0, 31, 60)), ("2024-{:02d}", (0, 31, 60))],
    ids=["compact", "months"],
)
def test_short_dates_are_dates_where_the_caller_says_so(tmp_path, write, days):
    values = [write.format(1 + k % 3) for k in range(N)]
    path = written(tmp_path, text(a=values))
    assert read_all(path).columns[0].kind != "date"
    table = read_all(path, date=("a",))
    assert table.columns[0].kind == "date"
    first = table.X[:, table.feature_names.index("a.days")] - 19723  # days until 2024-01-01
    assert first.tolist() == [days[k % 3] for k in range(N)]
    again = read_all(path, schema=schema_from_dict(table.schema.to_dict()))
    assert again.X.tolist() == table.X.tolist()


def test_numbers_that_may_be_dates_are_pointed_out(tmp_path):
    dates, _ = read_column(tmp_path, [20240101 + 100 * (k % 12) + k % 5 for k in range(N)])
    assert (dates.kind, dates.summary) == ("numeric", "20240101 to 20241204")
    assert dates.note == "warning: dates? --date a reads them"
    others, _ = read_column(tmp_path, [20241301 + 100 * k for k in range(N)])
    assert (others.kind, others.note) == ("numeric", "")


def test_values_that_differ_only_in_capitals_are_pointed_out(tmp_path):
    path = written(tmp_path, text(a=["Red", "red", "blue", "green"] * (N // 4), y=["ja", "Ja"] * (N // 2)))
    category, _, target = read_all(path).columns
    assert category.note == "warning: 'Red' and 'red' differ only in capitals"
    assert target.note == "warning: 'Ja' and 'ja' differ only in capitals"


def test_categories_with_commas_are_told_apart(tmp_path):
    column, _ = read_column(tmp_path, ['"Doe, Jane"', '"Roe, Ann"'] * (N // 2))
    assert column.summary.endswith("'Doe, Jane', 'Roe, Ann'")


def test_a_folder_of_several_formats_is_an_error_that_names_both(tmp_path):
    written(tmp_path, text())
    written(tmp_path, "1 1:2\n", "b.svm")
    with pytest.raises(
        BadInput, match=r"is a folder of several formats, csv \(.*a.csv\) and libsvm \(.*b.svm\)"
    ):
        read_all(tmp_path)


def test_cells_between_spaces_are_an_error_with_a_way_out(tmp_path):
    path = written(tmp_path, "".join(f"r{k}  {k}.5  x\n" for k in range(9)), "a.data")
    with pytest.raises(BadInput, match=r"where spaces separate its cells.*tr -s"):
        read_all(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "frame"])
def test_columns_that_are_left_out_may_hold_anything(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"nested": [[1, 2]] * N, "a": NUMBERS, "y": LABELS})
    source = table
    if kind == "parquet":
        from pyarrow import parquet

        source = tmp_path / "a.parquet"
        parquet.write_table(table, source)
    elif kind == "arrow":
        source = tmp_path / "a.arrow"
        with pa.ipc.new_file(source, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(BadInput, match=r"'nested' holds list.*--drop nested"):
        read_all(source)
    rows = read_all(source, drop=("nested",))
    assert rows.X[:, 0].tolist() == NUMBERS
    assert (rows.columns[0].kind, rows.columns[0].missing) == ("dropped", 0)
    assert read_all(source, schema=rows.schema).X.tolist() == rows.X.tolist()


def test_columns_of_data_frames_may_be_called_by_numbers():
    pandas = pytest.importorskip("pandas")
    rows = read_all(pandas.DataFrame({0: NUMBERS, 1: [k % 7 for k in range(N)], "y": LABELS}))
    assert rows.feature_names == ["0", "1"]
    assert rows.X[:, 0].tolist() == NUMBERS
