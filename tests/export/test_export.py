"""Every learner exported and run: ONNX under onnxruntime, Python as it is, C compiled, SQL in SQLite."""

import ctypes
import shutil
import sqlite3
import subprocess
from datetime import date, timedelta

import numpy as np
import pytest
from tests.export.models import (
    KERNELS,
    MODELS,
    PROBABLE,
    THREE,
    TWO,
    X,
    agree,
    fitted,
    named,
    noisy,
    probable,
    probable_name,
    rng,
)

import rosenblatt
from rosenblatt.data import Column, Preprocessing, TableSchema, read_all
from rosenblatt.export import (
    ENDINGS,
    c_source,
    export_model,
    form_of,
    onnx_graph,
    python_source,
    sql_expression,
    sql_probabilities,
    sql_select_list,
)


@pytest.fixture(params=MODELS, ids=map(named, MODELS))
def linear(request):
    return fitted(request.param)


def run_onnx(graph):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    found = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"x": X}), strict=True))
    return found.get("label"), found["scores"]


def test_onnx_says_what_a_linear_model_says(linear):
    agree(linear, *run_onnx(onnx_graph(form_of(linear))))


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("parameters", KERNELS, ids=str)
def test_onnx_says_what_a_kernel_model_says(parameters, y):
    model = rosenblatt.KernelPerceptron(max_iter=3, **parameters).fit(X, y)
    agree(model, *run_onnx(onnx_graph(form_of(model))))


def test_python_source_says_what_the_model_says(linear):
    told = {}
    exec(python_source(form_of(linear)), told)
    scores = np.array([told["scores"](row) for row in X.tolist()])
    labels = np.array([told["predict"](row) for row in X.tolist()])
    agree(linear, labels if linear.predict(X).dtype.kind != "f" else None, np.squeeze(scores))


def compiled_c(form, folder):
    """Return the library that a C compiler makes of a form."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler here")
    (folder / "model.c").write_text(c_source(form), encoding="utf-8")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(
        [compiler, *strict, "-shared", "-fPIC", "-o", "m.so", "model.c", "-lm"], cwd=folder, check=True
    )
    return ctypes.CDLL(str(folder / "m.so"))


def test_c_source_has_any_class_and_any_name(tmp_path):
    labels = ["😀", 'quo"te', "back\\slash", "é1", "??/what??", "tab\tend", "%d \x01f", "no"]
    y = np.array(labels * 2)
    names = ["*/ int x; /*", "😀", "/*", "end\\"]
    model = rosenblatt.Perceptron(max_iter=2).fit(rng.normal(size=(y.size, 4)), y)
    form = form_of(model, names=names)
    library = compiled_c(form, tmp_path)
    texts = (ctypes.c_char_p * len(form.classes)).in_dll(library, "rosenblatt_classes")
    assert [text.decode() for text in texts] == form.classes.tolist()


def test_c_source_says_what_the_model_says(linear, tmp_path):
    library = compiled_c(form_of(linear), tmp_path)
    form = form_of(linear)
    room, scores, places = (ctypes.c_double * len(form.bias))(), [], []
    library.rosenblatt_predict.restype = ctypes.c_int if form.classes is not None else ctypes.c_double
    for row in X:
        given = (ctypes.c_double * 4)(*row)
        library.rosenblatt_scores(given, room)
        scores.append(list(room))
        places.append(library.rosenblatt_predict(given))
    labels = None if form.classes is None else form.classes[places]
    agree(linear, labels, np.squeeze(np.array(scores)))


def in_sqlite(expression, table):
    database = sqlite3.connect(":memory:")
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in table)
    database.execute(f"CREATE TABLE rows ({names})")
    database.executemany(
        f"INSERT INTO rows VALUES ({', '.join('?' * len(table))})", list(zip(*table.values(), strict=True))
    )
    found = [label for (label,) in database.execute(f"SELECT {expression} FROM rows ORDER BY rowid")]
    database.close()
    return np.array(found)


def test_sql_says_what_the_model_says(linear):
    form = form_of(linear, names=["a", 'the "b"', "c", "d"])
    found = in_sqlite(sql_expression(form), dict(zip(form.names, X.T.tolist(), strict=True)))
    wanted = linear.predict(X)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    else:
        assert np.array_equal(found.astype(wanted.dtype), wanted)


def test_sql_speaks_of_the_columns_of_the_table():
    colour = rng.choice(["red", "it's", ""], 60)
    size = rng.normal(5.0, 3.0, 60)
    rows = np.column_stack([(size - 5.0) / 3.0, colour == "", colour == "it's", colour == "red"]).astype(
        float
    )
    y = np.where(rows[:, 0] + 2 * rows[:, 2] - rows[:, 3] > 0, "yes", "no")
    model = rosenblatt.Perceptron().fit(rows, y)
    fitted = Preprocessing(4, (0,), "refuse", (5.0,), (5.0,), (3.0,))
    columns = (Column("size"), Column("colour", ("", "it's", "red")))
    schema = TableSchema(columns, "y", preprocessing=fitted)
    expression = sql_expression(form_of(model, schema=schema), schema)
    table = {"size": size.tolist(), "colour": [value or None for value in colour.tolist()]}
    assert np.array_equal(in_sqlite(expression, table), model.predict(rows))


@pytest.mark.parametrize("cells", [["Yes", "no", None], [1, 0, None], [1.0, 0.0, "?"], ["TRUE", "false", ""]])
def test_sql_reads_truth_values_as_they_are_written(tmp_path, cells):
    path = tmp_path / "data.csv"
    path.write_text(
        "member,size,y\n" + "".join(f"{'yes' if k % 2 else 'no'},{k % 5},{k % 2}\n" for k in range(20))
    )
    rows = read_all(path)
    model = rosenblatt.PerceptronRegressor().fit(rows.X, rows.y)
    expression = sql_expression(form_of(model, schema=rows.schema), rows.schema)
    wanted = model.predict(rows.schema.preprocessing.apply(np.array([[1.0, 2.0], [0.0, 2.0], [np.nan, 2.0]])))
    answers = in_sqlite(expression, {"member": cells, "size": [2.0] * 3})
    np.testing.assert_allclose(answers.astype(float), wanted, rtol=1e-9)


def test_sql_is_null_where_a_number_is_null(linear):
    """As ``predict`` refuses a row with a gap: no class is made up for it."""
    form = form_of(linear, names=["a", "b", "c", "d"])
    for name in form.names:
        table = {own: [None if own == name else 1.0, 1.0] for own in form.names}
        first, second = in_sqlite(sql_expression(form), table).tolist()
        assert first is None
        assert second is not None


def test_sql_of_discrete_columns_alone_needs_no_number(tmp_path):
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    model = rosenblatt.Perceptron().fit(rows, ["no", "yes"])
    schema = TableSchema((Column("colour", ("", "red")),), "y")
    expression = sql_expression(form_of(model), schema)
    assert in_sqlite(expression, {"colour": [None, "red", ""]}).tolist() == ["no", "yes", "no"]


RAW = X * [1.0, 30.0, 0.1, 1.0] + [0.0, 5.0, -2.0, 0.0]
GAPS = RAW.copy()
GAPS[::7, 1] = np.nan
GAPS[3::9, 2] = np.nan


@pytest.fixture(
    params=[
        {"scale": True},
        {"missing": "mean"},
        {"scale": True, "missing": "median"},
        {"scale": True, "missing": "indicator"},
        {"scale": True, "missing": "refuse"},
    ],
    ids=str,
)
def prepared(request):
    """Return raw rows, the same prepared, and a schema that says how."""
    rows = RAW if request.param.get("missing") == "refuse" else GAPS
    columns = tuple(Column(name) for name in "abcd")
    schema = TableSchema(columns, "y", preprocessing=Preprocessing.fit(rows, **request.param))
    return rows, schema.preprocessing.apply(rows), schema


# MultinomialNaiveBayes learns from counts, which are not scaled.
SCALED = [case for case in MODELS if case[0] != "MultinomialNaiveBayes"]


@pytest.mark.parametrize("case", SCALED, ids=map(named, SCALED))
def test_exports_of_a_prepared_table_take_raw_rows(prepared, case, tmp_path):
    """Missing values are filled in, and columns scaled, by what is exported."""
    rows, X_prepared, schema = prepared
    name, parameters, y = case
    model = getattr(rosenblatt, name)(**parameters).fit(X_prepared, y)
    wanted = model.predict(X_prepared)
    form = form_of(model, schema=schema)
    assert form.names == ["a", "b", "c", "d"]

    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(onnx_graph(form), providers=["CPUExecutionProvider"])
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"x": rows}), strict=True))
    agree(model, outputs.get("label"), outputs["scores"], X_prepared)

    module = {}
    exec(python_source(form), module)
    scores = np.squeeze([module["scores"](row) for row in rows.tolist()])
    agree(model, None, scores, X_prepared)
    as_none = [[None if value != value else value for value in row] for row in rows.tolist()]
    assert np.array_equal(np.squeeze([module["scores"](row) for row in as_none]), scores)

    library = compiled_c(form, tmp_path)
    room, scores = (ctypes.c_double * len(form.bias))(), []
    for row in rows:
        library.rosenblatt_scores((ctypes.c_double * 4)(*row), room)
        scores.append(list(room))
    agree(model, None, np.squeeze(np.array(scores)), X_prepared)

    table = dict(zip("abcd", zip(*as_none, strict=True), strict=True))
    answers = in_sqlite(sql_expression(form, schema), table)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(answers.astype(float), wanted, rtol=1e-9, atol=1e-9)
    else:
        assert np.array_equal(answers.astype(wanted.dtype), wanted)


@pytest.mark.parametrize("parameters", KERNELS, ids=str)
def test_onnx_of_a_kernel_model_prepares_raw_rows(prepared, parameters):
    rows, X_prepared, schema = prepared
    model = rosenblatt.KernelPerceptron(max_iter=3, **parameters).fit(X_prepared, THREE)
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = onnx_graph(form_of(model, schema=schema))
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"x": rows}), strict=True))
    agree(model, outputs["label"], outputs["scores"], X_prepared)


def as_predicted(probabilities, model, rows):
    """Assert that probabilities from elsewhere are those of a model."""
    wanted = model.predict_proba(rows)
    np.testing.assert_allclose(np.array(probabilities), wanted, rtol=1e-9, atol=1e-15)


def onnx_probabilities(form, rows):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(onnx_graph(form), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    assert names == ["label", "probabilities", "scores"]
    return session.run(["probabilities"], {"x": rows})[0]


@pytest.mark.parametrize("case", PROBABLE, ids=map(probable_name, PROBABLE))
def test_every_export_has_the_probabilities_of_the_model(case, tmp_path):
    model, rows = probable(case)
    form = form_of(model)
    as_predicted(onnx_probabilities(form, rows), model, rows)

    module = {}
    exec(python_source(form), module)
    as_predicted([module["predict_proba"](row) for row in rows.tolist()], model, rows)

    library = compiled_c(form, tmp_path)
    room, probabilities = (ctypes.c_double * model.classes_.size)(), []
    for row in rows:
        library.rosenblatt_predict_proba((ctypes.c_double * 4)(*row), room)
        probabilities.append(list(room))
    as_predicted(probabilities, model, rows)

    table = dict(zip(form.names, rows.T.tolist(), strict=True))
    columns = [in_sqlite(each, table) for each in sql_probabilities(form)]
    as_predicted(np.column_stack(columns), model, rows)


@pytest.mark.parametrize("classes", [2, 3])
def test_onnx_has_the_probabilities_of_a_kernel_model(classes):
    rows, y = noisy(classes)
    model = rosenblatt.KernelPerceptron(kernel="rbf", gamma=0.5, max_iter=2, probability=True).fit(rows, y)
    as_predicted(onnx_probabilities(form_of(model), rows[:90]), model, rows[:90])


def test_probabilities_of_raw_rows():
    """Scaling is folded into the weights; the formula speaks of the same scores."""
    rows, y = noisy(3)
    raw = rows * [1.0, 30.0, 0.1, 1.0] + [0.0, 5.0, -2.0, 0.0]
    raw[::7, 1] = np.nan
    columns = tuple(Column(name) for name in "abcd")
    schema = TableSchema(columns, "y", preprocessing=Preprocessing.fit(raw, scale=True, missing="indicator"))
    prepared_rows = schema.preprocessing.apply(raw)
    model = rosenblatt.Perceptron(probability=True, max_iter=3).fit(prepared_rows, y)
    form = form_of(model, schema=schema)
    module = {}
    exec(python_source(form), module)
    as_predicted([module["predict_proba"](row) for row in raw[:50].tolist()], model, prepared_rows[:50])
    as_predicted(onnx_probabilities(form, raw[:50]), model, prepared_rows[:50])


def test_sql_of_a_model_with_probabilities_is_a_list_of_columns():
    model, rows = probable(("Perceptron", {"probability": True}, 3))
    form = form_of(model, names=["a", 'the "b"', "c", "d"])
    table = dict(zip(form.names, rows[:20].T.tolist(), strict=True))
    database = sqlite3.connect(":memory:")
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in table)
    database.execute(f"CREATE TABLE rows ({names})")
    database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", list(zip(*table.values(), strict=True)))
    answers = database.execute(f"SELECT {sql_select_list(form)} FROM rows ORDER BY rowid")
    assert [column[0] for column in answers.description] == [
        "prediction", "probability_below", "probability_far", "probability_it's above"
    ]  # fmt: skip
    found = answers.fetchall()
    database.execute("INSERT INTO rows VALUES (NULL, 1.0, 1.0, 1.0)")
    missing = database.execute(f"SELECT {sql_select_list(form)} FROM rows ORDER BY rowid DESC").fetchone()
    database.close()
    assert [row[0] for row in found] == model.predict(rows[:20]).tolist()
    as_predicted([row[1:] for row in found], model, rows[:20])
    assert missing == (None, None, None, None)


def test_another_hypothesis_is_exported_without_probabilities():
    model, _ = probable(("Perceptron", {"probability": True}, 2))
    assert form_of(model).link is not None
    assert form_of(model, "averaged").link is not None
    assert form_of(model, "last").link is None
    assert form_of(model.set_params(hypothesis="last")).link is None
    assert "predict_proba" not in python_source(form_of(model))


def test_what_cannot_be_exported_says_why(tmp_path):
    model = rosenblatt.KernelPerceptron(kernel="poly", degree=2).fit(X, TWO)
    for ending in (".py", ".c", ".sql"):
        with pytest.raises(ValueError, match=r"export it to \.onnx"):
            export_model(model, tmp_path / f"model{ending}")
    with pytest.raises(ValueError, match="expected one of the suffixes"):
        export_model(model, tmp_path / "model.exe")
    with pytest.raises(ValueError, match="voted"):
        export_model(rosenblatt.Perceptron(hypothesis="voted").fit(X, TWO), tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="cannot be exported"):
        export_model(
            rosenblatt.KernelPerceptron(kernel=lambda A, B: A @ B.T).fit(X, TWO), tmp_path / "model.onnx"
        )
    assert not list(tmp_path.iterdir())


def test_every_ending_is_written(tmp_path):
    model = rosenblatt.Perceptron().fit(X, THREE)
    for ending in ENDINGS:
        export_model(model, tmp_path / f"model{ending}")
        assert (tmp_path / f"model{ending}").stat().st_size


def table_of_people(path, seed, unknown=False):
    """Write a table of numbers, money, dates, booleans, categories and percentages with gaps; return its cells."""
    draw = np.random.default_rng(seed)
    lines, cells = [], []
    for _ in range(120):
        day = date(2020, 1, 1) + timedelta(days=int(draw.integers(900)))
        price, share = float(draw.integers(1000, 500000)) / 100, float(draw.integers(1000)) / 1000
        row = [f"{draw.normal(5, 2):.3f}", f"${price:,.2f}", day.isoformat(), str(draw.choice(["yes", "no"]))]
        row += [str(draw.choice(["Berlin", "O'Hara", "São Paulo"])), f"{100 * share:.1f}%"]
        label = "dear" if price > 2500 + 800 * draw.normal() else "cheap"
        if unknown and draw.random() < 0.3:
            row[4] = "Tokio"
        row = [cell if draw.random() > 0.1 else "" for cell in row]
        lines.append(",".join(f'"{cell}"' if "," in cell else cell for cell in [*row, label]))
        cells.append(row)
    path.write_text("size,price,day,member,city,share,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return cells


def by_hand(row, names):
    """Return the features of a row as docs/export.md says how each is given."""
    size, price, day, member, city, share = row
    when = date.fromisoformat(day) if day else None
    known = {
        "size": float(size or "nan"),
        "price": float(price.replace("$", "").replace(",", "") or "nan"),
        "day.days": float("nan") if when is None else float((when - date(1970, 1, 1)).days),
        "day.weekday": float("nan") if when is None else float(when.isoweekday()),
        "member": {"yes": 1.0, "no": 0.0, "": float("nan")}[member],
        "share": float(share.replace("%", "") or "nan") / 100,
        f"city={city or '(missing)'}": 1.0,
    }
    return [known.get(name, 0.0) for name in names]


@pytest.mark.parametrize("missing", ["indicator", "mean", "median"])
@pytest.mark.parametrize("scale", [False, True])
def test_exports_of_a_table_take_rows_as_the_documentation_says(tmp_path, missing, scale):
    """Every kind of column, gaps and unknown categories: scores equal those of the rows that ``predict`` reads."""
    table_of_people(tmp_path / "train.csv", 1)
    cells = table_of_people(tmp_path / "new.csv", 2, unknown=True)
    train = read_all(tmp_path / "train.csv", missing=missing, scale=scale)
    new = read_all(tmp_path / "new.csv", schema=train.schema)
    model = rosenblatt.Perceptron(max_iter=3).fit(train.X, train.y)
    form = form_of(model, schema=train.schema)
    raw = np.array([by_hand(row, form.names) for row in cells])

    module = {}
    exec(python_source(form), module)
    scores = np.array([module["scores"](row)[0] for row in raw.tolist()])
    np.testing.assert_allclose(scores, model.decision_function(new.X), rtol=1e-9, atol=1e-8)

    library = compiled_c(form, tmp_path)
    out, scores = (ctypes.c_double * 1)(), []
    for row in raw:
        library.rosenblatt_scores((ctypes.c_double * row.size)(*row), out)
        scores.append(out[0])
    np.testing.assert_allclose(scores, model.decision_function(new.X), rtol=1e-9, atol=1e-8)

    as_none = [[None if value != value else value for value in row] for row in raw.tolist()]
    table = {name: list(values) for name, values in zip(form.names, zip(*as_none, strict=True), strict=True)}
    table |= {"member": [row[3] or None for row in cells], "city": [row[4] or None for row in cells]}
    assert in_sqlite(sql_expression(form, train.schema), table).tolist() == model.predict(new.X).tolist()


@pytest.mark.parametrize("cells", [["10", "20", "30"], [10, 20, 30], [10.0, 20.0, 30.0]])
def test_sql_reads_categories_that_a_database_holds_as_numbers(tmp_path, cells):
    path = tmp_path / "data.csv"
    path.write_text("code,y\n" + "10,a\n20,b\n30,c\n" * 10)
    rows = read_all(path, category="code")
    model = rosenblatt.Perceptron().fit(rows.X, rows.y)
    expression = sql_expression(form_of(model, schema=rows.schema), rows.schema)
    assert in_sqlite(expression, {"code": cells}).tolist() == ["a", "b", "c"]
