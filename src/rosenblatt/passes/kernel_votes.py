"""A ledger read in its dual form: coefficients after any number of updates, their normalised mean, the vote."""

from typing import Any

import numpy as np

from rosenblatt.passes.compiled import compiled


@compiled
def coefficients_after(entries: Any, slots: Any, W: Any, stops: Any, out: Any) -> None:
    """Apply the lines in order to ``(classes, slots)`` coefficients; copy them out after each number of lines."""
    k = 0
    for number in range(entries.shape[0] + 1):
        while k < stops.shape[0] and stops[k] == number:
            for c in range(W.shape[0]):
                for s in range(W.shape[1]):
                    out[k, c, s] = W[c, s]
            k += 1
        if k == stops.shape[0]:
            return
        line = entries[number]
        up = line.up if W.shape[0] > 1 else 0
        if line.decay != 1.0:
            for c in range(W.shape[0]):
                if c == up or line.down >= 0:
                    for s in range(W.shape[1]):
                        W[c, s] *= line.decay
        W[up, slots[number]] += line.tau
        if line.down >= 0:
            W[line.down, slots[number]] -= line.tau


@compiled
def normalised_sum(entries: Any, slots: Any, until: Any, left: Any, decay: Any, W: Any) -> None:
    """Add up ``Σ m_k v_k/‖v_k‖`` as coefficients, from the last line to the first.

    A step lives on, shrunk by later decays, in every hypothesis after it: ``G_l = m_l/‖v_l‖ + decay_{l+1} G_{l+1}``.
    ``until``, ``left`` and ``decay`` hold, for each hypothesis, when its next update comes, ``G`` and its decay.
    """
    for number in range(entries.shape[0] - 1, -1, -1):
        line = entries[number]
        up = line.up if W.shape[0] > 1 else 0
        h = up if left.shape[0] > 1 else 0
        left[h] *= decay[h]
        if line.sqnorm > 0.0:
            left[h] += (until[h] - line.clock) / np.sqrt(line.sqnorm)
        until[h], decay[h] = line.clock, line.decay
        W[up, slots[number]] += line.tau * left[h]
        if line.down >= 0:
            W[line.down, slots[number]] -= line.tau * left[h]


@compiled
def vote_each_column(values: Any, entries: Any, slots: Any, until: float, scores: Any, votes: Any) -> None:
    """Add up signs weighted by survival: ``votes[c, i] = Σ m_k sign(v_k·xᵢ)``, for all columns of ``values`` at once.

    ``values[s, i]`` is the kernel of the s-th support row with the i-th row to be told.
    """
    classes = votes.shape[0]
    since = np.zeros(classes)
    for k in range(entries.shape[0]):
        line = entries[k]
        c = line.up if classes > 1 else 0
        lived = line.clock - since[c]
        since[c] = line.clock
        own, told, x = scores[c], votes[c], values[slots[k]]
        if line.decay == 1.0:
            for i in range(x.shape[0]):
                told[i] += lived * ((own[i] > 0.0) - (own[i] < 0.0))
                own[i] += line.tau * x[i]
        else:
            for i in range(x.shape[0]):
                told[i] += lived * ((own[i] > 0.0) - (own[i] < 0.0))
                own[i] = line.decay * own[i] + line.tau * x[i]
    for c in range(classes):
        for i in range(votes.shape[1]):
            votes[c, i] += (until - since[c]) * ((scores[c, i] > 0.0) - (scores[c, i] < 0.0))


@compiled
def vote_jointly_by_column(
    values: Any, entries: Any, slots: Any, until: float, scores: Any, best: Any, votes: Any
) -> None:
    """Let every joint hypothesis vote for its best class with its survival; a tie casts no vote.

    ``best[i]`` is the class that leads in column ``i``, or -1 in a tie.
    """
    since = 0.0
    for k in range(entries.shape[0]):
        line = entries[k]
        lived = line.clock - since
        since = line.clock
        up, down, x = line.up, line.down, values[slots[k]]
        for i in range(x.shape[0]):
            lead = best[i]
            if lead >= 0:
                votes[lead, i] += lived
            if line.decay != 1.0:
                for c in range(scores.shape[0]):
                    scores[c, i] *= line.decay
            move = line.tau * x[i]
            scores[up, i] += move
            scores[down, i] -= move
            # The lead changes only where a score moved past it, or where the leader itself moved.
            if (
                lead < 0
                or lead in (up, down)
                or scores[up, i] >= scores[lead, i]
                or scores[down, i] >= scores[lead, i]
            ):
                best[i] = _leader(scores, i)
    for i in range(votes.shape[1]):
        if best[i] >= 0:
            votes[best[i], i] += until - since


@compiled
def _leader(scores: Any, i: int) -> int:
    """Return the class with the highest score in a column, or -1 where two share it."""
    best, tied = 0, False
    for c in range(1, scores.shape[0]):
        if scores[c, i] > scores[best, i]:
            best, tied = c, False
        elif scores[c, i] == scores[best, i]:
            tied = True
    return -1 if tied else best
