"""Open any source (a path, a pattern, ``-`` or ``sample:NAME``) as examples."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.errors import BadInput, BadOption, SkippedLines
from rosenblatt.data.examples import Examples
from rosenblatt.data.named.examples import NamedExamples
from rosenblatt.data.named.vocabulary import NamedSchema
from rosenblatt.data.options import ReadOptions
from rosenblatt.data.schema import Schema, TableSchema, schema_from_dict
from rosenblatt.data.source import (
    STANDARD_INPUT,
    Source,
    files_in,
    name_of,
    opened,
    paths_of,
    signature_of,
    standard_input,
    without_suffix,
)
from rosenblatt.data.tables.infer import ColumnReport, TargetKind
from rosenblatt.data.tables.preprocess import PreprocessingPlan
from rosenblatt.data.textblocks import blocks_of_lines, first_text_line
from rosenblatt.data.words import TfidfPlan

BY_SUFFIX = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".vw": "vw",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".mbox": "mbox",
    ".mbx": "mbox",
}
LIBSVM_LINE = re.compile(rb"[^\s:,;|]+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?", re.ASCII)
_NUMBER = rb"[+-]?[\d.]+([eE][+-]?\d+)?"
VW_LINE = re.compile(rb"(%b\s+){0,3}('?[^\s|,;]*)?\|.*" % _NUMBER, re.ASCII | re.DOTALL)
# A table with bars; in Vowpal Wabbit text a space precedes the second bar.
BAR_TABLE = re.compile(rb"[^\s|]([^|]*[^\s|])?(\|([^|]*[^\s|])?){2,}")
PLANNED = ("missing", "scale", "exact")  # options that decide the preprocessing


class AllExamples(NamedTuple):
    """A whole source in memory: all rows, and the results of reading."""

    X: Any
    y: NDArray[Any] | None
    lines: NDArray[np.int64]
    feature_names: list[str] | None
    schema: Schema
    skipped: SkippedLines
    unseen: int
    weight: NDArray[np.float64] | None = None  # importance of every row; None: all 1
    tags: NDArray[np.str_] | None = None  # identifier of every row; None: no identifiers
    columns: list[ColumnReport] = []  # noqa: RUF012 (never written to) kinds of the columns of a table
    notes: list[str] = []  # noqa: RUF012 (never written to) other decisions, each a sentence
    target_kind: TargetKind = "classes"
    plan: PreprocessingPlan | TfidfPlan | None = None  # of raw rows: the stage to fit on them


class Opening(NamedTuple):
    """Arguments of a reader."""

    path: str  # name of the source in messages
    paths: list[str]  # files of the source
    format: str
    options: ReadOptions
    schema: Schema | None
    batch_rows: int | None


def open_examples(
    source: Source,
    options: ReadOptions | None = None,
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    batch_rows: int | None = 65536,
    **changes: Any,
) -> Examples:
    """Open a file, several files, a folder, standard input or a sample as a stream of batches.

    Parameters
    ----------
    source : path, list of paths or data frame
        A path, a pattern like ``logs/*.csv``, ``-`` for standard input, ``sample:NAME``, or a data frame (pandas,
        polars, pyarrow).
    options : ReadOptions, optional
    schema : Schema or dict, optional
        The schema of a trained model (or its ``to_dict()``), to encode new data as in training.
    batch_rows : int or None, default=65536
        Rows of every batch but the last; None for batches as they are read, without copying.
    **changes
        Options of :class:`~rosenblatt.data.options.ReadOptions` by name, like ``target="Play"``.

    Raises
    ------
    BadInput
        With the path, the line, the reason and the way out.

    Examples
    --------
    >>> examples = open_examples("sample:iris", batch_rows=100)
    >>> [batch.X.shape for batch in examples]
    [(100, 4), (50, 4)]
    """
    options = (options or ReadOptions()).changed(**changes)
    known = schema_from_dict(schema) if isinstance(schema, Mapping) else schema
    if options.format not in (None, *FORMATS):
        raise ValueError(f"format is {options.format!r}: expected one of {', '.join(FORMATS)}")
    if is_frame(source):
        return _frame(source, options, known, batch_rows)
    path = name_of(source)
    if path.startswith("sample:"):
        from rosenblatt.data.samples import SampleExamples

        if options.target not in (None, "class"):
            raise BadOption(path, None, f"its target is 'class', not {options.target!r}: leave out --target")
        return SampleExamples(path, known, batch_rows, options.skip_bad, options.scale)
    paths = paths_of(source)
    form = find_format(paths[0]) if options.format is None or Path(paths[0]).is_dir() else options.format
    if form == "folder of files" and options.format not in ("folders", "maildir"):
        paths = [file for folder in paths for file in files_in(folder)]
        form = options.format or _one_format(path, paths)
    form = options.format or form
    examples = OPENERS[form](Opening(path, paths, form, options, known, batch_rows))
    examples.skip_share = options.skip_share
    examples.labels_are_classes = options.classes or options.exact
    return examples


def read_all(
    source: Source, options: ReadOptions | None = None, *, prepared: bool = True, **changes: Any
) -> AllExamples:
    """Read a whole source into memory; the arguments are those of :func:`open_examples`.

    Without ``prepared`` the rows are raw: for a table, unscaled with NaN for missing numbers; for texts, word counts.
    ``plan`` is then the stage to be fitted on any of the rows (``plan.fit(X[rows]).apply(X)``).

    >>> iris = read_all("sample:iris")
    >>> iris.X.shape, iris.feature_names[0]
    ((150, 4), 'sepal length (cm)')
    """
    examples = open_examples(source, options, **{"batch_rows": None, **changes})
    batch, schema = examples.read(prepared), examples.schema
    plan: PreprocessingPlan | TfidfPlan | None = None
    if not prepared and isinstance(schema, TableSchema):
        chosen = (options or ReadOptions()).changed(**{k: changes[k] for k in PLANNED if k in changes})
        plan = schema.plan("refuse" if chosen.exact else chosen.missing, chosen.scale)
        schema = replace(schema, preprocessing=None)
    elif not prepared and isinstance(examples, NamedExamples):
        plan = examples.plan
        schema = replace(examples.schema, documents=0, frequency=())
    return AllExamples(
        *batch[:3],
        schema.feature_names,
        schema,
        examples.skipped,
        examples.unseen,
        batch.weight,
        batch.tags,
        examples.columns,
        examples.notes,
        examples.target_kind,
        plan,
    )


def find_format(path: str) -> str:
    """Return the name of the format of a file or folder.

    >>> find_format("train.svm.gz"), find_format("train.csv"), find_format("logs.jsonl.zst")
    ('libsvm', 'csv', 'jsonl')
    """
    if path != STANDARD_INPUT and Path(path).is_dir():
        return _of_folder(path)
    suffix = PurePath(without_suffix(path)).suffix.lower()
    return BY_SUFFIX.get(suffix) or _by_magic(path) or _by_content(path)


def _of_folder(path: str) -> str:
    from rosenblatt.data.named.mail import class_folders, is_maildir

    if is_maildir(Path(path)):
        return "maildir"
    files, classes = files_in(path), class_folders(path)
    data = [file for file in files if PurePath(without_suffix(file)).suffix.lower() in BY_SUFFIX]
    if files and (data or len(classes) < 2):
        return "folder of files"
    if classes:  # files beside them, like a README, are ignored
        return "folders"
    raise BadInput(path, None, "is a folder without files: name a file, or a folder that has some")


def _one_format(folder: str, files: list[str]) -> str:
    """Return the format that all files of a folder have; raise BadInput if they have several."""
    first = find_format(files[0])
    for file in files[1:]:
        if (form := find_format(file)) != first:
            reason = f"is a folder of several formats, {first} ({files[0]}) and {form} ({file})"
            raise BadInput(folder, None, f"{reason}: name the files to read, as in '{folder}/*.{first}'")
    return first


def _by_magic(path: str) -> str | None:
    with opened(path) as (file, compression):
        decompressed = compression is None or path == STANDARD_INPUT
        signature = signature_of(file.peek(8)[:8]) if decompressed else None
    return signature.name if signature is not None and signature.kind == "format" else None


def _by_content(path: str) -> str:
    for line in _first_lines(path):
        if line.startswith(b"{"):
            return "jsonl"
        if line.startswith((b"[{", b"[[")) or line == b"[":
            raise BadInput(path, None, "a JSON array: write one object a line (`jq -c '.[]'` does)")
        if line.startswith(b"From "):
            return "mbox"
        if LIBSVM_LINE.fullmatch(line):
            return "libsvm"
        if BAR_TABLE.fullmatch(line):
            return "csv"
        if VW_LINE.fullmatch(line):
            return "vw"
        if line.lstrip().startswith(b"#") or _is_label(line):
            continue
        if any(separator in line for separator in (b",", b"\t", b";", b"|")):
            return "csv"
        break
    way_out = "name the format (--format libsvm, csv ...)"
    if len(line.split()) > 1:  # of fixed width, or with spaces between its cells
        way_out += "; where spaces separate its cells, put tabs in their place: `tr -s ' ' '\\t'`"
    raise BadInput(
        path,
        None,
        f"neither LIBSVM text nor CSV, Vowpal Wabbit text, JSON lines or mbox by its first lines: {way_out}",
    )


def _first_lines(path: str) -> Iterator[bytes]:
    """Yield the lines of the first block that is not blank."""
    first_text_line(path)  # raises for an empty file
    for block in blocks_of_lines(path, 1 << 16):
        lines = [line.strip() for line in block.text.split(b"\n") if line.strip()]
        if lines:
            yield from lines
            return


def _is_label(line: bytes) -> bool:
    """Whether this can be a LIBSVM line without features."""
    try:
        float(line.split(b"#")[0])
    except ValueError:
        return False
    return True


def _frame(frame: Any, options: ReadOptions, schema: Schema | None, batch_rows: int | None) -> Examples:
    from rosenblatt.data.tables.columnar import FrameSource
    from rosenblatt.data.tables.table import TableExamples

    options = options.changed(words=options.weighted_words(any_text=True))
    table = FrameSource(frame, left_out=options.drop)
    return TableExamples(
        [table], path=table.path, format="frame", options=options, schema=schema, batch_rows=batch_rows
    )


def is_frame(source: Any) -> bool:
    """Whether a source is a data frame in memory rather than a path."""
    return hasattr(source, "columns") or hasattr(source, "column_names")


def _libsvm(opening: Opening) -> Examples:
    from rosenblatt.data.libsvm import LibsvmExamples

    _refuse_hashing(opening, "LIBSVM text")
    return LibsvmExamples(opening)


def _vw(opening: Opening) -> Examples:
    from rosenblatt.data.vw import VwExamples

    return VwExamples(opening)


def _json_lines(opening: Opening) -> Examples:
    from rosenblatt.data.named.json_lines import JsonExamples

    return JsonExamples(opening, _named(opening))


def _mail(opening: Opening) -> Examples:
    from rosenblatt.data.named.mail import MailExamples

    if STANDARD_INPUT in opening.paths:
        standard_input().spool()  # two passes: for the dates, then in their order
    return MailExamples(opening, _named(opening))


def _arrow(opening: Opening) -> Examples:
    from rosenblatt.data.arrow_batches import BatchFile, holds_batches

    if not all(holds_batches(one) for one in opening.paths):
        return _table(opening)
    _refuse_hashing(opening, "a file of converted examples")
    if len(opening.paths) > 1:
        raise BadInput(opening.path, None, "several files of converted batches: open one at a time")
    return BatchFile(opening.paths[0], opening.schema, opening.batch_rows, opening.options.skip_bad)


def _table(opening: Opening) -> Examples:
    from rosenblatt.data.tables.table import open_table

    options = opening.options
    words = options.weighted_words(any_text=True)
    if options.at_once and words.weighting == "tfidf":  # a stream has no document counts in advance
        words = words._replace(weighting="binary")
    opening = opening._replace(options=options.changed(words=words))
    return open_table(opening, SEPARATORS)


def _refuse_hashing(opening: Opening, what: str) -> None:
    if opening.options.hash_bits:
        raise BadOption(
            opening.path,
            None,
            f"{what} numbers its features: there are no names to hash; leave out --hash-bits",
        )


def _named(opening: Opening) -> NamedSchema | None:
    if opening.schema is not None and not isinstance(opening.schema, NamedSchema):
        raise BadInput(
            opening.path, None, "has features by name, but the model was trained on another kind of file"
        )
    return opening.schema


SEPARATORS: dict[str, str | None] = {"csv": None, "tsv": "\t"}  # None: inferred from the first lines
OPENERS: dict[str, Callable[[Opening], Examples]] = {
    "libsvm": _libsvm,
    "vw": _vw,
    "csv": _table,
    "tsv": _table,
    "jsonl": _json_lines,
    "parquet": _table,
    "arrow": _arrow,
    "mbox": _mail,
    "maildir": _mail,
    "folders": _mail,
}
FORMATS = tuple(OPENERS)
