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
from rosenblatt.core.records import ENTRY, RUNNING, TOTALS
from rosenblatt.learner import MULTI_CLASS, Epoch, Learner, Standing
from rosenblatt.ledger import Ledger

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
    arrays = {"W": learner.W, "A": learner.A}
    arrays |= {f"running.{name}": learner.running[name] for name in RUNNING.names or ()}
    arrays |= {f"totals.{name}": learner.totals[name] for name in TOTALS.names or ()}
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
            "fit_intercept": bool(learner.unit),
            "seed": learner.seed,
            "rows_seen": learner.rows_seen,
            "start_norm": learner.start_norm,
            "converged": learner.converged,
            "epochs": [[epoch.mistakes, epoch.updates] for epoch in learner.epochs],
            "standings": {
                name: [json_number(x) for x in standing] for name, standing in learner.standings.items()
            },
        },
        "classes": labels_to_json(learner.classes),
        "about": about or {},
    }
    write_file(path, header, arrays)


def load_learner(path: str | os.PathLike[str]) -> tuple[Learner, dict[str, Any]]:
    """Read a learner and what was said about it; raise :class:`BadModel` for anything else."""
    header, arrays = read_file(path)
    try:
        return _learner_from(header, arrays), dict(header["about"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BadModel(f"{path}: the model does not hold together: {error}") from error


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


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what :func:`write_file` wrote."""
    with _opened(path) as file:
        header = _header(path, file)
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    return header, arrays


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
    try:
        header = json.loads((file.metadata() or {})[FORMAT])
    except KeyError:
        raise BadModel(f"{path}: a safetensors file, but not a rosenblatt model") from None
    except (ValueError, RecursionError) as error:
        raise BadModel(f"{path}: not a model file, or a damaged one: {error}") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadModel(f"{path}: not a rosenblatt model")
    if header.get("version") != VERSION:
        raise BadModel(
            f"{path}: a model of format version {header.get('version')!r}, but this rosenblatt reads {VERSION}"
        )
    return header


def _learner_from(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Learner:
    told = header["learner"]
    if told["multi_class"] not in MULTI_CLASS:
        raise ValueError(f"multi_class is {told['multi_class']!r}")
    learner = Learner(
        rules.from_dict(told["rule"]),
        multi_class=told["multi_class"],
        fit_intercept=bool(told["fit_intercept"]),
        keep_ledger=False,
        seed=int(told["seed"]),
    )
    learner.classes = labels_from_json(header["classes"])
    rows = 1 if learner.classes.size <= 2 else learner.classes.size
    width = arrays["W"].shape[1]
    hypotheses = 1 if learner.multi_class == "joint" else rows
    learner.W = checked_array(arrays, "W", (rows, width), (np.float32, np.float64))
    learner.A = checked_array(arrays, "A", (rows, width), (np.float64,))
    if learner.S is not None:
        learner.S = checked_array(arrays, "S", (rows, width), (np.float64,))
        if isinstance(learner.geometry, rules.SecondOrder) and not (learner.S > 0.0).all():
            raise ValueError("S has a variance that is not above zero")
    learner.running = checked_records(arrays, "running", RUNNING, hypotheses)
    learner.totals = checked_records(arrays, "totals", TOTALS, 1)
    if "pocket" in arrays:
        learner.pocket = checked_array(arrays, "pocket", (rows, width), (np.float32, np.float64))
    if "ledger.start" in arrays:
        learner.ledger = _ledger_from(arrays, rows, width)
    learner.rows_seen = int(told["rows_seen"])
    learner.start_norm = float(told["start_norm"])
    learner.converged = bool(told["converged"])
    learner.epochs = [Epoch(k + 1, int(m), int(u)) for k, (m, u) in enumerate(told["epochs"])]
    learner.standings = {
        str(name): Standing(*map(float, values)) for name, values in told["standings"].items()
    }
    return learner


def _ledger_arrays(ledger: Ledger) -> dict[str, NDArray[Any]]:
    arrays = {"ledger.start": ledger.start, "ledger.support_rows": ledger.support_rows}
    arrays |= {f"ledger.{name}": ledger.entries[name] for name in ENTRY.names or ()}
    if isinstance(ledger.support, np.ndarray):
        arrays["ledger.support"] = ledger.support
    elif ledger.support is not None:
        arrays |= {
            f"ledger.support.{part}": getattr(ledger.support, part) for part in ("data", "indices", "indptr")
        }
    return arrays


def _ledger_from(arrays: dict[str, NDArray[Any]], rows: int, width: int) -> Ledger:
    ledger = Ledger(checked_array(arrays, "ledger.start", (rows, width), (np.float32, np.float64)))
    entries = checked_records(arrays, "ledger", ENTRY, arrays["ledger.row"].size)
    ledger.support_rows = checked_array(arrays, "ledger.support_rows", (None,), (np.int64,))
    stored = ledger.support_rows.size
    if "ledger.support" in arrays:
        ledger.support = checked_array(
            arrays, "ledger.support", (stored, width - 1), (np.float32, np.float64)
        )
    elif "ledger.support.data" in arrays:
        ledger.support = _csr_from(arrays, (stored, width - 1))
    known = np.isin(entries["row"], ledger.support_rows).all()
    in_range = ((entries["up"] >= 0) & (entries["up"] < max(rows, 2)) & (entries["down"] < rows)).all()
    if not known or not in_range or (np.diff(ledger.support_rows) <= 0).any():
        raise ValueError("the ledger speaks of rows or classes that are not there")
    ledger.room(entries.size)[: entries.size] = entries
    ledger.written(entries.size, 0)
    return ledger


def _csr_from(arrays: dict[str, NDArray[Any]], shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    parts = (arrays["ledger.support.data"], arrays["ledger.support.indices"], arrays["ledger.support.indptr"])
    matrix = csr_array(parts, shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def checked_records(
    arrays: dict[str, NDArray[Any]], name: str, dtype: np.dtype[Any], size: int
) -> NDArray[Any]:
    """Return the fields of records, each an array of its own in the file, or raise ValueError."""
    records = np.zeros(size, dtype)
    for field in dtype.names or ():
        records[field] = checked_array(arrays, f"{name}.{field}", (size,), (dtype[field].type,))
    return records


def checked_array(
    arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int | None, ...], dtypes: tuple[type, ...]
) -> NDArray[Any]:
    """Return an array of this shape and one of these types, finite throughout, or raise ValueError."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(
        want is None or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits or array.dtype not in dtypes:
        raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} is not finite")
    return array


def labels_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """Describe classes as JSON can hold them."""
    values = classes.tolist()
    if classes.dtype.kind not in LABEL_KINDS or any(
        not isinstance(x, bool | int | float | str) for x in values
    ):
        raise ValueError(f"classes must be numbers or strings to be saved, got {values[:3]}")
    return {"kind": classes.dtype.kind, "type": str(classes.dtype), "values": values}


def labels_from_json(described: dict[str, Any]) -> NDArray[Any]:
    """Rebuild classes from :func:`labels_to_json`."""
    values = described["values"]
    if described["kind"] not in LABEL_KINDS or any(
        not isinstance(x, bool | int | float | str) for x in values
    ):
        raise ValueError("classes must be numbers or strings")
    dtype = object if described["kind"] == "O" else None if described["kind"] == "U" else described["type"]
    classes = np.array(values, dtype=dtype)
    if classes.dtype.kind != described["kind"] or np.unique(classes).size != classes.size:
        raise ValueError("classes do not hold together")
    return classes


def json_number(value: float) -> float | str:
    """Return a number as JSON can hold it: infinities and nan as words."""
    return float(value) if math.isfinite(value) else str(value)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
