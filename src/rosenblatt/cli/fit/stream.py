"""``fit`` on what does not fit in memory: passes over a stream, reported like any other fit."""

import time
from collections import Counter
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rosenblatt.cli import signals
from rosenblatt.cli.errors import refuse, refuse_data
from rosenblatt.cli.fit.estimate import progressive_estimate
from rosenblatt.cli.fit.report import Fitted, Stopwatch, report_of, save_model
from rosenblatt.cli.fit.request import refuse_many_numbers
from rosenblatt.cli.options import STANDARD_INPUT
from rosenblatt.cli.output import note, note_skipped
from rosenblatt.cli.progress import Meter, Progress, describe
from rosenblatt.cli.reading import note_oddities, note_unseen_labels

if TYPE_CHECKING:
    from rosenblatt.cli.fit.request import FitRequest
    from rosenblatt.learner.models import TrainingOptions
    from rosenblatt.learner.models.perceptron import PerceptronModel
    from rosenblatt.streams.train import Pass, Trained

IN_MEMORY = 3  # bytes held for a byte of text, and as much again while it is put together
LOADED = 200 << 20  # bytes of the interpreter and what it has loaded, before the first row
IN_MEMORY_ONLY = " (in memory: without --out-of-core and --memory)"
COMPRESSION = 8  # bytes of text in a byte of compressed text, about


def bytes_of(text: str) -> int:
    """Read the size that ``--memory`` says."""
    from rosenblatt.data.source import size_in_bytes

    size = size_in_bytes(text)
    if size is None:
        refuse(f"--memory {text!r} is not a size, as in --memory 2GB")
    return size


def too_large(source: str, memory: str | None) -> bool:
    """Return whether a source would not fit into the memory requested, or into half of what there is.

    The size of standard input is not known: where a memory is requested, it counts as too large.
    """
    from rosenblatt.data.memory import memory_limit
    from rosenblatt.data.source import paths_of

    limit = bytes_of(memory) if memory else memory_limit() // 2
    if source == STANDARD_INPUT:
        return memory is not None
    if source.startswith("sample:"):
        return False
    return LOADED + 2 * IN_MEMORY * sum(_as_text(Path(path)) for path in paths_of(source)) > limit


def _as_text(path: Path) -> int:
    """Return about how many bytes of text a file, or all in a folder, would be."""
    from rosenblatt.data.source import without_suffix

    if path.is_dir():
        return sum(_as_text(file) for file in path.rglob("*") if file.is_file())
    if not path.is_file():
        return 0
    size = path.stat().st_size
    if path.suffix.lower() in (".parquet", ".pq"):
        return max(size, _cells(path) * 8 // IN_MEMORY)
    return size * (COMPRESSION if without_suffix(str(path)) != str(path) else 1)


def _cells(path: Path) -> int:
    """Return how many values a Parquet file says it holds; they are compressed in it."""
    from pyarrow import ArrowInvalid, parquet

    try:
        metadata = parquet.read_metadata(path)
    except (ArrowInvalid, OSError):  # reported when it is read
        return 0
    return int(metadata.num_rows * metadata.num_columns)


def fit_on_stream(request: "FitRequest") -> dict[str, Any]:
    """Train out of core, write the model, and return the report."""
    from dataclasses import replace

    from rosenblatt.data import open_examples
    from rosenblatt.data.named.mail import MailExamples
    from rosenblatt.learner.models.options import passes_for, with_default_rule
    from rosenblatt.learner.models.perceptron import PerceptronModel, about_training, new_learner
    from rosenblatt.streams.names import NameSketch, collect_names
    from rosenblatt.streams.train import train_on_stream

    flags, training, test = request.out_of_core, request.training, request.estimate.test
    from_ledger = training.hypothesis not in (None, "last", "averaged") or training.ledger == "save"
    if from_ledger and not training.keep_ledger:
        refuse(f"--hypothesis {training.hypothesis} is read from the ledger: leave out --ledger none")
    if training.hypothesis == "pocket" and flags.no_measure:
        refuse(
            "--hypothesis pocket is chosen by its accuracy on the rows it was trained on: leave out --no-measure"
        )
    options = request.reading.changed(hash_bits=flags.hash_bits)
    examples = open_examples(request.source, options, batch_rows=None, tight=flags.memory is not None)
    schema: Any = examples.schema
    if isinstance(examples, MailExamples) and examples.schema.words.weighting == "tfidf":
        schema = replace(examples.schema, text=("message",))  # its words are counted while it is read
    if examples.target_kind == "numeric":
        refuse_many_numbers(request, way_out=IN_MEMORY_ONLY)
    training = with_default_rule(training, schema, scale=options.scale)
    sketch = NameSketch()
    collect_names(examples, sketch)
    watch = Stopwatch()
    with Progress() as progress:
        trained = train_on_stream(
            new_learner(training._replace(ledger="memory" if from_ledger else "none")),
            examples,
            request.source,
            options=options.to_dict(),
            passes=training.max_iter,
            shuffle=training.shuffle,
            keep=not flags.no_cache and not flags.hash_bits,  # what is stored has no names
            memory=bytes_of(flags.memory) if flags.memory else None,
            evaluate=not flags.no_measure,
            pocket=training.hypothesis == "pocket",
            on_pass=PassReporter(request, training, progress),
        )
        watch.lap("learn")
        learner = trained.learner
        if learner.classes.size < 2:
            refuse_data(
                f"{request.source}: only one class, {learner.classes.tolist()[0]!r}: a boundary needs two to lie "
                "between"
            )
        if examples.target_kind == "numeric":  # of formats that say so only when all is read
            refuse_many_numbers(request, learner.classes.size, IN_MEMORY_ONLY)
        if training.passes is not None and request.training.passes is None:
            training = training._replace(passes=passes_for(trained.rows))
        hypothesis = _predicting(training, trained)
        model = PerceptronModel(learner, hypothesis, about_training(training, learner, hypothesis))
        fitted = Fitted(
            model,
            trained.schema,
            _about(examples.path, trained),
            {
                name: {"accuracy": each.accuracy, "rows": trained.rows}
                for name, each in trained.evaluations.items()
            },
            class_counts={str(label): None for label in learner.classes.tolist()},
            columns=examples.columns,
            interrupted=trained.interrupted,
            more={"out_of_core": True},
            metadata={"hashed_names": sketch.heaviest(learner.W)} if flags.hash_bits else {},
        )
        if not request.estimate.no_estimate:
            estimate = progressive_estimate(model, trained.schema, trained.rows)
            fitted.more |= {} if estimate is None else {"estimate": estimate}
        if test is not None and not trained.interrupted:
            progress.update(f"scoring {test}")
            fitted.test, fitted.test_scores = _test(model, test, request, trained.schema)
    note_skipped(trained.skipped)
    watch.lap("score")
    fitted.seconds = watch.seconds
    save_model(request, fitted)
    return report_of(request, fitted)


def _about(path: str, trained: "Trained") -> dict[str, Any]:
    """Describe the source as JSON can hold it."""
    about: dict[str, Any] = {"source": path, "rows": trained.rows}
    if hasattr(trained.schema, "zero_based"):
        about["zero_based"] = trained.schema.zero_based
    if trained.skipped:
        about |= {
            "skipped": [str(line) for line in trained.skipped],
            "skipped_in_all": trained.skipped.total,
        }
    return about


class PassReporter:
    """Reports the progress of a fit: on a terminal's bar, and after every ``--every`` rows."""

    def __init__(self, request: "FitRequest", training: "TrainingOptions", progress: Progress) -> None:
        self._passes, self._progress = training.max_iter, progress
        self._by_default = training.passes is not None and request.training.passes is None
        self._every, self._json = request.out_of_core.every, request.output.json
        self._meter, self._number, self._reported = Meter(request.source), 0, 0
        self._next = self._every or 0
        self._before = time.perf_counter()  # of the last call

    def __call__(self, at: "Pass") -> bool | None:
        """Report where a pass is; return False after the default number of passes over so many rows."""
        from rosenblatt.learner.models.options import passes_for

        if at.done and self._by_default:
            self._passes = passes_for(at.rows)
        self._report(at)
        return False if at.done and at.number >= self._passes else None

    def _report(self, at: "Pass") -> None:
        signals.check_interrupt()
        if at.number != self._number:
            self._number, self._next, self._reported = at.number, self._every or 0, 0
            if at.number > 1 or at.of is not None:
                self._meter.restart(self._before)
        self._before = time.perf_counter()
        due = self._every is not None and (at.rows >= self._next or at.done) and at.rows > self._reported
        if not due and not self._progress.shown:
            return
        status = {
            "pass": at.number,
            "rows": at.rows,
            "mistakes": at.mistakes,
            "progressive_loss": round(at.mistakes / max(at.rows, 1), 6),
            **self._meter.status(at.rows, at.of, self._passes - max(at.number, 1)),
        }
        line = f"pass {at.number} of {self._passes}" if at.number else "reading"
        loss = f"  loss {status['progressive_loss']:.4f}" if at.number else ""
        line = f"{line}: {at.rows:,} rows{loss}  {describe(status)}"
        self._progress.update(line, max(at.number - 1, 0), self._passes)
        if due:
            self._next = (at.rows // (self._every or 1) + 1) * (self._every or 1)
            self._reported = at.rows
            print(dumps(status) if self._json else line, flush=True)


def _test(
    model: "PerceptronModel", test: str, request: "FitRequest", schema: Any
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Score every hypothesis that has weights, and the one that predicts, on a stream read once."""
    from rosenblatt.cli.scoring import codes_of, named, unseen_labels
    from rosenblatt.data import open_examples

    names = [name for name in model.hypotheses() if name != "voted" or name == model.hypothesis]
    examples = open_examples(test, request.reading, schema=schema, batch_rows=None)
    right, rows, unseen = dict.fromkeys(names, 0), 0, Counter[str]()
    for batch in examples:
        if batch.y is None:
            refuse_data(f"{test}: has no target column to score against")
        codes = codes_of(batch.y, model.classes)
        unseen.update(unseen_labels(batch.y, codes))
        rows += codes.size
        for name in names:
            right[name] += int((named(model.scores(batch.X, name), model.classes.size) == codes).sum())
    note_oddities(examples)
    note_unseen_labels(test, unseen, model.classes)
    about: dict[str, Any] = {"source": test, "rows": rows}
    scores = {name: {"accuracy": count / rows, "rows": rows} for name, count in right.items()}
    return {**about, **({"unseen_labels": dict(unseen)} if unseen else {})}, scores


def _predicting(training: "TrainingOptions", trained: "Trained") -> str:
    """Return the hypothesis that predicts: as requested, unless an interrupt came before the pocket was chosen."""
    hypothesis = training.hypothesis or "averaged"
    if hypothesis != "pocket" or trained.learner.pocket is not None:
        return hypothesis
    note("interrupted before the pocket was chosen: the model predicts by 'averaged'")
    return "averaged"
