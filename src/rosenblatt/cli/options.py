"""Arguments and options that several commands share, so that they are called and explained the same everywhere."""

from typing import Annotated, Literal

import typer

STANDARD_INPUT = "-"  # as in rosenblatt.data.source, which a command loads only when it reads
HypothesisName = Literal["last", "averaged", "voted", "survivor", "pocket", "random"]

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A file (LIBSVM, CSV, Parquet, JSON lines and others), - for standard input, or sample:NAME.",
    ),
]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file, as fit or Perceptron.save write it.")
]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="NAME", help="Target column of a CSV file.", show_default="the last"),
]
ModelTarget = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="NAME", help="Target column of a CSV file.", show_default="as in training"
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        "--input-format",
        metavar="FORMAT",
        help="Format of the input: libsvm, csv, tsv and others.",
        show_default="by name, then content",
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Where LIBSVM indices begin.",
        show_default="seen from the first lines",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a CSV file names its columns.",
        show_default="seen from the first lines",
    ),
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="NAME",
        help="A column that is text, to become words.",
        show_default="those like prose",
    ),
]
Scale = Annotated[
    bool, typer.Option("--scale", help="Bring numeric columns of a CSV file to mean 0 and deviation 1.")
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Pass over bad lines, count them and list them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Hypothesis = Annotated[
    HypothesisName | None,
    typer.Option("--hypothesis", help="What predicts.", show_default="as the model was saved"),
]
Report = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE", help="Write one HTML page with tables and pictures here."),
]
NoIntercept = Annotated[
    bool, typer.Option("--no-intercept", help="Boundaries pass through the origin: learn no bias.")
]
ProofOutput = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the proof here as JSON, for verify."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="SECONDS", min=0, help="Give up after so long.", show_default="never"
    ),
]
Constraints = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="The matrix A: CSV with the names of the variables, or LIBSVM text."
    ),
]
