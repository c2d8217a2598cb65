"""Scores of rows by models that did not learn from them, for every learner that ``fit`` trains."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.examples import CheckedExamples
from rosenblatt.learner.models import Model, TrainingOptions, trainer
from rosenblatt.learner.selection import Folds, OutOfFold, Preparation, Trial, norm_of, out_of_fold_trials

if TYPE_CHECKING:
    from rosenblatt.learner.calibration import Calibration


def fold_scores(
    options: TrainingOptions,
    X: Any,
    y: NDArray[Any],
    weight: NDArray[np.float64] | None,
    folds: Folds,
    prepare: Preparation | None = None,
    on_fold: Callable[[int], None] | None = None,
) -> OutOfFold:
    """Return the score of every row by a model trained on the other folds.

    Parameters
    ----------
    options : TrainingOptions
    X : ndarray or CSR matrix
        With ``prepare`` the raw rows that it takes.
    y : ndarray
        Labels as written, or numbers of a regression.
    weight : ndarray, optional
    folds : Folds
    prepare : Preparation, optional
        Scaling, imputation and weights of words, fitted on the training part of every fold alone.
    on_fold : callable, optional
        Called with the number of each fold that is done.

    Returns
    -------
    OutOfFold
    """
    if options.task == "classification" and options.learner == "perceptron":
        from rosenblatt.learner.models.perceptron import new_learner

        classes, labels = np.unique(y, return_inverse=True)
        examples = CheckedExamples(X, classes, labels.reshape(-1), weight, np.nan, options.standardised)
        name = options.hypothesis or "averaged"
        if options.map:
            from rosenblatt.learner.choice import QuadraticMap

            prepare = QuadraticMap(prepare)
        trial = Trial(lambda: new_learner(options), (name,), options.max_iter, options.shuffle)
        (by_name,) = out_of_fold_trials(examples, folds, [trial], prepare, on_fold)
        return by_name[name]
    return _one_by_one(options, X, y, weight, folds, prepare, on_fold)


def _one_by_one(
    options: TrainingOptions,
    X: Any,
    y: NDArray[Any],
    weight: NDArray[np.float64] | None,
    folds: Folds,
    prepare: Preparation | None,
    on_fold: Callable[[int], None] | None,
) -> OutOfFold:
    """Train a whole model for every fold."""
    regression = options.task == "regression"
    classes = np.empty(0) if regression else np.unique(y)
    shape = (y.size,) if classes.size <= 2 else (y.size, classes.size)
    result = OutOfFold(np.full(shape, np.nan), np.full(y.size, np.nan), np.zeros(y.size, np.bool_))
    train_model = trainer(options)
    for k in range(folds.number):
        train, test = folds.train(k), folds.test(k)
        X_train, X_test = X[train], X[test]
        if prepare is not None:
            fitted = prepare.fit(X_train)
            X_train, X_test = fitted.apply(X_train), fitted.apply(X_test)
        own_weight = None if weight is None else weight[train]
        model = train_model(options, X_train, y[train], own_weight, lambda *_: True)
        scores = np.asarray(model.scores(X_test, model.hypothesis), np.float64)
        if not regression and model.classes.size < classes.size:
            scores = with_all_classes(scores, np.searchsorted(classes, model.classes), classes.size)
        result.scores[test] = scores
        result.norms[test] = score_norm(model, model.hypothesis)
        result.scored[test] = True
        if on_fold is not None:
            on_fold(k)
    return result


def with_all_classes(
    scores: NDArray[np.float64], own: NDArray[np.int64], classes: int
) -> NDArray[np.float64]:
    """Return a column for every class, given the places of those that were learned; others score below all of them."""
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    widened = np.tile(scores.min(axis=1, keepdims=True) - 1.0, (1, classes))
    widened[:, own] = scores
    return widened


def score_norm(model: Model, hypothesis: str) -> float:
    """Return the norm of the weights that scores are divided by before they become probabilities."""
    if hypothesis == "voted":
        return 1.0
    if model.name == "kernel":
        return norm_of(model.learner, hypothesis)
    return float(np.linalg.norm(np.asarray(model.weights(hypothesis), np.float64)[:, 1:]))


def calibration_of(model: Model, hypothesis: str) -> "Calibration | None":
    """Return the calibration that a model file carries for a hypothesis, or None."""
    stored = model.about.get("calibration")
    if stored is None or hypothesis != model.hypothesis:
        return None
    from rosenblatt.learner.calibration import Calibration

    return Calibration.from_json(stored)


def probabilities_of(model: Model, scores: NDArray[Any], hypothesis: str) -> NDArray[np.float64] | None:
    """Return ``(n, classes)`` probabilities of scores by a model that carries a calibration, else None."""
    calibration = calibration_of(model, hypothesis)
    return None if calibration is None else calibration.probabilities(scores, score_norm(model, hypothesis))
