"""The vocabulary in which kinds of model files are declared: header fields, tensors, and how both map to attributes.

A kind of file is one :class:`Kind`. Writing (:meth:`Kind.pack`), validation (:meth:`Kind.check`) and reading
(:class:`Content`) follow from it. Errors are ValueErrors that name the tensor or header field, the place in it, the
value, and what was expected.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Check = Callable[[Any, str], None]  # of a header field: its value, and its place for the message
M = TypeVar("M")

MAX_DEPTH = 64  # levels of lists and objects in a header
MAX_COUNT = 2**53  # rows, updates, mistakes: exact as a float, and far from the end of an int64
INTEGERS = 2**64  # no integer of a header reaches this
LABEL_TYPES = {
    "b": ("bool",),
    "i": ("int8", "int16", "int32", "int64"),
    "u": ("uint8", "uint16", "uint32", "uint64"),
    "f": ("float16", "float32", "float64"),
}
LABEL_VALUES = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float), "U": (str,)}


# --- JSON -------------------------------------------------------------------------------------------------------------


def parse_header(text: str) -> Any:
    """Parse untrusted JSON: no duplicate keys, no number that is not finite, nothing huge or deep.

    >>> parse_header('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the header has the key 'a' twice
    """
    try:
        value = json.loads(
            text, parse_int=_integer, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_object
        )
    except RecursionError:
        raise ValueError(f"the header is nested deeper than {MAX_DEPTH} levels") from None
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return value
    raise ValueError(f"the header is nested deeper than {MAX_DEPTH} levels")


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


def json_number(value: float) -> float | str:
    """Return a number as JSON can hold it: infinities and nan as words."""
    return float(value) if math.isfinite(value) else str(value)


# --- Checks of header fields ------------------------------------------------------------------------------------------


def refuse(place: str, value: Any, expected: str) -> None:
    """Raise ValueError for a value that is not what it should be."""
    shown = repr(value)
    raise ValueError(f"{place} is {shown if len(shown) <= 60 else shown[:57] + '...'}, expected {expected}")


def whole(least: int = 0, most: int = MAX_COUNT) -> Check:
    """An integer in ``[least, most]``."""

    def check(value: Any, place: str) -> None:
        if type(value) is not int or not least <= value <= most:
            refuse(place, value, f"an integer from {least} to {most}")

    return check


def number(least: float = -math.inf, most: float = math.inf, above: float = -math.inf) -> Check:
    """A finite number in ``[least, most]`` and above ``above``."""

    def check(value: Any, place: str) -> None:
        if type(value) not in (int, float) or not (least <= value <= most and value > above):
            refuse(place, value, f"a number {_interval(least, most, above)}")

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
        for index, item in enumerate(value):
            check(item, f"{place}[{index}]")

    return checked


def tupled(*checks: Check) -> Check:
    """A list with one item for each check."""

    def checked(value: Any, place: str) -> None:
        if type(value) is not list or len(value) != len(checks):
            refuse(place, value, f"a list of {len(checks)}")
        for index, (check, item) in enumerate(zip(checks, value, strict=True)):
            check(item, f"{place}[{index}]")

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


def anything(value: Any, place: str) -> None:
    """Any value that JSON can hold."""


any_object: Check = record({}, others=True)


def labels_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """Return classes as JSON can hold them: numbers or strings, nothing that could hold an object."""
    values = classes.tolist()
    if classes.dtype.kind not in "biufUO" or any(not isinstance(x, bool | int | float | str) for x in values):
        raise ValueError(f"classes must be numbers or strings to be saved, got {values[:3]}")
    return {"kind": classes.dtype.kind, "type": str(classes.dtype), "values": values}


def labels_from_json(value: Any, place: str, *, ordered: bool = True) -> NDArray[Any]:
    """Return the classes of a header as an array: distinct, and ascending where they are searched."""
    record({"kind": one_of(*LABEL_TYPES, "U", "O"), "type": text, "values": listing(anything)})(value, place)
    kind, values = value["kind"], value["values"]
    if kind in LABEL_TYPES:
        names = LABEL_TYPES[kind]
        swapped = re.fullmatch(r"[<>=|]?[biuf][1248]", value["type"])
        if value["type"] not in names and (swapped is None or np.dtype(value["type"]).name not in names):
            refuse(f"{place}.type", value["type"], f"one of {', '.join(names)}")
    allowed = LABEL_VALUES.get(kind, (bool, int, float, str))
    for index, item in enumerate(values):
        if type(item) not in allowed or (type(item) is str and "\0" in item):
            refuse(f"{place}.values[{index}]", item, f"a label of kind {kind!r}, without NUL")
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


# --- Tensors ----------------------------------------------------------------------------------------------------------


class Range(NamedTuple):
    """The numbers that a tensor may hold; floats are finite always. ``least`` and ``most`` may be symbols."""

    least: float | str = -math.inf
    most: float | str = math.inf
    above: float = -math.inf
    order: str = ""  # "ascending" or "strictly ascending"
    binds: str = ""  # the symbol that the tensor's only value is bound to


ANY, NON_NEGATIVE, POSITIVE, COUNTS = Range(), Range(0.0), Range(above=0.0), Range(0, MAX_COUNT)


class Tensor(NamedTuple):
    """The dtype, shape and range of one tensor.

    A symbol in ``shape`` that is not known yet is bound to the dimension of the array. Tensors of one ``part`` are in
    a file together or not at all.
    """

    dtypes: tuple[str, ...]
    shape: tuple[str | int, ...]
    range: Range = ANY
    part: str = ""

    def check(self, name: str, array: NDArray[Any], symbols: dict[str, float]) -> None:
        """Compare an array with the declaration; what its shape or value binds is added to ``symbols``."""
        if array.dtype.name not in self.dtypes or array.ndim != len(self.shape):
            expected = f"{' or '.join(self.dtypes)} of shape ({', '.join(map(str, self.shape))})"
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, expected {expected}")
        for size, symbol in zip(array.shape, self.shape, strict=True):
            declared = symbols.setdefault(symbol, size) if isinstance(symbol, str) else symbol
            if size != declared:
                raise ValueError(f"{name} has shape {array.shape}, but {symbol} is {declared}")
        if not array.size:
            return
        least, most, above, order, binds = self.range
        least = symbols[least] if isinstance(least, str) else least
        most = symbols[most] if isinstance(most, str) else most
        if (least, most, above) == (-math.inf, math.inf, -math.inf):
            with np.errstate(over="ignore", invalid="ignore"):  # one pass where any finite number will do
                if np.isfinite(array.sum()):
                    return
        low, high = array.min().item(), array.max().item()  # nan where one is
        if not (math.isfinite(low) and math.isfinite(high)):
            refuse_first(name, array, ~np.isfinite(array), "a finite number")
        if not (low >= least and low > above and high <= most):
            wrong = (array < least) | (array <= above) | (array > most)
            refuse_first(name, array, wrong, f"a number {_interval(least, most, above)}")
        if order:
            fallen = array[1:] <= array[:-1] if order.startswith("strictly") else array[1:] < array[:-1]
            if fallen.any():
                wrong = np.concatenate([[False], fallen])
                before = array[int(wrong.argmax()) - 1]
                refuse_first(name, array, wrong, f"{order} numbers, after {before}")
        if binds:
            symbols[binds] = low


def refuse_first(name: str, array: NDArray[Any], wrong: NDArray[np.bool_], expected: str) -> None:
    """Raise ValueError for the first place that is wrong, if one is."""
    if wrong.any():
        place = np.unravel_index(int(wrong.argmax()), wrong.shape)
        refuse(f"{name}[{', '.join(map(str, place))}]", array[place].item(), expected)


def _interval(least: float, most: float, above: float = -math.inf) -> str:
    parts = []
    if above > least:
        parts.append(f"above {above:.17g}")
    elif least > -math.inf:
        parts.append(f"of {least:.17g} or more")
    if most < math.inf:
        parts.append(f"at most {most:.17g}")
    return " and ".join(parts) or "that is finite"


# --- From attributes to fields and tensors, and back ------------------------------------------------------------------


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Field:
    """A field of the header, and the attribute of the model that it holds."""

    check: Check
    attribute: str = ""  # where it has another name than the field
    setting: bool = False  # an argument of the model's constructor, under the name of the field
    to_json: Callable[[Any], Any] = _as_it_is
    from_json: Callable[[Any], Any] = _as_it_is


@dataclass(frozen=True)
class Array:
    """An array in one tensor."""

    name: str
    tensor: Tensor
    attribute: str = ""  # a path: "ledger.start"; where it has another name than the tensor

    def tensors(self) -> dict[str, Tensor]:
        """Return the declarations of its tensors by name."""
        return {self.name: self.tensor}

    def pack(self, value: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return its tensors."""
        return {self.name: value}

    def unpack(self, arrays: Mapping[str, NDArray[Any]], symbols: Mapping[str, float]) -> Any:
        """Return the value that its tensors hold; None where the file has none."""
        return arrays.get(self.name)


@dataclass(frozen=True)
class Records:
    """A structured array in one tensor per field; ``renamed`` maps fields to the names they have in files."""

    name: str
    dtype: np.dtype[Any]
    size: str | int
    ranges: Mapping[str, Range]
    renamed: Mapping[str, str]
    part: str = ""
    attribute: str = ""

    def tensors(self) -> dict[str, Tensor]:
        """Return the declarations of its tensors by name."""
        return {
            tensor: Tensor((self.dtype[field].name,), (self.size,), self.ranges.get(field, ANY), self.part)
            for field, tensor in self._names()
        }

    def pack(self, value: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return its tensors."""
        return {tensor: value[field] for field, tensor in self._names()}

    def unpack(self, arrays: Mapping[str, NDArray[Any]], symbols: Mapping[str, float]) -> Any:
        """Return the value that its tensors hold; None where the file has none."""
        names = self._names()
        if names[0][1] not in arrays:
            return None
        records = np.zeros(arrays[names[0][1]].size, self.dtype)
        for field, tensor in names:
            records[field] = arrays[tensor]
        return records

    def _names(self) -> list[tuple[str, str]]:
        return [(field, f"{self.name}.{self.renamed.get(field, field)}") for field in self.dtype.names or ()]


@dataclass(frozen=True)
class Matrix:
    """Rows of examples, in one tensor where they are dense and in three where they are CSR.

    Whether there are any, and which of the two they are, is for a relation to check.
    """

    name: str
    dtypes: tuple[str, ...]
    rows: str
    columns: str
    attribute: str = ""

    def tensors(self) -> dict[str, Tensor]:
        """Return the declarations of its tensors by name."""
        offsets = ("int32", "int64")
        return {
            self.name: Tensor(self.dtypes, (self.rows, self.columns), part="dense"),
            f"{self.name}.data": Tensor(self.dtypes, ("stored",), part="sparse"),
            f"{self.name}.indices": Tensor(offsets, ("stored",), Range(0, "last_feature"), "sparse"),
            f"{self.name}.indptr": Tensor(
                offsets, ("offsets",), Range(0, "stored", order="ascending"), "sparse"
            ),
        }

    def pack(self, value: Any) -> dict[str, NDArray[Any]]:
        """Return its tensors."""
        if isinstance(value, np.ndarray):
            return {self.name: value}
        return {f"{self.name}.{part}": getattr(value, part) for part in ("data", "indices", "indptr")}

    def unpack(self, arrays: Mapping[str, NDArray[Any]], symbols: Mapping[str, float]) -> Any:
        """Return the value that its tensors hold; None where the file has none."""
        if f"{self.name}.data" not in arrays:
            return arrays.get(self.name)
        from scipy.sparse import csr_array

        parts = tuple(arrays[f"{self.name}.{part}"] for part in ("data", "indices", "indptr"))
        return csr_array(parts, shape=(int(symbols[self.rows]), int(symbols[self.columns])))


Item = Array | Records | Matrix


@dataclass(frozen=True)
class Content:
    """A header and tensors that were checked; ``classes`` is None where the kind has none."""

    name: str  # of the kind
    kind: "Kind"
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    classes: Any  # an array, or None
    symbols: dict[str, float]

    @property
    def about(self) -> dict[str, Any]:
        """What the caller of ``save`` wrote into the header."""
        about: dict[str, Any] = self.header["about"]
        return about

    @property
    def fields(self) -> dict[str, Any]:
        """The part of the header that belongs to the kind of file, as JSON holds it."""
        fields: dict[str, Any] = self.header[self.kind.section]
        return fields

    def __getitem__(self, name: str) -> Any:
        """Return the value of a header field, an array, a structured array or a matrix; None for a missing array."""
        if name in self.kind.fields:
            return self.kind.fields[name].from_json(self.fields[name])
        item = next(item for item in self.kind.items(self.fields) if item.name == name)
        return item.unpack(self.arrays, self.symbols)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments with which the model's class is called."""
        return {name: self[name] for name, field in self.kind.fields.items() if field.setting}

    def restore(self, model: M, **values: Any) -> M:
        """Set every attribute that the kind declares, those in ``values`` to these values, and return the model.

        An attribute of a part that the file does not have stays as the constructor left it.
        """
        restored = {"classes": self.classes}
        for name, field in self.kind.fields.items():
            if not field.setting:
                restored[field.attribute or name] = self[name]
        for item in self.kind.items(self.fields):
            value = item.unpack(self.arrays, self.symbols)
            if value is not None:
                restored[item.attribute or item.name] = value
        for path, value in {**restored, **values}.items():
            *owners, attribute = path.split(".")
            owner: Any = model
            for name in owners:
                owner = getattr(owner, name)
            setattr(owner, attribute, value)
        return model


class Kind(NamedTuple):
    """A kind of file: its header fields, its tensors, where a model holds them, and how they depend on each other."""

    title: str  # in messages: "a kernel learner"
    section: str  # of the header that holds the fields
    fields: Mapping[str, Field]
    items: Callable[[dict[str, Any]], tuple[Item, ...]]  # from the fields
    symbols: Callable[[dict[str, Any], int], dict[str, float]]  # from the fields and the number of classes
    parts: Callable[[dict[str, Any]], dict[str, bool | None]] = (
        lambda _: {}
    )  # must, must not, or may be there
    relations: tuple[Callable[[Content], None], ...] = ()
    agree: Check = anything  # what header fields demand of each other
    classes: str = "ordered"  # "ordered", "distinct", or "" where there are none

    def pack(self, model: Any, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the fields and tensors of a model, those of ``values`` in place of the attributes of these names."""

        def look_up(path: str) -> Any:
            first, *rest = path.split(".")
            value = values[first] if first in values else getattr(model, first)
            for name in rest:
                value = None if value is None else getattr(value, name)
            return value

        fields = {
            name: field.to_json(look_up(field.attribute or name)) for name, field in self.fields.items()
        }
        arrays: dict[str, NDArray[Any]] = {}
        for item in self.items(fields):
            value = look_up(item.attribute or item.name)
            if value is not None:
                arrays |= item.pack(value)
        return fields, arrays

    def check(
        self, name: str, header: dict[str, Any], arrays: dict[str, NDArray[Any]], beside: Mapping[str, Check]
    ) -> Content:
        """Compare a header and tensors with the declaration; raise ValueError at the first difference."""
        record(
            {
                "format": text,
                "version": whole(),
                self.section: self._check_fields,
                "classes": maybe(any_object),
                **beside,
            }
        )(header, "header")
        classes = None
        if self.classes:
            classes = labels_from_json(header["classes"], "classes", ordered=self.classes == "ordered")
        elif header["classes"] is not None:
            refuse("classes", header["classes"], "null in a model of numbers")
        fields = header[self.section]
        symbols = self.symbols(fields, 0 if classes is None else classes.size)
        _bind_width(arrays, symbols)
        self._check_tensors(fields, arrays, symbols)
        content = Content(name, self, header, arrays, classes, symbols)
        for relation in self.relations:
            relation(content)
        return content

    def _check_fields(self, value: Any, place: str) -> None:
        record({name: field.check for name, field in self.fields.items()})(value, place)
        self.agree(value, place)

    def _check_tensors(
        self, fields: dict[str, Any], arrays: Mapping[str, NDArray[Any]], symbols: dict[str, float]
    ) -> None:
        tensors = {name: tensor for item in self.items(fields) for name, tensor in item.tensors().items()}
        parts = self.parts(fields)
        unknown = sorted(set(arrays) - set(tensors))
        if unknown:
            raise ValueError(f"tensor {unknown[0]} is not known to this kind of file")
        for name, tensor in tensors.items():
            expected = parts[tensor.part] if tensor.part else True
            if expected is None:
                expected = any(
                    other.part == tensor.part and present in arrays for present, other in tensors.items()
                )
            if expected != (name in arrays):
                raise ValueError(
                    f"tensor {name} is missing" if expected else f"tensor {name} must not be there"
                )
            if expected:
                tensor.check(name, arrays[name], symbols)


def _bind_width(arrays: Mapping[str, NDArray[Any]], symbols: dict[str, float]) -> None:
    """Bind ``features``, and ``width`` with the bias before them, by the first tensor that has them."""
    for name, bias in (("W", 1), ("weights", 1), ("sums", 0)):
        if "features" not in symbols and name in arrays:
            if arrays[name].ndim != 2 or arrays[name].shape[1] < bias:
                raise ValueError(f"{name} has shape {arrays[name].shape}, expected rows and features")
            symbols["features"] = arrays[name].shape[1] - bias
            symbols["width"] = arrays[name].shape[1]
    symbols["last_feature"] = symbols.get("features", 0) - 1
