"""A linear form as one SQL expression over the columns of a table."""

from typing import Any

from rosenblatt.data.schema import Column, TableSchema
from rosenblatt.export.form import Form, KernelForm
from rosenblatt.export.in_python import linear_only


def sql_expression(form: Form | KernelForm, schema: Any = None) -> str:
    """Return an expression that is the predicted class, or number, of a row.

    With the schema of a table it speaks of the table's columns: discrete ones become ``CASE``, scaled ones are scaled.
    Without one there is a column for each feature.

    >>> import numpy as np
    >>> sql_expression(Form(np.array([[2.0, -1.0]]), np.array([0.5]), np.array(["no", "yes"]), ["a", "b"]))
    'CASE WHEN 0.5 + 2.0 * "a" - 1.0 * "b" > 0 THEN \\'yes\\' ELSE \\'no\\' END'
    """
    form = linear_only(form, "SQL")
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
    sums = [
        _sum(row, bias, columns, form.above)
        for row, bias in zip(form.weights.tolist(), form.bias.tolist(), strict=True)
    ]
    if form.classes is None:
        return sums[0]
    labels = [_literal(label) for label in form.classes.tolist()]
    if len(sums) == 1:
        return f"CASE WHEN {sums[0]} > 0 THEN {labels[-1]} ELSE {labels[0]} END"
    scores = ", ".join(f"{each} AS s{place}" for place, each in enumerate(sums))
    cases = " ".join(
        f"WHEN {' AND '.join(f's{place} >= s{other}' for other in range(len(sums)) if other != place)} THEN {label}"
        for place, label in enumerate(labels)
    )
    return f"(SELECT CASE {cases} END FROM (SELECT {scores}) AS scored)"


def _sum(row: list[float], bias: float, columns: tuple[Column, ...], above: float | None) -> str:
    told, place = repr(bias), 0
    for column in columns:
        own, place = row[place : place + column.width], place + column.width
        if column.categories is not None:
            cases = "".join(
                f" WHEN {_literal(value)} THEN {weight!r}"
                for value, weight in zip(column.categories, own, strict=True)
            )
            told += f" + CASE COALESCE({_name(column.name)}, ''){cases} ELSE 0.0 END"
        else:
            sign = "-" if own[0] < 0 else "+"
            told += f" {sign} {abs(own[0])!r} * {_value(column, above)}"
    return told


def _value(column: Column, above: float | None) -> str:
    name = _name(column.name)
    if column.scale is not None:
        name = f"(({name} - ({column.scale[0]!r})) / {column.scale[1]!r})"
    return name if above is None else f"CASE WHEN {name} > {above!r} THEN 1.0 ELSE 0.0 END"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(label: Any) -> str:
    if isinstance(label, bool):
        return str(int(label))
    return repr(label) if isinstance(label, int | float) else "'" + str(label).replace("'", "''") + "'"
