"""Comparison of all linear learners on the same data."""

import time
import warnings
from importlib import import_module
from inspect import Parameter, isabstract, isclass, signature
from pkgutil import iter_modules
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_array, get_tags

from rosenblatt.data.labels import exact_labels
from rosenblatt.data.matrix import encoded
from rosenblatt.learner.selection import Preparation
from rosenblatt.plots.comparison import Comparison, Row

MOST_CELLS = 1 << 24  # of a sparse matrix that is densified for a learner that needs it
# Settings of learners whose defaults refuse most data: a hard margin needs separable classes.
SETTINGS: dict[str, dict[str, Any]] = {"MaxMargin": {"C": 1.0}}


def compare(
    X: Any, y: Any, *, learners: Any = None, cv: int = 5, seed: int = 0, prepare: Preparation | None = None
) -> Comparison:
    """Fit and evaluate linear classifiers on the same data and folds.

    Parameters
    ----------
    X, y : array-like or sparse matrix, and labels
    learners : names or estimators, optional
        By default every classifier in ``rosenblatt.linear`` that needs no argument.
    cv : int, default=5
        Folds of the cross-validation, at most the size of the smallest class.
    seed : int, default=0
        Seed of the folds.
    prepare : optional
        Scaling, imputation and weights of words (:class:`rosenblatt.data.tables.preprocess.PreprocessingPlan`), fitted
        on the training part of every fold alone; ``X`` then holds the raw rows that it takes.

    Returns
    -------
    Comparison
        The table, best first. ``accuracy``, ``spread`` and ``mistakes`` are those of held-out rows; the losses and
        ``margin`` those of all rows, with the hyperplane scaled to ``‖w‖ = 1``; ``seconds`` is the time of one fit on
        all rows. ``note`` is the error of a learner that could not be fitted.

    Examples
    --------
    >>> from rosenblatt.data import read_all
    >>> iris = read_all("sample:iris")
    >>> table = compare(iris.X, iris.y, learners=["Perceptron", "ClosestCentroid"])
    >>> [row.learner for row in table.rows][:2], table.rows[0].accuracy > 0.9
    (['Perceptron', 'ClosestCentroid'], True)
    """
    finite: Any = True if prepare is None else "allow-nan"
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=finite)
    y = exact_labels(y)
    classes, labels = encoded(y)
    if labels.shape != (X.shape[0],):
        raise ValueError(f"y must hold one label for each of the {X.shape[0]} rows of X, got {labels.size}")
    folds = min(int(cv), int(np.bincount(labels).min()))
    if classes.size < 2 or folds < 2:
        raise ValueError("a comparison needs two classes of two rows or more, and two folds or more")
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), labels))
    prepared = X if prepare is None else prepare.fit(X).apply(X)
    results = [
        _evaluate(name, learner, _Data(X, prepared, y, splits, prepare))
        for name, learner in _select(learners).items()
    ]
    ranked = sorted(results, key=lambda result: (bool(result[0].note), -result[0].accuracy))
    return Comparison(
        tuple(row for row, _ in ranked),
        {row.learner: model for row, model in ranked if model is not None},
        prepared.shape[0],
        prepared.shape[1],
        tuple(classes.tolist()),
        folds,
    )


def linear_learners() -> dict[str, type]:
    """Return every classifier of ``rosenblatt.linear`` whose constructor needs no argument, by name.

    >>> "Perceptron" in linear_learners()
    True
    """
    import rosenblatt.linear as family

    learners = {}
    for module in iter_modules(family.__path__):
        if module.ispkg or module.name in ("compare", "comparison"):
            continue
        source = import_module(f"{family.__name__}.{module.name}")
        for name, value in vars(source).items():
            if isclass(value) and value.__module__ == source.__name__ and _is_learner(name, value):
                learners[name] = value
    return dict(sorted(learners.items()))


def _is_learner(name: str, cls: type) -> bool:
    if (
        name.startswith("_")
        or isabstract(cls)
        or not issubclass(cls, ClassifierMixin)
        or not hasattr(cls, "fit")
    ):
        return False
    needed = [p for p in signature(cls).parameters.values() if p.default is Parameter.empty]
    return not needed


def _select(learners: Any) -> dict[str, Any]:
    known = linear_learners()
    if learners is None:
        return {name: cls(**SETTINGS.get(name, {})) for name, cls in known.items()}
    chosen: dict[str, Any] = {}
    for learner in [learners] if isinstance(learners, str) or hasattr(learners, "fit") else learners:
        if isinstance(learner, str) and learner not in known:
            raise ValueError(f"no learner is called {learner!r}; there are {', '.join(known)}")
        estimator = known[learner](**SETTINGS.get(learner, {})) if isinstance(learner, str) else learner
        name, number = type(estimator).__name__, 2
        while name in chosen:
            name, number = f"{type(estimator).__name__} {number}", number + 1
        chosen[name] = estimator
    return chosen


class _Data(NamedTuple):
    """The data of the comparison."""

    raw: Any
    prepared: Any  # with the preparation fitted on all rows
    y: NDArray[Any]
    splits: list[tuple[Any, Any]]
    prepare: Preparation | None

    def parts(self, train: Any, test: Any) -> tuple[Any, Any]:
        """Return training and test rows, both prepared with what was fitted on the training rows."""
        if self.prepare is None:
            return self.raw[train], self.raw[test]
        fitted = self.prepare.fit(self.raw[train])
        return fitted.apply(self.raw[train]), fitted.apply(self.raw[test])


def _evaluate(name: str, learner: Any, data: _Data) -> tuple[Row, Any]:
    X, y = _dense_if_needed(learner, data.prepared), data.y
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the table has the results
            correct = []
            for train, test in data.splits:
                train_rows, test_rows = (_dense_if_needed(learner, part) for part in data.parts(train, test))
                correct.append(clone(learner).fit(train_rows, y[train]).predict(test_rows) == y[test])
            started = time.perf_counter()
            model = clone(learner).fit(X, y)
            seconds = time.perf_counter() - started
    except (ValueError, TypeError, np.linalg.LinAlgError) as error:
        return Row(name, note=_abbreviate(str(error))), None
    accuracies = [float(fold.mean()) for fold in correct]
    mistakes = int(sum((~fold).sum() for fold in correct))
    margins = unit_margins(model, X, y)
    row = Row(
        name,
        float(np.mean(accuracies)),
        float(np.std(accuracies)),
        mistakes,
        float(np.maximum(0.0, -margins).mean()),
        float(np.maximum(0.0, 1.0 - margins).mean()),
        float(np.logaddexp(0.0, -margins).mean() / np.log(2.0)),
        float(margins.min()),
        seconds,
    )
    return row, model


def _dense_if_needed(learner: Any, X: Any) -> Any:
    """Densify sparse rows for a learner that needs dense ones, if they are not too many."""
    fits = hasattr(X, "tocsr") and X.shape[0] * X.shape[1] <= MOST_CELLS
    return X.toarray() if fits and not get_tags(learner).input_tags.sparse else X


def _abbreviate(reason: str, at_most: int = 250) -> str:
    first = reason.partition("\n")[0].partition(". ")[0]
    return first if len(first) <= at_most else first[: at_most - 1].rsplit(" ", 1)[0] + " …"


def unit_margins(model: Any, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the margin ``y f(x)/‖w‖`` of each row; with several classes the one to its best rival."""
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    labels = np.searchsorted(model.classes_, y)
    coef = np.atleast_2d(np.asarray(getattr(model, "coef_", np.ones((1, 1))), dtype=np.float64))
    if scores.ndim == 1:
        return np.asarray(np.where(labels == 1, scores, -scores) / (float(np.linalg.norm(coef)) or 1.0))
    every = np.arange(labels.size)
    between = np.linalg.norm(coef[:, None] - coef[None], axis=2)
    gaps = (scores[every, labels][:, None] - scores) / np.where(between > 0.0, between, 1.0)[labels]
    gaps[every, labels] = np.inf
    return np.asarray(gaps.min(axis=1))
