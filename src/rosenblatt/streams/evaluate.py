"""Evaluation of the hypotheses of a run on a stream: margin, bound and accuracy, in one more pass."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data import Batch
from rosenblatt.learner import Evaluation, Learner
from rosenblatt.learner.scoring import linear_scores
from rosenblatt.learner.training import BoundTerms, Evaluator, chosen_names, column_sqnorms, scored_weights

MARGIN_BYTES = 64 << 20  # limit for margins in memory


def evaluate_stream(
    learner: Learner, batches: Iterable[Batch], only_these: bool = True, margin_bytes: int = MARGIN_BYTES
) -> dict[str, Evaluation]:
    """Evaluate every hypothesis with weights in one pass over a stream, and choose the pocket.

    The results are those of training in memory, except that the bound of weights with errors is infinite if the
    margins of all rows would take more than ``margin_bytes`` bytes.
    """
    weights = scored_weights(learner)
    stacked = np.concatenate([*weights.values()])
    evaluator, whole = Evaluator([*weights], learner.joint, margin_bytes), True
    for batch in batches:
        labels, copies = np.searchsorted(learner.classes, labels_of(batch)), None
        if batch.weight is not None:
            copies = np.ceil(batch.weight).astype(np.int64)
            whole &= bool((batch.weight == copies).all())
        evaluator.add(linear_scores(batch.X, stacked[:, : 1 + batch.X.shape[1]]), labels, copies)
    names = chosen_names(evaluator)
    if "pocket" in names:
        learner.pocket = weights[names["pocket"]]
    terms = BoundTerms(
        learner.rule, learner.radius, len(learner.epochs), learner.start_norm, whole and only_these
    )
    learner.evaluations = {
        name: evaluator.evaluation(scored, column_sqnorms(weights[scored], learner.joint), terms)
        for name, scored in names.items()
    }
    return learner.evaluations


def labels_of(batch: Batch) -> NDArray[Any]:
    """Return the labels of a batch; raise ValueError without labels."""
    if batch.y is None:
        raise ValueError(f"{batch.where(0)}: no labels to learn from")
    return batch.y
