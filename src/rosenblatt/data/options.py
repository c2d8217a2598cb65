"""Options for reading a source: one object, from the flags to the reader."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, cast, get_args

from rosenblatt.data.words import Weighting, Words

Missing = Literal["indicator", "mean", "median", "refuse", "drop"]
MISSING_POLICIES: tuple[Missing, ...] = get_args(Missing)
NAME_LISTS = ("drop", "numeric", "category", "text", "date", "id")


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a source; an option that is not set is inferred from the source.

    Attributes
    ----------
    target : column, field or header of the label; by default the last column (the first, if the last is text), a field
        or header with a usual name, else the name of the mailbox or folder
    format : one of ``FORMATS``; by default inferred from the file name, then from the content
    header : whether the first line of delimited text has the names of the columns
    separator : the separator of delimited text
    decimal : ``"."`` or ``","``: the decimal mark of numbers in text
    encoding : name of a Python codec; UTF-8 by default, UTF-16 and Latin-1 inferred from the first bytes
    comment : prefix of lines of delimited text that are ignored
    drop, numeric, category, text, date, id : names of columns with this kind, whatever their values look like;
        columns in ``drop`` and ``id`` are not used
    missing : ``"indicator"`` (the mean of the training data, and an indicator feature), ``"mean"``, ``"median"``,
        ``"refuse"`` or ``"drop"`` (the row)
    exact : use numbers as written: fill in, convert or drop nothing unless an option says so
    words : weighting of words, or :class:`Words`: ``"tfidf"`` (rows of unit length; the default), ``"counts"`` or
        ``"binary"``
    scale : standardize numeric columns
    zero_based : whether LIBSVM indices begin at 0
    hash_bits : hash named features into ``2**hash_bits``; 0: no hashing
    labels : whether to read labels; without them, lines need none
    classes : labels name classes: a float of 2⁵³ or more, where float64 merges neighbours, is an error
    grow : with a schema, add new features
    at_once : read a table in one pass, as a stream
    tight : save memory at the cost of time
    skip_bad : skip invalid lines and list them in ``skipped``, instead of raising at the first
    skip_share : the largest share of lines that ``skip_bad`` may skip

    Examples
    --------
    >>> ReadOptions(target="Play", drop="id").drop
    ('id',)
    """

    target: str | None = None
    format: str | None = None
    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    comment: str | None = None
    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    missing: Missing = "indicator"
    exact: bool = False
    words: Words = field(default_factory=lambda: Words(weighting="tfidf"))
    scale: bool = False
    zero_based: bool | None = None
    hash_bits: int = 0
    labels: bool = True
    classes: bool = False
    grow: bool = False
    at_once: bool = False
    tight: bool = False
    skip_bad: bool = False
    skip_share: float = 0.2

    def __post_init__(self) -> None:
        words: Any = self.words
        if isinstance(words, str):  # the weighting alone
            object.__setattr__(self, "words", Words(weighting=cast(Weighting, words)))
        self.words.check()
        kind_of: dict[str, str] = {}
        for kind in NAME_LISTS:
            names = getattr(self, kind) or ()
            names = (names,) if isinstance(names, str) else tuple(names)
            object.__setattr__(self, kind, names)
            for name in names:
                if kind_of.setdefault(name, kind) != kind:
                    raise ValueError(
                        f"column {name!r} is named by both --{kind_of[name]} and --{kind}: keep one"
                    )
        if self.missing not in MISSING_POLICIES:
            raise ValueError(f"missing is {self.missing!r}: expected one of {', '.join(MISSING_POLICIES)}")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal is {self.decimal!r}: expected '.' or ','")
        if not 0.0 <= self.skip_share <= 1.0:
            raise ValueError(f"skip_share is {self.skip_share}: expected a share between 0 and 1")
        _check_separator(self.separator, self.decimal)
        if self.encoding is not None:
            _check_encoding(self.encoding)
        if self.comment is not None and (not self.comment or set("\r\n") & set(self.comment)):
            raise ValueError(f"comment is {self.comment!r}: expected the prefix of such lines, as in '#'")

    def changed(self, **changes: Any) -> "ReadOptions":
        """Return these options with some of them replaced."""
        unknown = changes.keys() - {each.name for each in fields(self)}
        if unknown:
            raise TypeError(f"no option of reading is called {sorted(unknown)[0]!r}")
        return replace(self, **changes)

    def weighted_words(self, any_text: bool) -> Words:
        """Return the options for words; replace tf-idf by binary with ``exact``, with hashing and without texts.

        >>> ReadOptions(hash_bits=18).weighted_words(any_text=True).weighting
        'binary'
        """
        if self.words.weighting == "tfidf" and (
            self.exact or self.hash_bits or self.words.buckets or not any_text
        ):
            return self.words._replace(weighting="binary")
        return self.words

    def to_dict(self) -> Mapping[str, Any]:
        """Return the options as plain values, for the key of a cache."""
        return asdict(self)


def _check_separator(separator: str | None, decimal: str | None) -> None:
    if separator is None:
        return
    if len(separator) != 1 or not separator.isascii() or separator in '\r\n"' or separator.isalnum():
        raise ValueError(f"separator is {separator!r}: expected one character, as in ';' or '|'")
    if separator == decimal:
        raise ValueError(f"{separator!r} cannot be both the separator and the decimal mark")


def _check_encoding(encoding: str) -> None:
    try:
        "a".encode(encoding)
    except LookupError:
        raise ValueError(f"encoding is {encoding!r}: expected one that Python knows, as in latin-1") from None
