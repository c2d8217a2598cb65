"""Examples as dicts of numbers, read by compiled code: they become sparse rows with ascending indices.

To look up names, check types and pack numbers in Python takes most of the time of learning from one example. These
loops call CPython's C API and hold the GIL, so that a name costs one lookup in the dict of the vocabulary.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from rosenblatt.jit import LARGEST_INT64, compiled, compiled_with_gil

RADIX_FROM = 48  # keys: from this many on a radix sort is faster
LARGEST = float(np.finfo(np.float64).max)
NOT_NUMBERS = -1  # returned where a name is not text, or a value not a finite int or float
TOO_LONG = -2  # returned where the arrays are too small
MORE_FEATURES = 1  # returned where a name has a feature without weights
NOTHING_READ = -1  # the number of names while codes and numbers belong to no row

# The state of a reader in compiled code: addresses of its arrays and of Python objects, and counts of what it has read.
READER = np.dtype(
    [
        (name, np.int64)
        for name in (
            "values",  # of the rows, one after the other
            "indices",
            "starts",
            "codes",  # features of the last example in its own order, negative for an unknown one
            "numbers",  # its values
            "keys",  # scratch for sorting, then the positions of unknown codes
            "capacity",  # of values and indices
            "max_names",  # capacity of codes, numbers, keys and held names
            "index",  # the dict from name to feature
            "integers",  # the dict from an integer name to its feature, of those that were read before
            "features",  # how many features have weights
            "unknown",  # addresses of the names without a feature
            "held",  # addresses of the names of the first row, in the order of codes; the reader holds references
            "names",  # how many names the first row has, while codes and numbers are those of the first row
            "rows_read",
            "position",  # in the dict that is read
            "name",
            "value",
            "int",  # Python's types
            "float",
            "str",
            "dict",
        )
    ]
)
FIRST_SURROGATE, LAST_SURROGATE = 0xD800, 0xDFFF
POSITION_AT, NAME_AT, VALUE_AT = (READER.fields[each][1] for each in ("position", "name", "value"))  # type: ignore[index]
TYPE_AT = object.__basicsize__ - np.dtype(np.intp).itemsize  # of an object's type in its memory

_i, _d = types.int64, types.float64
_dict_size = types.ExternalFunction("PyDict_Size", _i(_i))
_dict_next = types.ExternalFunction("PyDict_Next", types.int32(_i, _i, _i, _i))
_dict_get = types.ExternalFunction("PyDict_GetItemWithError", _i(_i, _i))
_list_size = types.ExternalFunction("PyList_Size", _i(_i))
_list_get = types.ExternalFunction("PyList_GetItem", _i(_i, _i))
_int_as_float = types.ExternalFunction("PyLong_AsDouble", _d(_i))
_int_as_index = types.ExternalFunction("PyLong_AsSsize_t", _i(_i))
_float_as_float = types.ExternalFunction("PyFloat_AsDouble", _d(_i))
_int_from_index = types.ExternalFunction("PyLong_FromSsize_t", _i(_i))
_dict_set = types.ExternalFunction("PyDict_SetItem", types.int32(_i, _i, _i))
_text_size = types.ExternalFunction("PyUnicode_GetLength", _i(_i))
_text_character = types.ExternalFunction("PyUnicode_ReadChar", types.uint32(_i, _i))
_hold = types.ExternalFunction("Py_IncRef", types.void(_i))
_release = types.ExternalFunction("Py_DecRef", types.void(_i))
_error_occurred = types.ExternalFunction("PyErr_Occurred", _i())
_clear_error = types.ExternalFunction("PyErr_Clear", types.void())


@intrinsic
def pointer_to(typing_context: Any, address: Any) -> Any:
    """Turn an address into a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@compiled
def all_finite(values: Any) -> bool:
    """Return whether every number is finite."""
    wrong = 0
    for k in range(values.shape[0]):
        wrong += not abs(values[k]) <= LARGEST
    return wrong == 0


@compiled
def sort_by_code(keys: Any, scratch: Any, largest: Any) -> None:
    """Sort keys by their upper half, a code of at most ``largest``; keys with equal codes keep their order.

    A radix sort by bytes takes a sixth of the time of numpy's sort for a few hundred words.
    """
    if keys.shape[0] < RADIX_FROM:
        keys.sort()  # the lower halves ascend, so that equal codes keep their order
        return
    counts = np.empty(256, np.int64)
    shift = np.uint64(32)
    source, target = keys, scratch
    while largest > 0:
        counts[:] = 0
        for k in range(source.shape[0]):
            counts[(source[k] >> shift) & np.uint64(255)] += 1
        before = 0
        for digit in range(256):
            before, counts[digit] = before + counts[digit], before
        for k in range(source.shape[0]):
            digit = (source[k] >> shift) & np.uint64(255)
            target[counts[digit]] = source[k]
            counts[digit] += 1
        source, target = target, source
        shift += np.uint64(8)
        largest >>= 8
        if largest == 0 and shift & np.uint64(8):  # an odd number of rounds ended in the scratch array
            target[:] = source


@compiled
def arrange_row(address: int, row: int, count: int) -> int:
    """Turn ``count`` codes and numbers into a row with ascending indices; return how many codes are unknown.

    Equal codes (names that share a hash) are added, in the order of the example. The positions of unknown codes are
    left in the keys. Nothing is written, and the result is :data:`NOT_NUMBERS`, where a number is not finite.
    """
    reader = numba.carray(pointer_to(address), 1, READER)
    codes = numba.carray(pointer_to(reader[0].codes), count, np.int64)
    numbers = numba.carray(pointer_to(reader[0].numbers), count, np.float64)
    if not all_finite(numbers):
        return NOT_NUMBERS
    starts = numba.carray(pointer_to(reader[0].starts), row + 2, np.uint64)
    start = np.int64(starts[row])
    keys = numba.carray(pointer_to(reader[0].keys), count, np.uint64)
    values = numba.carray(pointer_to(reader[0].values + 8 * start), count, np.float64)
    indices = numba.carray(pointer_to(reader[0].indices + 4 * start), count, np.uint32)
    n_known, ascending, previous, largest = 0, True, np.int64(-1), np.int64(0)
    for k in range(count):
        code = codes[k]
        if code >= 0:
            ascending = ascending and code > previous
            previous = code
            largest = max(largest, code)
            keys[n_known] = (np.uint64(code) << np.uint64(32)) | np.uint64(k)
            n_known += 1
    if not ascending:
        scratch = numba.carray(pointer_to(reader[0].values + 8 * start), n_known, np.uint64)
        sort_by_code(keys[:n_known], scratch, largest)
    n, last = 0, np.int64(-1)
    for k in range(n_known):
        code, value = np.int64(keys[k] >> np.uint64(32)), numbers[keys[k] & np.uint64(0xFFFFFFFF)]
        if code == last:
            values[n - 1] += value
        else:
            values[n], indices[n] = value, code
            n += 1
        last = code
    starts[row + 1] = start + n
    reader[0].rows_read += 1
    unknown = 0
    if n_known < count:
        for k in range(count):
            if codes[k] < 0:
                keys[unknown] = k
                unknown += 1
    return unknown


@compiled
def _type_of(value: int) -> int:
    """Return the address of the type of the object at an address."""
    return numba.carray(pointer_to(value + TYPE_AT), 1, np.int64)[0]


@compiled
def _valid_name(name: int) -> bool:
    """Return whether a model file can hold a name: it has no NUL and no half of a surrogate pair."""
    for k in range(_text_size(name)):
        character = _text_character(name, k)
        if character == 0 or (character >= FIRST_SURROGATE and character <= LAST_SURROGATE):
            return False
    return True


@compiled
def _add_unknown(address: int, row: int, count: int) -> bool:
    """Add unknown names to the dict, in the order of the example, and append their values to the arranged row."""
    reader = numba.carray(pointer_to(address), 1, READER)
    starts = numba.carray(pointer_to(reader[0].starts), row + 2, np.uint64)
    end = np.int64(starts[row + 1])
    positions = numba.carray(pointer_to(reader[0].keys), count, np.uint64)
    names = numba.carray(pointer_to(reader[0].unknown), count, np.int64)
    numbers = numba.carray(pointer_to(reader[0].numbers), np.int64(positions[count - 1]) + 1, np.float64)
    values = numba.carray(pointer_to(reader[0].values + 8 * end), count, np.float64)
    indices = numba.carray(pointer_to(reader[0].indices + 4 * end), count, np.uint32)
    reader[0].names = NOTHING_READ
    for k in range(count):
        feature = _dict_size(reader[0].index)
        number = _int_from_index(feature)
        if number == 0 or _dict_set(reader[0].index, names[k], number) != 0:  # out of memory
            _clear_error()
            return False
        _release(number)
        values[k], indices[k] = numbers[positions[k]], feature
    starts[row + 1] = end + count
    return True


@compiled_with_gil
def read_example(address: int, example: int, row: int, grow: int) -> int:
    """Read the dict at an address into a row; return 0, or what keeps the row from being used.

    Unknown names are left out, or get features above all others if ``grow`` is not 0. :data:`NOT_NUMBERS` and
    :data:`TOO_LONG` leave the row as it was; after :data:`MORE_FEATURES` it lacks nothing but weights. Names are all
    text, or all integers that were read before.

    An example that is learned from has mostly just been predicted. So the first row keeps the names that it was read
    from: where a name is the same object, it is not looked up again, and where all features and numbers are the same,
    the row is not arranged again.
    """
    reader = numba.carray(pointer_to(address), 1, READER)
    int_type, float_type, text_type = reader[0].int, reader[0].float, reader[0].str
    count = _dict_size(example)
    start = np.int64(numba.carray(pointer_to(reader[0].starts), row + 1, np.uint64)[row])
    if count > reader[0].max_names or start + count > reader[0].capacity:
        return TOO_LONG
    codes = numba.carray(pointer_to(reader[0].codes), count, np.int64)
    numbers = numba.carray(pointer_to(reader[0].numbers), count, np.float64)
    unknown_names = numba.carray(pointer_to(reader[0].unknown), count, np.int64)
    held = numba.carray(pointer_to(reader[0].held), count, np.int64)
    n_held = reader[0].names if row == 0 else 0
    same = n_held == count and row == 0
    reader[0].names, reader[0].position = NOTHING_READ, 0
    unknown, name_type, index = 0, text_type, reader[0].index
    for k in range(count):
        _dict_next(example, address + POSITION_AT, address + NAME_AT, address + VALUE_AT)
        name, value = reader[0].name, reader[0].value
        kind = _type_of(value)
        if k == 0 and _type_of(name) == int_type:
            name_type, index = int_type, reader[0].integers
        if _type_of(name) != name_type or kind not in (int_type, float_type):
            return NOT_NUMBERS
        if kind == float_type:
            number = _float_as_float(value)
        else:
            number = _int_as_float(value)
            if number == -1.0 and _error_occurred() != 0:  # an int beyond a float
                _clear_error()
                return NOT_NUMBERS
        code = np.int64(-1)
        if k < n_held and held[k] == name and codes[k] >= 0:
            code = codes[k]
        else:
            feature = _dict_get(index, name)
            if feature != 0:
                code = _int_as_index(feature)
            elif name_type == text_type and _valid_name(name):
                unknown_names[unknown] = name
                unknown += 1
            else:
                return NOT_NUMBERS
            if row == 0 and held[k] != name:
                _hold(name)
                if held[k] != 0:
                    _release(held[k])
                held[k] = name
        same = same and codes[k] == code and numbers[k] == number
        codes[k], numbers[k] = code, number
    if not same and arrange_row(address, row, count) < 0:
        return NOT_NUMBERS
    if row == 0:
        reader[0].names = count
    if unknown and grow and not _add_unknown(address, row, unknown):
        return NOT_NUMBERS
    return MORE_FEATURES if grow and _dict_size(reader[0].index) > reader[0].features else 0


@compiled_with_gil
def release_names(address: int) -> int:
    """Give up the references to names that the reader owns; return how many there were."""
    reader = numba.carray(pointer_to(address), 1, READER)
    held = numba.carray(pointer_to(reader[0].held), reader[0].max_names, np.int64)
    count = 0
    for k in range(held.shape[0]):
        if held[k] != 0:
            _release(held[k])
            held[k] = 0
            count += 1
    reader[0].names = NOTHING_READ
    return count


@compiled_with_gil
def read_examples(address: int, examples: int, row: int, grow: int) -> int:
    """Read the list at an address from the example of a row on; return the first that is not a dict of numbers."""
    reader = numba.carray(pointer_to(address), 1, READER)
    n_rows = _list_size(examples)
    while row < n_rows:
        example = _list_get(examples, row)
        if _type_of(example) != reader[0].dict or read_example(address, example, row, grow) < 0:
            break
        row += 1
    return row


class ReaderFunctions(NamedTuple):
    """The compiled functions of a reader, called without numba's inspection of their arguments."""

    read: Callable[[int, int, int, int], int]
    read_many: Callable[[int, int, int, int], int]
    arrange: Callable[[int, int, int], int]
    release: Callable[[int], int]


@cache
def reader_functions() -> ReaderFunctions:
    """Return :func:`read_example`, :func:`read_examples`, :func:`arrange_row` and :func:`release_names`, compiled."""
    functions: Any = ((read_example, 4), (read_examples, 4), (arrange_row, 3), (release_names, 1))
    return ReaderFunctions(*(function.compile((types.int64,) * n) for function, n in functions))


def new_reader(index: dict[str, int], integers: dict[int, int]) -> NDArray[Any]:
    """Return a record (:data:`READER`) for examples over dicts from names to features, without arrays yet.

    ``integers`` holds the features of names that are integers, as far as they are known; their text is in ``index``.
    The caller keeps the dicts alive, and calls ``release`` before the record or its array of held names is dropped.
    """
    reader = np.zeros(1, READER)
    reader["index"], reader["integers"], reader["names"] = id(index), id(integers), NOTHING_READ
    reader["features"] = LARGEST_INT64
    for kind in (int, float, str, dict):
        reader[kind.__name__] = id(kind)
    return reader
