"""Base classes of the linear estimators: weights, scores, distances, margins, explanations, files."""

import os
import warnings
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
from rosenblatt.linear.probabilities import Probabilities
from rosenblatt.storage import BadModel

INPUT = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}


def warn_of_preprocessing(path: str | os.PathLike[str], metadata: dict[str, Any]) -> None:
    """Warn where a model file of the command line was trained on prepared rows: scaled, or with gaps filled in."""
    schema = metadata.get("schema")
    prepared = schema.get("preprocessing") if isinstance(schema, dict) else None
    if prepared and (prepared.get("spread") is not None or prepared.get("indicators")):
        warnings.warn(
            f"{os.fspath(path)}: this model was trained on scaled rows: pass rows as rosenblatt.data.read_all(source, "
            "schema=rosenblatt.storage.read_about(path)['schema']) returns them, or use rosenblatt predict",
            stacklevel=4,
        )


class LinearModel(BaseEstimator):  # type: ignore[misc]
    """Base of linear classifiers and regressors. A fitted model holds its state in ``learner_``."""

    learner_: Any
    classes_: Any = None
    n_features_in_: int
    # The constructor's parameters that a model file stores; after loading, the others have their defaults.
    _saved_parameters: ClassVar[tuple[str, ...]] = ()

    @property
    def coef_(self) -> NDArray[Any]:
        """Weights of the predicting hypothesis, one row per hyperplane."""
        return self._hyperplanes()[:, 1:]

    @property
    def intercept_(self) -> NDArray[Any]:
        """Biases of the predicting hypothesis, one per hyperplane."""
        return self._hyperplanes()[:, 0]

    def explain(
        self, x: Any = None, *, top: int = 10, label: Any = None, against: Any = None
    ) -> Explanation | tuple[Portrait, ...]:
        """Return the contribution of every feature to the score of an example; without one, the largest weights.

        Parameters
        ----------
        x : array-like of shape (d,) or (1, d), or one sparse row, optional
            The example to explain.
        top : int, default=10
            Without an example: how many features to return for each class.
        label, against : class labels, optional
            With more than two classes: whose score to explain, and against which other class.

        Returns
        -------
        Explanation or tuple of Portrait
            The explanation of the example, or without one a portrait of each class.

        Notes
        -----
        **Guarantee.** The contributions of an explanation ``e`` sum exactly to its score:
        ``math.fsum(part.contribution for part in e.parts) == e.score``.
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
        """Write the model to a safetensors file, which holds no code; :meth:`load` reads it back."""
        check_is_fitted(self)
        save_model(self.learner_, path, about=self._metadata())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model from a file written by :meth:`save`; raise :class:`BadModel` for any other file."""
        learner, metadata = load_model(path)
        warn_of_preprocessing(path, metadata)
        if metadata.get("estimator") != cls.__name__:
            raise BadModel(f"{path}: a model of {metadata.get('estimator')!r}, not of {cls.__name__}")
        try:
            stored = metadata["parameters"]  # may have been written before some parameters existed
            model = cls(**{name: stored[name] for name in cls._saved_parameters if name in stored})
            names = metadata["feature_names"]
        except (KeyError, TypeError, ValueError) as error:
            raise BadModel(f"{path}: not a model of {cls.__name__}: {error}") from error
        set_learner(model, learner, names)
        if isinstance(model, Probabilities):
            model._restore_probabilities(metadata)
        return model

    def _hyperplanes(self) -> NDArray[Any]:
        """Return ``(rows, 1 + features)`` weights, the bias first."""
        if not hasattr(self, "learner_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit first")
        weights: NDArray[Any] = self.learner_.weights()
        return weights

    def _metadata(self) -> dict[str, Any]:
        """Return what a model file stores beside the learner."""
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        return {
            "estimator": type(self).__name__,
            "learner": getattr(self.learner_, "kind", "logistic"),  # the command line's name for the kind
            "parameters": {name: _as_json(getattr(self, name)) for name in self._saved_parameters},
            "feature_names": names or None,
            **(self._probability_metadata() if isinstance(self, Probabilities) else {}),
        }

    def _rows(self, X: Any) -> Any:
        """Check and return rows to be scored."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._input())

    def _input(self) -> dict[str, Any]:
        """Return which matrices the estimator accepts, as arguments of scikit-learn's ``validate_data``."""
        return INPUT

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(Probabilities, ClassifierMixin, LinearModel):  # type: ignore[misc]
    """Base of classifiers that predict by hyperplanes."""

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the score ``w·x + b`` of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,), or (n, classes) with more than two classes
        """
        X = self._rows(X)
        scores: NDArray[Any] = self.learner_.scores(X)
        return scores

    def predict(self, X: Any, undecided: Any = None) -> NDArray[Any]:
        """Return the class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        undecided : label, optional
            Returned where the score is exactly zero, or where two classes have the same score; by default the first
            of the tied classes is.

        Returns
        -------
        ndarray of shape (n,)
        """
        return decided(self.decision_function(X), self.classes_, undecided)

    def distance(self, X: Any) -> NDArray[Any]:
        """Return the signed Euclidean distance of every row to the boundary, ``(w·x + b)/‖w‖``.

        The bias does not count in the norm. With more than two classes it is the distance to the nearest boundary
        between the predicted class and another.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
            Where the weights are zero there is no boundary: infinite with the sign of the score, zero where the
            score is.
        """
        scores = self.decision_function(X)
        return _distances(scores, self._hyperplanes()[:, 1:], None)

    def margin(self, X: Any, y: Any) -> float:
        """Return the margin on labelled rows, ``min y (w·x + b)/‖(w, b)‖``.

        It is measured in the space of learning, in which the bias is a weight like any other, and equals ``margin_``
        on the training data; :meth:`geometric_margin` divides by ``‖w‖``. With more than two classes it is the score
        of the true class minus that of its best rival, divided by the norm of the weights of all classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels among ``classes_``.

        Returns
        -------
        float
            Negative where a row is on the wrong side.
        """
        return self._margin_on(*self._labelled(X, y))

    def geometric_margin(self, X: Any, y: Any) -> float:
        """Return the smallest signed distance of a labelled row from the boundary, ``min y (w·x + b)/‖w‖``.

        With more than two classes it is the distance from the boundary between the true class and any other.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels among ``classes_``.

        Returns
        -------
        float
            Negative where a row is on the wrong side.
        """
        X, labels = self._labelled(X, y)
        weights = self._hyperplanes()
        scores = linear_scores(self._as_learned(X), weights)
        return float(
            _distances(scores[:, 0] if scores.shape[1] == 1 else scores, weights[:, 1:], labels).min()
        )

    @property
    def margin_(self) -> float:
        """The margin on the training data (:meth:`margin`), computed at the first access; nan after ``partial_fit``.

        Until then the model holds a reference to its training data.
        """
        if self.__dict__.get("_margin_data") is not None:
            X, labels = self.__dict__.pop("_margin_data")
            self._margin = self._margin_on(X, labels)
        return float(self.__dict__.get("_margin", np.nan))

    def _margin_on(self, X: Any, labels: NDArray[np.int64]) -> float:
        """Return the margin on checked rows, given the class index of each."""
        weights = self._hyperplanes()
        joint = weights.shape[0] > 1
        evaluator = evaluator_on({"": weights}, self._as_learned(X), labels, None, joint, margin_bytes=0.0)
        return evaluator.tallies[""].margin(self._margin_sqnorm(weights))

    def _margin_sqnorm(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        """Return the squared norm that margins are divided by, in the space of learning."""
        return column_sqnorms(weights, joint=weights.shape[0] > 1)

    def _as_learned(self, X: Any) -> Any:
        """Return checked rows as the learner reads them; naive Bayes binarizes them."""
        return X

    def _labelled(self, X: Any, y: Any) -> tuple[Any, NDArray[np.int64]]:
        """Check labelled rows; return the rows and the class index of each."""
        X, y = canonical_matrix(self._rows(X)), np.asarray(exact_if_listed(y))
        if y.shape != (X.shape[0],):
            raise ValueError(
                f"y must hold one label for each of the {X.shape[0]} rows of X, got shape {y.shape}"
            )
        labels = np.minimum(np.searchsorted(self.classes_, y), self.classes_.size - 1)
        if not (self.classes_[labels] == y).all():
            unknown = y[self.classes_[labels] != y].tolist()[0]
            raise ValueError(
                f"y has the label {unknown!r}, which is not among the classes {self.classes_[:5].tolist()} of the model"
            )
        return X, labels

    def _compute_margin_later(self, X: Any, labels: NDArray[np.int64]) -> None:
        """Keep the training data until ``margin_`` is first read."""
        self._margin_data: Any = (X, labels)
        self._margin = float("nan")

    def _forget_margin(self) -> None:
        """Make ``margin_`` nan: the model has learned from data that it did not keep."""
        self._margin_data, self._margin = None, float("nan")

    def __getstate__(self) -> Any:
        if self.__dict__.get("_margin_data") is not None:
            _ = self.margin_  # a copy or a pickle stores the number, not the data
        return super().__getstate__()

    # Checking data

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
        """Check examples as scikit-learn does and leave out those of weight zero; no later code checks them again.

        With ``measure=False`` the norms of the rows are not computed, and the caller must check that values are finite.
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
        """Return the largest ‖x‖² of the rows; raise ValueError where a value is not finite."""
        try:
            return max_row_sqnorm(X)
        except ValueError:
            refuse_not_finite(self, X)
            raise


def seed_of(random_state: Any) -> int:
    """Return ``random_state`` as an integer: the given one, or one drawn from the given generator."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_count(name: str, value: Any, otherwise: str = "") -> None:
    """Raise ValueError unless a parameter is a whole number, 1 or more; ``otherwise`` names what else it may be."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number, 1 or more, {otherwise}got {value!r}")


def set_learner(model: Any, learner: Any, names: Any) -> None:
    """Give an estimator a trained learner, and set the fitted attributes that follow from it."""
    model.learner_ = learner
    model.n_features_in_ = learner.n_features
    if learner.classes is not None:
        model.classes_ = learner.classes
    if names:
        model.feature_names_in_ = np.array([str(name) for name in names], dtype=object)


def encoded_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted classes and the class index of every label.

    Labels that are not classes (floats that are no integers, mixed types) raise scikit-learn's ValueError.
    """
    try:
        classes, labels = encoded(y)
    except TypeError:  # labels that cannot be compared
        check_classification_targets(y)
        raise
    # Checking the classes instead of all labels is faster. Each comes twice: scikit-learn warns about unique labels.
    check_classification_targets(y if 2 * classes.size > y.size else np.repeat(classes, 2))
    return classes, labels


def effective_weight(
    classes: NDArray[Any], labels: NDArray[np.int64], sample_weight: Any, class_weight: Any
) -> NDArray[np.float64] | None:
    """Return sample weights multiplied by class weights, or None where every example has weight one."""
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
    """Raise scikit-learn's ValueError where a value of ``X`` is not finite."""
    assert_all_finite(X, input_name="X", estimator_name=type(model).__name__)


@contextmanager
def unchanged_if_refused(model: Any) -> Iterator[None]:
    """Restore the number and names of features if new training data are refused: the model still predicts."""
    names = ("n_features_in_", "feature_names_in_")
    before = {name: vars(model)[name] for name in names if name in vars(model)}
    try:
        yield
    except Exception:
        for name in names:
            vars(model).pop(name, None)
        vars(model).update(before)
        raise


def eta_for_radius(max_sqnorm: float, fit_intercept: bool, eta_times_sqradius: float) -> float:
    """Return the learning rate with this ``η·R²``, where ``R`` is the largest norm of a row, bias input included."""
    sqradius = max_sqnorm + bool(fit_intercept)
    return eta_times_sqradius / sqradius if sqradius > 0.0 else eta_times_sqradius


def refuse_one_class(classes: NDArray[Any]) -> None:
    """Raise ValueError unless there are two classes."""
    if classes.size < 2:
        raise ValueError(
            f"y holds only one class, {classes.tolist()[0]!r}: a classifier needs examples of two or more"
        )


def _distances(
    scores: NDArray[Any], coef: NDArray[Any], labels: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Return the signed distance of every row from the boundary of its class, without labels of the predicted one."""
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
    """Divide scores by norms; where a norm is zero, a score of zero stays zero and any other becomes infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.asarray(scores / np.asarray(norms, dtype=np.float64), dtype=np.float64)
    distances[scores == 0.0] = 0.0
    return distances


def _as_json(value: Any) -> Any:
    """Return a parameter as a value that JSON can represent."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
