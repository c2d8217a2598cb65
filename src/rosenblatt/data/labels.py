r"""Labels and names exactly as they were written: what cannot be kept apart is refused, never merged.

NumPy drops NUL characters at the end of a string, turns 1 among strings into ``"1"`` and 2⁵³ + 1 among fractions
into 2⁵³. Every border of data passes its labels and names through this module:

- :func:`checked_label` for one label, :func:`checked_name` for one name of a feature, column or class;
- :func:`exact_labels` for many labels of a caller, :func:`checked_classes` for the different ones among them;
- :func:`joined_classes` where classes meet others.
"""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

EXACT = 2.0**53  # from here on a float64 skips whole numbers
NUL = "\0"


def wrong_with_text(text: str) -> str | None:
    r"""Say why a text can be neither a label nor a name; None where it can.

    >>> wrong_with_text("spam"), wrong_with_text("spam\0")
    (None, 'contains a NUL character: remove it')
    >>> wrong_with_text("\ud800")
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
    r"""Return the name of a feature, a column or a class; ValueError where it has a NUL or half a surrogate pair.

    >>> checked_name("wind")
    'wind'
    >>> checked_name("wi\0nd", "column")
    Traceback (most recent call last):
    ValueError: the column 'wi\x00nd' contains a NUL character: remove it
    """
    reason = wrong_with_text(name)
    if reason is not None:
        raise ValueError(f"the {what} {_shown(name)} {reason}")
    return name


def check_names(names: Iterable[str], what: str = "name") -> None:
    """Check many names at once, each as :func:`checked_name` does."""
    names = list(names)
    if wrong_with_text("".join(names)) is not None:
        for name in names:
            checked_name(name, what)


def checked_label(label: Any, name: str = "y") -> Any:
    r"""Return one label as Python's bool, int, float, str or bytes; ValueError where it could be mistaken for another.

    >>> checked_label("spam"), checked_label(np.int64(3)), checked_label(True)
    ('spam', 3, True)
    >>> checked_label("a\0")
    Traceback (most recent call last):
    ValueError: y has the label 'a\x00', which contains a NUL character: remove it
    """
    if isinstance(label, np.generic):
        label = label.item()
    reason = _wrong_with(label)
    if reason is not None:
        raise ValueError(f"{name} has the label {_shown(label)}, {reason}")
    return label


def _wrong_with(label: Any) -> str | None:
    """Say why a label cannot be kept apart from others; None where it can."""
    if isinstance(label, str | bytes):
        text = label if isinstance(label, str) else label.decode("latin-1")
        reason = wrong_with_text(text)
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
    r"""Return labels as an array whose elements equal them; ValueError where NumPy's array would not.

    An array of one type is returned as it is.

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
    listed = next(
        (getattr(y, way) for way in ("to_pylist", "to_list", "tolist") if hasattr(y, way)), lambda: list(y)
    )
    written = listed()
    if labels.dtype.kind == "O":
        _refuse_mixture(written, name)
        return labels
    if labels.tolist() != written:  # NaN is not itself either, and is refused as a class
        for label, stored in zip(written, labels.tolist(), strict=True):
            if label != stored and label == label:  # noqa: PLR0124 (not NaN)
                _refuse_mixture(written, name)
                checked_label(label, name)
                raise ValueError(
                    f"{name} has the label {_shown(label)}, which NumPy takes for {_shown(stored)} among the others: "
                    "write all labels as text, or all as integers"
                )
    return labels


def exact_if_listed(y: Any, name: str = "y") -> Any:
    """Return a list, a tuple or a column of a frame as :func:`exact_labels` does, anything else as it comes.

    For what is checked elsewhere, by scikit-learn for example, which makes arrays of lists without looking.
    """
    known = isinstance(y, list | tuple) or str(getattr(y, "dtype", "")) == "object"
    return exact_labels(y, name) if known or hasattr(y, "to_list") or hasattr(y, "to_pylist") else y


def _refuse_mixture(labels: list[Any], name: str) -> None:
    """Refuse numbers among text: ``1`` and ``"1"`` are different labels. Say first where one is missing."""
    text = [isinstance(label, str) for label in labels]
    if any(text) and not all(text):
        for row, label in enumerate(labels):
            if is_missing(label):
                raise ValueError(f"{name} has no label in row {row}: drop the row, or name its class")
        one, other = labels[text.index(True)], labels[text.index(False)]
        raise ValueError(
            f"{name} has the labels {_shown(one)} and {_shown(other)}: expected all text, or all numbers"
        )


def is_missing(label: Any) -> bool:
    """Return whether a label stands for no label: None, NaN, or what data frames write for them."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)  # noqa: PLR0124 (nan)


def checked_classes(classes: NDArray[Any], name: str = "y") -> NDArray[Any]:
    """Return the different labels of an array; ValueError where one could be mistaken for another.

    >>> checked_classes(np.array([0.0, 2.0**53]))
    Traceback (most recent call last):
    ValueError: y has the label 9007199254740992.0, beyond 2^53, where float64 merges neighbours: ...
    """
    if classes.dtype.kind == "f":
        wrong = ~(np.abs(classes) < EXACT)
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
    """Return the sorted union of classes; ValueError where their common type holds one of them only rounded.

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


def _shown(label: Any) -> str:
    try:
        text = repr(label)
    except ValueError:  # more digits than Python writes
        return "an integer of thousands of digits"
    return text if len(text) <= 60 else text[:60] + "..."


class TargetValues:
    """The first different values of a numeric target, enough to tell classes from measurements.

    >>> target = TargetValues()
    >>> target.update(np.arange(1000) / 8)
    >>> target.kind
    'numeric'
    """

    MOST = 50  # different integers that may still be classes, whatever the number of rows

    def __init__(self) -> None:
        self.rows = 0
        self._values: NDArray[np.float64] = np.empty(0)

    def update(self, y: NDArray[Any] | None) -> None:
        """Add labels; text and missing ones say nothing."""
        if y is None or y.dtype.kind not in "iuf":
            return
        self.rows += y.size
        if self._values.size <= self.MOST:
            new = y if not self._values.size else y[~np.isin(y, self._values)]
            if new.size:
                self._values = np.union1d(self._values, new.astype(np.float64))

    @property
    def kind(self) -> Literal["classes", "numeric"]:
        """``"numeric"`` for many different numbers: above 10 where some are fractions, above 50 integers.

        Above 20 integers suffice where there are fewer than ten rows for each.
        """
        count = self._values.size
        if (self._values != np.rint(self._values)).any():
            return "numeric" if count > 10 else "classes"
        return "numeric" if count > self.MOST or (count > 20 and 10 * count >= self.rows) else "classes"
