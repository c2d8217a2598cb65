"""Arguments and options that several commands share, so that they are called and explained the same everywhere."""

from typing import Annotated, Literal

import typer

Format = Literal["libsvm", "csv", "tsv"]
HypothesisName = Literal["last", "averaged", "voted", "survivor", "pocket", "random"]

Source = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="LIBSVM text, CSV with a header, either as gzip, or sample:NAME."),
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
    Format | None,
    typer.Option(
        "--format", "--input-format", help="Format of the input.", show_default="by name, then content"
    ),
]
ZeroBased = Annotated[bool, typer.Option("--zero-based", help="LIBSVM indices count from 0.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Pass over bad lines, count them and list them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Hypothesis = Annotated[
    HypothesisName | None,
    typer.Option("--hypothesis", help="What predicts.", show_default="as the model was saved"),
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
