"""The voting table: every hypothesis of a run votes on one example with its survival."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.rows import draw_rows
from rosenblatt.plots.style import TEXT, Theme, class_looks, for_text

MOST_ROWS = 12


class Votes(NamedTuple):
    """What every hypothesis of a run says about one example; the start comes first."""

    survival: NDArray[np.float64]  # how many examples it lived through
    score: NDArray[np.float64]  # v_k·x
    sign: NDArray[np.float64]  # its vote


def votes_on(clf: Any, x: Any) -> Votes:
    """Read the votes of a fitted ``Perceptron`` of two classes from its ledger."""
    learner = clf.learner_
    if learner.ledger is None:
        raise ValueError("'voted' needs the ledger, which was not recorded: train with keep_ledger=True")
    if len(clf.classes_) != 2:
        raise ValueError(f"the table is drawn for two classes, there are {len(clf.classes_)}")
    x = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64).ravel()
    lines = np.arange(len(learner.ledger) + 1)
    weights = learner.ledger.weights_after(lines, learner.bias_input)[:, 0].astype(np.float64)
    score = weights[:, 1:] @ x + learner.bias_input * weights[:, 0]
    survival = learner.ledger.survivals(lines[:-1], learner.clock)
    return Votes(survival, score, np.sign(score))


def votes(clf: Any, x: Any, *, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw how the hypotheses of a ``Perceptron`` vote on one example: the longest-lived as rows, then the outcome."""
    found = votes_on(clf, x)
    lived = np.flatnonzero(found.survival > 0)
    shown = np.sort(lived[np.argsort(-found.survival[lived], kind="stable")[:MOST_ROWS]])
    ax, look = new_axes(ax, theme, size=(9.0, 1.6 + 0.36 * (shown.size + 2)))
    looks = class_looks(list(clf.classes_))
    said = {-1.0: (str(clf.classes_[0]), looks[0]), 1.0: (str(clf.classes_[1]), looks[1])}
    rows, colours = [], []
    longest = float(found.survival[shown].max(initial=1.0))
    for k in shown:
        label, own = said.get(float(found.sign[k]), ("no vote", None))
        rows.append([f"v{k}", f"{found.survival[k]:,.0f}", "", f"{found.score[k]:+.4g}", label])
        colours.append([None, None, None, None, for_text(own.colour, look) if own else look.faint])
    rest = lived.size - shown.size
    if rest:
        rows.append(
            [
                f"{rest:,} more",
                f"{found.survival[lived].sum() - found.survival[shown].sum():,.0f}",
                "",
                "",
                "",
            ]
        )
        colours.append([look.faint, look.faint, None, None, None])
    heads = ["hypothesis", "survived", "", "score", "votes for"]
    draw_rows(
        ax,
        look,
        heads,
        rows,
        (0.0, 0.3, 0.33, 0.74, 0.79),
        ("left", "right", "left", "right", "left"),
        colours,
    )
    for row, k in enumerate(shown, start=1):
        own = said.get(float(found.sign[k]), ("", None))[1]
        width = 0.26 * found.survival[k] / longest
        ax.barh(row, width, left=0.33, height=0.5, color=own.colour if own else look.grid, gid="survival")
    titled(ax, look, f"The vote of {lived.size:,} hypotheses on one example")
    _outcome(ax, found, said, look)
    return ax


def _outcome(ax: Any, found: Votes, said: dict[float, Any], theme: Theme) -> None:
    total = float(found.survival.sum()) or 1.0
    shares = {sign: float(found.survival[found.sign == sign].sum()) / total for sign in said}
    tied = shares[1.0] == shares[-1.0]
    winner = "undecided" if tied else said[1.0 if shares[1.0] > shares[-1.0] else -1.0][0]
    parts = ", ".join(f"{shares[sign]:.1%} for {said[sign][0]}" for sign in (1.0, -1.0))
    ax.set_xlabel(f"{parts}   →   {winner}", color=theme.ink, fontsize=TEXT + 1, labelpad=8)
