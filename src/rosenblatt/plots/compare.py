"""All linear learners on the same data, side by side."""

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

MOST_CELLS = 1 << 24  # of a sparse matrix that is made dense for a learner that needs it
# Where a default would refuse most data: a hard margin asks for separable ones.
SETTINGS: dict[str, dict[str, Any]] = {"MaxMargin": {"C": 1.0}}


def compare(
    X: Any, y: Any, *, learners: Any = None, cv: int = 5, seed: int = 0, prepare: Preparation | None = None
) -> Comparison:
    """Fit every linear classifier of the family, and measure them alike.

    Parameters
    ----------
    X, y : examples; rows dense or sparse
    learners : names or estimators; every one in ``rosenblatt.linear`` that needs no argument by default
    cv : int, default=5
        Folds of the cross-validation, no more than the smallest class has rows.
    seed : int, default=0
        Of the folds.
    prepare : optional
        Scaling, imputation and weights of words (:class:`rosenblatt.data.preprocess.PreprocessingPlan`), fitted on the
        training part of every fold alone; ``X`` then holds the raw rows that it takes.

    Returns
    -------
    Comparison : the table, best first. ``accuracy``, ``spread`` and ``mistakes`` are on held-out rows; the losses
        and ``margin`` on all rows, of the hyperplane scaled to ``‖w‖ = 1``, so that they can be compared;
        ``seconds`` is one fit on all rows. A learner that cannot take these data says why in ``note``.

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
    measured = [
        _measured(name, learner, _Data(X, prepared, y, splits, prepare))
        for name, learner in _chosen(learners).items()
    ]
    ranked = sorted(measured, key=lambda result: (bool(result[0].note), -result[0].accuracy))
    return Comparison(
        tuple(row for row, _ in ranked),
        {row.learner: model for row, model in ranked if model is not None},
        prepared.shape[0],
        prepared.shape[1],
        tuple(classes.tolist()),
        folds,
    )


def linear_learners() -> dict[str, type]:
    """Return every classifier of ``rosenblatt.linear`` that can be made without an argument, by name.

    >>> "Perceptron" in linear_learners()
    True
    """
    import rosenblatt.linear as family

    found = {}
    for module in iter_modules(family.__path__):
        if module.ispkg or module.name in ("compare", "comparison"):
            continue
        home = import_module(f"{family.__name__}.{module.name}")
        for name, thing in vars(home).items():
            if isclass(thing) and thing.__module__ == home.__name__ and _is_learner(name, thing):
                found[name] = thing
    return dict(sorted(found.items()))


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


def _chosen(learners: Any) -> dict[str, Any]:
    known = linear_learners()
    if learners is None:
        return {name: cls(**SETTINGS.get(name, {})) for name, cls in known.items()}
    chosen: dict[str, Any] = {}
    for learner in [learners] if isinstance(learners, str) or hasattr(learners, "fit") else learners:
        if isinstance(learner, str) and learner not in known:
            raise ValueError(f"no learner is called {learner!r}; there are {', '.join(known)}")
        made = known[learner](**SETTINGS.get(learner, {})) if isinstance(learner, str) else learner
        name, again = type(made).__name__, 2
        while name in chosen:
            name, again = f"{type(made).__name__} {again}", again + 1
        chosen[name] = made
    return chosen


class _Data(NamedTuple):
    """The rows that learners are measured on."""

    raw: Any
    prepared: Any  # by what was fitted on all rows
    y: NDArray[Any]
    splits: list[tuple[Any, Any]]
    prepare: Preparation | None

    def parts(self, train: Any, test: Any) -> tuple[Any, Any]:
        """Return the rows of a training part and of its test part, both prepared by the training part alone."""
        if self.prepare is None:
            return self.raw[train], self.raw[test]
        fitted = self.prepare.fit(self.raw[train])
        return fitted.apply(self.raw[train]), fitted.apply(self.raw[test])


def _measured(name: str, learner: Any, data: _Data) -> tuple[Row, Any]:
    X, y = _as_it_takes(learner, data.prepared), data.y
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters is in the table
            right = []
            for train, test in data.splits:
                learned, new = (_as_it_takes(learner, part) for part in data.parts(train, test))
                right.append(clone(learner).fit(learned, y[train]).predict(new) == y[test])
            started = time.perf_counter()
            model = clone(learner).fit(X, y)
            seconds = time.perf_counter() - started
    except (ValueError, TypeError, np.linalg.LinAlgError) as error:
        return Row(name, note=_in_short(str(error))), None
    accuracies = [float(fold.mean()) for fold in right]
    mistakes = int(sum((~fold).sum() for fold in right))
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


def _as_it_takes(learner: Any, X: Any) -> Any:
    """Return sparse rows as dense ones for a learner that takes no others, where there is room for them."""
    fits = hasattr(X, "tocsr") and X.shape[0] * X.shape[1] <= MOST_CELLS
    return X.toarray() if fits and not get_tags(learner).input_tags.sparse else X


def _in_short(reason: str, at_most: int = 250) -> str:
    first = reason.partition("\n")[0].partition(". ")[0]
    return first if len(first) <= at_most else first[: at_most - 1].rsplit(" ", 1)[0] + " …"


def unit_margins(model: Any, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far each row is on its right side, ``y f(x)/‖w‖``; with several classes from its best rival."""
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
