"""Answering only where at most a stated fraction of the answers is wrong, with a stated confidence.

The confidence of an answer is the absolute score, or with several classes the best score minus the second. Thresholds
are fixed before the held-out rows are looked at, from scores of other rows, the strictest first. For each in turn, the
errors among the held-out rows that it answers are tested by Clopper and Pearson's bound; the last threshold before the
first that fails is used. Since the order is fixed and testing stops at the first failure, all tests together have the
stated confidence.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.estimate import Bound, certificate, clopper_pearson, given_percent, percent
from rosenblatt.learner.scoring import decided

LEVELS = 50  # thresholds: they answer 1/50, 2/50, … of the rows they were fixed on
AIM = 2.0  # the first test aims at this many times the rows that a test without an error needs


def score_gaps(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return the confidence of every answer: the absolute score, or the best minus the second best.

    >>> score_gaps(np.array([[3.0, 1.0, 2.5], [0.0, 0.0, -1.0]])).tolist()
    [0.5, 0.0]
    """
    if scores.ndim == 1:
        return np.asarray(np.abs(scores), np.float64)
    best = np.partition(scores.astype(np.float64), -2, axis=1)
    return np.asarray(best[:, -1] - best[:, -2])


def fewest_rows(max_error: float, confidence: float = 0.95) -> int:
    """Return how many answers without an error show that at most ``max_error`` are wrong: about ``ln(1/δ)/max_error``.

    >>> fewest_rows(0.05)
    59
    """
    if not 0.0 < max_error < 1.0:
        raise ValueError(f"max_error must be between 0 and 1, got {max_error!r}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}")
    return math.ceil(math.log(1.0 - confidence) / math.log1p(-max_error))


class HeldOut(NamedTuple):
    """Results of a model on rows held out, for every threshold: what a model file stores as ``about.held_out``.

    Create it with :func:`held_out`.
    """

    rows: int
    wrong: int
    confidence: float  # that was asked for when the model was fitted
    thresholds: NDArray[np.float64]  # descending; the last is zero and answers every row
    answered: NDArray[np.int64]  # rows held out with at least this gap
    errors: NDArray[np.int64]  # among them

    @property
    def certificate(self) -> Bound:
        """The bound on the error of the model."""
        return certificate(self.wrong, self.rows, self.confidence)

    def abstention(self, max_error: float, confidence: float | None = None) -> "Abstention":
        """Return the threshold that answers as many rows as can be certified.

        Parameters
        ----------
        max_error : float
            The largest fraction of wrong answers.
        confidence : float, optional
            By default that of the held-out rows.

        Raises
        ------
        ValueError
            Where no threshold passes the test.
        """
        confidence = self.confidence if confidence is None else confidence
        fewest = fewest_rows(max_error, confidence)
        if self.rows < fewest:
            raise ValueError(
                f"too few rows were held out: to show that at most {given_percent(max_error)} of the answers are "
                f"wrong, with {given_percent(confidence)} confidence, needs {fewest:,} answers without an error, "
                f"and {self.rows:,} rows were held out: hold out more rows, or accept a larger error"
            )
        certified = -1
        for level in range(self._first_level(fewest), self.thresholds.size):
            answered, errors = int(self.answered[level]), int(self.errors[level])
            if not answered or clopper_pearson(errors, answered, confidence) > max_error:
                break
            certified = level
        if certified < 0:
            level = self._first_level(fewest)
            raise ValueError(
                f"no threshold can be certified: of the {self.answered[level]:,} most confident answers on rows held "
                f"out, {self.errors[level]:,} were wrong, too many to show that at most {given_percent(max_error)} "
                f"are, with {given_percent(confidence)} confidence: accept a larger error, or improve the model"
            )
        answered, errors = int(self.answered[certified]), int(self.errors[certified])
        return Abstention(
            float(self.thresholds[certified]), max_error, confidence, answered, errors, self.rows
        )

    def _first_level(self, fewest: int) -> int:
        """Return the first threshold to test; it depends on the number of rows held out, and not on their scores."""
        aim = max(1.2 * fewest, min(AIM * fewest, self.rows / 2))
        share = np.arange(1, self.thresholds.size + 1) / self.thresholds.size
        return min(int(np.searchsorted(share * self.rows, aim)), self.thresholds.size - 1)

    def to_json(self) -> dict[str, Any]:
        """Return the results as a JSON object."""
        lists = {name: getattr(self, name).tolist() for name in ("thresholds", "answered", "errors")}
        return {"rows": self.rows, "wrong": self.wrong, "confidence": self.confidence, **lists}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Return the results that :meth:`to_json` described, in a header that was checked."""
        counts = (np.array(value[name], np.int64) for name in ("answered", "errors"))
        return cls(
            value["rows"],
            value["wrong"],
            float(value["confidence"]),
            np.array(value["thresholds"], float),
            *counts,
        )


class Abstention(NamedTuple):
    """A threshold below which a model does not answer, and what was shown about its answers."""

    threshold: float
    max_error: float
    confidence: float
    answered: int  # of the rows held out
    errors: int
    rows: int

    def answers(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which rows are answered."""
        return score_gaps(scores) >= self.threshold

    def predict(self, scores: NDArray[Any], classes: NDArray[Any], unanswered: Any) -> NDArray[Any]:
        """Return the class of every row that is answered, ``unanswered`` for the others."""
        labels = decided(scores, classes)
        labels = labels.astype(np.result_type(labels.dtype, np.asarray(unanswered).dtype))
        labels[~self.answers(scores)] = unanswered
        return labels

    def __str__(self) -> str:
        return (
            f"at most {given_percent(self.max_error)} of the answers are wrong on new rows like these, with "
            f"{given_percent(self.confidence)} confidence; it answers {percent(self.answered / self.rows)} of the "
            f"{self.rows:,} rows held out, {self.errors:,} of them wrong (fixed-sequence Clopper–Pearson)"
        )


def held_out(
    scores: NDArray[Any],
    labels: NDArray[np.int64],
    other_scores: NDArray[Any],
    confidence: float = 0.95,
) -> HeldOut:
    """Evaluate a model on rows held out, for thresholds that were fixed on other rows.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, classes)
        Of rows that the model was neither trained on nor chosen by.
    labels : ndarray of int64
        Their class indices.
    other_scores : ndarray
        Scores by the same model of other rows, such as those it was trained on; their labels are not needed.
    confidence : float, default=0.95

    Returns
    -------
    HeldOut

    Notes
    -----
    **Guarantee.** If the rows held out and new rows are drawn independently from one distribution, the fraction of
    wrong answers among those that :meth:`HeldOut.abstention` answers is above ``max_error`` with probability at most
    ``1 − confidence``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=2000)
    >>> labels = (scores + 0.5 * rng.normal(size=2000) > 0).astype(np.int64)
    >>> results = held_out(scores[:1000], labels[:1000], scores[1000:])
    >>> answer = results.abstention(0.05)
    >>> bool(answer.threshold > 0.0), bool(answer.errors / answer.answered < 0.05)
    (True, True)
    """
    other_gaps = score_gaps(other_scores)
    thresholds = np.quantile(other_gaps, 1.0 - np.arange(1, LEVELS + 1) / LEVELS)
    thresholds[-1] = 0.0
    gaps = score_gaps(scores)
    wrong = decided(scores, np.arange(scores.shape[1] if scores.ndim == 2 else 2)) != labels
    reached = gaps[:, None] >= thresholds
    return HeldOut(
        labels.size,
        int(wrong.sum()),
        float(confidence),
        thresholds,
        reached.sum(axis=0),
        (reached & wrong[:, None]).sum(axis=0),
    )
