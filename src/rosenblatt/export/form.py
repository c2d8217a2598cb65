"""Forms: the functions that can be exported, from an example to scores, and from scores to a class.

A model of prepared rows (missing values filled in, columns scaled) is exported for raw rows: the preprocessing is
folded into weights and bias if scores are linear, and applied before the kernel otherwise.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.schema import TableSchema
from rosenblatt.data.tables.preprocess import Preprocessing
from rosenblatt.learner.calibration import Link
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.learner.kernel.device import to_numpy
from rosenblatt.learner.kernel.kernels import RBF, Function, Linear, Poly, Precomputed


class Form(NamedTuple):
    """Scores ``W x + b``: one whose sign decides between two classes, one per class, or the predicted number."""

    weights: NDArray[np.float64]  # (scores, features)
    bias: NDArray[np.float64]
    classes: NDArray[Any] | None  # None: a regression, whose score is the prediction
    names: list[str]  # of the features
    above: NDArray[np.float64] | None = (
        None  # (features,) thresholds of binary features; None: values are used
    )
    absent: NDArray[np.float64] | None = (
        None  # (scores, features) added where a value is NaN; None: NaN is invalid
    )
    link: Link | None = None  # from scores to probabilities; None: no probabilities


class KernelForm(NamedTuple):
    """Scores ``K(x, support) C + b``."""

    kernel: Poly | RBF | Linear
    support: NDArray[np.float64]  # (support rows, features)
    coefficients: NDArray[np.float64]  # (support rows, scores)
    bias: NDArray[np.float64]
    classes: NDArray[Any]
    preprocessing: Preprocessing | None = None  # applied to raw rows before the kernel
    link: Link | None = None  # from scores to probabilities; None: no probabilities


def form_of(
    model: Any,
    hypothesis: str | None = None,
    names: Sequence[str] | None = None,
    schema: Any = None,
    link: Link | None = None,
) -> Form | KernelForm:
    """Return the form of a fitted estimator, or of the learner inside one.

    Parameters
    ----------
    model : estimator or learner
        A fitted estimator of this package, or its learner.
    hypothesis : str, optional
        By default the one that the model predicts with.
    names : sequence of str, optional
        Names of the features; by default those of training.
    schema : Schema, optional
        Schema of a table. The form then takes raw rows, with NaN for missing numbers.
    link : Link, optional
        Map from the scores of a learner to probabilities; an estimator has its own, for the hypothesis that it
        predicts with.

    Examples
    --------
    >>> from rosenblatt import ClosestCentroid
    >>> form_of(ClosestCentroid().fit([[0.0], [2.0]], ["low", "high"])).weights
    array([[-2.]])
    """
    learner = getattr(model, "learner_", model)
    chosen_hypothesis = hypothesis or getattr(model, "hypothesis", None)
    arguments = {} if chosen_hypothesis is None else {"hypothesis": chosen_hypothesis}
    if not hasattr(learner, "weights"):
        raise ValueError(f"a {type(model).__name__} cannot be exported: it has no weights")
    if link is None and hypothesis in (None, getattr(model, "hypothesis", None)):
        link = model._probability_link() if hasattr(model, "_probability_link") else None
    preprocessing = _preprocessing(schema)
    if isinstance(learner, KernelLearner):
        return _kernel_form(learner, arguments)._replace(preprocessing=preprocessing, link=link)
    weights = np.atleast_2d(np.asarray(learner.weights(**arguments), dtype=np.float64))
    if names is None and schema is not None:
        names = schema.raw_names if isinstance(schema, TableSchema) else schema.feature_names
    known_names = names if names is not None else getattr(model, "feature_names_in_", None)
    classes, threshold = getattr(learner, "classes", None), getattr(learner, "binarize", None)
    above = None if threshold is None else np.full(weights.shape[1] - 1, float(threshold))
    feature_names = (
        [f"x{j}" for j in range(1, weights.shape[1])] if known_names is None else [*map(str, known_names)]
    )
    form = Form(weights[:, 1:], weights[:, 0], classes, feature_names, above, link=link)
    return form if preprocessing is None else _for_raw_rows(form, preprocessing)


def _preprocessing(schema: Any) -> Preprocessing | None:
    """Return the preprocessing of a table."""
    return schema.preprocessing if isinstance(schema, TableSchema) else None


def _for_raw_rows(form: Form, preprocessing: Preprocessing) -> Form:
    """Return the form whose scores of raw rows equal the given form's scores of prepared rows.

    ``w·(x − μ)/σ`` is ``(w/σ)·x − w·μ/σ``. A missing value adds the term of its fill and the weight of its indicator.
    For binary features the threshold changes instead: ``(x − μ)/σ > t`` if ``x > t·σ + μ``.
    """
    n = preprocessing.raw_features
    numeric = range(n) if preprocessing.numeric is None else preprocessing.numeric
    columns, indicators = np.array(numeric, np.int64), np.array(preprocessing.indicators, np.int64)
    feature_weights, indicator_weights = form.weights[:, :n], form.weights[:, n:]
    fill, threshold = np.zeros(n), form.above
    fill[columns] = preprocessing.fill
    if threshold is None:
        weights, bias = preprocessing.fold_back(form.weights, form.bias)
        weights, above = weights[:, :n], None
        absent = weights * fill
        absent[:, indicators] += indicator_weights
    else:
        weights, above = feature_weights, threshold[:n].copy()
        if preprocessing.centre is not None and preprocessing.spread is not None:
            above[columns] = above[columns] * preprocessing.spread + preprocessing.centre
        absent = weights * (fill > above)
        baseline = (threshold[n:] < 0.0).astype(float)  # the binary indicator of a value that is not missing
        bias = form.bias + indicator_weights @ baseline
        absent[:, indicators] += indicator_weights * ((threshold[n:] < 1.0) - baseline)
    if preprocessing.missing in ("refuse", "drop"):
        return Form(weights, bias, form.classes, form.names, above, None, form.link)
    return Form(weights, bias, form.classes, form.names, above, absent, form.link)


def _kernel_form(learner: KernelLearner, arguments: dict[str, Any]) -> KernelForm:
    space = learner.fitted_space()
    if isinstance(space.kernel, Function | Precomputed):
        raise ValueError(  # noqa: TRY004 (the type is right, the model is not)
            "a custom or precomputed kernel cannot be exported: only linear, polynomial and RBF kernels can"
        )
    support = learner.support.all()
    if support is None or not support.shape[0]:
        raise ValueError("the model has no support rows, as it made no update: train it first")
    rows = support.toarray() if hasattr(support, "toarray") else to_numpy(support)
    coefficients = np.asarray(learner.weights(**arguments).T, dtype=np.float64)
    kernel = space.kernel._replace(halvings=0) if isinstance(space.kernel, Poly) else space.kernel
    bias = space.bias * coefficients.sum(axis=0)
    return KernelForm(kernel, np.asarray(rows, np.float64), coefficients, bias, learner.classes)
