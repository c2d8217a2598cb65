"""``fit --auto``: the learner is chosen by out-of-fold scores, and judged on rows that took no part in the choice."""

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.cli.fit.estimate import SHARE, Estimated, calibration_in, estimate_by_test, too_few
from rosenblatt.cli.output import counted, note
from rosenblatt.cli.reading import Rows, part_of
from rosenblatt.learner.calibration import fit_calibration
from rosenblatt.learner.choice import Candidate, Choice, choose, default_candidates, kernels_fit
from rosenblatt.learner.examples import CheckedExamples
from rosenblatt.learner.models import TrainingOptions, trainer
from rosenblatt.learner.selection import Folds, group_folds, holdout, stratified_folds, time_folds
from rosenblatt.rules import PassiveAggressive, to_dict

if TYPE_CHECKING:
    from rosenblatt.cli.fit.request import FitRequest
    from rosenblatt.cli.progress import Progress


class Chosen(NamedTuple):
    """What ``--auto`` chose: the training options, the report of the choice, and the calibration of its scores."""

    training: TrainingOptions
    report: dict[str, Any]
    metadata: dict[str, Any]


def choose_training(
    request: "FitRequest", rows: Rows, progress: "Progress", groups: NDArray[Any] | None = None
) -> Chosen:
    """Choose rule, parameters, hypothesis and kernel by out-of-fold scores of these rows."""
    classes, labels = np.unique(rows.y, return_inverse=True)
    labels = labels.reshape(-1)
    raw = rows.X if rows.plan is None else rows.raw
    scaled = request.training.standardised
    examples = CheckedExamples(raw, classes, labels, rows.weight, np.nan, scaled)
    seed = request.training.seed
    choice = choose(
        examples,
        candidates=_candidates(rows),
        folds=_folds(request, labels, groups),
        prepare=rows.plan,
        seed=seed,
        on_progress=lambda done, total, name: progress.update(f"trying {name}".strip(), done, total),
    )
    training = _training(request.training, choice, rows.X.shape[1])
    calibration = fit_calibration(
        choice.scores.normalised,
        labels[choice.rows],
        weight=None if rows.weight is None else rows.weight[choice.rows],
    )
    report = {
        "chosen": str(choice.best.candidate),
        "hypothesis": choice.best.hypothesis,
        "command": _command(request, choice, rows.X.shape[1]),
        "tried": [
            {
                "learner": str(tried.candidate),
                "hypothesis": tried.hypothesis,
                "accuracy": tried.score,
                "standard_error": tried.standard_error,
                "rows": tried.rows,
                "chosen": tried is choice.best,
            }
            for tried in sorted(choice.table, key=lambda each: (-each.rows, -each.score))
        ],
    }
    return Chosen(training, report, {"calibration": calibration.to_json()})


def choose_and_estimate(
    request: "FitRequest", rows: Rows, progress: "Progress", groups: NDArray[Any] | None = None
) -> tuple[Chosen, Estimated | None]:
    """Choose on four fifths of the rows, and estimate the choice on the fifth that took no part in it.

    With groups, the fifth is of whole groups. Few rows are all needed for the choice, which has no estimate then.
    """
    if too_few(rows):
        return choose_training(request, rows, progress, groups), None
    classes, labels = np.unique(rows.y, return_inverse=True)
    labels = labels.reshape(-1)
    if groups is not None:
        folds = group_folds(groups, 5)
    else:
        folds = holdout(labels, SHARE, request.training.seed, in_order=request.estimate.time_order)
    learned = np.flatnonzero(folds.fold != 0)
    part = part_of(rows, learned)
    held = part_of(rows, np.flatnonzero(folds.fold == 0), part)
    missing = np.setdiff1d(classes, part.y)
    if classes.size - missing.size < 2:
        note(f"{rows.source}: no estimate; without the rows held out only one class is left to learn from")
        return choose_training(request, rows, progress, groups), None
    chosen = choose_training(request, part, progress, None if groups is None else groups[learned])
    progress.update("estimating")
    model = trainer(chosen.training)(chosen.training, part.X, part.y, part.weight, lambda *_: True)
    estimated = estimate_by_test(model, held, calibration_in(chosen.metadata))
    if estimated is None or estimated.figures is None:
        return chosen, None
    whole = "" if groups is None else f" in whole groups ({request.estimate.groups})"
    how = f"{counted(held.y.size, 'row')} held out{whole}, which took no part in the choice"
    estimated = replace(
        estimated,
        figures=estimated.figures._replace(how=how),
        report={**estimated.report, "how": how},
        metadata=chosen.metadata,
        rows=np.flatnonzero(folds.fold == 0),
    )
    if missing.size:  # the probabilities are those of fewer classes than the model has
        note(f"{rows.source}: no probabilities; class {str(missing[0])!r} is only in the rows held out")
        chosen, estimated = chosen._replace(metadata={}), replace(estimated, metadata={})
    return chosen, estimated


def _folds(request: "FitRequest", labels: NDArray[np.int64], groups: NDArray[Any] | None) -> Folds:
    """Return the folds of the choice: of whole groups, in time order, or stratified."""
    if groups is not None:
        return group_folds(groups, 5)
    if request.estimate.time_order:
        return time_folds(labels.size)
    return stratified_folds(labels, 5, request.training.seed)


def _candidates(rows: Rows) -> list[Candidate]:
    """Return what is tried; where a quadratic map is too large, a polynomial kernel of degree 2 stands for it."""
    sparse = (
        hasattr(rows.X, "tocsr") and rows.plan is None
    )  # a table with categories is small enough to be dense
    (n, features), classes = rows.X.shape, np.unique(rows.y).size
    candidates = default_candidates(n, features, sparse, classes)
    if kernels_fit(n, classes) and not any(each.map for each in candidates):
        candidates.append(Candidate(PassiveAggressive(C=0.1), ("averaged",), kernel="poly", degree=2))
    return candidates


def _training(options: TrainingOptions, choice: Choice, features: int) -> TrainingOptions:
    candidate = choice.best.candidate
    parameters = to_dict(candidate.rule)
    rule = str(parameters.pop("name"))
    if not candidate.kernel:
        return options._replace(
            rule=rule,
            parameters={name: float(value) for name, value in parameters.items()},
            hypothesis=choice.best.hypothesis,
            passes=candidate.max_iter,
            map=candidate.map or None,
        )
    parameters |= {"gamma": candidate.gamma / max(1, features), "bias": 1.0}
    if candidate.kernel == "poly":
        parameters["degree"] = float(candidate.degree)
    return options._replace(
        learner="kernel",
        kernel=candidate.kernel,
        rule=rule,
        parameters={name: float(value) for name, value in parameters.items()},
        hypothesis=choice.best.hypothesis,
        passes=candidate.max_iter,
    )


def _command(request: "FitRequest", choice: Choice, features: int) -> str:
    """Return the command that trains the choice again, on rows that are read the same way."""
    arguments = ["rosenblatt", "fit", request.source, *request.reading_arguments, *choice.arguments(features)]
    if request.training.seed:
        arguments += ["--seed", str(request.training.seed)]
    if request.estimate.certify is not None:  # a fifth of the rows is held out of training
        arguments += ["--certify", f"{request.estimate.certify:g}"]
    if request.estimate.time_order:
        arguments.append("--time-order")
    if request.estimate.groups is not None:  # the column is no feature
        arguments += ["--groups", request.estimate.groups]
    if choice.best.candidate.kernel:
        arguments += ["--param", "bias=1"]
    return shlex.join(arguments)
