"""Fitting ``Attributes`` where the tables are: two questions to every partition, answers that merge.

The first finds the kind of every column (numbers, discrete, text) with its moments, the second the categories and
words. The encoder is then the one that ``fit`` on all rows makes: the same columns and categories, means and deviations
up to rounding.
"""

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.data.kinds import TEXT_ROWS, Kind, numbers
from rosenblatt.data.scanners.missing import MISSING
from rosenblatt.data.schema import Column, TableSchema
from rosenblatt.data.words import Words, looks_like_text

Ask = Callable[[Callable[..., Any], Any], list[Any]]  # asks every partition, in order


class Moments(NamedTuple):
    """Mean and spread of the numbers of a column (Chan, Golub and LeVeque 1979).

    >>> one, two = Moments(2, 2.0, 2.0, 0), Moments(1, 5.0, 0.0, 1)
    >>> (one + two).mean, (one + two).deviation
    (3.0, 1.41...)
    """

    present: int = 0
    mean: float = 0.0
    squares: float = 0.0  # Σ (x − mean)²
    missing: int = 0

    def __add__(self, other: Any) -> "Moments":
        present = self.present + other.present
        away = other.mean - self.mean
        share = other.present / present if present else 0.0
        squares = self.squares + other.squares + away * away * self.present * share
        return Moments(present, self.mean + away * share, squares, self.missing + other.missing)

    @property
    def deviation(self) -> float:
        """The standard deviation, missing numbers filled with the mean; 1 for a constant column."""
        spread = math.sqrt(self.squares / max(self.present + self.missing, 1))
        return 1.0 if spread <= 1e-12 * abs(self.mean) else spread


class Glance(NamedTuple):
    """What one partition says about the kind of a column."""

    all_numbers: bool
    any_value: bool
    sample: list[str]  # its first values, where they are strings
    moments: Moments


def is_encoder(estimator: Any) -> bool:
    """Whether an estimator is one that :func:`fit_encoder` fits."""
    return type(estimator).__name__ == "Attributes"


def is_pipeline(estimator: Any) -> bool:
    """Whether an estimator is a scikit-learn pipeline."""
    return isinstance(getattr(estimator, "steps", None), list)


def fit_encoder(encoder: Any, ask: Ask) -> Any:
    """Fit an encoder on partitions that stay where they are, and return it."""
    glances = [found for found in ask(glance_over, encoder) if found is not None]
    if not glances:
        raise ValueError("no partition has any rows: there is nothing to encode")
    names = list(glances[0])
    kinds = {name: _kind(name, [each[name] for each in glances], encoder) for name in names}
    forced = {
        "discrete": [name for name, kind in kinds.items() if kind == "discrete"],
        "text": [name for name, kind in kinds.items() if kind == "text"],
    }
    lessons = [found for found in ask(learn_values, (encoder, forced)) if found is not None]
    columns, means = [], {}
    for name in names:
        moments = sum((each[name].moments for each in glances), Moments())
        if kinds[name] == "numeric":
            columns.append(Column(name, scale=(moments.mean, moments.deviation) if encoder.scale else None))
            means[name] = moments.mean
        else:
            known = dict.fromkeys(value for each in lessons for value in each[name])
            values = known if kinds[name] == "text" else sorted(known)
            columns.append(Column(name, tuple(values), Words() if kinds[name] == "text" else None))
    encoder.schema_ = TableSchema(tuple(columns), None, "text")
    encoder._means = means if encoder.missing == "mean" else {}
    encoder.feature_names_in_ = np.array(names, dtype=object)
    encoder.n_features_in_ = len(names)
    return encoder


def glance_over(part: Any, encoder: Any) -> Mapping[str, Glance] | None:
    """Look at the columns of a partition."""
    if not part.shape[0]:
        return None
    table = copy.copy(encoder)._table(part, reset=True)
    for name in [*encoder.discrete, *encoder.text]:
        if name not in table.columns:
            raise ValueError(f"no column is called {name!r}; there are {', '.join(table.columns)}")
    return {name: _glance(column) for name, column in table.columns.items()}


def learn_values(part: Any, sent: tuple[Any, dict[str, list[str]]]) -> Mapping[str, tuple[str, ...]] | None:
    """Learn the categories and words of a partition whose kinds are known."""
    if not part.shape[0]:
        return None
    encoder, forced = sent
    own = copy.copy(encoder).set_params(**forced).fit(part)
    return {column.name: column.categories or () for column in own.schema_.columns}


def _glance(column: Any) -> Glance:
    kind = Kind()
    kind.see(column)
    is_text = str(column.type) == "string"
    sample = column[:TEXT_ROWS].to_pylist() if is_text else []
    if not kind.all_numbers:
        return Glance(False, kind.any_value, sample, Moments())
    values = numbers(column)
    found = values[~np.isnan(values)]
    if not found.size:
        return Glance(True, kind.any_value, sample, Moments(missing=values.size))
    mean = float(found.mean())
    return Glance(
        True,
        kind.any_value,
        sample,
        Moments(found.size, mean, float(((found - mean) ** 2).sum()), values.size - found.size),
    )


def _kind(name: str, glances: list[Glance], encoder: Any) -> str:
    if name in encoder.text:
        return "text"
    if name in encoder.discrete:
        return "discrete"
    if all(each.all_numbers for each in glances):
        return "numeric" if any(each.any_value for each in glances) else "discrete"
    sample = [value for each in glances for value in each.sample][:TEXT_ROWS]
    return "text" if looks_like_text(value for value in sample if value not in MISSING) else "discrete"
