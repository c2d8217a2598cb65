"""The perceptron that chooses its rule, its parameters, its hypothesis and its features by out-of-fold scores."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rosenblatt.core.threads import at_most
from rosenblatt.data.labels import exact_if_listed
from rosenblatt.kernel.perceptron import KernelPerceptron
from rosenblatt.learner.calibration import fit_calibration
from rosenblatt.learner.choice import SCORINGS, Candidate, Choice, choose, default_candidates
from rosenblatt.learner.examples import CheckedExamples, canonical_matrix, max_row_sqnorm
from rosenblatt.learner.scoring import decided
from rosenblatt.learner.selection import Folds, content_folds
from rosenblatt.linear.base import INPUT, effective_weight, encoded_classes, refuse_one_class, seed_of
from rosenblatt.linear.encoders.feature_map import FeatureMap
from rosenblatt.linear.perceptron import Perceptron
from rosenblatt.linear.probabilities import repeated_rows, with_repeats


def _has_probabilities(model: Any) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class PerceptronCV(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A perceptron whose rule, parameters, hypothesis and features are chosen by out-of-fold scores.

    Candidates are rules with their parameters, each with the last and the averaged hypothesis, a quadratic map of the
    features where it is small, and polynomial and RBF kernels where rows are few. All are trained on the same folds, on
    standardised features. Of those within one standard error of the best (of the difference, row by row), the simplest
    is chosen, the averaged hypothesis before the last one, and trained on all rows. Many rows are tried by successive
    halving.

    Parameters
    ----------
    candidates : list of Candidate or None, default=None
        What to try, see :class:`rosenblatt.learner.choice.Candidate`; None is
        :func:`~rosenblatt.learner.choice.default_candidates`.
    cv : int, cross-validation generator, iterable or None, default=None
        Folds: None is five stratified ones by the content of the rows, so that equal rows are in the same fold.
    scoring : str, callable or None, default="accuracy"
        A name that ``sklearn.metrics.get_scorer`` knows or a scorer, called with out-of-fold scores; None is accuracy.
        Standard errors of ``"accuracy"`` and ``"balanced_accuracy"`` are computed row by row, of others from the folds.
        The probabilities of scorers that want some are Platt's, fitted to all out-of-fold scores.
    standardise : bool, default=True
        Divide features by their standard deviation and, where rows are dense, subtract the mean; learned from the
        training part of every fold.
    probability : bool or str, default=False
        Fit probabilities for :meth:`predict_proba`, as :class:`~rosenblatt.Perceptron` does.
    n_jobs : int or None, default=None
        The most threads among which the learners of all folds are divided; None and -1 are all cores. The result does
        not depend on it.
    random_state : int, RandomState or None, default=0
        Seed of folds and shuffles.
    on_progress : callable or None, default=None
        Called with the number of candidates done, their total and what is being tried.

    Attributes
    ----------
    best_estimator_ : Pipeline
        The chosen model, trained on all rows.
    best_params_ : dict
        Rule, parameters, hypothesis, epochs, and map or kernel (``gamma`` as a multiple of 1/features).
    best_score_ : float
        The mean out-of-fold score of the choice. It is the best of many, and so too high: estimate on other rows.
    cv_results_ : dict of ndarrays
        What was tried, as ``GridSearchCV`` has it: ``params``, a masked array ``param_<name>`` of every parameter,
        ``split<k>_test_score`` of every fold, ``mean_test_score`` (of accuracy and balanced accuracy over all rows),
        ``std_test_score`` (of the folds) and ``rank_test_score``; also ``standard_error`` of the mean, and ``rows``,
        the number that was scored, which differs between the rounds of successive halving. Candidates are trained side
        by side, so that there are no times of each.
    choice_ : Choice
        The table of what was tried, and the out-of-fold scores of the choice.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from rosenblatt import PerceptronCV
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> clf = PerceptronCV().fit(X, X[:, 0] * X[:, 1] > 0.0)
    >>> bool(clf.best_score_ > 0.9), clf.best_params_.keys() & {"map", "kernel"} != set()
    (True, True)

    References
    ----------
    L. Breiman et al. (1984), Classification and regression trees, section 3.4.3 (one standard error). K. Jamieson and
    A. Talwalkar (2016), Non-stochastic best arm identification (successive halving).
    """

    def __init__(
        self,
        candidates: Sequence[Candidate] | None = None,
        *,
        cv: Any = None,
        scoring: Any = "accuracy",
        standardise: bool = True,
        probability: bool | str = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        on_progress: Callable[[int, int, str], None] | None = None,
    ) -> None:
        self.candidates = candidates
        self.cv = cv
        self.scoring = scoring
        self.standardise = standardise
        self.probability = probability
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.on_progress = on_progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose among the candidates, and train the choice on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            A weight of k presents an example k times, and counts k times in the score.

        Returns
        -------
        self
        """
        y = exact_if_listed(y)
        X, y = validate_data(self, X, y, **INPUT)
        classes, labels = encoded_classes(y)
        weight = effective_weight(classes, labels, sample_weight, None)
        X = canonical_matrix(X)
        examples = CheckedExamples(X, classes, labels, weight, max_row_sqnorm(X, weight))
        folds = self._folds_of_caller(X, labels)
        if folds is not None and weight is not None:
            folds = folds.restricted(np.flatnonzero(weight > 0.0))
        examples = examples.without_zero_weights()
        rows = repeated_rows(examples.weight)
        if rows is not None:
            examples = with_repeats(examples, rows)
            folds = None if folds is None else folds.restricted(rows)
        self.classes_ = examples.classes
        refuse_one_class(self.classes_)
        seed = seed_of(self.random_state)
        n, d = examples.X.shape
        candidates = self.candidates
        if candidates is None:
            candidates = default_candidates(
                n, d, not isinstance(examples.X, np.ndarray), examples.classes.size
            )
        with at_most(None if self.n_jobs is None else effective_n_jobs(self.n_jobs)):
            self.choice_ = choose(
                examples,
                candidates=candidates,
                folds=folds or content_folds(examples.X, examples.labels, self.cv or 5, seed),
                prepare=_Standardise() if self.standardise else None,
                scoring=_scoring(self.scoring, examples.classes),
                seed=seed,
                on_progress=self.on_progress,
            )
        self.best_params_, self.best_score_ = self.choice_.best.options, self.choice_.best.score
        self.cv_results_ = _results(self.choice_)
        self.best_estimator_ = self._model(d, isinstance(examples.X, np.ndarray), seed)
        last = self.best_estimator_.steps[-1][0]
        fit_weight = {} if examples.weight is None else {f"{last}__sample_weight": examples.weight}
        self.best_estimator_.fit(examples.X, examples.y, **fit_weight)
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the scores of the chosen model."""
        X = self._rows(X)
        return np.asarray(self.best_estimator_.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row."""
        X = self._rows(X)
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(_has_probabilities)  # type: ignore[misc, untyped-decorator, unused-ignore]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, of shape (n, classes)."""
        X = self._rows(X)
        return np.asarray(self.best_estimator_.predict_proba(X))

    @available_if(_has_probabilities)  # type: ignore[misc, untyped-decorator, unused-ignore]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of :meth:`predict_proba`."""
        X = self._rows(X)
        return np.asarray(self.best_estimator_.predict_log_proba(X))

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **INPUT)

    def _folds_of_caller(self, X: Any, labels: NDArray[np.int64]) -> Folds | None:
        """Return the folds of the caller; None where ``cv`` is a number or None."""
        if self.cv is None or isinstance(self.cv, int | np.integer):
            return None
        splitter = check_cv(self.cv, labels, classifier=True)
        fold = np.full(labels.size, -1, np.int64)
        splits = list(splitter.split(X, labels))
        everything = np.arange(labels.size)
        for k, (train, test) in enumerate(splits):
            if (fold[test] >= 0).any() or not np.array_equal(np.union1d(train, test), everything):
                raise ValueError(
                    "cv must divide all rows into folds, each scored once by a learner of all the others: use a "
                    "number, StratifiedKFold or GroupKFold"
                )
            fold[test] = k
        return Folds(fold, len(splits))

    def _model(self, features: int, dense: bool, seed: int) -> Pipeline:
        """Return the untrained model that was chosen."""
        best = self.choice_.best
        candidate = best.candidate
        steps: list[Any] = [RoundedScaler(with_mean=dense)] if self.standardise else []
        options: dict[str, Any] = {
            "rule": candidate.rule,
            "hypothesis": best.hypothesis,
            "max_iter": candidate.max_iter,
            "random_state": seed,
            "probability": self.probability,
        }
        if candidate.map:
            steps.append(FeatureMap("polynomial", degree=2))
        if candidate.kernel:
            gamma = candidate.gamma / max(1, features)
            kernel: dict[str, Any] = {"kernel": candidate.kernel, "degree": candidate.degree, "gamma": gamma}
            steps.append(KernelPerceptron(**kernel, fit_intercept=True, **options))
        else:
            steps.append(Perceptron(**options))
        return make_pipeline(*steps)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _scoring(scoring: Any, classes: NDArray[Any]) -> Any:
    """Return a scoring as :func:`~rosenblatt.learner.choice.choose` takes it."""
    if scoring is None or (isinstance(scoring, str) and scoring in SCORINGS):
        return scoring or "accuracy"
    scorer = get_scorer(scoring)

    def score(scores: NDArray[Any], labels: NDArray[np.int64], weight: NDArray[np.float64] | None) -> float:
        rows = np.arange(labels.size)[:, None]
        weights = {} if weight is None else {"sample_weight": weight}
        return float(scorer(_OutOfFoldModel(scores, classes, labels), rows, classes[labels], **weights))

    return score


class _OutOfFoldModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Out-of-fold scores as a fitted classifier, which scorers take; a row is its number."""

    def __init__(self, scores: NDArray[Any], classes: NDArray[Any], labels: NDArray[np.int64]) -> None:
        self.scores = scores
        self.classes = classes
        self.labels = labels
        self.classes_ = classes

    def decision_function(self, X: NDArray[np.int64]) -> NDArray[Any]:
        return np.asarray(self.scores[X[:, 0]])

    def predict(self, X: NDArray[np.int64]) -> NDArray[Any]:
        return decided(self.decision_function(X), self.classes)

    def predict_proba(self, X: NDArray[np.int64]) -> NDArray[np.float64]:
        return fit_calibration(self.scores, self.labels).probabilities(self.decision_function(X))


class RoundedScaler(StandardScaler):  # type: ignore[misc]
    """scikit-learn's ``StandardScaler`` with mean and scale rounded to six digits or so.

    Their last digits depend on the order in which rows are summed, and the shuffle of a learner on every digit of its
    rows: rounded, the same rows give the same model in any order.
    """

    scale_: NDArray[np.float64]
    mean_: NDArray[np.float64] | None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute mean and standard deviation, and round them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        super().fit(X, y, sample_weight)
        self.scale_ = self.scale_.astype(np.float32).astype(np.float64)
        if self.mean_ is not None:
            unit = 2.0 ** (np.floor(np.log2(self.scale_)) - 20.0)
            self.mean_ = np.round(self.mean_ / unit) * unit
        return self


class _Standardise:
    """Standardisation of features, fitted on the training part of a fold; sparse rows are not centred."""

    def fit(self, X: Any) -> "_Standardised":
        return _Standardised(RoundedScaler(with_mean=isinstance(X, np.ndarray)).fit(X))


class _Standardised(NamedTuple):
    scaler: Any

    def apply(self, X: Any) -> Any:
        return self.scaler.transform(X)


def _results(choice: Choice) -> dict[str, Any]:
    """Return the table of what was tried in scikit-learn's form."""
    tried = choice.table
    scores, rows = np.array([each.score for each in tried]), np.array([each.rows for each in tried])
    order = np.lexsort((-scores, -rows))  # later rounds, with more rows, rank first
    rank = np.empty(len(tried), np.int32)
    rank[order] = np.arange(1, len(tried) + 1)
    params = [each.options for each in tried]
    splits = np.array([each.of_folds for each in tried])
    return {
        "params": params,
        **{
            f"param_{name}": _masked(params, name)
            for name in dict.fromkeys(key for each in params for key in each)
        },
        **{f"split{k}_test_score": splits[:, k] for k in range(splits.shape[1])},
        "mean_test_score": scores,
        "std_test_score": np.nanstd(splits, axis=1),
        "rank_test_score": rank,
        "standard_error": np.array([each.standard_error for each in tried]),
        "rows": rows,
    }


def _masked(params: list[dict[str, Any]], name: str) -> Any:
    """Return a parameter of everything that was tried, masked where there is no such parameter."""
    values = np.array([each.get(name) for each in params], object)
    return np.ma.array(values, mask=[name not in each for each in params])
