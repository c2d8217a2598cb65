"""The choice of a learner by out-of-fold scores: rules and their parameters, hypotheses, a quadratic map, kernels.

Every candidate is trained on the same folds. Where rows are many, successive halving tries all candidates on some of
them, and fewer candidates on more rows. Of the candidates whose scores differ from the best by less than one standard
error of the difference, row by row, the simplest is chosen.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.data.tables.preprocess import quadratic, quadratic_size
from rosenblatt.learner.examples import CheckedExamples
from rosenblatt.learner.learner import Learner
from rosenblatt.learner.models.options import passes_for
from rosenblatt.learner.scoring import decided
from rosenblatt.learner.selection import (
    Fitted,
    Folds,
    OutOfFold,
    Preparation,
    Trial,
    out_of_fold_trials,
    stratified_folds,
)

FIRST_ROUND_ROWS, MORE_ROWS, LAST_CANDIDATES = 1000, 4, 3  # of successive halving
MAX_KERNEL_ROWS = 6000  # in a round: a Gram matrix has this many columns
MAX_KERNEL_WORK = 10 * MAX_KERNEL_ROWS**2  # rows² × classes: every visit scores a row by all classes
MAX_MAPPED_FEATURES, MAX_MAPPED_NUMBERS = 1000, 1 << 25
SCORINGS = ("accuracy", "balanced_accuracy")
# A score of some rows, the higher the better, given their scores, class indices and weights.
Scoring = Callable[[NDArray[Any], NDArray[np.int64], NDArray[np.float64] | None], float]
BOTH = ("averaged", "last")


class Candidate(NamedTuple):
    """A learner to be tried.

    Parameters
    ----------
    rule : rule
    hypotheses : tuple of str
        Each is scored; training is the same.
    max_iter : int
    map : {"", "quadratic"}
        With a quadratic map the learner reads every feature and every product of two.
    kernel : {"", "poly", "rbf"}
    degree : int
        Of a polynomial kernel.
    gamma : float
        Of a kernel, as a multiple of 1/features.
    """

    rule: Any
    hypotheses: tuple[str, ...] = BOTH
    max_iter: int = 10
    map: str = ""
    kernel: str = ""
    degree: int = 2
    gamma: float = 1.0

    @property
    def complexity(self) -> int:
        """What is simpler: a hyperplane, one of a quadratic map, a polynomial kernel, an RBF kernel."""
        return 3 if self.kernel == "rbf" else 2 if self.kernel else 1 if self.map else 0

    def new_learner(self, features: int, seed: int = 0, *, keep_ledger: bool = False) -> Any:
        """Return an untrained learner for rows with this many features, mapped ones not counted."""
        if not self.kernel:
            return Learner(self.rule, keep_ledger=keep_ledger, seed=seed)
        from rosenblatt.learner.kernel.learner import KernelLearner

        return KernelLearner(
            self.rule,
            kernel=self.kernel,
            degree=self.degree,
            gamma=self.gamma / max(1, features),
            fit_intercept=True,
            keep_ledger=keep_ledger,
            seed=seed,
        )

    def mapped(self, X: Any) -> Any:
        """Return rows as the learner reads them."""
        return quadratic(X) if self.map else X

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value:g}" for name, value in self.rule._asdict().items())
        name = rules.to_dict(self.rule)["name"]
        parts = [f"{name}({parameters})" if parameters else name]
        if self.map:
            parts.append("quadratic map")
        if self.kernel:
            degree = f" of degree {self.degree}" if self.kernel == "poly" else ""
            parts.append(f"{self.kernel} kernel{degree}, gamma={self.gamma:g}/features")
        return ", ".join(parts)


def kernels_fit(rows: int, classes: int) -> bool:
    """Return whether kernels are tried: at most 6,000 rows, fewer with more than ten classes.

    >>> kernels_fit(6000, 10), kernels_fit(3000, 1000), kernels_fit(600, 1000)
    (True, False, True)
    """
    return rows <= MAX_KERNEL_ROWS and rows**2 * classes <= MAX_KERNEL_WORK


def default_candidates(rows: int, features: int, sparse: bool = False, classes: int = 2) -> list[Candidate]:
    """Return the candidates for examples of this size, the simplest first.

    A quadratic map is tried where it has at most 1,000 features, kernels where rows are few enough for their Gram
    matrix (:func:`kernels_fit`).

    >>> [candidate.kernel for candidate in default_candidates(100_000, 2000)].count("rbf")
    0
    """
    linear: list[Any] = [rules.PassiveAggressive(C=C) for C in (0.1, 0.01, 1.0)]
    linear += [rules.Rosenblatt(), *(rules.Pegasos(lam=lam) for lam in (0.01, 0.0001))]
    linear += [rules.AROW(r=r) for r in (1.0, 10.0)]
    candidates = [Candidate(rule, max_iter=passes_for(rows)) for rule in linear]
    mapped = quadratic_size(features)
    if not sparse and mapped <= MAX_MAPPED_FEATURES and mapped * rows <= MAX_MAPPED_NUMBERS:
        candidates += [Candidate(rule, map="quadratic") for rule in _for_richer_features()]
    if kernels_fit(rows, classes):
        in_kernel = [rules.PassiveAggressive(C=1.0), rules.Pegasos(lam=0.001)]
        candidates += [Candidate(rule, ("averaged",), kernel="poly", degree=3) for rule in in_kernel[:1]]
        candidates += [
            Candidate(rule, ("averaged",), kernel="rbf", gamma=gamma)
            for gamma in (0.25, 1.0, 4.0)
            for rule in in_kernel
        ]
    return candidates


def _for_richer_features() -> list[Any]:
    return [rules.PassiveAggressive(C=0.01), rules.PassiveAggressive(C=0.1), rules.AROW(r=1.0)]


class Tried(NamedTuple):
    """One row of the table of what was tried."""

    candidate: Candidate
    hypothesis: str
    score: float  # mean of the out-of-fold scores
    standard_error: float
    rows: int  # that were scored
    behind: float  # how far it is behind the best of its round, in standard errors of the difference
    of_folds: tuple[float, ...]  # the score of every fold; nan of a fold that was not scored

    @property
    def options(self) -> dict[str, Any]:
        """The choice as options: the rule, its parameters, hypothesis, epochs, and map or kernel."""
        description = rules.to_dict(self.candidate.rule)
        options: dict[str, Any] = {"rule": description.pop("name"), **description}
        options |= {"hypothesis": self.hypothesis, "max_iter": self.candidate.max_iter}
        if self.candidate.map:
            options["map"] = self.candidate.map
        if self.candidate.kernel:
            options["kernel"] = self.candidate.kernel
            options["gamma"] = self.candidate.gamma
            if self.candidate.kernel == "poly":
                options["degree"] = self.candidate.degree
        return options


class Choice(NamedTuple):
    """What :func:`choose` chose, and everything that it tried."""

    best: Tried
    table: list[Tried]  # of all rounds; in the last, the best score first
    scores: OutOfFold  # of the choice, on the rows of the last round
    rows: NDArray[np.int64]  # the rows of the last round

    def arguments(self, features: int) -> list[str]:
        """Return the arguments of ``rosenblatt fit`` that repeat the choice, for rows with this many features."""
        candidate = self.best.candidate
        description = rules.to_dict(candidate.rule)
        arguments = ["--learner", "kernel"] if candidate.kernel else []
        arguments += ["--rule", str(description.pop("name"))]
        for name, value in description.items():
            arguments += (
                [f"--{name}", f"{value}"] if name in ("eta", "beta", "C") else ["--param", f"{name}={value}"]
            )
        arguments += ["--hypothesis", self.best.hypothesis, "--max-iter", str(candidate.max_iter)]
        if candidate.map:
            arguments += ["--map", candidate.map]
        if candidate.kernel:
            arguments += ["--kernel", candidate.kernel, "--gamma", repr(candidate.gamma / max(1, features))]
        if candidate.kernel == "poly":
            arguments += ["--degree", str(candidate.degree)]
        return arguments


def choose(
    examples: CheckedExamples,
    *,
    candidates: Sequence[Candidate] | None = None,
    folds: Folds | None = None,
    prepare: Preparation | None = None,
    scoring: "str | Scoring" = "accuracy",
    seed: int = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> Choice:
    """Choose a learner by out-of-fold scores.

    Parameters
    ----------
    examples : CheckedExamples
        With ``prepare``, its ``X`` is whatever that takes. Kernels and maps expect features of about equal size.
    candidates : sequence of Candidate, optional
        By default :func:`default_candidates`.
    folds : Folds, optional
        By default five stratified ones.
    prepare : Preparation, optional
        Fitted on the training part of every fold.
    scoring : {"accuracy", "balanced_accuracy"} or callable
        A function of the scores of rows, their class indices and weights (or None) is computed on every fold; standard
        errors are then those of the folds.
    seed : int, default=0
        Of folds, shuffles and the rows of a round.
    on_progress : callable, optional
        Called with the number of trainings done, their total in this round, and what is being tried.

    Returns
    -------
    Choice

    Notes
    -----
    The score of the choice is the best of many, and so too high: estimate it on rows that took no part in the choice.

    Examples
    --------
    >>> from rosenblatt.learner.examples import checked_examples
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> choice = choose(checked_examples(X, X[:, 0] * X[:, 1] > 0.0))
    >>> choice.best.candidate.complexity > 0, bool(choice.best.score > 0.9)
    (True, True)
    """
    if not callable(scoring) and scoring not in SCORINGS:
        raise ValueError(f"scoring must be one of {', '.join(SCORINGS)}, got {scoring!r}")
    n, features = examples.labels.size, int(examples.X.shape[1])
    folds = stratified_folds(examples.labels, 5, seed) if folds is None else folds
    if candidates is None:
        candidates = default_candidates(n, features, hasattr(examples.X, "tocsr"), examples.classes.size)
    remaining, table = list(candidates), list[Tried]()
    if not remaining:
        raise ValueError("there are no candidates to choose from")
    order = _row_order(examples.labels, seed)
    for size, count in _rounds(n, len(remaining), folds.in_order):
        chosen_rows = np.sort(order[:size])
        part = _rows_of(examples, chosen_rows)
        own_folds = folds.restricted(chosen_rows)
        results = _scores_of(remaining, part, own_folds, prepare, seed, on_progress)
        if callable(scoring):
            ranked = _ranked_by_folds(remaining, results, part, own_folds, scoring)
        else:
            ranked = _ranked(remaining, results, part, own_folds, scoring)
        table += [tried for tried, _ in ranked]
        if size == n:
            break
        best_of: dict[int, float] = {}
        for tried, _ in ranked:
            number = next(i for i, each in enumerate(remaining) if each is tried.candidate)
            best_of[number] = max(best_of.get(number, -np.inf), tried.score)
        remaining = [remaining[i] for i in sorted(sorted(best_of, key=lambda i: -best_of[i])[:count])]
    if not ranked:
        raise ValueError(
            "no candidate could be trained: the weights of all grew beyond what a float can hold, scale the features"
        )
    near = [row for row in ranked if row[0].behind <= 1.0]
    best, scores = min(near, key=lambda row: _preference(row[0]))
    return Choice(best, table, scores, chosen_rows)


def _preference(tried: Tried) -> tuple[int, bool, float]:
    """Return what orders the candidates near the best, the preferred first: simple, averaged, of a high score.

    The last hypothesis depends on the rows that happen to come last. Its mean over the folds does not show how much
    that of one training differs, so it is chosen only where it is clearly better.
    """
    return tried.candidate.complexity, tried.hypothesis == "last", -tried.score


def _rounds(n: int, candidates: int, in_order: bool) -> list[tuple[int, int]]:
    """Return the number of rows of every round and how many candidates remain after it.

    Rows become four times as many from round to round, candidates fewer in equal proportion, until three are left.
    Folds in time order are not thinned out.
    """
    sizes = [n]
    while not in_order and candidates > LAST_CANDIDATES and sizes[0] // MORE_ROWS >= FIRST_ROUND_ROWS:
        sizes.insert(0, sizes[0] // MORE_ROWS)
    share = LAST_CANDIDATES / max(LAST_CANDIDATES, candidates)
    steps = max(1, len(sizes) - 1)
    return [(size, math.ceil(candidates * share ** (k / steps))) for k, size in enumerate(sizes, 1)]


def _row_order(labels: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return all rows so that the first rows, however many, have the classes in the same parts."""
    order = np.random.default_rng(seed).permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    counts = np.bincount(labels)
    place = np.concatenate([(np.arange(count) + 0.5) / count for count in counts if count])
    return np.asarray(order[np.argsort(place, kind="stable")])


def _rows_of(examples: CheckedExamples, rows: NDArray[np.int64]) -> CheckedExamples:
    if rows.size == examples.labels.size:
        return examples
    weight = None if examples.weight is None else examples.weight[rows]
    return examples._replace(X=examples.X[rows], labels=examples.labels[rows], weight=weight)


def _scores_of(
    candidates: list[Candidate],
    examples: CheckedExamples,
    folds: Folds,
    prepare: Preparation | None,
    seed: int,
    on_progress: Callable[[int, int, str], None] | None,
) -> list[dict[str, OutOfFold] | None]:
    """Return the out-of-fold scores of every candidate; None for one whose weights overflowed."""
    results: list[dict[str, OutOfFold] | None] = [None] * len(candidates)
    done = 0
    for group in _groups(candidates):
        own = [candidates[i] for i in group]
        if on_progress is not None:
            on_progress(done, len(candidates), str(own[0]))
        for i, result in zip(group, _group_scores(own, examples, folds, prepare, seed), strict=True):
            results[i] = result
        done += len(group)
    if on_progress is not None:
        on_progress(done, done, "")
    return results


def _groups(candidates: list[Candidate]) -> list[list[int]]:
    """Gather candidates that read the same rows: hyperplanes, those of a quadratic map, each kernel."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, candidate in enumerate(candidates):
        kernel = (candidate.kernel, candidate.degree, candidate.gamma) if candidate.kernel else ()
        groups.setdefault((candidate.map, *kernel), []).append(i)
    return list(groups.values())


def _group_scores(
    candidates: list[Candidate],
    examples: CheckedExamples,
    folds: Folds,
    prepare: Preparation | None,
    seed: int,
) -> list[dict[str, OutOfFold] | None]:
    features = int(examples.X.shape[1])
    way = QuadraticMap(prepare) if candidates[0].map else prepare
    trials = [
        Trial(partial(each.new_learner, features, seed), each.hypotheses, each.max_iter)
        for each in candidates
    ]
    try:
        return [*out_of_fold_trials(examples, folds, trials, way)]
    except ValueError:  # the weights of one of them grew beyond a float
        if len(candidates) == 1:
            return [None]
    return [_group_scores([each], examples, folds, prepare, seed)[0] for each in candidates]


class QuadraticMap:
    """The preparation of a caller, followed by the quadratic map."""

    def __init__(self, prepare: Preparation | None) -> None:
        self._prepare = prepare

    def fit(self, X: Any) -> "QuadraticMap._Fitted":
        """Learn what the caller's preparation learns; the map itself has nothing to learn."""
        return self._Fitted(None if self._prepare is None else self._prepare.fit(X))

    class _Fitted(NamedTuple):
        fitted: Fitted | None

        def apply(self, X: Any) -> NDArray[Any]:
            return quadratic(X if self.fitted is None else self.fitted.apply(X))


def _ranked(
    candidates: list[Candidate],
    results: list[dict[str, OutOfFold] | None],
    examples: CheckedExamples,
    folds: Folds,
    scoring: str,
) -> list[tuple[Tried, OutOfFold]]:
    """Return what was tried in a round and its scores, the best first."""
    labels, weight = examples.labels, examples.weight
    value_of_row = np.ones(labels.size) if weight is None else weight
    if scoring == "balanced_accuracy":
        value_of_row = _balanced(value_of_row, labels)
    rows = []
    for candidate, result in zip(candidates, results, strict=True):
        for name, scores in (result or {}).items():
            scored = scores.scored
            right = decided(scores.scores[scored], np.arange(examples.classes.size)) == labels[scored]
            rows.append((candidate, name, scores, right, value_of_row[scored]))
    if not rows:
        return []
    means = [float(np.average(right, weights=value)) for _, _, _, right, value in rows]
    leader = rows[int(np.argmax(means))][3]
    ranked = []
    for (candidate, name, scores, right, value), mean in zip(rows, means, strict=True):
        behind = _in_standard_errors(leader.astype(float) - right, value)
        error = _standard_error(right.astype(float), value)
        of_folds = tuple(
            _mean_of_fold(right, value, labels[scores.scored], own, scoring)
            for own in (folds.fold[scores.scored] == k for k in range(folds.number))
        )
        ranked.append((Tried(candidate, name, mean, error, right.size, behind, of_folds), scores))
    return sorted(ranked, key=lambda row: -row[0].score)


def _mean_of_fold(
    right: NDArray[np.bool_],
    value: NDArray[np.float64],
    labels: NDArray[np.int64],
    own: NDArray[np.bool_],
    scoring: str,
) -> float:
    """Return the score of the rows of a fold; nan where it has none."""
    if not own.any():
        return math.nan
    values = _balanced(value[own], labels[own]) if scoring == "balanced_accuracy" else value[own]
    return float(np.average(right[own], weights=values))


def _balanced(value: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return values of rows that sum to one in every class."""
    return value / np.bincount(labels, value)[labels]


def _ranked_by_folds(
    candidates: list[Candidate],
    results: list[dict[str, OutOfFold] | None],
    examples: CheckedExamples,
    folds: Folds,
    scoring: Scoring,
) -> list[tuple[Tried, OutOfFold]]:
    """Return what was tried in a round and its scores, the best first, by a score of every fold."""
    rows: list[tuple[Candidate, str, OutOfFold, NDArray[np.float64]]] = []
    for candidate, result in zip(candidates, results, strict=True):
        for name, scores in (result or {}).items():
            of_folds: list[float] = []
            for k in range(folds.number):
                test = folds.test(k)
                test = test[scores.scored[test]]
                weight = None if examples.weight is None else examples.weight[test]
                score = math.nan
                if test.size:
                    score = float(scoring(scores.scores[test], examples.labels[test], weight))
                of_folds.append(score)
            rows.append((candidate, name, scores, np.array(of_folds)))
    if not rows:
        return []
    known = np.isfinite(rows[0][3])
    leader = max(rows, key=lambda row: float(row[3][known].mean()))[3][known]
    ranked = []
    for candidate, name, scores, each in rows:
        values = each[known]
        differences, alike = leader - values, np.ones(values.size)
        behind = _in_standard_errors(differences, alike) if differences.any() else 0.0
        mean, error = float(values.mean()), _standard_error(values, alike)
        scored = int(scores.scored.sum())
        ranked.append((Tried(candidate, name, mean, error, scored, behind, tuple(each.tolist())), scores))
    return sorted(ranked, key=lambda row: -row[0].score)


def _standard_error(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the standard error of a weighted mean."""
    share = weight / weight.sum()
    return float(np.sqrt(np.sum(share**2 * (values - share @ values) ** 2)))


def _in_standard_errors(differences: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return a mean difference in units of its standard error; zero where there is none."""
    mean = float(np.average(differences, weights=weight))
    error = _standard_error(differences, weight)
    return mean / error if error > 0.0 else 0.0
