"""Classes that declare kinds of model files: header fields, tensors, and the attributes they hold.

A kind of file is one :class:`Kind`. Writing (:meth:`Kind.pack`), validation (:meth:`Kind.check`) and reading
(:class:`Content`) follow from it. Errors are ValueErrors that name the tensor or header field, the position in it, the
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

M = TypeVar("M")
Arrays = Mapping[str, NDArray[Any]]
Symbols = dict[str, float]

MAX_DEPTH = 64  # levels of lists and objects in a header
MAX_COUNT = 2**53  # rows, updates, mistakes: exact as a float, and far from the end of an int64
INTEGERS = 2**64  # no integer of a header reaches this
LABELS: dict[str, tuple[tuple[str, ...], tuple[type, ...]]] = {  # numpy's kind: types of arrays and of values
    "b": (("bool",), (bool,)),
    "i": (("int8", "int16", "int32", "int64"), (int,)),
    "u": (("uint8", "uint16", "uint32", "uint64"), (int,)),
    "f": (("float16", "float32", "float64"), (int, float)),
    "U": ((), (str,)),
    "O": ((), (bool, int, float, str)),
}


# --- JSON -------------------------------------------------------------------------------------------------------------


def parse_header(text: str) -> Any:
    """Parse untrusted JSON; refuse duplicate keys, numbers that are huge or not finite, and deep nesting.

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
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"the header has the key {name!r} twice")
        fields[name] = value
    return fields


# --- Values of the header ---------------------------------------------------------------------------------------------


class Range(NamedTuple):
    """Finite numbers in ``[least, most]`` and above ``above``; in tensors ``least`` and ``most`` may be symbols."""

    least: Any = -math.inf
    most: Any = math.inf
    above: float = -math.inf
    order: str = ""  # of a tensor: "ascending" or "strictly ascending"
    binds: str = ""  # the symbol that the only value of a tensor is bound to

    def __str__(self) -> str:
        parts = []
        if self.above > self.least:
            parts.append(f"above {self.above:.17g}")
        elif self.least > -math.inf:
            parts.append(f"of {self.least:.17g} or more")
        if self.most < math.inf:
            parts.append(f"at most {self.most:.17g}")
        return " and ".join(parts) or "that is finite"


class Whole(NamedTuple):
    """Integers from ``least`` to ``most``."""

    least: int = 0
    most: int = MAX_COUNT


class OneOf(NamedTuple):
    """One of these strings."""

    values: tuple[str, ...]


class Maybe(NamedTuple):
    """A value that ``spec`` describes, or null."""

    spec: Any


class Object(NamedTuple):
    """An object with all ``fields``, any of ``optional``, and no other keys unless ``others`` is true."""

    fields: Mapping[str, Any]
    optional: Mapping[str, Any] = {}
    others: bool = False


ANY_OBJECT = Object({}, others=True)


def refuse(place: str, value: Any, expected: str) -> None:
    """Raise ValueError: the value at this place is not the expected one."""
    shown = repr(value)
    raise ValueError(f"{place} is {shown if len(shown) <= 60 else shown[:57] + '...'}, expected {expected}")


def check(value: Any, spec: Any, place: str) -> None:
    """Compare a value of the header with its description; ``place`` names it in the message.

    ``spec`` is one of the classes above, ``bool``, ``str`` (text without NUL, which ends strings elsewhere), ``object``
    (anything), ``[spec]`` (a list of any length), ``(spec, spec)`` (a list of two), or a function of value and place.
    """
    if spec is str:
        if type(value) is not str or "\0" in value:
            refuse(place, value, "text without NUL")
    elif spec is bool:
        if type(value) is not bool:
            refuse(place, value, "true or false")
    elif isinstance(spec, Whole):
        if type(value) is not int or not spec.least <= value <= spec.most:
            refuse(place, value, f"an integer from {spec.least} to {spec.most}")
    elif isinstance(spec, Range):
        if type(value) not in (int, float) or not spec.least <= value <= spec.most or value <= spec.above:
            refuse(place, value, f"a number {spec}")
    elif isinstance(spec, OneOf):
        if type(value) is not str or value not in spec.values:
            refuse(place, value, f"one of {', '.join(spec.values)}")
    elif isinstance(spec, Maybe):
        if value is not None:
            check(value, spec.spec, place)
    elif isinstance(spec, Object):
        _check_object(value, spec, place)
    elif isinstance(spec, list | tuple):
        if type(value) is not list or (type(spec) is tuple and len(value) != len(spec)):
            refuse(place, value, "a list" if type(spec) is list else f"a list of {len(spec)}")
        for index, item in enumerate(value):
            check(item, spec[0] if type(spec) is list else spec[index], f"{place}[{index}]")
    elif spec is not object:
        spec(value, place)


def _check_object(value: Any, spec: Object, place: str) -> None:
    if type(value) is not dict:
        refuse(place, value, "an object")
    for name in spec.fields:
        if name not in value:
            raise ValueError(f"{place}.{name} is missing")
    specs = {**spec.fields, **spec.optional}
    for name, item in value.items():
        if name in specs:
            check(item, specs[name], f"{place}.{name}")
        elif not spec.others:
            raise ValueError(f"{place}.{name} is unknown; the fields of this version are {', '.join(specs)}")


def number_or_infinity(value: Any, place: str) -> None:
    """Check that a value is a finite number, or ``"inf"`` or ``"-inf"``, which JSON cannot represent as a number."""
    if not (type(value) in (int, float) or (type(value) is str and value in ("inf", "-inf"))):
        refuse(place, value, "a number, 'inf' or '-inf'")


def json_number(value: float) -> float | str:
    """Return a number as a JSON value: infinities and nan as strings."""
    return float(value) if math.isfinite(value) else str(value)


def labels_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """Return classes as a JSON object; they must be numbers or strings."""
    values = classes.tolist()
    if classes.dtype.kind not in LABELS or any(not isinstance(x, bool | int | float | str) for x in values):
        raise ValueError(f"classes must be numbers or strings to be saved, got {values[:3]}")
    return {"kind": classes.dtype.kind, "type": str(classes.dtype), "values": values}


def labels_from_json(value: Any, *, ordered: bool) -> NDArray[Any]:
    """Return the classes of a header as an array: distinct, and ascending where ``ordered``."""
    check(value, Object({"kind": OneOf(tuple(LABELS)), "type": str, "values": [object]}), "classes")
    kind, values = value["kind"], value["values"]
    types, allowed = LABELS[kind]
    dtype: Any = {"O": object, "U": np.str_}.get(kind)
    if dtype is None:
        swapped = re.fullmatch(r"[<>=|]?[biuf][1248]", value["type"])
        if value["type"] not in types and (swapped is None or np.dtype(value["type"]).name not in types):
            refuse("classes.type", value["type"], f"one of {', '.join(types)}")
        dtype = np.dtype(value["type"])
    for index, item in enumerate(values):
        if type(item) not in allowed or (type(item) is str and "\0" in item):
            refuse(f"classes.values[{index}]", item, f"a label of kind {kind!r}, without NUL")
    if kind == "O" and len({type(item) is str for item in values}) > 1:
        refuse("classes.values", values, "labels that are all text, or all numbers")
    try:
        with np.errstate(over="raise"):
            classes = np.array(values, dtype=dtype)
    except (OverflowError, ValueError, FloatingPointError) as error:
        raise ValueError(f"classes.values do not fit {value['type']}, {error}") from None
    if classes.dtype.kind in "iuf" and classes.tolist() != values:
        refuse("classes.values", values, f"numbers that {value['type']} holds exactly")
    if ordered and not (classes[:-1] < classes[1:]).all():
        refuse("classes.values", values, "distinct labels in ascending order")
    if len(set(classes.tolist())) < classes.size:
        refuse("classes.values", values, "distinct labels")
    return classes


# --- Tensors ----------------------------------------------------------------------------------------------------------

ANY, NON_NEGATIVE, POSITIVE, COUNTS = Range(), Range(0.0), Range(above=0.0), Range(0, MAX_COUNT)


class Tensor(NamedTuple):
    """The dtype, shape and range of one tensor.

    A symbol in ``shape`` that has no value yet is bound to the dimension of the array. A file has all tensors of one
    ``part`` or none of them.
    """

    dtypes: tuple[str, ...]
    shape: tuple[str | int, ...]
    range: Range = ANY
    part: str = ""

    def check(self, name: str, array: NDArray[Any], symbols: Symbols) -> None:
        """Compare an array with the declaration; add the symbols that its shape or value binds to ``symbols``."""
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
        span = Range(symbols.get(least, least), symbols.get(most, most), above)
        if span == ANY:
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(array.sum()):  # then its terms are finite: one read instead of two
                    return
        low, high = array.min().item(), array.max().item()  # nan where a value is nan
        if not (math.isfinite(low) and math.isfinite(high)):
            refuse_first(name, array, ~np.isfinite(array), "a finite number")
        if not (low >= span.least and low > above and high <= span.most):
            wrong = (array < span.least) | (array <= above) | (array > span.most)
            refuse_first(name, array, wrong, f"a number {span}")
        if order:
            wrong = np.zeros(array.size, np.bool_)
            wrong[1:] = array[1:] <= array[:-1] if order.startswith("strictly") else array[1:] < array[:-1]
            refuse_first(name, array, wrong, f"{order} numbers, after {array[int(wrong.argmax()) - 1]}")
        if binds:
            symbols[binds] = low


def refuse_first(name: str, array: NDArray[Any], wrong: NDArray[np.bool_], expected: str) -> None:
    """Raise ValueError for the first value that is marked as wrong, if there is one."""
    if wrong.any():
        place = np.unravel_index(int(wrong.argmax()), wrong.shape)
        refuse(f"{name}[{', '.join(map(str, place))}]", array[place].item(), expected)


# --- From attributes to fields and tensors, and back ------------------------------------------------------------------


class Field(NamedTuple):
    """A field of the header, and the attribute of the model that it holds."""

    spec: Any  # as in :func:`check`
    attribute: str = ""  # by default the name of the field
    setting: bool = False  # an argument of the model's constructor, under the name of the field
    # Of a setting that older files do not have: the constructor's default, which is not written; ... for none.
    default: Any = ...
    to_json: Callable[[Any], Any] = lambda value: value
    from_json: Callable[[Any], Any] = lambda value: value


class Item(NamedTuple):
    """An attribute of the model that one tensor or several hold: :func:`array`, :func:`records` or :func:`rows`."""

    name: str
    attribute: str  # a path: "ledger.start"
    tensors: Mapping[str, Tensor]
    pack: Callable[[Any], dict[str, NDArray[Any]]]  # from the value to its tensors
    unpack: Callable[[Arrays, Symbols], Any]  # from checked tensors to the value; None where there are none


def array(name: str, tensor: Tensor, attribute: str = "") -> Item:
    """Declare an array in one tensor."""
    return Item(
        name,
        attribute or name,
        {name: tensor},
        lambda value: {name: value},
        lambda arrays, _: arrays.get(name),
    )


def records(
    name: str,
    dtype: np.dtype[Any],
    size: str | int,
    ranges: Mapping[str, Range],
    *,
    renamed: Mapping[str, str],
    part: str = "",
    attribute: str = "",
) -> Item:
    """Declare a structured array, one tensor per field; ``renamed`` maps fields to the names they have in files."""
    names = {field: f"{name}.{renamed.get(field, field)}" for field in dtype.names or ()}

    def unpack(arrays: Arrays, _: Symbols) -> Any:
        columns = {field: arrays[tensor] for field, tensor in names.items() if tensor in arrays}
        if not columns:
            return None
        values = np.zeros(columns[next(iter(columns))].size, dtype)
        for field, column in columns.items():
            values[field] = column
        return values

    return Item(
        name,
        attribute or name,
        {
            tensor: Tensor((dtype[field].name,), (size,), ranges.get(field, ANY), part)
            for field, tensor in names.items()
        },
        lambda value: {tensor: value[field] for field, tensor in names.items()},
        unpack,
    )


def rows(name: str, dtypes: tuple[str, ...], count: str, columns: str) -> Item:
    """Declare rows of examples, in one tensor where they are dense and in three where they are CSR.

    A relation checks whether a file must have them; this declaration allows both forms, or none.
    """
    csr, offsets = tuple(f"{name}.{part}" for part in ("data", "indices", "indptr")), ("int32", "int64")

    def pack(value: Any) -> dict[str, NDArray[Any]]:
        if isinstance(value, np.ndarray):
            return {name: value}
        return dict(zip(csr, (value.data, value.indices, value.indptr), strict=True))

    def unpack(arrays: Arrays, symbols: Symbols) -> Any:
        if csr[0] not in arrays:
            return arrays.get(name)
        from scipy.sparse import csr_array

        return csr_array(
            tuple(arrays[part] for part in csr), shape=(int(symbols[count]), int(symbols[columns]))
        )

    tensors = {
        name: Tensor(dtypes, (count, columns), part="dense"),
        csr[0]: Tensor(dtypes, ("stored",), part="sparse"),
        csr[1]: Tensor(offsets, ("stored",), Range(0, "last_feature"), "sparse"),
        csr[2]: Tensor(offsets, ("offsets",), Range(0, "stored", order="ascending"), "sparse"),
    }
    return Item(name, name, tensors, pack, unpack)


@dataclass(frozen=True)
class Content:
    """A header and tensors that were checked."""

    name: str  # of the kind
    kind: "Kind"
    header: dict[str, Any]
    arrays: Arrays
    classes: Any  # an array, or None
    symbols: Symbols

    @property
    def about(self) -> dict[str, Any]:
        """The metadata that the caller of ``save`` added to the header."""
        about: dict[str, Any] = self.header["about"]
        return about

    @property
    def fields(self) -> dict[str, Any]:
        """The section of the header that belongs to the kind of file, as JSON values."""
        fields: dict[str, Any] = self.header[self.kind.section]
        return fields

    def __getitem__(self, name: str) -> Any:
        """Return the value of a header field or of an item; None for an item that the file does not have."""
        if name in self.kind.fields:
            return self.kind.fields[name].from_json(self.fields[name])
        item = next(item for item in self.kind.items(self.fields) if item.name == name)
        return item.unpack(self.arrays, self.symbols)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the model's constructor."""
        return {
            name: self[name]
            for name, field in self.kind.fields.items()
            if field.setting and (name in self.fields or field.default is ...)
        }

    def restore(self, model: M, **values: Any) -> M:
        """Set every attribute that the kind declares, and those in ``values`` to these values; return the model.

        An attribute whose tensors the file does not have keeps the value that the constructor gave it.
        """
        restored = {"classes": self.classes}
        for name, field in self.kind.fields.items():
            if not field.setting:
                restored[field.attribute or name] = self[name]
        for item in self.kind.items(self.fields):
            value = item.unpack(self.arrays, self.symbols)
            if value is not None:
                restored[item.attribute] = value
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
    relations: tuple[Callable[[Content], None], ...] = ()
    # From the fields: which parts of the tensors a file must have (True), must not have (False), or may have (None).
    parts: Callable[[dict[str, Any]], dict[str, bool | None]] = lambda _: {}
    agree: Any = object  # a check of all fields together, as in :func:`check`
    classes: str = "ordered"  # "ordered", "distinct", or "" where there are none

    def pack(self, model: Any, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the fields and tensors of a model; ``values`` replace the attributes of these names."""

        def look_up(path: str) -> Any:
            first, *rest = path.split(".")
            value = values[first] if first in values else getattr(model, first)
            for name in rest:
                value = None if value is None else getattr(value, name)
            return value

        fields = {
            name: field.to_json(look_up(field.attribute or name)) for name, field in self.fields.items()
        }
        fields = {name: value for name, value in fields.items() if value != self.fields[name].default}
        arrays: dict[str, NDArray[Any]] = {}
        for item in self.items(fields):
            value = look_up(item.attribute)
            arrays |= {} if value is None else item.pack(value)
        return fields, arrays

    def check(
        self,
        name: str,
        header: dict[str, Any],
        arrays: Arrays,
        other_fields: Mapping[str, Any],
        sizes: Callable[[dict[str, Any], int], Symbols],
    ) -> Content:
        """Compare a header and tensors with the declaration; raise ValueError at the first difference.

        ``other_fields`` describes the header outside the section of this kind; ``sizes`` returns the symbols that
        follow from the fields and the number of classes.
        """
        check(header, Object({**other_fields, self.section: self._check_fields}), "header")
        classes = None
        if self.classes:
            classes = labels_from_json(header["classes"], ordered=self.classes == "ordered")
        elif header["classes"] is not None:
            refuse("classes", header["classes"], "null in a regression model")
        fields = header[self.section]
        symbols = sizes(fields, 0 if classes is None else classes.size)
        _bind_width(arrays, symbols)
        self._check_tensors(fields, arrays, symbols)
        content = Content(name, self, header, arrays, classes, symbols)
        for relation in self.relations:
            relation(content)
        return content

    def _check_fields(self, value: Any, place: str) -> None:
        required = {name: field.spec for name, field in self.fields.items() if field.default is ...}
        optional = {name: field.spec for name, field in self.fields.items() if field.default is not ...}
        check(value, Object(required, optional), place)
        check(value, self.agree, place)

    def _check_tensors(self, fields: dict[str, Any], arrays: Arrays, symbols: Symbols) -> None:
        tensors = {name: tensor for item in self.items(fields) for name, tensor in item.tensors.items()}
        unknown = sorted(set(arrays) - set(tensors))
        if unknown:
            raise ValueError(f"tensor {unknown[0]} does not belong to this kind of file")
        parts = {"": True, **self.parts(fields)}
        present = {tensors[name].part for name in arrays}
        for name, tensor in tensors.items():
            expected = parts[tensor.part]
            expected = tensor.part in present if expected is None else expected
            if expected != (name in arrays):
                raise ValueError(f"tensor {name} {'is missing' if expected else 'must not be there'}")
            if expected:
                tensor.check(name, arrays[name], symbols)


def _bind_width(arrays: Arrays, symbols: Symbols) -> None:
    """Bind ``features``, and ``width`` with the bias before them, by the first tensor that has them."""
    for name, bias in (("W", 1), ("weights", 1), ("sums", 0)):
        if "features" not in symbols and name in arrays:
            if arrays[name].ndim != 2 or arrays[name].shape[1] < bias:
                raise ValueError(f"{name} has shape {arrays[name].shape}, expected rows and features")
            symbols["features"] = arrays[name].shape[1] - bias
            symbols["width"] = arrays[name].shape[1]
    symbols["last_feature"] = symbols.get("features", 0) - 1
