"""What every answer is: a statement about data that checks itself and travels as JSON."""

import json
import os
import re
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

FORMAT = "rosenblatt-proof"
VERSION = 1
_RATIONAL = re.compile(r"-?[0-9]+(/[1-9][0-9]*)?")


@dataclass(frozen=True)
class Proof:
    """A statement about examples ``(X, y)``; ``verify`` decides it in exact arithmetic."""

    classes: tuple[Any, ...]  # sorted labels; of two, the second is +1
    fit_intercept: bool
    n_rows: int
    n_features: int

    _kinds: ClassVar[dict[str, type["Proof"]]] = {}

    def __init_subclass__(cls) -> None:
        Proof._kinds[cls.__name__] = cls

    def verify(self, X: Any, y: Any = None) -> bool:
        """Check every claim against the data with the independent verifier; no float is trusted."""
        return self.why_not(X, y) is None

    def why_not(self, X: Any, y: Any = None) -> str | None:
        """Return the first claim that fails on the data, or None when all hold."""
        from rosenblatt.proofs.verify import first_failure

        return first_failure(self, X, y)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the proof as JSON, and write it to ``path`` (beside, then renamed) where one is given."""
        content: dict[str, Any] = {"format": FORMAT, "version": VERSION, "answer": type(self).__name__}
        for each in fields(self):
            value = getattr(self, each.name)
            content[each.name] = _pack_labels(value) if each.name == "classes" else _pack(value)
        text = json.dumps(content, indent=1)
        if path is not None:
            beside = Path(f"{os.fspath(path)}.part")
            with beside.open("w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        return text


def from_json(source: str | os.PathLike[str]) -> Proof:
    """Read a proof from a file, or from JSON text; nothing in it is believed until it is verified.

    >>> from rosenblatt.proofs import separability
    >>> proof = separability([[0.0], [1.0]], ["no", "yes"])
    >>> from_json(proof.to_json()) == proof
    True
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    name = "the proof" if is_text else os.fspath(source)
    text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name} is not complete JSON ({error}); write it again with to_json") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{name} is not a rosenblatt proof; expected an object with format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise ValueError(f"{name} has version {content.get('version')!r}; this version reads {VERSION}")
    from rosenblatt.proofs import cone_answers, inseparable, separable  # noqa: F401 (each makes its answers known)

    cls = Proof._kinds.get(str(content.get("answer")))
    if cls is None:
        raise ValueError(f"{name} holds an unknown answer {content.get('answer')!r}")
    values: dict[str, Any] = {}
    for each in fields(cls):
        if each.name not in content:
            raise ValueError(f"{name} lacks {each.name!r}; it is incomplete")
        raw = content[each.name]
        try:
            values[each.name] = _unpack_labels(raw) if each.name == "classes" else _unpack(raw)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{name}: {each.name!r} cannot be read ({error})") from error
    return cls(**values)


def _pack(value: Any) -> Any:
    """Write rationals as "p/q" and floats as exact hexadecimal."""
    if isinstance(value, Fraction):
        import flint

        return str(flint.fmpq(value.numerator, value.denominator))  # str(int) has a length limit
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, tuple):
        return [_pack(each) for each in value]
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, str):
        if not _RATIONAL.fullmatch(value):
            raise ValueError(f"{value[:40]!r} is not a rational p/q")
        import flint

        numerator, _, denominator = value.partition("/")
        return Fraction(int(flint.fmpz(numerator)), int(flint.fmpz(denominator or "1")))
    if isinstance(value, dict):
        return float.fromhex(value["float"])
    if isinstance(value, list):
        return tuple(_unpack(each) for each in value)
    return value


def _pack_labels(labels: tuple[Any, ...]) -> list[Any]:
    return [_pack(label) if isinstance(label, float) else label for label in labels]


def _unpack_labels(labels: Any) -> tuple[Any, ...]:
    if not isinstance(labels, list):
        raise TypeError("labels must be a list")
    return tuple(_unpack(label) if isinstance(label, dict) else label for label in labels)


def as_labels(classes: Any) -> tuple[Any, ...]:
    """Turn numpy labels into plain ones that JSON can hold."""
    return tuple(label.item() if isinstance(label, np.generic) else label for label in classes)


def rational(value: Fraction) -> str:
    """Write a rational as people read it: short ones as they are, long ones rounded.

    >>> rational(Fraction(1, 4)), rational(Fraction(10**30, 3 * 10**30 + 1))
    ('1/4', '0.333333')
    """
    short = value.denominator < 10**6 and abs(value.numerator) < 10**9
    return str(value) if short else f"{float(value):.6g}"


def listed(items: Any, limit: int = 8) -> str:
    """Write a list as a sentence does.

    >>> listed([1, 2, 3]), listed([7])
    ('1, 2 and 3', '7')
    """
    words = [str(item) for item in items]
    if len(words) > limit:
        return f"{', '.join(words[:limit])} and {len(words) - limit} more"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
