"""A linear form as source that needs nothing else: a Python module, C99, or one SQL expression."""

import json
from typing import Any

from rosenblatt.data.preprocess import Preprocessing
from rosenblatt.data.schema import Column, TableSchema
from rosenblatt.export.form import Form, KernelForm


def _linear_only(form: Form | KernelForm, language: str) -> Form:
    """Return a linear form, or say why source in this language cannot be had."""
    if isinstance(form, KernelForm):
        raise ValueError(  # noqa: TRY004 (the type is right, the model is not)
            f"a kernel model is not exported to {language}: it is its support rows; export it to .onnx"
        )
    return form


def python_source(form: Form | KernelForm) -> str:
    """Return the source of a module with ``predict`` and ``scores`` for one example, a sequence of numbers."""
    form = _linear_only(form, "Python")
    lines = [
        '"""A linear model, exported by rosenblatt."""',
        "",
        f"FEATURES = {json.dumps(form.names, ensure_ascii=False)}",
        f"WEIGHTS = [{', '.join(str(row) for row in form.weights.tolist())}]",
        f"BIAS = {form.bias.tolist()}",
    ]
    if form.classes is not None:
        lines.append(f"CLASSES = {[_plain(label) for label in form.classes.tolist()]!r}")
    value = "xi" if form.above is None else f"(1.0 if xi > {form.above!r} else 0.0)"
    lines += [
        "",
        "",
        "def scores(x):",
        '    """Return the scores of one example."""',
        f"    return [sum((wi * {value} for wi, xi in zip(w, x)), b) for w, b in zip(WEIGHTS, BIAS)]",
        "",
        "",
        "def predict(x):",
        '    """Return what is predicted for one example."""',
    ]
    if form.classes is None:
        lines.append("    return scores(x)[0]")
    elif len(form.bias) == 1:
        lines.append("    return CLASSES[-1] if scores(x)[0] > 0 else CLASSES[0]")
    else:
        lines += ["    values = scores(x)", "    return CLASSES[values.index(max(values))]"]
    return "\n".join(lines) + "\n"


def _plain(label: Any) -> Any:
    return label if isinstance(label, str | int | float | bool) else str(label)


def c_source(form: Form | KernelForm) -> str:
    """Return C99 with ``rosenblatt_scores(x, out)`` and ``rosenblatt_predict(x)``, the number of a class.

    It allocates nothing. The names of the classes are UTF-8, in ``rosenblatt_classes``.
    """
    form = _linear_only(form, "C")
    rows, width = form.weights.shape
    value = "x[j]" if form.above is None else f"(x[j] > {form.above!r} ? 1.0 : 0.0)"
    weights = ",\n".join("    {" + ", ".join(map(repr, row)) + "}" for row in form.weights.tolist())
    lines = [
        "/* A linear model, exported by rosenblatt.",
        *(f" * x[{place}]: {_comment(name)}" for place, name in enumerate(form.names)),
        " */",
        f"enum {{ ROSENBLATT_FEATURES = {width}, ROSENBLATT_SCORES = {rows} }};",
        "",
        f"static const double weights[{rows}][{width}] = {{",
        weights,
        "};",
        f"static const double bias[{rows}] = {{{', '.join(map(repr, form.bias.tolist()))}}};",
    ]
    if form.classes is not None:
        literals = ", ".join(_c_string(str(label)) for label in form.classes.tolist())
        lines.append(f"const char *const rosenblatt_classes[{len(form.classes)}] = {{{literals}}};")
    lines += [
        "",
        f"void rosenblatt_scores(const double x[{width}], double out[{rows}])",
        "{",
        f"    for (int c = 0; c < {rows}; ++c) {{",
        "        double sum = bias[c];",
        f"        for (int j = 0; j < {width}; ++j)",
        f"            sum += weights[c][j] * {value};",
        "        out[c] = sum;",
        "    }",
        "}",
    ]
    return "\n".join(lines + _c_decision(form, rows, width)) + "\n"


def _c_decision(form: Form, rows: int, width: int) -> list[str]:
    if form.classes is None:
        return ["", f"double rosenblatt_predict(const double x[{width}])", "{", f"    double out[{rows}];",
                "    rosenblatt_scores(x, out);", "    return out[0];", "}"]  # fmt: skip
    best = [f"    return out[0] > 0.0 ? {len(form.classes) - 1} : 0;"] if rows == 1 else [
        "    int best = 0;",
        f"    for (int c = 1; c < {rows}; ++c)",
        "        if (out[c] > out[best])",
        "            best = c;",
        "    return best;",
    ]  # fmt: skip
    return [
        "",
        f"int rosenblatt_predict(const double x[{width}])",
        "{",
        f"    double out[{rows}];",
        "    rosenblatt_scores(x, out);",
        *best,
        "}",
    ]


def _c_string(text: str) -> str:
    r"""Return a text as a string literal of its UTF-8 bytes in ASCII.

    Octal escapes have three digits at most, so that the character after one stays apart; a question mark could begin a
    trigraph.

    >>> print(_c_string('"yes" 🙂1'))
    "\042yes\042 \360\237\231\2021"
    """
    safe = {byte: chr(byte) for byte in range(32, 127) if chr(byte) not in '"\\?'}
    return '"' + "".join(safe.get(byte) or f"\\{byte:03o}" for byte in text.encode()) + '"'


def _comment(name: str) -> str:
    """Return a name that neither ends nor begins a comment."""
    text = "".join(each if each.isprintable() else " " for each in name)
    return text.replace("*/", "* /").replace("/*", "/ *")


def sql_expression(form: Form | KernelForm, schema: Any = None) -> str:
    """Return an expression that is the predicted class, or number, of a row.

    With the schema of a table it speaks of the table's columns: discrete ones become ``CASE``, scaled ones are scaled.
    Without one there is a column for each feature. Where a numeric column is NULL, the prediction is NULL.

    >>> import numpy as np
    >>> sql_expression(Form(np.array([[2.0, -1.0]]), np.array([0.5]), None, ["a", "b"]))
    '0.5 + 2.0 * "a" - 1.0 * "b"'
    >>> sql_expression(Form(np.array([[2.0]]), np.array([0.5]), np.array([0, 1]), ["a"]))
    'CASE WHEN "a" IS NULL THEN NULL WHEN 0.5 + 2.0 * "a" > 0 THEN 1 ELSE 0 END'
    """
    form = _linear_only(form, "SQL")
    columns = (
        schema.columns if isinstance(schema, TableSchema) else tuple(Column(name) for name in form.names)
    )
    fitted = schema.preprocessing if isinstance(schema, TableSchema) else None
    features = sum(c.width for c in columns) if fitted is None else fitted.n_features
    if features != form.weights.shape[1]:
        raise ValueError(f"the schema has {features} features, the model {form.weights.shape[1]}")
    unusual = next((column for column in columns if column.categories is None and not column.plain), None)
    if unusual is not None:
        raise ValueError(
            f"column {unusual.name!r} ({unusual.kind}) is text that SQL reads otherwise: store it as a number, or "
            "export to .onnx, .py or .c"
        )
    if any(column.words is not None for column in columns):
        raise ValueError(
            "words of a text column cannot be found by an SQL expression: export to .onnx, .py or .c"
        )
    sums = [
        _sql_sum(row, bias, columns, form.above, fitted)
        for row, bias in zip(form.weights.tolist(), form.bias.tolist(), strict=True)
    ]
    if form.classes is None:
        return sums[0]
    labels = [_sql_literal(label) for label in form.classes.tolist()]
    if len(sums) == 1:
        filled = fitted is not None and fitted.missing not in ("refuse", "drop")
        numeric = [] if filled else [_sql_name(c.name) for c in columns if c.categories is None]
        missing = " OR ".join(f"{name} IS NULL" for name in numeric)
        null = f"WHEN {missing} THEN NULL " if missing else ""  # else NULL > 0 would be the first class
        return f"CASE {null}WHEN {sums[0]} > 0 THEN {labels[-1]} ELSE {labels[0]} END"
    scores = ", ".join(f"{each} AS s{place}" for place, each in enumerate(sums))
    cases = " ".join(
        f"WHEN {' AND '.join(f's{place} >= s{other}' for other in range(len(sums)) if other != place)} THEN {label}"
        for place, label in enumerate(labels)
    )
    return f"(SELECT CASE {cases} END FROM (SELECT {scores}) AS scored)"


def _sql_sum(
    row: list[float],
    bias: float,
    columns: tuple[Column, ...],
    above: float | None,
    fitted: Preprocessing | None,
) -> str:
    terms, place, at = repr(bias), 0, 0
    for column in columns:
        own, place = row[place : place + column.width], place + column.width
        if column.categories is not None:
            cases = "".join(
                f" WHEN {_sql_literal(value)} THEN {weight!r}"
                for value, weight in zip(column.categories, own, strict=True)
            )
            terms += f" + CASE COALESCE({_sql_name(column.name)}, ''){cases} ELSE 0.0 END"
        else:
            sign = "-" if own[0] < 0 else "+"
            terms += f" {sign} {abs(own[0])!r} * {_sql_value(column, above, fitted, at)}"
            at += 1
    for column_of, weight in zip(fitted.indicators if fitted else (), row[place:], strict=True):
        name = _sql_name(_column_at(columns, column_of).name)
        terms += f" + CASE WHEN {name} IS NULL THEN {weight!r} ELSE 0.0 END"
    return terms


def _column_at(columns: tuple[Column, ...], place: int) -> Column:
    """Return the column that a column of the raw matrix comes from."""
    for column in columns:
        if place < column.width:
            return column
        place -= column.width
    raise ValueError(f"no column makes the feature {place}")


def _sql_value(column: Column, above: float | None, fitted: Preprocessing | None, at: int) -> str:
    name = _sql_name(column.name)
    if fitted is not None and fitted.missing not in ("refuse", "drop"):
        name = f"COALESCE({name}, {fitted.fill[at]!r})"
    if fitted is not None and fitted.spread is not None and fitted.centre is not None:
        name = f"(({name} - ({fitted.centre[at]!r})) / {fitted.spread[at]!r})"
    return (
        name
        if above is None
        else f"CASE WHEN {name} > {above!r} THEN 1.0 WHEN {name} <= {above!r} THEN 0.0 END"
    )


def _sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql_literal(label: Any) -> str:
    if isinstance(label, bool):
        return str(int(label))
    return repr(label) if isinstance(label, int | float) else "'" + str(label).replace("'", "''") + "'"
