"""Vowpal Wabbit text: labels, importance, tags, namespaces, features by name."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.bad_input import BadInput, BadLine, shown
from rosenblatt.data.batch import Batch, as_written, sparse_rows
from rosenblatt.data.cells import first_not_utf8
from rosenblatt.data.examples import Examples
from rosenblatt.data.lines import first_text_line, whole_lines
from rosenblatt.data.named_schema import NamedSchema
from rosenblatt.data.parallel import in_order
from rosenblatt.data.scanners import vw_loop as wrong
from rosenblatt.data.scanners.vw import NameTable, VwScan, in_order_of_place, scan_vw

REASONS = {
    wrong.NO_BAR: "no | before the features",
    wrong.BAD_LABEL: "the label {token} is not a number",
    wrong.LABEL_NOT_FINITE: "the label {token} is not a finite number",
    wrong.BAD_IMPORTANCE: "the importance {token} is not a finite number of 0 or more",
    wrong.HAS_BASE: "a base of {token} is not supported: leave the third number out, or write 0",
    wrong.BAD_SCALE: "{token} is not the scale of a namespace",
    wrong.NO_NAME: "{token} has a value but no name",
    wrong.BAD_VALUE: "{token} has a value that is not a number",
    wrong.VALUE_NOT_FINITE: "{token} has a value that is not a finite number",
    wrong.NOTHING_EXPECTED: "{token} where | is expected",
}
NOT_TEXT = "not UTF-8 text: convert the file to UTF-8"
NUL = "a NUL byte: is this a text file?"
NO_LABEL = "no label: nothing can be learned from it"
OVERFLOW = "the values of {token} add up beyond a float64: write smaller ones"


class VwExamples(Examples):
    """Examples from Vowpal Wabbit text, with an open vocabulary unless a schema fixes it.

    A file whose first example has no label has none at all: ``y`` is None.
    """

    format = "vw"

    def __init__(
        self,
        paths: Sequence[str],
        *,
        path: str,
        schema: NamedSchema | None,
        grow: bool,
        bits: int,
        batch_rows: int | None,
        skip_bad: bool,
    ) -> None:
        super().__init__(path, batch_rows, skip_bad)
        self._paths = list(paths)
        first_text_line(self._paths[0])
        self._bits = schema.bits if schema else bits
        self._told = schema or NamedSchema(bits=bits)
        self._grow = grow or schema is None
        self._table = NameTable(() if self._bits else self._told.names)
        self._labelled: bool | None = None
        self.heard: Callable[[int, str], None] | None = None  # told of the names that are hashed

    @property
    def schema(self) -> NamedSchema:
        """Names met so far, in order of appearance; ``namespace^feature``."""
        names = () if self._bits else tuple(self._table.names())
        return NamedSchema(names, self._bits, None, "number")

    @property
    def n_features(self) -> int:
        """How many features have been met."""
        return 1 << self._bits if self._bits else len(self._table)

    def _blocks(self) -> Iterator[Batch]:
        self._labelled = None
        for path in self._paths:
            first = 1
            for text, found, odd in in_order(_scanned, whole_lines(path)):
                keep = self._with_label(found)
                if found.bad or odd or not keep.all():
                    malformed = [_in_words(path, first, text, *entry) for entry in found.bad]
                    malformed += [BadLine(path, first + line, *told) for line, told in odd.items()]
                    unlabelled = [
                        BadLine(path, first + line, NO_LABEL, 1) for line in found.lines[~keep].tolist()
                    ]
                    self._pass_over([*malformed, *unlabelled])
                if found.labels.size and keep.any():
                    batch, overflowing = self._batch(text, found, first, keep)
                    self._pass_over(self._overflow(path, first, text, line) for line in overflowing)
                    if batch.lines.size:
                        yield batch._replace(files=((0, path),))
                first += found.n_lines

    def _with_label(self, found: VwScan) -> NDArray[np.bool_]:
        """Return which rows to keep: in a labelled file, those with a label."""
        if self._labelled is None and found.labels.size:
            self._labelled = bool(found.labelled[0])
        if not self._labelled:
            return np.ones(found.labels.size, np.bool_)
        return found.labelled

    def _batch(
        self, text: bytearray, found: VwScan, first: int, keep: NDArray[np.bool_]
    ) -> tuple[Batch, list[int]]:
        """Return the rows of a block, and the lines of those left out because values add up beyond a float64."""
        places = self._places(text, found)
        if self._bits and self.heard is not None:
            _tell_names(text, found, places, self.heard)
        if not self._grow and not self._bits and (places < 0).any():
            self.unseen_in["features the model does not know"] += int((places < 0).sum())
        entries, overflowing = in_order_of_place(found, places)
        X = sparse_rows(found.values[:entries], places[:entries], found.indptr, self.n_features)
        weight = None if (found.weights == 1.0).all() else found.weights
        y = found.labels if self._labelled else None
        batch = Batch(X, y, first + found.lines, weight, tags=_tags(text, found))
        bad_lines = found.lines[overflowing[keep[overflowing]]].tolist()
        if overflowing.size:
            keep = keep.copy()
            keep[overflowing] = False
        return batch if keep.all() else _rows(batch, np.flatnonzero(keep)), bad_lines

    def _places(self, text: bytes | bytearray, found: VwScan) -> NDArray[np.int32]:
        """Return the feature of every name of a block, -1 where it has none."""
        if self._bits:
            return (found.crcs & np.uint32((1 << self._bits) - 1)).view(np.int32)
        return self._table.numbers(text, found, self._grow)

    def _overflow(self, path: str, first: int, text: bytearray, line: int) -> BadLine:
        """Say which feature of a line has values that add up beyond a float64."""
        alone = bytes(text.split(b"\n", line + 1)[line]) + b"\n"
        found = scan_vw(alone)
        sums: dict[int, float] = {}
        for place, value, name in zip(
            self._places(alone, found).tolist(), found.values.tolist(), found.names.tolist(), strict=True
        ):
            sums[place] = sums.get(place, 0.0) + value
            if place >= 0 and not np.isfinite(sums[place]):
                token = alone[name[2] : name[3]].decode("utf-8", "backslashreplace")
                return BadLine(path, first + line, OVERFLOW.format(token=shown(token)), name[2] + 1)
        raise AssertionError("a sum was refused that no feature of the line makes")

    def _finish(self, batch: Batch) -> Batch:
        return batch if batch.y is None else batch._replace(y=as_written(batch.y))


def _tell_names(
    text: bytearray, found: VwScan, places: NDArray[np.int32], tell: Callable[[int, str], None]
) -> None:
    """Tell the first name of every feature in a block, as it is called where names are kept."""
    features, first = np.unique(places, return_index=True)
    for at, (space, space_end, lo, hi) in zip(features.tolist(), found.names[first].tolist(), strict=True):
        before = text[space:space_end] + b"^" if space_end > space else b""
        tell(at, (before + text[lo:hi]).decode(errors="replace"))


def _rows(batch: Batch, rows: NDArray[np.intp]) -> Batch:
    y = None if batch.y is None else batch.y[rows]
    weight = None if batch.weight is None else batch.weight[rows]
    tags = None if batch.tags is None else batch.tags[rows]
    return Batch(batch.X[rows], y, batch.lines[rows], weight, tags=tags)


def _tags(text: bytearray, found: VwScan) -> NDArray[np.str_] | None:
    """Return the tag of every row, without its quote; None where no row has one."""
    if not found.tags[:, 1].any():
        return None
    return np.array([text[lo:hi].decode() for lo, hi in found.tags.tolist()], dtype=np.str_)


def _scanned(text: bytearray) -> tuple[bytearray, VwScan, dict[int, tuple[str, int]]]:
    """Scan a block; lines that are no text are left blank in it, and told: what is wrong, and in which column."""
    if b"\0" not in text and _is_utf8(text):
        return text, scan_vw(text), {}
    lines, odd = text.split(b"\n"), {}
    for at, line in enumerate(lines):
        if b"\0" in line or not _is_utf8(line):
            nul = line.find(b"\0")
            odd[at] = (NUL, nul + 1) if nul >= 0 else (NOT_TEXT, first_not_utf8(bytes(line)) + 1)
            lines[at] = bytearray()
    text = bytearray(b"\n").join(lines)
    return text, scan_vw(text), odd


def _is_utf8(text: bytearray) -> bool:
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


def _in_words(path: str, first: int, text: bytearray, line: int, what: int, start: int) -> BadLine:
    tokens = text[start : start + 200].split(b"\n", 1)[0].split(maxsplit=1)
    token = tokens[0].decode("utf-8", "backslashreplace") if tokens else "the end of the line"
    column = start - text.rfind(b"\n", 0, start)
    return BadLine(path, first + line, REASONS[what].format(token=shown(token)), column)


def open_vw(
    paths: Sequence[str],
    *,
    path: str,
    target: str | None,
    schema: object,
    grow: bool,
    bits: int,
    batch_rows: int | None,
    skip_bad: bool,
) -> VwExamples:
    """Open Vowpal Wabbit text; its label has no name, so it takes no target and no table's schema."""
    if target is not None:
        raise BadInput(
            path, None, f"the label of Vowpal Wabbit text has no name, so not {target!r}: drop the target"
        )
    if schema is not None and not isinstance(schema, NamedSchema):
        raise BadInput(path, None, "is Vowpal Wabbit text, but the model was trained on another kind of file")
    return VwExamples(
        paths, path=path, schema=schema, grow=grow, bits=bits, batch_rows=batch_rows, skip_bad=skip_bad
    )
