"""The ledger: which example changed which weights, by how much, and when. It is the dual form of the model.

From it follow the weights after any number of updates (:func:`replay`) and the vote of every hypothesis of a run
(:func:`vote_each`, :func:`vote_jointly`), for linear models and, with support rows in place of features, for kernels.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.core.rows import Layout, Rows, add_row, class_extent, flat, rows_of, scale_class
from rosenblatt.jit import compiled, compiled_part

# One line of the ledger: this update made w ← decay·w + tau·x.
ENTRY = np.dtype(
    [
        ("row", np.int64),  # which example
        ("target", np.int32),  # the class whose weights gained tau·x
        ("rival", np.int32),  # the rival whose weights lost tau·x, or -1 where there is none
        ("tau", np.float64),  # the step, with the sign of y
        ("decay", np.float64),  # the product of all shrinks since the previous line
        ("clock", np.float64),  # examples seen before this one
        ("score", np.float64),  # y·score before the update
        ("sqnorm", np.float64),  # ‖w‖² after the update
    ]
)

NO_LEDGER = np.empty(0, ENTRY)  # for a loop that records nothing
MIN_CAPACITY = 64
# Outside this range a replay folds the scale into the weights, long before a float32 overflows.
MIN_SCALE, MAX_SCALE = 1e-12, 1e12


class Ledger:
    """Every update of a training run, and the examples that made them.

    ``entries`` is a structured array with one line per update (the fields of ``ENTRY``), ``support`` the examples
    that made updates, each stored once, and ``start`` the weights before the first update. The weights after any
    number of updates follow from these three. ``start`` has the dtype of the weights: replay rounds as training did.
    """

    float32_lines = 0  # lines written in float32 by a run that continued in float64

    def __init__(self, start: NDArray[Any]) -> None:
        self.start = start  # (rows of weights, 1 + features), in the dtype of the weights
        self.support: Any = None  # matrix of the rows named in `support_rows`
        self.support_rows = np.empty(0, np.int64)  # ascending
        self._lines = np.empty(0, ENTRY)
        self._used = 0

    @property
    def entries(self) -> NDArray[Any]:
        """The lines written so far, in order."""
        return self._lines[: self._used]

    @entries.setter
    def entries(self, lines: NDArray[Any]) -> None:
        self._lines, self._used = lines, lines.size

    def __len__(self) -> int:
        return self._used

    def reserve(self, lines: int) -> NDArray[Any]:
        """Return blank lines to write into, at least ``lines``."""
        if self._lines.size - self._used < lines:
            grown = np.empty(max(2 * self._lines.size, self._used + lines, MIN_CAPACITY), ENTRY)
            grown[: self._used] = self.entries
            self._lines = grown
        return self._lines[self._used :]

    def written(self, lines: int, first_row: int) -> None:
        """Count the next lines as written; their rows are counted from ``first_row``."""
        self._lines["row"][self._used : self._used + lines] += first_row
        self._used += lines

    def remember(self, X: Any, first_row: int, since: int) -> None:
        """Store the rows of ``X`` that the lines from number ``since`` on refer to."""
        rows = np.unique(self.entries["row"][since:])
        if not rows.size:
            return
        block = X[rows - first_row]
        self.support = block if self.support is None else stacked(self.support, block)
        self.support_rows = np.concatenate([self.support_rows, rows])

    def support_index(self) -> NDArray[np.int64]:
        """Return, for every line, which row of ``support`` it refers to."""
        return np.searchsorted(self.support_rows, self.entries["row"])

    def lines_of(self, hypothesis: int, joint: bool) -> NDArray[np.int64]:
        """Return the numbers of the lines that changed one hypothesis (all lines, under ``joint``)."""
        if joint or self.start.shape[0] == 1:
            return np.arange(len(self))
        return np.flatnonzero(self.entries["target"] == hypothesis)

    def survivals(self, lines: NDArray[np.int64], until: float) -> NDArray[np.float64]:
        """Return how long each hypothesis survived on the clock: the start first, then one per line."""
        return np.diff(np.concatenate([[0.0], self.entries["clock"][lines], [until]]))

    def weights_after(
        self, numbers: NDArray[np.int64], bias_input: float, classes: NDArray[np.int64] | None = None
    ) -> NDArray[Any]:
        """Return the weights after each number of lines (ascending).

        They are ``(numbers, rows, 1 + features)``; with ``classes``, ``(numbers, 1 + features)`` of one class each.
        """
        if self.support is None:
            return (
                np.repeat(self.start[None], numbers.size, axis=0) if classes is None else self.start[classes]
            )
        index, split = self.support_index(), self.float32_lines
        rows, early = rows_of(self.support), numbers < split
        if not split:
            return replayed(rows, self.start, self.entries, index, bias_input, numbers, classes)
        of_early, of_late = (None, None) if classes is None else (classes[early], classes[~early])
        first = (
            rows_of(self.support.astype(np.float32)),
            self.start.astype(np.float32),
            self.entries[:split],
        )
        before = replayed(*first, index[:split], bias_input, numbers[early], of_early)
        at_split = replayed(*first, index[:split], bias_input, np.array([split]))[0].astype(self.start.dtype)
        later = numbers[~early] - split
        after = replayed(rows, at_split, self.entries[split:], index[split:], bias_input, later, of_late)
        return np.concatenate([before.astype(self.start.dtype), after])

    def cast(self, dtype: Any) -> None:
        """Note that training continues with weights of another dtype."""
        if self.start.dtype == np.float32 and dtype == np.float64:
            self.float32_lines = len(self)
        self.start = self.start.astype(dtype, copy=False)

    def add_features(self, n_features: int) -> None:
        """Add zero columns for new features."""
        self.start = widened(self.start, n_features + 1)
        if self.support is not None:
            self.support = widened(self.support, n_features)

    def insert_first_feature(self) -> None:
        """Add a zero column for a feature before all others."""
        self.start = with_first_column(self.start, 1)
        if self.support is not None:
            self.support = with_first_column(self.support, 0)

    def renumber_classes(self, rows: NDArray[np.int64], start: NDArray[Any], joint: bool) -> None:
        """Give the classes the numbers ``rows`` after others were added; two classes become several."""
        two = self.start.shape[0] == 1
        self.start = start
        lines = self.entries.copy()
        if two and joint:  # half of w for each of the two classes keeps every difference of scores
            lines["rival"] = rows[0]
            lines["target"] = rows[1]
            lines["tau"] /= 2.0
        elif two:  # one hypothesis for class 1 becomes two, one for each class
            lines = np.repeat(lines, 2)
            self.float32_lines *= 2
            lines["target"] = np.tile(rows[:2], lines.size // 2)
            lines["tau"][::2] *= -1.0
        else:
            lines["target"] = rows[lines["target"]]
            lines["rival"] = np.where(lines["rival"] < 0, -1, rows[lines["rival"]])
        self.entries = lines


def stacked(above: Any, below: Any) -> Any:
    """Stack two matrices vertically; the result is sparse where one of them is."""
    if isinstance(above, np.ndarray) and isinstance(below, np.ndarray):
        return np.concatenate([above, below])
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack([csr_array(above), csr_array(below)], format="csr"))


def with_first_column(matrix: Any, at: int) -> Any:
    """Insert a zero column before column ``at``; of a sparse matrix, before the first."""
    if isinstance(matrix, np.ndarray):
        order: Any = "F" if matrix.flags.f_contiguous else "C"
        return np.asarray(np.insert(matrix, at, 0.0, axis=1), order=order)
    grown = matrix.copy()
    grown.resize((matrix.shape[0], matrix.shape[1] + 1))
    grown.indices += 1
    return grown


def widened(matrix: Any, columns: int) -> Any:
    """Add zero columns on the right until there are ``columns``."""
    more = columns - matrix.shape[1]
    if more <= 0:
        return matrix
    if isinstance(matrix, np.ndarray):
        grown = np.zeros(
            (matrix.shape[0], columns), matrix.dtype, order="F" if matrix.flags.f_contiguous else "C"
        )
        grown[:, : matrix.shape[1]] = matrix
        return grown
    grown = matrix.copy()
    grown.resize((matrix.shape[0], columns))
    return grown


# Replay


def replayed(
    rows: Rows,
    start: NDArray[Any],
    entries: NDArray[Any],
    support_index: NDArray[np.int64],
    bias_input: float,
    numbers: NDArray[np.int64],
    classes: NDArray[np.int64] | None = None,
) -> NDArray[Any]:
    """Return ``(numbers, classes, 1 + features)`` weights after each number of lines, from those at the start.

    With ``classes``, return the weights of one class for each number: ``(numbers, 1 + features)``.
    """
    n_classes, width = start.shape
    weights = flat(rows, start).copy()
    scale = np.ones(n_classes)
    if classes is not None:
        out = np.empty((numbers.size, width), weights.dtype)
        replay(rows, entries, support_index, bias_input, weights, scale, numbers, classes, out)
        return out
    every = np.full(numbers.size, -1)
    out = np.empty((numbers.size, weights.size), weights.dtype)
    replay(rows, entries, support_index, bias_input, weights, scale, numbers, every, out)
    if rows.indices is None:
        return out.reshape(numbers.size, n_classes, width)
    return out.reshape(numbers.size, width, n_classes).transpose(0, 2, 1)


@compiled
def replay(
    rows: Rows,
    entries: Any,
    support: Any,
    bias_input: float,
    W: Any,
    scale: Any,
    stops: Any,
    classes: Any,
    out: Any,
) -> None:
    """Apply the lines of a ledger in order to flat weights ``scale × W``; copy the weights after each number of lines.

    ``stops`` ascends; ``out[k]`` receives the weights of class ``classes[k]`` (of all, when negative) as they are after
    ``stops[k]`` lines. A decay multiplies the scale of its hypothesis and touches no weight.
    """
    n_classes = scale.shape[0]
    layout = Layout(np.uint64(n_classes), np.uint64(W.shape[0] // n_classes - 1), bias_input)
    k = 0
    for number in range(entries.shape[0] + 1):
        while k < stops.shape[0] and stops[k] == number:
            copy_scaled(rows, layout, classes[k], scale, W, out[k])
            k += 1
        if k == stops.shape[0]:
            return
        line = entries[number]
        joint = line.rival >= 0
        target = line.target if n_classes > 1 else 0
        if line.decay != 1.0:
            first, last = (0, n_classes) if joint else (target, target + 1)
            for c in range(first, last):
                scale[c] *= line.decay
            if not MIN_SCALE < scale[target] < MAX_SCALE:
                scale_class(rows, layout, -1 if joint else target, scale[target], W)
                for c in range(first, last):
                    scale[c] = 1.0
        i = np.uint64(support[number])
        add_row(rows, i, layout, target, line.tau / scale[target], W)
        if joint:
            rival: Any = np.int64(line.rival)
            add_row(rows, i, layout, rival, -line.tau / scale[rival], W)


@compiled_part
def copy_scaled(rows: Any, layout: Any, c: int, scale: Any, W: Any, out: Any) -> None:
    """Copy ``scale[c]·W[c]`` of one class, or of all in their layout when ``c`` is negative."""
    for own in range(0 if c < 0 else c, scale.shape[0] if c < 0 else c + 1):
        at, stop, stride = class_extent(rows, layout, own)
        put, step = (at, stride) if c < 0 else (np.uint64(0), np.uint64(1))
        while at < stop:
            out[put] = scale[own] * W[at]
            at, put = at + stride, put + step


@compiled
def normalised_sum(entries: Any, slots: Any, until: Any, left: Any, decay: Any, W: Any) -> None:
    """Compute the coefficients of ``Σ m_k v_k/‖v_k‖``, going from the last line to the first.

    A step remains, shrunk by later decays, in every hypothesis after it: ``G_l = m_l/‖v_l‖ + decay_{l+1} G_{l+1}``.
    ``until``, ``left`` and ``decay`` hold, for each hypothesis, the clock of its next update, ``G`` and its decay.
    """
    for number in range(entries.shape[0] - 1, -1, -1):
        line = entries[number]
        target = line.target if W.shape[0] > 1 else 0
        h = target if left.shape[0] > 1 else 0
        left[h] *= decay[h]
        if line.sqnorm > 0.0:
            left[h] += (until[h] - line.clock) / np.sqrt(line.sqnorm)
        until[h], decay[h] = line.clock, line.decay
        W[target, slots[number]] += line.tau * left[h]
        if line.rival >= 0:
            W[line.rival, slots[number]] -= line.tau * left[h]


# Votes


@compiled
def fill_products(
    values: Any, indices: Any, starts: Any, first: int, held: Any, holders: Any, ends: Any, products: Any
) -> None:
    """Fill ``products`` for the sparse rows from ``first`` on, as many as it has columns.

    ``held`` are the values of the support rows feature by feature, and ``holders`` the rows that have them (CSC): most
    pairs of rows share no feature and cost nothing.
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
    until: float,
    bias_sqnorm: float,
    votes: Any,
) -> None:
    """Add signs weighted by survival, each hypothesis for itself: ``votes[c, i] = Σ m_k sign(v_k·xᵢ)``.

    ``products[s, i]`` is the product (or kernel) of the s-th support row with the i-th example, and ``scores[c, i]``
    the score by the weights before the first update; it is overwritten.
    """
    binary = votes.shape[0] == 1
    since = np.zeros(votes.shape[0])
    for k in range(entries.shape[0]):
        line = entries[k]
        c = 0 if binary else line.target
        lived = line.clock - since[c]
        since[c] = line.clock
        own, vote, product = scores[c], votes[c], products[support[k]]
        decay, tau = line.decay, line.tau
        for i in range(own.shape[0]):
            # LLVM vectorises this form of the sign.
            vote[i] += lived if own[i] > 0.0 else (-lived if own[i] < 0.0 else 0.0)
            own[i] = decay * own[i] + tau * (product[i] + bias_sqnorm)
    for c in range(votes.shape[0]):
        for i in range(votes.shape[1]):
            votes[c, i] += (until - since[c]) * np.sign(scores[c, i])


@compiled
def vote_jointly(
    products: Any, entries: Any, support: Any, scores: Any, until: float, bias_sqnorm: float, votes: Any
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
        target, rival, now = line.target, line.rival, line.clock
        product = products[support[k]]
        for i in range(examples):
            move = line.tau * (product[i] + bias_sqnorm)
            scores[target, i] += move
            scores[rival, i] -= move
            leader = best[i]
            # The lead can change only where a score did: compare all classes only if the leader's or a higher one did.
            if (
                leader < 0
                or leader in (target, rival)
                or max(scores[target, i], scores[rival, i]) >= scores[leader, i]
            ):
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
