"""How well a model of numbers does: what ``evaluate`` says of a regression."""

from typing import TYPE_CHECKING, Any

from rosenblatt.cli.errors import refuse
from rosenblatt.cli.reading import Rows

if TYPE_CHECKING:
    from rosenblatt.learner.models import Model


def regression_report(model: "Model", chosen: str, rows: Rows) -> dict[str, Any]:
    """Return the errors of every hypothesis, as JSON holds them."""
    import numpy as np

    if rows.y.dtype.kind not in "iuf":
        refuse(
            f"{rows.source}: its target is not a number, as in {str(rows.y[0])!r}: the model predicts numbers"
        )
    y = rows.y.astype(np.float64)
    spread = float(((y - y.mean()) ** 2).mean())
    told = {}
    for name in model.hypotheses():
        wrong = model.scores(rows.X, name) - y
        squared = float((wrong**2).mean())
        told[name] = {
            "mean_squared_error": squared,
            "mean_absolute_error": float(np.abs(wrong).mean()),
            "r2": 1.0 - squared / spread if spread else None,
        }
    return {**rows.about(), "hypothesis": chosen, **told[chosen], "hypotheses": told}


def show_regression(report: dict[str, Any]) -> None:
    """Draw the report."""
    from rich.text import Text

    from rosenblatt.cli.output import columns, facts, number, show, title

    summary = [
        ("model", report["model"]),
        ("rows", f"{report['rows']:,}"),
        ("R²", f"{number(report['r2'])} ({report['hypothesis']})"),
    ]
    table = columns("hypothesis", "mean squared error", "mean absolute error", "R²", "")
    table.columns[-1].justify = "left"
    for name, each in report["hypotheses"].items():
        predicts = name == report["hypothesis"]
        cells = [number(each[key]) for key in ("mean_squared_error", "mean_absolute_error", "r2")]
        style = "bold" if predicts else ""
        table.add_row(
            *(Text(cell, style=style) for cell in (name, *cells)),
            Text("predicts" if predicts else "", style="dim"),
        )
    show(title(report["source"]), facts(summary), "", table)
