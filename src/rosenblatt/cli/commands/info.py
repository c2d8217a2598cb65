"""``rosenblatt info``: what a model file holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.commands.predict import known_hypothesis
from rosenblatt.cli.output import listed
from rosenblatt.learner.models import Model, load

MOST_CLASSES = 12


def info(
    model: opt.ModelFile,
    hypothesis: opt.Hypothesis = None,
    top: Annotated[
        int, typer.Option("--top", help="How many of the heaviest weights of a class to show.")
    ] = 5,
    json: opt.AsJson = False,
) -> None:
    """Say what a model file holds.

    \b
    Examples:
      rosenblatt info m.safetensors
      rosenblatt info m.safetensors --top 20 --hypothesis pocket
      rosenblatt info m.safetensors --json
    """
    trained = load(model)
    chosen = known_hypothesis(trained, model, hypothesis)
    report = {
        "model": model,
        "bytes": Path(model).stat().st_size,
        "learner": trained.name,
        "classes": None if trained.classes is None else trained.classes.tolist(),
        "features": trained.n_features,
        "hypothesis": chosen,
        "hypotheses": list(trained.hypotheses()),
        "schema": _schema(trained),
        **trained.facts(),
        "weights": _heaviest(trained, chosen, max(0, top)),
    }
    if json:
        from rosenblatt.cli.output import print_json

        print_json(report)
    else:
        _show(report)


def feature_names(model: Model) -> list[str]:
    """Return a name for every feature: its own, or its number in the file."""
    names = model.about.get("feature_names")
    schema = model.about.get("schema") or {}
    if schema.get("bits"):
        from rosenblatt.streams.names import stored_names

        known = stored_names(model.about)
        return [known.get(at, f"#{at}") for at in range(model.n_features)]
    if not isinstance(names, list) or len(names) != model.n_features:
        first = 0 if schema.get("zero_based") else 1
        return [f"feature {number}" for number in range(first, model.n_features + first)]
    return [str(name) for name in names]


def _schema(model: Model) -> dict[str, Any] | None:
    """Say in short what kind of file the model was trained on."""
    schema = model.about.get("schema")
    if not isinstance(schema, dict):
        return None
    told = {"kind": schema.get("kind"), "target": schema.get("target")}
    if schema.get("kind") == "table":
        told["columns"] = len(schema.get("columns") or [])
    if schema.get("bits"):
        told["bits"] = schema["bits"]
    return told


def _heaviest(model: Model, hypothesis: str, top: int) -> dict[str, Any] | None:
    """Return for every class the weights that pull hardest towards it; nothing for a vote or a kernel model."""
    import numpy as np

    if hypothesis == "voted" or model.name == "kernel":
        return None
    weights = np.asarray(model.weights(hypothesis), dtype=np.float64)
    names = feature_names(model)
    if model.classes is None:
        order = np.argsort(-np.abs(weights[0, 1:]), kind="stable")[:top]
        heavy = [[names[at], float(weights[0, 1 + at])] for at in order.tolist() if weights[0, 1 + at] != 0]
        return {"the number": {"bias": float(weights[0, 0]), "towards": heavy}}
    classes = [str(label) for label in model.classes.tolist()]
    rows = [-weights[0], weights[0]] if len(weights) == 1 else list(weights)
    told = {}
    for name, row in zip(classes, rows[-len(classes) :], strict=True):
        order = np.argsort(-row[1:], kind="stable")[:top]
        told[name] = {
            "bias": float(row[0]) + 0.0,
            "towards": [[names[at], float(row[1 + at])] for at in order.tolist() if row[1 + at] > 0],
        }
    return told


def _classes(classes: list[Any] | None) -> str:
    if classes is None:
        return "none: it predicts a number"
    return f"{len(classes)}: {listed(classes, MOST_CLASSES)}"


def _kernel_facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Name the kernel and count the support rows of a kernel model: it has no weights to show."""
    if "kernel" not in report:
        return []
    parameters = ", ".join(f"{name} {value}" for name, value in report["kernel"].items() if name != "name")
    return [
        ("kernel", f"{report['kernel']['name']} ({parameters})"),
        ("support rows", f"{report['support']:,}"),
    ]


def _show(report: dict[str, Any]) -> None:
    from rich.text import Text

    from rosenblatt.cli.fit.report import training_facts
    from rosenblatt.cli.output import columns, facts, number, show

    schema = report["schema"]
    kind = {
        "libsvm": "LIBSVM text",
        "table": f"a table with the target {(schema or {}).get('target')!r}",
        "named": "features known by name" + (", hashed" if (schema or {}).get("bits") else ""),
    }
    rows = [
        ("size", f"{report['bytes']:,} bytes"),
        ("trained on", kind.get(str(schema["kind"]), "unknown") if schema else "arrays, in Python"),
        ("features", f"{report['features']:,}"),
        ("classes", _classes(report["classes"])),
        ("hypotheses", f"{listed(report['hypotheses'])}; predicts by {report['hypothesis']}"),
        *_kernel_facts(report),
        *training_facts(report),
    ]
    parts: list[Any] = [Text(report["model"], style="bold"), facts(rows)]
    for name, told in list((report["weights"] or {}).items())[:MOST_CLASSES]:
        table = columns(f"towards {name}" if report["classes"] else "feature", "weight")
        for feature, weight in told["towards"]:
            table.add_row(Text(feature), number(weight))
        table.add_row(Text("bias", style="dim"), Text(number(told["bias"]), style="dim"))
        parts += ["", table]
    show(*parts)
