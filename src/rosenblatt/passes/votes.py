"""The vote of every hypothesis a training run went through, told from the ledger."""

from typing import Any

import numpy as np

from rosenblatt.passes.compiled import compiled


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
    """Add up signs weighted by survival, every hypothesis for itself: ``votes[i, c] = Σ m_k sign(v_k·xᵢ)``.

    ``products[i, s]`` is ``xᵢ·x_s`` with the s-th support row, ``scores[i, c]`` starts at ``v₀·xᵢ``.
    """
    binary = votes.shape[1] == 1
    for i in range(products.shape[0]):
        since[:] = 0.0
        for k in range(entries.shape[0]):
            line = entries[k]
            c = 0 if binary else line.up
            votes[i, c] += (line.clock - since[c]) * np.sign(scores[i, c])
            since[c] = line.clock
            scores[i, c] = line.decay * scores[i, c] + line.tau * (products[i, support[k]] + unit_sq)
        for c in range(votes.shape[1]):
            votes[i, c] += (until - since[c]) * np.sign(scores[i, c])


@compiled
def vote_jointly(
    products: Any, entries: Any, support: Any, scores: Any, until: float, unit_sq: float, votes: Any
) -> None:
    """Let every joint hypothesis vote for its best class with its survival; a tie casts no vote."""
    for i in range(products.shape[0]):
        own = scores[i]
        best, rivals = _winner(own)
        since = 0.0
        for k in range(entries.shape[0]):
            line = entries[k]
            if rivals == 0:
                votes[i, best] += line.clock - since
            since = line.clock
            if line.decay != 1.0:
                own *= line.decay
            move = line.tau * (products[i, support[k]] + unit_sq)
            own[line.up] += move
            own[line.down] -= move
            # The winner can only change where a score moved: look at all again only if a leader was touched.
            touched = best in (line.up, line.down)
            if rivals > 0 or touched or own[line.up] >= own[best] or own[line.down] >= own[best]:
                best, rivals = _winner(own)
        if rivals == 0:
            votes[i, best] += until - since


@compiled
def _winner(scores: Any) -> Any:
    """Return the first class with the highest score, and how many others share it."""
    best, rivals = 0, 0
    for c in range(1, scores.shape[0]):
        if scores[c] > scores[best]:
            best, rivals = c, 0
        elif scores[c] == scores[best]:
            rivals += 1
    return best, rivals
