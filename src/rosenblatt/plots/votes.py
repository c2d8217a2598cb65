"""The voting table: the vote of every hypothesis of a run on one example, weighted by its survival."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.estimate import percent
from rosenblatt.plots.canvas import new_axes, titled
from rosenblatt.plots.rows import draw_rows
from rosenblatt.plots.style import TEXT, Theme, class_looks, for_text

MOST_ROWS = 12


class Votes(NamedTuple):
    """The votes of all hypotheses of a run on one example, the initial one first."""

    survival: NDArray[np.float64]  # number of examples it survived
    score: NDArray[np.float64]  # v_k·x
    sign: NDArray[np.float64]  # the vote


def votes_on(clf: Any, x: Any) -> Votes:
    """Return the votes of a fitted ``Perceptron`` with two classes, from its ledger."""
    learner = clf.learner_
    if learner.ledger is None:
        raise ValueError("'voted' needs the ledger, which was not recorded: train with keep_ledger=True")
    if len(clf.classes_) != 2:
        raise ValueError(f"the voting table needs two classes, there are {len(clf.classes_)}")
    x = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64).ravel()
    lines = np.arange(len(learner.ledger) + 1)
    weights = learner.ledger.weights_after(lines, learner.bias_input)[:, 0].astype(np.float64)
    score = weights[:, 1:] @ x + learner.bias_input * weights[:, 0]
    survival = learner.ledger.survivals(lines[:-1], learner.clock)
    return Votes(survival, score, np.sign(score))


def votes(clf: Any, x: Any, *, ax: Any = None, theme: "str | Theme" = "light") -> Any:
    """Draw the votes of the hypotheses of a ``Perceptron`` on one example, by longest survival, and the outcome."""
    result = votes_on(clf, x)
    survivors = np.flatnonzero(result.survival > 0)
    listed = np.sort(survivors[np.argsort(-result.survival[survivors], kind="stable")[:MOST_ROWS]])
    ax, look = new_axes(ax, theme, size=(9.0, 1.6 + 0.36 * (listed.size + 2)))
    looks = class_looks(list(clf.classes_))
    by_sign = {-1.0: (str(clf.classes_[0]), looks[0]), 1.0: (str(clf.classes_[1]), looks[1])}
    rows, colours = [], []
    longest = float(result.survival[listed].max(initial=1.0))
    for k in listed:
        label, class_look = by_sign.get(float(result.sign[k]), ("no vote", None))
        rows.append([f"v{k}", f"{result.survival[k]:,.0f}", "", f"{result.score[k]:+.4g}", label])
        colours.append(
            [None, None, None, None, for_text(class_look.colour, look) if class_look else look.faint]
        )
    rest = survivors.size - listed.size
    if rest:
        rows.append(
            [
                f"{rest:,} more",
                f"{result.survival[survivors].sum() - result.survival[listed].sum():,.0f}",
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
    for row, k in enumerate(listed, start=1):
        class_look = by_sign.get(float(result.sign[k]), ("", None))[1]
        width = 0.26 * result.survival[k] / longest
        ax.barh(
            row,
            width,
            left=0.33,
            height=0.5,
            color=class_look.colour if class_look else look.grid,
            gid="survival",
        )
    titled(ax, look, f"The vote of {survivors.size:,} hypotheses on one example")
    _outcome(ax, result, by_sign, look)
    return ax


def _outcome(ax: Any, result: Votes, by_sign: dict[float, Any], theme: Theme) -> None:
    total = float(result.survival.sum()) or 1.0
    shares = {sign: float(result.survival[result.sign == sign].sum()) / total for sign in by_sign}
    tied = shares[1.0] == shares[-1.0]
    winner = "undecided" if tied else by_sign[1.0 if shares[1.0] > shares[-1.0] else -1.0][0]
    parts = ", ".join(f"{percent(shares[sign])} for {by_sign[sign][0]}" for sign in (1.0, -1.0))
    ax.set_xlabel(f"{parts}   →   {winner}", color=theme.ink, fontsize=TEXT + 1, labelpad=8)
