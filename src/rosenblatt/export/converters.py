"""Converters for skl2onnx, so that a scikit-learn pipeline that ends in a model of ours becomes an ONNX graph."""

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
OLDEST_OPSET = 13  # the first in which every operation that is used takes what it is given


def register_with_skl2onnx() -> None:
    """Tell skl2onnx how to convert every classifier and regressor that has an ONNX graph; call it once.

    skl2onnx looks for no converters by itself. After this call ``skl2onnx.to_onnx`` converts them, alone or at the end
    of a pipeline: ``label``, ``probabilities`` where the model has them, and ``scores`` come out, the last of the shape
    of ``decision_function``, numbers in double precision whatever goes in; of a regressor ``variable``, a column.

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
        raise ImportError("a converter for skl2onnx needs it: pip install 'rosenblatt[onnx]'") from None
    for name in (*CLASSIFIERS, *REGRESSORS):
        classifies = name in CLASSIFIERS
        update_registered_converter(
            getattr(rosenblatt, name),
            f"Rosenblatt{name}",
            _shapes,
            _convert,
            parser=_declare if classifies else None,
            options={"zipmap": [True, False]}
            if classifies
            else None,  # pipelines set it; there is nothing to zip
        )


def _declare(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """Say what comes out of a classifier; :func:`_shapes` says of what kind it is."""
    from skl2onnx import get_model_alias
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs = inputs
    linked = form_of(getattr(model, "best_estimator_", model)).link is not None
    names = ("label", "probabilities", "scores") if linked else ("label", "scores")
    for name in names:
        kind = StringTensorType if name == "label" else DoubleTensorType
        operator.outputs.append(scope.declare_local_variable(name, kind()))
    return list(operator.outputs)


def _shapes(operator: Any) -> None:
    from skl2onnx.common import data_types

    kinds = {7: data_types.Int64TensorType, 8: data_types.StringTensorType, 11: data_types.DoubleTensorType}
    rows = operator.inputs[0].get_first_dimension()
    form = form_of(_fitted(operator))
    outputs = outputs_of(Graph(), form, column=form.classes is None)
    for variable, (_, kind, shape) in zip(operator.outputs, outputs, strict=True):
        variable.set_type(kinds[kind]([rows, *shape[1:]]))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Put the nodes of our graph into skl2onnx's, under names that are free there."""
    if container.target_opset < OLDEST_OPSET:
        raise ValueError(f"target_opset={container.target_opset}: these graphs need {OLDEST_OPSET} or newer")
    graph = Graph()
    form = form_of(_fitted(operator))
    outputs = outputs_of(graph, form, column=form.classes is None)  # a regressor gives a column there
    called: dict[str, str] = {
        own: each.full_name for (own, _, _), each in zip(outputs, operator.outputs, strict=True)
    }

    def name_of(own: str) -> str:
        if own not in called:
            called[own] = scope.get_unique_variable_name(own)
        return called[own]

    version = container.target_opset
    source = operator.inputs[0].full_name
    container.add_node("Cast", [source], [name_of("x")], op_version=version, to=11)  # 11: doubles
    for tensor in graph.constants:
        tensor.name = name_of(tensor.name)
        container.initializers.append(tensor)
    for node in graph.nodes:
        attributes = {each.name: graph.helper.get_attribute_value(each) for each in node.attribute}
        container.add_node(
            node.op_type,
            [name_of(own) for own in node.input],
            [name_of(own) for own in node.output],
            op_version=version,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )


def _fitted(operator: Any) -> Any:
    model = operator.raw_operator
    return getattr(model, "best_estimator_", model)
