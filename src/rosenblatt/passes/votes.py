"""The vote of every hypothesis a training run went through, told from the ledger.

Updates are gone through once, and under each of them a block of examples: scores and products lie along memory,
``products[s, i]`` being the product of the s-th support row with the i-th example, and ``scores[c, i]`` starting at
the score of the weights the run began with.
"""

from typing import Any

import numpy as np

from rosenblatt.passes.compiled import compiled


@compiled
def fill_products(
    values: Any, indices: Any, starts: Any, first: int, held: Any, holders: Any, ends: Any, products: Any
) -> None:
    """Fill ``products`` for the sparse rows from ``first`` on, as many as it has columns.

    ``held`` are the values of the support rows feature by feature, and ``holders`` the rows that have them (CSC): most
    pairs of rows share no feature, and are not looked at.
    """
    products[:] = 0.0
    for i in range(np.uint64(products.shape[1])):
        row = np.uint64(first) + i
        for k in range(starts[row], starts[row + np.uint64(1)]):
            value, feature = values[k], np.uint64(indices[k])
            for h in range(ends[feature], ends[feature + np.uint64(1)]):
                products[holders[h], i] += value * held[h]


@compiled
def vote_each(
    products: Any,
    entries: Any,
    support: Any,
    scores: Any,
    since: Any,
    until: float,
    unit_sq: float,
    votes: Any,
) -> None:
    """Add up signs weighted by survival, every hypothesis for itself: ``votes[c, i] = Σ m_k sign(v_k·xᵢ)``."""
    binary = votes.shape[0] == 1
    since[:] = 0.0
    for k in range(entries.shape[0]):
        line = entries[k]
        c = 0 if binary else line.up
        lived = line.clock - since[c]
        since[c] = line.clock
        own, vote, product = scores[c], votes[c], products[support[k]]
        decay, tau = line.decay, line.tau
        for i in range(own.shape[0]):
            vote[i] += lived if own[i] > 0.0 else (-lived if own[i] < 0.0 else 0.0)  # a sign, along vectors
            own[i] = decay * own[i] + tau * (product[i] + unit_sq)
    for c in range(votes.shape[0]):
        for i in range(votes.shape[1]):
            votes[c, i] += (until - since[c]) * np.sign(scores[c, i])


@compiled
def vote_jointly(
    products: Any, entries: Any, support: Any, scores: Any, until: float, unit_sq: float, votes: Any
) -> None:
    """Let every joint hypothesis vote for its best class with its survival; a tie casts no vote."""
    examples = votes.shape[1]
    best = np.empty(examples, np.int64)  # the class that leads, negative where several do
    since = np.zeros(examples)  # when it took the lead
    for i in range(examples):
        best[i] = _leader(scores, i)
    for k in range(entries.shape[0]):
        line = entries[k]
        if line.decay != 1.0:
            scores *= line.decay
        up, down, now = line.up, line.down, line.clock
        product = products[support[k]]
        for i in range(examples):
            move = line.tau * (product[i] + unit_sq)
            scores[up, i] += move
            scores[down, i] -= move
            leader = best[i]
            # The lead can only change where a score moved: look at all only if the leader or a new rival did.
            if leader < 0 or leader in (up, down) or max(scores[up, i], scores[down, i]) >= scores[leader, i]:
                new = _leader(scores, i)
                if new != leader:
                    if leader >= 0:
                        votes[leader, i] += now - since[i]
                    best[i], since[i] = new, now
    for i in range(examples):
        if best[i] >= 0:
            votes[best[i], i] += until - since[i]


@compiled
def _leader(scores: Any, i: int) -> int:
    """Return the class with the highest score of one example, -1 where several share it."""
    best, shared = 0, False
    for c in range(1, scores.shape[0]):
        if scores[c, i] > scores[best, i]:
            best, shared = c, False
        elif scores[c, i] == scores[best, i]:
            shared = True
    return -1 if shared else best
