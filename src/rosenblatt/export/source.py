"""A linear form as source that needs nothing else: a Python module, C99, or one SQL expression."""

import json
from typing import Any

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
    term, rows, of_each = "wi * xi", ["WEIGHTS"], ["w"]
    if form.above is not None:
        lines.append(f"ABOVE = {form.above.tolist()}")
        term = "(wi if xi is not None and xi > ti else 0.0)"
    if form.absent is not None:
        lines.append(f"ABSENT = {form.absent.tolist()}  # added where a value is missing")
        term, rows, of_each = f"(ai if xi is None or xi != xi else {term})", [*rows, "ABSENT"], ["w", "a"]
    names, values = [f"{each}i" for each in of_each], list(of_each)
    if form.above is not None:
        names, values = [*names, "ti"], [*values, "ABOVE"]
    each = f"sum(({term} for {', '.join([*names, 'xi'])} in zip({', '.join([*values, 'x'])})), b)"
    lines += [
        "",
        "",
        "def scores(x):",
        '    """Return the scores of one example."""',
        f"    return [{each} for {', '.join([*of_each, 'b'])} in zip({', '.join([*rows, 'BIAS'])})]",
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
    term = "weights[c][j] * x[j]" if form.above is None else "(x[j] > above[j] ? weights[c][j] : 0.0)"
    lines = [
        "/* A linear model, exported by rosenblatt.",
        *(f" * x[{place}]: {_comment(name)}" for place, name in enumerate(form.names)),
        " */",
        f"enum {{ ROSENBLATT_FEATURES = {width}, ROSENBLATT_SCORES = {rows} }};",
        "",
        *_c_matrix("weights", form.weights),
        f"static const double bias[{rows}] = {{{', '.join(map(repr, form.bias.tolist()))}}};",
    ]
    if form.above is not None:
        lines.append(f"static const double above[{width}] = {{{', '.join(map(repr, form.above.tolist()))}}};")
    if form.absent is not None:
        lines += ["/* added where x[j] is missing: NaN */", *_c_matrix("absent", form.absent)]
        term = f"x[j] != x[j] ? absent[c][j] : {term}"
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
        f"            sum += {term};",
        "        out[c] = sum;",
        "    }",
        "}",
    ]
    return "\n".join(lines + _c_decision(form, rows, width)) + "\n"


def _c_matrix(name: str, values: Any) -> list[str]:
    rows = ",\n".join("    {" + ", ".join(map(repr, row)) + "}" for row in values.tolist())
    return [f"static const double {name}[{values.shape[0]}][{values.shape[1]}] = {{", rows, "};"]


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

    With the schema of a table it speaks of the table's columns: discrete ones become ``CASE``, and NULL in a numeric
    one is what the form adds for a missing value. Without one there is a column for each feature. Where no value may be
    missing and a numeric column is NULL, the prediction is NULL.

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
    if sum(column.width for column in columns) != form.weights.shape[1]:
        raise ValueError(
            f"the schema has {sum(c.width for c in columns)} features, the model {form.weights.shape[1]}"
        )
    if any(column.words is not None for column in columns):
        raise ValueError(
            "words of a text column cannot be found by an SQL expression: export to .onnx, .py or .c"
        )
    sums = [_sql_sum(form, row, columns) for row in range(len(form.bias))]
    if form.classes is None:
        return sums[0]
    labels = [_sql_literal(label) for label in form.classes.tolist()]
    if len(sums) == 1:
        numeric = [name for column in columns if column.categories is None for name in column.features]
        missing = " OR ".join(f"{_sql_name(name)} IS NULL" for name in numeric)
        may_be_null = form.absent is None and missing  # then NULL > 0 would be the first class
        null = f"WHEN {missing} THEN NULL " if may_be_null else ""
        return f"CASE {null}WHEN {sums[0]} > 0 THEN {labels[-1]} ELSE {labels[0]} END"
    scores = ", ".join(f"{each} AS s{place}" for place, each in enumerate(sums))
    cases = " ".join(
        f"WHEN {' AND '.join(f's{place} >= s{other}' for other in range(len(sums)) if other != place)} THEN {label}"
        for place, label in enumerate(labels)
    )
    return f"(SELECT CASE {cases} END FROM (SELECT {scores}) AS scored)"


def _sql_sum(form: Form, row: int, columns: tuple[Column, ...]) -> str:
    weights, terms, place = form.weights[row].tolist(), repr(float(form.bias[row])), 0
    for column in columns:
        own, first = weights[place : place + column.width], place
        place += column.width
        if column.categories is not None:
            cases = "".join(
                f" WHEN {_sql_literal(value)} THEN {weight!r}"
                for value, weight in zip(column.categories, own, strict=True)
            )
            terms += f" + CASE COALESCE({_sql_name(column.name)}, ''){cases} ELSE 0.0 END"
            continue
        for at, name in enumerate(column.features, first):
            terms += _sql_term(form, row, at, _sql_name(name))
    return terms


def _sql_term(form: Form, row: int, at: int, name: str) -> str:
    """Return what a numeric feature adds to a score, with its sign."""
    weight = float(form.weights[row, at])
    absent = None if form.absent is None else float(form.absent[row, at])
    if form.above is not None:
        above = float(form.above[at])
        otherwise = "" if absent is None else f" ELSE {absent!r}"
        return f" + CASE WHEN {name} > {above!r} THEN {weight!r} WHEN {name} <= {above!r} THEN 0.0{otherwise} END"
    if absent is not None:
        return f" + COALESCE({weight!r} * {name}, {absent!r})"
    return f" {'-' if weight < 0 else '+'} {abs(weight)!r} * {name}"


def _sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql_literal(label: Any) -> str:
    if isinstance(label, bool):
        return str(int(label))
    return repr(label) if isinstance(label, int | float) else "'" + str(label).replace("'", "''") + "'"
