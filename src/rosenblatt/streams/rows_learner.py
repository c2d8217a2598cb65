"""The learner of a stream of numbered features: it predicts each row, then learns from it.

It can standardise rows by running statistics (:mod:`rosenblatt.core.scaling`), and it can train several rules at once
and predict with the one that errs least (``"auto"``, :mod:`rosenblatt.core.leader`).
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.core.leader import follow_leader
from rosenblatt.core.ledger import NO_LEDGER
from rosenblatt.core.order import in_given_order
from rosenblatt.core.rows import Rows, feature_by_feature, rows_of
from rosenblatt.core.scaling import (
    STATISTICS,
    new_statistics,
    scaled_matrix,
    scaled_rows,
    widened_statistics,
)
from rosenblatt.core.single import (
    NOT_FINITE,
    OVERFLOW,
    RowBuffer,
    addresses_of,
    label_dtype,
    new_row_buffer,
    predict_then_learn,
    rows_learner,
)
from rosenblatt.core.state import State, Visits
from rosenblatt.data.batch import sparse_rows
from rosenblatt.data.labels import EXACT, checked_classes, checked_label
from rosenblatt.data.matrix import check_finite, checked_weight, encoded
from rosenblatt.learner import Learner
from rosenblatt.learner.calibration import Calibration, RunningCalibration
from rosenblatt.learner.selection import norm_of
from rosenblatt.rules import PNorm

PARTS_OF_A_HALF_LIFE = 32
TOO_LARGE = "the weights grew beyond what a float can hold: scale the features, or clip them"

AUTO = "auto"
# The rules that "auto" trains, each with its last and its averaged weights. A further rule is a further item here.
CANDIDATES: tuple[Any, ...] = (
    rules.PassiveAggressive(C=1.0),
    rules.AROW(r=10.0),
    rules.Logistic(eta=0.1),
    rules.NAGLogistic(),
)
BOTH = ("last", "averaged")
LEAD_HALF_LIFE = 1000.0  # rows after which a mistake counts half in the choice of the leader
LEAD_DECAY = 0.5 ** (1.0 / LEAD_HALF_LIFE)
CHANGES_KEPT = 100
ALL_SCORED = 512  # single rows whose scores all serve for probabilities; later every SCORED_EVERY-th
SCORED_EVERY = 64
MOST_SCORED = 64  # rows of a block whose scores serve for them
FIRST_FEATURES, FEW_FEATURES = 64, 4096  # weights reserved at first; below the latter their number quadruples
MOST_PENDING = 1024  # scores of single rows that wait to be counted for probabilities


class LeaderChange(NamedTuple):
    """A change of the predictor under ``"auto"``."""

    row: int  # the first row that the new leader answers, counted from 0
    rule: Any
    hypothesis: str

    def __str__(self) -> str:
        """Return the leader in words: ``passive-aggressive C=1.0, averaged``."""
        return leader_name(self.rule, self.hypothesis)


def leader_name(rule: Any, hypothesis: str) -> str:
    """Return a rule with its parameters, and the weights that predict, as one line."""
    fields = rules.to_dict(rule)
    parameters = [f"{name}={value}" for name, value in fields.items() if name != "name"]
    return " ".join([str(fields["name"]), *parameters]) + f", {hypothesis}"


class RowsLearner:
    """Learns from rows of numbered features, in order; classes and features are added as they appear.

    Parameters
    ----------
    hypothesis : str
        What predicts: ``"averaged"``, ``"last"``, a hypothesis of the ledger, or ``"auto"``: several rules learn from
        every row, each with its last and its averaged weights, and the one with the fewest mistakes on the rows before
        predicts. A mistake counts half after 1,000 rows, so that a stream that drifts changes its leader.
    rule, multi_class, fit_intercept, seed
        As of :class:`~rosenblatt.learner.Learner`. ``"auto"`` takes no rule but ``candidates``.
    forget : float, optional
        The half-life of the average in rows; the weights of the average are set 32 times in a half-life.
    scale : bool, optional
        Standardise features by their running statistics (:mod:`rosenblatt.core.scaling`). A row joins the statistics
        before it is predicted; its label is not used. By default only ``"auto"`` does.
    candidates : sequence of rules, optional
        The rules among which ``"auto"`` chooses.
    calibrated : bool, default=True
        Keep probabilities current, from scores of rows that were not learned from yet: of each of the first 512 single
        rows and of every 64th later. Rows that come in blocks add scores of up to 64 rows of a block, later of as many
        blocks as make one of 64 rows.
    """

    def __init__(
        self,
        hypothesis: str = "averaged",
        *,
        rule: Any = None,
        multi_class: str = "joint",
        fit_intercept: bool = True,
        forget: float | None = None,
        seed: int = 0,
        scale: bool | None = None,
        candidates: Sequence[Any] | None = None,
        calibrated: bool = True,
    ) -> None:
        _check_options(hypothesis, rule, forget, candidates)
        auto = hypothesis == AUTO
        self.hypothesis = hypothesis
        self.forget = forget
        self.rows = 0  # learned from
        self._since = 0  # rows since the weights of the average were last set
        self._row_buffer: RowBuffer | None = None
        self.labels: list[Any] = []  # classes in order, as Python values
        self._learn: Any = None  # the compiled loop of rows, once it is needed
        self._guessing: tuple[str, ...] = (hypothesis,)  # the hypotheses that guess each row
        scaled = auto if scale is None else scale
        self.statistics: NDArray[Any] | None = new_statistics() if scaled else None
        self.candidates: list[RowsLearner] = []  # one for each rule of "auto"
        self.leader = 0  # under "auto": twice the number of a candidate, plus one for its averaged weights
        self.losses = np.zeros(0)  # decayed mistakes of each of them
        self.leader_changes: deque[LeaderChange] = deque(maxlen=CHANGES_KEPT)  # the latest
        self.leader_changes_in_all = 0
        self.calibration: Calibration | None = None  # that the caller fitted; else the running one counts
        self.running_calibration = RunningCalibration(half_life=512) if calibrated else None
        options: dict[str, Any] = {"multi_class": multi_class, "fit_intercept": fit_intercept, "seed": seed}
        if auto:
            for each in CANDIDATES if candidates is None else candidates:
                candidate = RowsLearner(
                    "averaged", rule=each, forget=forget, scale=False, calibrated=False, **options
                )
                candidate._guessing = BOTH
                self.candidates.append(candidate)
            self.losses = np.zeros(len(BOTH) * len(self.candidates))
            self.compiled = True
            return
        ledger = hypothesis in hypotheses.FROM_THE_LEDGER
        self.learner = Learner("rosenblatt" if rule is None else rule, keep_ledger=ledger, **options)
        if ledger and self.learner.ledger is None:
            raise ValueError(
                f"{hypothesis!r} is read from the ledger, which the rule {type(self.learner.rule).__name__} does not "
                "keep: choose 'last' or 'averaged'"
            )

    @property
    def learner(self) -> Learner:
        """The learner that predicts; under ``"auto"`` that of the leader."""
        return self.candidates[self.leader // len(BOTH)]._learner if self.candidates else self._learner

    @learner.setter
    def learner(self, learner: Learner) -> None:
        self._learner = learner
        self.compiled = learner.ledger is None  # single rows are predicted and learned by compiled code
        self.labels = learner.classes.tolist()
        self._learn = self._row_buffer = None

    @property
    def predicting(self) -> str:
        """The hypothesis that predicts; under ``"auto"`` that of the leader."""
        return BOTH[self.leader % len(BOTH)] if self.candidates else self.hypothesis

    @property
    def running_calibration(self) -> RunningCalibration | None:
        """The probabilities that follow the stream, of all scores so far; None where they are not kept."""
        if self._pending_scores:
            self._count_pending_scores()
        return self._running_calibration

    @running_calibration.setter
    def running_calibration(self, calibration: RunningCalibration | None) -> None:
        self._running_calibration = calibration
        # Scores of single rows, their divisor, the label, and the squared norms of the weights. To count a score takes
        # longer than to learn from a row, and need not be done before probabilities are asked for.
        self._pending_scores: list[tuple[list[float], float, int, list[float]]] = []
        self._clear()

    def _count_pending_scores(self) -> None:
        pending, self._pending_scores = self._pending_scores, []
        if self._running_calibration is not None:
            for scores, divisor, label, sqnorms in pending:
                norm = math.sqrt(max(sum(sqnorms), 0.0))
                self._running_calibration.add([score / divisor for score in scores], label, norm)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: not the row buffer, whose address is its own, and no scores that wait."""
        self._count_pending_scores()
        state = vars(self).copy()  # at once: another thread may predict, which can add an attribute
        return {name: value for name, value in state.items() if name not in self._of_this_object}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._learn = self._row_buffer = None
        self._pending_scores = []

    _of_this_object: ClassVar[frozenset[str]] = frozenset(("_learn", "_pending_scores", "_row_buffer"))

    # Growing

    def add_classes(self, labels: Any) -> None:
        """Add the classes that are new."""
        self._add_new_classes(encoded(labels)[0])

    def _add_new_classes(self, classes: NDArray[Any]) -> None:
        for candidate in self.candidates:
            candidate._add_new_classes(classes)
        if not self.candidates:
            self.learner.add_classes(classes)
        self.labels = self.learner.classes.tolist()
        self.calibration = None  # it was fitted to the scores of fewer classes
        self._clear()

    def add_features(self, n_features: int) -> None:
        """Reserve weights for this many features, and for as many more that growing stays cheap."""
        before = self.learner.n_features
        if n_features > before:
            factor = 4 if before < FEW_FEATURES else 2
            reserved = max(n_features, factor * before, FIRST_FEATURES) if self.compiled else n_features
            self._reserve_features(reserved)

    def _reserve_features(self, n_features: int) -> None:
        """Add features to the weights, of every candidate, and to the statistics."""
        for candidate in self.candidates:
            candidate._reserve_features(n_features)
        if not self.candidates:
            self.learner.add_features(n_features)
        self._widen_statistics(n_features)
        self._clear()

    def insert_first_feature(self) -> None:
        """Add a feature before all others, whose weight has been zero so far."""
        for candidate in self.candidates:
            candidate.insert_first_feature()
        if not self.candidates:
            self.learner.insert_first_feature()
        if self.statistics is not None:
            self.statistics = np.insert(self.statistics, 1, np.zeros(1, STATISTICS))
        self._clear()

    def _fitted(self, X: Any) -> Any:
        """Reserve weights for the features of the rows; dense rows and ledgers need as many as the learner has."""
        if self.compiled and not isinstance(X, np.ndarray):
            self.add_features(X.shape[1])
            return X
        self.learner.add_features(X.shape[1])
        return as_wide(X, self.learner.n_features)

    # Scaling

    def _widen_statistics(self, n_features: int) -> None:
        if self.statistics is not None and self.statistics.size <= n_features:
            self.statistics = widened_statistics(self.statistics, n_features)
            self._clear()  # the row buffer holds the address of the statistics

    def scaled(self, X: Any) -> Any:
        """Return rows to predict; where features are scaled, each is standardised by the statistics and itself."""
        if self.statistics is None:
            return X
        self._widen_statistics(X.shape[1])
        return scaled_matrix(self.statistics, X)

    def _scaled_and_counted(self, X: Any) -> Any:
        """Return rows to learn from; where features are scaled, each joins the statistics and is standardised."""
        if self.statistics is not None:
            self._widen_statistics(X.shape[1])
            return scaled_matrix(self.statistics, X, update=True)
        if self.candidates and isinstance(X, np.ndarray):
            return csr_array(X.astype(np.float64, copy=False))
        return X

    @contextmanager
    def _all_or_nothing(self, y: NDArray[Any]) -> Iterator[None]:
        """Check labels; where an error comes before anything is learned, restore the statistics."""
        before = None
        if self.statistics is not None and not self._all_known(y):
            before = self.statistics.copy()
        rows = self.rows
        try:
            yield
        except ValueError:
            if before is not None and self.rows == rows:
                self.statistics = before
                self._clear()
            raise

    # Many rows

    def learn_rows(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        """Learn from the rows in order, exactly as from one after the other."""
        y = np.asarray(y)
        if self.candidates:
            self.progress(X, y, sample_weight)
            return
        if self.compiled and X.dtype == np.float64 and not isinstance(X, np.ndarray):
            self.add_features(X.shape[1])
            if not self._learn_block(rows_of(X), y, sample_weight):
                check_finite(X, "X")
            return
        with self._all_or_nothing(y):
            self._learn_matrix(self._scaled_and_counted(X), y, sample_weight)
        self._clear()  # the learner may have changed the layout of its weights

    def _learn_matrix(self, X: Any, y: NDArray[Any], sample_weight: Any) -> None:
        """Learn from rows that the compiled loop of single rows does not take."""
        self._add_scores(X, y)
        for start, stop in self._stretches(y):
            weight = None if sample_weight is None else np.asarray(sample_weight)[start:stop]
            self.add_class_if_new(y[start])
            part = self._fitted(X if start == 0 and stop == X.shape[0] else X[start:stop])
            if weight is None or weight.any():
                self.learner.learn(part, y[start:stop], weight)
            else:  # rows of no weight are numbered in the ledger too
                self.learner.rows_seen += stop - start
            self._passed(stop - start)

    def _learn_block(self, rows: Rows, y: NDArray[Any], sample_weight: Any = None) -> bool:
        """Learn from sparse rows whose features have weights; from none, and False, where one is not finite."""
        n = rows.starts.size - 1  # type: ignore[union-attr]
        if y.shape != (n,):
            raise ValueError(f"y must hold one label for each of the {n} rows, got {y.size}")
        weight = _weights(sample_weight, n)
        if self.statistics is None:
            return self._learn_scaled_block(rows, y, weight)
        if not np.isfinite(rows.values).all():
            return False
        with self._all_or_nothing(y):
            return self._learn_scaled_block(scaled_rows(self.statistics, rows, update=True), y, weight)

    def _learn_scaled_block(self, rows: Rows, y: NDArray[Any], weight: NDArray[np.float64] | None) -> bool:
        """Learn from sparse rows that are standardised where features are scaled."""
        first = self._first_part(y.size)
        # Probabilities need some rows that are scored before they are learned from.
        if first and np.isfinite(rows.values).all():
            return all(
                self._learn_scaled_block(
                    _part(rows, start, stop), y[start:stop], None if weight is None else weight[start:stop]
                )
                for start, stop in ((0, first), (first, y.size))
            )
        if self._scores_are_due(y.size):
            self._add_scores(rows, y)
        everything = np.arange(y.size, dtype=np.uintp)
        labels = self._known_labels(y) if self.forget is None else None
        if labels is not None and weight is None:  # no new class, nothing to forget: all rows in one call
            if not self._learn_visits(rows, labels, Visits(everything, _NO_WEIGHTS)):
                return False
            self._passed(y.size)
            return True
        if not np.isfinite(rows.values).all():
            return False  # and no class is added
        for start, stop in self._stretches(y):
            self.add_class_if_new(y[start])
            labels = self._codes_so_far(y)
            visits = Visits(everything[start:stop], _NO_WEIGHTS)
            if weight is not None:
                own = in_given_order(stop - start, weight[start:stop])
                visits = Visits(own.order + np.uintp(start), own.weight)
            self._learn_visits(rows, labels, visits)
            self._passed(stop - start)
        return True

    def _learn_visits(self, rows: Rows, labels: NDArray[Any], visits: Visits) -> bool:
        addresses = addresses_of(self.row_buffer(), rows, labels, visits)
        result = self._learn(self.learner.rule, self.learner.geometry, addresses.ctypes.data)
        if result == OVERFLOW:
            raise ValueError(TOO_LARGE)
        return bool(result != NOT_FINITE)

    def _known_labels(self, y: NDArray[Any]) -> NDArray[Any] | None:
        """Return labels as the compiled loop takes them, None where a class is new."""
        known = self.learner.classes
        if known.size == 2:  # two comparisons beat a search
            second = np.asarray(y == known[1])
            return 2 * second.view(np.int8) - 1 if (second | (y == known[0])).all() else None
        return self._codes_so_far(y) if self._all_known(y) else None

    def _codes_so_far(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return labels as the compiled loop takes them; those of classes not added yet are arbitrary."""
        known = self.learner.classes
        codes: NDArray[np.int64] = np.minimum(np.searchsorted(known, y), known.size - 1)
        return codes if known.size > 2 else (2 * codes - 1).astype(label_dtype(1))

    # Predictions before learning

    def progress(self, X: Any, y: Any, sample_weight: Any = None) -> NDArray[np.bool_]:
        """Predict each row and then learn from it; return which predictions were right.

        The first row of a class counts as wrong: a class that has not been seen cannot be predicted.
        """
        y = np.asarray(y)
        right = np.zeros(y.size, np.bool_)
        weight = _weights(sample_weight, y.size)
        with self._all_or_nothing(y):
            X = self._scaled_and_counted(X)
            first = self._first_part(y.size)
            for begin, end in ((0, first), (first, y.size)):
                if begin == end:
                    continue
                self._add_scores(_rows_between(X, begin, end), y[begin:end])
                for from_begin, to in self._stretches(y[begin:end]):
                    start, stop = begin + from_begin, begin + to
                    new = self.add_class_if_new(y[start])
                    own = None if weight is None else weight[start:stop]
                    part = _rows_between(X, start, stop)
                    if stop < y.size:
                        part = _narrowed(part)
                    guesses = self._guesses(self._fitted(part), y[start:stop], own)
                    labels = np.searchsorted(self.learner.classes, y[start:stop])
                    right[start:stop] = self._chosen(guesses, labels, own) == labels
                    if new:
                        right[start] = False
                    self._passed(stop - start)
        self._clear()
        return right

    # Probabilities

    def _first_part(self, rows: int) -> int:
        """Return where the first block of a stream is cut, so that the rest is scored before it is learned from."""
        return (
            rows // 2 if self.running_calibration is not None and not self.rows and rows >= MOST_SCORED else 0
        )

    def _scores_are_due(self, rows: int) -> bool:
        """Return whether a block of this many rows adds scores: one of 64 rows does, as of single rows."""
        if self._running_calibration is None or not self.compiled or len(self.labels) < 2:
            return False
        rows_between = SCORED_EVERY * max(1, min(rows, MOST_SCORED))
        return self.rows < ALL_SCORED or self.rows // rows_between != (self.rows + rows) // rows_between

    def _add_scores(self, block: Any, y: NDArray[Any]) -> None:
        """Add scores of some rows of a block (a matrix, or ``Rows``) that is about to be learned from, as they are."""
        if not y.size or not self._scores_are_due(y.size):
            return
        if self._all_known(y):
            chosen = np.arange(0, y.size, 1 + y.size // MOST_SCORED)
        else:
            known = np.flatnonzero(np.isin(y, self.learner.classes))
            chosen = known[:: 1 + known.size // MOST_SCORED]
        if not chosen.size:
            return
        n_features = self.learner.n_features
        is_rows = isinstance(block, Rows)
        rows = _taken(block, chosen, n_features) if is_rows else as_wide(block[chosen], n_features)
        if not np.isfinite(rows if isinstance(rows, np.ndarray) else rows.data).all():
            return  # the block is refused
        scores = self.learner.scores(
            rows if rows.shape[1] == n_features else rows[:, :n_features], self.predicting
        )
        norm, labels = self._norm(), np.searchsorted(self.learner.classes, y[chosen]).tolist()
        running = self.running_calibration
        assert running is not None
        running.add_rows(scores.reshape(chosen.size, -1).tolist(), labels, norm)

    def _norm(self) -> float:
        """Return a number that grows in proportion to the weights, without reading them."""
        if isinstance(self.learner.geometry, PNorm):
            return 1.0
        return math.sqrt(max(sum(self.learner.running["sqnorm"].tolist()), 0.0))

    def stored_calibration(self) -> Calibration | None:
        """Return probabilities of scores divided by the norm of the predicting weights, as model files have them."""
        running = self.running_calibration
        if self.calibration is not None or running is None or running.calibration is None:
            return self.calibration
        ratio = (norm_of(self.learner, self.predicting) or 1.0) / (self._norm() or 1.0)
        return running.calibration._replace(slope=running.calibration.slope * ratio)

    def _chosen(
        self, guesses: NDArray[np.int64], labels: NDArray[np.int64], weight: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """Return the guess that answers each row: the only one, or that of the leader; move the lead."""
        if not self.candidates:
            return guesses[:, 0]
        leaders = np.empty(labels.size, np.int64)
        weight = np.ones(labels.size) if weight is None else weight
        leader = follow_leader(guesses, labels, weight, self.losses, self.leader, LEAD_DECAY, leaders)
        following = np.append(leaders[1:], leader)
        for at in np.flatnonzero(following != leaders).tolist():
            self._lead(int(following[at]), self.rows + at + 1)
        return np.asarray(guesses[np.arange(labels.size), leaders])

    def _lead(self, leader: int, row: int) -> None:
        """Let a predictor answer from a row on, and record the change."""
        self.leader = leader
        self.leader_changes_in_all += 1
        self.leader_changes.append(LeaderChange(row, self.learner.rule, self.predicting))
        self._clear()  # the row buffer holds the addresses of the weights that predict

    def _guesses(self, X: Any, y: NDArray[Any], weight: NDArray[np.float64] | None) -> NDArray[np.int64]:
        """Return the class index that each hypothesis predicted for each row before it was learned from.

        All classes are known.
        """
        if self.candidates:
            own = [each._guesses(each._fitted(X), y, weight) for each in self.candidates]
            return np.concatenate(own, axis=1)
        if not self.compiled or X.dtype != np.float64 or isinstance(X, np.ndarray):
            return self._guesses_one_by_one(X, y, weight)
        if weight is None:
            return self._guesses_in_one_sweep(X, y, np.ones(y.size))
        guesses = np.zeros((y.size, len(self._guessing)), np.int64)
        start = 0
        for stop in [*np.flatnonzero(weight == 0.0).tolist(), y.size]:  # rows of no weight are only predicted
            if stop > start:
                visits = in_given_order(stop - start, weight[start:stop])
                rows = visits.order.astype(np.intp) + start
                first = np.searchsorted(visits.order, np.arange(stop - start))
                guesses[start:stop] = self._guesses_in_one_sweep(X[rows], y[rows], visits.weight)[first]
            if stop < y.size:
                guesses[stop] = self._guess(X[stop : stop + 1])
            start = stop + 1
        return guesses

    def _guesses_in_one_sweep(
        self, X: Any, y: NDArray[Any], weight: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        learner, state = self.learner, self.state()
        labels = np.searchsorted(learner.classes, y)
        if state.scores.size == 1:
            labels = (2 * labels - 1).astype(label_dtype(1))
        guesses = np.empty((y.size, len(self._guessing)), np.int64)
        predict_then_learn(
            learner.rule,
            learner.geometry,
            rows_of(X),
            labels,
            Visits(np.arange(y.size, dtype=np.uintp), weight),
            learner.bias_input,
            state,
            self.hypothesis == "averaged",
            guesses,
            NO_LEDGER,
        )
        return np.where(guesses < 0, -1 - guesses, guesses)

    def _guesses_one_by_one(
        self, X: Any, y: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        guesses = np.zeros((y.size, len(self._guessing)), np.int64)
        for at in range(y.size):
            row = as_wide(X[at : at + 1], self.learner.n_features)
            guesses[at] = self._guess(row)
            own = None if weight is None else weight[at : at + 1]
            if own is None or own[0]:
                self.learner.learn(row, y[at : at + 1], own)
            else:
                self.learner.rows_seen += 1
        return guesses

    def _guess(self, row: Any) -> list[int]:
        """Return the class index that each hypothesis predicts for a row; the first before anything was learned."""
        learner = self.learner
        if not learner.clock:
            return [0] * len(self._guessing)
        row = as_wide(row, learner.n_features)
        labels = [learner.predict(row, hypothesis)[0] for hypothesis in self._guessing]
        return [int(index) for index in np.searchsorted(learner.classes, labels)]

    def add_class_if_new(self, label: Any) -> bool:
        """Add the class of a label; return whether it is new."""
        known = self.learner.classes
        at = int(np.searchsorted(known, label)) if known.size else 0
        if at < known.size and known[at] == label:
            return False
        self._add_new_classes(np.asarray([checked_label(label)]))
        return True

    def _stretches(self, y: NDArray[Any]) -> Iterator[tuple[int, int]]:
        """Cut rows where a class appears for the first time, and where the weights of the average are set."""
        known = self._all_known(y)
        if known and self.forget is None:
            if y.size:
                yield 0, y.size
            return
        cuts = {0, y.size}
        if not known:
            classes, first = np.unique(y, return_index=True)
            cuts |= set(first[~np.isin(classes, self.learner.classes)].tolist())
        if self.forget is not None:
            every = self._forget_every()
            cuts |= set(range(every - self._since, y.size, every))
        marks = sorted(cuts)
        yield from pairwise(marks)

    def _all_known(self, y: NDArray[Any]) -> bool:
        _check_labels(y)
        known = self.learner.classes
        if not known.size:
            return False
        return bool((known[np.minimum(np.searchsorted(known, y), known.size - 1)] == y).all())

    # The average

    def _forget_every(self) -> int:
        return max(1, round((self.forget or 1.0) / PARTS_OF_A_HALF_LIFE))

    def _passed(self, rows: int) -> None:
        """Count rows that were learned from, and set the weights of the average when it is time."""
        self.rows += rows
        if not self.candidates:
            self._learner.epochs.clear()
        if self.forget is None:
            return
        for candidate in self.candidates:
            candidate._passed(rows)
        self._since += rows
        if self._since >= self._forget_every():
            if not self.candidates:
                factor = 0.5 ** (self._since / self.forget)
                self._learner.average_offset *= factor
                self._learner.running["scale_sum"] *= factor
            self._since = 0

    # Layout

    def state(self) -> State:
        """Return the weights laid out for sparse rows, as the compiled loops take them."""
        learner = self.learner
        if not learner.W.flags.f_contiguous or learner.W.dtype != np.float64:
            learner.W = np.asfortranarray(learner.W, dtype=np.float64)
        if not learner.average_offset.flags.f_contiguous:
            learner.average_offset = np.asfortranarray(learner.average_offset)
        scores = np.zeros(learner.W.shape[0])
        state = State(
            learner.W.T.reshape(-1),
            learner.average_offset.T.reshape(-1),
            learner.running,
            scores,
            learner.totals,
        )
        if learner.S is None:
            return state
        learner.S = feature_by_feature(learner.S)
        return state._replace(auxiliary=learner.S.swapaxes(0, 1).reshape(-1))

    def _clear(self) -> None:
        """Drop the row buffer: the learner grew, or the layout of its weights changed."""
        self._row_buffer = None

    def row_buffer(self) -> RowBuffer:
        """Return the buffer for single rows; a new one when the learner grew."""
        if self._row_buffer is None:
            if self._learn is None:
                guessing = self._guessing == BOTH
                self._learn = rows_learner(self.learner.rule, self.learner.geometry, guessing)
            averaged = self.predicting == "averaged"
            self._row_buffer = new_row_buffer(self.state(), self.learner.bias_input, averaged)
        return self._row_buffer


def _check_options(
    hypothesis: str, rule: Any, forget: float | None, candidates: Sequence[Any] | None
) -> None:
    """Raise ValueError where options do not go together."""
    if hypothesis == AUTO:
        if rule is not None:
            raise ValueError("'auto' chooses among rules: give candidates=[rule, ...] instead of rule")
        if candidates is not None and not candidates:
            raise ValueError("candidates is empty: 'auto' needs one rule or more")
        for each in map(rules.resolve, candidates or ()):
            if isinstance(rules.geometry_of(each), rules.PNorm):
                raise ValueError(  # noqa: TRY004 (a value, not a type)
                    f"{each} has a p-norm geometry, which 'auto' does not take: choose p=2 or another rule"
                )
    else:
        if hypothesis not in hypotheses.NAMES:
            names = [AUTO, *(name for name in hypotheses.NAMES if name != "pocket")]
            raise ValueError(f"hypothesis must be one of {', '.join(names)}, got {hypothesis!r}")
        if candidates is not None:
            raise ValueError(f"candidates are the rules of 'auto', but the hypothesis is {hypothesis!r}")
    if hypothesis == "pocket":
        raise ValueError("the pocket is chosen on a whole training set; a stream has none: use 'survivor'")
    if forget is not None and not forget >= 1.0:
        raise ValueError(f"forget is a half-life in examples, 1 or more, got {forget}")
    if forget is not None and hypothesis not in ("averaged", "last", AUTO):
        raise ValueError(
            f"forget weighs the average; {hypothesis!r} is read from the ledger, which forgets nothing"
        )


def _weights(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """Return weights, checked, None where all are one; all of them may be zero."""
    if sample_weight is None:
        return None
    return checked_weight(sample_weight, n) if np.any(sample_weight) else np.zeros(n)


def _check_labels(y: NDArray[Any]) -> None:
    missing = y == None if y.dtype.kind == "O" else ~np.isfinite(y) if y.dtype.kind == "f" else None  # noqa: E711 (of each)
    if missing is not None and missing.any():
        raise ValueError(f"y is {y[missing][0]!r}: a label must be a number or text")
    if y.dtype.kind == "f" and not (np.abs(y) < EXACT).all():
        checked_classes(y)


def _part(rows: Rows, start: int, stop: int) -> Rows:
    """Return some of sparse rows, without a copy of their values."""
    values, indices, starts = rows
    lo, hi = int(starts[start]), int(starts[stop])  # type: ignore[index]
    own = starts[start : stop + 1] - starts[start]  # type: ignore[index]
    return Rows(values[lo:hi], indices[lo:hi], own)  # type: ignore[index]


def _rows_between(X: Any, start: int, stop: int) -> Any:
    """Return ``X[start:stop]`` without a copy of the values."""
    if isinstance(X, np.ndarray) or (start == 0 and stop == X.shape[0]):
        return X[start:stop] if isinstance(X, np.ndarray) else X
    lo, hi = X.indptr[start], X.indptr[stop]
    return sparse_rows(X.data[lo:hi], X.indices[lo:hi], X.indptr[start : stop + 1] - lo, X.shape[1])


def _taken(rows: Rows, numbers: NDArray[np.int64], n_features: int) -> Any:
    """Return some of sparse rows as a matrix; indexing one of all rows would take longer."""
    values, indices, starts = rows
    begins = starts[numbers].astype(np.int64)  # type: ignore[index]
    lengths = starts[numbers + 1].astype(np.int64) - begins  # type: ignore[index]
    ends = np.cumsum(lengths)
    at = np.arange(ends[-1]) + np.repeat(begins - (ends - lengths), lengths)
    own = np.concatenate([np.zeros(1, np.int64), ends])
    return sparse_rows(values[at], indices[at], own, n_features)  # type: ignore[index]


def _narrowed(X: Any) -> Any:
    """Return rows with no more columns than they use; dense rows as they are.

    A new class copies all weights. Where names are numbered as they appear, the first rows, which have most of the new
    classes, use few features.
    """
    if isinstance(X, np.ndarray):
        return X
    used = int(X.indices.max(initial=-1)) + 1
    return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], used))


def as_wide(X: Any, n_features: int) -> Any:
    """Return rows with this many columns, the new ones zero."""
    if X.shape[1] == n_features:
        return X
    if isinstance(X, np.ndarray):
        return np.pad(X, ((0, 0), (0, n_features - X.shape[1])))
    wide = X.copy()
    wide.resize((X.shape[0], n_features))
    return wide


_NO_WEIGHTS = np.empty(0)
