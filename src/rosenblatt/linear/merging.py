"""Merging models that were trained apart into the one that would have been trained on everything."""

import copy
from collections.abc import Iterable
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from rosenblatt.learner.class_sums import ClassSums
from rosenblatt.linear.base import LinearClassifier

ModelT = TypeVar("ModelT", bound=LinearClassifier)


def merge(models: Iterable[ModelT]) -> ModelT:
    """Return the model that training on the examples of all models would have given.

    Parameters
    ----------
    models : fitted :class:`ClosestCentroid` or :class:`NaiveBayes` models, all of one kind; classes may differ

    Guarantee
    ---------
    ``merge([A, B])`` equals the model fitted on the examples of A and B: exactly for naive Bayes and for centroids of
    integers, up to the rounding of sums otherwise. The models themselves stay as they are.

    Examples
    --------
    >>> from rosenblatt.linear.closest_centroid import ClosestCentroid
    >>> one = ClosestCentroid().fit([[0.0], [4.0]], ["a", "b"])
    >>> two = ClosestCentroid().fit([[2.0], [8.0]], ["a", "c"])
    >>> merge([one, two]).centroids_.ravel()
    array([1., 4., 8.])
    """
    every = list(models)
    if not every:
        raise ValueError("merge needs at least one model")
    for model in every:
        check_is_fitted(model)
        if type(model) is not type(every[0]):
            raise TypeError(
                f"merge takes models of one kind, got {type(every[0]).__name__} and {type(model).__name__}"
            )
        if not isinstance(model.learner_, ClassSums):
            raise TypeError(
                f"{type(model).__name__} is not made of sums: models that learn by correcting mistakes depend on "
                "the order of the examples, and only ClosestCentroid and NaiveBayes merge exactly"
            )
    _same_features(every)
    merged = copy.deepcopy(every[0])
    for other in every[1:]:
        merged.learner_.merge(other.learner_)
    merged.classes_ = merged.learner_.classes
    merged._pending, merged._margin = None, float("nan")
    return merged


def _same_features(models: list[Any]) -> None:
    first = models[0]
    names = list(getattr(first, "feature_names_in_", []))
    for model in models[1:]:
        if model.n_features_in_ != first.n_features_in_:
            raise ValueError(f"the models have {first.n_features_in_} and {model.n_features_in_} features")
        if list(getattr(model, "feature_names_in_", [])) != names:
            raise ValueError("the models have features of different names")
