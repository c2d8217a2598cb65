"""Vowpal Wabbit text: labels, importance, tags, namespaces, features by name."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import Batch, as_written, sparse_rows
from rosenblatt.data.errors import BadInput, BadLine, BadOption, shown
from rosenblatt.data.examples import Examples
from rosenblatt.data.labels import TargetValues
from rosenblatt.data.named.vocabulary import NamedSchema
from rosenblatt.data.scanners import vw as codes
from rosenblatt.data.scanners.names import NameTable, sorted_rows
from rosenblatt.data.scanners.vw import VwScan, scan_vw
from rosenblatt.data.source import STANDARD_INPUT
from rosenblatt.data.tables.delimited import first_not_utf8
from rosenblatt.data.textblocks import first_text_line, in_order, whole_lines

if TYPE_CHECKING:
    from rosenblatt.data.open import Opening

REASONS = {
    codes.NO_BAR: "no | before the features",
    codes.SEVERAL_LABELS: "the label {token} has costs, or is several: expected one number, or a text without : and ,",
    codes.LABEL_NOT_FINITE: "the label {token} is not a finite number",
    codes.BAD_IMPORTANCE: "the importance {token} is not a finite number of 0 or more",
    codes.HAS_BASE: "a base of {token} is not supported: leave the third number out, or write 0",
    codes.BAD_SCALE: "{token} is not the scale of a namespace",
    codes.BAD_VALUE: "{token} has a value that is neither a number nor a text",
    codes.VALUE_NOT_FINITE: "{token} has a value that is not a finite number",
    codes.NOTHING_EXPECTED: "{token} where | is expected",
}
HEAD_BYTES = 1 << 16  # that decide whether a file has labels
NOT_TEXT = "not UTF-8 text: convert the file to UTF-8"
NUL = "a NUL byte: is this a text file?"
OVERFLOW = "the values of {token} add up beyond a float64: write smaller ones"
NOT_A_NUMBER = (
    "the label {token} is not a number, but the labels before it are: write all as text, or all as numbers"
)


class VwExamples(Examples):
    """Examples from Vowpal Wabbit text, with an open vocabulary unless a schema fixes it.

    The first label decides whether labels are numbers or texts. If the first lines have labels, lines without one are
    skipped and counted in ``unlabelled``; if they have none, or labels are not wanted, ``y`` is None.
    """

    format = "vw"

    def __init__(self, opening: "Opening") -> None:
        options, schema = opening.options, opening.schema
        super().__init__(opening.path, opening.batch_rows, options.skip_bad)
        if options.target is not None:
            raise BadOption(
                self.path,
                None,
                f"the label of Vowpal Wabbit text has no name, so not {options.target!r}: leave out --target",
            )
        if schema is not None and not isinstance(schema, NamedSchema):
            raise BadInput(
                self.path, None, "is Vowpal Wabbit text, but the model was trained on another kind of file"
            )
        self._paths = opening.paths
        self._bits = schema.bits if schema else options.hash_bits
        self._kind = schema.labels if schema else None  # of the labels, once the first is read
        self._grow = options.grow or schema is None
        self._table = NameTable(schema.names if schema and not self._bits else ())
        self._labelled = options.labels and _has_labels(self._paths[0])
        self._target_values = TargetValues()
        self.on_name: Callable[[int, str], None] | None = None  # called with each hashed feature and its name

    @property
    def schema(self) -> NamedSchema:
        """Names so far, in order of appearance; ``namespace^feature``."""
        names = () if self._bits else tuple(self._table.names())
        return NamedSchema(names, self._bits, None, self._kind or "number")

    @property
    def target_kind(self) -> Literal["classes", "numeric"]:
        """``"numeric"`` if the labels so far are a measurement, with many distinct numbers; else ``"classes"``."""
        return self._target_values.kind

    @property
    def n_features(self) -> int:
        """Number of features so far."""
        return 1 << self._bits if self._bits else len(self._table)

    def _blocks(self) -> Iterator[Batch]:
        self._target_values = TargetValues()
        for path in self._paths:
            first = 1
            for scan, not_text in in_order(_scan_text, whole_lines(path)):
                bad = [_bad_line(path, first, scan.text, *entry) for entry in scan.bad]
                bad += [BadLine(path, first + line, *reason) for line, reason in not_text.items()]
                keep = self._with_label(scan)
                if self._labelled and self._kind != "text":
                    bad += [
                        _bad_label(path, first, scan, row)
                        for row in np.flatnonzero(scan.labelled == codes.TEXT).tolist()
                    ]
                    keep &= scan.labelled == codes.NUMBER
                if bad:
                    self._skip_lines(bad)
                if keep.any():
                    batch, overflowing = self._batch(scan, first, keep)
                    self._skip_lines(self._overflow(path, first, scan.text, line) for line in overflowing)
                    if batch.lines.size:
                        yield batch._replace(files=((0, path),))
                first += scan.n_lines

    def _with_label(self, scan: VwScan) -> NDArray[np.bool_]:
        """Return the mask of the rows to keep: in a labelled file those with a label; count the others."""
        has_label: NDArray[np.bool_] = scan.labelled != codes.UNLABELLED
        if not self._labelled:
            return np.ones(has_label.size, np.bool_)
        if self._kind is None and has_label.any():
            self._kind = "text" if scan.labelled[has_label][0] == codes.TEXT else "number"
        self.unlabelled += int(has_label.size - has_label.sum())
        return has_label

    def _batch(self, scan: VwScan, first: int, keep: NDArray[np.bool_]) -> tuple[Batch, list[int]]:
        """Return the rows of a block, and the lines of those dropped because a sum of values is beyond float64."""
        features = self._features(scan)
        if self._bits and self.on_name is not None:
            _report_names(scan, features, self.on_name)
        if not self._grow and not self._bits and (features < 0).any():
            self.unseen_in["features the model does not know"] += int((features < 0).sum())
        size, overflowing = sorted_rows(scan.indptr, features, scan.values)
        X = sparse_rows(scan.values[:size], features[:size], scan.indptr, self.n_features)
        weight = None if (scan.weights == 1.0).all() else scan.weights
        y: NDArray[Any] | None = None
        if self._labelled:
            y = _texts(scan, scan.label_spans) if self._kind == "text" else scan.labels
        tags = _texts(scan, scan.tags) if scan.tags[:, 1].any() else None
        batch = Batch(X, y, first + scan.lines, weight, tags=tags)
        bad_lines = scan.lines[overflowing[keep[overflowing]]].tolist()
        if overflowing.size:
            keep = keep.copy()
            keep[overflowing] = False
        return batch if keep.all() else _take_rows(batch, np.flatnonzero(keep)), bad_lines

    def _features(self, scan: VwScan) -> NDArray[np.int32]:
        """Return the feature of every name of a block, -1 for an unknown one."""
        if self._bits:
            return (scan.crcs & np.uint32((1 << self._bits) - 1)).view(np.int32)
        return self._table.numbers(scan.text, scan.names, scan.crcs, self._grow)

    def _overflow(self, path: str, first: int, text: bytes | bytearray, line: int) -> BadLine:
        """Return the error of a line with a feature whose values add up beyond float64."""
        scan = scan_vw(bytes(text.split(b"\n", line + 1)[line]) + b"\n")
        sums: dict[int, float] = {}
        for feature, value, name in zip(
            self._features(scan).tolist(), scan.values.tolist(), scan.names.tolist(), strict=True
        ):
            sums[feature] = sums.get(feature, 0.0) + value
            if feature >= 0 and not np.isfinite(sums[feature]):
                token = scan.text[name[2] : name[3]].decode("utf-8", "backslashreplace")
                return BadLine(path, first + line, OVERFLOW.format(token=shown(token)), name[2] + 1)
        raise AssertionError("no feature of the line has a sum beyond float64")

    def _finish(self, batch: Batch) -> Batch:
        self._target_values.update(batch.y)
        return (
            batch if batch.y is None or batch.y.dtype.kind == "U" else batch._replace(y=as_written(batch.y))
        )


def _has_labels(path: str) -> bool:
    """Whether any of the first examples of a file has a label; of standard input, the very first."""
    first_text_line(path)  # raises for an empty file
    labelled = scan_vw(next(whole_lines(path, HEAD_BYTES))).labelled
    if path == STANDARD_INPUT:  # the answer must not depend on how much has arrived
        labelled = labelled[:1]
    return bool((labelled != codes.UNLABELLED).any())


def _report_names(scan: VwScan, features: NDArray[np.int32], on_name: Callable[[int, str], None]) -> None:
    """Call ``on_name(feature, name)`` with the first name of every feature in a block."""
    distinct, first = np.unique(features, return_index=True)
    for feature, (space, space_end, lo, hi) in zip(
        distinct.tolist(), scan.names[first].tolist(), strict=True
    ):
        prefix = scan.text[space:space_end] + b"^" if space_end > space else b""
        on_name(feature, (prefix + scan.text[lo:hi]).decode(errors="replace"))


def _take_rows(batch: Batch, rows: NDArray[np.intp]) -> Batch:
    y = None if batch.y is None else batch.y[rows]
    weight = None if batch.weight is None else batch.weight[rows]
    tags = None if batch.tags is None else batch.tags[rows]
    return Batch(batch.X[rows], y, batch.lines[rows], weight, tags=tags)


def _texts(scan: VwScan, spans: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return the label or the tag of every row, "" without one."""
    return np.array([scan.text[lo:hi].decode() for lo, hi in spans.tolist()], dtype=np.str_)


def _scan_text(text: bytearray) -> tuple[VwScan, dict[int, tuple[str, int]]]:
    """Scan a block without its lines that are not UTF-8 text; return their reasons and columns by line offset."""
    if b"\0" not in text and _is_utf8(text):
        return scan_vw(text), {}
    lines, not_text = text.split(b"\n"), {}
    for offset, line in enumerate(lines):
        if b"\0" in line or not _is_utf8(line):
            nul = line.find(b"\0")
            not_text[offset] = (NUL, nul + 1) if nul >= 0 else (NOT_TEXT, first_not_utf8(bytes(line)) + 1)
            lines[offset] = bytearray()
    return scan_vw(bytearray(b"\n").join(lines)), not_text


def _is_utf8(text: bytearray) -> bool:
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


def _bad_line(path: str, first: int, text: bytes | bytearray, line: int, error: int, start: int) -> BadLine:
    tokens = text[start : start + 200].split(b"\n", 1)[0].split(maxsplit=1)
    token = tokens[0].decode("utf-8", "backslashreplace") if tokens else "the end of the line"
    column = start - text.rfind(b"\n", 0, start)
    return BadLine(path, first + line, REASONS[error].format(token=shown(token)), column)


def _bad_label(path: str, first: int, scan: VwScan, row: int) -> BadLine:
    start, end = scan.label_spans[row].tolist()
    token = scan.text[start:end].decode("utf-8", "backslashreplace")
    column = start - scan.text.rfind(b"\n", 0, start)
    return BadLine(path, first + int(scan.lines[row]), NOT_A_NUMBER.format(token=shown(token)), column)
