"""The online learner: examples as dicts, one at a time, with an open vocabulary and open classes."""

import os
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from struct import Struct
from struct import error as StructError
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import sparse_rows
from rosenblatt.data.json_lines import flattened
from rosenblatt.data.named import Record, Vocabulary, rows_of_records
from rosenblatt.data.named_schema import NamedSchema
from rosenblatt.learner.explain import Explanation, explain_row
from rosenblatt.passes.one_row import learn_row, predict_row
from rosenblatt.streams.columns import columns_of
from rosenblatt.streams.model_file import load_stream, save_stream
from rosenblatt.streams.rows_learner import RowsLearner

Example = Mapping[str, Any]
PACKERS = [(Struct(f"{n}d").pack_into, Struct(f"{n}I").pack_into) for n in range(64)]


class OnlineLearner(RowsLearner):
    """Learns from one example at a time; an example is a dict of named features.

    A number counts as it is; text becomes ``name=value``; true is 1, false and None are nothing. Features and classes
    are taken in as they appear.

    Parameters
    ----------
    hypothesis : what predicts: ``"averaged"``, ``"last"``, or, from a ledger that grows with every update,
        ``"voted"``, ``"survivor"``, ``"random"``
    rule, multi_class, fit_intercept, seed : as of :class:`~rosenblatt.learner.Learner`
    hash_bits : hash names into ``2**hash_bits`` features instead of keeping a vocabulary
    forget : half-life of the average in examples, for streams that drift; None weighs all alike

    **Guarantee.** ``learn_many`` leaves exactly the weights that ``learn_one`` on the same examples leaves, and both
    those of the batch learner on the same rows in the same order.

    Examples
    --------
    >>> learner = OnlineLearner("averaged")
    >>> learner.learn_one({"free": 2, "offer": 1}, "spam")
    >>> learner.learn_one({"lunch": 1, "at": "noon"}, "ham")
    >>> learner.predict_one({"free": 1}), learner.predict_one({"at": "noon"})
    ('spam', 'ham')
    """

    def __init__(
        self,
        hypothesis: str = "averaged",
        *,
        rule: Any = "rosenblatt",
        multi_class: str = "joint",
        fit_intercept: bool = True,
        hash_bits: int = 0,
        forget: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            hypothesis,
            rule=rule,
            multi_class=multi_class,
            fit_intercept=fit_intercept,
            forget=forget,
            seed=seed,
        )
        self.hash_bits = hash_bits
        self._vocabulary = Vocabulary(NamedSchema(bits=hash_bits))
        if hash_bits:
            self.widen(1 << hash_bits)
        self._code_of: dict[Any, int] = {}
        self._held: Example | None = None  # the example on the desk
        self._whole = False  # whether all its names are known, so that it may be learned from as it lies
        ours = type(self.learner.rule).__module__.startswith("rosenblatt.rules.")
        self._learn_row: Any = learn_row.compiled if ours else learn_row  # type: ignore[attr-defined]
        self._laid: tuple[str, ...] = ()  # names whose places are on the desk
        self._address = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in order of appearance; none where they are hashed."""
        return self._vocabulary.names

    # One example

    def predict_one(self, x: Example) -> Any:
        """Return the class of an example; the first class where none is ahead, None before any is known."""
        if not self.labels:
            return None
        if not self.simple:
            return self._scored(x)[0]
        code = self._predict(x)
        return self.labels[min(code, len(self.labels) - 1) if code >= 0 else -1 - code]

    def learn_one(self, x: Example, y: Any, weight: float = 1.0) -> None:
        """Learn from an example: predict, compare, move as the rule says."""
        code = self._code_of.get(y)
        if code is None or type(self.labels[code]) is not type(y):
            self._meet_one(y)
            code = self._code_of[y]
        if weight != 1.0 or not self.simple:
            self._learn_slowly(x, y, weight)
            return
        if not self._whole or x != self._held:
            self._lay(x, grow=True)
        desk: Any = self._desk
        desk.truth[0] = code if len(self.labels) > 2 else 2 * code - 1
        self._learn_row(self.learner.rule, self._address)
        if self.forget is None:
            self.rows += 1
        else:
            self._passed(1)

    def predict_proba_one(self, x: Example) -> dict[Any, float]:
        """Return a number for every class, one in all: the logistic of the scores.

        They are probabilities in earnest under the rule ``logistic`` only.
        """
        if not self.labels:
            return {}
        scores = self._scored(x)[1]
        if scores.size == 1:
            scores = np.array([0.0, scores[0]])
        odds = np.exp(scores - scores.max())
        return dict(zip(self.labels, (odds / odds.sum()).tolist(), strict=False))

    def explain_one(self, x: Example, label: Any = None, against: Any = None) -> Explanation:
        """Say what every feature of an example added to its score."""
        row = self._row(x, grow=False)
        weights = self.learner.weights("averaged" if self.hypothesis == "averaged" else "last")
        n = max(len(self._vocabulary), 0)
        names: Sequence[str] = self.names or [f"#{place}" for place in range(n)]
        return explain_row(
            weights[:, : n + 1], row, self.learner.classes, names, label=label, against=against
        )

    # Many examples

    def learn_many(self, X: Any, y: Iterable[Any], sample_weight: Any = None) -> Self:
        """Learn from many examples, exactly as from one after the other.

        ``X`` is a data frame, an Arrow table or a dict of columns, which is fast, or a list of dicts.
        """
        rows = self._rows(X, grow=True)
        self.learn_rows(rows, np.asarray(y if hasattr(y, "__len__") else list(y)), sample_weight)
        self._code_of = {}
        return self

    def predict_many(self, X: Any) -> NDArray[Any]:
        """Return the classes of many examples."""
        rows = self._rows(X, grow=False)
        rows.resize((rows.shape[0], self.learner.n_features))
        return self.learner.predict(rows, self.hypothesis)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, all or nothing; reading it back goes on as if it had never stopped."""
        schema = NamedSchema(() if self.hash_bits else self.names, self.hash_bits)
        save_stream(self, path, schema, {"online": True})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote, or the command ``stream``."""
        found, schema, _ = load_stream(path, cls)
        if not isinstance(schema, NamedSchema):
            raise ValueError(f"{path}: the features of this model have no names")  # noqa: TRY004 (a file, not a type)
        found.hash_bits = schema.bits
        found._vocabulary = Vocabulary(schema)
        return found

    # Inside

    def _predict(self, x: Example) -> int:
        if x != self._held or self._desk is None:
            self._lay(x, grow=False)
        return int(predict_row(self._address))

    def _lay(self, x: Example, grow: bool) -> None:
        """Put an example on the desk: numbers straight, anything else by the names it becomes."""
        n = len(x)
        desk: Any = self._desk
        if desk is None or n > desk.values.size:
            desk = self._set_desk(n)
        values = x.values()
        try:
            doubles, integers = PACKERS[n]
            doubles(self._value_bytes, 0, *values)
            names = tuple(x)
            if names != self._laid:
                integers(self._index_bytes, 0, *map(self._vocabulary.index.__getitem__, names))
                self._laid = names
            self._whole = isfinite(sum(values))
        except (KeyError, IndexError, TypeError, StructError):
            self._whole = False
        if not self._whole:
            self._laid = ()
            row = self._row(x, grow)
            n = row.nnz
            self.widen(row.shape[1])
            desk = self._desk if self._desk is not None and n <= desk.values.size else self._set_desk(n)
            desk.values[:n], desk.indices[:n] = row.data, row.indices
            self._whole = grow
        desk.starts[1] = n
        self._held = dict(x)

    def _set_desk(self, n: int) -> Any:
        desk = self.desk(n)
        self._address = desk.places.ctypes.data
        self._value_bytes, self._index_bytes = memoryview(desk.values), memoryview(desk.indices)  # type: ignore[arg-type]
        self._laid = ()
        return desk

    def _meet_one(self, y: Any) -> None:
        if y is None or (isinstance(y, float) and not np.isfinite(y)):
            raise ValueError(f"y is {y!r}: a label must be a number or text")
        self.meet_if_new(y)
        self._code_of = {label: code for code, label in enumerate(self.labels)}
        self._held, self._whole = None, False

    def _learn_slowly(self, x: Example, y: Any, weight: float) -> None:
        row = self._row(x, grow=True)
        self.learn_rows(row, [y], None if weight == 1.0 else [weight])
        self._held, self._whole = None, False

    def _scored(self, x: Example) -> tuple[Any, NDArray[np.float64]]:
        row = self._row(x, grow=False)
        row.resize((1, self.learner.n_features))
        if not self.learner.clock:
            return self.labels[0], np.zeros(len(self.labels))
        scores = np.atleast_1d(self.learner.scores(row, self.hypothesis)[0])
        return self.learner.predict(row, self.hypothesis).tolist()[0], scores

    def _row(self, x: Example, grow: bool) -> Any:
        return self._rows([x], grow)

    def _rows(self, X: Any, grow: bool) -> Any:
        """Return examples as CSR rows over the vocabulary."""
        self._vocabulary.grow = grow
        try:
            columns = columns_of(X)
            if columns is not None and not self.hash_bits:
                return self._from_columns(*columns)
            if columns is not None:
                X = [dict(zip(columns[0], row, strict=True)) for row in columns[1].tolist()]
            rows, _ = rows_of_records(
                (Record(0, None, flattened({str(k): v for k, v in x.items()})) for x in X), self._vocabulary
            )
        finally:
            self._vocabulary.grow = True
        return rows

    def _from_columns(self, names: list[str], block: NDArray[np.float64]) -> Any:
        places = np.array([self._vocabulary.place(name) for name in names], np.int64)
        order = np.argsort(places, kind="stable")
        order = order[places[order] >= 0]
        n, d = block.shape[0], order.size
        indices = np.tile(places[order].astype(np.int32), n)
        values = np.ascontiguousarray(block[:, order], dtype=np.float64).reshape(-1)
        return sparse_rows(
            values, indices, np.arange(0, n * d + 1, max(d, 1))[: n + 1], len(self._vocabulary)
        )
