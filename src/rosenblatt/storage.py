"""Model files: safetensors with a versioned JSON header. Loading one reads numbers and never runs code."""

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.ledger import ENTRY, Ledger
from rosenblatt.core.state import RUNNING, TOTALS
from rosenblatt.file_schema import Content, check_content, kind_of, names_of, parse_header, tensors_of
from rosenblatt.learner import Epoch, Evaluation, Learner

FORMAT, VERSION = "rosenblatt", 1
LABEL_KINDS = "biufUO"  # of classes: numbers or strings, nothing that could hold an object


class BadModel(ValueError):
    """A file that is not a model, or not one that this version can read."""


def save_learner(
    learner: Learner,
    path: str | os.PathLike[str],
    *,
    about: dict[str, Any] | None = None,
    ledger: bool = False,
) -> None:
    """Write a learner beside the path, flush it to disk, and move it into place.

    Parameters
    ----------
    about : what else to keep in the header, as JSON can hold it
    ledger : keep the ledger too, so that every hypothesis and the dual form survive
    """
    if ledger and learner.ledger is None:
        raise ValueError("the learner kept no ledger to save: train with keep_ledger=True")
    arrays = {"W": learner.W, "A": learner.average_offset}
    arrays |= tensors_of("running", learner.running)
    arrays |= tensors_of("totals", learner.totals)
    if learner.pocket is not None:
        arrays["pocket"] = learner.pocket
    if learner.S is not None:
        arrays["S"] = learner.S
    if ledger and learner.ledger is not None:
        arrays |= _ledger_arrays(learner.ledger)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "learner": {
            "rule": rules.to_dict(learner.rule),
            "multi_class": learner.multi_class,
            "fit_intercept": bool(learner.bias_input),
            "seed": learner.seed,
            "rows_seen": learner.rows_seen,
            "start_norm": learner.start_norm,
            "converged": learner.converged,
            "epochs": [[epoch.mistakes, epoch.updates] for epoch in learner.epochs],
            "standings": {
                name: [json_number(x) for x in evaluation] for name, evaluation in learner.evaluations.items()
            },
        },
        "classes": labels_to_json(learner.classes),
        "about": about or {},
    }
    write_file(path, header, arrays)


def load_learner(path: str | os.PathLike[str]) -> tuple[Learner, dict[str, Any]]:
    """Read a learner and what was said about it; raise :class:`BadModel` for anything else."""
    content = read_model(path, "learner")
    return learner_from(content), dict(content.about)


def write_file(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a header and arrays to a safetensors file, all or nothing."""
    from safetensors.numpy import save

    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    content = save(contiguous, metadata={FORMAT: json.dumps(header, allow_nan=False)})
    with replacing(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file beside the path to write to; it takes the path's place when all of it is on disk, or never."""
    target = Path(path).resolve()
    if target.exists() and not target.is_file():  # a pipe or a device has nothing to replace
        with target.open("wb") as file:
            yield file
        return
    try:
        handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except FileNotFoundError:
        folder = Path(path).parent
        raise FileNotFoundError(f"{folder}: there is no such folder to write {target.name} into") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(0o666 & ~_umask())
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def read_model(path: str | os.PathLike[str], *kinds: str) -> Content:
    """Read a file of one of these kinds, checked against its table in :mod:`rosenblatt.file_schema`.

    This is the only way from a file to a model: what it returns can be handed to compiled code.
    """
    header, arrays = read_file(path)
    try:
        kind = kind_of(header)
        content = check_content(header, arrays) if kind in kinds else None
    except ValueError as error:
        raise BadModel(f"{path}: the model does not hold together: {error}") from error
    if content is None:
        raise BadModel(f"{path}: {names_of([kind])}, expected {names_of(kinds)}")
    return content


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what :func:`write_file` wrote, as it stands: :func:`read_model` checks it."""
    with _opened(path) as file:
        header = _header(path, file)
        arrays = {name: _tensor(path, file, name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    return header, arrays


def _tensor(path: str | os.PathLike[str], file: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(file.get_tensor(name))
    except (TypeError, AttributeError, ValueError, OverflowError, MemoryError) as error:
        raise BadModel(f"{path}: tensor {name!r} has a type or shape of no model: {error}") from error


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what was said about a model, and none of its numbers."""
    with _opened(path) as file:
        about = _header(path, file).get("about")
    if not isinstance(about, dict):
        raise BadModel(f"{path}: the model does not hold together: it says nothing about itself")
    return about


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such model file")
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except SafetensorError as error:
        raise BadModel(f"{path}: not a model file, or a damaged one: {error}") from error


def _header(path: str | os.PathLike[str], file: Any) -> dict[str, Any]:
    text = (file.metadata() or {}).get(FORMAT)
    if text is None:
        raise BadModel(f"{path}: a safetensors file, but not a rosenblatt model")
    try:
        header = parse_header(text)
    except ValueError as error:
        raise BadModel(f"{path}: not a model file, or a damaged one: {error}") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadModel(f"{path}: not a rosenblatt model")
    if type(header.get("version")) is not int or header["version"] != VERSION:
        raise BadModel(
            f"{path}: a model of format version {header.get('version')!r}, but this rosenblatt reads {VERSION}"
        )
    return header


def learner_from(content: Content) -> Learner:
    """Build the learner of a file that was checked."""
    fields, arrays = content.fields, content.arrays
    learner = Learner(
        rules.from_dict(fields["rule"]),
        multi_class=fields["multi_class"],
        fit_intercept=fields["fit_intercept"],
        keep_ledger=False,
        seed=fields["seed"],
    )
    learner.classes = np.empty(0) if content.classes is None else content.classes
    learner.W, learner.average_offset, learner.S = arrays["W"], arrays["A"], arrays.get("S")
    learner.running = content.records("running", RUNNING)
    learner.totals = content.records("totals", TOTALS)
    learner.pocket = arrays.get("pocket")
    if "ledger.start" in arrays:
        learner.ledger = _ledger_from(content)
    learner.rows_seen = fields["rows_seen"]
    learner.start_norm = float(fields["start_norm"])
    learner.converged = fields["converged"]
    learner.epochs, learner.evaluations = epochs_from(fields), evaluations_from(fields)
    return learner


def epochs_from(fields: dict[str, Any]) -> list[Epoch]:
    """Return the epochs of a checked header."""
    return [Epoch(number, *counts) for number, counts in enumerate(fields["epochs"], 1)]


def evaluations_from(fields: dict[str, Any]) -> dict[str, Evaluation]:
    """Return how hypotheses stood on their training data, by a checked header."""
    return {name: Evaluation(*map(float, values)) for name, values in fields["standings"].items()}


def _ledger_arrays(ledger: Ledger) -> dict[str, NDArray[Any]]:
    arrays = {"ledger.start": ledger.start, "ledger.support_rows": ledger.support_rows}
    arrays |= tensors_of("ledger", ledger.entries)
    if isinstance(ledger.support, np.ndarray):
        arrays["ledger.support"] = ledger.support
    elif ledger.support is not None:
        arrays |= {
            f"ledger.support.{part}": getattr(ledger.support, part) for part in ("data", "indices", "indptr")
        }
    return arrays


def _ledger_from(content: Content) -> Ledger:
    # Older versions wrote float64 start weights beside float32 weights; replay runs in the dtype of the weights.
    ledger = Ledger(content.arrays["ledger.start"].astype(content.arrays["W"].dtype, copy=False))
    ledger.support_rows = content.arrays["ledger.support_rows"]
    ledger.support = support_from("ledger.support", content)
    entries = content.records("ledger", ENTRY)
    ledger.room(entries.size)[: entries.size] = entries
    ledger.written(entries.size, 0)
    return ledger


def support_from(name: str, content: Content) -> Any:
    """Return the support rows of a checked file, a matrix or CSR; None where there are none."""
    if f"{name}.data" not in content.arrays:
        return content.arrays.get(name)
    from scipy.sparse import csr_array

    parts = tuple(content.arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    return csr_array(parts, shape=(int(content.symbols["support"]), int(content.symbols["features"])))


def labels_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """Describe classes as JSON can hold them."""
    values = classes.tolist()
    if classes.dtype.kind not in LABEL_KINDS or any(
        not isinstance(x, bool | int | float | str) for x in values
    ):
        raise ValueError(f"classes must be numbers or strings to be saved, got {values[:3]}")
    return {"kind": classes.dtype.kind, "type": str(classes.dtype), "values": values}


def json_number(value: float) -> float | str:
    """Return a number as JSON can hold it: infinities and nan as words."""
    return float(value) if math.isfinite(value) else str(value)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
