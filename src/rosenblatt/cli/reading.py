"""Examples for a command: read, counted, and what was unusual about them noted."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rosenblatt.cli.errors import refuse
from rosenblatt.cli.options import STANDARD_INPUT
from rosenblatt.cli.output import counted, listed, note, note_skipped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rosenblatt.data import ColumnReport, Examples, ReadOptions, Schema
    from rosenblatt.data.tables.preprocess import Preprocessing
    from rosenblatt.learner.models import Model
    from rosenblatt.streams.names import NameSketch

BATCH_ROWS = 65536


TABLES = ("csv", "tsv", "parquet", "arrow")
MANY_VALUES = 20  # different numbers in a target that is more likely measured than a class


def scale_by_default(
    source: str, options: "ReadOptions", requested: bool | None, default: bool = True
) -> bool:
    """Return whether numeric columns are standardised: as requested, else those of a table."""
    from rosenblatt.data.open import find_format
    from rosenblatt.data.source import files_in, paths_of

    if requested is False or (requested is None and not default):
        return False
    if source.startswith("sample:"):
        return True
    form = options.format
    if form is None:
        path = paths_of(source)[0]
        form = find_format(path)
        if form == "folder of files":
            form = find_format(files_in(path)[0])
    if requested and form not in TABLES:
        refuse(f"--scale: {form} has no numeric columns to standardise; leave it out")
    return form in TABLES


class Rows(NamedTuple):
    """A whole source in memory."""

    source: str
    X: Any
    y: Any  # labels as written, or None
    lines: "NDArray[np.int64]"
    schema: "Schema"
    weight: Any  # importance of every row, or None: one each
    files: tuple[tuple[int, str], ...]  # (first row, path), where the rows come from several files
    skipped: list[str]
    unseen: dict[str, int]  # values that training never saw, by column
    skipped_in_all: int = 0  # of which some are listed
    columns: "list[ColumnReport]" = []  # noqa: RUF012 (never written to) how every column of a table was read
    numeric_target: bool = False  # the target of a table holds many different numbers
    raw: Any = None  # the rows before ``plan``; None where nothing is fitted on them
    plan: Any = None  # the preprocessing, to be fitted on any of the raw rows
    notes: tuple[str, ...] = ()  # what the reader decided besides, each a phrase

    def where(self, row: int) -> int | str:
        """Return the line of a row; with its path where there are several files."""
        path = next((path for first, path in reversed(self.files) if first <= row), None)
        line = int(self.lines[row])
        return line if path is None or len(self.files) == 1 else f"{path}:{line}"

    @property
    def measured_target(self) -> bool:
        """Whether the target measures something: many different numbers, not all of them whole."""
        y = self.y
        if self.numeric_target or y is None or y.dtype.kind != "f":
            return self.numeric_target
        distinct = set(y.tolist())
        return len(distinct) > max(MANY_VALUES, y.size // 20) and any(each != int(each) for each in distinct)

    def about(self) -> dict[str, Any]:
        """Describe the source as JSON can hold it."""
        about: dict[str, Any] = {"source": self.source, "rows": int(self.lines.size)}
        if hasattr(self.schema, "zero_based"):
            about["zero_based"] = self.schema.zero_based
        if self.skipped:
            about |= {"skipped": self.skipped, "skipped_in_all": self.skipped_in_all}
        if self.unseen:
            about["unseen_values"] = self.unseen
        return about


def read(source: str, options: "ReadOptions", schema: "Schema | None" = None) -> Rows:
    """Read a whole source, and say on standard error what was skipped or is new to the schema."""
    from rosenblatt.data import open_examples

    return _all_of(open_examples(source, options, schema=schema, batch_rows=None))


def read_to_train(source: str, options: "ReadOptions") -> Rows:
    """Read a whole source, and keep its raw rows with the preprocessing that was fitted on all of them."""
    from rosenblatt.data import open_examples

    return _all_of(open_examples(source, options, batch_rows=None), options)


def part_of(rows: Rows, numbers: "NDArray[np.int64]", like: Rows | None = None) -> Rows:
    """Return some rows; their preprocessing is fitted on them, or as that of other rows."""
    weight = None if rows.weight is None else rows.weight[numbers]
    part = rows._replace(y=rows.y[numbers], lines=rows.lines[numbers], weight=weight, files=())
    if rows.plan is None:
        return part._replace(X=rows.X[numbers])
    raw = rows.raw[numbers]
    fitted = rows.plan.fit(raw if like is None else like.raw)
    return part._replace(X=fitted.apply(raw), raw=raw, schema=_prepared_by(rows.schema, fitted))


def _plan(examples: "Examples", options: "ReadOptions") -> Any:
    """Return what is to be fitted on raw rows: scaling and imputation of a table, weights of words; None: nothing."""
    from rosenblatt.data import TableSchema

    schema = examples.schema
    if isinstance(schema, TableSchema):
        return schema.plan("refuse" if options.exact else options.missing, options.scale)
    return getattr(examples, "plan", None)


def _prepared_by(schema: Any, fitted: Any) -> Any:
    """Return a schema with the statistics of the rows that a preprocessing was fitted on."""
    from dataclasses import replace

    from rosenblatt.data import TableSchema

    if isinstance(schema, TableSchema):
        return replace(schema, preprocessing=fitted)
    frequency = (*fitted.frequency.tolist(), *[0] * (len(schema.names) - fitted.frequency.size))
    return replace(schema, documents=fitted.documents, frequency=frequency)


def scaling_of(model: "Model") -> "Preprocessing | None":
    """Return what standardised the columns of the table that a linear model was trained on.

    None where nothing did, and where scores are no weighted sum of the columns: of a kernel or a quadratic map.
    """
    from rosenblatt.learner.models import stored_schema

    fitted: Any = getattr(stored_schema(model), "preprocessing", None)
    by_threshold = (
        getattr(model.learner, "binarize", None) is not None
    )  # values count as one above it, else as zero
    if (
        fitted is None
        or fitted.spread is None
        or by_threshold
        or model.name == "kernel"
        or model.about.get("map")
    ):
        return None
    return fitted  # type: ignore[no-any-return]


def read_for(
    model: "Model",
    source: str,
    options: "ReadOptions",
    sketch: "NameSketch | None" = None,
    prepared: bool = True,
) -> Rows:
    """Read a whole source as the data that a model was trained on; a sketch hears the names that are hashed.

    Without ``prepared`` the rows of a table are raw: nothing is filled in or scaled.
    """
    examples = open_for(model, source, options)
    if sketch is not None:
        from rosenblatt.streams.names import collect_names

        collect_names(examples, sketch)
    return _all_of(examples, prepared=prepared)


def open_for(model: "Model", source: str, options: "ReadOptions", labels: bool = True) -> "Examples":
    """Open a source to be encoded as in training; without labels, the target column is not looked at."""
    from rosenblatt.cli.schemas import schema_of, without_target
    from rosenblatt.data import open_examples

    schema = schema_of(model, source, options)
    if not labels:
        schema, options = without_target(schema), options.changed(target=None, labels=False)
    batch_rows = None if source == STANDARD_INPUT else BATCH_ROWS  # a pipe is answered as its lines come
    return open_examples(source, options, schema=schema, batch_rows=batch_rows)


def note_unseen_labels(source: str, labels: dict[str, int], classes: Any) -> None:
    """Print a note on labels that are not in the training data, and on similar ones that are."""
    if not labels:
        return
    rows = counted(sum(labels.values()), "row")
    what = "label" if len(labels) == 1 else "labels"
    message = f"{source}: {rows} with {what} unseen in training ({listed(list(labels))}) can only be wrong"
    known = {_bare(str(each)): str(each) for each in classes.tolist()}
    similar = [known.get(_bare(label)) for label in labels]
    if None not in similar:
        message += (
            f"; is {next(iter(labels))!r} meant to be {similar[0]!r}? Labels are taken as they are written"
        )
    note(message)


def _bare(label: str) -> str:
    """Return a label without what is easily added to it: blanks, a full stop, capitals."""
    return label.strip(" .").casefold()


def output_file(out: str | None, output: str | None, example: str) -> str:
    """Return the file to write, named by the second argument or by ``--output``."""
    if out is not None and output is not None and out != output:
        refuse(f"two files to write: {out} and --output {output}; name one")
    path = out if output is None else output
    if path is None:
        refuse(f"name the file to write, as in --output {example}")
    return path


def refuse_overwriting(path: str, *sources: str | None) -> None:
    """Refuse to overwrite a source, or to write into a missing folder, before any work is done."""
    if not Path(path).parent.is_dir():
        refuse(f"{path}: there is no folder {Path(path).parent} to write into")
    if Path(path).is_dir():
        refuse(f"{path}: is a folder, not a file to write")
    for source in sources:
        if source and Path(path).exists() and Path(source).exists() and Path(path).samefile(source):
            refuse(f"{path}: is a file to read from; write somewhere else")


def _all_of(examples: "Examples", to_train: "ReadOptions | None" = None, prepared: bool = True) -> Rows:
    """Read all examples; with the options of training, keep the raw rows and what is to be fitted on them."""
    batch = examples.read(prepared=prepared and to_train is None)
    schema, X, raw, plan = examples.schema, batch.X, None, None
    if to_train is not None:
        plan = _plan(examples, to_train)
    if plan is not None:
        raw = X
        fitted = getattr(schema, "preprocessing", None) or plan.fit(raw)
        X, schema = fitted.apply(raw), _prepared_by(schema, fitted)
    skipped = [str(line) for line in examples.skipped]
    note_oddities(examples)
    return Rows(
        examples.path,
        X,
        batch.y,
        batch.lines,
        schema,
        weight=getattr(batch, "weight", None),
        files=getattr(batch, "files", ()),
        skipped=skipped,
        unseen=dict(examples.unseen_in),
        skipped_in_all=examples.skipped.total,
        columns=examples.columns,
        numeric_target=examples.target_kind == "numeric",
        raw=raw,
        plan=plan,
        notes=(*examples.notes, *_unlabelled(examples)),
    )


def _unlabelled(examples: "Examples") -> list[str]:
    n = examples.unlabelled
    return [f"{counted(n, 'line')} without a label passed over"] if n else []


def note_oddities(examples: "Examples") -> None:
    """Print notes on skipped lines, decisions of the reader, and values that are not in the training data."""
    note_skipped(examples.skipped)
    for text in examples.notes:
        note(text)
    for text in _unlabelled(examples):
        note(f"{examples.path}: {text}")
    if examples.unseen:
        where = ", ".join(f"{column} {count:,}" for column, count in examples.unseen_in.most_common(5))
        note(f"{examples.path}: {counted(examples.unseen, 'value')} unseen in training ignored ({where})")
