"""The one report of ``fit``: in memory, out of core or on an engine, as a table for people and as JSON."""

import math
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rosenblatt.cli import output
from rosenblatt.cli.output import (
    MISTAKE,
    can_draw,
    columns,
    counted,
    facts,
    listed,
    number,
    seconds,
    share,
    sparkline,
)
from rosenblatt.learner.estimate import fraction, given_percent, percent, percent_span
from rosenblatt.learner.models.options import is_scaled

if TYPE_CHECKING:
    from rosenblatt.cli.fit.request import FitRequest
    from rosenblatt.data.schema import Schema
    from rosenblatt.learner.models import Model

MOST_CLASSES = 6
MOST_TRIED = 8  # of what --auto tried
MOST_COLUMNS = 40  # of a table that are listed one by one


class Stopwatch:
    """The seconds of every part of a fit. Compiling, which only the first run on a machine does, has its own."""

    def __init__(self) -> None:
        from rosenblatt.jit import compile_seconds

        self.seconds: dict[str, float] = {}
        self._compile_seconds = compile_seconds
        self._before = time.perf_counter()
        self._compiled = self._first_compiled = compile_seconds()

    def lap(self, part: str) -> None:
        """Count the time since the last call for this part."""
        now, compiled = time.perf_counter(), self._compile_seconds()
        self.seconds[part] = round(max(0.0, now - self._before - (compiled - self._compiled)), 6)
        self._before, self._compiled = now, compiled
        if compiled > self._first_compiled:
            self.seconds["compile"] = round(compiled - self._first_compiled, 6)


@dataclass
class Fitted:
    """A trained model and what is known of its training; every way to train returns one."""

    model: "Model"
    schema: "Schema"
    about: dict[str, Any]  # the source: its path, rows, skipped lines
    train: dict[str, dict[str, Any]]  # scores of every hypothesis on the rows learned from
    class_counts: dict[str, int | None] | None = None  # None: a regression
    columns: list[Any] = field(default_factory=list)  # how every column of a table was read
    test: dict[str, Any] | None = None  # the test source
    test_scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    interrupted: bool = False
    more: dict[str, Any] = field(default_factory=dict)  # of an engine, or of a fit out of core
    metadata: dict[str, Any] = field(default_factory=dict)  # for the model file


def save_model(request: "FitRequest", fitted: Fitted) -> None:
    """Write the model with the schema of its data, where a file is named."""
    if request.output.model is None:
        return
    learner = "real" if fitted.model.classes is None else request.training.learner
    about = {
        "learner": learner,
        "schema": fitted.schema.to_dict(),
        "feature_names": fitted.schema.feature_names,
        **fitted.metadata,
    }
    fitted.model.save(request.output.model, about, request.training.ledger == "save")


def report_of(request: "FitRequest", fitted: Fitted) -> dict[str, Any]:
    """Return the report as JSON holds it."""
    model = fitted.model
    score = "accuracy" if model.classes is not None else "error"
    scores = {"train": fitted.train, **({"test": fitted.test_scores} if fitted.test is not None else {})}
    report = {
        **fitted.about,
        **fitted.more,
        "interrupted": fitted.interrupted,
        "task": request.training.task,
        "features": model.n_features,
        "classes": fitted.class_counts,
        "columns": [_column(each, request) for each in fitted.columns],
        "scaled": is_scaled(fitted.schema),
        "learner": model.name,
        "hypothesis": model.hypothesis,
        **model.facts(),
        score: scores,
        "seconds": fitted.seconds,
    }
    if fitted.test is not None:
        report["test"] = fitted.test
    if request.output.model is not None:
        report["model"] = request.output.model
    return report


def _column(column: Any, request: "FitRequest") -> dict[str, Any]:
    """Return how a column was read; a regression needs no hint that its target holds numbers."""
    hint = {"note": ""} if column.kind == "target" and request.training.task == "regression" else {}
    return {**column._asdict(), **hint}


def show(report: dict[str, Any]) -> None:
    """Print the report as a table."""
    parts: list[Any] = [output.title(report["source"])]
    if report["columns"]:
        parts += [column_table(report["columns"]), ""]
    if "auto" in report:
        parts += [_tried(report["auto"]), "", facts(_choice_facts(report["auto"])), ""]
    parts.append(facts(_facts(report)))
    estimate = _estimate_facts(report)
    if estimate:
        parts += ["", facts(estimate)]
    scores = report.get("accuracy") or report.get("error") or {}
    if any(scores.values()):
        parts += ["", _hypotheses(report)]
    files: list[tuple[str, Any]] = [(name, report[name]) for name in ("model", "report") if name in report]
    if "trace" in report and report["trace"]["file"] != "-":
        trace = report["trace"]
        files.append(
            ("trace", f"{trace['file']}: {counted(trace['updates'], 'update')}, rows {trace['rows_counted']}")
        )
    if files:
        parts += ["", facts(files)]
    output.show(*parts)


def column_table(reports: list[dict[str, Any]], at_most: int = MOST_COLUMNS) -> Any:
    """Return a table of how each column was read; of many columns the first ones."""
    from rich.text import Text

    missing = any(each["missing"] for each in reports)
    table = columns("column", "read as", *(["missing"] if missing else []), "values", "features")
    for column in table.columns:
        column.justify = "right" if column.header == "missing" else "left"
        column.no_wrap = column.header != "features"
        column.overflow = "fold" if column.header == "features" else "ellipsis"
        column.max_width = {"column": 24, "values": 28}.get(str(column.header))
    for each in reports[:at_most]:
        left_out = not each["features"] and each["kind"] != "target"
        parts = [
            "left out" if left_out else f"{each['features']:,}" if each["features"] else "",
            each["note"],
        ]
        cells = [
            each["name"],
            each["kind"],
            *([f"{each['missing']:,}" if each["missing"] else ""] if missing else []),
            re.sub(r"^[\d,]+ values?: ", "", each["summary"]),
            "; ".join(part for part in parts if part),
        ]
        table.add_row(*(Text(cell, style="dim" if left_out else "") for cell in cells))
    if len(reports) > at_most:
        left_out = sum(not each["features"] and each["kind"] != "target" for each in reports[at_most:])
        more = f"and {len(reports) - at_most:,} more" + (f", {left_out:,} left out" if left_out else "")
        table.add_row(
            Text(more, style="dim"), *[""] * (len(table.columns) - 2), Text("all: info FILE", style="dim")
        )
    return table


def _facts(report: dict[str, Any]) -> list[tuple[str, Any]]:
    spent = report["seconds"]
    reading = f", {seconds(spent['read'])} reading" if "read" in spent else ", reading as it learned"
    if "compile" in spent:
        reading += f", {seconds(spent['compile'])} compiling (once)"
    skipped = f", {counted(report['skipped_in_all'], 'bad line')} skipped" if "skipped" in report else ""
    test = f", and {report['test']['rows']:,} to test on" if "test" in report else ""
    out_of_core = ", out of core" if "out_of_core" in report else ""
    rows: list[tuple[str, Any]] = [
        ("rows", f"{report['rows']:,}{test}{skipped}{out_of_core}"),
        ("features", f"{report['features']:,}{_first_index(report)}"),
        ("classes", _classes(report["classes"])),
        ("time", f"{seconds(spent['learn'])} learning{reading}"),
    ]
    if report["scaled"]:
        space = "; radius, margin and bound hold in that space" if report.get("radius") is not None else ""
        rows.append(("scaled", f"numeric columns to mean 0 and deviation 1{space}"))
    if "engine" in report:
        rows.append(("engine", f"{report['engine']}, {counted(report['shards'], 'shard')}"))
    return [*rows, *training_facts(report)]


def _tried(auto: dict[str, Any]) -> Any:
    """Return the table of what ``--auto`` tried, the best first."""
    from rich.text import Text

    table = columns("accuracy", "±", "hypothesis", "tried")
    for column in table.columns[2:]:
        column.justify, column.overflow, column.no_wrap = "left", "fold", False
    last = max(each["rows"] for each in auto["tried"])
    ranked = [each for each in auto["tried"] if each["rows"] == last]
    shown = [*ranked[:MOST_TRIED], *(each for each in ranked[MOST_TRIED:] if each["chosen"])]
    for each in shown:
        style = "bold" if each["chosen"] else ""
        learner = each["learner"] + (" ← chosen" if each["chosen"] else "")
        cells = (
            percent(each["accuracy"], 2, short=True),
            percent(each["standard_error"], 2, short=True),
            each["hypothesis"],
            learner,
        )
        table.add_row(*(Text(cell, style=style) for cell in cells))
    if len(auto["tried"]) > len(shown):
        table.add_row("", "", "", Text(f"and {len(auto['tried']) - len(shown):,} more", style="dim"))
    return table


def _choice_facts(auto: dict[str, Any]) -> list[tuple[str, Any]]:
    return [
        (
            "chosen",
            f"{auto['chosen']}, {auto['hypothesis']}: the simplest within one standard error of the best",
        ),
        ("repeat", auto["command"]),
    ]


def _estimate_facts(report: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the lines that a person reads first: the figure, what it is beside, and what kind of figure it is."""
    estimate = report.get("estimate")
    if estimate is None:
        return []
    if estimate.get("kind") == "progressive":
        figure = (
            f"{percent(estimate['accuracy'])} right in the first pass, each row before it was learned from "
            "(progressive: about the mean of the hypotheses of that pass; the model is usually better)"
        )
        bound = estimate["bound"]
        return [("new rows", figure), *([("bounded", bound["statement"])] if bound is not None else [])]
    if "mae" in estimate:
        errors = ", ".join(
            f"{name} {number(estimate[key])}"
            for name, key in (("MAE", "mae"), ("RMSE", "rmse"), ("R²", "r2"))
            if estimate[key] is not None
        )
        return [("new rows", f"{errors} ({estimate['how']})")]
    span = percent_span(estimate["low"], estimate["high"])
    lines = [
        (
            "new rows",
            f"{percent(estimate['accuracy'])} right on rows not learned from ({estimate['how']}, an estimate; "
            f"{given_percent(estimate['confidence'])} interval {span})",
        ),
        (
            "majority",
            f"{percent(estimate['majority_accuracy'])} by always answering {estimate['majority']}"
            + ("" if estimate["better_than_majority"] else ": the model is not shown to be better than that"),
        ),
    ]
    more = [
        f"{name} {value}"
        for name, value in (
            ("balanced accuracy", _share(estimate["balanced_accuracy"])),
            ("F1", _figure(estimate["f1"])),
            ("AUC", _figure(estimate["auc"])),
            ("log loss", _figure(estimate["log_loss"])),
            ("Brier", _figure(estimate["brier"])),
        )
        if value
    ]
    lines.append(("also", ", ".join(more)))
    if "certificate" in estimate:
        lines.append(("certified", estimate["certificate"]["statement"]))
    return lines


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _figure(value: float | None) -> str:
    return "" if value is None else fraction(value)


def _classes(counts: dict[str, int | None] | None) -> str:
    if counts is None:
        return "none: the target is a number"
    each = [name if count is None else f"{name} ({count:,})" for name, count in counts.items()]
    return f"{len(counts)}: {listed(each, MOST_CLASSES)}"


def _first_index(report: dict[str, Any]) -> str:
    """Return from where indices count."""
    return f", indices from {0 if report['zero_based'] else 1}" if "zero_based" in report else ""


def training_facts(report: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return what a learner says about its training; facts that it does not have are left out."""
    rows: list[tuple[str, Any]] = [("learner", _learner(report))]
    if report.get("mistakes"):
        rows += [("mistakes", _mistakes(report)), ("converged", _converged(report))]
    if report.get("radius") is not None:
        rows += [("radius", number(report["radius"])), ("margin", _margin(report)), ("bound", _bound(report))]
    return rows


def _learner(report: dict[str, Any]) -> str:
    rule = report.get("rule")
    if rule is None:
        return str(report["learner"])
    values = ", ".join(f"{key}={value:g}" for key, value in rule.items() if key != "name" and value != "inf")
    contest = f", {report['multi_class']}" if report.get("multi_class") else ""
    contest += ", quadratic map" if report.get("map") else ""
    return f"{report['learner']}, rule {rule['name']}" + (f" ({values})" if values else "") + contest


def _mistakes(report: dict[str, Any]) -> Any:
    from rich.text import Text

    each = report["mistakes"]
    ends = f"{each[0]:,} to {each[-1]:,}" if len(each) > 1 else f"{each[0]:,}"
    summary = f"{ends} a pass, {report['n_mistakes']:,} in all"
    if not can_draw():
        return Text(summary)
    return Text.assemble((sparkline(each), MISTAKE), f"  {summary}")


def _converged(report: dict[str, Any]) -> str:
    passes = counted(report["passes"], "pass", "passes")
    if report["converged"]:
        return f"yes, pass {report['passes']} changed nothing"
    return f"no, {'interrupted' if report.get('interrupted') else 'stopped'} after {passes}"


def _margin(report: dict[str, Any]) -> str:
    margin = report["margin"]
    if margin is None:
        return "unknown" + (": a vote is no hyperplane" if report["hypothesis"] == "voted" else "")
    separates = "separates" if margin > 0 else "does not separate"
    return f"{number(margin)} of this hypothesis ({report['hypothesis']}, {separates})"


def _bound(report: dict[str, Any]) -> str:
    bound = report["bound"]
    if bound is None or bound == float("inf"):
        return "none known"
    margin, radius = report["margin"], report["radius"]
    why = "from the hinge loss"
    if margin is not None and margin > 0:
        plain = radius is not None and math.isclose(report["bound"], (radius / margin) ** 2, rel_tol=1e-6)
        why = "(R/γ)²" if plain else "from radius, margin and rule"
    return f"at most {number(bound)} mistakes, {why}"


def _hypotheses(report: dict[str, Any]) -> Any:
    """Return a table of the scores of every hypothesis."""
    from rich.text import Text

    regression = "error" in report
    scores = {part: each for part, each in report["error" if regression else "accuracy"].items() if each}
    parts = {"train": report["rows"], "test": report.get("test", {}).get("rows", 0)}
    figures = ("mae", "rmse", "r2") if regression else ("accuracy",)
    heads = [f"{part} {ERRORS[figure]}" if regression else part for part in scores for figure in figures]
    table = columns("hypothesis", *heads, "")
    table.columns[-1].justify = "left"
    for name in dict.fromkeys(name for each in scores.values() for name in each):
        cells = []
        for part, by_name in scores.items():
            each = by_name.get(name)
            for figure in figures:
                if regression:
                    cells.append(number(each[figure]) if each else "")
                else:
                    cells.append(share(each["accuracy"], each["rows"] < parts[part]) if each else "")
        style = "bold" if name == report["hypothesis"] else ""
        remark = Text(_remark(report, scores, parts, name), style="dim")
        table.add_row(*(Text(cell, style=style) for cell in (name, *cells)), remark)
    return table


ERRORS = {"mae": "MAE", "rmse": "RMSE", "r2": "R²"}


def _remark(report: dict[str, Any], scores: dict[str, Any], parts: dict[str, int], name: str) -> str:
    """Return which hypothesis predicts, and which was measured on some rows only."""
    remarks = ["predicts"] if name == report["hypothesis"] else []
    for part, by_name in scores.items():
        rows = by_name.get(name, {}).get("rows", parts[part])
        if rows < parts[part]:
            remarks.append(f"{part}: on {rows:,} rows")
    return ", ".join(remarks)
