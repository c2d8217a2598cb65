"""Probabilities from scores: Platt scaling and Venn–Abers, fitted on scores of rows that were not learned from.

Scores are divided by the norm of the weights that gave them, so that scores of fold learners, of earlier hypotheses
of a stream and of the final model can be compared. With two classes the score of the second is calibrated; with more,
every class is calibrated against the rest by its gap, its score minus that of its best rival, and the probabilities are
divided by their sum.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

METHODS = ("platt", "venn-abers")
MAX_GROUPS = 256  # of scores, for Venn–Abers: what a model file stores
MIN_VENN_ABERS_ROWS = 200
# Of Newton's method, as Lin, Lin and Weng chose them.
MAX_ITER, MIN_STEP, TOLERANCE, RIDGE = 100, 1e-10, 1e-5, 1e-12
LARGEST_SCORE = 2.0**450  # that a running calibration counts; scores below its inverse count as zero
SMALLEST = 1e-15  # probability before normalisation: a row always has a most probable class


class Calibration(NamedTuple):
    """Probabilities from scores, or gaps of scores, divided by the norm of the weights.

    With Platt scaling ``P = σ(slope·s + offset)``. With Venn–Abers, ``s`` in group ``g``, which is the number of
    ``edges`` below or equal to ``s``, has the probability ``values[g]``.
    """

    method: str
    slope: NDArray[np.float64]  # (columns,): one for two classes, else one per class; empty with Venn–Abers
    offset: NDArray[np.float64]
    edges: tuple[NDArray[np.float64], ...] = ()  # of every column, ascending; empty with Platt scaling
    values: tuple[NDArray[np.float64], ...] = ()  # one more than there are edges

    @property
    def columns(self) -> int:
        """The number of columns of scores: one for two classes, else one per class."""
        return len(self.edges) if self.method == "venn-abers" else self.slope.size

    def folded(self, norm: float) -> "Link":
        """Return the formula for plain scores ``w·x + b`` of weights with this norm, which exports write down."""
        norm = norm if norm > 0.0 else 1.0
        edges = tuple(each * norm for each in self.edges)
        return Link(self.method, self.slope / norm, self.offset, edges, self.values)

    def probabilities(self, scores: NDArray[Any], norm: float = 1.0) -> NDArray[np.float64]:
        """Return ``(n, classes)`` probabilities of plain scores, given the norm of the weights that gave them."""
        columns = _columns(scores) / (norm if norm > 0.0 else 1.0)
        if columns.shape[1] != self.columns:
            raise ValueError(
                f"the calibration is for {self.columns} column(s) of scores, but there are {columns.shape[1]}: classes "
                "were added after it was fitted, so fit again"
            )
        if self.method == "platt":
            with np.errstate(over="ignore"):
                each = _sigmoid(columns * self.slope + self.offset)
        else:
            groups = (np.searchsorted(edges, columns[:, c], "right") for c, edges in enumerate(self.edges))
            each = np.column_stack([self.values[c][group] for c, group in enumerate(groups)])
        if self.columns == 1:
            return np.column_stack([1.0 - each[:, 0], each[:, 0]])
        each = np.maximum(each, SMALLEST)
        return np.asarray(each / each.sum(axis=1, keepdims=True))

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as a JSON object, for the header of a model file (``about.calibration``)."""
        if self.method == "platt":
            return {"method": "platt", "slope": self.slope.tolist(), "offset": self.offset.tolist()}
        edges, values = ([each.tolist() for each in table] for table in (self.edges, self.values))
        return {"method": "venn-abers", "edges": edges, "values": values}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Return the calibration that :meth:`to_json` described, in a header that was checked."""
        empty = np.empty(0)
        if value["method"] == "platt":
            return cls("platt", np.array(value["slope"], float), np.array(value["offset"], float))
        edges, values = (tuple(np.array(each, float) for each in value[name]) for name in ("edges", "values"))
        return cls("venn-abers", empty, empty, edges, values)


class Link(NamedTuple):
    """How probabilities follow from plain scores ``w·x + b``: what an export computes.

    ===============  ============================================================================================
    method           the probability of a class, before division by the sum over the classes
    ===============  ============================================================================================
    ``platt``        ``σ(slope·s + offset)``, at least 1e-15; ``s`` is the score of the second of two classes, and
                     of one of many its score minus that of its best rival
    ``venn-abers``   ``values[g]``, at least 1e-15, where ``g`` of the ``edges`` are below or equal to ``s``
    ``one-vs-rest``  ``σ(score)``, of many classes
    ``softmax``      ``exp(score)``, of many classes
    ===============  ============================================================================================

    With two classes ``slope``, ``offset``, ``edges`` and ``values`` have one entry, that of the second, and the first
    class has the rest.
    """

    method: str
    slope: NDArray[np.float64] = np.ones(1)
    offset: NDArray[np.float64] = np.zeros(1)
    edges: tuple[NDArray[np.float64], ...] = ()
    values: tuple[NDArray[np.float64], ...] = ()


LOGISTIC = Link("platt")  # of two classes: P(second) = σ(score)


def fit_calibration(
    scores: NDArray[Any],
    labels: NDArray[np.int64],
    method: str = "platt",
    weight: NDArray[np.float64] | None = None,
) -> Calibration:
    """Fit probabilities to scores of rows that were not learned from.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, classes)
        Divided by the norm of the weights (:attr:`rosenblatt.learner.selection.OutOfFold.normalised`). Rows with a nan
        are left out.
    labels : ndarray of int64
        The class index of every row.
    method : {"platt", "venn-abers"}
        Venn–Abers needs 200 rows or more.
    weight : ndarray of shape (n,), optional

    Returns
    -------
    Calibration

    Examples
    --------
    >>> scores = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])
    >>> calibration = fit_calibration(scores, np.array([0, 0, 0, 1, 1, 1]))
    >>> calibration.probabilities(np.array([-2.0, 0.0, 2.0])).round(2)
    array([[0.78, 0.22],
           [0.5 , 0.5 ],
           [0.22, 0.78]])
    """
    if method not in METHODS:
        raise ValueError(f"the calibration must be one of {', '.join(METHODS)}, got {method!r}")
    scored = np.isfinite(scores) if scores.ndim == 1 else np.isfinite(scores).all(axis=1)
    columns, labels = _columns(scores[scored]), labels[scored]
    weight = np.ones(labels.size) if weight is None else weight[scored]
    if not labels.size:
        raise ValueError("probabilities need scores of rows that were not learned from, and there are none")
    positive = [labels == (1 if columns.shape[1] == 1 else c) for c in range(columns.shape[1])]
    if method == "platt":
        fits = [platt(columns[:, c], own, weight) for c, own in enumerate(positive)]
        return Calibration("platt", *np.array(fits).T)
    if labels.size < MIN_VENN_ABERS_ROWS:
        raise ValueError(
            f"Venn–Abers needs {MIN_VENN_ABERS_ROWS} rows or more, got {labels.size}: use probability=True, which is "
            "Platt scaling"
        )
    tables = [venn_abers(columns[:, c], own, weight) for c, own in enumerate(positive)]
    edges, values = zip(*tables, strict=True)
    return Calibration("venn-abers", np.empty(0), np.empty(0), edges, values)


def platt(
    scores: NDArray[np.float64], positive: NDArray[np.bool_], weight: NDArray[np.float64]
) -> tuple[float, float]:
    """Return slope and offset of ``P = σ(slope·score + offset)``.

    **Problem.** ``min −Σ t log P + (1 − t) log(1 − P)`` with the targets ``(N₊ + 1)/(N₊ + 2)`` and ``1/(N₋ + 2)``
    instead of one and zero, so that a few separable rows do not make an infinite slope. Newton's method with
    backtracking. Where the best slope is negative the scores say nothing: it is zero then, and the probability that of
    the class.

    References
    ----------
    J. Platt (1999), Probabilistic outputs for support vector machines. H.-T. Lin, C.-J. Lin, R. Weng (2007), A note on
    Platt's probabilistic outputs, Algorithm 1.
    """
    positives, negatives = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
    unit = float(np.sqrt(np.average(scores**2, weights=weight))) or 1.0  # steps are tested in this unit
    f = scores / unit
    slope, offset = 0.0, math.log((positives + 1.0) / (negatives + 1.0))
    value = _cross_entropy(slope * f + offset, target, weight)
    for _ in range(MAX_ITER):
        p = _sigmoid(slope * f + offset)
        error, curvature = weight * (p - target), weight * p * (1.0 - p)
        gradient = np.array([error @ f, error.sum()])
        if np.abs(gradient).max() < TOLERANCE:
            break
        mixed = curvature @ f
        hessian = np.array([[curvature @ (f * f) + RIDGE, mixed], [mixed, curvature.sum() + RIDGE]])
        direction = -np.linalg.solve(hessian, gradient)
        step = 1.0
        while step >= MIN_STEP:
            new = (slope + step * direction[0], offset + step * direction[1])
            new_value = _cross_entropy(new[0] * f + new[1], target, weight)
            if new_value < value + 1e-4 * step * float(gradient @ direction):
                break
            step /= 2.0
        else:
            break
        (slope, offset), value = new, new_value
    if slope < 0.0:
        return 0.0, math.log((positives + 1.0) / (negatives + 1.0))
    return slope / unit, offset


def venn_abers(
    scores: NDArray[np.float64], positive: NDArray[np.bool_], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the edges between groups of scores, and the probability of each group.

    For every group, isotonic regression is fitted twice with one more row in it, once of either class: its values there
    are ``p₀ ≤ p₁``, of which one is calibrated, and ``p₁/(1 − p₀ + p₁)`` is what they come to. Scores are first
    gathered into at most 256 groups of equal size.

    References
    ----------
    V. Vovk, I. Petej, V. Fedorova (2015), Large-scale probabilistic predictors with and without guarantees of validity,
    Algorithm 1 and formula (5).
    """
    cuts = np.quantile(scores, np.arange(1, MAX_GROUPS) / MAX_GROUPS)
    edges = np.unique(cuts[(cuts > scores.min()) & (cuts <= scores.max())])
    group = np.searchsorted(edges, scores, "right")
    total = np.bincount(group, weight, edges.size + 1)
    right = np.bincount(group, weight * positive, edges.size + 1)
    p0, p1 = (_isotonic_with_one_more(right, total, label) for label in (0.0, 1.0))
    return edges, p1 / (1.0 - p0 + p1)


def _isotonic_with_one_more(right: NDArray[Any], total: NDArray[Any], label: float) -> NDArray[np.float64]:
    """Return the value of isotonic regression at every group, with one more row of this label in that group.

    The value at ``i`` is ``max_{j ≤ i} min_{k ≥ i}`` of the mean from ``j`` to ``k``.
    """
    sums, weights = np.concatenate([[0.0], np.cumsum(right)]), np.concatenate([[0.0], np.cumsum(total)])
    values = np.empty(total.size)
    for i in range(total.size):
        ends, starts = slice(i + 1, None), slice(0, i + 1)
        mean = (sums[ends][None] - sums[starts][:, None] + label) / (
            weights[ends][None] - weights[starts][:, None] + 1.0
        )
        values[i] = mean.min(axis=1).max()
    return values


class ProgressiveScores:
    """The last scores that rows got before they were learned from, for probabilities of a model that keeps learning.

    Parameters
    ----------
    capacity : int, default=4096
        How many rows it holds; older ones are overwritten.

    Examples
    --------
    >>> progressive = ProgressiveScores()
    >>> progressive.add(np.array([-1.0, 2.0, 0.5, -0.5]), np.array([0, 1, 1, 0]), norm=2.0)
    >>> progressive.calibration() is None  # too few rows
    True
    """

    MIN_ROWS = 20

    def __init__(self, capacity: int = 4096) -> None:
        self.rows = 0  # since the last change of the number of columns
        self._scores = np.zeros((capacity, 0))
        self._labels = np.zeros(capacity, np.int64)

    def add(self, scores: NDArray[Any], labels: NDArray[np.int64], norm: float = 1.0) -> None:
        """Add plain scores of rows and their classes, given the norm of the weights; new classes start anew."""
        columns = (scores if scores.ndim == 2 else scores[:, None]) / (norm if norm > 0.0 else 1.0)
        capacity = self._labels.size
        if columns.shape[1] != self._scores.shape[1]:
            self._scores, self.rows = np.zeros((capacity, columns.shape[1])), 0
        columns, labels = columns[-capacity:], labels[-capacity:]
        place = (self.rows + np.arange(labels.size)) % capacity
        self._scores[place], self._labels[place] = columns, labels
        self.rows += labels.size

    def calibration(self, method: str = "platt") -> Calibration | None:
        """Return the probabilities of the rows it holds; None where they are too few."""
        held = min(self.rows, self._labels.size)
        if held < (self.MIN_ROWS if method == "platt" else MIN_VENN_ABERS_ROWS):
            return None
        scores = self._scores[:held, 0] if self._scores.shape[1] == 1 else self._scores[:held]
        return fit_calibration(scores, self._labels[:held], method)


class RunningCalibration:
    """Platt scaling that follows a stream: it is given the score of each row before the row is learned from.

    Scores are counted in 64 groups of equal width on each side of zero and in the two outcomes, with their sums; the
    width doubles when a score lies outside. So an update takes time and memory that do not grow with the stream. Counts
    are halved every ``half_life`` rows. Slope and offset are fitted again whenever the number of rows has grown by a
    quarter, or by 512.

    Parameters
    ----------
    half_life : int, default=2048
        Rows after which a row counts half.

    Attributes
    ----------
    rows : int
        Rows added since the number of classes last changed.
    calibration : Calibration or None
        The current probabilities; None before 20 rows.

    Notes
    -----
    **Guarantee.** The state after a sequence of :meth:`add` depends on that sequence alone, and :meth:`from_json` of
    :meth:`to_json` goes on bit by bit: predictions in between, restarts and replays change nothing.

    **In a service.** Before each feedback is learned, score the example as for a prediction, and add it; store
    :meth:`to_json` in the snapshot, and replay the journal through the same calls::

        scores = [...]                                    # plain scores: one with two classes, else one per class
        running.add(scores, labels.index(label), norm)    # before learner.learn_one(x, label)
        running.probabilities(scores, norm)               # at prediction: None, or a probability for every class

    ``norm`` makes scores of earlier weights comparable with those of now: any number that grows in proportion to the
    weights, known without reading them, such as ``math.sqrt(learner.running["sqnorm"].sum())``.
    :class:`~rosenblatt.streams.online.OnlineLearner` does all of this by itself, unless ``calibrated=False``.

    Examples
    --------
    >>> running = RunningCalibration()
    >>> for _ in range(10):
    ...     running.add([-1.0], 0)
    ...     running.add([1.0], 1)
    >>> [round(p, 2) for p in running.probabilities([1.0])]
    [0.08, 0.92]
    >>> RunningCalibration.from_json(running.to_json()).to_json() == running.to_json()
    True
    """

    MIN_ROWS = 20
    GROUPS = 64  # on each side of zero

    def __init__(self, half_life: int = 2048) -> None:
        self.half_life = half_life
        self._start(0)

    @property
    def calibration(self) -> Calibration | None:
        """The current probabilities; None before 20 rows."""
        return None if self._latest is None else self._latest.calibration

    def _start(self, columns: int) -> None:
        self.rows, self._due = 0, self.MIN_ROWS
        self._latest: _GroupedScores | None = None  # those that the probabilities follow from
        self._limit = [0.0] * columns  # of the scores counted, by column; zero before the first
        self._counts: Groups = [self._empty() for _ in range(columns)]
        self._sums: Groups = [self._empty() for _ in range(columns)]

    def _empty(self) -> list[list[float]]:
        return [[0.0] * (2 * self.GROUPS), [0.0] * (2 * self.GROUPS)]  # of the other classes, of its own

    def add(self, scores: Sequence[float], label: int, norm: float = 1.0) -> None:
        """Count a row that is about to be learned from; another number of scores starts anew.

        Parameters
        ----------
        scores : sequence of float
            Plain scores: that of the second class where there are two, else one for each class.
        label : int
            The index of its class.
        norm : float
            Of the weights that gave the scores.
        """
        self.add_rows([scores], [label], norm)

    def add_rows(self, rows: Sequence[Sequence[float]], labels: Sequence[int], norm: float = 1.0) -> None:
        """Count rows in order, as :meth:`add` counts each; ``norm`` is that of the weights that gave all scores."""
        smallest, decay_every, last_group = 1.0 / LARGEST_SCORE, self.half_life // 8, 2 * self.GROUPS - 1
        for scores, label in zip(rows, labels, strict=True):
            columns = self._gaps(scores, norm)
            if len(columns) != len(self._limit):
                self._start(len(columns))
            for score in columns:
                if not abs(score) < LARGEST_SCORE:
                    break
            else:
                binary = len(columns) == 1
                for c, exact_score in enumerate(columns):
                    score = exact_score if abs(exact_score) > smallest else 0.0
                    if abs(score) >= self._limit[c] and score:
                        self._widen(c, abs(score))
                    outcome = label == (1 if binary else c)
                    at = int((score / (self._limit[c] or 1.0) + 1.0) * self.GROUPS)
                    at = min(at, last_group)  # the sum rounds up for a score right below the limit
                    self._counts[c][outcome][at] += 1.0
                    self._sums[c][outcome][at] += score
                self.rows += 1
                if self.rows % decay_every == 0:
                    self._decay(0.5**0.125)
                if self.rows >= self._due:
                    self._latest = _GroupedScores(_copied(self._counts), _copied(self._sums))
                    self._due = self.rows + max(1, min(self.rows // 4, 512))

    def probabilities(self, scores: Sequence[float], norm: float = 1.0) -> list[float] | None:
        """Return the probability of every class, given plain scores; None before there are enough rows."""
        if self.calibration is None or len(scores) != len(self._limit):
            return None
        norm = norm if norm > 0.0 else 1.0
        if len(scores) == 1:
            z = self.calibration.slope.item(0) * (scores[0] / norm) + self.calibration.offset.item(0)
            small = math.exp(-abs(z))
            low = small / (1.0 + small)
            return [low, 1.0 - low] if z >= 0.0 else [1.0 - low, low]
        return self.calibration.probabilities(np.array([scores], float), norm)[0].tolist()  # type: ignore[no-any-return]

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object; groups without rows are left out."""
        columns = []
        for limit, counts, sums in zip(self._limit, self._counts, self._sums, strict=True):
            used = [
                [outcome, at, counts[outcome][at], sums[outcome][at]]
                for outcome in (0, 1)
                for at in range(2 * self.GROUPS)
                if counts[outcome][at]
            ]
            columns.append({"limit": limit, "groups": used})
        fitted = None if self.calibration is None else self.calibration.to_json()
        return {
            "half_life": self.half_life,
            "rows": self.rows,
            "due": self._due,
            "columns": columns,
            "fitted": fitted,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Return the object that :meth:`to_json` described, in a file that was checked."""
        running = cls(value["half_life"])
        running._start(len(value["columns"]))
        running.rows, running._due = value["rows"], value["due"]
        for c, column in enumerate(value["columns"]):
            running._limit[c] = float(column["limit"])
            for outcome, at, count, total in column["groups"]:
                running._counts[c][outcome][at], running._sums[c][outcome][at] = float(count), float(total)
        if value["fitted"] is not None:
            running._latest = _GroupedScores([], [], Calibration.from_json(value["fitted"]))
        return running

    def copy(self) -> Self:
        """Return an object with a state of its own."""
        return self.from_json(self.to_json())

    def _gaps(self, scores: Sequence[float], norm: float) -> list[float]:
        """Return what is calibrated: the score, or of each class the gap to its best rival, divided by the norm."""
        norm = norm if norm > 0.0 else 1.0
        if len(scores) == 1:
            return [scores[0] / norm]
        second, best = sorted(scores)[-2:]
        leader = max(range(len(scores)), key=scores.__getitem__)
        return [(score - (second if c == leader else best)) / norm for c, score in enumerate(scores)]

    def _widen(self, c: int, score: float) -> None:
        """Double the range of a column until a score lies inside, two groups becoming one each time."""
        power = math.frexp(score)[1]
        doublings = power - math.frexp(self._limit[c])[1] + 1 if self._limit[c] else 0
        self._limit[c] = 2.0**power  # the first power of two above the score
        half = self.GROUPS // 2
        # After as many doublings as GROUPS has bits all are in the two groups beside zero.
        for _ in range(min(doublings, self.GROUPS.bit_length())):
            for table in (self._counts[c], self._sums[c]):
                for outcome, old in enumerate(table):
                    merged = [old[at] + old[at + 1] for at in range(0, 2 * self.GROUPS, 2)]
                    table[outcome] = [0.0] * half + merged + [0.0] * half

    def _decay(self, factor: float) -> None:
        for tables in (self._counts, self._sums):
            for table in tables:
                for outcome in (0, 1):
                    table[outcome] = [value * factor for value in table[outcome]]


Groups = list[list[list[float]]]  # a number for each column of scores, outcome and group


class _GroupedScores:
    """Scores counted in groups, and the calibration fitted to them when it is first asked for.

    A stream seldom asks, and with many classes a fit takes longer than to learn from hundreds of rows.
    """

    def __init__(self, counts: Groups, sums: Groups, calibration: Calibration | None = None) -> None:
        self._counts, self._sums = counts, sums
        self._fitted = calibration

    @property
    def calibration(self) -> Calibration:
        """The probabilities that follow from these scores."""
        if self._fitted is None:
            fits = []
            for counts, sums in zip(self._counts, self._sums, strict=True):
                weight, total = np.array(counts), np.array(sums)
                own = np.zeros(weight.shape, np.bool_)
                own[1] = True
                used = weight > 0.0
                fits.append(platt(total[used] / weight[used], own[used], weight[used]))
            self._fitted = Calibration("platt", *np.array(fits).T)
        return self._fitted


def _copied(groups: Groups) -> Groups:
    return [[list(outcome) for outcome in column] for column in groups]


def _columns(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return what is calibrated, ``(n, columns)``: one score, or the gap between each class and its best rival."""
    if scores.ndim == 1:
        return scores.astype(np.float64)[:, None]
    scores = scores.astype(np.float64)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    leads = np.zeros(scores.shape, np.bool_)
    leads[np.arange(scores.shape[0]), np.argmax(scores, axis=1)] = True
    return np.asarray(scores - np.where(leads, second[:, None], best[:, None]))


def _sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``1/(1 + exp(−z))`` without overflow."""
    small = np.exp(-np.abs(z))
    return np.where(z >= 0.0, 1.0, small) / (1.0 + small)


def _cross_entropy(z: NDArray[np.float64], target: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return ``−Σ t log σ(z) + (1 − t) log(1 − σ(z))``."""
    return float(weight @ (np.logaddexp(0.0, z) - target * z))
