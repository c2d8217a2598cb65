"""The online learner: examples as dicts, one at a time, with an open vocabulary and open classes."""

import os
from collections.abc import Iterable, Sequence
from struct import pack_into
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import Rows
from rosenblatt.core.scaling import TOO_LARGE_TO_SCALE, buffer_scaler, folded, scaled_rows
from rosenblatt.core.single import (
    GUESS_BITS,
    INDICES,
    LABELS,
    NOT_FINITE,
    OVERFLOW,
    STARTS,
    VALUES,
    RowBuffer,
    link_power,
    row_functions,
)
from rosenblatt.data.batch import sparse_rows
from rosenblatt.data.labels import checked_label, exact_labels
from rosenblatt.data.named.json_lines import flattened
from rosenblatt.data.named.vocabulary import NamedSchema, Vocabulary
from rosenblatt.learner.calibration import fit_calibration
from rosenblatt.learner.explain import Explanation, explain_row
from rosenblatt.learner.selection import norm_of
from rosenblatt.streams.model_file import load_stream, save_stream
from rosenblatt.streams.named_rows import (
    NOT_NUMBERS,
    BlockMemory,
    ColumnNames,
    Example,
    NameOrder,
    TableColumns,
    all_numbers,
    check_columns,
    columns_of,
    flattened_row,
    name_order,
    rows_of_dicts,
    table_columns,
    valid_names,
)
from rosenblatt.streams.names import NameSketch
from rosenblatt.streams.rows_learner import LEAD_DECAY, TOO_LARGE, RowsLearner

# Attributes that belong to the row buffer of one object; a copy sets them anew.
ROW_STATE = frozenset(
    (
        "_address",
        "_answers",
        "_append",
        "_arrange",
        "_buffer",
        "_candidate_calls",
        "_codes_view",
        "_column_names",
        "_columns",
        "_geometry",
        "_known_row",
        "_label_codes",
        "_label_view",
        "_memory",
        "_numbers_view",
        "_order",
        "_p",
        "_predict",
        "_row",
        "_rule",
        "_scale",
        "_scaled_values",
        "_scaling",
        "_size",
        "_tables",
        "_values_view",
        "_weighed_address",
    )
)


class OnlineLearner(RowsLearner):
    """Learns from one example at a time; an example is a dict of named features.

    A number counts as it is; text becomes ``name=value``; true is 1, false and None are nothing. Features and classes
    are added as they appear.

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
        The rules among which ``"auto"`` chooses; by default passive-aggressive, AROW and logistic regression.

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
    _row: Example | None  # the example in the row buffer; names without weights are left out there
    _known_row: Example | None  # the same where all its names have weights: it can be learned from
    _new_names: list[str]  # its names without weights, where all its values are numbers
    _order: NameOrder | None  # of the names of two examples in a row
    _label_codes: dict[Any, int]  # of labels met, as the compiled loop takes them
    _values_view: Any  # memory of the row buffer
    _label_view: Any
    _codes_view: Any
    _numbers_view: Any
    _scale: Any  # the compiled function that standardises the row
    _scaling: tuple[int, ...]  # addresses of the row and of the statistics, empty where rows are not scaled
    _weighed_address: int  # of the row as the weights take it: standardised where that is done
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
        """Return the class of an example; the first class where none is ahead, None before any is known."""
        if x != self._row:
            if not self.compiled or not self.labels:
                return self._scored(x)[0] if self.labels else None
            self._set_row(x, False)
        if self._scaling and not self._scale(*self._scaling, False):
            self._refuse([x], TOO_LARGE_TO_SCALE)
        code = self._predict(self._weighed_address, self._p)
        return self._answers[code] if code != NOT_FINITE else self._refuse([x])

    def learn_one(self, x: Example, y: Any, weight: float = 1.0) -> None:
        """Learn from an example: predict, compare, update as the rule says."""
        label = self._label_codes.get(y)
        if label is None:
            flattened({str(key): value for key, value in x.items()})  # a bad example brings no class
            label = self._add_label(y)
        if weight != 1.0 or not self.compiled:
            self.learn_many([x], [y], None if weight == 1.0 else [weight])
            return
        if x != self._known_row:
            self._set_row(x, True)
        self._label_view[0] = label
        if self._scaling and not self._scale(*self._scaling, True):
            self._refuse([x], TOO_LARGE_TO_SCALE)
        if self._candidate_calls:
            self._learn_by_candidates(label)
            return
        result = self._learn(self._rule, self._geometry, self._weighed_address)
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

        Before :meth:`calibrate` it is the logistic of the scores, which is a probability under the rule ``logistic``
        only.
        """
        if len(self.labels) < 2:
            return dict.fromkeys(self.labels, 1.0)
        scores = self._scored(x)[1]
        if self.calibration is not None:
            norm = norm_of(self.learner, self.predicting)
            rows = scores if scores.size == 1 else scores[None, :]
            probabilities = self.calibration.probabilities(rows, norm)[0]
            return dict(zip(self.labels, probabilities.tolist(), strict=True))
        if scores.size == 1:
            scores = np.array([0.0, scores[0]])
        odds = np.exp(scores - scores.max())
        return dict(zip(self.labels, (odds / odds.sum()).tolist(), strict=False))

    def calibrate(self, X: Any, y: Iterable[Any], method: str = "platt") -> Self:
        """Fit probabilities to the scores of labelled examples that were not learned from.

        Examples of classes that are unknown are left out. A class that is added later discards the probabilities.

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
        scores = self.learner.scores(self._weighed_matrix(self._rows(X, grow=False)), self.predicting)
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
            called = [f"#{place}" for place in range(n)]
            for name in flattened({str(key): value for key, value in x.items()}):
                place = self._vocabulary.place(name)
                called[place] = name if called[place].startswith("#") else f"{called[place]} + {name}"
            names = called
        return explain_row(weights, row, self.learner.classes, names, label=label, against=against)

    def top_features(self, most: int = 20) -> dict[str, float | dict[Any, float]]:
        """Return the features with the largest weights by name, the largest first: their weight, or one for each class.

        With ``scale`` they are the weights of the standardised features, which can be compared with each other.
        Hashed features are called by the name that was heard for them most of the time.
        """
        weights = self.learner.weights("averaged" if self.predicting == "averaged" else "last")
        size = np.abs(weights[:, 1:]).max(axis=0)
        order = np.argsort(-size, kind="stable")[:most]
        names = self.names
        features: dict[str, float | dict[Any, float]] = {}
        for at in order[size[order] > 0].tolist():
            name = self._sketch.name(at) if self.hash_bits else names[at]
            each = weights[:, 1 + at].tolist()
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
        return self.learner.predict(self._weighed_matrix(rows), self.predicting)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, all or nothing; reading it back goes on as if it had never stopped."""
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
        row = self._weighed_matrix(self._rows([x], grow=False))
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
            self._vocabulary.heard = sketch.hear

    def _clear(self) -> None:
        super()._clear()
        self._row = self._known_row = self._order = None
        self._size, self._new_names, self._label_codes = -1, [], {}

    # The row buffer: the example before, and what was computed from its names

    def _reset_row(self) -> None:
        self._label_codes = {}
        self._answers: list[Any] = []  # the label of every answer of the predictor, ties counted from the end
        self._row: Example | None = (
            None  # the example in the buffer; names without weights are left out there
        )
        self._known_row: Example | None = (
            None  # the same where all its names have weights: it can be learned from
        )
        self._new_names = []
        self._size = -1  # how many names that order is for
        self._buffer: Any = None  # the row buffer whose address this is
        self._address = 0
        self._memory = BlockMemory()
        self._column_names = ColumnNames()
        self._columns: TableColumns | None = None  # of the table before

    def _set_row(self, x: Example, grow: bool) -> None:
        """Write an example into the row buffer: its values alone where it has the names of the one before."""
        if len(x) == self._size:
            order: Any = self._order
            try:
                order.pack(self._values_view, 0, *order.pick(x))
            except NOT_NUMBERS:
                self._size = -1
            else:
                self._row = self._known_row = dict(x)
                return
        before, self._size = self._row, -1
        if grow and self._new_names and x == before:  # predicted, and now learned from
            self._add_names(x)
            return
        if not self._set_numbers(x, grow):
            self._set_values(x, grow)
        if before is not None and len(before) == len(x) and self._known_row and tuple(before) == tuple(x):
            self._order = name_order(x, self._vocabulary)  # a stream that repeats its names
            self._size = -1 if self._order is None else len(x)

    def _set_numbers(self, x: Example, grow: bool) -> bool:
        """Write an example of numbers into the row buffer; False where a value or a name needs more than that."""
        self._row, self._new_names = None, []
        vocabulary, count = self._vocabulary, len(x)
        if not all_numbers(x) or (vocabulary.bits and not valid_names(tuple(x))):
            return False
        codes = vocabulary.codes(x)
        self._resize(count)
        try:
            pack_into(f"{count}d", self._numbers_view, 0, *x.values())
        except NOT_NUMBERS:  # an int beyond a float
            return False
        pack_into(f"{count}q", self._codes_view, 0, *codes)
        unknown = self._arrange(self._address, count)
        if unknown == NOT_FINITE:
            return False
        if unknown:
            names = list(x)
            new = [names[at] for at in self._buffer.keys[:unknown].tolist()]
            if not valid_names(new):
                return False
            self._row, self._known_row, self._new_names = dict(x), None, new
            if grow:
                self._add_names(x)
            return True
        self._row = self._known_row = dict(x)
        if vocabulary.bits:
            self._sketch.prune(self.learner.W)
            for code, name in zip(codes, x, strict=True):
                self._sketch.hear(code, name)
        return True

    def _add_names(self, x: Example) -> None:
        """Give every new name of the example in the buffer a feature."""
        new, row, old = self._new_names, self._row, self._buffer
        first = self._vocabulary.extend(new)
        self.add_features(first + len(new))
        self._resize(len(x))
        if self._buffer is not old:  # the learner grew
            for own, other in zip(self._buffer.row_arrays(), old.row_arrays(), strict=True):
                own[: len(x) + 2] = other[: len(x) + 2]
        self._append(self._address, len(new), first)
        self._row = self._known_row = row
        self._new_names = []

    def _set_values(self, x: Example, grow: bool) -> None:
        """Write any example into the row buffer: text becomes part of a name, false and None are left out."""
        self._sketch.prune(self.learner.W)
        self._vocabulary.grow = grow
        try:
            indices, numbers, all_known = flattened_row(x, self._vocabulary)
        finally:
            self._vocabulary.grow = True
        self.add_features(len(self._vocabulary))
        n = len(indices)
        self._resize(n)
        self._buffer.values[:n], self._buffer.indices[:n], self._buffer.starts[1] = numbers, indices, n
        self._row, self._new_names = dict(x), []
        self._known_row = self._row if all_known else None

    def _learn_by_candidates(self, label: int) -> None:
        """Let every candidate predict the row in the buffer and learn from it; move the lead."""
        truth = label if len(self.labels) > 2 else (label + 1) // 2
        losses: list[float] = []
        before = iter(self.losses)
        for learn, rule, geometry, address in self._candidate_calls:
            guesses = learn(rule, geometry, address)
            if guesses < 0:
                raise ValueError(TOO_LARGE)
            # As core.leader does: 0.0 or 1.0 is added after the decay.
            losses.append(LEAD_DECAY * next(before) + (guesses >> GUESS_BITS != truth))
            losses.append(LEAD_DECAY * next(before) + (guesses & _ONE_GUESS != truth))
        self.losses = losses
        if self.forget is None:
            self.rows += 1
        else:
            self._passed(1)
        least = min(losses)
        if least < losses[self.leader]:
            self._lead(losses.index(least), self.rows)

    def _resize(self, features: int) -> None:
        """Make the row buffer hold so many features, and look up its addresses where it is a new one."""
        buffer: RowBuffer = self.row_buffer(features)
        if buffer is self._buffer:
            return
        self._buffer, self._address = buffer, buffer.addresses.ctypes.data
        self._rule, self._geometry = self.learner.rule, self.learner.geometry
        self._predict, self._arrange, self._append = row_functions()
        self._p = link_power(self._geometry)
        arrays: tuple[Any, ...] = (buffer.values, buffer.labels, buffer.codes, buffer.numbers)
        self._values_view, self._label_view, self._codes_view, self._numbers_view = (
            memoryview(each) for each in arrays
        )
        labels = self.labels if len(self.labels) > 1 else self.labels * 2
        self._answers = [*labels, *reversed(labels)]
        self._look_up_addresses(buffer)

    def _look_up_addresses(self, buffer: RowBuffer) -> None:
        """Set the addresses of the row as the weights take it, and of the same row for every candidate."""
        self._weighed_address, self._scaling = self._address, ()
        self._tables: list[NDArray[np.int64]] = []  # keeps the memory of the addresses
        values_at = buffer.addresses[VALUES]
        if self.statistics is not None:
            self._scale, self._scaled_values = buffer_scaler(), np.zeros(buffer.values.size)
            values_at = self._scaled_values.ctypes.data
            self._scaling = (self._address, self.statistics.ctypes.data, self.statistics.size, values_at)
            table = buffer.addresses.copy()
            table[VALUES] = values_at
            self._tables.append(table)
            self._weighed_address = table.ctypes.data
        self._candidate_calls = []
        for candidate in self.candidates:
            candidate._clear()  # its weights may have moved
            table = candidate.row_buffer().addresses.copy()
            for entry in (INDICES, STARTS, LABELS):
                table[entry] = buffer.addresses[entry]
            table[VALUES] = values_at
            self._tables.append(table)
            own = candidate.learner
            self._candidate_calls.append((candidate._learn, own.rule, own.geometry, table.ctypes.data))

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
            flattened({str(key): value for key, value in x.items()})
        raise ValueError(otherwise)

    def _rows(self, X: Any, grow: bool) -> Rows:
        """Return examples as rows over the vocabulary, with ascending indices."""
        self._vocabulary.grow = grow
        try:
            columns = columns_of(X, self._column_names)
            if columns is not None:
                return self._table(*columns, self._memory if grow else BlockMemory())
            order = name_order(X[0], self._vocabulary) if len(X) > 1 else None
            rows = None if order is None else order.rows(X)
            return rows_of_dicts(X, self._vocabulary) if rows is None else rows
        finally:
            self._vocabulary.grow = True

    def _table(self, names: list[str], block: NDArray[np.float64], memory: BlockMemory) -> Rows:
        columns = self._columns
        if columns is None or names != columns.names:
            columns = table_columns(names, self._vocabulary)
            self._columns = columns if columns.permanent else None
        return columns.rows(block, memory)

    def _weighed_matrix(self, rows: Rows) -> Any:
        """Return rows as the weights take them, for prediction."""
        if self.statistics is not None:
            rows = scaled_rows(self.statistics, rows)
        return self._matrix(rows, self.learner.n_features)

    def _matrix(self, rows: Rows, width: int) -> Any:
        """Return rows as a matrix; features beyond its width have no weights yet."""
        values, indices, starts = rows
        return sparse_rows(values, indices, starts, max(width, 0))  # type: ignore[arg-type]


_ONE_GUESS = (1 << GUESS_BITS) - 1
