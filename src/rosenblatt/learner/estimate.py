"""What a model is worth on rows it did not learn from: figures, intervals and bounds.

Three kinds of statement are worded differently, because they claim different things:

- a **held-out bound** (:func:`certificate`) is a theorem about the deployed model, tested on rows it never saw;
- a **progressive bound** (:func:`progressive_bound`) is a theorem about the mean of the hypotheses of one pass;
- an **estimate** (:class:`Estimate`) from folds is about the way of learning, and not a theorem.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.scoring import decided

PROBABILITY_FLOOR = 1e-15  # of the true class, in the log loss
ROUNDING = 1e-10  # relative: bounds are rounded up by this, which is more than the error of their computation


# Bounds


def clopper_pearson(wrong: int, rows: int, confidence: float = 0.95) -> float:
    """Return the largest error rate that does not contradict this many errors (Clopper and Pearson 1934).

    The true error rate is at most this in a fraction ``confidence`` of all samples, or more.

    Parameters
    ----------
    wrong, rows : int
        Errors among independent rows.
    confidence : float, default=0.95

    Returns
    -------
    float
        At most two parts in 10¹⁰ above the exact value, and never below it.

    Examples
    --------
    >>> round(clopper_pearson(0, 59), 4), round(clopper_pearson(3, 100), 4)
    (0.0495, 0.0757)
    """
    _check_confidence(confidence)
    if not 0 <= wrong <= rows:
        raise ValueError(f"errors must be from 0 to the number of rows, {rows}, got {wrong}")
    return 1.0 if wrong == rows else min(1.0, _upper_limit(wrong, rows, confidence) * (1.0 + ROUNDING))


def _upper_limit(wrong: int, rows: int, confidence: float) -> float:
    """Return the error rate at which more errors than these have the probability ``confidence``.

    Newton's steps inside a bracket that shrinks with each. ``scipy.special.betaincinv`` gives the same, with fewer
    digits where rows are many; its import takes a sixth of the time of a short command.

    >>> round(_upper_limit(0, 59, 0.95), 5), round(1.0 - 0.05 ** (1.0 / 59.0), 5)
    (0.04951, 0.04951)
    """
    low, high, rate = 0.0, 1.0, (wrong + 1.0) / (rows + 1.0)
    for _ in range(200):
        excess, density = _excess(wrong, rows, rate, confidence)
        low, high = (rate, high) if excess < 0.0 else (low, rate)
        step = excess / density if density else math.inf
        guess = rate - step if low < rate - step < high else (low + high) / 2.0
        if not low < guess < high:  # no number lies between them
            return high
        if abs(guess - rate) <= 1e-12 * rate:  # the next step is smaller than an ulp
            return guess
        rate = guess
    return high


def _excess(wrong: int, rows: int, rate: float, confidence: float) -> tuple[float, float]:
    """Return the probability of more errors than ``wrong`` minus ``confidence``, and its derivative by the rate.

    The probabilities of numbers of errors are added from ``wrong`` away from the mean, where they fall.
    """
    right = rows - wrong
    odds = rate / (1.0 - rate)
    logarithm = _log_binomial(wrong, right) + wrong * math.log(rate) + right * math.log1p(-rate)
    exactly = math.exp(logarithm)
    density = exactly * right / (1.0 - rate)
    upwards = wrong + 1 > rows * rate
    term = exactly * right / (wrong + 1) * odds if upwards else exactly
    total, number = term, wrong + 1 if upwards else wrong
    while term > 1e-17 * total:
        term *= (rows - number) / (number + 1) * odds if upwards else number / (rows - number + 1) / odds
        number += 1 if upwards else -1
        total += term
    return total - confidence if upwards else 1.0 - confidence - total, density


def _log_binomial(wrong: int, right: int) -> float:
    """Return the logarithm of the binomial coefficient, without subtracting two large logarithms of gammas."""
    few, many = min(wrong, right), max(wrong, right)
    if many < 100:
        return math.lgamma(few + many + 1) - math.lgamma(few + 1) - math.lgamma(many + 1)
    growth = (many + 0.5) * math.log1p(few / many) + few * (math.log(few + many) - 1.0)
    return growth + _stirling_error(few + many) - _stirling_error(many) - math.lgamma(few + 1)


def _stirling_error(n: int) -> float:
    """Return ``ln n! − (n + ½) ln n + n − ½ ln 2π`` for ``n`` of 100 or more (DLMF 5.11.1)."""
    return 1.0 / (12.0 * n) - 1.0 / (360.0 * n**3) + 1.0 / (1260.0 * n**5)


def interval(right: int, rows: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the two-sided interval of Clopper and Pearson for the rate of a count.

    >>> [round(end, 3) for end in interval(84, 100)]
    [0.753, 0.906]
    """
    one_side = (1.0 + confidence) / 2.0
    return 1.0 - clopper_pearson(rows - right, rows, one_side), clopper_pearson(right, rows, one_side)


class Bound(NamedTuple):
    """An error rate that is exceeded with probability at most ``1 − confidence``."""

    error: float
    confidence: float
    wrong: int
    rows: int
    kind: str  # "held-out" or "progressive"

    def __str__(self) -> str:
        share, trust = percent(self.error, rounding="up"), given_percent(self.confidence)
        if self.kind == "progressive":
            return (
                f"the hypotheses of this pass are wrong on at most {share} of new rows like these on average, with "
                f"{trust} confidence (Azuma–Hoeffding, {self.rows:,} rows in one pass)"
            )
        return (
            f"at most {share} wrong on new rows like these, with {trust} confidence "
            f"(Clopper–Pearson, {self.rows:,} rows held out)"
        )


def certificate(wrong: int, rows: int, confidence: float = 0.95) -> Bound:
    """Return the bound on the error of a model that was never trained on these rows, nor chosen by them.

    Parameters
    ----------
    wrong, rows : int
        Errors among the rows held out.
    confidence : float, default=0.95

    Returns
    -------
    Bound

    Notes
    -----
    **Guarantee.** If the rows held out and new rows are drawn independently from one distribution, the error rate on
    new rows is above ``error`` with probability at most ``1 − confidence``.

    Examples
    --------
    >>> print(certificate(740, 4884))
    at most 16.1% wrong on new rows like these, with 95% confidence (Clopper–Pearson, 4,884 rows held out)
    """
    if rows < 1:
        raise ValueError("a certificate needs rows that were held out, and there are none")
    return Bound(clopper_pearson(wrong, rows, confidence), confidence, int(wrong), int(rows), "held-out")


def progressive_bound(mistakes: int, rows: int, confidence: float = 0.95) -> Bound:
    """Return the bound on the mean error of the hypotheses of one pass, from its mistakes.

    Every row is predicted before it is learned from. It holds for the mean of all hypotheses of the pass, not for the
    last one, and only where no row is visited twice.

    Parameters
    ----------
    mistakes, rows : int
    confidence : float, default=0.95

    Returns
    -------
    Bound

    Notes
    -----
    **Guarantee.** If the rows are drawn independently from one distribution, the mean over ``t`` of the error rate of
    hypothesis ``t`` exceeds ``M/n + √(ln(1/δ)/2n)`` with probability at most ``δ = 1 − confidence``: the differences
    between errors and error rates are a martingale in intervals of length one.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile (2004), On the generalization ability of on-line learning algorithms,
    Proposition 1; W. Hoeffding (1963), K. Azuma (1967).

    Examples
    --------
    >>> round(progressive_bound(1500, 10_000).error, 4)
    0.1622
    """
    _check_confidence(confidence)
    if rows < 1 or not 0 <= mistakes <= rows:
        raise ValueError(f"mistakes must be from 0 to the number of rows, {rows}, got {mistakes}")
    error = mistakes / rows + math.sqrt(-math.log(1.0 - confidence) / (2.0 * rows))
    return Bound(min(1.0, error), confidence, int(mistakes), int(rows), "progressive")


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}")


# Figures


class Estimate(NamedTuple):
    """Figures on rows that were not learned from. Figures for two classes are nan with more."""

    how: str  # "5 folds", "1,000 rows held out", a file of test rows
    rows: int
    classes: NDArray[Any]
    confusion: NDArray[np.int64]  # [true class, predicted class]
    accuracy: float
    low: float  # ends of the interval of the accuracy
    high: float
    confidence: float
    majority: Any  # the most frequent class
    majority_accuracy: float  # of always answering it
    balanced_accuracy: float  # mean of the rates of correct answers of the classes that occur
    f1: float  # of the second of two classes
    auc: float  # of two classes
    log_loss: float = math.nan  # nan without probabilities
    brier: float = math.nan

    @property
    def better_than_majority(self) -> bool:
        """Whether the whole interval is above the accuracy of always answering the most frequent class."""
        return self.low > self.majority_accuracy

    def __str__(self) -> str:
        return (
            f"{percent(self.accuracy)} right on rows not learned from ({self.how}; {given_percent(self.confidence)} "
            f"interval {percent_span(self.low, self.high)}); always answering {self.majority} is right on "
            f"{percent(self.majority_accuracy)}"
            + ("" if self.better_than_majority else ": no better than that is shown")
        )


def estimate(
    scores: NDArray[Any],
    labels: NDArray[np.int64],
    classes: NDArray[Any],
    how: str,
    *,
    probabilities: NDArray[np.float64] | None = None,
    training_labels: NDArray[np.int64] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the figures of scores on labelled rows that were not learned from.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, classes)
        Rows with a nan are left out: they were not scored.
    labels : ndarray of int64
        The class index of every row.
    classes : ndarray
        The sorted classes.
    how : str
        Where the scores come from, in words.
    probabilities : ndarray of shape (n, classes), optional
        For log loss and Brier score.
    training_labels : ndarray of int64, optional
        Labels from which the most frequent class is counted; by default those of the scored rows.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> figures = estimate(np.array([0.3, -2.0, -0.1, 1.0]), np.array([1, 0, 1, 1]), np.array(["no", "yes"]), "by hand")
    >>> figures.accuracy, figures.auc, figures.confusion.tolist(), str(figures.majority)
    (0.75, 1.0, [[1, 0], [1, 2]], 'yes')
    """
    scored = np.isfinite(scores) if scores.ndim == 1 else np.isfinite(scores).all(axis=1)
    scores, labels = scores[scored], labels[scored]
    if not labels.size:
        raise ValueError("there is no scored row to estimate from")
    count = classes.size
    predicted = decided(scores, np.arange(count))
    confusion = np.bincount(labels * count + predicted, minlength=count * count).reshape(count, count)
    right, rows = int(np.trace(confusion)), labels.size
    of_class = confusion.sum(axis=1)
    occurring = of_class > 0
    known = of_class if training_labels is None else np.bincount(training_labels, minlength=count)
    majority = int(np.argmax(known))
    low, high = interval(right, rows, confidence)
    two = count == 2
    true_positive, false = confusion[-1, -1], confusion[0, -1] + confusion[-1, 0]
    losses = (math.nan, math.nan)
    if probabilities is not None:
        losses = log_loss(probabilities[scored], labels), brier_score(probabilities[scored], labels)
    return Estimate(
        how,
        rows,
        classes,
        confusion,
        right / rows,
        low,
        high,
        confidence,
        classes[majority],
        float(of_class[majority] / rows),
        float(np.mean(np.diag(confusion)[occurring] / of_class[occurring])),
        float(2 * true_positive / max(1, 2 * true_positive + false)) if two else math.nan,
        auc(scores, labels) if two else math.nan,
        *losses,
    )


def auc(scores: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """Return the probability that a row of class 1 has a higher score than one of class 0; a tie counts half.

    It is nan where only one class occurs.

    >>> auc(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0, 0, 1, 1]))
    0.875
    """
    positive = int(labels.sum())
    negative = labels.size - positive
    if not positive or not negative:
        return math.nan
    _, index, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2.0  # the mean rank of equal scores, from 1 on
    ranks_of_positive = float(rank[index.reshape(-1)][labels == 1].sum())
    return (ranks_of_positive - positive * (positive + 1) / 2.0) / (positive * negative)


def log_loss(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the mean of ``−log P(true class)``.

    >>> round(log_loss(np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([0, 1])), 4)
    0.3993
    """
    own = probabilities[np.arange(labels.size), labels]
    return float(-np.log(np.maximum(own, PROBABILITY_FLOOR)).mean())


def brier_score(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the mean squared error of probabilities: of the second class with two, summed over classes with more.

    >>> round(brier_score(np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([0, 1])), 4)
    0.13
    """
    if probabilities.shape[1] == 2:
        return float(np.mean((probabilities[:, 1] - labels) ** 2))
    errors = probabilities.copy()
    errors[np.arange(labels.size), labels] -= 1.0
    return float((errors**2).sum(axis=1).mean())


# Wording


def percent(share: float, digits: int = 1, *, rounding: str = "nearest", short: bool = False) -> str:
    """Return a share in percent; all and none are written only where they are exact.

    Parameters
    ----------
    share : float
        From zero to one.
    digits : int, default=1
        After the point.
    rounding : {"nearest", "up", "down"}
        An upper bound is rounded up and a lower bound down, so that what is printed is no more than what was shown;
        it has as many digits as it needs to differ from all and none.
    short : bool, default=False
        Write ``>99.9%`` for ``more than 99.9%``, in tables.

    Returns
    -------
    str

    Examples
    --------
    >>> percent(0.1584), percent(1.0), percent(0.99996), percent(0.0001, short=True)
    ('15.8%', '100.0%', 'more than 99.9%', '<0.1%')
    >>> percent(0.1581, rounding="up"), percent(0.1589, rounding="down"), percent(0.99996, rounding="up")
    ('15.9%', '15.8%', '99.996%')
    """
    step = Decimal(1).scaleb(-digits)
    exact = 100 * Decimal(repr(float(share)))
    rounded = exact.quantize(step, ROUNDINGS[rounding])
    while rounding != "nearest" and rounded in (0, 100) and rounded != exact:
        step = step.scaleb(-1)
        rounded = exact.quantize(step, ROUNDINGS[rounding])
    if rounded == 100 != exact:
        return (">" if short else "more than ") + f"{100 - step}%"
    if not rounded and exact:
        return ("<" if short else "less than ") + f"{step}%"
    return f"{rounded}%"


ROUNDINGS = {"nearest": ROUND_HALF_EVEN, "up": ROUND_CEILING, "down": ROUND_FLOOR}


def percent_span(low: float, high: float) -> str:
    """Return an interval of shares in percent, rounded outwards.

    >>> percent_span(0.7529, 0.9061), percent_span(0.9994, 0.9999975)
    ('75.2% to 90.7%', '99.9% to 99.9998%')
    """
    return f"{percent(low, rounding='down')} to {percent(high, rounding='up')}"


def given_percent(share: float) -> str:
    """Return a share that somebody stated, as a confidence, with all its digits.

    >>> given_percent(0.95), given_percent(0.999), given_percent(0.0005)
    ('95%', '99.9%', '0.05%')
    """
    return f"{100.0 * share:.10g}%"


def fraction(value: float, digits: int = 3) -> str:
    """Return a figure such as an AUC or a log loss; one and zero are written only where they are exact.

    >>> fraction(0.91234), fraction(1.0), fraction(0.99996), fraction(0.00001), fraction(0.91234, 4)
    ('0.912', '1.000', '>0.999', '<0.001', '0.9123')
    """
    rounded = f"{value:.{digits}f}"
    unit = 10.0**-digits
    if float(rounded) == 1.0 and value < 1.0:
        return f">{1.0 - unit:.{digits}f}"
    return f"<{unit:.{digits}f}" if float(rounded) == 0.0 < value else rounded
