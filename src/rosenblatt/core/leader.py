"""Follow the leader: of several predictors, answer with the one that erred least lately."""

from typing import Any

from rosenblatt.jit import exactly_compiled


@exactly_compiled
def follow_leader(
    guesses: Any, labels: Any, weights: Any, losses: Any, leader: int, decay: float, leaders: Any
) -> int:
    """Write the predictor that answers each row into ``leaders``, and return the one that answers the next row.

    ``guesses`` has a column for each predictor. After each row every loss becomes ``decay·loss``, plus the row's weight
    where that predictor erred; a predictor whose loss is strictly the smallest takes the lead. The losses of the rows
    before decide alone, so an answer never depends on the label of its own row.
    """
    for t in range(labels.shape[0]):
        leaders[t] = leader
        best = leader
        for e in range(losses.shape[0]):
            losses[e] = decay * losses[e] + (weights[t] if guesses[t, e] != labels[t] else 0.0)
        for e in range(losses.shape[0]):
            if losses[e] < losses[best]:
                best = e
        leader = best
    return leader
