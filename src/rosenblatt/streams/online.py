"""The online learner: examples as dicts, one at a time, with an open vocabulary and open classes."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.leader import leader_of_one
from rosenblatt.core.named import reader_functions
from rosenblatt.core.rows import Rows
from rosenblatt.core.scaling import TOO_LARGE_TO_SCALE, buffer_scaler, folded, scaled_rows
from rosenblatt.core.single import NOT_FINITE, OVERFLOW, link_power, row_predictor
from rosenblatt.data.batch import sparse_rows
from rosenblatt.data.labels import checked_label, exact_labels
from rosenblatt.data.named.vocabulary import NamedSchema, Vocabulary
from rosenblatt.learner.calibration import fit_calibration
from rosenblatt.learner.explain import Explanation, explain_row
from rosenblatt.learner.selection import norm_of
from rosenblatt.streams.model_file import load_stream, save_stream
from rosenblatt.streams.named_rows import (
    BlockMemory,
    ColumnNames,
    Example,
    ExampleReader,
    TableColumns,
    check_columns,
    columns_of,
    named_numbers,
    table_columns,
)
from rosenblatt.streams.names import NameSketch
from rosenblatt.streams.rows_learner import (
    ALL_SCORED,
    LEAD_DECAY,
    MOST_PENDING,
    SCORED_EVERY,
    TOO_LARGE,
    RowsLearner,
)

# Attributes that hold addresses of one object; a copy sets them anew.
ROW_STATE = frozenset(
    (
        "_answers",
        "_averaged",
        "_candidate_calls",
        "_clock_view",
        "_column_names",
        "_columns",
        "_follow",
        "_geometry",
        "_guess_view",
        "_label_codes",
        "_label_view",
        "_lead_addresses",
        "_memory",
        "_p",
        "_predict",
        "_read",
        "_reader",
        "_reader_address",
        "_row_scores",
        "_rule",
        "_scale",
        "_scorable",
        "_scaled_address",
        "_scaled_values",
        "_scaling",
        "_sqnorm_view",
        "_stale",
        "_tables",
        "_values",
    )
)


class OnlineLearner(RowsLearner):
    """Learns from one example at a time; an example is a dict of named features.

    A number is a value; text becomes ``name=value``; true is 1, false and None are ignored. Features and classes are
    added as they appear.

    Parameters
    ----------
    hypothesis : str
        What predicts: ``"averaged"``, ``"last"``, or, from a ledger that grows with every update, ``"voted"``,
        ``"survivor"``, ``"random"``; or ``"auto"``: several rules learn from every example, each with its last and its
        averaged weights, and the one that erred least lately predicts.
    rule, multi_class, fit_intercept, seed
        As of :class:`~rosenblatt.learner.Learner`; the rule is ``rosenblatt`` by default.
    hash_bits : int
        Hash names into ``2**hash_bits`` features instead of keeping a vocabulary.
    forget : float, optional
        Half-life of the average in examples, for streams that drift; None weighs all alike.
    scale : bool, optional
        Standardise features by running statistics: those that most examples have are centred and divided by their
        standard deviation, others (counts of words, indicators) are divided by their root mean square and never
        centred. By default only ``"auto"`` does.
    candidates : sequence of rules, optional
        The rules among which ``"auto"`` chooses; by default passive-aggressive, AROW, logistic
        regression and normalised adaptive steps.
    calibrated : bool, default=True
        Keep probabilities current by the scores of examples that were not learned from yet.

    Attributes
    ----------
    rows : int
        The number of examples learned from.
    statistics : structured array or None
        Count, mean and sum of squared deviations of the bias and of every feature, where they are scaled.
    leader_changes : deque of LeaderChange
        The latest changes of what predicts under ``"auto"``.

    Notes
    -----
    **Guarantee.** ``learn_many`` leaves exactly the weights and statistics that ``learn_one`` on the same examples
    leaves, in any split. Without ``scale`` both are those of the batch learner on the same rows in the same order.

    **Order.** With ``scale`` an example joins the statistics first, then it is predicted, then its label is used.
    ``predict_one`` computes the same without storing anything. The mistake bounds of a rule hold for fixed scales, so a
    scaled stream has none: they are infinite.

    Examples
    --------
    >>> learner = OnlineLearner("averaged")
    >>> learner.learn_one({"free": 2, "offer": 1}, "spam")
    >>> learner.learn_one({"lunch": 1, "at": "noon"}, "ham")
    >>> learner.predict_one({"free": 1}), learner.predict_one({"at": "noon"})
    ('spam', 'ham')

    >>> learner = OnlineLearner("auto")
    >>> for price in range(1000, 1040):
    ...     learner.learn_one({"price": price, "hour": 12}, "up" if price % 7 > 3 else "down")
    >>> learner.learner.rule, learner.predicting  # doctest: +SKIP
    (PassiveAggressive(C=1.0), 'last')
    """

    _of_this_object = RowsLearner._of_this_object | ROW_STATE
    _label_codes: dict[Any, int]  # of known labels, as the compiled loop takes them
    _reader: ExampleReader | None  # of single examples, with the row that it read last
    _reader_address: int
    _stale: bool  # whether addresses must be looked up; always where names are hashed
    _values: Any  # the array of the reader whose address is looked up
    _read: Any  # the compiled function that reads an example
    _label_view: Any  # memory of the label
    _clock_view: Any  # memory of the number of visits
    _sqnorm_view: Any  # memory of the squared norms of the weights
    _scorable: bool  # whether scores of rows serve for probabilities
    _scale: Any  # the compiled function that standardises the row
    _scaling: tuple[int, ...]  # addresses of the row and of the statistics, empty where rows are not scaled
    _scaled_address: int  # of the row to learn from, standardised where features are scaled
    _candidate_calls: list[tuple[Any, Any, Any, int]]  # the loop, rule, geometry and row of every candidate

    def __init__(
        self,
        hypothesis: str = "averaged",
        *,
        rule: Any = None,
        multi_class: str = "joint",
        fit_intercept: bool = True,
        hash_bits: int = 0,
        forget: float | None = None,
        seed: int = 0,
        scale: bool | None = None,
        candidates: Sequence[Any] | None = None,
        calibrated: bool = True,
    ) -> None:
        super().__init__(
            hypothesis,
            rule=rule,
            multi_class=multi_class,
            fit_intercept=fit_intercept,
            forget=forget,
            seed=seed,
            scale=scale,
            candidates=candidates,
            calibrated=calibrated,
        )
        self.hash_bits = hash_bits
        self._set_vocabulary(NamedSchema(bits=hash_bits), NameSketch())
        if hash_bits:
            self.add_features(1 << hash_bits)
        self._reset_row()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in order of appearance; none where they are hashed."""
        return self._vocabulary.names

    # One example

    def predict_one(self, x: Example) -> Any:
        """Return the class of an example: the first class in a tie, None before any is known."""
        if not self.labels:
            return None
        if not self.compiled:
            return self._scored(x)[0]
        if self._stale or type(x) is not dict or self._read(self._reader_address, id(x), 0, 0):
            self._set_row(x, False)
        if self._scaling and not self._scale(*self._scaling, False):
            self._refuse([x], TOO_LARGE_TO_SCALE)
        code = self._predict(self._scaled_address, self._p)
        return self._answers[code] if code != NOT_FINITE else self._refuse([x])

    def learn_one(self, x: Example, y: Any, weight: float = 1.0) -> None:
        """Learn from an example: predict, compare, update as the rule says."""
        label = self._label_codes.get(y)
        if label is None:
            named_numbers(x)  # a bad example brings no class
            label = self._add_label(y)
        if weight != 1.0 or not self.compiled:
            self.learn_many([x], [y], None if weight == 1.0 else [weight])
            return
        if self._stale or type(x) is not dict or self._read(self._reader_address, id(x), 0, 1):
            self._set_row(x, True)
        self._label_view[0] = label
        if self._scaling and not self._scale(*self._scaling, True):
            self._refuse([x], TOO_LARGE_TO_SCALE)
        if self.rows < ALL_SCORED or not self.rows % SCORED_EVERY:
            self._add_score(label)
        if self._candidate_calls:
            self._learn_by_candidates(label)
            return
        result = self._learn(self._rule, self._geometry, self._scaled_address)
        if result < 0:
            if result == OVERFLOW:
                raise ValueError(TOO_LARGE)
            self._refuse([x])
        if self.forget is None:
            self.rows += 1
        else:
            self._passed(1)

    def predict_proba_one(self, x: Example) -> dict[Any, float]:
        """Return the probability of every class.

        They come from the scores of examples that were not learned from yet, or from :meth:`calibrate`. Before there
        are 20 of them it is the logistic of the scores, which is a probability under the rule ``logistic`` only.

        Examples
        --------
        >>> learner = OnlineLearner("averaged")
        >>> for turn in range(200):
        ...     learner.learn_one({"x": turn % 7 - 3.0}, "high" if turn % 7 > 2 else "low")
        >>> learner.predict_proba_one({"x": 3.0})["high"] > 0.9
        True
        """
        if len(self.labels) < 2:
            return dict.fromkeys(self.labels, 1.0)
        scores = self._scored(x)[1]
        if self.calibration is not None:
            norm = norm_of(self.learner, self.predicting)
            rows = scores if scores.size == 1 else scores[None, :]
            probabilities = self.calibration.probabilities(rows, norm)[0]
            return dict(zip(self.labels, probabilities.tolist(), strict=True))
        if self.running_calibration is not None:
            current = self.running_calibration.probabilities(scores.tolist(), self._norm())
            if current is not None:
                return dict(zip(self.labels, current, strict=True))
        if scores.size == 1:
            scores = np.array([0.0, scores[0]])
        odds = np.exp(scores - scores.max())
        return dict(zip(self.labels, (odds / odds.sum()).tolist(), strict=False))

    def calibrate(self, X: Any, y: Iterable[Any], method: str = "platt") -> Self:
        """Fit probabilities to the scores of labelled examples that were not learned from.

        They are used from now on in place of those that the stream keeps current. Examples of classes that are unknown
        are left out. A class that is added later discards the probabilities.

        Parameters
        ----------
        X, y : examples and labels, as of :meth:`learn_many`
        method : {"platt", "venn-abers"}

        Examples
        --------
        >>> learner = OnlineLearner("last").learn_many({"x": [1.0, -1.0]}, ["yes", "no"])
        >>> _ = learner.calibrate({"x": [2.0, 1.0, -0.5, 0.5, -1.0, -2.0]}, ["yes"] * 3 + ["no"] * 3)
        >>> round(learner.predict_proba_one({"x": 2.0})["yes"], 2)
        0.78
        """
        X = X if hasattr(X, "__len__") else list(X)
        labels = exact_labels(y if hasattr(y, "__len__") else list(y))
        known = np.isin(labels, self.learner.classes)
        scores = self.learner.scores(self._scaled_matrix(self._rows(X, grow=False)), self.predicting)
        codes = np.searchsorted(self.learner.classes, labels[known])
        norm = norm_of(self.learner, self.predicting) or 1.0
        self.calibration = fit_calibration(scores[known] / norm, codes, method)
        return self

    def explain_one(self, x: Example, label: Any = None, against: Any = None) -> Explanation:
        """Return what every feature of an example added to its score.

        With ``scale`` the weights are those for the values as they are, by the statistics of the examples before.
        """
        n = max(len(self._vocabulary), 0)
        row = self._matrix(self._rows([x], grow=False), n)
        weights = self.learner.weights("averaged" if self.predicting == "averaged" else "last")[:, : n + 1]
        if self.statistics is not None:
            weights = folded(weights, self.statistics)
        names: Sequence[str] = self.names
        if self.hash_bits:  # the example at hand knows its names, also where two of them share a feature
            hashed_names = [f"#{feature}" for feature in range(n)]
            for name in named_numbers(x):
                feature = self._vocabulary.feature(name)
                hashed_names[feature] = (
                    name if hashed_names[feature].startswith("#") else f"{hashed_names[feature]} + {name}"
                )
            names = hashed_names
        return explain_row(weights, row, self.learner.classes, names, label=label, against=against)

    def top_features(self, most: int = 20) -> dict[str, float | dict[Any, float]]:
        """Return the features with the largest weights by name, the largest first: their weight, or one for each class.

        With ``scale`` they are the weights of the standardised features, which can be compared with each other.
        Hashed features are named by the name that occurred most often for them.
        """
        weights = self.learner.weights("averaged" if self.predicting == "averaged" else "last")
        size = np.abs(weights[:, 1:]).max(axis=0)
        order = np.argsort(-size, kind="stable")[:most]
        names = self.names
        features: dict[str, float | dict[Any, float]] = {}
        for feature in order[size[order] > 0].tolist():
            name = self._sketch.name(feature) if self.hash_bits else names[feature]
            each = weights[:, 1 + feature].tolist()
            features[name] = each[0] if len(each) == 1 else dict(zip(self.labels, each, strict=True))
        return features

    # Many examples

    def learn_many(self, X: Any, y: Iterable[Any], sample_weight: Any = None) -> Self:
        """Learn from many examples, exactly as from one after the other.

        ``X`` is a data frame, an Arrow table or a dict of columns, which is fast, or a list of dicts.
        """
        X = X if hasattr(X, "__len__") else list(X)
        rows = self._rows(X, grow=True)
        labels = exact_labels(y if hasattr(y, "__len__") else list(y))
        self._label_codes = {}
        self._sketch.prune(self.learner.W)
        if not self.compiled or self.candidates:
            if not np.isfinite(rows.values).all():
                self._refuse(X)
            self.learn_rows(self._matrix(rows, len(self._vocabulary)), labels, sample_weight)
            return self
        self.add_features(len(self._vocabulary))
        if not self._learn_block(rows, labels, sample_weight):
            self._refuse(X)
        return self

    def predict_many(self, X: Any) -> NDArray[Any]:
        """Return the classes of many examples."""
        X = X if hasattr(X, "__len__") else list(X)
        rows = self._rows(X, grow=False)
        if not np.isfinite(rows.values).all():
            self._refuse(X)
        return self.learner.predict(self._scaled_matrix(rows), self.predicting)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model atomically; a loaded model continues exactly where this one stopped."""
        schema = NamedSchema(() if self.hash_bits else self.names, self.hash_bits)
        save_stream(self, path, schema, {"online": True}, self._sketch if self.hash_bits else None)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote, or the command ``stream``."""
        learner, schema, about = load_stream(path, cls)
        if not isinstance(schema, NamedSchema):
            raise ValueError(f"{path}: the features of this model have no names")  # noqa: TRY004 (a file, not a type)
        learner.hash_bits = schema.bits
        learner._set_vocabulary(schema, about["names"])
        return learner

    # Inside

    def _scored(self, x: Example) -> tuple[Any, NDArray[np.float64]]:
        row = self._scaled_matrix(self._rows([x], grow=False))
        if not self.learner.clock:
            return self.labels[0], np.zeros(len(self.labels))
        scores = np.atleast_1d(self.learner.scores(row, self.predicting)[0])
        return self.learner.predict(row, self.predicting).tolist()[0], scores

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._reset_row()

    def _set_vocabulary(self, schema: NamedSchema, sketch: NameSketch) -> None:
        self._vocabulary, self._sketch = Vocabulary(schema), sketch
        if schema.bits:
            self._vocabulary.on_name = sketch.add

    def _clear(self) -> None:
        super()._clear()
        self._stale = True

    def _add_new_classes(self, classes: NDArray[Any]) -> None:
        self._label_codes = {}
        super()._add_new_classes(classes)

    # The row of single examples

    def _reset_row(self) -> None:
        self._label_codes = {}
        self._answers: list[Any] = []  # the label of every answer of the predictor, ties counted from the end
        self._reader, self._stale, self._values = None, True, None
        self._memory = BlockMemory()
        self._column_names = ColumnNames()
        self._columns: TableColumns | None = None  # of the table before

    def _set_row(self, x: Example, grow: bool) -> None:
        """Read an example into the row, add features for its new names if asked, and look up addresses that changed."""
        if self._reader is None:
            self._reader = ExampleReader(self._vocabulary)
        if self.hash_bits:
            self._sketch.prune(self.learner.W)
        self._vocabulary.grow = grow
        try:
            self._reader.read(x)
        finally:
            self._vocabulary.grow = True
        self.add_features(len(self._vocabulary))
        if self._stale or self._reader.values is not self._values:
            self._look_up_addresses(self._reader)

    def _add_score(self, label: int) -> None:
        """Add the score of the row in the buffer, which is about to be learned from."""
        clock = self._clock_view[0]
        if not self._scorable or not clock:
            return
        self._predict(self._scaled_address, self._p)
        if len(self.labels) == 2:
            label = (label + 1) // 2
        divisor = clock if self._averaged else 1.0
        self._pending_scores.append((self._row_scores.tolist(), divisor, label, self._sqnorm_view.tolist()))
        if len(self._pending_scores) == MOST_PENDING:
            self._count_pending_scores()

    def _learn_by_candidates(self, label: int) -> None:
        """Let every candidate predict the row in the buffer and learn from it; move the lead."""
        guesses = self._guess_view
        for at, (learn, rule, geometry, address) in enumerate(self._candidate_calls):
            guesses[at] = learn(rule, geometry, address)
        truth = label if len(self.labels) > 2 else (label + 1) // 2
        leader = self._follow(*self._lead_addresses, truth, self.leader, LEAD_DECAY)
        if leader < 0:
            raise ValueError(TOO_LARGE)
        if self.forget is None:
            self.rows += 1
        else:
            self._passed(1)
        if leader != self.leader:
            self._lead(leader, self.rows)

    def _look_up_addresses(self, reader: ExampleReader) -> None:
        """Set the addresses of the row to learn from, for this learner and for every candidate."""
        buffer = self.row_buffer()
        reader.set_features(self.learner.n_features)
        values, indices, starts = (
            each.ctypes.data for each in (reader.values, reader.indices, reader.starts)
        )
        labels = buffer.labels.ctypes.data
        self._values, self._label_view = reader.values, memoryview(cast(Any, buffer.labels))
        self._row_scores, self._averaged = buffer.state.scores, self.predicting == "averaged"
        self._clock_view = memoryview(cast(Any, buffer.state.totals["clock"]))
        self._sqnorm_view = memoryview(cast(Any, buffer.state.running["sqnorm"]))
        self._rule, self._geometry = self.learner.rule, self.learner.geometry
        self._predict, self._p = row_predictor(), link_power(self._geometry)
        self._scorable = self._running_calibration is not None and len(self.labels) > 1 and not self._p
        self._read, self._reader_address = reader_functions().read, reader.address
        self._stale = self.hash_bits > 0
        classes = self.labels if len(self.labels) > 1 else self.labels * 2
        self._answers = [*classes, *reversed(classes)]
        table = buffer.of_row(values, indices, starts, labels)
        self._tables: list[NDArray[np.int64]] = [table]  # keeps the memory of the addresses
        self._scaling = ()
        if self.statistics is not None:
            self._scale, self._scaled_values = buffer_scaler(), np.zeros(reader.capacity)
            scaled = self._scaled_values.ctypes.data
            self._scaling = (table.ctypes.data, self.statistics.ctypes.data, self.statistics.size, scaled)
            values = scaled
            table = buffer.of_row(values, indices, starts, labels)
            self._tables.append(table)
        self._scaled_address = table.ctypes.data
        self._candidate_calls = []
        guesses = np.zeros(len(self.candidates), np.int64)
        self._tables.append(guesses)
        self._guess_view, self._follow = memoryview(cast(Any, guesses)), leader_of_one()
        self._lead_addresses = (guesses.ctypes.data, self.losses.ctypes.data, guesses.size)
        for candidate in self.candidates:
            candidate._clear()  # its weights may have moved
            table = candidate.row_buffer().of_row(values, indices, starts, labels)
            self._tables.append(table)
            learner = candidate.learner
            self._candidate_calls.append(
                (candidate._learn, learner.rule, learner.geometry, table.ctypes.data)
            )

    def _add_label(self, y: Any) -> int:
        if y is None or (isinstance(y, float) and not np.isfinite(y)):
            raise ValueError(f"y is {y!r}: a label must be a number or text")
        y = checked_label(y)
        self.add_class_if_new(y)
        many = len(self.labels) > 2
        self._label_codes = {label: code if many else 2 * code - 1 for code, label in enumerate(self.labels)}
        return self._label_codes[y]

    # Many rows

    def _refuse(self, X: Any, otherwise: str = "a number is not finite") -> None:
        """Raise the error of the first value that is not a finite number."""
        columns = columns_of(X, ColumnNames())
        if columns is not None:
            check_columns(*columns)
        for x in X:
            named_numbers(x)
        raise ValueError(otherwise)

    def _rows(self, X: Any, grow: bool) -> Rows:
        """Return examples as rows over the vocabulary, with ascending indices."""
        self._vocabulary.grow = grow
        try:
            columns = columns_of(X, self._column_names)
            if columns is not None:
                return self._table(*columns, self._memory if grow else BlockMemory())
            return ExampleReader(self._vocabulary).rows(X)
        finally:
            self._vocabulary.grow = True

    def _table(self, names: list[str], block: NDArray[np.float64], memory: BlockMemory) -> Rows:
        columns = self._columns
        if columns is None or names != columns.names:
            columns = table_columns(names, self._vocabulary)
            self._columns = columns if columns.permanent else None
        return columns.rows(block, memory)

    def _scaled_matrix(self, rows: Rows) -> Any:
        """Return rows for prediction, standardised where features are scaled."""
        if self.statistics is not None:
            rows = scaled_rows(self.statistics, rows)
        return self._matrix(rows, self.learner.n_features)

    def _matrix(self, rows: Rows, width: int) -> Any:
        """Return rows as a matrix; features beyond its width have no weights yet."""
        values, indices, starts = rows
        return sparse_rows(values, indices, starts, max(width, 0))  # type: ignore[arg-type]
