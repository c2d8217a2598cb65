"""Export of models as an ONNX graph, or as source in Python, C or SQL.

:func:`export_model` writes a file in the format of its suffix. It exports one hypothesis: its weights, or the support
rows of a kernel model (ONNX only). ``voted`` is a vote of many hypotheses and cannot be exported.
"""

import os
from pathlib import Path
from typing import Any

from rosenblatt.export.converters import register_with_skl2onnx
from rosenblatt.export.form import Form, KernelForm, form_of
from rosenblatt.export.source import (
    c_source,
    python_source,
    sql_expression,
    sql_probabilities,
    sql_select_list,
)
from rosenblatt.learner.calibration import Link
from rosenblatt.storage import replacing

ENDINGS = {".onnx": "an ONNX graph", ".py": "Python", ".c": "C", ".sql": "SQL"}

__all__ = ["ENDINGS", "Form", "KernelForm", "Link", "c_source", "export_model", "form_of", "onnx_graph",
           "python_source", "register_with_skl2onnx", "sql_expression", "sql_probabilities",
           "sql_select_list"]  # fmt: skip


def export_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    hypothesis: str | None = None,
    schema: Any = None,
    link: Link | None = None,
) -> None:
    """Write a fitted estimator or learner in the format of the suffix of a path: .onnx, .py, .c or .sql.

    Parameters
    ----------
    model : estimator or learner
        A fitted estimator of this package, or its learner.
    path : path-like
        The file, which is replaced atomically.
    hypothesis : str, optional
        By default the one that the model predicts with.
    schema : Schema, optional
        Schema of a table. The export then takes raw rows, and fills in and scales as in training; SQL uses the columns
        of the table.
    link : Link, optional
        Map from the scores of a learner to probabilities; an estimator has its own.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rosenblatt import Perceptron
    >>> from rosenblatt.export import export_model
    >>> clf = Perceptron().fit([[2.0, 1.0], [-1.0, -1.0]], ["up", "down"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_model(clf, f"{folder}/model.py")
    ...     module = {}
    ...     exec(Path(folder, "model.py").read_text(), module)
    >>> module["predict"]([1.0, 1.0])
    'up'
    """
    ending = Path(path).suffix
    if ending not in ENDINGS:
        raise ValueError(f"{path}: expected one of the suffixes {', '.join(ENDINGS)}")
    form = form_of(model, hypothesis, schema=schema, link=link)
    if ending == ".onnx":
        content = onnx_graph(form)
    elif ending == ".sql":
        content = (sql_select_list(form, schema) + "\n").encode()
    else:
        content = (python_source(form) if ending == ".py" else c_source(form)).encode()
    with replacing(path) as file:
        file.write(content)


def onnx_graph(form: Form | KernelForm) -> bytes:
    """Return a form as the bytes of an ONNX file; needs the package ``onnx``."""
    from rosenblatt.export.graph import graph_of

    return graph_of(form)
