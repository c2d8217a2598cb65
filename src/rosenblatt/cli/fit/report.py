"""What ``fit`` prints: a few facts, the mistakes of every pass, and the accuracy of every hypothesis."""

from typing import Any

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

MOST_CLASSES = 6


def show(report: dict[str, Any]) -> None:
    """Draw the report of a fit."""
    parts: list[Any] = [output.title(report["source"]), facts(_facts(report))]
    if any(report["accuracy"].values()):
        parts += ["", _hypotheses(report)]
    written = [(name, report[name]) for name in ("model", "report") if name in report]
    if written:
        parts += ["", facts(written)]
    output.show(*parts)


def _facts(report: dict[str, Any]) -> list[tuple[str, Any]]:
    counts = report["classes"]
    each = [name if count is None else f"{name} ({count:,})" for name, count in counts.items()]
    shown = listed(each, MOST_CLASSES)
    spent = report["seconds"]
    reading = f", {seconds(spent['read'])} reading" if "read" in spent else ", reading as it learned"
    skipped = f", {counted(report['skipped_in_all'], 'bad line')} skipped" if "skipped" in report else ""
    test = f", and {report['test']['rows']:,} to test on" if "test" in report else ""
    return [
        ("rows", f"{report['rows']:,}{test}{skipped}" + (", out of core" if "out_of_core" in report else "")),
        ("features", f"{report['features']:,}{_base(report)}"),
        ("classes", f"{len(counts)}: {shown}"),
        ("time", f"{seconds(spent['learn'])} learning{reading}"),
        *(
            [("engine", f"{report['engine']}, {counted(report['shards'], 'shard')}")]
            if "engine" in report
            else []
        ),
        *training_facts(report),
    ]


def _base(report: dict[str, Any]) -> str:
    """Say from where indices were found to count."""
    return f", indices from {0 if report['zero_based'] else 1}" if "zero_based" in report else ""


def training_facts(report: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return what a learner says about its training; those it does not know are left out."""
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
    return f"{report['learner']}, rule {rule['name']}" + (f" ({values})" if values else "") + contest


def _mistakes(report: dict[str, Any]) -> Any:
    from rich.text import Text

    each = report["mistakes"]
    ends = f"{each[0]:,} to {each[-1]:,}" if len(each) > 1 else f"{each[0]:,}"
    words = f"{ends} a pass, {report['n_mistakes']:,} in all"
    if not can_draw():
        return Text(words)
    return Text.assemble((sparkline(each), MISTAKE), f"  {words}")


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
    why = "(R/γ)²" if report["margin"] is not None and report["margin"] > 0 else "from the hinge loss"
    return f"at most {number(bound)} mistakes, {why}"


def _hypotheses(report: dict[str, Any]) -> Any:
    from rich.text import Text

    parts = {"train": report["rows"], "test": report.get("test", {}).get("rows", 0)}
    found = {part: told for part, told in report["accuracy"].items() if told}
    table = columns("hypothesis", *found, "")
    for name in dict.fromkeys(name for told in found.values() for name in told):
        scored = [(found[part].get(name), parts[part]) for part in found]
        cells = [share(each["accuracy"], each["rows"] < total) if each else "" for each, total in scored]
        style = "bold" if name == report["hypothesis"] else ""
        remark = Text(_remark(report, name), style="dim")
        table.add_row(*(Text(cell, style=style) for cell in (name, *cells)), remark)
    table.columns[-1].justify = "left"
    return table


def _remark(report: dict[str, Any], name: str) -> str:
    """Say what predicts, and what was measured on some rows only."""
    words = ["predicts"] if name == report["hypothesis"] else []
    for part, total in (("train", report["rows"]), ("test", report.get("test", {}).get("rows", 0))):
        looked_at = report["accuracy"].get(part, {}).get(name, {}).get("rows", total)
        if looked_at < total:
            words.append(f"{part}: on {looked_at:,} rows")
    return ", ".join(words)
