"""Linear forms as self-contained source: a Python module, C99, or an SQL expression."""

import json
from collections.abc import Container
from typing import Any

import numpy as np

from rosenblatt.data.schema import Column, TableSchema
from rosenblatt.data.tables.values import FALSE, TRUE, number
from rosenblatt.export.form import Form, KernelForm
from rosenblatt.learner.calibration import SMALLEST, Link


def _linear_only(form: Form | KernelForm, language: str) -> Form:
    """Return a linear form; raise ValueError for a kernel form."""
    if isinstance(form, KernelForm):
        raise ValueError(  # noqa: TRY004 (the type is right, the model is not)
            f"a kernel model cannot be exported to {language}, as it consists of support rows: export it to .onnx"
        )
    return form


def python_source(form: Form | KernelForm) -> str:
    """Return the source of a module with ``predict`` and ``scores`` of one example, a sequence of numbers.

    A form with probabilities also has ``predict_proba``.
    """
    form = _linear_only(form, "Python")
    lines = [
        '"""A linear model, exported by rosenblatt."""',
        *_python_imports(form),
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
    if form.classes is not None and form.link is not None:
        lines += _python_probabilities(form.link, len(form.bias) == 1)
    return "\n".join(lines) + "\n"


def _python_imports(form: Form) -> list[str]:
    if form.classes is None or form.link is None:
        return []
    return ["", "import bisect" if form.link.method == "venn-abers" else "import math"]


def _python_probabilities(link: Link, two: bool) -> list[str]:
    """Return the lines of ``predict_proba``."""
    lines = [
        "",
        "",
        "def predict_proba(x):",
        '    """Return the probability of every class, in the order of CLASSES."""',
    ]
    lines.append("    values = scores(x)")
    if link.method == "softmax":
        lines += ["    best = max(values)", "    each = [math.exp(value - best) for value in values]"]
        return [*lines, "    total = sum(each)", "    return [value / total for value in each]"]
    if link.method in ("platt", "venn-abers") and not two:
        lines += [
            "    first, second = sorted(values)[-1], sorted(values)[-2]",
            "    leader = values.index(first)",
            "    values = [value - (second if c == leader else first) for c, value in enumerate(values)]",
        ]
    if link.method == "venn-abers":
        lines.append(
            "    each = [STEPS[c][bisect.bisect_right(EDGES[c], value)] for c, value in enumerate(values)]"
        )
    elif link.method == "platt":
        lines.append("    each = [_sigmoid(a * value + b) for a, b, value in zip(SLOPE, OFFSET, values)]")
    else:
        lines.append("    each = [_sigmoid(value) for value in values]")
    if two:
        lines.append("    return [1.0 - each[0], each[0]]")
    else:
        if link.method != "one-vs-rest":
            lines.append(f"    each = [max(value, {SMALLEST!r}) for value in each]")
        lines += ["    total = sum(each)", "    return [value / total for value in each]"]
    if link.method == "venn-abers":
        edges, steps = ([each.tolist() for each in table] for table in (link.edges, link.values))
        return [f"EDGES = {edges}", f"STEPS = {steps}", *lines]
    constants = [f"SLOPE = {link.slope.tolist()}", f"OFFSET = {link.offset.tolist()}"]
    return [
        *(constants if link.method == "platt" else []),
        "",
        "",
        "def _sigmoid(z):",
        "    small = math.exp(-abs(z))",
        "    return (1.0 if z >= 0.0 else small) / (1.0 + small)",
        *lines,
    ]


def _plain(label: Any) -> Any:
    return label if isinstance(label, str | int | float | bool) else str(label)


def c_source(form: Form | KernelForm) -> str:
    """Return C99 with ``rosenblatt_scores(x, out)`` and ``rosenblatt_predict(x)``, the number of a class.

    It allocates nothing. The names of the classes are UTF-8, in ``rosenblatt_classes``. A form with probabilities has
    ``rosenblatt_predict_proba(x, out)`` too, which needs ``exp`` of the C library (``-lm``) unless they are a table.
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
    lines += _c_decision(form, rows, width)
    if form.classes is not None and form.link is not None:
        lines = ["#include <math.h>", "", *lines] if form.link.method != "venn-abers" else lines
        lines += _c_probabilities(form.link, rows, width, len(form.classes))
    return "\n".join(lines) + "\n"


def _c_probabilities(link: Link, rows: int, width: int, classes: int) -> list[str]:
    """Return the lines of ``rosenblatt_predict_proba`` and its tables."""
    gaps = link.method in ("platt", "venn-abers") and rows > 1
    lines = [""]
    if link.method == "venn-abers":
        for c, (edges, steps) in enumerate(zip(link.edges, link.values, strict=True)):
            lines.append(
                f"static const double edges_{c}[] = {{{', '.join(map(repr, [*edges.tolist(), 0.0]))}}};"
            )
            lines.append(f"static const double steps_{c}[] = {{{', '.join(map(repr, steps.tolist()))}}};")
        tables, sizes = range(len(link.edges)), ", ".join(str(each.size) for each in link.edges)
        lines += [
            f"static const double *const edges[] = {{{', '.join(f'edges_{c}' for c in tables)}}};",
            f"static const double *const steps[] = {{{', '.join(f'steps_{c}' for c in tables)}}};",
            f"static const int sizes[] = {{{sizes}}};",
        ]
        each = ["int group = 0;", "while (group < sizes[c] && edges[c][group] <= value)", "    ++group;"]
        each.append("value = steps[c][group];")
    elif link.method == "softmax":
        each = ["value = exp(value - scores[best]);"]
    else:
        lines += [
            "static double sigmoid(double z)",
            "{",
            "    const double small = exp(z < 0.0 ? z : -z);",
            "    return (z >= 0.0 ? 1.0 : small) / (1.0 + small);",
            "}",
        ]
        each = ["value = sigmoid(value);"]
        if link.method == "platt":
            for name, values in (("slope", link.slope), ("offset", link.offset)):
                lines.append(f"static const double {name}[] = {{{', '.join(map(repr, values.tolist()))}}};")
            each = ["value = sigmoid(slope[c] * value + offset[c]);"]
    if gaps:
        each = [
            "value -= scores[c == best ? second : best];",
            *each,
            f"value = value < {SMALLEST!r} ? {SMALLEST!r} : value;",
        ]
    lines += [
        "",
        f"void rosenblatt_predict_proba(const double x[{width}], double out[{classes}])",
        "{",
        f"    double scores[{rows}];",
        "    rosenblatt_scores(x, scores);",
    ]
    if rows == 1:
        body = [
            "const int c = 0;",
            "double value = scores[0];",
            *each,
            "out[0] = 1.0 - value;",
            "out[1] = value;",
        ]
        return [*lines, *(f"    {line}" for line in body), "}"]
    body = ["double sum = 0.0;"]
    if link.method != "one-vs-rest":
        body += [
            "int best = 0;",
            f"for (int c = 1; c < {rows}; ++c)",
            "    if (scores[c] > scores[best])",
            "        best = c;",
        ]
    if gaps:
        body += [
            "int second = best == 0 ? 1 : 0;",
            f"for (int c = 0; c < {rows}; ++c)",
            "    if (c != best && scores[c] > scores[second])",
            "        second = c;",
        ]
    body += [
        f"for (int c = 0; c < {rows}; ++c) {{",
        "    double value = scores[c];",
        *(f"    {line}" for line in each),
        "    out[c] = value;",
        "    sum += value;",
        "}",
        f"for (int c = 0; c < {rows}; ++c)",
        "    out[c] /= sum;",
    ]
    return [*lines, *(f"    {line}" for line in body), "}"]


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
    """Escape a name for a comment."""
    text = "".join(each if each.isprintable() else " " for each in name)
    return text.replace("*/", "* /").replace("/*", "/ *")


def sql_expression(form: Form | KernelForm, schema: Any = None) -> str:
    """Return the expression of the predicted class, or number, of a row.

    With the schema of a table it uses the columns of the table: ``CASE`` for discrete ones, and the term of a missing
    value for NULL in a numeric one. Without a schema there is one column per feature. If missing values are invalid,
    the prediction is NULL where a numeric column is.

    >>> import numpy as np
    >>> sql_expression(Form(np.array([[2.0, -1.0]]), np.array([0.5]), None, ["a", "b"]))
    '0.5 + 2.0 * "a" - 1.0 * "b"'
    >>> sql_expression(Form(np.array([[2.0]]), np.array([0.5]), np.array([0, 1]), ["a"]))
    'CASE WHEN "a" IS NULL THEN NULL WHEN 0.5 + 2.0 * "a" > 0 THEN 1 ELSE 0 END'
    """
    form, columns = _sql_columns(form, schema)
    sums = [_sql_sum(form, row, columns) for row in range(len(form.bias))]
    if form.classes is None:
        return sums[0]
    labels = [_sql_literal(label) for label in form.classes.tolist()]
    if len(sums) == 1:
        numeric = [name for column in columns if column.categories is None for name in column.features]
        missing = " OR ".join(f"{_sql_name(name)} IS NULL" for name in numeric)
        may_be_null = form.absent is None and missing  # else NULL > 0 would give the first class
        null = f"WHEN {missing} THEN NULL " if may_be_null else ""
        return f"CASE {null}WHEN {sums[0]} > 0 THEN {labels[-1]} ELSE {labels[0]} END"
    scores = ", ".join(f"{each} AS s{c}" for c, each in enumerate(sums))
    cases = " ".join(
        f"WHEN {' AND '.join(f's{c} >= s{other}' for other in range(len(sums)) if other != c)} THEN {label}"
        for c, label in enumerate(labels)
    )
    return f"(SELECT CASE {cases} END FROM (SELECT {scores}) AS scored)"


def sql_probabilities(form: Form | KernelForm, schema: Any = None) -> list[str]:
    """Return the expressions of the probabilities of all classes, in their order.

    All but Venn-Abers probabilities need ``EXP``.

    >>> import numpy as np
    >>> from rosenblatt.learner.calibration import Link
    >>> link = Link("venn-abers", edges=(np.array([0.5]),), values=(np.array([0.2, 0.9]),))
    >>> sql_probabilities(Form(np.array([[2.0]]), np.array([0.0]), np.array([0, 1]), ["a"], link=link))[1][:75]
    '(SELECT CASE WHEN v0 IS NULL THEN NULL WHEN v0 < 0.5 THEN 0.2 ELSE 0.9 END '
    """
    form, columns = _sql_columns(form, schema)
    if form.classes is None or form.link is None:
        return []
    link, count = form.link, len(form.bias)
    inner = ", ".join(f"{_sql_sum(form, row, columns)} AS v{row}" for row in range(count))
    source = f"(SELECT {inner}) AS scored"
    every = range(count)
    if count > 1 and link.method != "one-vs-rest":
        others = [
            " UNION ALL ".join(f"SELECT v{c} AS v" for c in every if c != own or link.method == "softmax")
            for own in every
        ]
        gaps = [f"v{c} - (SELECT MAX(v) FROM ({others[c]}) AS rivals) AS v{c}" for c in every]
        source = f"(SELECT {', '.join(gaps)} FROM {source}) AS compared"
    if link.method == "venn-abers":
        each = [_sql_steps(f"v{c}", link.edges[c].tolist(), link.values[c].tolist()) for c in every]
    else:
        slopes, offsets = (np.broadcast_to(v, count).tolist() for v in (link.slope, link.offset))
        odds = [
            f"{a!r} * v{c} + {b!r}" if link.method == "platt" else f"v{c}"
            for c, a, b in zip(every, slopes, offsets, strict=True)
        ]
        source = f"(SELECT {', '.join(f'{z} AS v{c}' for c, z in enumerate(odds))} FROM {source}) AS odds"
        each = [
            _sql_exp(f"v{c}") if link.method == "softmax" else f"1.0 / (1.0 + {_sql_exp(f'-v{c}')})"
            for c in every
        ]
    if count == 1:
        return [f"(SELECT 1.0 - {each[0]} FROM {source})", f"(SELECT {each[0]} FROM {source})"]
    source = f"(SELECT {', '.join(f'{p} AS v{c}' for c, p in enumerate(each))} FROM {source}) AS one_by_one"
    if link.method in ("platt", "venn-abers"):
        least = ", ".join(
            f"CASE WHEN v{c} < {SMALLEST!r} THEN {SMALLEST!r} ELSE v{c} END AS v{c}" for c in every
        )
        source = f"(SELECT {least} FROM {source}) AS bounded"
    total = " + ".join(f"v{c}" for c in every)
    return [f"(SELECT v{c} / ({total}) FROM {source})" for c in every]


def sql_select_list(form: Form | KernelForm, schema: Any = None) -> str:
    """Return the content of an SQL file: the expression of the class, or columns if there are probabilities.

    The columns are ``prediction`` and, for every class, ``probability_<class>``.
    """
    expression, probabilities = sql_expression(form, schema), sql_probabilities(form, schema)
    if not probabilities or form.classes is None:
        return expression
    columns = [f"{expression} AS prediction"]
    for label, each in zip(form.classes.tolist(), probabilities, strict=True):
        columns.append(f"{each} AS {_sql_name(f'probability_{label}')}")
    return ",\n".join(columns)


def _sql_columns(form: Form | KernelForm, schema: Any) -> tuple[Form, tuple[Column, ...]]:
    """Return a linear form and the columns of its weights."""
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
            "an SQL expression cannot count the words of a text column: export to .onnx, .py or .c"
        )
    return form, columns


def _sql_exp(name: str) -> str:
    """Return ``EXP`` of a column, clipped against over- and underflow, which some databases refuse."""
    return f"EXP(CASE WHEN {name} > 700.0 THEN 700.0 WHEN {name} < -700.0 THEN -700.0 ELSE {name} END)"


def _sql_steps(name: str, edges: list[float], values: list[float]) -> str:
    cases = " ".join(
        f"WHEN {name} < {edge!r} THEN {value!r}" for edge, value in zip(edges, values, strict=False)
    )
    return f"CASE WHEN {name} IS NULL THEN NULL {cases} ELSE {values[-1]!r} END"


def _sql_sum(form: Form, row: int, columns: tuple[Column, ...]) -> str:
    weights, terms, offset = form.weights[row].tolist(), repr(float(form.bias[row])), 0
    for column in columns:
        column_weights, first = weights[offset : offset + column.width], offset
        offset += column.width
        if column.categories is not None:
            cases = "".join(
                f" WHEN {_sql_literal(spelling)} THEN {weight!r}"
                for value, weight in zip(column.categories, column_weights, strict=True)
                for spelling in _sql_spellings(value, column.index)
            )
            terms += f" + CASE COALESCE({_sql_text(column)}, ''){cases} ELSE 0.0 END"
            continue
        for j, name in enumerate(column.features, first):
            value = _sql_name(name)
            terms += _sql_term(form, row, j, _sql_truth(value) if column.boolean else value)
    return terms


def _sql_text(column: Column) -> str:
    """Return a discrete column as text: where categories are numbers, a database may hold them as such."""
    categories, name = column.categories or (), _sql_name(column.name)
    if all(number(category) is None for category in categories):
        return name
    return f"CAST({name} AS CHAR({max(64, *(len(category) + 1 for category in categories))}))"


def _sql_spellings(category: str, others: Container[str]) -> list[str]:
    """Return a category and, of a whole number, the other text that databases make of it: 2 and 2.0."""
    if number(category) is None:
        return [category]
    other = category.removesuffix(".0") if category.endswith(".0") else f"{category}.0"
    whole = other.removesuffix(".0").removeprefix("-").isdecimal()
    return [category, other] if whole and other not in others else [category]


def _sql_truth(name: str) -> str:
    """Return 1 or 0 for a boolean column in any of its spellings, else NULL."""
    text = f"LOWER(CAST({name} AS CHAR(8)))"
    true, false = (
        ", ".join(_sql_literal(word) for word in sorted({*words, f"{number}.0"}))
        for words, number in ((TRUE, "1"), (FALSE, "0"))
    )
    return f"CASE WHEN {text} IN ({true}) THEN 1 WHEN {text} IN ({false}) THEN 0 END"


def _sql_term(form: Form, row: int, j: int, name: str) -> str:
    """Return the term of a numeric feature in a score, with its sign."""
    weight = float(form.weights[row, j])
    absent = None if form.absent is None else float(form.absent[row, j])
    if form.above is not None:
        above = float(form.above[j])
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
