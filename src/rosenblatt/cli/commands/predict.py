"""``rosenblatt predict``: the label of every row of a file."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TextIO

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.flags import flag
from rosenblatt.cli.options import STANDARD_INPUT
from rosenblatt.cli.output import listed
from rosenblatt.cli.reading import note_oddities, open_for, refuse_overwriting
from rosenblatt.learner.models import Model, load

if TYPE_CHECKING:
    from rosenblatt.data import Batch

BY_SUFFIX = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


def predict(
    model: opt.ModelFile,
    source: opt.Source,
    data: opt.ModelDataFlags,
    hypothesis: opt.Hypothesis = None,
    undecided: Annotated[
        str | None,
        flag(
            "--undecided",
            metavar="MARK",
            help="Write this where no class is ahead.",
            show_default="the first class",
        ),
    ] = None,
    output: opt.Output = None,
    scores: Annotated[
        bool, flag("--scores", group=opt.OUTPUT, help="Write the scores after the label.")
    ] = False,
    lines: Annotated[
        bool, flag("--lines", group=opt.OUTPUT, help="Write the line of the file before the label.")
    ] = False,
    tags: Annotated[
        bool,
        flag(
            "--tags", group=opt.OUTPUT, help="Write the tag of the row before the label (Vowpal Wabbit text)."
        ),
    ] = False,
    output_format: Annotated[
        Literal["plain", "csv", "json"] | None,
        flag(
            "--output-format",
            group=opt.OUTPUT,
            help="plain: a label per line, columns by tabs; csv: with a header; json: an object per line.",
            show_default="by the name of the output, else plain",
        ),
    ] = None,
) -> None:
    """Print the label of every row of a file, one per line.

    \b
    Examples:
      rosenblatt predict m.safetensors new.csv
      rosenblatt predict m.safetensors new.csv -o labels.csv --scores
      rosenblatt predict m.safetensors new.svm --hypothesis voted --undecided '?'
      rosenblatt predict m.safetensors new.csv | sort | uniq -c
      tail -f new.jsonl | rosenblatt predict m.safetensors - --format jsonl

    The file is encoded as the training file was; its target column may be absent, and is not read. Each line of
    standard input is answered as it comes.
    """
    if data.format in ("plain", "json"):
        refuse(f"--format is the format of the input: write --output-format {data.format}")
    trained = load(model)
    chosen = known_hypothesis(trained, model, hypothesis)
    if output == STANDARD_INPUT:
        output = None
    if output is not None:
        refuse_overwriting(output, source, model)
    form = output_format or BY_SUFFIX.get(Path(output).suffix.lower() if output else "", "plain")
    examples = open_for(trained, source, data.read_options(), labels=False)
    write = _WRITERS[form]
    with _open_output(output) as file:
        if form == "csv":
            _csv(file).writerow(_header(trained, Shown(lines, tags, scores)))
        for batch in examples:
            batch_scores = trained.scores(batch.X, chosen)
            shown = Shown(lines or form == "json", tags, scores)
            write(file, trained, label_texts(trained, batch_scores, undecided), batch_scores, batch, shown)
            if output is None:
                file.flush()  # who reads from a pipe may wait for this answer
    note_oddities(examples)


def known_hypothesis(model: Model, path: str, requested: str | None) -> str:
    """Return the hypothesis to predict by; refuse one that the file does not hold."""
    chosen, known = requested or model.hypothesis, model.hypotheses()
    if chosen not in known:
        refuse(
            f"{path}: holds the hypotheses {listed(known)}, not {chosen!r}: fit with --ledger save to have them all"
        )
    return chosen


def label_texts(model: Model, scores: Any, undecided: str | None) -> list[Any]:
    """Return the label of every row, a mark where no class is ahead; of a regression, the number."""
    from rosenblatt.cli.scoring import named, torn

    if model.classes is None:
        numbers: list[Any] = scores.tolist()
        return numbers
    labels = model.classes.tolist()
    texts = [labels[code] for code in named(scores, len(labels)).tolist()]
    if undecided is not None:
        for row in torn(scores).nonzero()[0].tolist():
            texts[row] = undecided
    return texts


class Shown(NamedTuple):
    """What is written of a row beside its label."""

    line: bool
    tag: bool
    scores: bool


def _rows(labels: list[Any], scores: Any, batch: "Batch", shown: Shown) -> Iterator[list[Any]]:
    """Yield the cells of every row: its line and its tag where asked, its label, its scores where asked."""
    lines = batch.lines.tolist()
    tags = batch.tags.tolist() if batch.tags is not None else [""] * len(labels)
    columns = scores.reshape(len(labels), -1).tolist() if shown.scores else None
    for row, label in enumerate(labels):
        before = [*([lines[row]] if shown.line else []), *([tags[row]] if shown.tag else [])]
        yield [*before, label, *(columns[row] if columns else [])]


def _header(model: Model, shown: Shown) -> list[str]:
    labels = [] if model.classes is None else model.classes.tolist()
    names = ["score"] if len(labels) <= 2 else [f"score:{label}" for label in labels]
    before = [*(["line"] if shown.line else []), *(["tag"] if shown.tag else [])]
    return [*before, "label", *(names if shown.scores else [])]


def _csv(file: TextIO) -> Any:
    import csv

    return csv.writer(file, lineterminator="\n")


def _write_plain(
    file: TextIO, model: Model, labels: list[Any], scores: Any, batch: "Batch", shown: Shown
) -> None:
    for cells in _rows(labels, scores, batch, shown):
        file.write("\t".join(map(str, cells)) + "\n")


def _write_csv(
    file: TextIO, model: Model, labels: list[Any], scores: Any, batch: "Batch", shown: Shown
) -> None:
    _csv(file).writerows(_rows(labels, scores, batch, shown))


def _write_json(
    file: TextIO, model: Model, labels: list[Any], scores: Any, batch: "Batch", shown: Shown
) -> None:
    import json

    classes = [] if model.classes is None else [str(label) for label in model.classes.tolist()]
    names = ["line", *(["tag"] if shown.tag else []), "label"]
    for cells in _rows(labels, scores, batch, shown):
        record: dict[str, Any] = dict(zip(names, cells, strict=False))
        rest = cells[len(names) :]
        if rest:
            record["score"] = rest[0] if len(classes) <= 2 else dict(zip(classes, rest, strict=True))
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


_WRITERS: dict[str, Callable[..., None]] = {"plain": _write_plain, "csv": _write_csv, "json": _write_json}


@contextlib.contextmanager
def _open_output(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears when all of it is written."""
    if path is None:
        yield sys.stdout
        return
    import io

    from rosenblatt.storage import replacing

    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()
