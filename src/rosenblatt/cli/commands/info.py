"""``rosenblatt info``: what a model file holds, or how a data file is read."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.commands.predict import known_hypothesis
from rosenblatt.cli.flags import flag
from rosenblatt.cli.options import STANDARD_INPUT
from rosenblatt.cli.output import counted, listed
from rosenblatt.cli.reading import note_oddities, scaling_of
from rosenblatt.learner.models import Model, load

MOST_CLASSES = 12


def info(
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="A model file, or data: a file, - or sample:NAME.")
    ],
    data: opt.DataFlags,
    hypothesis: opt.Hypothesis = None,
    top: Annotated[int, flag("--top", help="How many weights of each class to show, the largest first.")] = 5,
    json: opt.AsJson = False,
) -> None:
    """Show what a model file holds, or how a table is read.

    \b
    Examples:
      rosenblatt info m.safetensors
      rosenblatt info m.safetensors --top 20 --hypothesis pocket
      rosenblatt info data.csv --target y
      rosenblatt info data.csv --category zip --json
    """
    from rosenblatt.cli.output import print_json

    is_model = _is_model(path)
    report = _model_report(path, hypothesis, top) if is_model else _data_report(path, data)
    if json:
        print_json(report)
    elif is_model:
        _show(report)
    else:
        _show_data(report)


def _is_model(path: str) -> bool:
    """Return whether a file looks like a model: by its name, else by its first bytes."""
    if path == STANDARD_INPUT or path.startswith("sample:") or not Path(path).is_file():
        return path.endswith(".safetensors")
    if path.endswith(".safetensors"):
        return True
    with Path(path).open("rb") as file:
        head = file.read(10)
    return len(head) == 10 and head[8:] == b'{"'  # of safetensors: eight bytes of length, then JSON


def _model_report(path: str, hypothesis: str | None, top: int) -> dict[str, Any]:
    trained = load(path)
    chosen = known_hypothesis(trained, path, hypothesis)
    return {
        "model": path,
        "bytes": Path(path).stat().st_size,
        "learner": trained.name,
        "classes": None if trained.classes is None else trained.classes.tolist(),
        "features": trained.n_features,
        "hypothesis": chosen,
        "hypotheses": list(trained.hypotheses()),
        "schema": _schema(trained),
        **trained.facts(),
        "weights": _heaviest(trained, chosen, max(0, top)),
    }


def _data_report(source: str, data: opt.DataFlags) -> dict[str, Any]:
    """Read a source and describe it."""
    from collections import Counter

    from rosenblatt.data import open_examples

    examples = open_examples(source, data.read_options())
    rows, labels = 0, Counter[Any]()
    for batch in examples:
        rows += int(batch.lines.size)
        if batch.y is not None:
            labels.update(batch.y.tolist())
    note_oddities(examples)
    counts = {str(label): count for label, count in labels.most_common()}
    return {
        "source": examples.path,
        "format": examples.format,
        "rows": rows,
        "features": examples.n_features,
        "target": getattr(examples.schema, "target", None),
        "target_kind": examples.target_kind,
        "labels": counts if examples.target_kind == "classes" else None,
        "columns": [each._asdict() for each in examples.columns],
        "notes": list(examples.notes),
        "skipped": [str(line) for line in examples.skipped],
    }


def _show_data(report: dict[str, Any]) -> None:
    from rosenblatt.cli.fit.report import column_table
    from rosenblatt.cli.output import facts, show, title

    labels = report["labels"]
    if labels is None:
        target = "numbers: fit with --task regression"
    else:
        each = [f"{name} ({count:,})" for name, count in labels.items()]
        target = (
            f"{counted(len(labels), 'class', 'classes')}: {listed(each, MOST_CLASSES)}" if each else "none"
        )
    rows = [
        ("format", report["format"]),
        ("rows", f"{report['rows']:,}"),
        ("features", f"{report['features']:,}"),
        ("target", f"{report['target']}, {target}" if report["target"] else target),
    ]
    table = ["", column_table(report["columns"], len(report["columns"]))] if report["columns"] else []
    show(title(report["source"]), facts(rows), *table)


def feature_names(model: Model) -> list[str]:
    """Return a name for every feature that has a weight: its own, or its number in the file."""
    names = _names_before_map(model)
    if model.about.get("map"):
        from rosenblatt.data.tables.preprocess import quadratic_names

        return quadratic_names(names)
    return names


def _names_before_map(model: Model) -> list[str]:
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
    """Return in short what kind of file the model was trained on."""
    schema = model.about.get("schema")
    if not isinstance(schema, dict):
        return None
    summary = {"kind": schema.get("kind"), "target": schema.get("target")}
    if schema.get("kind") == "table":
        summary["columns"] = len(schema.get("columns") or [])
    if schema.get("bits"):
        summary["bits"] = schema["bits"]
    return summary


def _heaviest(model: Model, hypothesis: str, top: int) -> dict[str, Any] | None:
    """Return for every class the weights that pull hardest towards it; nothing for a vote or a kernel model.

    Of a model of standardised columns ``towards`` and ``bias`` are in the units of the columns; ``standardised`` holds
    the weight of one standard deviation, by which features are ordered.
    """
    import numpy as np

    if hypothesis == "voted" or model.name == "kernel":
        return None
    weights = np.asarray(model.weights(hypothesis), dtype=np.float64)
    scaling = scaling_of(model)
    own = weights
    if scaling is not None:
        from rosenblatt.learner.explain import in_own_units

        own, _ = in_own_units(weights, scaling)
    names = feature_names(model)

    def heaviest_of(row: Any, own_row: Any, places: Any) -> dict[str, Any]:
        chosen = places.tolist()
        heavy = {
            "bias": float(own_row[0]) + 0.0,
            "towards": [[names[at], float(own_row[1 + at])] for at in chosen],
        }
        return heavy if scaling is None else heavy | {"standardised": [float(row[1 + at]) for at in chosen]}

    if model.classes is None:
        order = np.argsort(-np.abs(weights[0, 1:]), kind="stable")[:top]
        return {"the number": heaviest_of(weights[0], own[0], order[weights[0, 1 + order] != 0])}
    classes = [str(label) for label in model.classes.tolist()]
    if len(weights) == 1:
        weights, own = np.concatenate([-weights, weights]), np.concatenate([-own, own])
    heaviest = {}
    for name, row, own_row in zip(classes, weights[-len(classes) :], own[-len(classes) :], strict=True):
        order = np.argsort(-row[1:], kind="stable")[:top]
        heaviest[name] = heaviest_of(row, own_row, order[row[1 + order] > 0])
    return heaviest


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
    if any("standardised" in each for each in (report["weights"] or {}).values()):
        rows.append(
            (
                "weights",
                "in the units of the columns, in the order of the scaled weight: of one standard deviation",
            )
        )
    parts: list[Any] = [Text(report["model"], style="bold"), facts(rows)]
    for name, weights in list((report["weights"] or {}).items())[:MOST_CLASSES]:
        scaled = "standardised" in weights
        heads = ("weight", "scaled") if scaled else ("weight",)
        table = columns(f"towards {name}" if report["classes"] else "feature", *heads)
        for at, (feature, weight) in enumerate(weights["towards"]):
            standardised = [number(weights["standardised"][at])] if scaled else []
            table.add_row(Text(feature), number(weight), *standardised)
        table.add_row(Text("bias", style="dim"), Text(number(weights["bias"]), style="dim"))
        parts += ["", table]
    show(*parts)
