"""``fit`` on what does not fit in memory: passes over a stream, reported like any other fit."""

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rosenblatt.cli.learners import Options
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import Reading, note_oddities
from rosenblatt.cli.telling import INTERRUPTED, note, refuse

if TYPE_CHECKING:
    from rosenblatt.streams.training import Pass

SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
IN_MEMORY = 3  # bytes held for a byte of text, and as much again while it is put together
PACKED = 8  # bytes of text in a byte of packed text, about


def bytes_of(text: str) -> int:
    """Read a size.

    >>> bytes_of("2GB"), bytes_of("512m"), bytes_of("1000")
    (2147483648, 536870912, 1000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if match is None:
        refuse(f"--memory {text!r} is not a size, as in --memory 2GB")
    return int(float(match[1]) * SIZES[match[2].upper()])


def too_large(source: str, memory: str | None) -> bool:
    """Whether a source would not fit in the memory asked for, or in half of what the machine has."""
    from rosenblatt.data.packed import without_suffix
    from rosenblatt.data.sources import paths_of

    limit = bytes_of(memory) if memory else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    if source == "-" or source.startswith("sample:"):
        return False
    size = 0
    for path in paths_of(source):
        if Path(path).is_file():
            packed = without_suffix(path) != path
            size += Path(path).stat().st_size * (PACKED if packed else 1)
    return 2 * IN_MEMORY * size > limit


def fit_on_stream(
    source: str, reading: Reading, asked: Options, memory: str | None, keep: bool, model: str | None
) -> dict[str, Any]:
    """Train out of core, write the model, and return what is to be printed."""
    from rosenblatt.cli.learners.perceptron import PerceptronModel, new_learner
    from rosenblatt.data import open_examples
    from rosenblatt.streams.training import standings_on, train_on_stream

    if asked.hypothesis not in (None, "last", "averaged"):
        refuse(
            f"--hypothesis {asked.hypothesis} is read from the ledger, which holds examples: allow more --memory"
        )
    options = reading.options()
    examples = open_examples(source, batch_rows=None, **options)
    started = time.perf_counter()
    with Progress() as progress:

        def tell(at: "Pass") -> None:
            progress.tell(
                f"pass {at.number}: {at.rows:,} rows, {at.mistakes:,} mistakes", at.number - 1, asked.passes
            )

        trained = train_on_stream(
            new_learner(asked._replace(keep_ledger=False)),
            examples,
            source,
            options=options,
            passes=asked.passes,
            shuffle=asked.shuffle,
            keep=keep,
            memory=bytes_of(memory) if memory else None,
            tell=tell,
        )
        learned = time.perf_counter()
        learner = trained.learner
        if learner.classes.size < 2:
            refuse(
                f"{source}: only one class, {learner.classes.tolist()[0]!r}: a boundary needs two to lie between"
            )
        if not trained.interrupted and source != "-":  # standard input cannot be read again
            progress.tell("scoring")
            learner.standings = standings_on(learner, examples)
    if trained.interrupted:
        note(f"interrupted: the model is as {len(learner.epochs)} whole passes left it")
    note_oddities(examples)
    fitted = PerceptronModel(learner, asked.hypothesis or "averaged", _about(asked, learner))
    report = {
        "source": examples.path,
        "rows": trained.rows,
        "out_of_core": True,
        "interrupted": trained.interrupted,
        "features": learner.n_features,
        "classes": {str(label): None for label in learner.classes.tolist()},
        "learner": fitted.name,
        "hypothesis": fitted.hypothesis,
        **fitted.facts(),
        "accuracy": {
            "train": {
                name: {"accuracy": each.accuracy, "rows": trained.rows}
                for name, each in learner.standings.items()
            }
        },
        "seconds": {
            "learn": round(learned - started, 6),
            "score": round(time.perf_counter() - learned, 6),
        },
    }
    if model is not None:
        about = {
            "learner": "perceptron",
            "schema": examples.schema.to_dict(),
            "feature_names": examples.schema.feature_names,
        }
        fitted.save(model, about, False)
        report["model"] = model
    return report


def _about(asked: Options, learner: Any) -> dict[str, Any]:
    return {
        "estimator": "Perceptron",
        "hypothesis": asked.hypothesis or "averaged",
        "parameters": {
            "max_iter": asked.passes,
            "shuffle": asked.shuffle,
            "warm_start": False,
            "keep_ledger": False,
        },
        "n_iter": len(learner.epochs),
    }


def show_streamed(report: dict[str, Any]) -> None:
    """Print a short table of how it went; an interrupted fit ends with its own exit code."""
    mistakes = ", ".join(f"{count:,}" for count in report["mistakes"])
    lines = {
        "source": f"{report['source']}, out of core",
        "rows": f"{report['rows']:,}",
        "features": f"{report['features']:,}",
        "classes": ", ".join(report["classes"]),
        "seconds": ", ".join(f"{name} {value:.2f}" for name, value in report["seconds"].items()),
        "mistakes by pass": mistakes + ("; a clean pass" if report["converged"] else ""),
        "radius": f"{report['radius']:.6g}",
    }
    if report["margin"] is not None:
        lines["margin"] = f"{report['margin']:.6g}"
    for name, each in report["accuracy"]["train"].items():
        lines[f"accuracy, {name}"] = f"{each['accuracy']:.4f}"
    if "model" in report:
        lines["model"] = report["model"]
    for name, value in lines.items():
        print(f"{name:>18}  {value}")
    if report["interrupted"]:
        raise typer.Exit(INTERRUPTED)
