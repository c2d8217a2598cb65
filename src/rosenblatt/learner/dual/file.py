"""Model files of kernel learners: safetensors with a JSON header, as all of ours. Loading one never runs code."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.records import ENTRY, RUNNING, TOTALS
from rosenblatt.learner import Epoch, Standing
from rosenblatt.learner.dual import kernels
from rosenblatt.learner.dual.arrays import Arrays, to_numpy
from rosenblatt.learner.dual.budget import BudgetPass
from rosenblatt.learner.dual.learner import DualLearner
from rosenblatt.learner.dual.ledger import DualLedger
from rosenblatt.learner.dual.rowstore import RowStore
from rosenblatt.learner.dual.space import FeatureSpace
from rosenblatt.storage import (
    FORMAT,
    VERSION,
    BadModel,
    checked_array,
    checked_records,
    json_number,
    labels_from_json,
    labels_to_json,
    read_file,
    write_file,
)

PARTS = ("data", "indices", "indptr")  # of CSR rows


def save_dual(
    learner: DualLearner,
    path: str | os.PathLike[str],
    *,
    about: dict[str, Any] | None = None,
    ledger: bool = True,
) -> None:
    """Write a kernel learner to a file, all or nothing; without the ledger only two hypotheses survive."""
    space, n = learner.unstarted(), learner.n_support
    arrays: dict[str, NDArray[Any]] = {"W": learner.W[:, :n], "A": learner.A[:, :n]}
    arrays["support_rows"] = learner.support_rows
    arrays |= {f"running.{name}": learner.running[name] for name in RUNNING.names or ()}
    arrays |= {f"totals.{name}": learner.totals[name] for name in TOTALS.names or ()}
    support = learner.support.all()
    if hasattr(support, "tocsr"):
        arrays |= {f"support.{part}": getattr(support, part) for part in PARTS}
    elif support is not None:
        arrays["support"] = to_numpy(support)
    if learner.on_budget is not None:
        arrays |= learner.on_budget.arrays()
    if ledger and learner.ledger is not None:
        arrays |= {f"ledger.{name}": learner.ledger.entries[name] for name in ENTRY.names or ()}
        if learner.pocket is not None:
            arrays["pocket"] = learner.pocket
    header = {
        "format": FORMAT,
        "version": VERSION,
        "dual": {
            "rule": rules.to_dict(learner.rule),
            "kernel": kernels.to_dict(space.kernel),
            "dtype": space.arrays.dtype,
            "delta": learner.delta,
            "budget": None if learner.budget is None else int(learner.budget),
            "forget": learner.forget,
            "tolerance": learner.tolerance,
            "multi_class": learner.multi_class,
            "fit_intercept": bool(learner.unit),
            "keep_ledger": learner.ledger is not None and ledger,
            "seed": int(learner.seed),
            "block_size": None if learner.block_size is None else int(learner.block_size),
            "n_features": learner.n_features,
            "rows_seen": learner.rows_seen,
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


def load_dual(
    path: str | os.PathLike[str], *, kernel: Any = None, device: str | None = None
) -> tuple[DualLearner, dict[str, Any]]:
    """Read a kernel learner and what was said about it; raise :class:`BadModel` for anything else.

    Parameters
    ----------
    kernel : the function it was trained with, where it was one: files hold no code
    device : where to put its support rows
    """
    header, arrays = read_file(path)
    if "dual" not in header:
        raise BadModel(f"{path}: a rosenblatt model, but not of a kernel learner")
    try:
        return _dual_from(header, arrays, kernel, device), dict(header["about"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise BadModel(f"{path}: the model does not hold together: {error}") from error


def _dual_from(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], function: Any, device: Any
) -> DualLearner:
    told = header["dual"]
    kernel = kernels.from_dict(told["kernel"], function)
    learner = DualLearner(
        rules.from_dict(told["rule"]),
        kernel=_named(kernel),
        delta=float(told["delta"]),
        budget=told["budget"],
        forget=told["forget"],
        tolerance=float(told["tolerance"]),
        multi_class=told["multi_class"],
        fit_intercept=bool(told["fit_intercept"]),
        keep_ledger=bool(told["keep_ledger"]),
        seed=int(told["seed"]),
        block_size=told["block_size"],
        device=device,
        dtype=told["dtype"],
        **{k: v for k, v in kernel._asdict().items() if k in ("degree", "gamma", "coef0")},
    )
    learner.meet(labels_from_json(header["classes"]))
    rows, n = learner.W.shape[0], arrays["support_rows"].size
    learner.W = checked_array(arrays, "W", (rows, n), (np.float64,))
    learner.A = checked_array(arrays, "A", (rows, n), (np.float64,))
    learner.running = checked_records(arrays, "running", RUNNING, learner.running.size)
    learner.totals = checked_records(arrays, "totals", TOTALS, 1)
    learner.support_rows = checked_array(arrays, "support_rows", (n,), (np.int64,))
    learner.rows_seen = int(told["rows_seen"])
    if np.unique(learner.support_rows).size != n or (n and learner.support_rows.min() < 0):
        raise ValueError("support rows are named twice")
    learner._n_features = int(told["n_features"])
    support = _support_from(arrays, n, learner.n_features, told["dtype"], kernel)
    place = Arrays(np.empty((0, 0)) if support is None else support, device, told["dtype"])
    learner.space = FeatureSpace(place, kernel, learner.unit)
    learner.support = RowStore(place)
    if support is not None:
        learner.support.add(support if hasattr(support, "tocsr") else place.put(support, str(support.dtype)))
    learner.epochs = [Epoch(k + 1, int(m), int(u)) for k, (m, u) in enumerate(told["epochs"])]
    learner.standings = {str(name): Standing(*map(float, of)) for name, of in told["standings"].items()}
    learner.converged = bool(told["converged"])
    if learner.ledger is not None:
        _fill_ledger(learner, learner.ledger, arrays)
    if learner.budget is not None:
        learner.on_budget = BudgetPass(learner.budget, learner.forget, learner.tolerance)
        learner.on_budget.restore(learner, arrays)
    return learner


def _named(kernel: kernels.Kernel) -> Any:
    return kernel.function if isinstance(kernel, kernels.Function) else type(kernel).__name__.lower()


def _support_from(
    arrays: dict[str, NDArray[Any]], n: int, width: int, dtype: str, kernel: kernels.Kernel
) -> Any:
    if isinstance(kernel, kernels.Precomputed):
        if not n:
            return None
        columns = checked_array(arrays, "support", (n,), (np.int64,))
        if columns.min() < 0 or columns.max() >= width:
            raise ValueError("support speaks of columns that are not there")
        return columns
    if "support.data" in arrays:
        from scipy.sparse import csr_array

        matrix = csr_array(tuple(arrays[f"support.{part}"] for part in PARTS), shape=(n, width))
        matrix.check_format(full_check=True)
        if str(matrix.dtype) != dtype or not np.isfinite(matrix.data).all():
            raise ValueError(f"support has type {matrix.dtype}, or a value that is not finite")
        return matrix
    return checked_array(arrays, "support", (n, width), (np.dtype(dtype).type,)) if n else None


def _fill_ledger(learner: DualLearner, ledger: DualLedger, arrays: dict[str, NDArray[Any]]) -> None:
    entries = checked_records(arrays, "ledger", ENTRY, arrays["ledger.row"].size)
    rows = learner.W.shape[0]
    known = np.isin(entries["row"], learner.support_rows).all()
    up, down = entries["up"], entries["down"]
    in_range = (up >= 0).all() and (up < max(rows, 2)).all() and (down < rows).all()
    in_range = in_range and ((down >= 0) == learner.joint).all() and (up != down).all()
    if not known or not in_range or (np.diff(entries["clock"]) < 0).any():
        raise ValueError("the ledger speaks of rows or classes that are not there")
    ledger.support_rows = learner.support_rows
    ledger.room(entries.size)[: entries.size] = entries
    ledger.written(entries.size, 0)
    if "pocket" in arrays:
        learner.pocket = checked_array(arrays, "pocket", (learner.running.size,), (np.int64,))
        most = [ledger.lines_of(h, learner.joint).size for h in range(learner.running.size)]
        if (learner.pocket < 0).any() or (learner.pocket > most).any():
            raise ValueError("the pocket has more updates than the ledger")
