"""Merging of separately trained models: exact for per-class sums, by averaging weights for the others."""

import copy
from collections.abc import Iterable
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from rosenblatt.engines.mixing import mixed_learners
from rosenblatt.learner import Learner
from rosenblatt.learner.additive import ClassSums
from rosenblatt.linear.base import LinearClassifier

ModelT = TypeVar("ModelT", bound=LinearClassifier)


def merge(models: Iterable[ModelT]) -> ModelT:
    """Return one model that combines several models trained on different examples.

    Parameters
    ----------
    models : iterable of estimators
        Fitted models of one class, with the same features; their ``classes_`` may differ. :class:`ClosestCentroid` and
        :class:`NaiveBayes` merge exactly; the weights of :class:`Perceptron` and :class:`LogisticRegression` (online)
        are averaged.

    Returns
    -------
    estimator
        A new model; the given ones are not changed.

    Notes
    -----
    **Guarantee.** For models that are per-class sums, ``merge([A, B])`` equals the model fitted on the examples of A
    and B: exactly for naive Bayes and for centroids of integers, up to the rounding of sums otherwise.

    Models that learn by correcting mistakes depend on the order of the examples. Their merge is the uniform mixture:
    the mean of the last weights, and averaged weights that are the mean over all examples of all models. Clock,
    mistakes and updates are summed. Mixing once has no mistake bound; mixing after every epoch has one (see
    :mod:`rosenblatt.engines.mixing`).

    Examples
    --------
    >>> from rosenblatt.linear.closest_centroid import ClosestCentroid
    >>> one = ClosestCentroid().fit([[0.0], [4.0]], ["a", "b"])
    >>> two = ClosestCentroid().fit([[2.0], [8.0]], ["a", "c"])
    >>> merge([one, two]).centroids_.ravel()
    array([1., 4., 8.])
    """
    fitted = list(models)
    if not fitted:
        raise ValueError("merge needs at least one model")
    for model in fitted:
        check_is_fitted(model)
        if type(model) is not type(fitted[0]):
            raise TypeError(
                f"merge takes models of one kind, got {type(fitted[0]).__name__} and {type(model).__name__}"
            )
        if not isinstance(model.learner_, ClassSums | Learner):
            raise TypeError(
                f"this {type(model).__name__} cannot be merged: it is neither a model of per-class sums nor one that "
                "learned its weights example by example"
            )
    _check_same_features(fitted)
    if isinstance(fitted[0].learner_, Learner):
        merged = copy.copy(fitted[0])
        merged.learner_ = mixed_learners([model.learner_ for model in fitted])
        merged.__dict__.pop("mixing_", None)  # of training on an engine
    else:
        merged = copy.deepcopy(fitted[0])
        for other in fitted[1:]:
            merged.learner_.merge(other.learner_)
    merged.classes_ = merged.learner_.classes
    merged._forget_margin()
    return merged


def _check_same_features(models: list[Any]) -> None:
    first = models[0]
    names = list(getattr(first, "feature_names_in_", []))
    for model in models[1:]:
        if model.n_features_in_ != first.n_features_in_:
            raise ValueError(f"the models have {first.n_features_in_} and {model.n_features_in_} features")
        if list(getattr(model, "feature_names_in_", [])) != names:
            raise ValueError(
                "the models have different feature names: fit them on tables with the same columns in the same order"
            )
