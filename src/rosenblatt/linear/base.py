"""One face for every linear model: weights, scores, distances, margins, explanations, files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from rosenblatt.data.labels import exact_if_listed
from rosenblatt.data.matrix import checked_weight, encoded
from rosenblatt.learner.examples import CheckedExamples, canonical_matrix, max_row_sqnorm
from rosenblatt.learner.explain import Explanation, Portrait, explain_model, explain_row
from rosenblatt.learner.files import load_model, save_model
from rosenblatt.learner.scoring import decided, linear_scores
from rosenblatt.learner.training import column_sqnorms, evaluator_on
from rosenblatt.storage import BadModel

INPUT = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}


class LinearModel(BaseEstimator):  # type: ignore[misc]
    """What classifiers and regressors share. A fitted model holds its state in ``learner_``."""

    learner_: Any
    classes_: Any = None
    n_features_in_: int
    # The parameters that a file keeps beside the state; whatever else there is returns to its default.
    _kept: ClassVar[tuple[str, ...]] = ()

    @property
    def coef_(self) -> NDArray[Any]:
        """Weights of what predicts, a row per hyperplane."""
        return self._hyperplanes()[:, 1:]

    @property
    def intercept_(self) -> NDArray[Any]:
        """Biases of what predicts, one per hyperplane."""
        return self._hyperplanes()[:, 0]

    def explain(
        self, x: Any = None, *, top: int = 10, label: Any = None, against: Any = None
    ) -> Explanation | tuple[Portrait, ...]:
        """Say which features pushed one example which way; without an example, what each class looks for.

        Parameters
        ----------
        x : one example (a vector, or one row of a matrix), optional
        top : how many features of each class to name where there is no example
        label, against : with more than two classes: whose score to explain, and against which other class

        Returns
        -------
        Explanation, or a Portrait for each class. The contributions sum exactly to the explanation's score:
        ``math.fsum(part.contribution for part in told.parts) == told.score``.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        weights = self._hyperplanes()
        if x is None:
            return explain_model(weights, self.classes_, names, top)
        if hasattr(x, "to_numpy"):  # a row of a data frame
            x = x.to_numpy()
        return explain_row(weights, x, self.classes_, names, label=label, against=against)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that holds numbers only; :meth:`load` reads it back."""
        check_is_fitted(self)
        save_model(self.learner_, path, about=self._about())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model from a file."""
        learner, about = load_model(path)
        if about.get("estimator") != cls.__name__:
            raise BadModel(f"{path}: a model of {about.get('estimator')!r}, not of {cls.__name__}")
        try:
            model = cls(**{name: about["parameters"][name] for name in cls._kept})
            names = about["feature_names"]
        except (KeyError, TypeError, ValueError) as error:
            raise BadModel(f"{path}: not a model of {cls.__name__}: {error}") from error
        resume(model, learner, names)
        return model

    def _hyperplanes(self) -> NDArray[Any]:
        """Return ``(rows, 1 + features)`` weights, the bias first."""
        if not hasattr(self, "learner_"):
            raise AttributeError(f"this {type(self).__name__} has not learned yet: call fit first")
        weights: NDArray[Any] = self.learner_.weights()
        return weights

    def _about(self) -> dict[str, Any]:
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        kept = {name: _plain(getattr(self, name)) for name in self._kept}
        return {
            "estimator": type(self).__name__,
            "learner": getattr(self.learner_, "kind", "logistic"),  # by which the command line knows it
            "parameters": kept,
            "feature_names": names or None,
        }

    def _rows(self, X: Any) -> Any:
        """Check the rows to be scored."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._input())

    def _input(self) -> dict[str, Any]:
        return INPUT

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(ClassifierMixin, LinearModel):  # type: ignore[misc]
    """The face of a classifier made of hyperplanes."""

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return ``w·x + b`` for every row, a column per class when there are more than two."""
        X = self._rows(X)
        scores: NDArray[Any] = self.learner_.scores(X)
        return scores

    def predict(self, X: Any, undecided: Any = None) -> NDArray[Any]:
        """Return the class of every row; where the score is exactly zero, ``undecided`` if it is given."""
        return decided(self.decision_function(X), self.classes_, undecided)

    def distance(self, X: Any) -> NDArray[Any]:
        """Return the signed distance to the boundary, ``(w·x + b)/‖w‖``, the bias not counted in the norm.

        With more than two classes: how far the row is from losing its class, the nearest of the boundaries
        between the best class and each other. Where the weights are zero there is no boundary: the distance is
        infinite with the sign of the score, or zero where the score is.
        """
        scores = self.decision_function(X)
        return _distances(scores, self.coef_, None)

    def margin(self, X: Any, y: Any) -> float:
        """Return the margin on data: ``min y (w·x + b)/‖(w, b)‖``, negative where a row is on the wrong side.

        It is measured in the space of learning, in which the bias is a weight like any other, and equals ``margin_``
        on the training data; :meth:`geometric_margin` divides by ``‖w‖``. With more than two classes: the score of the
        true class less that of its best rival, over the norm of the weights of all classes.
        """
        return self._margin_on(*self._labelled(X, y))

    def geometric_margin(self, X: Any, y: Any) -> float:
        """Return the least signed distance of a row from the boundary, ``min y (w·x + b)/‖w‖``.

        With more than two classes: the least distance from the boundary between the true class and any other.
        """
        X, labels = self._labelled(X, y)
        scores = linear_scores(self._as_learned(X), self._hyperplanes())
        return float(_distances(scores[:, 0] if scores.shape[1] == 1 else scores, self.coef_, labels).min())

    @property
    def margin_(self) -> float:
        """The margin on the training data, measured when first asked for; nan after ``partial_fit``.

        Until then the model holds on to the data it was fitted on.
        """
        if self.__dict__.get("_pending") is not None:
            X, labels = self.__dict__.pop("_pending")
            self._margin = self._margin_on(X, labels)
        return float(self.__dict__.get("_margin", np.nan))

    def _margin_on(self, X: Any, labels: NDArray[np.int64]) -> float:
        """Return the margin on checked rows, whose labels are indices of the classes."""
        weights = self._hyperplanes()
        several = weights.shape[0] > 1
        evaluator = evaluator_on({"": weights}, self._as_learned(X), labels, None, joint=several, room=0.0)
        return evaluator.tallies[""].margin(self._margin_sqnorm(weights))

    def _margin_sqnorm(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        """Return the squared norm that margins are divided by, in the space of learning."""
        return column_sqnorms(weights, joint=weights.shape[0] > 1)

    def _as_learned(self, X: Any) -> Any:
        """Return checked rows as the learner reads them."""
        return X

    def _labelled(self, X: Any, y: Any) -> tuple[Any, NDArray[np.int64]]:
        """Return rows and the index of the class of each."""
        X, y = canonical_matrix(self._rows(X)), np.asarray(exact_if_listed(y))
        if y.shape != (X.shape[0],):
            raise ValueError(
                f"y must hold one label for each of the {X.shape[0]} rows of X, got shape {y.shape}"
            )
        labels = np.minimum(np.searchsorted(self.classes_, y), self.classes_.size - 1)
        if not (self.classes_[labels] == y).all():
            raise ValueError(f"y has labels beyond the classes {self.classes_[:5].tolist()} of the model")
        return X, labels

    def _measure_later(self, X: Any, labels: NDArray[np.int64]) -> None:
        self._pending: Any = (X, labels)
        self._margin = float("nan")

    def __getstate__(self) -> Any:
        if self.__dict__.get("_pending") is not None:
            _ = self.margin_  # a copy or a file keeps the number, not the data
        return super().__getstate__()

    # How data come in

    def _examples(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        reset: bool,
        *,
        class_weight: Any = None,
        measure: bool = True,
    ) -> CheckedExamples:
        """Check examples once, as scikit-learn does, and leave out those of weight zero; nothing below checks again.

        Without ``measure`` the caller finds values that are not finite, and needs no norms.
        """
        y = exact_if_listed(y)
        X, y = validate_data(self, X, y, reset=reset, ensure_all_finite=False, **self._input())
        classes, labels = encoded_classes(y)
        X = canonical_matrix(X)
        max_sqnorm = self._max_sqnorm(X) if measure else 0.0
        weight = effective_weight(classes, labels, sample_weight, class_weight)
        examples = CheckedExamples(X, classes, labels, weight, max_sqnorm)
        visited = examples.without_zero_weights()
        if measure and visited is not examples:
            visited = visited._replace(max_sqnorm=max_row_sqnorm(visited.X))
        return visited

    def _max_sqnorm(self, X: Any) -> float:
        """Return the largest ‖x‖² of the rows; the same read finds a value that is not finite."""
        try:
            return max_row_sqnorm(X)
        except ValueError:
            refuse_not_finite(self, X)
            raise

    def _learn_by_adding(
        self, learner: Any, X: Any, y: Any, sample_weight: Any, classes: Any, reset: bool, whole: bool
    ) -> None:
        """Give examples to a learner that reads them once and finds in its sums whether they were finite.

        Where they are refused the model keeps the learner it had.
        """
        with unchanged_if_refused(self):
            examples = self._examples(X, y, sample_weight, reset, measure=False)
            try:
                learner.learn_checked(examples, classes)
            except ValueError:
                refuse_not_finite(self, examples.X)
                raise
            if whole:
                refuse_one_class(learner.classes)
        self.learner_ = learner
        self.classes_ = learner.classes
        self._measure_later(examples.X, np.searchsorted(learner.classes, examples.classes)[examples.labels])


def seed_of(random_state: Any) -> int:
    """Return a seed: the number given, or one drawn from a generator."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def resume(model: Any, learner: Any, names: Any) -> None:
    """Give a model the learner of a file, and what is told by it."""
    model.learner_ = learner
    model.n_features_in_ = learner.n_features
    if learner.classes is not None:
        model.classes_ = learner.classes
    if names:
        model.feature_names_in_ = np.array([str(name) for name in names], dtype=object)


def encoded_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted classes and the index of every label's class; refuse labels that are no classes.

    The refusal is scikit-learn's, of the labels that differ.
    """
    try:
        classes, labels = encoded(y)
    except TypeError:  # they cannot be ordered
        check_classification_targets(y)
        raise
    # Twice each: classes alone would look like as many labels as rows, of which scikit-learn warns.
    check_classification_targets(y if 2 * classes.size > y.size else np.repeat(classes, 2))
    return classes, labels


def effective_weight(
    classes: NDArray[Any], labels: NDArray[np.int64], sample_weight: Any, class_weight: Any
) -> NDArray[np.float64] | None:
    """Return how often each example is presented, the weights of classes multiplied in; None for once each."""
    weight = checked_weight(sample_weight, labels.size)
    if class_weight is None:
        return weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        of_class = labels.size / (classes.size * np.bincount(labels, minlength=classes.size))
    else:
        of_class = compute_class_weight(class_weight, classes=classes, y=classes)
    own = of_class[labels]
    return checked_weight(own if weight is None else own * weight, labels.size)


def refuse_not_finite(model: Any, X: Any) -> None:
    """Refuse a value that is not finite as scikit-learn does."""
    assert_all_finite(X, input_name="X", estimator_name=type(model).__name__)


@contextmanager
def unchanged_if_refused(model: Any) -> Iterator[None]:
    """Leave what a model knows of its input as it was where other input is refused: it still predicts."""
    names = ("n_features_in_", "feature_names_in_")
    before = {name: vars(model)[name] for name in names if name in vars(model)}
    try:
        yield
    except Exception:
        for name in names:
            vars(model).pop(name, None)
        vars(model).update(before)
        raise


def step_within(max_sqnorm: float, fit_intercept: bool, part: float) -> float:
    """Return ``part/R²`` for the largest norm ``R`` of the rows, the always-one coordinate included."""
    largest = max_sqnorm + bool(fit_intercept)
    return part / largest if largest > 0.0 else part


def refuse_one_class(classes: NDArray[Any]) -> None:
    """Raise ValueError where there is nothing to tell apart."""
    if classes.size < 2:
        raise ValueError(f"y holds only one class, {classes[0]!r}: a boundary needs two to lie between")


def _distances(
    scores: NDArray[Any], coef: NDArray[Any], labels: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Return the signed distance of every row from the boundary of its class, of the best one without labels."""
    coef = coef.astype(np.float64)
    if scores.ndim == 1:
        signed = scores if labels is None else np.where(labels == 1, scores, -scores)
        return _divided(signed, np.linalg.norm(coef))
    own = np.argmax(scores, axis=1) if labels is None else labels
    between = np.linalg.norm(coef[:, None] - coef[None], axis=2)
    every = np.arange(own.size)
    gaps = _divided(scores[every, own][:, None] - scores, between[own])
    gaps[every, own] = np.inf
    return np.asarray(gaps.min(axis=1))


def _divided(scores: NDArray[Any], norms: Any) -> NDArray[np.float64]:
    """Divide scores by norms; where a norm is zero, zero stays zero and the rest is infinitely far."""
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.asarray(scores / np.asarray(norms, dtype=np.float64), dtype=np.float64)
    distances[scores == 0.0] = 0.0
    return distances


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
