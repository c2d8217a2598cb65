"""A model as something else: an ONNX graph, or the source of one function or expression in Python, C or SQL.

:func:`export_model` writes a file by its ending. What is exported is one hypothesis with its weights, or with its
support rows (kernel models, ONNX only); ``voted`` is a vote of many and has neither.
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
    """Write a fitted estimator or learner as what the ending of the path says: .onnx, .py, .c or .sql.

    Parameters
    ----------
    model : a fitted estimator of this package, or the learner of one
    path : where to write, all or nothing
    hypothesis : which of the run; by default what the model predicts by
    schema : how a table became vectors: the export then takes raw rows, fills in missing values and scales as training
        did; SQL speaks of its columns instead of features
    link : how probabilities follow from the scores of a learner; an estimator says so itself

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
        raise ValueError(f"{path}: expected a name that ends in {', '.join(ENDINGS)}")
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
    """Return the graph of a form as the bytes of an ONNX file; needs the package ``onnx``."""
    from rosenblatt.export.graph import graph_of

    return graph_of(form)
