"""What a model file must hold: one table for every kind of file, and the one function that checks a file against it.

A file is a JSON header and named tensors. Compiled loops trust class indices, row numbers, clocks and scales without
looking, so nothing of a file reaches them before :func:`check_content` has compared it with the table of its kind:
dtype, shape, range, order, and the relations between tensors. Every reader goes through
:func:`rosenblatt.storage.read_model`, which calls it. An error is a ValueError that names the tensor or header field,
the place, the value and what was expected.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.data.schema import schema_from_dict

Check = Callable[[Any, str], None]  # of a header field: its value and its place

DEEPEST = 64  # levels of lists and objects in a header
LARGEST_COUNT = 2**53  # rows, updates, mistakes: exact as a float, and far from the end of an int64
INTEGERS = 2**64  # no integer of a header reaches this
MULTI_CLASS = ("joint", "ovr")
FORGET = ("oldest", "random", "project")
FLOATS = ("float32", "float64")
LABEL_KINDS = {
    "b": ("bool",),
    "i": ("int8", "int16", "int32", "int64"),
    "u": ("uint8", "uint16", "uint32", "uint64"),
    "f": ("float16", "float32", "float64"),
}


# What files of format version 1 call a field that has another name in memory.
FILE_FIELDS = {"scale_sum": "shadow", "max_sqnorm": "reach", "target": "up", "rival": "down"}


def tensor_names(name: str, dtype: np.dtype[Any]) -> dict[str, str]:
    """Return, for every field of a structured array called ``name``, the tensor that stores it."""
    return {field: f"{name}.{FILE_FIELDS.get(field, field)}" for field in dtype.names or ()}


def tensors_of(name: str, records: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the tensors that store a structured array."""
    return {tensor: records[field] for field, tensor in tensor_names(name, records.dtype).items()}


class Content(NamedTuple):
    """A file that was checked: its header, its tensors, and its classes as an array (None where it has none)."""

    kind: str
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    classes: NDArray[Any] | None
    symbols: dict[str, float]

    @property
    def about(self) -> dict[str, Any]:
        """What the caller of ``save`` wrote into the header."""
        about: dict[str, Any] = self.header["about"]
        return about

    @property
    def fields(self) -> dict[str, Any]:
        """The part of the header that belongs to the kind of file."""
        fields: dict[str, Any] = self.header[KINDS[self.kind].section]
        return fields

    def records(self, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return tensors ``name.field`` as one structured array."""
        names = tensor_names(name, dtype)
        records = np.zeros(self.arrays[next(iter(names.values()))].size, dtype)
        for field, tensor in names.items():
            records[field] = self.arrays[tensor]
        return records


# --- Header -----------------------------------------------------------------------------------------------------------


def parse_header(text: str) -> Any:
    """Parse JSON that comes from anywhere: no duplicate keys, no number that is not finite, nothing huge or deep.

    >>> parse_header('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the header has the key 'a' twice
    """
    try:
        value = json.loads(
            text,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_finite,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise ValueError(f"the header is nested deeper than {DEEPEST} levels") from None
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return value
    raise ValueError(f"the header is nested deeper than {DEEPEST} levels")


def _integer(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) >= INTEGERS:
        raise ValueError(f"the header has the integer {digits[:20]}…, beyond 64 bits")
    return int(digits)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the header has the number {text[:20]}, which is not finite")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the header has the key {next(n for n in names if names.count(n) > 1)!r} twice")
    return fields


def refuse(place: str, value: Any, expected: str) -> None:
    """Raise ValueError for a value that is not what it should be."""
    shown = repr(value)
    raise ValueError(f"{place} is {shown if len(shown) <= 60 else shown[:57] + '...'}, expected {expected}")


def whole(least: int = 0, most: int = LARGEST_COUNT) -> Check:
    """An integer in ``[least, most]``."""

    def check(value: Any, place: str) -> None:
        if type(value) is not int or not least <= value <= most:
            refuse(place, value, f"an integer from {least} to {most}")

    return check


def number(least: float = -math.inf, most: float = math.inf, above: float = -math.inf) -> Check:
    """A finite number in ``[least, most]`` and above ``above``."""

    def check(value: Any, place: str) -> None:
        if type(value) not in (int, float) or not (least <= value <= most and value > above):
            refuse(place, value, f"a number {_span(least, most, above)}")

    return check


def word(value: Any, place: str) -> None:
    """A finite number, or an infinity as a word: how JSON holds ``inf``."""
    if not (type(value) in (int, float) or (type(value) is str and value in ("inf", "-inf"))):
        refuse(place, value, "a number, 'inf' or '-inf'")


def flag(value: Any, place: str) -> None:
    """True or false."""
    if type(value) is not bool:
        refuse(place, value, "true or false")


def text(value: Any, place: str) -> None:
    """A string without NUL, which ends strings elsewhere."""
    if type(value) is not str or "\0" in value:
        refuse(place, value, "text without NUL")


def one_of(*values: str) -> Check:
    """One of these strings."""

    def check(value: Any, place: str) -> None:
        if type(value) is not str or value not in values:
            refuse(place, value, f"one of {', '.join(values)}")

    return check


def maybe(check: Check) -> Check:
    """What ``check`` accepts, or null."""

    def checked(value: Any, place: str) -> None:
        if value is not None:
            check(value, place)

    return checked


def listing(check: Check) -> Check:
    """A list of what ``check`` accepts."""

    def checked(value: Any, place: str) -> None:
        if type(value) is not list:
            refuse(place, value, "a list")
        for number_, item in enumerate(value):
            check(item, f"{place}[{number_}]")

    return checked


def tupled(*checks: Check) -> Check:
    """A list with one item for each check."""

    def checked(value: Any, place: str) -> None:
        if type(value) is not list or len(value) != len(checks):
            refuse(place, value, f"a list of {len(checks)}")
        for number_, (check, item) in enumerate(zip(checks, value, strict=True)):
            check(item, f"{place}[{number_}]")

    return checked


def record(
    fields: Mapping[str, Check], optional: Mapping[str, Check] | None = None, *, others: bool = False
) -> Check:
    """An object with all ``fields``, any of ``optional``, and nothing else unless ``others`` says so."""
    known = {**fields, **(optional or {})}

    def checked(value: Any, place: str) -> None:
        if type(value) is not dict:
            refuse(place, value, "an object")
        for name in fields:
            if name not in value:
                raise ValueError(f"{place}.{name} is missing")
        for name, item in value.items():
            if name in known:
                known[name](item, f"{place}.{name}")
            elif not others:
                raise ValueError(f"{place}.{name} is not known; this version knows {', '.join(known)}")

    return checked


anything: Check = record({}, others=True)


def rule(value: Any, place: str) -> None:
    """A rule of this package with its parameters in range."""
    record({"name": one_of(*rules.BY_NAME)}, others=True)(value, place)
    for name, item in value.items():
        if name != "name":
            word(item, f"{place}.{name}")
    try:
        rules.from_dict(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{place} does not exist, {error}") from None


def kernel(value: Any, place: str) -> None:
    """A kernel of this package, or the name of a caller's function."""
    fields: dict[str, dict[str, Check]] = {
        "poly": {
            "degree": whole(1, 2**31),
            "gamma": number(above=0.0),
            "coef0": number(),
            "halvings": whole(0, 1000),
        },
        "rbf": {"gamma": number(above=0.0)},
        "linear": {},
        "precomputed": {},
        "function": {"function": text},
    }
    record({"name": one_of(*fields)}, others=True)(value, place)
    record({"name": text, **fields[value["name"]]})(value, place)
    if value["name"] == "poly" and value["halvings"] * value["degree"] > 1000:
        refuse(f"{place}.halvings", value["halvings"], "a unit of at most 2^1000")


def standings(value: Any, place: str) -> None:
    """The margin, bound and accuracy of hypotheses on their training data."""
    record({}, dict.fromkeys(hypotheses.NAMES, tupled(word, word, number(0.0, 1.0))))(value, place)
    for name, (_, bound, _) in value.items():
        if float(bound) < 0.0:
            refuse(f"{place}.{name}[1]", bound, "a bound of 0 or more")


def labels(value: Any, place: str, *, ordered: bool = True) -> NDArray[Any]:
    """Return the classes of a header as an array: distinct, and ascending where they are searched."""
    record({"kind": one_of(*LABEL_KINDS, "U", "O"), "type": text, "values": listing(_nothing)})(value, place)
    kind, values = value["kind"], value["values"]
    if kind in LABEL_KINDS:
        names = LABEL_KINDS[kind]
        swapped = re.fullmatch(r"[<>=|]?[biuf][1248]", value["type"])
        if value["type"] not in names and (swapped is None or np.dtype(value["type"]).name not in names):
            refuse(f"{place}.type", value["type"], f"one of {', '.join(names)}")
    expected = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float), "U": (str,)}
    allowed = expected.get(kind, (bool, int, float, str))
    for number_, item in enumerate(values):
        if type(item) not in allowed or (type(item) is str and "\0" in item):
            refuse(f"{place}.values[{number_}]", item, f"a label of kind {kind!r}, without NUL")
    if kind == "O" and len({type(item) is str for item in values}) > 1:
        refuse(f"{place}.values", values, "labels that are all text, or all numbers")
    dtype = object if kind == "O" else np.str_ if kind == "U" else np.dtype(value["type"])
    try:
        with np.errstate(over="raise"):
            classes = np.array(values, dtype=dtype)
    except (OverflowError, ValueError, FloatingPointError) as error:
        raise ValueError(f"{place}.values do not fit {value['type']}, {error}") from None
    if classes.dtype.kind in "iuf" and classes.tolist() != values:
        refuse(f"{place}.values", values, f"numbers that {value['type']} holds exactly")
    if ordered and not (classes[:-1] < classes[1:]).all():
        refuse(f"{place}.values", values, "distinct labels in ascending order")
    if len(set(classes.tolist())) < classes.size:
        refuse(f"{place}.values", values, "distinct labels")
    return classes


def _nothing(value: Any, place: str) -> None:
    pass


COUNT = whole()
EPOCHS = listing(tupled(COUNT, COUNT))
RUN: dict[str, Check] = {
    "rule": rule,
    "fit_intercept": flag,
    "seed": whole(-INTEGERS, INTEGERS),
    "rows_seen": COUNT,
}
SHARD_PASS = tupled(COUNT, COUNT, COUNT, COUNT, number(0.0), COUNT)
# What is written about a model beside its numbers: other keys belong to whoever saved it.
ABOUT = record(
    {},
    {
        "learner": text,
        "estimator": text,
        "hypothesis": one_of(*hypotheses.NAMES),
        "n_iter": COUNT,
        "normalise": flag,
        "feature_names": maybe(listing(text)),
        "schema": maybe(anything),
        "hashed_names": anything,
        "parameters": record(
            {},
            {"max_iter": maybe(COUNT), "shuffle": flag, "warm_start": flag, "keep_ledger": flag},
            others=True,
        ),
        "stream": record(
            {"rows": COUNT, "forget": maybe(number(1.0)), "since": COUNT},
            {
                "online": flag,
                "right": COUNT,
                "service": record(
                    {
                        "settings": anything,
                        "counts": record({}, {"mistakes": COUNT, "seq": COUNT, "failed": COUNT}),
                    }
                ),
            },
        ),
        "mixing_run": anything,
        "mixed_epochs": listing(
            tupled(COUNT, COUNT, COUNT, number(0.0), number(0.0), COUNT, COUNT, listing(SHARD_PASS))
        ),
    },
    others=True,
)


# --- Tensors ----------------------------------------------------------------------------------------------------------


class Tensor(NamedTuple):
    """What stands under one name: floats are finite always.

    A symbol in ``shape`` that is not known yet is bound to the dimension found; ``least`` and ``most`` may be symbols.
    Tensors of one ``part`` are there together or not at all.
    """

    dtypes: tuple[str, ...]
    shape: tuple[str | int, ...]
    least: float | str = -math.inf
    most: float | str = math.inf
    above: float = -math.inf
    order: str = ""  # "ascending" or "strictly ascending"
    part: str = ""
    binds: str = ""  # the symbol that its only value is bound to


FLOAT, INT = ("float64",), ("int64",)


def _counts(shape: str, *names: str, prefix: str) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": Tensor(INT, (shape,), 0, LARGEST_COUNT) for name in names}


# The running numbers of a run: see rosenblatt.core.state.
RUN_TENSORS = {
    "running.scale": Tensor(FLOAT, ("hypotheses",), above=0.0),
    "running.shadow": Tensor(FLOAT, ("hypotheses",), 0.0),
    "running.sqnorm": Tensor(FLOAT, ("hypotheses",)),
    "running.decay": Tensor(FLOAT, ("hypotheses",), 0.0),
    "running.updates": Tensor(INT, ("hypotheses",), 0, LARGEST_COUNT),
    "totals.clock": Tensor(FLOAT, (1,), 0.0, binds="clock"),
    "totals.mistakes": Tensor(INT, (1,), 0, LARGEST_COUNT),
    "totals.updates": Tensor(INT, (1,), 0, LARGEST_COUNT, binds="updates"),
    "totals.reach": Tensor(FLOAT, (1,), 0.0, binds="reach"),
    "totals.written": Tensor(INT, (1,), 0, 0),
}
WEIGHTS = {
    "W": Tensor(FLOATS, ("rows", "width")),
    "A": Tensor(FLOAT, ("rows", "width")),
    **RUN_TENSORS,
}
LEDGER = {
    "ledger.row": Tensor(INT, ("lines",), 0, "last_row", part="ledger"),
    "ledger.up": Tensor(("int32",), ("lines",), "first_up", "last_up", part="ledger"),
    "ledger.down": Tensor(("int32",), ("lines",), "first_down", "last_down", part="ledger"),
    "ledger.tau": Tensor(FLOAT, ("lines",), part="ledger"),
    "ledger.decay": Tensor(FLOAT, ("lines",), 0.0, part="ledger"),
    "ledger.clock": Tensor(FLOAT, ("lines",), 0.0, "clock", order="ascending", part="ledger"),
    "ledger.score": Tensor(FLOAT, ("lines",), part="ledger"),
    "ledger.sqnorm": Tensor(FLOAT, ("lines",), part="ledger"),
}


def _support(prefix: str, rows: str, dense: str, sparse: str) -> dict[str, Tensor]:
    """Rows of examples, dense or CSR; which of the two, and whether there are any, is for a relation to say."""
    offsets = ("int32", "int64")
    return {
        prefix: Tensor(FLOATS, (rows, "features"), part=dense),
        f"{prefix}.data": Tensor(FLOATS, ("stored",), part=sparse),
        f"{prefix}.indices": Tensor(offsets, ("stored",), 0, "last_feature", part=sparse),
        f"{prefix}.indptr": Tensor(offsets, ("offsets",), 0, "stored", order="ascending", part=sparse),
    }


LEARNER_TENSORS = {
    **WEIGHTS,
    "S": Tensor(FLOAT, ("rows", "width"), part="S"),
    "pocket": Tensor(FLOATS, ("rows", "width"), part="pocket"),
    "ledger.support_rows": Tensor(
        INT, ("support",), 0, "last_row", order="strictly ascending", part="ledger"
    ),
    "ledger.start": Tensor(FLOATS, ("rows", "width"), part="ledger"),
    **LEDGER,
    **_support("ledger.support", "support", "dense", "sparse"),
}
DUAL_TENSORS = {
    "support_rows": Tensor(INT, ("support",), 0, "last_row"),
    "W": Tensor(FLOAT, ("rows", "support")),
    "A": Tensor(FLOAT, ("rows", "support")),
    **RUN_TENSORS,
    **LEDGER,
    "pocket": Tensor(INT, ("hypotheses",), 0, "lines", part="pocket"),
    **_support("support", "support", "dense", "sparse"),
    "budget.since": Tensor(INT, ("budget",), 0, LARGEST_COUNT, part="budget"),
    "budget.counts": Tensor(INT, (3,), 0, LARGEST_COUNT, part="budget"),
    "toll.mistakes": Tensor(FLOAT, (1,), 0.0, part="budget"),
    "toll.squares": Tensor(FLOAT, (1,), part="budget"),
    "toll.lengths": Tensor(FLOAT, (1,), 0.0, part="budget"),
    "toll.shrunk": Tensor(FLOAT, (1,), 0.0, part="budget"),
    "toll.short": Tensor(FLOAT, (1,), 0.0, part="budget"),
}
# A Gram matrix of its own has its support rows as columns.
PRECOMPUTED = {"support": Tensor(INT, ("support",), 0, "last_feature", part="dense")}
SUMS_TENSORS = {
    "sums": Tensor(FLOAT, ("classes", "features")),
    "counts": Tensor(FLOAT, ("classes",), 0.0),
}


def check_tensors(
    tensors: Mapping[str, Tensor],
    parts: Mapping[str, bool | None],
    symbols: dict[str, float],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Compare arrays with their table; symbols that shapes and values bind are added to ``symbols``.

    ``parts`` says which parts of the table must be there (True), must not (False), or may be (None).
    """
    unknown = sorted(set(arrays) - set(tensors))
    if unknown:
        raise ValueError(f"tensor {unknown[0]} is not known to this kind of file")
    for name, tensor in tensors.items():
        wanted = parts[tensor.part] if tensor.part else True
        if wanted is None:
            wanted = any(own.part == tensor.part and other in arrays for other, own in tensors.items())
        if wanted != (name in arrays):
            raise ValueError(f"tensor {name} is missing" if wanted else f"tensor {name} must not be there")
        if wanted:
            check_array(name, arrays[name], tensor, symbols)


def check_array(name: str, array: NDArray[Any], tensor: Tensor, symbols: dict[str, float]) -> None:
    """Compare one array with its line of a table."""
    if array.dtype.name not in tensor.dtypes or array.ndim != len(tensor.shape):
        expected = f"{' or '.join(tensor.dtypes)} of shape ({', '.join(map(str, tensor.shape))})"
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, expected {expected}")
    for have, symbol in zip(array.shape, tensor.shape, strict=True):
        want = symbols.setdefault(symbol, have) if isinstance(symbol, str) else symbol
        if have != want:
            raise ValueError(f"{name} has shape {array.shape}, but {symbol} is {want}")
    if not array.size:
        return
    least = symbols[tensor.least] if isinstance(tensor.least, str) else tensor.least
    most = symbols[tensor.most] if isinstance(tensor.most, str) else tensor.most
    if (least, most, tensor.above) == (-math.inf, math.inf, -math.inf):
        with np.errstate(over="ignore", invalid="ignore"):  # one look at every number where any will do
            if np.isfinite(array.sum()):
                return
    low, high = array.min().item(), array.max().item()  # not a number where one is not
    if not (math.isfinite(low) and math.isfinite(high)):
        refuse_first(name, array, ~np.isfinite(array), "a finite number")
    if not (low >= least and low > tensor.above and high <= most):
        wrong = (array < least) | (array <= tensor.above) | (array > most)
        refuse_first(name, array, wrong, f"a number {_span(least, most, tensor.above)}")
    if tensor.order:
        fallen = array[1:] <= array[:-1] if tensor.order.startswith("strictly") else array[1:] < array[:-1]
        if fallen.any():
            wrong = np.concatenate([[False], fallen])
            refuse_first(
                name, array, wrong, f"{tensor.order} numbers, after {array[int(wrong.argmax()) - 1]}"
            )
    if tensor.binds:
        symbols[tensor.binds] = low


def refuse_first(name: str, array: NDArray[Any], wrong: NDArray[np.bool_], expected: str) -> None:
    """Raise ValueError for the first place that is wrong, if one is."""
    if wrong.any():
        place = np.unravel_index(int(wrong.argmax()), wrong.shape)
        refuse(f"{name}[{', '.join(map(str, place))}]", array[place].item(), expected)


def _span(least: float, most: float, above: float = -math.inf) -> str:
    parts = (
        [f"above {above:.17g}"]
        if above > least
        else [f"of {least:.17g} or more"]
        if least > -math.inf
        else []
    )
    return " and ".join([*parts, *([f"at most {most:.17g}"] if most < math.inf else [])]) or "that is finite"


# --- Relations between tensors ----------------------------------------------------------------------------------------

DRIFT = {"float32": 1e-2, "float64": 1e-7}  # of ‖w‖² kept up by differences, for each update
ROUNDED = 1e-3  # how far sums in float32 may be from their value


def bias_is_zero_without_intercept(content: Content) -> None:
    """``fit_intercept=False``: the weight of the always-one coordinate never moves."""
    if not content.fields["fit_intercept"]:
        for name in ("W", "A", "pocket", "ledger.start"):
            if name in content.arrays:
                bias = content.arrays[name][:, 0]
                refuse_first(f"{name}[:, 0]", bias, bias != 0.0, "0 where no intercept is learned")


def classes_before_updates(content: Content) -> None:
    """A learner that knows no class has learned nothing; a kernel learner is saved only after it has."""
    if content.classes is not None and not content.classes.size:
        learned = content.symbols["clock"] or content.symbols["updates"] or content.arrays["W"].any()
        if learned or content.kind == "dual" or ("ledger.row" in content.arrays and content.symbols["lines"]):
            refuse("classes.values", [], "the classes that the weights were learned from")


def updates_add_up(content: Content) -> None:
    """Two classes that became several count the updates they shared once in all, and once for each."""
    own, total = content.arrays["running.updates"], int(content.symbols["updates"])
    if not int(own.max()) <= total <= int(own.sum()):
        refuse(
            "totals.updates", total, f"a number from {own.max()} to {own.sum()}, as running.updates counts"
        )
    for place, name in ((0, "mistakes"), (1, "updates")):
        counted = sum(epoch[place] for epoch in content.fields.get("epochs", ()))
        if counted > int(content.arrays[f"totals.{name}"][0]):
            refuse(f"totals.{name}", int(content.arrays[f"totals.{name}"][0]), f"the {counted} of all epochs")


def drift(content: Content) -> float:
    """Return how far the rounding of all updates may have taken ``‖w‖²``, as far as steps of the rule can tell."""
    rule_ = {name: float(value) for name, value in content.fields["rule"].items() if name != "name"}
    steps = [1.0 / value if name == "lam" and value else value for name, value in rule_.items()]
    step = max([1.0, *(value for value in steps if value < math.inf)])
    start = float(content.fields.get("start_norm", 0.0))
    reached = (1.0 + content.symbols["updates"]) * content.symbols["reach"] * step * step + start * start
    return DRIFT[content.fields.get("dtype", content.arrays["W"].dtype.name)] * reached + 1e-9


def sqnorm_is_of_weights(content: Content) -> None:
    """``running.sqnorm`` is ``‖w‖²``, kept up by differences, so it may be off by the rounding of every update.

    How far is told by the norms that the weights went through: those that steps of this rule can reach, and those that
    the accumulator ``A`` remembers. ROMMA lengthens weights by a quotient of differences, whose error has no bound.
    """
    if content.fields["rule"]["name"] == "romma":
        return
    W, A, kept = content.arrays["W"], content.arrays["A"], content.arrays["running.sqnorm"]
    one = content.arrays["running.scale"].size == 1
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.einsum("ij,ij->i", W, W, dtype=np.float64)
        past = np.einsum("ij,ij->i", A, A)
        square, past = (np.array([each.sum()]) if one else each for each in (square, past))
        square = square * content.arrays["running.scale"] ** 2
        wrong = ~(np.abs(kept - square) <= 1e-2 * square + 1e-9 * past + drift(content))
    if wrong.any():
        place = int(wrong.argmax())
        refuse(f"running.sqnorm[{place}]", kept[place].item(), f"‖w‖² = {square[place]:.6g}")


def sqnorm_is_within_reach(content: Content) -> None:
    """``‖Σ αᵢ φ(xᵢ)‖ ≤ Σ |αᵢ| R``: what can be said of the norm of a kernel learner without its Gram matrix."""
    if content.fields["rule"]["name"] == "romma":
        return
    kept = content.arrays["running.sqnorm"]
    with np.errstate(over="ignore", invalid="ignore"):
        now, past = (np.abs(content.arrays[name]).sum(axis=1) for name in ("W", "A"))
        now, past = (np.array([each.sum()]) if kept.size == 1 else each for each in (now, past))
        now = now * content.arrays["running.scale"]
        room = drift(content) + 1e-9 * past * past * content.symbols["reach"]
        most = 1.01 * now * now * content.symbols["reach"] + room
    refuse_first("running.sqnorm", kept, ~((kept <= most) & (kept >= -room)), "‖w‖², at most (Σ|W|)² · reach")


def beside_the_weights(content: Content) -> None:
    """``S``: a variance in (0, 1] for every weight (AROW), or the power of every weight (ALMA with p above 2)."""
    if "S" not in content.arrays:
        sqnorm_is_of_weights(content)
        return
    S, W, own = content.arrays["S"], content.arrays["W"], rules.from_dict(content.fields["rule"])
    if isinstance(rules.geometry_of(own), rules.SecondOrder):
        refuse_first("S", S, ~((S > 0.0) & (S <= 1.0 + 1e-9)), "a variance above 0 and at most 1")
        sqnorm_is_of_weights(content)
        return
    with np.errstate(over="ignore", under="ignore"):
        V = W.astype(np.float64)
        power = np.sign(V) * np.abs(V) ** (own.p - 1.0)
        wrong = ~(np.abs(S - power) <= 1e-6 * np.abs(power) + 1e-12)
        refuse_first("S", S, wrong, f"the weight's power {own.p - 1.0:g}")
        total = np.einsum("ij,ij->i", V, S)
    kept = content.arrays["running.sqnorm"]
    total = np.array([total.sum()]) if kept.size == 1 else total
    refuse_first("running.sqnorm", kept, ~(np.abs(kept - total) <= 1e-2 * total + 1e-6), "Σ|w|^p")


def support_is_whole(name: str, content: Content, holds: bool) -> None:
    """A CSR matrix has one offset more than rows and ends with its last value; columns of a row ascend."""
    dense, data = name in content.arrays, f"{name}.data" in content.arrays
    if dense + data != holds:
        raise ValueError(
            f"tensor {name} is missing" if holds and not dense else f"tensor {name} must not be there"
        )
    if not data:
        return
    indptr, indices = content.arrays[f"{name}.indptr"], content.arrays[f"{name}.indices"]
    if indptr.size != content.symbols["support"] + 1 or indptr[0] != 0 or indptr[-1] != indices.size:
        refuse(
            f"{name}.indptr",
            f"{indptr.size} offsets from {indptr[:1].tolist()} to {indptr[-1:].tolist()}",
            f"{content.symbols['support'] + 1} from 0 to {indices.size}",
        )
    fallen = np.zeros(indices.size, np.bool_)
    fallen[1:] = indices[1:] <= indices[:-1]
    starts = indptr[:-1]
    fallen[starts[starts < indices.size]] = False
    refuse_first(f"{name}.indices", indices, fallen, "ascending columns within a row")


def row_sqnorms(name: str, content: Content) -> NDArray[np.float64]:
    """Return ``‖x‖²`` of every support row."""
    with np.errstate(over="ignore"):
        if name in content.arrays:
            X = content.arrays[name]
            return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
        squares = content.arrays[f"{name}.data"].astype(np.float64) ** 2
        sums = np.concatenate([[0.0], np.cumsum(squares)])
        indptr = content.arrays[f"{name}.indptr"]
        return np.asarray(sums[indptr[1:]] - sums[indptr[:-1]])


def ledger_names_its_support(content: Content) -> None:
    """Every line names a stored row, every stored row has a line, and each hypothesis as many lines as updates."""
    if "ledger.row" not in content.arrays:
        return
    prefix = "" if content.kind == "dual" else "ledger."
    stored, lines = content.arrays[f"{prefix}support_rows"], content.arrays["ledger.row"]
    order = np.argsort(stored, kind="stable") if content.kind == "dual" else None
    ascending = stored if order is None else stored[order]
    place = np.searchsorted(ascending, lines)
    known = place < stored.size
    known[known] = ascending[place[known]] == lines[known]
    refuse_first("ledger.row", lines, ~known, f"a row of {prefix}support_rows")
    named = np.zeros(stored.size, np.bool_)
    named[place] = True
    refuse_first(f"{prefix}support_rows", ascending, ~named, "a row that a line of the ledger names")
    up, down = content.arrays["ledger.up"], content.arrays["ledger.down"]
    refuse_first("ledger.down", down, up == down, "another class than ledger.up")
    counts = content.arrays["running.updates"]
    own = np.bincount(up, minlength=counts.size) if counts.size > 1 else np.array([lines.size])
    refuse_first("running.updates", counts, counts != own, "as many as the ledger has lines")


def learner_support(content: Content) -> None:
    """The examples that the ledger names are in the file, and none is longer than the longest that was seen."""
    holds = "ledger.row" in content.arrays and content.symbols["support"] > 0
    support_is_whole("ledger.support", content, holds)
    if holds:
        data = content.arrays[
            "ledger.support" if "ledger.support" in content.arrays else "ledger.support.data"
        ]
        start = content.arrays["ledger.start"]
        if start.dtype.itemsize < data.dtype.itemsize:
            raise ValueError(f"ledger.start is {start.dtype}, but ledger.support {data.dtype}")
        sqnorm = row_sqnorms("ledger.support", content)
        most = content.symbols["reach"] * (1.0 + ROUNDED) + ROUNDED
        refuse_first("ledger.support, squared norms of rows", sqnorm, ~(sqnorm <= most), f"at most {most:g}")


def dual_support(content: Content) -> None:
    """Support rows are named once and stored, and none has a kernel with itself beyond the largest that was seen."""
    stored, fields = content.arrays["support_rows"], content.fields
    if np.unique(stored).size < stored.size:
        refuse("support_rows", stored.tolist(), "every row once")
    name = fields["kernel"]["name"]
    if name == "precomputed":
        if ("support" in content.arrays) != (stored.size > 0):
            raise ValueError(
                f"tensor support is {'missing' if stored.size else 'there without support rows'}"
            )
        if stored.size:
            columns = content.arrays["support"]
            refuse_first("support", columns, columns != stored, "the column of the row in support_rows")
        return
    support_is_whole("support", content, stored.size > 0)
    if not stored.size:
        return
    values = content.arrays["support" if "support" in content.arrays else "support.data"]
    if values.dtype.name != fields["dtype"]:
        raise ValueError(f"support is {values.dtype}, but dual.dtype says {fields['dtype']}")
    with np.errstate(over="ignore"):
        sqnorm = row_sqnorms("support", content)
        if name == "poly":
            of = fields["kernel"]
            sqnorm = (of["gamma"] * sqnorm + of["coef0"]) ** of["degree"]
    if name in ("poly", "linear"):
        most = content.symbols["reach"] * (1.0 + 10 * ROUNDED) + ROUNDED
        refuse_first(
            "support, kernels of rows with themselves", sqnorm, ~(sqnorm <= most), f"at most {most:g}"
        )
    elif not np.isfinite(sqnorm).all():
        refuse_first("support, squared norms of rows", sqnorm, ~np.isfinite(sqnorm), "a finite number")


def dual_pocket(content: Content) -> None:
    """The pocket of each hypothesis is one that its updates went through."""
    if "pocket" in content.arrays:
        own, pocket = content.arrays["running.updates"], content.arrays["pocket"]
        refuse_first("pocket", pocket, pocket > own, "at most as many updates as the hypothesis has")


def budget_slots(content: Content) -> None:
    """Slots are filled from the first on, and emptied only when all are full."""
    if "budget.since" not in content.arrays:
        return
    since, (used, emptied, visits) = content.arrays["budget.since"], content.arrays["budget.counts"].tolist()
    support, slots = int(content.symbols["support"]), since.size
    if used != support or used > slots:
        refuse("budget.counts[0]", used, f"the {support} support rows, in {slots} slots")
    if emptied and used < slots:
        refuse("budget.counts[1]", emptied, "0 while slots are free")
    refuse_first("budget.since", since, since > visits, f"at most the {visits} of budget.counts[2]")
    if since[used:].any():
        refuse_first(f"budget.since[{used}:]", since[used:], since[used:] != 0, "0 in a free slot")


def sums_are_of_counts(content: Content) -> None:
    """A class without examples has no sum; of binary features no sum is beyond the count of its class."""
    sums, counts = content.arrays["sums"], content.arrays["counts"]
    refuse_first("sums", sums, (sums != 0.0) & (counts == 0.0)[:, None], "0 in a class without examples")
    if content.kind == "naive-bayes":
        most = counts[:, None] * (1.0 + 1e-9)
        refuse_first("sums", sums, (sums < 0.0) | (sums > most), "from 0 to the count of the class")


def about_fits(content: Content) -> None:
    """Names, schema and hashed names speak of the features that there are."""
    about, features = content.about, int(content.symbols["features"])
    names = about.get("feature_names")
    if names is not None and len(names) != features:
        raise ValueError(f"about.feature_names has {len(names)} names for {features} features")
    if about.get("schema") is not None:
        try:
            schema = schema_from_dict(about["schema"])
        except ValueError as error:
            raise ValueError(f"about.schema is {error}") from None
        if schema.n_features != features:
            raise ValueError(f"about.schema has {schema.n_features} features, the model {features}")
        if names is not None and schema.feature_names is not None and list(schema.feature_names) != names:
            raise ValueError("about.feature_names are not those of about.schema")
    for place, name in about.get("hashed_names", {}).items():
        if re.fullmatch(r"0|[1-9][0-9]{0,9}", place) is None or int(place) >= features:
            refuse("about.hashed_names", place, f"features below {features}")
        text(name, f"about.hashed_names.{place}")
    stream = about.get("stream", {})
    if stream.get("right", 0) > stream.get("rows", 0):
        refuse("about.stream.right", stream["right"], f"at most the {stream['rows']} rows")
    if "stream" in about and stream["forget"] is None and stream["since"] != 0:
        refuse("about.stream.since", stream["since"], "0 where nothing is forgotten")


# --- Kinds of files ---------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """One kind of file."""

    section: str  # of the header that belongs to it
    header: Check
    tensors: Mapping[str, Tensor]
    symbols: Callable[[dict[str, Any], int], dict[str, float]]  # from the header and the number of classes
    parts: Callable[[dict[str, Any]], dict[str, bool | None]] = lambda _: {}
    relations: tuple[Callable[[Content], None], ...] = ()
    classes: str = "ordered"  # "ordered", "distinct", or "" where there are none


def _ledger_symbols(fields: dict[str, Any], rows: int) -> dict[str, float]:
    """Return which classes a line may name: ±1 in one row of weights is class 1; joint lines name two classes."""
    joint = fields["multi_class"] == "joint" and rows > 1
    return {
        "rows": rows,
        "hypotheses": 1 if joint else rows,
        "last_row": fields["rows_seen"] - 1,
        "first_up": 1 if rows == 1 else 0,
        "last_up": 1 if rows == 1 else rows - 1,
        "first_down": 0 if joint else -1,
        "last_down": rows - 1 if joint else -1,
    }


def _rows(classes: int) -> int:
    return 1 if classes <= 2 else classes


def _learner_parts(fields: dict[str, Any]) -> dict[str, bool | None]:
    own = rules.from_dict(fields["rule"])
    beside = not isinstance(rules.geometry_of(own), rules.Euclidean)
    ledger = False if beside else None
    return {"S": beside, "pocket": None, "ledger": ledger, "dense": ledger, "sparse": ledger}


def _dual_parts(fields: dict[str, Any]) -> dict[str, bool | None]:
    keeps, precomputed = fields["keep_ledger"], fields["kernel"]["name"] == "precomputed"
    return {
        "ledger": keeps,
        "pocket": None if keeps else False,
        "budget": fields["budget"] is not None,
        "dense": None,
        "sparse": False if precomputed else None,
    }


def dual_header(value: Any, place: str) -> None:
    """The settings of a kernel learner, each in range and together."""
    record(
        {
            **RUN,
            "seed": whole(0, 2**63 - 1),
            "kernel": kernel,
            "dtype": one_of(*FLOATS),
            "delta": number(0.0),
            "budget": maybe(whole(1, 2**31)),
            "forget": one_of(*FORGET),
            "tolerance": number(0.0, 1.0 - 2**-53),
            "multi_class": one_of(*MULTI_CLASS),
            "keep_ledger": flag,
            "block_size": maybe(whole(1, 2**31)),
            "n_features": whole(0, 2**48),
            "converged": flag,
            "epochs": EPOCHS,
            "standings": standings,
        }
    )(value, place)
    own = rules.from_dict(value["rule"])
    if not isinstance(rules.geometry_of(own), rules.Euclidean):
        refuse(f"{place}.rule", value["rule"], "a rule with a dual form")
    if value["tolerance"] and (value["budget"] is None or value["forget"] != "project"):
        refuse(f"{place}.tolerance", value["tolerance"], "0 without projections onto a budget")
    if value["keep_ledger"] and value["budget"] is not None:
        refuse(f"{place}.keep_ledger", True, "false with a budget")


def real_header(value: Any, place: str) -> None:
    """The settings of a learner of numbers."""
    record({**RUN, "passes": COUNT})(value, place)
    if value["rule"]["name"] != "widrow-hoff":
        refuse(f"{place}.rule.name", value["rule"]["name"], "widrow-hoff, the rule for numbers")


KINDS = {
    "learner": Kind(
        "learner",
        record(
            {
                **RUN,
                "multi_class": one_of(*MULTI_CLASS),
                "start_norm": number(0.0, 1e154),
                "converged": flag,
                "epochs": EPOCHS,
                "standings": standings,
            }
        ),
        LEARNER_TENSORS,
        lambda fields, classes: _ledger_symbols(fields, _rows(classes)),
        _learner_parts,
        (
            classes_before_updates,
            bias_is_zero_without_intercept,
            updates_add_up,
            beside_the_weights,
            ledger_names_its_support,
            learner_support,
        ),
    ),
    "dual": Kind(
        "dual",
        dual_header,
        DUAL_TENSORS,
        lambda fields, classes: {
            **_ledger_symbols(fields, _rows(classes)),
            "features": fields["n_features"],
            **({} if fields["budget"] is None else {"budget": fields["budget"]}),
        },
        _dual_parts,
        (
            classes_before_updates,
            updates_add_up,
            sqnorm_is_within_reach,
            ledger_names_its_support,
            dual_support,
            dual_pocket,
            budget_slots,
        ),
    ),
    "real": Kind(
        "model",
        real_header,
        WEIGHTS,
        lambda fields, classes: {"rows": 1, "hypotheses": 1},
        relations=(bias_is_zero_without_intercept, updates_add_up, sqnorm_is_of_weights),
        classes="",
    ),
    "centroid": Kind(
        "model",
        record({}),
        SUMS_TENSORS,
        lambda fields, classes: {"classes": classes},
        relations=(sums_are_of_counts,),
    ),
    "naive-bayes": Kind(
        "model",
        record({"smoothing": number(0.0), "binarize": maybe(number())}),
        SUMS_TENSORS,
        lambda fields, classes: {"classes": classes},
        relations=(sums_are_of_counts,),
    ),
    "planes": Kind(
        "model",
        record({}),
        {"weights": Tensor(FLOATS, ("rows", "width"))},
        lambda fields, classes: {"rows": _rows(classes)},
        classes="distinct",
    ),
}


def kind_of(header: Mapping[str, Any]) -> str:
    """Return the name of the kind of file that a header describes."""
    sections = [name for name in ("learner", "dual", "model") if name in header]
    if len(sections) != 1:
        raise ValueError(f"the header has {' and '.join(sections) or 'none'} of learner, dual and model")
    if sections[0] != "model":
        return sections[0]
    names = [name for name, kind in KINDS.items() if kind.section == "model"]
    one_of(*names)(header.get("kind"), "kind")
    return str(header["kind"])


def check_content(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Content:
    """Compare a header and tensors with the table of their kind; raise ValueError at the first difference."""
    name = kind_of(header)
    kind = KINDS[name]
    beside: dict[str, Check] = {"kind": text} if kind.section == "model" else {}
    record(
        {
            "format": text,
            "version": COUNT,
            kind.section: kind.header,
            "classes": maybe(anything),
            "about": ABOUT,
            **beside,
        }
    )(header, "header")
    classes = None
    if kind.classes:
        classes = labels(header["classes"], "classes", ordered=kind.classes == "ordered")
    elif header["classes"] is not None:
        refuse("classes", header["classes"], "null in a model of numbers")
    fields = header[kind.section]
    symbols = kind.symbols(fields, 0 if classes is None else classes.size)
    tensors = dict(kind.tensors)
    if name == "dual" and fields["kernel"]["name"] == "precomputed":
        tensors |= PRECOMPUTED
    _bind_width(arrays, symbols)
    check_tensors(tensors, kind.parts(fields), symbols, arrays)
    content = Content(name, header, arrays, classes, symbols)
    for relation in (*kind.relations, about_fits):
        relation(content)
    return content


def _bind_width(arrays: Mapping[str, NDArray[Any]], symbols: dict[str, float]) -> None:
    """Bind ``features``, and ``width`` with the bias before them, by the tensor that has them first."""
    for name, bias in (("W", 1), ("weights", 1), ("sums", 0)):
        if "features" not in symbols and name in arrays:
            if arrays[name].ndim != 2 or arrays[name].shape[1] < bias:
                raise ValueError(f"{name} has shape {arrays[name].shape}, expected rows and features")
            symbols["features"] = arrays[name].shape[1] - bias
            symbols["width"] = arrays[name].shape[1]
    symbols["last_feature"] = symbols.get("features", 0) - 1


def names_of(kinds: Iterable[str]) -> str:
    """Return kinds of files in words.

    >>> names_of(["learner", "dual"])
    'a learner or a kernel learner'
    """
    words = {"learner": "a learner", "dual": "a kernel learner", "real": "a model of numbers"}
    return " or ".join(words.get(kind, f"a model of kind {kind}") for kind in kinds)
