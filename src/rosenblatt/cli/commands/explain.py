"""``rosenblatt explain``: why one row got its score, feature by feature."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.commands.info import feature_names
from rosenblatt.cli.commands.predict import known_hypothesis
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.output import listed
from rosenblatt.cli.reading import Rows, read_for, read_options
from rosenblatt.learner.models import load

if TYPE_CHECKING:
    from rosenblatt.learner.explain import Explanation
    from rosenblatt.streams.names import NameSketch


def explain(
    model: opt.ModelFile,
    source: opt.Source,
    row: Annotated[
        int | None, typer.Option("--row", metavar="N", min=1, help="The row to explain, counted from 1.")
    ] = None,
    line: Annotated[
        int | None, typer.Option("--line", metavar="N", min=1, help="The same by its line in the file.")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="The class to speak for.", show_default="the winner")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="The class to speak against.", show_default="none")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many features to show.")] = 20,
    hypothesis: opt.Hypothesis = None,
    target: opt.ModelTarget = None,
    format: opt.InputFormat = None,
    zero_based: opt.ZeroBased = None,
    skip_bad: opt.SkipBad = False,
    json: opt.AsJson = False,
) -> None:
    """Say which features pushed one row which way.

    \b
    Examples:
      rosenblatt explain m.safetensors data.csv --row 17
      rosenblatt explain m.safetensors mail.tsv --line 204 --top 8
      rosenblatt explain m.safetensors digits.svm --row 3 --label 8 --against 3
    """
    if (row is None) == (line is None):
        refuse("which row? give --row N, counted from 1, or --line N of the file")
    trained = load(model)
    chosen = known_hypothesis(trained, model, hypothesis)
    if chosen == "voted":
        refuse("a vote has no weights to explain by: choose another with --hypothesis, as in averaged")
    names = feature_names(trained)
    sketch = _sketch(trained)
    rows = read_for(
        trained,
        source,
        read_options(target=target, format=format, zero_based=zero_based, skip_bad=skip_bad),
        sketch,
    )
    if sketch is not None:  # what the source calls its features, else what training called them
        heard = [sketch.name(place) for place in range(trained.n_features)]
        names = [old if new.startswith("#") else new for old, new in zip(names, heard, strict=True)]
    at = _place(rows, row, line)
    told = _told(trained, chosen, rows, at, label, against, names)
    if json:
        from rosenblatt.cli.output import print_json

        print_json(told)
    else:
        _show(told, top)


def _sketch(trained: Any) -> "NameSketch | None":
    """Return what hears the names of a source, where the model hashes them."""
    if not (trained.about.get("schema") or {}).get("bits"):
        return None
    from rosenblatt.streams.names import NameSketch

    return NameSketch()


def _place(rows: Rows, row: int | None, line: int | None) -> int:
    """Return the index of the row that is asked for."""
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


def _told(
    trained: Any,
    hypothesis: str,
    rows: Rows,
    at: int,
    label: str | None,
    against: str | None,
    feature_names: list[str],
) -> dict[str, Any]:
    from rosenblatt.learner.explain import explain_row
    from rosenblatt.learner.scoring import decided

    x = rows.X[at : at + 1]
    scores = trained.scores(x, hypothesis)
    if trained.classes is None:
        if label is not None or against is not None:
            refuse("the model predicts a number: it has no classes for --label and --against")
        told = explain_row(trained.weights(hypothesis), x, None, feature_names)
        return {**_as_json(told, rows, at, hypothesis, float(scores[0])), "for": None}
    names = {str(name): name for name in trained.classes.tolist()}
    for given in (label, against):
        if given is not None and given not in names:
            refuse(f"{given!r} is not a class of the model: {', '.join(names)}")
    winner = decided(scores, trained.classes)[0]
    speaking = names[label] if label is not None else winner
    against_class = names[against] if against is not None else None
    if len(names) == 2 and against_class is None:
        against_class = next(name for name in names.values() if name != speaking)
    told = explain_row(
        trained.weights(hypothesis),
        x,
        trained.classes,
        feature_names,
        label=speaking,
        against=against_class,
    )
    return _as_json(told, rows, at, hypothesis, winner)


def _as_json(told: "Explanation", rows: Rows, at: int, hypothesis: str, predicted: Any) -> dict[str, Any]:
    return {
        "source": rows.source,
        "row": at + 1,
        "line": rows.where(at),
        "truth": None if rows.y is None else str(rows.y[at]),
        "predicted": str(predicted),
        "hypothesis": hypothesis,
        "for": str(told.label),
        "against": None if told.against is None else str(told.against),
        "score": told.score,
        "parts": [part._asdict() for part in told.parts],
    }


def _show(told: dict[str, Any], top: int) -> None:
    from rich.text import Text

    from rosenblatt.cli.output import MISTAKE, RIGHT, columns, facts, number, show, title

    number_told = told["for"] is None
    wrong = not number_told and told["truth"] is not None and told["truth"] != told["predicted"]
    verdict = Text(told["predicted"], style=MISTAKE if wrong else "bold")
    if told["truth"] is not None and number_told:
        verdict.append(f", and it is {told['truth']}", style="dim")
    elif told["truth"] is not None:
        verdict.append(f", but it is {told['truth']}" if wrong else ", and it is", style="dim")
    side = "a number" if number_told else told["for"]
    side += f" against {told['against']}" if told["against"] else ""
    rows = [
        ("row", f"{told['row']:,} (line {told['line']})"),
        ("predicted", verdict),
        ("score", f"{number(told['score'])} for {side}, by the {told['hypothesis']} hypothesis"),
    ]
    table = columns("feature", "pushes", "value", "weight")
    for part in told["parts"][:top]:
        push = Text(f"{part['contribution']:+.4g}", style=RIGHT if part["contribution"] > 0 else MISTAKE)
        table.add_row(Text(part["feature"]), push, number(part["value"]), number(part["weight"]))
    rest = told["parts"][top:]
    if rest:
        total = sum(part["contribution"] for part in rest)
        table.add_row(Text(f"{len(rest):,} more", style="dim"), f"{total:+.4g}", "", "")
    show(title(told["source"]), facts(rows), "", table)
