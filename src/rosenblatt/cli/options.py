"""Arguments and options that several commands share, so that each has one name, one meaning and one explanation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rosenblatt.cli.flags import flag

if TYPE_CHECKING:
    from rosenblatt.data.options import ReadOptions

STANDARD_INPUT = "-"  # as in rosenblatt.data.source, which a command loads only when it reads
HypothesisName = Literal["last", "averaged", "voted", "survivor", "pocket", "random"]
# The names of rosenblatt.rules.BY_NAME, written out so that --help need not import numpy; a test compares them.
RULES = (
    "rosenblatt",
    "margin",
    "norma",
    "passive-aggressive",
    "passive-aggressive-squared",
    "paum",
    "romma",
    "alma",
    "arow",
    "pegasos",
    "logistic",
    "nag",
    "nag-logistic",
    "scinol",
    "scinol-hinge",
    "widrow-hoff",
)
DATA, COLUMNS, OUTPUT = "Data", "Columns", "Output"

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A file (LIBSVM, CSV, Parquet, JSON lines and others), - for standard input, or sample:NAME.",
    ),
]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file, written by fit or Perceptron.save.")
]
Constraints = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="The matrix A: CSV with the names of the variables, or LIBSVM text."
    ),
]
AsJson = Annotated[bool, flag("--json", group=OUTPUT, help="Print JSON instead of a table.")]
Hypothesis = Annotated[
    HypothesisName | None,
    flag("--hypothesis", help="The hypothesis that predicts.", show_default="as the model was saved"),
]
Report = Annotated[
    str | None,
    flag("--report", group=OUTPUT, metavar="FILE", help="Write one HTML page with tables and pictures here."),
]
NoIntercept = Annotated[
    bool, flag("--no-intercept", help="Learn no bias: boundaries pass through the origin.")
]
Output = Annotated[
    str | None,
    flag(
        "--output", "-o", group=OUTPUT, metavar="FILE", help="File to write; it is replaced only when it is complete.",
        show_default="standard output",
    ),
]  # fmt: skip
OutputArgument = Annotated[
    str | None, typer.Argument(metavar="OUT", help="The file to write; the same as --output.")
]
RequiredOutput = Annotated[
    str | None,
    flag(
        "--output",
        "-o",
        group=OUTPUT,
        metavar="FILE",
        help="File to write; it is replaced only when it is complete.",
    ),
]
ProofOutput = Annotated[
    str | None,
    flag("--output", "-o", group=OUTPUT, metavar="FILE", help="Write the proof here as JSON, for verify."),
]
TimeLimit = Annotated[
    float | None,
    flag(
        "--time-limit", metavar="SECONDS", min=0, help="Stop undecided after this long.", show_default="never"
    ),
]
HashBits = Annotated[
    int | None,
    flag(
        "--hash-bits",
        group=DATA,
        metavar="N",
        help="Hash names into 2^N features; 0 keeps every name.",
        show_default="0",
    ),
]

Target = Annotated[
    str | None,
    flag(
        "--target", group=DATA, metavar="NAME", help="Column that holds the label.", show_default="the last"
    ),
]
ModelTarget = Annotated[
    str | None,
    flag(
        "--target", group=DATA, metavar="NAME", help="Column that holds the label.",
        show_default="as in training",
    ),
]  # fmt: skip
Format = Annotated[
    str | None,
    flag(
        "--format",
        group=DATA,
        metavar="FORMAT",
        help="Format of the input: libsvm, csv, tsv, parquet, arrow, jsonl, vw, mbox, maildir or folders.",
        show_default="by name, then content",
    ),
]
Header = Annotated[
    bool | None,
    flag(
        "--header/--no-header",
        group=DATA,
        rare=True,
        help="Whether the first line of a CSV file names its columns.",
        show_default="by the first lines",
    ),
]
Separator = Annotated[
    str | None,
    flag(
        "--sep", group=DATA, metavar="CHAR", help="Character between the cells of a CSV file.",
        show_default="by the first lines",
    ),
]  # fmt: skip
Decimal = Annotated[
    str | None,
    flag(
        "--decimal", group=DATA, rare=True, metavar="CHAR", help="Decimal mark of numbers, . or ,",
        show_default="by the values",
    ),
]  # fmt: skip
Encoding = Annotated[
    str | None,
    flag(
        "--encoding", group=DATA, rare=True, metavar="NAME", help="Encoding of text, such as latin-1.",
        show_default="UTF-8, or by the first bytes",
    ),
]  # fmt: skip
Comment = Annotated[
    str | None,
    flag(
        "--comment", group=DATA, rare=True, metavar="TEXT",
        help="Skip lines of a CSV file that begin with this.",
    ),
]  # fmt: skip
ZeroBased = Annotated[
    bool | None,
    flag(
        "--zero-based/--one-based",
        group=DATA,
        rare=True,
        help="Where LIBSVM indices begin.",
        show_default="at the smallest index",
    ),
]
SkipBad = Annotated[bool, flag("--skip-bad", group=DATA, help="Skip malformed lines; count and list them.")]
SkipShare = Annotated[
    float | None,
    flag(
        "--skip-share",
        group=DATA,
        rare=True,
        metavar="SHARE",
        help="With --skip-bad, stop when more than this share of the lines is malformed.",
        show_default="0.2",
    ),
]
MissingPolicy = Literal["indicator", "mean", "median", "refuse", "drop"]


def _column(name: str, help: str) -> Any:
    return flag(name, group=COLUMNS, metavar="NAME", help=help)


Drop = Annotated[
    list[str] | None,
    flag("--drop", group=COLUMNS, metavar="NAME", help="Leave this column out; may be repeated."),
]
Numeric = Annotated[
    list[str] | None, _column("--numeric", "Read this column as numbers; any other cell is an error.")
]
Category = Annotated[
    list[str] | None, _column("--category", "Read this column as categories, even if its values are numbers.")
]
Text = Annotated[list[str] | None, _column("--text", "Read this column as text, split into words.")]
Date = Annotated[list[str] | None, _column("--date", "Read this column as dates or times.")]
Id = Annotated[list[str] | None, _column("--id", "Leave this column out: it holds identifiers.")]
MissingFlag = Annotated[
    MissingPolicy | None,
    flag(
        "--missing",
        group=COLUMNS,
        help="Replace a missing number by the mean and an indicator, the mean, or the median; refuse; or drop the row.",
        show_default="indicator",
    ),
]
WordsFlag = Annotated[
    Literal["tfidf", "counts", "binary"] | None,
    flag(
        "--words",
        group=COLUMNS,
        help="Values of words: tf-idf in rows of unit length, the number of occurrences, or 1.",
        show_default="tfidf",
    ),
]


class _Reading:
    """Flags that decide how a source is read."""

    def read_options(self, **more: Any) -> "ReadOptions":
        """Return them as the reader takes them; what is not given is decided by the source."""
        from dataclasses import asdict

        from rosenblatt.data.options import ReadOptions

        values = {**asdict(self), **more}  # type: ignore[call-overload]
        values["separator"] = _character(values.pop("sep", None))
        if values.get("skip_share") is not None:
            values["skip_bad"] = True
        return ReadOptions(**{name: value for name, value in values.items() if value not in (None, [])})


def _character(text: str | None) -> str | None:
    r"""Return a separator as the shell spells it: a tab may be written ``\t`` or ``tab``."""
    return "\t" if text in ("\\t", "tab") else text


@dataclass(frozen=True)
class _FileFlags(_Reading):
    """Options for reading a file of any kind."""

    format: Format = None
    header: Header = None
    sep: Separator = None
    decimal: Decimal = None
    encoding: Encoding = None
    comment: Comment = None
    zero_based: ZeroBased = None
    skip_bad: SkipBad = False
    skip_share: SkipShare = None


@dataclass(frozen=True)
class _TargetFlag(_Reading):
    target: Target = None


@dataclass(frozen=True)
class _ModelTargetFlag(_Reading):
    target: ModelTarget = None


@dataclass(frozen=True)
class _ColumnFlags(_Reading):
    """Options for the kinds of the columns of a table."""

    drop: Drop = None
    numeric: Numeric = None
    category: Category = None
    text: Text = None
    date: Date = None
    id: Id = None
    missing: MissingFlag = None
    words: WordsFlag = None


# The fields of a dataclass are those of its last base first: --target leads the help.


@dataclass(frozen=True)
class ModelDataFlags(_FileFlags, _ModelTargetFlag):
    """Options for reading a source for a model, whose schema says what its columns are."""


@dataclass(frozen=True)
class ConstraintFlags(_FileFlags):
    """Options for reading the rows of a cone program: numbers as they are written."""


@dataclass(frozen=True)
class StreamDataFlags(_ColumnFlags, _FileFlags, _TargetFlag):
    """Options for reading a stream line by line, and for the kinds of its columns."""


@dataclass(frozen=True)
class DataFlags(StreamDataFlags):
    """Options for reading a source to learn from it, and for the kinds of its columns."""

    scale: Annotated[
        bool | None,
        flag(
            "--scale/--no-scale",
            group=COLUMNS,
            help="Standardise numeric columns of a table: mean 0, standard deviation 1.",
            show_default="on for tables in fit and compare, else off",
        ),
    ] = None
