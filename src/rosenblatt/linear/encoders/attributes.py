"""The transformer ``Attributes``: from tables of numbers, dates, categories and text to vectors."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rosenblatt.data.options import ReadOptions
from rosenblatt.data.tables.columnar import frame_columns, is_frame
from rosenblatt.data.tables.delimited import Rows
from rosenblatt.data.tables.encode import encode
from rosenblatt.data.tables.learn import learn_schema
from rosenblatt.data.tables.values import is_text
from rosenblatt.data.words import Words

MISSING = ("indicator", "mean", "median", "error")
UNSEEN = ("ignore", "error")


class Attributes(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode mixed tables: discrete columns one-hot, text as words, numbers as they are or standardised.

    The encoding is the one that the command line gives a CSV file with the same values: dates become numbers, truth
    values 0 and 1; constant columns and identifiers are left out. Accepts data frames (pandas, polars, pyarrow), lists
    of dicts, and arrays of numbers or objects.

    Parameters
    ----------
    scale : bool, default=False
        Numeric columns become ``(x − mean) / standard deviation``.
    missing : {"indicator", "mean", "median", "error"}, default="indicator"
        A missing number is replaced by the column's mean in training, with a feature ``Age=(missing)`` that is 1 where
        training had gaps; by the mean or the median alone; or is an error that names its row and column. A missing
        category is the feature ``Outlook=(missing)`` where training had one; otherwise it counts as unseen.
    unseen : {"ignore", "error"}, default="ignore"
        A category that did not occur in training is encoded as zeros, or is an error.
    discrete, text, numeric, date, drop : collections of column names
        Columns to encode as categories, text, numbers or dates, whatever their values look like, and columns to leave
        out.
    sparse : bool, default=True
        Return sparse rows where a column is discrete or text.

    Attributes
    ----------
    schema_ : TableSchema
        The learned encoding, as a model file stores it.
    columns_ : list of ColumnReport
        How every column was read.
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
        missing: str = "indicator",
        unseen: str = "ignore",
        discrete: Collection[str] = (),
        text: Collection[str] = (),
        numeric: Collection[str] = (),
        date: Collection[str] = (),
        drop: Collection[str] = (),
        sparse: bool = True,
    ) -> None:
        self.scale = scale
        self.missing = missing
        self.unseen = unseen
        self.discrete = discrete
        self.text = text
        self.numeric = numeric
        self.date = date
        self.drop = drop
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
        rows = self.training_rows(X)
        learned = learn_schema(lambda: [rows], list(rows.columns), None, self.reading)
        encoded = encode(rows.columns, learned.schema)
        if encoded.bad:
            self._refuse(*min(encoded.bad.items()))
        self.schema_ = learned.schema
        self.columns_ = learned.reports()
        return self

    @property
    def reading(self) -> ReadOptions:
        """How columns are read, as these parameters say."""
        return ReadOptions(
            text=tuple(self.text),
            category=tuple(self.discrete),
            numeric=tuple(self.numeric),
            date=tuple(self.date),
            drop=tuple(self.drop),
            scale=self.scale,
            missing="refuse" if self.missing == "error" else self.missing,  # type: ignore[arg-type]
            words=Words(),
        )

    def training_rows(self, X: Any) -> Rows:
        """Check parameters and training data, and return the columns."""
        for name, value, allowed in (("missing", self.missing, MISSING), ("unseen", self.unseen, UNSEEN)):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        columns = self._columns(X, reset=True)
        for name in [*self.discrete, *self.text, *self.numeric, *self.date, *self.drop]:
            if name not in columns:
                raise ValueError(f"no column is called {name!r}; there are {', '.join(columns)}")
        for name in [*self.discrete, *self.text]:
            columns[name] = _strings(columns[name])
        return Rows(columns, np.arange(len(next(iter(columns.values())))), [])

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
        columns = self._columns(X, reset=False)
        for column in self.schema_.columns:
            if column.categories is not None:
                columns[column.name] = _strings(columns[column.name])
        encoded = encode(columns, self.schema_)
        if encoded.bad:
            self._refuse(*min(encoded.bad.items()))
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
        names = [report.name for report in self.columns_]
        if input_features is None or list(input_features) == names:
            return np.array(self.schema_.feature_names, dtype=object)
        if hasattr(self, "feature_names_in_"):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(input_features) != len(names):
            raise ValueError("input_features should have length equal to number of features")
        new = dict(zip(names, map(str, input_features), strict=True))
        columns = tuple(replace(column, name=new[column.name]) for column in self.schema_.columns)
        return np.array(replace(self.schema_, columns=columns).feature_names, dtype=object)

    def _columns(self, X: Any, reset: bool) -> dict[str, Any]:
        """Check shape, names and values as scikit-learn does, and return the columns."""
        if is_frame(X):
            return self._named(frame_columns(X), reset)
        numeric = np.asarray(X).dtype.kind != "O" if not hasattr(X, "tocsr") else True
        finite: Any = (True if self.missing == "error" else "allow-nan") if numeric else False
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=finite)
        return frame_columns(X)

    def _named(self, columns: dict[str, Any], reset: bool) -> dict[str, Any]:
        names = list(columns)
        rows = len(next(iter(columns.values()))) if names else 0
        if not names or not rows:
            raise ValueError(f"X has {rows} rows and {len(names)} columns: there is nothing to encode")
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
            return columns
        missing = [column.name for column in self.schema_.columns if column.name not in columns]
        if missing:
            raise ValueError(
                f"X lacks the column {missing[0]!r} that training had; it has {', '.join(names)}"
            )
        return columns

    def _refuse(self, row: int, wrong: tuple[str, str]) -> None:
        reason = wrong[0].split(": fill it in")[0].split(": correct it")[0]
        way_out = "fill it in, drop the column, or say missing='mean'"
        raise ValueError(f"X, row {row}: {reason}: {way_out}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


def _strings(column: Any) -> Any:
    """Convert a column of numbers to strings, integers without a decimal point."""
    import pyarrow as pa

    if is_text(column):
        return column
    values = column.cast(pa.float64(), safe=False).to_pylist()
    return pa.array(["" if value is None else f"{value:.17g}" for value in values], pa.string())
