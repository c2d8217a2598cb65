"""The transformer ``Attributes``: from tables of numbers, categories and text to vectors."""

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
    """Encode mixed tables: discrete columns one-hot, text as words, numbers as they are or standardised.

    The encoding is the one that the command line gives a CSV file with the same values. Accepts data frames (pandas,
    polars, pyarrow), lists of dicts, and arrays of numbers or objects.

    Parameters
    ----------
    scale : bool, default=False
        Numeric columns become ``(x − mean) / standard deviation``.
    missing : {"error", "mean"}, default="error"
        A missing number is an error that names its row and column, or is replaced by the column's mean in training.
        A missing category is the feature ``Outlook=(missing)`` where training had one; otherwise it counts as unseen.
    unseen : {"ignore", "error"}, default="ignore"
        A category that did not occur in training is encoded as zeros, or is an error.
    discrete, text : collections of column names
        Columns to encode as categories or as text, whatever their values look like.
    sparse : bool, default=True
        Return sparse rows where a column is discrete or text.

    Attributes
    ----------
    schema_ : TableSchema
        The learned encoding, as a model file stores it.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

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
        """Learn the kind of every column, its categories or words, and means and scales of numbers.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n, columns)
        y : ignored

        Returns
        -------
        self
        """
        for name, value, allowed in (("missing", self.missing, MISSING), ("unseen", self.unseen, UNSEEN)):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        table = self._table(X, reset=True)
        for name in [*self.discrete, *self.text]:
            if name not in table.columns:
                raise ValueError(f"no column is called {name!r}; there are {', '.join(table.columns)}")
        columns = {name: self._training_column(name, column) for name, column in table.columns.items()}
        self._means: dict[str, float] = {}
        if self.missing == "mean":
            self._means = {name: _mean(column) for name, column in columns.items() if _is_number(column)}
            columns = self._filled(columns)
        options = ReadOptions(text=tuple(self.text), category=tuple(self.discrete), scale=self.scale)
        schema = learn_schema(lambda: [columns], list(columns), None, options)
        encoded = encode(columns, schema)
        if encoded.bad:
            self._refuse(encoded.bad[0])
        self.schema_ = replace(schema, target=None)
        return self

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n, columns)

        Returns
        -------
        csr_array or ndarray of shape (n, features)
            Sparse where a column is discrete or text, unless ``sparse=False``.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        columns = {}
        for column in self.schema_.columns:
            values = table.columns[column.name]
            columns[column.name] = values if column.categories is None else _strings(values)
        encoded = encode(self._filled(columns), self.schema_)
        if encoded.bad:
            self._refuse(encoded.bad[0])
        if encoded.unseen and self.unseen == "error":
            name, count = next(iter(encoded.unseen.items()))
            raise ValueError(
                f"column {name!r} has {count} value(s) that training never saw: fit again with them, or set "
                "unseen='ignore'"
            )
        return encoded.X if self.sparse or isinstance(encoded.X, np.ndarray) else encoded.X.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the encoded features, such as ``Wind``, ``Outlook=Rainy`` and ``mail:free``."""
        check_is_fitted(self)
        columns = [column.name for column in self.schema_.columns]
        if input_features is None or list(input_features) == columns:
            return np.array(self.schema_.feature_names, dtype=object)
        if hasattr(self, "feature_names_in_"):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(input_features) != len(columns):
            raise ValueError("input_features should have length equal to number of features")
        renamed = (
            replace(c, name=str(name)) for c, name in zip(self.schema_.columns, input_features, strict=True)
        )
        return np.array([feature for column in renamed for feature in column.features], dtype=object)

    def _table(self, X: Any, reset: bool) -> Table:
        """Check shape, names and values as scikit-learn does, and return the columns."""
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
        missing = [column.name for column in self.schema_.columns if column.name not in table.columns]
        if missing:
            raise ValueError(
                f"X lacks the column {missing[0]!r} that training had; it has {', '.join(names)}"
            )
        return table

    def _training_column(self, name: str, column: Any) -> Any:
        """Return a column of the training data; numbers written as strings become floats, unless it is discrete."""
        if name in self.discrete or name in self.text:
            return _strings(column)
        if _is_number(column):
            return column
        kind = Kind()
        kind.see(column)
        return _floats(column) if kind.numeric else column

    def _filled(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Replace missing numbers by the means of training, with ``missing="mean"``."""
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
    """Convert a column of strings to float64, null where a value is missing."""
    import pyarrow as pa

    return pa.array(numbers(column), pa.float64(), from_pandas=True)


def _strings(column: Any) -> Any:
    """Convert a column of numbers to strings, integers without a decimal point."""
    import pyarrow as pa

    if not _is_number(column):
        return column
    values = column.to_pylist()
    return pa.array(["" if value is None else f"{value:.17g}" for value in values], pa.string())


def _mean(column: Any) -> float:
    import pyarrow.compute as pc

    mean = pc.mean(column).as_py()
    return 0.0 if mean is None else float(mean)
