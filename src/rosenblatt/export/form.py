"""What can be exported: how scores follow from an example, and a class from the scores.

A model that learned from prepared rows (missing values filled in, columns scaled) is exported for raw rows: the
preprocessing is folded into weights and bias where scores are linear, and precedes the kernel where they are not.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.preprocess import Preprocessing
from rosenblatt.data.schema import TableSchema
from rosenblatt.learner.calibration import Link
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.learner.kernel.device import to_numpy
from rosenblatt.learner.kernel.kernels import RBF, Function, Linear, Poly, Precomputed


class Form(NamedTuple):
    """Scores ``W x + b``: one that tells two classes apart by its sign, one for each of several, or a number itself."""

    weights: NDArray[np.float64]  # (scores, features)
    bias: NDArray[np.float64]
    classes: NDArray[Any] | None  # None: the only score is the prediction
    names: list[str]  # of the features
    above: NDArray[np.float64] | None = (
        None  # (features,) a value counts as one above this, else as zero; None: as is
    )
    absent: NDArray[np.float64] | None = (
        None  # (scores, features) added where a value is NaN; None: none may be
    )
    link: Link | None = None  # from scores to probabilities; None: there are none


class KernelForm(NamedTuple):
    """Scores ``K(x, support) C + b``."""

    kernel: Poly | RBF | Linear
    support: NDArray[np.float64]  # (support rows, features)
    coefficients: NDArray[np.float64]  # (support rows, scores)
    bias: NDArray[np.float64]
    classes: NDArray[Any]
    preprocessing: Preprocessing | None = None  # what becomes of a raw row before the kernel
    link: Link | None = None  # from scores to probabilities; None: there are none


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
    model : a fitted estimator of this package, or the learner of one
    hypothesis : which of the run; by default what the model predicts by
    names : what the features are called; by default as in training
    schema : how a table became vectors; the form then takes raw rows, NaN where a number is missing
    link : how probabilities follow from the scores of a learner; an estimator says so itself, for the hypothesis that
        it predicts by

    Examples
    --------
    >>> from rosenblatt import ClosestCentroid
    >>> form_of(ClosestCentroid().fit([[0.0], [2.0]], ["low", "high"])).weights
    array([[-2.]])
    """
    learner = getattr(model, "learner_", model)
    chosen = hypothesis or getattr(model, "hypothesis", None)
    arguments = {} if chosen is None else {"hypothesis": chosen}
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
    known = names if names is not None else getattr(model, "feature_names_in_", None)
    classes, threshold = getattr(learner, "classes", None), getattr(learner, "binarize", None)
    above = None if threshold is None else np.full(weights.shape[1] - 1, float(threshold))
    called = [f"x{place}" for place in range(1, weights.shape[1])] if known is None else [*map(str, known)]
    form = Form(weights[:, 1:], weights[:, 0], classes, called, above, link=link)
    return form if preprocessing is None else _for_raw_rows(form, preprocessing)


def _preprocessing(schema: Any) -> Preprocessing | None:
    """Return the preprocessing of a table."""
    return schema.preprocessing if isinstance(schema, TableSchema) else None


def _for_raw_rows(form: Form, preprocessing: Preprocessing) -> Form:
    """Return the form that gives raw rows the scores that the old one gives prepared rows.

    ``w·(x − μ)/σ`` is ``(w/σ)·x − w·μ/σ``. A missing value is worth its fill, and the weight of its indicator. Where
    values count as one above a threshold, the threshold moves instead: ``(x − μ)/σ > t`` where ``x > t·σ + μ``.
    """
    n = preprocessing.raw_features
    numeric = range(n) if preprocessing.numeric is None else preprocessing.numeric
    columns, indicators = np.array(numeric, np.int64), np.array(preprocessing.indicators, np.int64)
    own, of_indicators = form.weights[:, :n], form.weights[:, n:]
    fill, threshold = np.zeros(n), form.above
    fill[columns] = preprocessing.fill
    if threshold is None:
        weights, bias = preprocessing.fold_back(form.weights, form.bias)
        weights, above = weights[:, :n], None
        absent = weights * fill
        absent[:, indicators] += of_indicators
    else:
        weights, above = own, threshold[:n].copy()
        if preprocessing.centre is not None and preprocessing.spread is not None:
            above[columns] = above[columns] * preprocessing.spread + preprocessing.centre
        absent = weights * (fill > above)
        without = (threshold[n:] < 0.0).astype(float)  # what the indicator of a value that is there counts
        bias = form.bias + of_indicators @ without
        absent[:, indicators] += of_indicators * ((threshold[n:] < 1.0) - without)
    may_be_absent = preprocessing.missing not in ("refuse", "drop")
    absent_or_none = absent if may_be_absent else None
    return Form(weights, bias, form.classes, form.names, above, absent_or_none, form.link)


def _kernel_form(learner: KernelLearner, arguments: dict[str, Any]) -> KernelForm:
    space = learner.fitted_space()
    if isinstance(space.kernel, Function | Precomputed):
        raise ValueError(  # noqa: TRY004 (the type is right, the model is not)
            "a kernel of one's own, or a precomputed one, cannot be exported: nothing says what it computes"
        )
    support = learner.support.all()
    if support is None or not support.shape[0]:
        raise ValueError("the model has made no update: there is nothing to export")
    rows = support.toarray() if hasattr(support, "toarray") else to_numpy(support)
    coefficients = np.asarray(learner.weights(**arguments).T, dtype=np.float64)
    kernel = space.kernel._replace(halvings=0) if isinstance(space.kernel, Poly) else space.kernel
    bias = space.bias * coefficients.sum(axis=0)
    return KernelForm(kernel, np.asarray(rows, np.float64), coefficients, bias, learner.classes)
