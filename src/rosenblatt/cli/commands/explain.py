"""``rosenblatt explain``: why one row got its score, feature by feature."""

from typing import TYPE_CHECKING, Annotated, Any

from rosenblatt.cli import options as opt
from rosenblatt.cli.commands.info import feature_names
from rosenblatt.cli.commands.predict import known_hypothesis
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.flags import flag
from rosenblatt.cli.output import listed
from rosenblatt.cli.reading import Rows, read_for, scaling_of
from rosenblatt.learner.models import load
from rosenblatt.learner.models.options import is_scaled

if TYPE_CHECKING:
    from rosenblatt.data.tables.preprocess import Preprocessing
    from rosenblatt.learner.explain import Explanation
    from rosenblatt.streams.names import NameSketch

OWN_UNITS = "of the columns"  # what values and weights are shown in, as JSON says it
STANDARDISED = "of standardised columns"  # of a quadratic map, whose products mix the columns
AS_READ = "as read"


def explain(
    model: opt.ModelFile,
    source: opt.Source,
    data: opt.ModelDataFlags,
    row: Annotated[
        int | None, flag("--row", metavar="N", min=1, help="The row to explain, counted from 1.")
    ] = None,
    line: Annotated[
        int | None,
        flag("--line", metavar="N", min=1, help="The row on this line of the file, counted from 1."),
    ] = None,
    label: Annotated[
        str | None, flag("--label", help="The class whose score is explained.", show_default="the winner")
    ] = None,
    against: Annotated[
        str | None, flag("--against", help="The class whose score is subtracted.", show_default="none")
    ] = None,
    top: Annotated[int, flag("--top", min=1, help="How many features to show.")] = 20,
    hypothesis: opt.Hypothesis = None,
    json: opt.AsJson = False,
) -> None:
    """Show what each feature adds to the score of a row.

    \b
    Examples:
      rosenblatt explain m.safetensors data.csv --row 17
      rosenblatt explain m.safetensors mail.tsv --line 204 --top 8
      rosenblatt explain m.safetensors digits.svm --row 3 --label 8 --against 3

    A feature adds its weight times its value to the score; these pushes sum exactly to the score. If columns were
    standardised, values and weights are in the units of the table, and features are sorted by the distance from an
    average row: weight × (value − mean).
    """
    if (row is None) == (line is None):
        refuse("which row? give --row N, counted from 1, or --line N of the file")
    trained = load(model)
    chosen = known_hypothesis(trained, model, hypothesis)
    if chosen == "voted":
        refuse("a vote has no weights to explain by: choose another with --hypothesis, as in averaged")
    names = feature_names(trained)
    sketch = _sketch(trained)
    scaling = scaling_of(trained)
    rows = read_for(trained, source, data.read_options(), sketch, prepared=scaling is None)
    if sketch is not None:  # what the source calls its features, else what training called them
        own = [sketch.name(place) for place in range(trained.n_features)]
        names = [old if new.startswith("#") else new for old, new in zip(names, own, strict=True)]
    at = _place(rows, row, line)
    explanation = _explanation(trained, chosen, rows, at, label, against, names, scaling)
    if json:
        from rosenblatt.cli.output import print_json

        print_json(explanation)
    else:
        _show(explanation, top)


def _sketch(trained: Any) -> "NameSketch | None":
    """Return what hears the names of a source, where the model hashes them."""
    if not (trained.about.get("schema") or {}).get("bits"):
        return None
    from rosenblatt.streams.names import NameSketch

    return NameSketch()


def _place(rows: Rows, row: int | None, line: int | None) -> int:
    """Return the index of the row to explain."""
    import numpy as np

    if row is not None:
        if row > rows.lines.size:
            refuse(f"{rows.source}: has {rows.lines.size:,} rows, so no row {row:,}")
        return row - 1
    matches = np.flatnonzero(rows.lines == line).tolist()
    if not matches:
        refuse(f"{rows.source}: line {line:,} holds no row")
    if len(matches) > 1:
        places = listed([f"{rows.where(match)} is row {match + 1:,}" for match in matches])
        refuse(
            f"line {line:,} holds a row in {len(matches):,} files: name one of them, or give --row N ({places})"
        )
    return int(matches[0])


def _explanation(
    trained: Any,
    hypothesis: str,
    rows: Rows,
    at: int,
    label: str | None,
    against: str | None,
    feature_names: list[str],
    scaling: "Preprocessing | None",
) -> dict[str, Any]:
    from rosenblatt.learner.explain import explain_row, in_own_units
    from rosenblatt.learner.scoring import decided

    x = rows.X[at : at + 1]
    weights, average = trained.weights(hypothesis), None
    if scaling is None:
        scores = trained.scores(x, hypothesis)
        x = getattr(trained, "mapped", lambda rows: rows)(x)
    else:
        scores = trained.scores(scaling.apply(x), hypothesis)
        weights, average = in_own_units(weights, scaling)
        x = scaling.unscaled.apply(x)
    if trained.classes is None:
        if label is not None or against is not None:
            refuse("the model predicts a number: it has no classes for --label and --against")
        explanation = explain_row(weights, x, None, feature_names, average=average)
        return {**_as_json(explanation, rows, at, hypothesis, float(scores[0])), "for": None}
    names = {str(name): name for name in trained.classes.tolist()}
    for name in (label, against):
        if name is not None and name not in names:
            refuse(f"{name!r} is not a class of the model: {', '.join(names)}")
    winner = decided(scores, trained.classes)[0]
    favoured = names[label] if label is not None else winner
    against_class = names[against] if against is not None else None
    if len(names) == 2 and against_class is None:
        against_class = next(name for name in names.values() if name != favoured)
    explanation = explain_row(
        weights,
        x,
        trained.classes,
        feature_names,
        label=favoured,
        against=against_class,
        average=average,
    )
    return _as_json(explanation, rows, at, hypothesis, winner)


def _is_scaled(explanation: "Explanation") -> bool:
    """Return whether a model of standardised columns is explained."""
    return any(part.from_average is not None for part in explanation.parts)


def _as_json(
    explanation: "Explanation", rows: Rows, at: int, hypothesis: str, predicted: Any
) -> dict[str, Any]:
    return {
        "source": rows.source,
        "row": at + 1,
        "line": rows.where(at),
        "truth": None if rows.y is None else str(rows.y[at]),
        "predicted": str(predicted),
        "hypothesis": hypothesis,
        "for": str(explanation.label),
        "against": None if explanation.against is None else str(explanation.against),
        "score": explanation.score,
        "units": OWN_UNITS
        if _is_scaled(explanation)
        else STANDARDISED
        if is_scaled(rows.schema)
        else AS_READ,
        "parts": [
            {name: value for name, value in part._asdict().items() if value is not None}
            for part in explanation.parts
        ],
    }


def _show(explanation: dict[str, Any], top: int) -> None:
    from rich.text import Text

    from rosenblatt.cli.output import MISTAKE, RIGHT, columns, facts, number, show, title

    is_number = explanation["for"] is None
    wrong = (
        not is_number
        and explanation["truth"] is not None
        and explanation["truth"] != explanation["predicted"]
    )
    verdict = Text(explanation["predicted"], style=MISTAKE if wrong else "bold")
    if explanation["truth"] is not None and is_number:
        verdict.append(f", and it is {explanation['truth']}", style="dim")
    elif explanation["truth"] is not None:
        truth = f", but it is {explanation['truth']}" if wrong else ", which is right"
        verdict.append(truth, style="dim")
    side = "a number" if is_number else explanation["for"]
    side += f" against {explanation['against']}" if explanation["against"] else ""
    rows = [
        ("row", f"{explanation['row']:,} (line {explanation['line']})"),
        ("predicted", verdict),
        (
            "score",
            f"{number(explanation['score'])} for {side}, by the {explanation['hypothesis']} hypothesis",
        ),
    ]
    scaled = explanation["units"] == OWN_UNITS
    if scaled:
        rows.append(("units", "as in the table; sorted by the distance from an average row"))
    elif explanation["units"] == STANDARDISED:
        rows.append(("units", "standard deviations from the mean of a column"))
    shown = ["contribution", *(["from_average"] if scaled else [])]
    table = columns("feature", "pushes", *(["from average"] if scaled else []), "value", "weight")
    for part in explanation["parts"][:top]:
        pushes = [Text(f"{part[name]:+.4g}", style=RIGHT if part[name] > 0 else MISTAKE) for name in shown]
        table.add_row(Text(part["feature"]), *pushes, number(part["value"]), number(part["weight"]))
    rest = explanation["parts"][top:]
    if rest:
        totals = [f"{sum(part[name] for part in rest):+.4g}" for name in shown]
        table.add_row(Text(f"{len(rest):,} more", style="dim"), *totals, "", "")
    show(title(explanation["source"]), facts(rows), "", table)
