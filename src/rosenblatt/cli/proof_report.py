"""Output of ``prove``, ``verify`` and ``solve``: an answer, and the lines of the file that prove it.

Also the matrix and the labels that a proof speaks of, written as text that the small checker reads.
"""

from typing import TYPE_CHECKING, Any

from rosenblatt.cli.output import MISTAKE, RIGHT, columns, counted, facts, listed, number, title
from rosenblatt.cli.output import show as show_parts
from rosenblatt.cli.reading import Rows

if TYPE_CHECKING:
    from rosenblatt.data import ReadOptions
import csv
import io
from collections.abc import Iterator

import numpy as np

from rosenblatt.cli.errors import refuse
from rosenblatt.proofs import checker
from rosenblatt.storage import replacing

MOST_ROWS = 20  # lines and variables that are listed one by one

SENTENCES = {
    "Separable": "Separable: a hyperplane{origin} has every row strictly on the side of its class.",
    "Inseparable": "Not separable: no hyperplane{origin} has every row strictly on the side of its class.",
    "QuasiSeparable": "Not separable, but almost: a hyperplane{origin} has no row on the wrong side, and touches some.",
    "Feasible": "Feasible: there is a w with A w >= 1 in every row.",
    "Infeasible": "Infeasible: there is no w with A w >= 1 in every row.",
    "Undecided": "Undecided: the time ran out.",
    "HardMargin": "Hard margin: the largest margin of a hyperplane{origin} lies between two bounds.",
    "SoftMargin": "Soft margin: the least objective of a hyperplane{origin} lies between two bounds.",
}


def report_of(proof: Any, rows: Rows) -> dict[str, Any]:
    """Describe a proof as JSON can hold it, its rows by their lines in the file."""
    answer = type(proof).__name__
    if answer == "KernelProof":
        kernel = {"degree": proof.degree, "coef0": proof.coef0}
        return {**report_of(proof.proof, rows), "kernel": kernel}
    report: dict[str, Any] = {**rows.about(), "features": proof.n_features, "answer": answer}
    if proof.classes:
        report |= {"classes": list(proof.classes), "fit_intercept": proof.fit_intercept}
    if answer == "Separable":
        report |= {
            "margin": proof.margin,
            "radius": proof.radius,
            "bound": proof.bound,
            "margin_lines": _lines(proof.rows, rows),
        }
    if answer in ("Inseparable", "QuasiSeparable"):
        report["contradiction"] = _weighted(proof.culprits, proof.rivals, proof, rows)
        report["overlap"] = proof.overlap
    if answer == "QuasiSeparable":
        report["touched_lines"] = _lines(proof.rows, rows)
    if answer == "Infeasible":
        report["contradiction"] = _weighted(proof.rows, (), proof, rows)
    if answer == "Undecided":
        report |= {"margin_at_least": proof.lower, "margin_at_most": proof.upper}
    if answer == "HardMargin":
        report |= {"margin_at_least": proof.margin, "margin_at_most": proof.upper}
    if answer == "SoftMargin":
        report |= {"C": proof.C, "objective_at_least": proof.lower, "objective_at_most": proof.objective}
    if answer in ("Separable", "QuasiSeparable", "Feasible", "HardMargin", "SoftMargin"):
        report["hyperplanes"] = _hyperplanes(proof, rows)
    return report


def reading_of(rows: Rows, reading: "ReadOptions", kind: str) -> dict[str, Any]:
    """Describe how rows were read: what the claim of a proof depends on, with inferred options written out."""
    schema = rows.schema
    text = [column.name for column in getattr(schema, "columns", ()) if getattr(column, "words", None)]
    table = hasattr(schema, "headerless")
    return {
        "as": kind,
        "target": getattr(schema, "target", None) if kind == "examples" else None,
        "format": reading.format,
        "zero_based": getattr(schema, "zero_based", None),
        "skip_bad": reading.skip_bad,
        "header": schema.headerless is None if table else None,  # type: ignore[union-attr]
        "text": text,
        "scale": reading.scale,
    }


def write(proof: Any, path: str, reading: dict[str, Any]) -> None:
    """Write a proof, all or nothing, with a record of how its data were read, which ``verify`` compares."""
    import json

    from rosenblatt.storage import replacing

    content = {**json.loads(proof.to_json()), "reading": reading}
    with replacing(path) as file:
        file.write(json.dumps(content, indent=1).encode() + b"\n")


def show(report: dict[str, Any]) -> None:
    """Print the answer, then the lines that prove it."""
    from rich.text import Text

    yes, no = ("Separable", "Feasible"), ("Inseparable", "QuasiSeparable", "Infeasible")
    style = RIGHT if report["answer"] in yes else MISTAKE if report["answer"] in no else ""
    origin = " through the origin" if report.get("fit_intercept") is False else ""
    verdict, _, rest = SENTENCES[report["answer"]].format(origin=origin).partition(":")
    if "kernel" in report:
        rest = f" in the space of the kernel (a·b + {report['kernel']['coef0']})^{report['kernel']['degree']}:{rest}"
    answer = Text.assemble((verdict, f"bold {style}".strip()), f":{rest}")
    parts: list[Any] = [title(report["source"]), answer, facts(_facts(report))]
    if "contradiction" in report:
        parts += ["", *_contradiction(report)]
    if report["answer"] == "Feasible":
        parts += ["", _variables(report["hyperplanes"][0]["weights"])]
    if "holds" in report:
        parts += ["", facts([("claim", report["claim"])])]
        parts += [Text(f"{report['proof']} holds: every claim was checked in exact arithmetic.")]
    elif "proof" in report:
        parts += ["", facts([("proof", report["proof"])])]
    show_parts(*parts)


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    what = "features" if "classes" in report else "variables"
    lines = [("rows", f"{report['rows']:,}"), (what, f"{report['features']:,}")]
    if "classes" in report:
        lines.append(("classes", f"{len(report['classes'])}: {listed(report['classes'])}"))
    if report["answer"] == "Separable":
        on_margin = report["margin_lines"]
        lines += [
            ("largest margin", f"at least {number(report['margin'])}"),
            ("radius", f"at most {number(report['radius'])}"),
            ("bound", f"a perceptron makes at most {number(report['bound'])} mistakes on them, (R/γ)²"),
            ("on the margin", f"{_place(report)}{'s' * (len(on_margin) > 1)} {listed(on_margin, MOST_ROWS)}"),
        ]
    if report["answer"] == "QuasiSeparable":
        touched = report["touched_lines"]
        which = f": {listed(touched, MOST_ROWS)}" if len(touched) <= MOST_ROWS else ""
        lines.append(("touched", f"{counted(len(touched), _place(report))}{which}"))
    if "margin_at_least" in report:
        low, high = number(report["margin_at_least"]), number(report["margin_at_most"])
        more_time = "; give it more time" if report["answer"] == "Undecided" else ""
        lines.append(("largest margin", f"between {low} and {high}{more_time}"))
    if "objective_at_least" in report:
        low, high = number(report["objective_at_least"]), number(report["objective_at_most"])
        lines.append(("objective", f"between {low} and {high}, with C = {number(report['C'])}"))
    return lines


def _contradiction(report: dict[str, Any]) -> list[Any]:
    from rich.text import Text

    rows = report["contradiction"]
    labelled, rivals = "label" in rows[0], "against" in rows[0]
    table = columns(
        _place(report), "weight", *(["label"] if labelled else []), *(["against"] if rivals else [])
    )
    for column in table.columns[2:]:
        column.justify = "left"
    for row in rows[:MOST_ROWS]:
        words = [Text(str(row[key])) for key in ("label", "against") if key in row]
        table.add_row(Text(str(row["line"])), _short(row["weight"]), *words)
    more = (
        [Text(f"and {len(rows) - MOST_ROWS:,} more, in --json and -o", style="dim")]
        if len(rows) > MOST_ROWS
        else []
    )
    if not labelled:
        why = (
            "These rows, multiplied by their weights, add up to exactly zero. So does the same sum of A w for every w, "
            "but it would have to be positive."
        )
    elif len(rows) == 1:
        why = "This row is all zero: without an intercept every hyperplane passes through it."
    elif rivals:
        why = (
            "Each row demands that one score exceeds another. The weighted sum of these demands is 0 > 0, exactly, so "
            "no scores satisfy them all."
        )
    elif report["fit_intercept"]:
        why = (
            "A weighted average of these rows of one class equals a weighted average of these rows of the other, "
            "exactly. A separating hyperplane would have that point on both of its sides."
        )
    else:
        why = (
            "Multiplied by these weights and by the signs of their classes, the rows add up to exactly zero."
        )
    reasons = [Text(REASONS, style="dim")] if labelled and len(rows) > 1 else []
    return [Text(why), table, *more, *reasons]


REASONS = (
    "The proof does not show the reason: classes may overlap, a feature that tells them apart may be missing, they "
    "may be arranged as in XOR, or a label may be wrong."
)


def _variables(weights: dict[str, float]) -> Any:
    from rich.text import Text

    table = columns("variable", "value")
    for name, value in list(weights.items())[:MOST_ROWS]:
        table.add_row(Text(name), f"{value:.10g}")
    if len(weights) > MOST_ROWS:
        table.add_row(Text(f"and {len(weights) - MOST_ROWS:,} more, in --json and -o", style="dim"), "")
    return table


def _place(report: dict[str, Any]) -> str:
    return "row" if report["source"].startswith("sample:") else "line"


def _lines(places: Any, rows: Rows) -> list[int | str]:
    return [rows.where(place) for place in places]


def _weighted(places: Any, rivals: Any, proof: Any, rows: Rows) -> list[dict[str, Any]]:
    """Return line, label and weight of every row of a contradiction, the heaviest first."""
    weighted = []
    for at, (place, weight) in enumerate(zip(places, proof.weights, strict=True)):
        row: dict[str, Any] = {"line": rows.where(place), "weight": _rational(weight)}
        if rows.y is not None and type(proof).__name__ != "Infeasible":
            row["label"] = rows.y[place].item()
        if rivals:
            row["against"] = proof.classes[rivals[at]]
        weighted.append((weight, row))
    return [row for _, row in sorted(weighted, key=lambda pair: -pair[0])]


def _hyperplanes(proof: Any, rows: Rows) -> list[dict[str, Any]]:
    """Return weights by name, rounded; the proof file holds them exactly."""
    import numpy as np

    names = rows.schema.feature_names
    if names is None or len(names) != proof.n_features:
        names = [f"feature {number}" for number in range(1, proof.n_features + 1)]
    weights = np.atleast_2d(proof.w).tolist()
    biases = np.atleast_1d(proof.b).tolist()
    return [
        {"weights": dict(zip(names, row, strict=True)), "bias": bias}
        for row, bias in zip(weights, biases, strict=True)
    ]


def _rational(value: Any) -> str:
    import flint

    return str(flint.fmpq(value.numerator, value.denominator))  # str(int) has a length limit


def _short(text: str) -> str:
    """Return a rational from 0 to 1, as a decimal where it has more than twelve characters."""
    if len(text) <= 12:
        return text
    import flint

    numerator, _, denominator = text.partition("/")
    return f"{int(flint.fmpz(numerator)) / int(flint.fmpz(denominator or '1')):.6g}"  # int(str) has a length limit


def export_matrix(rows: Rows, path: str) -> dict[str, Any]:
    """Write rows without loss, read them back with the small checker, and return how they are to be read.

    CSV has one column for every feature, by name, and the labels last; LIBSVM text holds numeric labels only.
    """
    names, target = _column_names(rows)
    libsvm = path.endswith(".svm")
    if libsvm and rows.y.dtype.kind not in "iuf":
        refuse(f"{path}: LIBSVM text has numbers for labels, these are text; write a .csv")
    if any("\n" in str(label) or "\r" in str(label) for label in np.unique(rows.y)):
        refuse(f"{path}: a label holds a line end, and a row is one line here; rename the label in the data")
    with replacing(path) as file:
        for line in _libsvm(rows) if libsvm else _csv(rows, names, target):
            file.write(line.encode())
    table = checker.read_table(path)
    same = table.labels == rows.y.tolist() and table.n_features == rows.X.shape[1]
    if not (same and all(row == dict(_values(rows.X[[i]])) for i, row in enumerate(table.rows))):
        refuse(f"{path}: labels such as {rows.y[0]!r} cannot be written so that they are read as they are")
    reading: dict[str, Any] = {
        "as": "examples",
        "format": None,
        "skip_bad": False,
        "text": [],
        "scale": False,
    }
    if libsvm:
        return {**reading, "target": None, "zero_based": False, "header": None}
    return {**reading, "target": target, "zero_based": None, "header": True}


def _column_names(rows: Rows) -> tuple[list[str], str]:
    """Return names for the features and the target that a header can hold, x1 and so on where the file's cannot."""
    d = rows.X.shape[1]
    names = [str(name) for name in rows.schema.feature_names or ()]
    target = getattr(rows.schema, "target", None) or "label"
    if not _is_plain(target):
        target = "label"
    if len(names) != d or not all(map(_is_plain, names)) or len({*names, target}) != d + 1:
        names = [f"x{j}" for j in range(1, d + 1)]
    return names, target if target not in names else "label"


def _is_plain(name: str) -> bool:
    """Return whether every reader takes this for the name of a column, as it is."""
    return name == name.strip() != "" and name.isprintable() and not checker.NUMBER.fullmatch(name)


def _values(row: Any) -> Iterator[tuple[int, float]]:
    """Yield (column, value) of what is not zero in one row."""
    if isinstance(row, np.ndarray):
        columns = np.flatnonzero(row[0])
        return zip(columns.tolist(), row[0, columns].astype(np.float64).tolist(), strict=True)
    order = np.argsort(row.indices)
    pairs = zip(row.indices[order].tolist(), row.data[order].astype(np.float64).tolist(), strict=True)
    return ((column, value) for column, value in pairs if value)


def _csv(rows: Rows, names: list[str], target: str) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow([*names, target])
    for i, label in enumerate(rows.y.tolist()):
        cells: list[Any] = [0] * len(names)
        for column, value in _values(rows.X[[i]]):
            cells[column] = value
        writer.writerow([*cells, label])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _libsvm(rows: Rows) -> Iterator[str]:
    width = rows.X.shape[1]
    for i, label in enumerate(rows.y.tolist()):
        pairs = [f"{column + 1}:{value!r}" for column, value in _values(rows.X[[i]])]
        if i == 0 and width and (not pairs or not pairs[-1].startswith(f"{width}:")):
            pairs.append(f"{width}:0")  # so that the number of columns can be seen
        yield " ".join([repr(label), *pairs]) + "\n"
