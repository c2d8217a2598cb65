"""Converters for skl2onnx, which turns scikit-learn pipelines into ONNX graphs."""

from typing import Any

import rosenblatt
from rosenblatt.export.form import form_of
from rosenblatt.export.graph import Graph, outputs_of

CLASSIFIERS = (
    "Perceptron",
    "BatchPerceptron",
    "ClosestCentroid",
    "NaiveBayes",
    "MultinomialNaiveBayes",
    "LogisticRegression",
    "GaussianDiscriminant",
    "MaxMargin",
    "KernelPerceptron",
)
REGRESSORS = ("PerceptronRegressor",)
OLDEST_OPSET = 13  # the first in which all operations have the signatures used here


def register_with_skl2onnx() -> None:
    """Register a converter for every classifier and regressor that has an ONNX graph.

    After one call, ``skl2onnx.to_onnx`` converts them, alone or at the end of a pipeline. The outputs of a classifier
    are ``label``, ``probabilities`` if it has them, and ``scores`` with the shape of ``decision_function``; the output
    of a regressor is the column ``variable``. Numbers are doubles, whatever the input.

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> from rosenblatt.export import register_with_skl2onnx
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import numpy as np
    >>> X, y = np.array([[2.0, 1.0], [-1.0, -1.0]]), ["up", "down"]
    >>> register_with_skl2onnx()
    >>> graph = to_onnx(make_pipeline(StandardScaler(), Perceptron()).fit(X, y), X).graph
    >>> [output.name for output in graph.output]
    ['label', 'scores']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ImportError("converters for skl2onnx need skl2onnx: pip install 'rosenblatt[onnx]'") from None
    for name in (*CLASSIFIERS, *REGRESSORS):
        classifies = name in CLASSIFIERS
        update_registered_converter(
            getattr(rosenblatt, name),
            f"Rosenblatt{name}",
            _shapes,
            _convert,
            parser=_declare if classifies else None,
            options={"zipmap": [True, False]} if classifies else None,  # pipelines set it; it has no effect
        )


def _declare(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """Declare the outputs of a classifier; :func:`_shapes` sets their types."""
    from skl2onnx import get_model_alias
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs = inputs
    has_link = form_of(getattr(model, "best_estimator_", model)).link is not None
    names = ("label", "probabilities", "scores") if has_link else ("label", "scores")
    for name in names:
        kind = StringTensorType if name == "label" else DoubleTensorType
        operator.outputs.append(scope.declare_local_variable(name, kind()))
    return list(operator.outputs)


def _shapes(operator: Any) -> None:
    from skl2onnx.common import data_types

    kinds = {7: data_types.Int64TensorType, 8: data_types.StringTensorType, 11: data_types.DoubleTensorType}
    rows = operator.inputs[0].get_first_dimension()
    form = form_of(_estimator(operator))
    outputs = outputs_of(Graph(), form, column=form.classes is None)
    for variable, (_, kind, shape) in zip(operator.outputs, outputs, strict=True):
        variable.set_type(kinds[kind]([rows, *shape[1:]]))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of our graph to that of skl2onnx, under unique names."""
    if container.target_opset < OLDEST_OPSET:
        raise ValueError(f"target_opset={container.target_opset}: these graphs need {OLDEST_OPSET} or newer")
    graph = Graph()
    form = form_of(_estimator(operator))
    outputs = outputs_of(graph, form, column=form.classes is None)  # skl2onnx expects a column of a regressor
    unique_names: dict[str, str] = {
        name: attribute.full_name for (name, _, _), attribute in zip(outputs, operator.outputs, strict=True)
    }

    def unique_name(name: str) -> str:
        if name not in unique_names:
            unique_names[name] = scope.get_unique_variable_name(name)
        return unique_names[name]

    version = container.target_opset
    source = operator.inputs[0].full_name
    container.add_node("Cast", [source], [unique_name("x")], op_version=version, to=11)  # 11: doubles
    for tensor in graph.constants:
        tensor.name = unique_name(tensor.name)
        container.initializers.append(tensor)
    for node in graph.nodes:
        attributes = {
            attribute.name: graph.helper.get_attribute_value(attribute) for attribute in node.attribute
        }
        container.add_node(
            node.op_type,
            [unique_name(name) for name in node.input],
            [unique_name(name) for name in node.output],
            op_version=version,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )


def _estimator(operator: Any) -> Any:
    model = operator.raw_operator
    return getattr(model, "best_estimator_", model)
