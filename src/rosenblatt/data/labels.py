r"""Labels and names without loss: what NumPy would merge is refused.

NumPy drops NUL characters at the end of a string, turns 1 among strings into ``"1"`` and 2⁵³ + 1 among fractions
into 2⁵³. Every entry point checks its labels and names here:

- :func:`checked_label` for one label, :func:`checked_name` for one name of a feature, column or class;
- :func:`exact_labels` for an array of labels, :func:`checked_classes` for its distinct ones;
- :func:`joined_classes` for the union of known and new classes.
"""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

EXACT = 2.0**53  # float64 does not hold every integer from here on
NUL = "\0"


def invalid_text_reason(text: str) -> str | None:
    r"""Return why a text is not valid as a label or a name; None if it is.

    >>> invalid_text_reason("spam"), invalid_text_reason("spam\0")
    (None, 'contains a NUL character: remove it')
    >>> invalid_text_reason("\ud800")
    'contains half of a surrogate pair, which is no character: write UTF-8 text'
    """
    if NUL in text:
        return "contains a NUL character: remove it"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "contains half of a surrogate pair, which is no character: write UTF-8 text"
    return None


def checked_name(name: str, what: str = "name") -> str:
    r"""Return the name of a feature, column or class; raise ValueError if it has a NUL or half of a surrogate pair.

    >>> checked_name("wind")
    'wind'
    >>> checked_name("wi\0nd", "column")
    Traceback (most recent call last):
    ValueError: the column 'wi\x00nd' contains a NUL character: remove it
    """
    reason = invalid_text_reason(name)
    if reason is not None:
        raise ValueError(f"the {what} {_quote(name)} {reason}")
    return name


def check_names(names: Iterable[str], what: str = "name") -> None:
    """Check many names at once, each as :func:`checked_name` does."""
    names = list(names)
    if invalid_text_reason("".join(names)) is not None:
        for name in names:
            checked_name(name, what)


def checked_label(label: Any, name: str = "y") -> Any:
    r"""Return a label as bool, int, float, str or bytes; raise ValueError if NumPy could merge it with another.

    >>> checked_label("spam"), checked_label(np.int64(3)), checked_label(True)
    ('spam', 3, True)
    >>> checked_label("a\0")
    Traceback (most recent call last):
    ValueError: y has the label 'a\x00', which contains a NUL character: remove it
    """
    if isinstance(label, np.generic):
        label = label.item()
    reason = _invalid_label_reason(label)
    if reason is not None:
        raise ValueError(f"{name} has the label {_quote(label)}, {reason}")
    return label


def _invalid_label_reason(label: Any) -> str | None:
    """Return why NumPy could merge a label with another; None if it cannot."""
    if isinstance(label, str | bytes):
        text = label if isinstance(label, str) else label.decode("latin-1")
        reason = invalid_text_reason(text)
        return None if reason is None else f"which {reason}"
    if isinstance(label, Integral):
        fits = -(2**63) <= int(label) < 2**64
        return None if fits else "which does not fit into 64 bits: write it as text"
    if not isinstance(label, Real):
        return "but a label must be a number or text"
    if not np.isfinite(float(label)):
        return "which is not finite: remove the row or name its class"
    if abs(float(label)) >= EXACT:
        return "beyond 2^53, where float64 merges neighbours: write it as an integer, or as text"
    return None


def exact_labels(y: Any, name: str = "y") -> NDArray[Any]:
    r"""Return labels as an array with equal elements; raise ValueError where NumPy would change one.

    An array of a plain dtype is returned unchanged.

    >>> exact_labels(["b", "a"]), exact_labels([1, 2.5])
    (array(['b', 'a'], dtype='<U1'), array([1. , 2.5]))
    >>> exact_labels(["1", 1])
    Traceback (most recent call last):
    ValueError: y has the labels '1' and 1: expected all text, or all numbers
    >>> exact_labels(["x", "x\0"])
    Traceback (most recent call last):
    ValueError: y has the label 'x\x00', which contains a NUL character: remove it
    """
    if isinstance(y, np.ndarray) and y.dtype.kind != "O":
        return y
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind in "biu":
        return labels
    to_list = next(
        (getattr(y, method) for method in ("to_pylist", "to_list", "tolist") if hasattr(y, method)),
        lambda: list(y),
    )
    values = to_list()
    if labels.dtype.kind == "O":
        _check_mixture(values, name)
        return labels
    if labels.tolist() != values:  # also for NaN, which is refused later, as a class
        for label, stored in zip(values, labels.tolist(), strict=True):
            if label != stored and label == label:  # noqa: PLR0124 (not NaN)
                _check_mixture(values, name)
                checked_label(label, name)
                raise ValueError(
                    f"{name} has the label {_quote(label)}, which NumPy takes for {_quote(stored)} among the others: "
                    "write all labels as text, or all as integers"
                )
    return labels


def exact_if_listed(y: Any, name: str = "y") -> Any:
    """Apply :func:`exact_labels` to a list, a tuple or a column of a frame; return anything else unchanged.

    For labels that scikit-learn checks, which converts lists to arrays without this check.
    """
    known = isinstance(y, list | tuple) or str(getattr(y, "dtype", "")) == "object"
    return exact_labels(y, name) if known or hasattr(y, "to_list") or hasattr(y, "to_pylist") else y


def _check_mixture(labels: list[Any], name: str) -> None:
    """Raise ValueError for numbers among text, as ``1`` and ``"1"`` are different labels, and for missing labels."""
    text = [isinstance(label, str) for label in labels]
    if any(text) and not all(text):
        for row, label in enumerate(labels):
            if is_missing(label):
                raise ValueError(f"{name} has no label in row {row}: drop the row, or name its class")
        one, other = labels[text.index(True)], labels[text.index(False)]
        raise ValueError(
            f"{name} has the labels {_quote(one)} and {_quote(other)}: expected all text, or all numbers"
        )


def is_missing(label: Any) -> bool:
    """Whether a label is missing: None, NaN, or NA and NaT of data frames."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)  # noqa: PLR0124 (nan)


def checked_classes(classes: NDArray[Any], name: str = "y") -> NDArray[Any]:
    """Return the distinct labels of an array; raise ValueError if NumPy could merge one with another.

    >>> checked_classes(np.array([0.0, 2.0**53]))
    Traceback (most recent call last):
    ValueError: y has the label 9007199254740992.0, beyond 2^53, where float64 merges neighbours: ...
    """
    if classes.dtype.kind == "f":
        wrong = ~(np.abs(classes) < np.float64(EXACT))  # float16 holds no 2⁵³
        if wrong.any():
            checked_label(classes[wrong][0], name)
    elif classes.dtype.kind in "US":
        for label in classes.tolist():
            checked_label(label, name)
    elif classes.dtype.kind == "O":
        for label in classes.tolist():
            if isinstance(label, str | bytes | float):
                checked_label(label, name)
    return classes


def joined_classes(known: NDArray[Any], new: NDArray[Any], name: str = "y") -> NDArray[Any]:
    """Return the sorted union of classes; raise ValueError if their common dtype would round one.

    >>> joined_classes(np.array([1, 3]), np.array([2]))
    array([1, 2, 3])
    >>> joined_classes(np.array([2**53 + 1]), np.array([0.5]))
    Traceback (most recent call last):
    ValueError: y has the label 9007199254740993, which a float64 does not hold, beside 0.5: ...
    """
    union = np.union1d(known, new)
    if union.dtype.kind == "f" and (known.dtype.kind, new.dtype.kind) != ("f", "f"):
        for whole, other in ((known, new), (new, known)):
            large = [label for label in whole.tolist() if isinstance(label, int) and abs(label) >= EXACT]
            if large:
                raise ValueError(
                    f"{name} has the label {large[0]}, which a float64 does not hold, beside {other.tolist()[0]}: "
                    "write all labels as text, or all as integers"
                )
    return union


def _quote(label: Any) -> str:
    try:
        text = repr(label)
    except ValueError:  # more digits than Python prints
        return "an integer of thousands of digits"
    return text if len(text) <= 60 else text[:60] + "..."


class TargetValues:
    """The first distinct values of a numeric target, enough to distinguish classes from measurements.

    >>> target = TargetValues()
    >>> target.update(np.arange(1000) / 8)
    >>> target.kind
    'numeric'
    """

    MAX_CLASSES = 50  # distinct integers that can be classes, whatever the number of rows

    def __init__(self) -> None:
        self.rows = 0
        self._values: NDArray[np.float64] = np.empty(0)

    def update(self, y: NDArray[Any] | None) -> None:
        """Add labels; ignore text and None."""
        if y is None or y.dtype.kind not in "iuf":
            return
        self.rows += y.size
        if self._values.size <= self.MAX_CLASSES:
            new = y if not self._values.size else y[~np.isin(y, self._values)]
            if new.size:
                self._values = np.union1d(self._values, new.astype(np.float64))

    @property
    def kind(self) -> Literal["classes", "numeric"]:
        """``"numeric"`` for many distinct numbers: more than 10 if some are fractions, more than 50 integers.

        More than 20 integers suffice if there are at most ten rows for each.
        """
        count = self._values.size
        if (self._values != np.rint(self._values)).any():
            return "numeric" if count > 10 else "classes"
        return (
            "numeric" if count > self.MAX_CLASSES or (count > 20 and 10 * count >= self.rows) else "classes"
        )
