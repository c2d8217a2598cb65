"""Sample data sets: four that scikit-learn ships, and four that are generated.

The shipped ones are read from the files of the installed package, without importing scikit-learn.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import Batch
from rosenblatt.data.errors import BadInput
from rosenblatt.data.examples import Examples
from rosenblatt.data.schema import Column, LabelKind, Schema, TableSchema

PREFIX = "sample:"
ROWS = 200
SEED = 1958  # the year of Rosenblatt's paper

WINE = [
    *("alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids"),
    *("nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280/od315_of_diluted_wines"),
    "proline",
]
IRIS = ["sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"]
MEASUREMENTS = [
    *("radius", "texture", "perimeter", "area", "smoothness"),
    *("compactness", "concavity", "concave points", "symmetry", "fractal dimension"),
]
CANCER = [
    *(f"mean {name}" for name in MEASUREMENTS),
    *(f"{name} error" for name in MEASUREMENTS),
    *(f"worst {name}" for name in MEASUREMENTS),
]
PIXELS = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]


class Sample(NamedTuple):
    """A small data set."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    feature_names: list[str]


def load_sample(name: str) -> Sample:
    """Return a sample by its name.

    >>> sample = load_sample("iris")
    >>> sample.X.shape, str(sample.y[0]), sample.feature_names[0]
    ((150, 4), 'setosa', 'sepal length (cm)')
    """
    if name not in SAMPLES:
        raise BadInput(PREFIX + name, None, f"no such sample; there are {', '.join(SAMPLES)}")
    return SAMPLES[name]()


class SampleExamples(Examples):
    """Examples of a sample; the line of a row is its number."""

    format = "sample"

    def __init__(
        self,
        source: str,
        schema: Schema | None,
        batch_rows: int | None,
        skip_bad: bool,
        scale: bool = False,
    ) -> None:
        super().__init__(source, batch_rows, skip_bad)
        sample = load_sample(source.removeprefix(PREFIX))
        kind: LabelKind = "text" if sample.y.dtype.kind == "U" else "integer"
        table = TableSchema(tuple(Column(name) for name in sample.feature_names), "class", kind)
        self._schema = replace(table, preprocessing=table.plan(scale=scale).fit(sample.X))
        self._sample = sample if schema is None else self._as_trained(sample, schema)

    @property
    def schema(self) -> TableSchema:
        """Numeric columns, and the target ``class``."""
        return self._schema

    def _as_trained(self, sample: Sample, schema: Schema) -> Sample:
        names = sample.feature_names
        expected = schema.feature_names or []
        if not isinstance(schema, TableSchema) or schema.any_discrete or not set(expected) <= set(names):
            known = f"the features {', '.join(expected[:5])} ..." if expected else "LIBSVM text"
            raise BadInput(self.path, None, f"does not fit the model, which was trained on {known}")
        self._schema = schema
        return Sample(sample.X[:, [names.index(name) for name in expected]], sample.y, expected)

    def read(self, prepared: bool = True) -> Batch:
        """Return all rows, unscaled without ``prepared``."""
        if prepared:
            return super().read()
        return Batch(self._sample.X, self._sample.y, np.arange(1, self._sample.y.size + 1))

    def _blocks(self) -> Iterator[Batch]:
        fitted = self._schema.preprocessing
        X = self._sample.X if fitted is None else fitted.apply(self._sample.X, complete=True)
        yield Batch(X, self._sample.y, np.arange(1, self._sample.y.size + 1))


def _load_shipped(file: str, names: list[str], n_comment: int = 1) -> tuple[NDArray[np.float64], list[str]]:
    """Load a data file of the installed scikit-learn: its numbers, and the class names in its first line."""
    package = find_spec("sklearn")
    if package is None or not package.submodule_search_locations:
        raise BadInput(PREFIX + file, None, "comes with scikit-learn: pip install scikit-learn")
    path = Path(package.submodule_search_locations[0], "datasets", "data", file)
    if not path.exists():
        raise BadInput(PREFIX + file, None, f"this scikit-learn does not ship {file}")
    table = np.loadtxt(path, delimiter=",", skiprows=n_comment)
    if table.shape[1] != len(names) + 1:
        raise BadInput(PREFIX + file, None, f"this scikit-learn ships another {file}")
    classes = path.read_text().partition("\n")[0].split(",")[2:] if n_comment else []
    return table, classes


def _with_class_names(file: str, names: list[str]) -> Callable[[], Sample]:
    def load() -> Sample:
        table, classes = _load_shipped(file, names)
        return Sample(np.ascontiguousarray(table[:, :-1]), np.array(classes)[table[:, -1].astype(int)], names)

    return load


def _digits() -> Sample:
    table, _ = _load_shipped("digits.csv.gz", PIXELS, n_comment=0)
    return Sample(np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64), PIXELS)


def _generated(generate: Callable[[np.random.Generator], tuple[Any, Any]]) -> Callable[[], Sample]:
    def load() -> Sample:
        X, positive = generate(np.random.default_rng(SEED))
        return Sample(np.asarray(X), np.where(positive, 1, -1), ["x1", "x2"])

    return load


def _separable(rng: np.random.Generator) -> tuple[Any, Any]:
    """Points of a square at least 0.15 away from the line 2·x1 − x2 = 0.3, on either side."""
    X = rng.uniform(-1, 1, (5 * ROWS, 2))
    distance = (X @ [2.0, -1.0] - 0.3) / np.sqrt(5.0)
    outside = np.flatnonzero(np.abs(distance) >= 0.15)[:ROWS]
    return X[outside], distance[outside] > 0


def _xor(rng: np.random.Generator) -> tuple[Any, Any]:
    """Points away from the axes; positive if exactly one coordinate is."""
    X = rng.uniform(0.1, 1, (ROWS, 2)) * rng.choice([-1.0, 1.0], (ROWS, 2))
    return X, X[:, 0] * X[:, 1] < 0


def _circles(rng: np.random.Generator) -> tuple[Any, Any]:
    """A disc of radius 0.5 inside a ring of radii 0.8 to 1; the disc is positive."""
    inside = np.arange(ROWS) % 2 == 0
    angle = rng.uniform(0, 2 * np.pi, ROWS)
    radius = np.where(inside, 0.5 * np.sqrt(rng.random(ROWS)), rng.uniform(0.8, 1, ROWS))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), inside


def _moons(rng: np.random.Generator) -> tuple[Any, Any]:
    """Two interleaved half circles, 0.1 wide."""
    upper = np.arange(ROWS) % 2 == 0
    angle = rng.uniform(0, np.pi, ROWS)
    radius = rng.uniform(0.95, 1.05, ROWS)
    x1, x2 = radius * np.cos(angle), radius * np.sin(angle)
    return np.column_stack([np.where(upper, x1, 1 - x1), np.where(upper, x2, 0.5 - x2)]), upper


SAMPLES: dict[str, Callable[[], Sample]] = {
    "breast-cancer": _with_class_names("breast_cancer.csv", CANCER),
    "digits": _digits,
    "iris": _with_class_names("iris.csv", IRIS),
    "wine": _with_class_names("wine_data.csv", WINE),
    "separable": _generated(_separable),
    "xor": _generated(_xor),
    "circles": _generated(_circles),
    "moons": _generated(_moons),
}
