"""Examples as dicts, read by compiled code."""

import gc
import sys
from collections import Counter, OrderedDict

import numpy as np
import pytest

from rosenblatt.core.named import NOT_NUMBERS, TYPE_AT, new_reader, reader_functions, sort_by_code
from rosenblatt.data.named.vocabulary import Vocabulary
from rosenblatt.streams.named_rows import ExampleReader, flattened_row
from rosenblatt.streams.online import OnlineLearner


def row_of(reader, row=0):
    start, stop = reader.starts[row : row + 2].tolist()
    return reader.indices[start:stop].tolist(), reader.values[start:stop].tolist()


def test_an_example_is_arranged_by_feature_with_unknown_names_last():
    reader = ExampleReader(Vocabulary())
    reader.read({"c": 3.0, "a": 1.0})
    reader.read({"b": 2, "c": 5, "zero": 0, "a": 7.5})
    assert reader.vocabulary.names == ("c", "a", "b", "zero")
    assert row_of(reader) == ([0, 1, 2, 3], [5.0, 7.5, 2.0, 0.0])


@pytest.mark.parametrize("n", [0, 1, 5, 300, 1500])
def test_a_row_read_by_compiled_code_is_the_one_that_python_makes(n):
    rng = np.random.default_rng(n)
    reader, vocabulary = ExampleReader(Vocabulary()), Vocabulary()
    for _ in range(4):
        names = rng.permutation(2 * n)[:n].tolist()
        x = {f"wörd{k}": [k, -float(k), 2**60 + k, 0.1 * k][k % 4] for k in names}
        reader.read(x)
        assert row_of(reader) == flattened_row(x, vocabulary)[:2]
        assert reader.vocabulary.names == vocabulary.names
        reader.read(x)
        assert row_of(reader) == flattened_row(x, vocabulary)[:2]


@pytest.mark.parametrize(
    "x",
    [
        {"a": 1, "b": "text"}, {"a": 1, "b": True}, {"a": None}, {"a": float("nan")}, {"a": -float("inf")},
        {"a": 10**400}, {"a": -(10**400)}, {1: 2.0}, {"a": np.float64(1.0)}, {np.str_("a"): 1.0}, {"a": 1j},
        {"a": 1, "nu\0l": 1}, {"\ud800": 1},
    ],
)  # fmt: skip
def test_anything_but_finite_numbers_is_left_to_python(x):
    reader = ExampleReader(Vocabulary())
    reader.read({"a": 4, "b": -1})
    before = row_of(reader)
    assert reader._read_named(x, 0) == NOT_NUMBERS
    assert sys.exc_info() == (None, None, None)
    assert row_of(reader) == before


def test_minus_one_is_a_number():
    reader = ExampleReader(Vocabulary())
    reader.read({"a": -1, "b": -1.0})
    assert row_of(reader) == ([0, 1], [-1.0, -1.0])


def test_an_example_that_changed_after_it_was_predicted_is_read_again():
    reader = ExampleReader(Vocabulary())
    x = {"a": 1.0, "b": 2.0}
    reader.read(x)
    x["b"] = 5.0
    reader.read(x)
    assert row_of(reader) == ([0, 1], [1.0, 5.0])
    del x["b"]
    x["c"] = 5.0
    reader.read(x)
    assert row_of(reader) == ([0, 2], [1.0, 5.0])


def test_unknown_names_of_the_example_before_are_not_those_of_this_one():
    """Both have the same numbers and no known name."""
    reader = ExampleReader(Vocabulary())
    reader.read({"a": 1.0})
    reader.read({"b": 1.0})
    assert row_of(reader) == ([1], [1.0])
    reader.vocabulary.grow = False
    reader.read({"c": 1.0})
    reader.read({"c": 1.0})
    assert row_of(reader) == ([], [])
    reader.vocabulary.grow = True
    reader.read({"c": 1.0})
    assert row_of(reader) == ([2], [1.0])


def test_text_is_flattened_once_for_a_prediction_and_what_is_learned(monkeypatch):
    reader = ExampleReader(Vocabulary())
    text, numbers = {"a": 1, "at": "noon"}, {"a": 3, "b": 4}
    for x in (text, numbers, text):
        reader.read(x)
    assert row_of(reader) == ([0, 1], [1.0, 1.0])
    monkeypatch.setattr("rosenblatt.streams.named_rows.flattened_row", None)
    reader.read(dict(text))
    assert row_of(reader) == ([0, 1], [1.0, 1.0])


@pytest.mark.parametrize("kind", [dict, Counter, OrderedDict])
def test_any_mapping_is_read(kind):
    reader = ExampleReader(Vocabulary())
    reader.read(kind({"b": 1, "a": 2}))
    assert row_of(reader) == ([0, 1], [1.0, 2.0])


@pytest.mark.parametrize("bits", [0, 4])
def test_many_examples_are_read_as_one_after_the_other(bits):
    from rosenblatt.data.named.vocabulary import NamedSchema

    rng = np.random.default_rng(0)
    X = [{f"w{k}": float(k) for k in rng.permutation(40)[: rng.integers(0, 30)].tolist()} for _ in range(30)]
    X[7] = {"at": "noon", "tags": [f"t{k}" for k in range(600)], "w1": True}  # more features than names
    X[9] = Counter("abracadabra")
    one, many = (ExampleReader(Vocabulary(NamedSchema(bits=bits))) for _ in range(2))
    rows = many.rows(tuple(X))
    for k, x in enumerate(X):
        one.read(x)
        assert row_of(many, k) == row_of(one)
    assert rows.values.size == rows.indices.size == rows.starts[-1]
    assert one.vocabulary.names == many.vocabulary.names


def test_reading_counts_no_references():
    reader = ExampleReader(Vocabulary())
    x = {"a" * 50: 1234.5, "b" * 50: 2**70}
    reader.read(x)
    gc.collect()
    before = [sys.getrefcount(each) for each in (*x, *x.values(), *reader.vocabulary.index)]
    for _ in range(100):
        reader.read(x)
    after = [sys.getrefcount(each) for each in (*x, *x.values(), *reader.vocabulary.index)]
    assert before == after


def test_a_reader_holds_the_names_it_read_last_and_no_others():
    reader = ExampleReader(Vocabulary())
    names = [f"{k} of some names" for k in range(600)]
    reader.read({"known": 1.0})
    reader.vocabulary.grow = False  # so that no name is held by the vocabulary
    before = [sys.getrefcount(name) for name in names]
    for first, last in (
        (0, 200),
        (100, 150),
        (0, 600),
        (300, 310),
    ):  # 600 need more room than there is at first
        reader.read(dict.fromkeys(names[first:last], 1.0))
        reader.read(dict.fromkeys(names[first:last], 1.0))
    del reader
    assert [sys.getrefcount(name) for name in names] == before


def test_a_name_is_looked_up_again_where_another_object_has_its_address():
    """The reader owns the names that it recognises by their address: a freed address may be that of another name."""
    reader = ExampleReader(Vocabulary())
    reader.read({f"name{k}": 1.0 for k in range(10)})
    for turn in range(500):
        k = turn * 7 % 10
        reader.read({f"name{k}": 1.0})  # a new object, freed at once
        assert row_of(reader) == ([k], [1.0])


def test_names_that_are_integers_are_those_of_their_text():
    rng = np.random.default_rng(0)
    by_text, by_number = ExampleReader(Vocabulary()), ExampleReader(Vocabulary())
    for k in range(60):
        drawn = rng.permutation(30)[: rng.integers(1, 20)].tolist()
        x = {each - 5: float(each) for each in drawn}
        for reader in (by_text, by_number):
            reader.vocabulary.grow = k % 3 > 0
        by_text.read({str(name): value for name, value in x.items()})
        by_number.read(x)
        assert row_of(by_number) == row_of(by_text)
    assert by_number.vocabulary.names == by_text.vocabulary.names
    assert by_number._read_named({0: 1.0, 1: 2.0}, 0) == 0  # compiled code knows them now
    for mixed in ({0: 1.0, "0": 2.0}, {True: 1.0}, {1.0: 1.0}, {2: 1.0, True: 2.0}, {0: 1.0, None: 2.0}):
        by_number.read(mixed)
        by_text.read({str(name): value for name, value in mixed.items()})
        assert row_of(by_number) == row_of(by_text)


def test_the_type_of_an_object_is_read_where_python_keeps_it():
    """An interpreter with another layout of objects would fail here, and not by reading memory at random."""
    from ctypes import c_ssize_t

    for value in (1, 1.5, "text", {}, [], True):
        assert c_ssize_t.from_address(id(value) + TYPE_AT).value == id(type(value))


def test_a_reader_without_rows_knows_its_vocabulary():
    index, integers = {"a": 0}, {}
    reader = new_reader(index, integers)
    assert (reader["index"].item(), reader["integers"].item()) == (id(index), id(integers))
    assert reader_functions() is reader_functions()


@pytest.mark.parametrize("count", [2, 47, 48, 300])
@pytest.mark.parametrize("largest", [1, 255, 256, 70_000, 2**24, 2**31 - 1])
def test_keys_are_sorted_by_code_and_equal_codes_keep_their_order(count, largest):
    rng = np.random.default_rng(count)
    codes = np.append(rng.integers(0, largest, count - 1, endpoint=True), largest).astype(np.uint64)
    keys = (codes << np.uint64(32)) | np.arange(count, dtype=np.uint64)
    expected = np.sort(keys)
    sort_by_code(keys, np.empty_like(keys), largest)
    assert np.array_equal(keys, expected)


def test_a_copy_of_a_learner_reads_by_its_own_vocabulary():
    from copy import deepcopy

    learner = OnlineLearner("last")
    learner.learn_one({"a": 1.0}, "p")
    learner.learn_one({"b": 1.0}, "q")
    twin = deepcopy(learner)
    learner.learn_one({"c": 1.0}, "p")
    twin.learn_one({"d": 1.0}, "p")
    assert (learner.names, twin.names) == (("a", "b", "c"), ("a", "b", "d"))
    assert (learner.predict_one({"c": 5.0}), twin.predict_one({"d": 5.0})) == ("p", "p")
