"""Attributes: tables of numbers, categories and text to vectors."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rosenblatt.data.attributes import encode, learn_schema
from rosenblatt.data.kinds import Kind, numbers
from rosenblatt.data.options import ReadOptions
from rosenblatt.linear.encoders.columns import Table, as_table

MISSING = ("error", "mean")
UNSEEN = ("ignore", "error")


class Attributes(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Mixed tables to vectors: discrete columns one-hot, text as words, numbers kept or scaled.

    The same encoding as the command line gives a CSV file with the same values. Takes data frames (pandas,
    polars, pyarrow), lists of dicts, and arrays of numbers or objects.

    Parameters
    ----------
    scale : bool, default=False
        Numeric columns become ``(x − mean) / standard deviation``.
    missing : {"error", "mean"}, default="error"
        A missing number is an error that names its row and column, or becomes the mean of training. A missing
        category is the feature ``Outlook=(missing)`` where training had one, else unseen.
    unseen : {"ignore", "error"}, default="ignore"
        A category that training never saw becomes zeros, or an error.
    discrete, text : collections of column names
        Columns to be taken as such, whatever their values look like.
    sparse : bool, default=True
        Return sparse rows where a column is discrete or text.

    Attributes
    ----------
    schema_ : TableSchema
        What was learned, as a model file keeps it.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> table = [{"Outlook": "Sunny", "Wind": 3.0}, {"Outlook": "Rainy", "Wind": 5.0}]
    >>> attributes = Attributes().fit(table)
    >>> attributes.get_feature_names_out()
    array(['Outlook=Rainy', 'Outlook=Sunny', 'Wind'], dtype=object)
    >>> attributes.transform([{"Outlook": "Foggy", "Wind": 4.0}]).toarray()
    array([[0., 0., 4.]])
    """

    def __init__(
        self,
        *,
        scale: bool = False,
        missing: str = "error",
        unseen: str = "ignore",
        discrete: Collection[str] = (),
        text: Collection[str] = (),
        sparse: bool = True,
    ) -> None:
        self.scale = scale
        self.missing = missing
        self.unseen = unseen
        self.discrete = discrete
        self.text = text
        self.sparse = sparse

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the kind of every column, and the categories, words, means and scales of training."""
        for name, value, allowed in (("missing", self.missing, MISSING), ("unseen", self.unseen, UNSEEN)):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        table = self._table(X, reset=True)
        for name in [*self.discrete, *self.text]:
            if name not in table.columns:
                raise ValueError(f"no column is called {name!r}; there are {', '.join(table.columns)}")
        columns = {name: self._kept(name, column) for name, column in table.columns.items()}
        self._means: dict[str, float] = {}
        if self.missing == "mean":
            self._means = {name: _mean(column) for name, column in columns.items() if _is_number(column)}
            columns = self._filled(columns)
        options = ReadOptions(text=tuple(self.text), category=tuple(self.discrete), scale=self.scale)
        schema = learn_schema(lambda: [columns], list(columns), None, options)
        found = encode(columns, schema)
        if found.bad:
            self._refuse(found.bad[0])
        self.schema_ = replace(schema, target=None)
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows as vectors, sparse where a column is discrete or text."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        columns = {}
        for column in self.schema_.columns:
            values = table.columns[column.name]
            columns[column.name] = values if column.categories is None else _strings(values)
        found = encode(self._filled(columns), self.schema_)
        if found.bad:
            self._refuse(found.bad[0])
        if found.unseen and self.unseen == "error":
            name, count = next(iter(found.unseen.items()))
            raise ValueError(f"column {name!r} has {count} value(s) that training never saw")
        return found.X if self.sparse or isinstance(found.X, np.ndarray) else found.X.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return names such as ``Wind``, ``Outlook=Rainy`` and ``mail:free``."""
        check_is_fitted(self)
        known = [column.name for column in self.schema_.columns]
        if input_features is None or list(input_features) == known:
            return np.array(self.schema_.feature_names, dtype=object)
        if hasattr(self, "feature_names_in_"):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(input_features) != len(known):
            raise ValueError("input_features should have length equal to number of features")
        named = (
            replace(c, name=str(name)) for c, name in zip(self.schema_.columns, input_features, strict=True)
        )
        return np.array([feature for column in named for feature in column.features], dtype=object)

    def _table(self, X: Any, reset: bool) -> Table:
        """Check the shape, the names and the values as scikit-learn does, and read the columns."""
        dicts = isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(row, dict) for row in X)
        if dicts or hasattr(X, "columns") or hasattr(X, "column_names"):
            return self._named(as_table(X), reset)
        numeric = np.asarray(X).dtype.kind != "O" if not hasattr(X, "tocsr") else True
        finite: Any = ("allow-nan" if self.missing == "mean" else True) if numeric else False
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=finite)
        return as_table(X)

    def _named(self, table: Table, reset: bool) -> Table:
        names = list(table.columns)
        rows = len(next(iter(table.columns.values()))) if names else 0
        if not names or not rows:
            raise ValueError(f"X has {rows} rows and {len(names)} columns: there is nothing to encode")
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
            return table
        known = [column.name for column in self.schema_.columns]
        lacking = [name for name in known if name not in table.columns]
        if lacking:
            raise ValueError(
                f"X lacks the column {lacking[0]!r} that training had; it has {', '.join(names)}"
            )
        return table

    def _kept(self, name: str, column: Any) -> Any:
        """Return a column of training: numbers written as strings become numbers, unless they are discrete."""
        if name in self.discrete or name in self.text:
            return _strings(column)
        if _is_number(column):
            return column
        kind = Kind()
        kind.see(column)
        return _floats(column) if kind.numeric else column

    def _filled(self, columns: dict[str, Any]) -> dict[str, Any]:
        filled = dict(columns)
        for name, mean in self._means.items():
            values = columns[name] if _is_number(columns[name]) else _floats(columns[name])
            filled[name] = values.fill_null(mean)
        return filled

    def _refuse(self, bad: tuple[int, str]) -> None:
        row, reason = bad
        way_out = "fill it in, drop the column, or say missing='mean'"
        raise ValueError(
            f"X, row {row}: {reason.split(': fill it in')[0].split(': correct it')[0]}: {way_out}"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing == "mean"
        return tags


def _is_number(column: Any) -> bool:
    import pyarrow as pa

    return bool(column.type == pa.float64())


def _floats(column: Any) -> Any:
    """Read strings as numbers, null where one is missing."""
    import pyarrow as pa

    return pa.array(numbers(column), pa.float64(), from_pandas=True)


def _strings(column: Any) -> Any:
    """Write numbers as strings, whole ones without a point."""
    import pyarrow as pa

    if not _is_number(column):
        return column
    values = column.to_pylist()
    return pa.array(["" if value is None else f"{value:.17g}" for value in values], pa.string())


def _mean(column: Any) -> float:
    import pyarrow.compute as pc

    mean = pc.mean(column).as_py()
    return 0.0 if mean is None else float(mean)
