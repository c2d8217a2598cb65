"""What can be exported: how scores follow from an example, and a class from the scores."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.learner.kernel.device import to_numpy
from rosenblatt.learner.kernel.kernels import RBF, Function, Linear, Poly, Precomputed


class Form(NamedTuple):
    """Scores ``W x + b``: one that tells two classes apart by its sign, one for each of several, or a number itself."""

    weights: NDArray[np.float64]  # (scores, features)
    bias: NDArray[np.float64]
    classes: NDArray[Any] | None  # None: the only score is the prediction
    names: list[str]  # of the features
    above: float | None = None  # values count as one above this, else as zero; None: they count as they are


class KernelForm(NamedTuple):
    """Scores ``K(x, support) C + b``."""

    kernel: Poly | RBF | Linear
    support: NDArray[np.float64]  # (support rows, features)
    coefficients: NDArray[np.float64]  # (support rows, scores)
    bias: NDArray[np.float64]
    classes: NDArray[Any]


def form_of(
    model: Any, hypothesis: str | None = None, names: Sequence[str] | None = None
) -> Form | KernelForm:
    """Return the form of a fitted estimator, or of the learner inside one; features are called by these names.

    >>> from rosenblatt import ClosestCentroid
    >>> form_of(ClosestCentroid().fit([[0.0], [2.0]], ["low", "high"])).weights
    array([[-2.]])
    """
    learner = getattr(model, "learner_", model)
    told = (
        {} if (chosen := hypothesis or getattr(model, "hypothesis", None)) is None else {"hypothesis": chosen}
    )
    if not hasattr(learner, "weights"):
        raise ValueError(f"a {type(model).__name__} cannot be exported: it has no weights")
    if isinstance(learner, KernelLearner):
        return _kernel_form(learner, told)
    weights = np.atleast_2d(np.asarray(learner.weights(**told), dtype=np.float64))
    known = names if names is not None else getattr(model, "feature_names_in_", None)
    called = (
        [f"x{place}" for place in range(1, weights.shape[1])]
        if known is None
        else [str(name) for name in known]
    )
    classes = getattr(learner, "classes", None)
    return Form(weights[:, 1:], weights[:, 0], classes, called, getattr(learner, "binarize", None))


def _kernel_form(learner: KernelLearner, told: dict[str, Any]) -> KernelForm:
    space = learner.fitted_space()
    if isinstance(space.kernel, Function | Precomputed):
        raise ValueError(  # noqa: TRY004 (the type is right, the model is not)
            "a kernel of one's own, or a precomputed one, cannot be exported: nothing says what it computes"
        )
    support = learner.support.all()
    if support is None or not support.shape[0]:
        raise ValueError("the model has made no update: there is nothing to export")
    rows = support.toarray() if hasattr(support, "toarray") else to_numpy(support)
    coefficients = np.asarray(learner.weights(**told).T, dtype=np.float64)
    kernel = space.kernel._replace(halvings=0) if isinstance(space.kernel, Poly) else space.kernel
    bias = space.bias * coefficients.sum(axis=0)
    return KernelForm(kernel, np.asarray(rows, np.float64), coefficients, bias, learner.classes)
