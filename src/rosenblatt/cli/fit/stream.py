"""``fit`` on what does not fit in memory: passes over a stream, reported like any other fit."""

import time
from collections import Counter
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rosenblatt.cli import signals
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.options import STANDARD_INPUT
from rosenblatt.cli.output import note, note_skipped
from rosenblatt.cli.progress import Meter, Progress, in_words
from rosenblatt.cli.reading import note_oddities, note_unseen_labels
from rosenblatt.learner.models import Options

if TYPE_CHECKING:
    from rosenblatt.data import ReadOptions
    from rosenblatt.learner.models.perceptron import PerceptronModel
    from rosenblatt.streams.train import Pass, Trained

IN_MEMORY = 3  # bytes held for a byte of text, and as much again while it is put together
LOADED = 200 << 20  # bytes of the interpreter and what it has loaded, before the first row
PACKED = 8  # bytes of text in a byte of packed text, about


class Streaming(NamedTuple):
    """What the flags of ``fit`` ask for of a fit out of core."""

    test: str | None = None
    memory: str | None = None
    keep: bool = True  # batches in the cache
    every: int | None = None  # rows between reports
    json: bool = False
    hash_bits: int = 0
    measure: bool = True  # the hypotheses on the rows they were trained on, in one more read


def bytes_of(text: str) -> int:
    """Read the size that ``--memory`` says."""
    from rosenblatt.data.source import size_in_bytes

    size = size_in_bytes(text)
    if size is None:
        refuse(f"--memory {text!r} is not a size, as in --memory 2GB")
    return size


def too_large(source: str, memory: str | None) -> bool:
    """Whether a source would not fit in the memory asked for, or in half of what there is.

    Nobody knows how much comes through standard input: where a memory is asked for, it is too much.
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
    return size * (PACKED if without_suffix(str(path)) != str(path) else 1)


def _cells(path: Path) -> int:
    """Return how many values a Parquet file says it holds; they are packed in it, nobody knows how tightly."""
    from pyarrow import ArrowInvalid, parquet

    try:
        told = parquet.read_metadata(path)
    except (ArrowInvalid, OSError):  # which is told when it is read
        return 0
    return int(told.num_rows * told.num_columns)


def fit_on_stream(
    source: str,
    reading: "ReadOptions",
    asked: Options,
    streaming: Streaming,
    model: str | None,
    save_ledger: bool,
) -> dict[str, Any]:
    """Train out of core, write the model, and return what is to be printed."""
    from rosenblatt.data import open_examples
    from rosenblatt.learner.models.perceptron import PerceptronModel, new_learner
    from rosenblatt.streams.names import NameSketch, listen
    from rosenblatt.streams.train import train_on_stream

    from_ledger = asked.hypothesis not in (None, "last", "averaged") or save_ledger
    if from_ledger and not asked.keep_ledger:
        refuse(f"--hypothesis {asked.hypothesis} is read from the ledger: drop --no-ledger")
    if asked.hypothesis == "pocket" and not streaming.measure:
        refuse(
            "--hypothesis pocket is chosen by how it does on the rows it was trained on: drop --no-measure"
        )
    options = reading.changed(hash_bits=streaming.hash_bits)
    examples = open_examples(source, options, batch_rows=None, tight=streaming.memory is not None)
    sketch = NameSketch()
    listen(examples, sketch)
    started = time.perf_counter()
    with Progress() as progress:
        trained = train_on_stream(
            new_learner(asked._replace(keep_ledger=from_ledger)),
            examples,
            source,
            options=options.to_dict(),
            passes=asked.passes,
            shuffle=asked.shuffle,
            keep=streaming.keep and not streaming.hash_bits,  # what is kept has no names
            memory=bytes_of(streaming.memory) if streaming.memory else None,
            evaluate=streaming.measure,
            pocket=asked.hypothesis == "pocket",
            tell=Telling(source, asked.passes, progress, streaming.every, streaming.json),
        )
        took = time.perf_counter() - started
        learner = trained.learner
        if learner.classes.size < 2:
            refuse(
                f"{source}: only one class, {learner.classes.tolist()[0]!r}: a boundary needs two to lie between"
            )
        hypothesis = _predicting(asked, trained)
        fitted = PerceptronModel(learner, hypothesis, _about(asked, hypothesis, learner))
        accuracy = {"train": _accuracies(trained, fitted)}
        report = {
            "source": examples.path,
            "rows": trained.rows,
            **({"zero_based": trained.schema.zero_based} if hasattr(trained.schema, "zero_based") else {}),
            "out_of_core": True,
            "interrupted": trained.interrupted,
            "features": learner.n_features,
            "classes": {str(label): None for label in learner.classes.tolist()},
            "learner": fitted.name,
            "hypothesis": fitted.hypothesis,
            **fitted.facts(),
            "accuracy": accuracy,
        }
        if streaming.test is not None and not trained.interrupted:
            progress.tell(f"scoring {streaming.test}")
            report["test"] = _tested(fitted, streaming.test, reading, trained.schema)
            accuracy["test"] = report["test"].pop("accuracy")
    if trained.skipped:
        report |= {
            "skipped": [str(line) for line in trained.skipped],
            "skipped_in_all": trained.skipped.total,
        }
        note_skipped(trained.skipped)
    report["seconds"] = {"learn": round(took, 6), "score": round(time.perf_counter() - started - took, 6)}
    if model is not None:
        about = {
            "learner": "perceptron",
            "schema": trained.schema.to_dict(),
            "feature_names": trained.schema.feature_names,
            **({"hashed_names": sketch.heaviest(learner.W)} if streaming.hash_bits else {}),
        }
        fitted.save(model, about, save_ledger)
        report["model"] = model
    return report


class Telling:
    """Says how far a fit has come: on a terminal's bar, and every so many rows where asked for."""

    def __init__(self, source: str, passes: int, progress: Progress, every: int | None, json: bool) -> None:
        self._passes, self._progress = passes, progress
        self._every, self._json = every, json
        self._meter, self._number, self._next, self._reported = Meter(source), 0, every or 0, 0
        self._before = time.perf_counter()  # when it was last told something

    def __call__(self, at: "Pass") -> None:
        """Take the word of the training."""
        signals.check_interrupt()
        if at.number != self._number:
            self._number, self._next, self._reported = at.number, self._every or 0, 0
            if at.number > 1 or at.of is not None:
                self._meter.again(self._before)
        self._before = time.perf_counter()
        due = self._every is not None and (at.rows >= self._next or at.done) and at.rows > self._reported
        if not due and not self._progress.shown:
            return
        told = {
            "pass": at.number,
            "rows": at.rows,
            "mistakes": at.mistakes,
            "progressive_loss": round(at.mistakes / max(at.rows, 1), 6),
            **self._meter.told(at.rows, at.of, self._passes - max(at.number, 1)),
        }
        words = f"pass {at.number} of {self._passes}" if at.number else "reading"
        loss = f"  loss {told['progressive_loss']:.4f}" if at.number else ""
        words = f"{words}: {at.rows:,} rows{loss}  {in_words(told)}"
        self._progress.tell(words, max(at.number - 1, 0), self._passes)
        if due:
            self._next = (at.rows // (self._every or 1) + 1) * (self._every or 1)
            self._reported = at.rows
            print(dumps(told) if self._json else words, flush=True)


def _accuracies(trained: "Trained", fitted: "PerceptronModel") -> dict[str, Any]:
    return {
        name: {"accuracy": each.accuracy, "rows": trained.rows} for name, each in trained.evaluations.items()
    }


def _tested(fitted: "PerceptronModel", test: str, reading: "ReadOptions", schema: Any) -> dict[str, Any]:
    """Score every hypothesis that has weights, and the one that predicts, on a stream read once."""
    from rosenblatt.cli.scoring import codes_of, named, unseen_labels
    from rosenblatt.data import open_examples

    chosen = {fitted.hypothesis} | {name for name in fitted.hypotheses() if name != "voted"}
    examples = open_examples(test, reading, schema=schema, batch_rows=None)
    right, rows, unseen = dict.fromkeys(fitted.hypotheses(), 0), 0, Counter[str]()
    for batch in examples:
        if batch.y is None:
            refuse(f"{test}: has no target column to score against")
        codes = codes_of(batch.y, fitted.classes)
        unseen.update(unseen_labels(batch.y, codes))
        rows += codes.size
        for name in chosen:
            right[name] += int((named(fitted.scores(batch.X, name), fitted.classes.size) == codes).sum())
    note_oddities(examples)
    note_unseen_labels(test, unseen, fitted.classes)
    told = {name: {"accuracy": count / rows, "rows": rows} for name, count in right.items() if name in chosen}
    found: dict[str, Any] = {"source": test, "rows": rows, "accuracy": told}
    return {**found, **({"unseen_labels": dict(unseen)} if unseen else {})}


def _predicting(asked: Options, trained: "Trained") -> str:
    """Return what predicts: what was asked for, unless an interrupt came before the pocket was chosen."""
    hypothesis = asked.hypothesis or "averaged"
    if hypothesis != "pocket" or trained.learner.pocket is not None:
        return hypothesis
    note("interrupted before the pocket was chosen: the model predicts by 'averaged'")
    return "averaged"


def _about(asked: Options, hypothesis: str, learner: Any) -> dict[str, Any]:
    return {
        "estimator": "Perceptron",
        "hypothesis": hypothesis,
        "parameters": {
            "max_iter": asked.passes,
            "shuffle": asked.shuffle,
            "warm_start": False,
            "keep_ledger": learner.ledger is not None,
        },
        "n_iter": len(learner.epochs),
    }
