"""Probabilities of classifiers that give scores: fitted on out-of-fold scores, kept current by progressive ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rosenblatt.data.labels import exact_labels
from rosenblatt.learner.abstention import Abstention, held_out
from rosenblatt.learner.calibration import Calibration, Link, ProgressiveScores, fit_calibration
from rosenblatt.learner.examples import CheckedExamples
from rosenblatt.learner.selection import (
    Folds,
    OutOfFold,
    Trial,
    content_folds,
    norm_of,
    out_of_fold,
    stratified_folds,
)

FOLDS = 5
MAX_COPIES = 8  # of a row, on average; rows of larger weights are not copied to form folds
METHODS = {True: "platt", "platt": "platt", "venn-abers": "venn-abers"}


def _is_calibrated(model: Any) -> bool:
    if not getattr(model, "probability", False):
        raise AttributeError(
            f"predict_proba is not available when probability=False: create {type(model).__name__}(probability=True)"
        )
    return True


class Probabilities:
    """``predict_proba`` for an estimator with the parameter ``probability`` and a ``decision_function``.

    The estimator calls :meth:`_calibrate` at the end of ``fit``. What is learned afterwards, by ``partial_fit``, adds
    the scores that rows had before they were learned from (:meth:`_add_progressive_scores`), or discards the
    probabilities (:meth:`_discard_probabilities`).
    """

    probability: Any = False
    classes_: Any

    @available_if(_is_calibrated)  # type: ignore[misc, untyped-decorator, unused-ignore]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, fitted to scores of rows that were not learned from.

        The most probable class can differ from the predicted one, which has the highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
        """
        check_is_fitted(self)
        scores = self.decision_function(X)  # type: ignore[attr-defined]
        return self._calibration().probabilities(scores, self._score_norm())

    @available_if(_is_calibrated)  # type: ignore[misc, untyped-decorator, unused-ignore]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of :meth:`predict_proba`, of shape (n, classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def abstain(
        self, X: Any, y: Any, max_error: float = 0.05, *, confidence: float = 0.95, other: Any = None
    ) -> Abstention:
        """Return when to answer, so that at most ``max_error`` of the answers are wrong.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows that the model was neither trained on nor chosen by.
        y : array-like of shape (n,)
            Their labels.
        max_error : float, default=0.05
            The largest fraction of wrong answers.
        confidence : float, default=0.95
        other : array-like or sparse matrix, optional
            Other rows, without labels, on which thresholds are fixed, such as the training rows. By default every
            fifth of the held-out rows serves for that, and is not tested.

        Returns
        -------
        Abstention
            ``predict(scores, classes, unanswered)`` answers or does not.

        Raises
        ------
        ValueError
            Where the rows are too few, or no threshold can be certified.

        Notes
        -----
        **Guarantee.** With probability ``confidence`` over independent held-out rows, at most ``max_error`` of the
        answers on new rows of the same distribution are wrong.

        Examples
        --------
        >>> import numpy as np
        >>> from rosenblatt import Perceptron
        >>> X = np.random.default_rng(0).normal(size=(3000, 2))
        >>> y = np.where(X[:, 0] + 0.3 * X[:, 1] ** 2 > 0.3, "yes", "no")
        >>> clf = Perceptron().fit(X[:1000], y[:1000])
        >>> when = clf.abstain(X[1000:2000], y[1000:2000], 0.05)
        >>> answers = when.predict(clf.decision_function(X[2000:]), clf.classes_, "don't know")
        >>> answered = answers != "don't know"
        >>> bool((answers[answered] != y[2000:][answered]).mean() < 0.05), bool(0.3 < answered.mean() < 1.0)
        (True, True)
        """
        check_is_fitted(self)
        scores = self.decision_function(X)  # type: ignore[attr-defined]
        labels, known = self._class_indices(y)
        if labels.shape != (scores.shape[0],):
            raise ValueError(
                f"y must hold one label for each of the {scores.shape[0]} rows of X, got {labels.size}"
            )
        labels[~known] = -1  # no answer is right
        if other is None:
            is_other = np.arange(labels.size) % 5 == 0
            other_scores, scores, labels = scores[is_other], scores[~is_other], labels[~is_other]
        else:
            other_scores = self.decision_function(other)  # type: ignore[attr-defined]
        return held_out(scores, labels, other_scores, confidence).abstention(max_error)

    # For the estimator

    def _calibrate(self, examples: CheckedExamples) -> None:
        """Fit probabilities on out-of-fold scores of the training data, where ``probability`` asks for them."""
        self._discard_probabilities()
        if not self.probability:
            return
        method = self._method()
        folds = stratified_folds(examples.labels, FOLDS)
        if isinstance(examples.X, np.ndarray) or hasattr(examples.X, "tocsr"):
            rows = repeated_rows(examples.weight)
            if rows is not None and not getattr(self, "_is_precomputed", False):
                examples = with_repeats(examples, rows)
            folds = content_folds(examples.X, examples.labels, FOLDS)
        scores = self._out_of_fold(examples, folds)
        self.calibration_ = fit_calibration(scores.normalised, examples.labels, method, examples.weight)
        self._calibrated_hypothesis = getattr(self, "hypothesis", None)
        scored = scores.scored
        self._progressive = ProgressiveScores()
        self._progressive.add(scores.normalised[scored], examples.labels[scored])

    def _discard_probabilities(self) -> None:
        for name in ("calibration_", "_progressive", "_calibrated_hypothesis"):
            self.__dict__.pop(name, None)

    def _add_progressive_scores(self, X: Any, y: Any) -> None:
        """Add the scores of rows that are about to be learned from; rows of new classes have none."""
        self._method()
        if "_progressive" not in self.__dict__:
            self._progressive = ProgressiveScores()
        if not hasattr(self, "learner_") or getattr(self, "classes_", None) is None or self.classes_.size < 2:
            return
        labels, known = self._class_indices(y)
        if known.any():
            scores = self.decision_function(X)  # type: ignore[attr-defined]
            self._progressive.add(scores[known], labels[known], self._score_norm())
        self._calibrated_hypothesis = getattr(self, "hypothesis", None)
        self._stale = True  # the calibration is computed again when it is next needed

    def _class_indices(self, y: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the class index of every label, and which labels are classes of the model."""
        y = exact_labels(y)
        labels = np.minimum(np.searchsorted(self.classes_, y), self.classes_.size - 1)
        return labels, np.asarray(self.classes_[labels] == y)

    def _calibration(self) -> Calibration:
        """Return the current calibration; raise ValueError where there are too few scores for one."""
        if self.__dict__.pop("_stale", False):
            current = self._progressive.calibration(self._method())
            if current is not None:
                self.calibration_ = current
        calibration: Calibration | None = self.__dict__.get("calibration_")
        if calibration is None:
            raise ValueError(
                "there are no probabilities yet: call fit with probability=True, or partial_fit until "
                f"{ProgressiveScores.MIN_ROWS} rows of known classes were learned from"
            )
        hypothesis = getattr(self, "hypothesis", None)
        if hypothesis != self._calibrated_hypothesis:
            raise ValueError(
                f"the probabilities were fitted for {self._calibrated_hypothesis!r}, not for {hypothesis!r}: fit with "
                f"hypothesis={hypothesis!r} and probability=True"
            )
        return calibration

    def _method(self) -> str:
        if not isinstance(self.probability, bool | str | np.bool_) or self.probability not in METHODS:
            raise ValueError(
                f"probability must be False, True, 'platt' or 'venn-abers', got {self.probability!r}"
            )
        return METHODS[self.probability]

    def _out_of_fold(self, examples: CheckedExamples, folds: Folds) -> OutOfFold:
        """Return out-of-fold scores: by learners trained side by side, or else by copies of the estimator."""
        hypothesis: str | None = getattr(self, "hypothesis", None)
        if hypothesis is not None and not getattr(self, "normalise", False):
            new_learner, epochs, shuffle = (
                getattr(self, name) for name in ("_new_learner", "n_iter_", "shuffle")
            )
            return out_of_fold(examples, folds, Trial(new_learner, (hypothesis,), max(1, epochs), shuffle))
        n, classes = examples.labels.size, examples.classes.size
        scores = np.full(n if classes == 2 else (n, classes), np.nan)
        norms, scored = np.full(n, np.nan), np.zeros(n, np.bool_)
        for k in range(folds.number):
            train, test = folds.train(k), folds.test(k)
            if np.unique(examples.labels[train]).size < classes:
                continue  # a learner without a class cannot score it
            model = clone(self).set_params(probability=False)
            weight = {} if examples.weight is None else {"sample_weight": examples.weight[train]}
            model.fit(examples.X[train], examples.y[train], **weight)
            scores[test], norms[test] = model.decision_function(examples.X[test]), model._score_norm()
            scored[test] = True
        return OutOfFold(scores, norms, scored)

    def _score_norm(self) -> float:
        """Return the norm that scores are divided by before they are calibrated."""
        hypothesis = getattr(self, "hypothesis", None)
        if hypothesis is not None:
            return norm_of(self.learner_, hypothesis)  # type: ignore[attr-defined]
        return float(np.linalg.norm(np.asarray(self.coef_, np.float64)))  # type: ignore[attr-defined]

    def _probability_link(self) -> Link | None:
        """Return how an export computes probabilities from scores; None where there are none."""
        if not self.probability or ("calibration_" not in self.__dict__ and "_stale" not in self.__dict__):
            return None
        try:
            return self._calibration().folded(self._score_norm())
        except ValueError:  # too few rows so far, or another hypothesis
            return None

    # Files

    def _probability_metadata(self) -> dict[str, Any]:
        """Return what a model file stores of the probabilities."""
        if not self.probability or ("calibration_" not in self.__dict__ and "_stale" not in self.__dict__):
            return {}
        try:
            return {"calibration": self._calibration().to_json()}
        except ValueError:  # too few rows so far, or another hypothesis
            return {}

    def _restore_probabilities(self, metadata: dict[str, Any]) -> None:
        """Set the probabilities of a model file."""
        if metadata.get("calibration") is not None:
            self.calibration_ = Calibration.from_json(metadata["calibration"])
            self.probability = True if self.calibration_.method == "platt" else "venn-abers"
            self._calibrated_hypothesis = getattr(self, "hypothesis", None)


def repeated_rows(weight: NDArray[np.float64] | None) -> NDArray[np.int64] | None:
    """Return the number of every row ⌈weight⌉ times; None without weights, and where that is too many rows."""
    if weight is None:
        return None
    count = np.ceil(weight).astype(np.int64)
    return None if count.sum() > MAX_COPIES * count.size else np.repeat(np.arange(count.size), count)


def with_repeats(examples: CheckedExamples, rows: NDArray[np.int64]) -> CheckedExamples:
    """Return rows of weight k as k rows, given their numbers by :func:`repeated_rows`."""
    assert examples.weight is not None
    weight = (examples.weight / np.maximum(np.ceil(examples.weight), 1.0))[rows]
    return examples._replace(
        X=examples.X[rows],
        labels=examples.labels[rows],
        weight=None if (weight == 1.0).all() else weight,
    )
