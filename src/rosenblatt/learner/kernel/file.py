"""Reading and writing of kernel learners as files."""

import os
from typing import Any

import numpy as np

from rosenblatt.learner.kernel import kernels
from rosenblatt.learner.kernel.budget import BudgetSlots
from rosenblatt.learner.kernel.device import Arrays, RowStore, to_numpy
from rosenblatt.learner.kernel.kernels import FeatureSpace
from rosenblatt.learner.kernel.learner import KernelLearner
from rosenblatt.learner.training import Epoch, Evaluation
from rosenblatt.storage import BadModel, Content, read_model, write


def save_kernel_learner(
    learner: KernelLearner,
    path: str | os.PathLike[str],
    *,
    about: dict[str, Any] | None = None,
    ledger: bool = True,
) -> None:
    """Write a kernel learner to a file, atomically.

    Parameters
    ----------
    learner : KernelLearner
    path : str or path-like
    about : dict, optional
        Metadata to store in the header, as JSON.
    ledger : bool, default=True
        Write the ledger too; without it only ``last`` and ``averaged`` can predict after loading.
    """
    space, n, support = learner.fitted_space(), learner.n_support, learner.support.all()
    values = {
        "W": learner.W[:, :n],
        "average_offset": learner.average_offset[:, :n],
        "support": support if support is None or hasattr(support, "tocsr") else to_numpy(support),
        "kernel": kernels.to_dict(space.kernel),
        "dtype": space.arrays.dtype,
    }
    if not ledger or learner.ledger is None:
        values |= {"ledger": None, "pocket": None}
    write(path, "dual", learner, about=about, values=values)


def load_kernel_learner(
    path: str | os.PathLike[str], *, kernel: Any = None, device: str | None = None
) -> tuple[KernelLearner, dict[str, Any]]:
    """Read a kernel learner and its metadata; raise :class:`BadModel` for any other file.

    Parameters
    ----------
    path : str or path-like
    kernel : callable, optional
        The kernel function, where the model was trained with one: files hold no code.
    device : str, optional
        Where to put the support rows.

    Returns
    -------
    (KernelLearner, metadata)
    """
    content = read_model(path, "dual")
    try:
        return _from_content(content, kernel, device), dict(content.about)
    except ValueError as error:
        raise BadModel(f"{path}: the model file is inconsistent: {error}") from error


def _from_content(content: Content, function: Any, device: Any) -> KernelLearner:
    settings = content.settings
    name = settings["kernel"]["name"]
    kernel = kernels.from_dict(settings.pop("kernel"), function)
    learner = KernelLearner(
        **settings,
        kernel=kernel.function if isinstance(kernel, kernels.Function) else name,
        device=device,
        **{k: v for k, v in kernel._asdict().items() if k in ("degree", "gamma", "coef0")},
    )
    learner.add_classes(content.classes)
    rows = content["support"]
    arrays = Arrays(np.empty((0, 0)) if rows is None else rows, device, settings["dtype"])
    learner.space = FeatureSpace(arrays, kernel, learner.bias_input)
    support = RowStore(arrays)
    if rows is not None:
        support.add(rows if hasattr(rows, "tocsr") else arrays.put(rows, str(rows.dtype)))
    if learner.budget is not None:
        learner.budget_slots = BudgetSlots(learner.budget, learner.forget, learner.tolerance)
    epochs = [Epoch(*counts) for counts in content["epochs"]]
    evaluations = {name: Evaluation(*values) for name, values in content["standings"].items()}
    content.restore(learner, support=support, epochs=epochs, evaluations=evaluations)
    if learner.ledger is not None:
        learner.ledger.support_rows = learner.support_rows
    return learner
