"""A linear form as a Python module that needs nothing: ``predict(x)`` and ``scores(x)``."""

import json
from typing import Any

from rosenblatt.export.form import Form, KernelForm


def linear_only(form: Form | KernelForm, language: str) -> Form:
    """Return a linear form, or say why source in this language cannot be had."""
    if isinstance(form, KernelForm):
        raise ValueError(  # noqa: TRY004 (the type is right, the model is not)
            f"a kernel model is not exported to {language}: it is its support rows; export it to .onnx"
        )
    return form


def python_source(form: Form | KernelForm) -> str:
    """Return the source of a module with ``predict`` and ``scores`` for one example, a sequence of numbers."""
    form = linear_only(form, "Python")
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
        lines += ["    found = scores(x)", "    return CLASSES[found.index(max(found))]"]
    return "\n".join(lines) + "\n"


def _plain(label: Any) -> Any:
    return label if isinstance(label, str | int | float | bool) else str(label)
