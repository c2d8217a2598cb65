"""Every learner at the end of a scikit-learn pipeline, converted by skl2onnx and run by onnxruntime."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from tests.export.models import (
    KERNELS,
    MODELS,
    PROBABLE,
    THREE,
    TWO,
    X,
    agree,
    fitted,
    named,
    probable,
    probable_name,
)

import rosenblatt
from rosenblatt.export import register_with_skl2onnx
from rosenblatt.export.converters import CLASSIFIERS, REGRESSORS

skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
# Networks of gates, and a choice whose best_estimator_, a pipeline, is converted instead.
WITHOUT_A_GRAPH = {"Tower", "Upstart", "Backpropagation", "PerceptronCV"}


@pytest.fixture(autouse=True, scope="module")
def registered():
    register_with_skl2onnx()
    register_with_skl2onnx()  # twice is no harm


def converted(model, rows=X, **options):
    """Return what the graph of a model says of rows, by the name of the output."""
    graph = skl2onnx.to_onnx(model, rows[:1], **options)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: rows})
    return dict(zip([output.name for output in session.get_outputs()], found, strict=True))


def in_pipeline(model, y):
    scaler = MinMaxScaler() if isinstance(model, rosenblatt.MultinomialNaiveBayes) else StandardScaler()
    return make_pipeline(scaler, model).fit(X * [1.0, 30.0, 0.1, 1.0] + 5.0, y)


@pytest.mark.parametrize("case", MODELS, ids=map(named, MODELS))
def test_a_pipeline_says_what_it_said(case):
    name, parameters, y = case
    pipeline, rows = in_pipeline(getattr(rosenblatt, name)(**parameters), y), X * [1.0, 30.0, 0.1, 1.0] + 5.0
    found = converted(pipeline, rows)
    if name in REGRESSORS:
        assert found["variable"].shape == (len(X), 1)
        agree(pipeline, None, found["variable"][:, 0], rows)
    else:
        agree(pipeline, found["label"], found["scores"], rows)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("parameters", KERNELS, ids=str)
def test_a_pipeline_with_a_kernel_says_what_it_said(parameters, y):
    model = make_pipeline(StandardScaler(), rosenblatt.KernelPerceptron(max_iter=3, **parameters)).fit(X, y)
    found = converted(model)
    agree(model, found["label"], found["scores"])


@pytest.mark.parametrize("case", PROBABLE, ids=map(probable_name, PROBABLE))
def test_probabilities_are_the_second_output(case):
    model, rows = probable(case)
    found = converted(model, rows)
    assert [*found] == ["label", "probabilities", "scores"]
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), rtol=1e-9, atol=1e-15)


def test_a_search_is_converted_as_what_it_found():
    search = GridSearchCV(in_pipeline(rosenblatt.Perceptron(), TWO), {"perceptron__max_iter": [1, 3]}, cv=3)
    found = converted(search.fit(X, TWO), options={"zipmap": False})
    agree(search, found["label"], found["scores"])


def test_labels_of_every_kind():
    for y in (TWO, TWO == "below", THREE, THREE.astype(float), THREE.astype(np.int8)):
        model = rosenblatt.Perceptron().fit(X, y)
        found = converted(model)
        agree(model, found["label"], found["scores"])


def test_single_precision_goes_in_and_double_comes_out():
    model = fitted(MODELS[0])
    rows = X.astype(np.float32)
    found = converted(model, rows)
    assert found["scores"].dtype == np.float64
    agree(model, found["label"], found["scores"], rows.astype(np.float64))


def test_an_opset_too_old_is_refused():
    with pytest.raises(ValueError, match="13 or newer"):
        converted(fitted(MODELS[0]), target_opset=12)


def test_every_estimator_with_a_graph_is_registered():
    public = [getattr(rosenblatt, name) for name in rosenblatt.__all__]
    ours = {
        value.__name__
        for value in public
        if inspect.isclass(value) and issubclass(value, BaseEstimator)
        if is_classifier(value()) or is_regressor(value())
    }
    assert ours == {*CLASSIFIERS, *REGRESSORS} | WITHOUT_A_GRAPH
