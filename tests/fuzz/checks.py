"""One check for every text format: whatever is accepted is what a plain reader accepts, to the bit."""

import contextlib
import json

import numpy as np
from tests.fuzz import plain
from tests.fuzz.guard import Guarded

from rosenblatt.data.named.json_lines import BadValue, JsonExamples, flattened, parsed
from rosenblatt.data.named.vocabulary import NamedSchema, Vocabulary, rows_of_records
from rosenblatt.data.scanners import libsvm, names, vw
from rosenblatt.data.scanners import numbers as plain_numbers
from rosenblatt.data.tables.delimited import read_rows
from rosenblatt.data.tables.header import Header
from rosenblatt.data.tables.values import numbers
from rosenblatt.data.textblocks import Block
from rosenblatt.data.words import Words

COLUMNS = ["a", "b", "c"]


@contextlib.contextmanager
def guarded():
    """Let the compiled scanners read from memory that ends where they must stop."""
    places: list[Guarded] = []

    def holding(text):
        """Use a place that nobody looks at: a scanner may call another."""
        free = next((place for place in places if place.free), None)
        if free is None:
            free = Guarded()
            places.append(free)
        return free.holding(text)

    modules = (libsvm, vw, names, plain_numbers)
    before = [module.as_bytes for module in modules]
    for module in modules:
        module.as_bytes = holding
    try:
        yield
    finally:
        for module, one in zip(modules, before, strict=True):
            module.as_bytes = one


def same(ours, theirs):
    """Whether two lists of floats are equal, the sign of zero included."""
    return np.array(ours, float).tobytes() == np.array(theirs, float).tobytes()


def check_libsvm(text):
    for zero_based in (False, True):
        rows, bad = plain.lines_of(text, lambda line: plain.libsvm_line(line, zero_based))  # noqa: B023
        found = libsvm.scan(text, zero_based)
        assert [line for line, _, _ in found.bad] == bad
        assert found.lines.tolist() == [line for line, _ in rows]
        assert same(found.labels, [label for _, (label, _, _) in rows])
        assert (
            found.indptr.tolist() == np.cumsum([0] + [len(indices) for _, (_, indices, _) in rows]).tolist()
        )
        assert found.indices.tolist() == [index for _, (_, indices, _) in rows for index in indices]
        assert same(found.values, [value for _, (_, _, values) in rows for value in values])
        if zero_based:
            assert libsvm.has_index_zero(text) == bool((found.indices == 0).any())
    rows, bad = plain.lines_of(text, lambda line: plain.libsvm_line(line, True, 2**31 + 1))
    found = libsvm.scan(text, None)  # where indices begin is not known yet: an index 0 is -1
    written = [index for _, (_, indices, _) in rows for index in indices]
    assert [line for line, _, _ in found.bad] == bad
    assert (found.indices.astype(np.int64) + 1).tolist() == written
    assert found.has_zero == (0 in written)
    assert found.largest == max(written, default=0) - 1


def check_vw(text):
    rows, bad = plain.lines_of(text, plain.vw_line)
    found = vw.scan_vw(text)
    assert [line for line, _, _ in found.bad] == bad
    assert found.lines.tolist() == [line for line, _ in rows]
    kinds = [0 if row[0] is None else 2 if isinstance(row[0], bytes) else 1 for _, row in rows]
    assert found.labelled.tolist() == kinds
    assert same(found.labels[found.labelled == 1], [row[0] for _, row in rows if isinstance(row[0], float)])
    texts = [text[lo:hi] for lo, hi in found.label_spans[found.labelled == 2].tolist()]
    assert texts == [row[0] for _, row in rows if isinstance(row[0], bytes)]
    assert same(found.weights, [row[1] for _, row in rows])
    assert [text[lo:hi] for lo, hi in found.tags.tolist()] == [row[2] for _, row in rows]
    features = [feature for _, row in rows for feature in row[3]]
    assert same(found.values, [value for _, value in features])
    table = names.NameTable()
    expected = {}
    places = [expected.setdefault(name, len(expected)) for name, _ in features]
    assert table.numbers(found.text, found.names, found.crcs).tolist() == places
    assert [name.encode("utf-8", "surrogateescape") for name in table.names()] == list(expected)


def check_csv(text):
    text = text if text.endswith(b"\n") else text + b"\n"
    for separator in (",", "\t"):
        rows, bad, never = plain.csv_rows(text, separator, 3)
        found = read_rows(Block(1, text), Header(0, COLUMNS, separator), COLUMNS)
        assert [row.line - 1 for row in found.bad] == bad
        assert all(row.column for row in found.bad)
        assert (found.opening is not None) == never
        assert (found.lines - 1).tolist() == [line for line, _ in rows]
        cells = list(zip(*(found.columns[name].to_pylist() for name in COLUMNS), strict=True))
        assert cells == [tuple(row) for _, row in rows]
        read = [[plain.number_cell(cell) for cell in row] for row in cells]
        for place, name in enumerate(COLUMNS):
            values = numbers(found.columns[name])
            expected = [np.nan if row[place] is None else row[place] for row in read]
            assert np.array_equal(values, np.array(expected, float), equal_nan=True)
        scanned = plain_numbers.scan_numbers(text, separator, np.array([1, 0, 2]), 2)
        if scanned is not None:
            assert not bad
            assert scanned.lines.tolist() == [line for line, _ in rows]
            assert same(scanned.values.ravel(), [row[place] for row in read for place in (1, 0)])
            assert same(scanned.others[0], [row[2] for row in read])


class _Reader(JsonExamples):
    """The reader of JSON lines, without a file."""

    def __init__(self, text=()):
        self._options = NamedSchema((), 0, "label", "text", text, Words(weighting="counts"))
        self._set_texts(text)
        self._labelled = True
        self._label_types = {}
        self._large_label = self._fraction = None


def check_jsonl(text):
    reader = _Reader()
    written_as = {}
    rows, bad = plain.lines_of(text, lambda line: plain.json_line(line, "label", written_as))
    ours, refused, columns = [], [], []
    for offset, line in enumerate(text.split(b"\n")):
        if not line.strip():
            continue
        try:
            record = reader._record(offset, line)
        except BadValue as error:
            columns.append(0 < error.column(line) <= len(line))
            refused.append(offset)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            refused.append(offset)
        else:
            ours.append((offset, (record.label, dict(record.features))))
    assert refused == bad
    assert ours == rows
    assert all(columns)
    check_words([line for offset, line in enumerate(text.split(b"\n")) if offset in {at for at, _ in rows}])


def check_words(lines):
    """Words that are counted many at a time are those of each text alone."""
    parsed_lines = [parsed(line) for line in lines]
    fields = {key for record in parsed_lines for key, value in record.items() if isinstance(value, str)}
    reader = _Reader(tuple(sorted(fields - {"label"})[:3]))
    records, expected = [], []
    for line, record in zip(lines, parsed_lines, strict=True):
        features = {key: value for key, value in record.items() if key != "label"}
        try:
            wanted = flattened(features, reader._options.text, reader._options.words)
            records.append(reader._record(1, line))
        except BadValue:
            continue
        expected.append(wanted)
    vocabulary = Vocabulary()
    X, _ = rows_of_records(records, vocabulary, reader._options.words, reader._prefixes)
    known = vocabulary.names
    for row, wanted in enumerate(expected):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        row_names = [known[at] for at in X.indices[entries]]
        assert dict(zip(row_names, X.data[entries].tolist(), strict=True)) == wanted


CHECKS = {"libsvm": check_libsvm, "vw": check_vw, "csv": check_csv, "jsonl": check_jsonl}
