"""Learn the schema of a table from its rows: kinds first, then categories, words and preprocessing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.options import Missing, ReadOptions
from rosenblatt.data.scanners.numbers import MISSING
from rosenblatt.data.schema import Column, TableSchema
from rosenblatt.data.tables.delimited import Rows
from rosenblatt.data.tables.encode import Bad, encode_labels, numeric_columns, plain_numbers, texts_of
from rosenblatt.data.tables.infer import (
    ColumnReport,
    ColumnStatistics,
    Decision,
    TargetKind,
    decide,
    decimal_mark,
    differ_in_capitals,
    feature_counts,
    summary_of,
    target_format,
)
from rosenblatt.data.tables.preprocess import MOST_SAMPLED, Moments, Preprocessing, column_medians
from rosenblatt.data.tables.values import absent, take
from rosenblatt.data.words import DocumentCounts, count_words

MOST_CLASSES = 1000  # whose spelling is compared
Read = Callable[[], Iterable[Rows]]


class TableStatistics:
    """Statistics of all columns of a table, block by block.

    Parameters
    ----------
    names : of the columns other than the target
    separator : between the cells of text; semicolons leave a comma free to be the decimal mark
    """

    def __init__(self, names: Sequence[str], target: str | None, separator: str | None = None) -> None:
        self.names, self.target, self.separator = list(names), target, separator
        self.columns = {name: ColumnStatistics() for name in names}
        if target is not None:
            self.columns[target] = ColumnStatistics(count_numbers=True)

    def update(self, rows: Rows, parsed: Mapping[str, NDArray[np.float64]] = MappingProxyType({})) -> None:
        """Add a block; ``parsed`` holds columns of strings that are known to be numbers."""
        block = rows.statistics
        for place, name in enumerate(self.names):
            if block is not None:
                self.columns[name].update_numbers(block, place, rows.lines.size)
            else:
                self.columns[name].update(rows.columns[name], parsed.get(name))
        if self.target is not None:
            self.columns[self.target].update(rows.columns[self.target])

    @property
    def all_numbers(self) -> bool:
        """Whether every value so far is a plain number that float64 may hold, or missing."""
        return all(column.all_numbers and not column.long_labels for column in self.columns.values())

    def decide(self, options: ReadOptions, index: str | None = None) -> dict[str, Decision]:
        """Return the role of every column but the target; the column ``index`` counts rows, and is left out."""
        decisions = {}
        for name in self.names:
            if name == index and name not in (*options.numeric, *options.category, *options.text):
                decisions[name] = Decision(
                    "index", None, f"an index without a name; --numeric {name} keeps it"
                )
                continue
            decisions[name] = decide(name, self.columns[name], options, self.decimal_mark(name, index))
        if all(decision.column is None for decision in decisions.values()):
            asked = (*options.id, *options.drop, index)
            for name, decision in decisions.items():
                if self.columns[name].numeric and name not in asked:
                    note = f"{decision.note.partition(';')[0]}, but nothing else is left to learn from"
                    decisions[name] = Decision("numeric", Column(name), note)
        return decisions

    def decimal_mark(self, name: str, index: str | None = None) -> str | None:
        """Return the decimal mark of numbers that can be read two ways; None if nothing decides."""
        own = self.columns[name]
        if not own.two_ways:
            return None
        others = [column for other, column in self.columns.items() if other not in (name, index)]
        return decimal_mark(others) or ("." if own.numeric and self.separator != ";" else None)

    def blank_schema(
        self,
        decisions: dict[str, Decision],
        options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    ) -> TableSchema:
        """Return the schema that follows from the decisions, with nothing learned yet."""
        columns = tuple(decision.column for decision in decisions.values() if decision.column is not None)
        if not columns:
            reasons = "; ".join(f"{name}: {decision.note}" for name, decision in list(decisions.items())[:5])
            raise ValueError(
                f"no column is left to learn from ({reasons}): keep one with --numeric or --category"
            )
        return _blank_schema(columns, self, options)

    def to_dict(self) -> dict[str, Any]:
        """Return what :meth:`from_dict` needs, as JSON can hold it."""
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        return {"names": self.names, "target": self.target, "separator": self.separator, "columns": columns}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "TableStatistics":
        """Read back what another process of this version wrote."""
        statistics = cls(stored["names"], stored["target"], stored["separator"])
        for name, column in stored["columns"].items():
            statistics.columns[name] = ColumnStatistics.from_dict(column)
        return statistics

    def merge(self, later: "TableStatistics") -> None:
        """Add the statistics of later rows."""
        for name, column in self.columns.items():
            column.merge(later.columns[name])


class Learned(NamedTuple):
    """The schema of a table, with the decisions and statistics it follows from."""

    schema: TableSchema
    decisions: dict[str, Decision]
    statistics: TableStatistics

    @property
    def target_kind(self) -> TargetKind:
        """Whether the target is a class or a measurement."""
        target = self.schema.target
        return "classes" if target is None else self.statistics.columns[target].target_kind

    def reports(self) -> list[ColumnReport]:
        """Return the report of every column, the target last."""
        schema, fitted = self.schema, self.schema.preprocessing
        indicators = () if fitted is None else fitted.indicators
        counts = feature_counts(schema.columns, indicators)
        columns = {column.name: column for column in schema.columns}
        reports = []
        for name, decision in self.decisions.items():
            own, column = self.statistics.columns[name], columns.get(name)
            missing = 0 if decision.role == "dropped" else own.missing
            summary = summary_of(decision, own, column)
            reports.append(
                ColumnReport(name, decision.role, missing, summary, counts.get(name, 0), decision.note)
            )
        if schema.target is not None:
            own = self.statistics.columns[schema.target]
            summary = summary_of(Decision("category" if own.long_labels else "target", None), own, None)
            if schema.target_format is not None:
                column = Column(schema.target, format=schema.target_format)
                summary = summary_of(Decision("numeric", column), own, column)
            note = "many different numbers: --task regression?" if self.target_kind == "numeric" else ""
            if not own.numeric and len(own.values or ()) <= MOST_CLASSES:
                note = note or differ_in_capitals(own.values or ())
            reports.append(ColumnReport(schema.target, "target", own.missing, summary, 0, note))
        return reports


def missing_policy(options: ReadOptions) -> Missing:
    """Return the policy for missing numbers: with ``exact`` they are errors unless another policy is chosen."""
    return "refuse" if options.exact and options.missing == "indicator" else options.missing


def learn_schema(
    read: Read,
    names: Sequence[str],
    target: str | None,
    options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    *,
    statistics: TableStatistics | None = None,
    index: str | None = None,
) -> Learned:
    """Learn the kinds of all columns, then the categories, words and preprocessing of training.

    ``read`` is called once for the kinds (not where their statistics are given) and, where there is more to learn,
    once more: a malformed row teaches no category.

    >>> import pyarrow as pa
    >>> table = {"Wind": pa.array(["3", "5.5"]), "Outlook": pa.array(["Sunny", "Rainy"])}
    >>> rows = Rows(table, np.arange(2), [])
    >>> learn_schema(lambda: [rows], ["Wind", "Outlook"], target=None).schema.feature_names
    ['Wind', 'Outlook=Rainy', 'Outlook=Sunny']
    """
    if statistics is None:
        statistics = TableStatistics(names, target)
        for rows in read():
            statistics.update(rows)
    decisions = statistics.decide(options, index)
    columns = tuple(decision.column for decision in decisions.values() if decision.column is not None)
    if not columns:
        reasons = "; ".join(f"{name}: {decision.note}" for name, decision in list(decisions.items())[:5])
        raise ValueError(
            f"no column is left to learn from ({reasons}): keep one with --numeric or --category"
        )
    schema = _blank_schema(columns, statistics, options)
    policy = missing_policy(options)
    known = _known_already(schema, statistics, options, policy)
    if known is None:
        learner = ValueLearner(schema, options)
        for rows in read():
            learner.update(rows)
        known = learner.schema()
    return Learned(known, decisions, statistics)


def _blank_schema(
    columns: tuple[Column, ...], statistics: "TableStatistics", options: ReadOptions
) -> TableSchema:
    """Return the schema of columns with nothing learned yet, and of the target of the table."""
    target = statistics.target
    if target is None:
        return TableSchema(columns)
    own = statistics.columns[target]
    form = target_format(target, own, options, statistics.decimal_mark(target))
    return TableSchema(columns, target, own.labels if form is None else "number", target_format=form)


def _known_already(
    schema: TableSchema, statistics: TableStatistics, options: ReadOptions, policy: Missing
) -> TableSchema | None:
    """Return the schema if the statistics determine all of it, and no row is bad; else None."""
    own = statistics.columns
    if any(not own[column.name].all_finite for column in schema.columns if column.plain):
        return None
    if (
        options.scale
        or policy in ("median", "drop")
        or any(c.words and not c.words.buckets for c in schema.columns)
    ):
        return None
    if any(column.discrete and own[column.name].values is None for column in schema.columns):
        return None
    if any(column.categories is None and not column.plain for column in schema.columns):
        return None
    if schema.target is not None:
        labels = own[schema.target]
        if labels.missing or not labels.all_finite:
            return None
    columns = tuple(
        replace(column, categories=_sorted(own[column.name].values or (), options))
        if column.discrete
        else column
        for column in schema.columns
    )
    schema = replace(schema, columns=columns)
    if policy == "refuse":
        return schema
    numeric = [own[column.name] for column in columns if column.plain]
    moments = Moments(len(numeric))
    moments.count = np.array([each.present for each in numeric], np.int64)
    moments.missing = np.array([each.missing for each in numeric], np.int64)
    moments.mean = np.array([each.mean for each in numeric], float)
    return replace(schema, preprocessing=_fitted(schema, moments, policy, False))


def _fitted(
    schema: TableSchema,
    moments: Moments,
    policy: Missing,
    scale: bool,
    fill: NDArray[np.float64] | None = None,
    documents: int = 0,
    frequencies: Sequence[NDArray[np.int64]] = (),
) -> Preprocessing | None:
    """Return the preprocessing, or None where there is nothing to prepare."""
    if not frequencies and (not moments.count.size or (policy == "refuse" and not scale)):
        return None
    mean = moments.mean
    moments.mean = np.where(np.isfinite(mean), mean, 0.0)  # of numbers near the end of a float64's range
    return schema.plan(policy, scale).fitted(schema.raw_features, moments, fill, documents, frequencies)


def _sorted(values: Iterable[str], options: ReadOptions) -> tuple[str, ...]:
    """Return categories in order; every spelling of a missing value is one, unless they are taken as written."""
    if options.exact:
        return tuple(sorted(values))
    return tuple(sorted({"" if value in MISSING else value for value in values}))


class ValueLearner:
    """Learns categories, words and moments from the valid rows of a table whose kinds are known."""

    def __init__(self, schema: TableSchema, options: ReadOptions) -> None:
        self._schema, self._options, self._policy = schema, options, missing_policy(options)
        self._seen: dict[str, dict[str, int]] = {column.name: {} for column in schema.columns}
        self._moments = Moments(sum(column.width for column in schema.columns if column.categories is None))
        self._sample = _Sample() if self._policy == "median" else None
        self._documents = {
            column.name: DocumentCounts()
            for column in schema.columns
            if column.words is not None and column.words.weighting == "tfidf" and not column.words.buckets
        }

    def update(self, rows: Rows) -> None:
        """Add a block."""
        if not rows.lines.size:
            return
        numeric, keep = _good_rows(rows, self._schema, self._policy)
        numeric = numeric if keep.all() else numeric[keep]
        self._moments.update(numeric)
        if self._sample is not None:
            self._sample.add(numeric)
        places = np.flatnonzero(keep)
        for column in self._schema.columns:
            if column.categories is None:
                continue
            values = rows.columns[column.name]
            values = values if keep.all() else take(values, places)
            if column.words is None:
                self._seen[column.name].update(dict.fromkeys(texts_of(values.unique()), 0))
            elif not column.words.buckets:
                counted = count_words(texts_of(values), column.words, self._seen[column.name], grow=True)
                if column.name in self._documents:
                    self._documents[column.name].update(counted.X)
                if rows.word_counts is not None and keep.all():
                    rows.word_counts[column.name] = counted.X

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned, as JSON can hold it."""
        return {
            "seen": {name: list(values) for name, values in self._seen.items()},
            "moments": {name: values.tolist() for name, values in vars(self._moments).items()},
            "sample": None if self._sample is None else self._sample.to_dict(),
            "documents": {
                name: [counts.documents, counts.frequency.tolist()]
                for name, counts in self._documents.items()
            },
        }

    def merge(self, later: Mapping[str, Any]) -> None:
        """Add the ``to_dict()`` of a learner of later rows."""
        for name, values in later["seen"].items():
            own = self._seen[name]
            places = [own.setdefault(value, len(own)) for value in values]
            if name in self._documents:
                documents, frequency = later["documents"][name]
                moved = np.zeros(len(own), np.int64)
                moved[places[: len(frequency)]] = frequency
                self._documents[name].merge(DocumentCounts(documents, moved))
        moments = Moments(0)
        vars(moments).update({name: np.array(values) for name, values in later["moments"].items()})
        self._moments.merge(moments)
        if self._sample is not None:
            self._sample.merge(later["sample"])

    def schema(self) -> TableSchema:
        """Return the schema with what was learned."""
        columns = []
        for column in self._schema.columns:
            seen = self._seen[column.name]
            if column.categories is None:
                columns.append(column)
            else:
                known = tuple(seen) if column.words else _sorted(seen, self._options)
                columns.append(replace(column, categories=known))
        schema = replace(self._schema, columns=tuple(columns))
        fill = None if self._sample is None else self._sample.medians(self._moments.mean)
        documents = max((counts.documents for counts in self._documents.values()), default=0)
        frequencies = [counts.frequency for counts in self._documents.values()]
        fitted = _fitted(
            schema, self._moments, self._policy, self._options.scale, fill, documents, frequencies
        )
        return replace(schema, preprocessing=fitted)


def _good_rows(
    rows: Rows, schema: TableSchema, policy: Missing
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the raw numbers of all rows, and which rows are learned from."""
    columns, bad = rows.columns, Bad()
    scanned = plain_numbers(columns, rows.numbers, schema, policy, rows.any_missing)
    if scanned is not None:
        X, complete = scanned
        keep = np.ones(rows.lines.size, bool) if complete is None else complete
        return np.asfortranarray(X), keep  # sums of columns round alike, however the numbers were read
    numeric, bad, incomplete = numeric_columns(columns, schema, policy)
    if schema.target is not None:
        encode_labels(columns[schema.target], schema, bad, incomplete, policy)
    keep = np.ones(incomplete.size, bool)
    keep[list(bad)] = False
    if policy == "drop":
        for column in schema.columns:
            if column.categories is not None:
                incomplete |= absent(columns[column.name])
        keep &= ~incomplete
    return numeric, keep


class _Sample:
    """Rows for a median: all while they are few, then every second, every fourth and so on."""

    def __init__(self) -> None:
        self._rows: list[NDArray[np.float64]] = []
        self._step = 1
        self._seen = 0

    def add(self, block: NDArray[np.float64]) -> None:
        self._rows.append(block[-self._seen % self._step :: self._step].copy())
        self._seen += block.shape[0]
        while sum(part.shape[0] for part in self._rows) > MOST_SAMPLED:
            whole = np.concatenate(self._rows)
            self._rows, self._step = [whole[::2]], 2 * self._step

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [part.tolist() for part in self._rows], "step": self._step}

    def merge(self, later: Mapping[str, Any]) -> None:
        self._rows += [np.array(part, float) for part in later["rows"]]
        self._step = max(self._step, later["step"])

    def medians(self, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = np.concatenate(self._rows) if self._rows else np.empty((0, otherwise.size))
        return column_medians([whole[:, column] for column in range(whole.shape[1])], otherwise)
