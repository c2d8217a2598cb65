"""A linear form as C: one file, no allocation, C99."""

import json

from rosenblatt.export.form import Form, KernelForm
from rosenblatt.export.in_python import linear_only


def c_source(form: Form | KernelForm) -> str:
    """Return C with ``rosenblatt_scores(x, out)`` and ``rosenblatt_predict(x)``, the number of a class."""
    form = linear_only(form, "C")
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
        told = ", ".join(json.dumps(str(label)) for label in form.classes.tolist())
        lines.append(f"const char *const rosenblatt_classes[{len(form.classes)}] = {{{told}}};")
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
    return "\n".join(lines + _decision(form, rows, width)) + "\n"


def _decision(form: Form, rows: int, width: int) -> list[str]:
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


def _comment(name: str) -> str:
    return "".join(each if each.isprintable() else " " for each in name).replace("*/", "* /")
