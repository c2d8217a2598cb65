"""Model files of kernel learners: safetensors with a JSON header, as all of ours. Loading one never runs code."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import rules
from rosenblatt.core.ledger import ENTRY
from rosenblatt.core.state import RUNNING, TOTALS
from rosenblatt.file_schema import Content, tensors_of
from rosenblatt.learner.kernel import kernels
from rosenblatt.learner.kernel.budget import BudgetSlots
from rosenblatt.learner.kernel.device import Arrays, RowStore, to_numpy
from rosenblatt.learner.kernel.kernels import FeatureSpace
from rosenblatt.learner.kernel.learner import KernelLearner
from rosenblatt.storage import (
    FORMAT,
    VERSION,
    BadModel,
    epochs_from,
    json_number,
    labels_to_json,
    read_model,
    standings_from,
    support_from,
    write_file,
)

PARTS = ("data", "indices", "indptr")  # of CSR rows


def save_dual(
    learner: KernelLearner,
    path: str | os.PathLike[str],
    *,
    about: dict[str, Any] | None = None,
    ledger: bool = True,
) -> None:
    """Write a kernel learner to a file, all or nothing; without the ledger only two hypotheses survive."""
    space, n = learner.fitted_space(), learner.n_support
    arrays: dict[str, NDArray[Any]] = {"W": learner.W[:, :n], "A": learner.average_offset[:, :n]}
    arrays["support_rows"] = learner.support_rows
    arrays |= tensors_of("running", learner.running)
    arrays |= tensors_of("totals", learner.totals)
    support = learner.support.all()
    if hasattr(support, "tocsr"):
        arrays |= {f"support.{part}": getattr(support, part) for part in PARTS}
    elif support is not None:
        arrays["support"] = to_numpy(support)
    if learner.budget_slots is not None:
        arrays |= learner.budget_slots.arrays()
    if ledger and learner.ledger is not None:
        arrays |= tensors_of("ledger", learner.ledger.entries)
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
            "fit_intercept": bool(learner.bias_input),
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
) -> tuple[KernelLearner, dict[str, Any]]:
    """Read a kernel learner and what was said about it; raise :class:`BadModel` for anything else.

    Parameters
    ----------
    kernel : the function it was trained with, where it was one: files hold no code
    device : where to put its support rows
    """
    content = read_model(path, "dual")
    try:
        return _dual_from(content, kernel, device), dict(content.about)
    except ValueError as error:
        raise BadModel(f"{path}: the model does not hold together: {error}") from error


def _dual_from(content: Content, function: Any, device: Any) -> KernelLearner:
    fields, arrays = content.fields, content.arrays
    kernel = kernels.from_dict(fields["kernel"], function)
    learner = KernelLearner(
        rules.from_dict(fields["rule"]),
        kernel=kernel.function if isinstance(kernel, kernels.Function) else fields["kernel"]["name"],
        delta=float(fields["delta"]),
        budget=fields["budget"],
        forget=fields["forget"],
        tolerance=float(fields["tolerance"]),
        multi_class=fields["multi_class"],
        fit_intercept=fields["fit_intercept"],
        keep_ledger=fields["keep_ledger"],
        seed=fields["seed"],
        block_size=fields["block_size"],
        device=device,
        dtype=fields["dtype"],
        **{k: v for k, v in kernel._asdict().items() if k in ("degree", "gamma", "coef0")},
    )
    learner.add_classes(np.empty(0) if content.classes is None else content.classes)
    learner.W, learner.average_offset = arrays["W"], arrays["A"]
    learner.running = content.records("running", RUNNING)
    learner.totals = content.records("totals", TOTALS)
    learner.support_rows = arrays["support_rows"]
    learner.rows_seen, learner._n_features = fields["rows_seen"], fields["n_features"]
    support = support_from("support", content)
    place = Arrays(np.empty((0, 0)) if support is None else support, device, fields["dtype"])
    learner.space = FeatureSpace(place, kernel, learner.bias_input)
    learner.support = RowStore(place)
    if support is not None:
        learner.support.add(support if hasattr(support, "tocsr") else place.put(support, str(support.dtype)))
    learner.epochs, learner.standings = epochs_from(fields), standings_from(fields)
    learner.converged = fields["converged"]
    if learner.ledger is not None:
        entries = content.records("ledger", ENTRY)
        learner.ledger.support_rows = learner.support_rows
        learner.ledger.room(entries.size)[: entries.size] = entries
        learner.ledger.written(entries.size, 0)
        learner.pocket = arrays.get("pocket")
    if learner.budget is not None:
        learner.budget_slots = BudgetSlots(learner.budget, learner.forget, learner.tolerance)
        learner.budget_slots.restore(content)
    return learner
