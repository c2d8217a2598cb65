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
from rosenblatt.cli.output import listed, note
from rosenblatt.cli.reading import note_oddities, open_for, refuse_overwriting
from rosenblatt.learner.models import Model, load

if TYPE_CHECKING:
    from rosenblatt.data import Batch
    from rosenblatt.learner.abstention import Abstention

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
            help="Write this for a row whose best scores are equal.",
            show_default="the first class",
        ),
    ] = None,
    output: opt.Output = None,
    scores: Annotated[
        bool, flag("--scores", group=opt.OUTPUT, help="Write the scores after the label.")
    ] = False,
    proba: Annotated[
        bool,
        flag("--proba", group=opt.OUTPUT, help="Write the probability of every class after the label."),
    ] = False,
    max_error: Annotated[
        float | None,
        flag(
            "--max-error",
            metavar="SHARE",
            help="Largest share of wrong answers: others are not answered. Needs a model of fit --certify.",
        ),
    ] = None,
    lines: Annotated[
        bool, flag("--lines", group=opt.OUTPUT, help="Write the line number before the label.")
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
      rosenblatt predict m.safetensors new.csv --proba --output-format csv
      rosenblatt predict m.safetensors new.csv --max-error 0.05 --undecided '?'
      rosenblatt predict m.safetensors new.csv | sort | uniq -c
      tail -f new.jsonl | rosenblatt predict m.safetensors - --format jsonl

    The file is encoded as the training file was; its target column may be absent, and is not read. Lines of standard
    input are answered as they arrive.
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
    shown = Shown(lines or form == "json", tags, scores, proba)
    answers = _Answers(trained, model, chosen, undecided, shown, max_error)
    examples = open_for(trained, source, data.read_options(), labels=False)
    write = _WRITERS[form]
    with _open_output(output) as file:
        if form == "csv":
            _csv(file).writerow(_header(trained, shown._replace(line=lines)))
        for batch in examples:
            labels, numbers = answers.of(batch.X)
            write(file, trained, labels, numbers, batch, shown._replace(line=lines or form == "json"))
            if output is None:
                file.flush()  # who reads from a pipe may wait for this answer
    note_oddities(examples)
    answers.note_unanswered()


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
    """The columns to write besides the label."""

    line: bool
    tag: bool
    scores: bool
    probabilities: bool


class _Answers:
    """Labels of rows, and the numbers written after them: scores, then probabilities, where requested."""

    def __init__(
        self,
        model: Model,
        path: str,
        hypothesis: str,
        undecided: str | None,
        shown: Shown,
        max_error: float | None,
    ) -> None:
        self._model, self._hypothesis, self._shown = model, hypothesis, shown
        self._undecided = undecided if max_error is None else undecided or "?"
        self._abstention = None if max_error is None else _abstention(model, path, hypothesis, max_error)
        self._rows = self._unanswered = 0
        if shown.probabilities and _calibration(model, hypothesis) is None:
            refuse(
                f"{path}: holds no probabilities for the hypothesis {hypothesis}: fit it again, "
                "in memory and without --no-estimate"
            )

    def of(self, X: Any) -> tuple[list[Any], Any]:
        """Return the labels of rows, and ``(n, numbers)`` to write after them, or None."""
        import numpy as np

        scores = np.asarray(self._model.scores(X, self._hypothesis))
        labels = label_texts(self._model, scores, self._undecided)
        if self._abstention is not None:
            silent = np.flatnonzero(~self._abstention.answers(scores))
            for row in silent.tolist():
                labels[row] = self._undecided
            self._rows, self._unanswered = self._rows + len(labels), self._unanswered + silent.size
        columns = [scores.reshape(len(labels), -1)] if self._shown.scores else []
        if self._shown.probabilities:
            from rosenblatt.learner.models.folds import probabilities_of

            columns.append(np.asarray(probabilities_of(self._model, scores, self._hypothesis)))
        return labels, np.hstack(columns) if columns else None

    def note_unanswered(self) -> None:
        """Print how many rows were answered, and what is certified about the answers."""
        if self._abstention is not None:
            answered = self._rows - self._unanswered
            note(f"answered {answered:,} of {self._rows:,} rows: {self._abstention}")


def _abstention(model: Model, path: str, hypothesis: str, max_error: float) -> "Abstention":
    from rosenblatt.learner.abstention import HeldOut

    stored = model.about.get("held_out")
    if stored is None or hypothesis != model.hypothesis:
        refuse(
            f"{path}: --max-error needs rows that the model never saw: fit it with --certify 0.95"
            if stored is None
            else f"{path}: --max-error is certified for the hypothesis {model.hypothesis}: leave out --hypothesis"
        )
    return HeldOut.from_json(stored).abstention(max_error)


def _calibration(model: Model, hypothesis: str) -> Any:
    from rosenblatt.learner.models.folds import calibration_of

    return None if model.classes is None else calibration_of(model, hypothesis)


def _rows(labels: list[Any], numbers: Any, batch: "Batch", shown: Shown) -> Iterator[list[Any]]:
    """Yield the cells of every row: its line and its tag where asked, its label, its numbers where asked."""
    lines = batch.lines.tolist()
    tags = batch.tags.tolist() if batch.tags is not None else [""] * len(labels)
    columns = None if numbers is None else numbers.tolist()
    for row, label in enumerate(labels):
        before = [*([lines[row]] if shown.line else []), *([tags[row]] if shown.tag else [])]
        yield [*before, label, *(columns[row] if columns else [])]


def _header(model: Model, shown: Shown) -> list[str]:
    labels = [] if model.classes is None else model.classes.tolist()
    scores = ["score"] if len(labels) <= 2 else [f"score:{label}" for label in labels]
    probabilities = [f"probability:{label}" for label in labels]
    before = [*(["line"] if shown.line else []), *(["tag"] if shown.tag else [])]
    return [
        *before,
        "label",
        *(scores if shown.scores else []),
        *(probabilities if shown.probabilities else []),
    ]


def _csv(file: TextIO) -> Any:
    import csv

    return csv.writer(file, lineterminator="\n")


def _write_plain(
    file: TextIO, model: Model, labels: list[Any], numbers: Any, batch: "Batch", shown: Shown
) -> None:
    for cells in _rows(labels, numbers, batch, shown):
        file.write("\t".join(map(str, cells)) + "\n")


def _write_csv(
    file: TextIO, model: Model, labels: list[Any], numbers: Any, batch: "Batch", shown: Shown
) -> None:
    _csv(file).writerows(_rows(labels, numbers, batch, shown))


def _write_json(
    file: TextIO, model: Model, labels: list[Any], numbers: Any, batch: "Batch", shown: Shown
) -> None:
    import json

    classes = [] if model.classes is None else [str(label) for label in model.classes.tolist()]
    names = ["line", *(["tag"] if shown.tag else []), "label"]
    for cells in _rows(labels, numbers, batch, shown):
        record: dict[str, Any] = dict(zip(names, cells, strict=False))
        rest = cells[len(names) :]
        if shown.scores:
            many = len(classes) > 2
            record["score"] = dict(zip(classes, rest, strict=False)) if many else rest[0]
            rest = rest[len(classes) if many else 1 :]
        if shown.probabilities:
            record["probability"] = dict(zip(classes, rest, strict=True))
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
