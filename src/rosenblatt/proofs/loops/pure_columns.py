"""Columns that have one sign in all remaining rows, and the rows they settle: one look at each value."""

from typing import Any

import numpy as np

from rosenblatt.jit import compiled, exactly_compiled


@exactly_compiled
def settle_rows(
    rows: Any, by_column: Any, signs: Any, bias: bool, picked: Any, stops: Any, settled: Any
) -> int:
    """Settle rows by pure columns until there are none; return the number of columns picked.

    ``rows`` and ``by_column`` are (values, indices, starts) of the matrix by rows and by columns. Column
    ``picked[p]`` settles the rows ``settled[stops[p] : stops[p + 1]]``; column ``len(by_column)`` is the bias.
    """
    values, columns, starts = rows
    column_values, column_rows, column_starts = by_column
    n, d = len(starts) - 1, len(column_starts) - 1
    positive, negative = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    live = np.ones(n, dtype=np.bool_)
    queued = np.zeros(d, dtype=np.bool_)
    queue = np.empty(d, dtype=np.int64)
    tail = 0
    for j in range(d):
        for at in range(column_starts[j], column_starts[j + 1]):
            value = column_values[at] * signs[column_rows[at]]
            positive[j] += value > 0
            negative[j] += value < 0
        if (positive[j] == 0) != (negative[j] == 0):
            queued[j] = True
            queue[tail] = j
            tail += 1
    head = n_picked = n_settled = 0
    while head < tail:
        j = queue[head]
        head += 1
        for at in range(column_starts[j], column_starts[j + 1]):
            i = column_rows[at]
            if not live[i] or column_values[at] == 0:
                continue
            live[i] = False
            settled[n_settled] = i
            n_settled += 1
            for other in range(starts[i], starts[i + 1]):
                c = columns[other]
                value = values[other] * signs[i]
                positive[c] -= value > 0
                negative[c] -= value < 0
                if (positive[c] == 0) != (negative[c] == 0) and not queued[c]:
                    queued[c] = True
                    queue[tail] = c
                    tail += 1
        if n_settled > stops[n_picked]:
            picked[n_picked] = j
            n_picked += 1
            stops[n_picked] = n_settled
    if bias:
        side = 0.0
        for i in range(n):
            if live[i]:
                if side == -signs[i]:
                    return n_picked
                side = signs[i]
        for i in range(n):
            if live[i]:
                settled[n_settled] = i
                n_settled += 1
        if n_settled > stops[n_picked]:
            picked[n_picked] = d
            n_picked += 1
            stops[n_picked] = n_settled
    return n_picked


@compiled
def weigh_columns(rows: Any, signs: Any, picks: Any, target: float, w: Any) -> None:
    """Give every picked column, last first, a weight that puts its rows beyond ``target``; ``w`` holds the others.

    ``picks`` is (picked, stops, settled); ``w`` has one entry more than there are columns: the bias, or zero.
    """
    values, columns, starts = rows
    picked, stops, settled = picks
    d = len(w) - 1
    for p in range(len(picked) - 1, -1, -1):
        j = picked[p]
        weight = 0.0
        for s in range(stops[p], stops[p + 1]):
            i = settled[s]
            score = w[d]
            size = abs(w[d])
            own = 1.0 if j == d else 0.0
            for at in range(starts[i], starts[i + 1]):
                value = float(values[at])
                if columns[at] == j:
                    own = value
                else:
                    score += value * w[columns[at]]
                    size += abs(value * w[columns[at]])
            own *= signs[i]
            need = (target + 1e-9 * size - signs[i] * score) / own  # has the sign of the column in every row
            if need * own > 0.0 and abs(need) > abs(weight):
                weight = need
        w[j] = weight
