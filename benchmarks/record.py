"""Write down what the benchmarks found: JSON for programs, a Markdown table for people, the machine named."""

import json
import os
import platform
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.measure import Ratios, Row

PEERS = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "vowpalwabbit",
    "river",
    "pandas",
    "dask",
    "pyspark",
    "fastapi",
)
BEGIN, END = "<!-- benchmarks: begin (written by `make bench`) -->", "<!-- benchmarks: end -->"
# What the README shows: the benchmark, and words of the line.
SHOWN = (
    ("heart", "clean labels: one more averaged pass"),
    ("heart", "clean labels: first averaged pass"),
    ("heart", "CSR 200,000×50,000, 75 a row: one more"),
    ("heart", "MNIST joint"),
    ("proofs", "cone 20,000×200"),
    ("proofs", "1% flipped"),
    ("linear_family", "dense 200,000×100 float32: logistic epoch / SGDClassifier, its, averaged"),
    ("files", "LIBSVM to model"),
    ("files", "CSV to model"),
    ("files", "a later pass from the cache"),
    ("streams", "predict_one"),
    ("streams", "learn_many, data frames"),
    ("service", "predict, 20 features"),
    ("service", "feedback, on disk"),
)


def machine() -> dict[str, Any]:
    """Say what this was measured on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    versions = {}
    for name in PEERS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "absent"
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
        "date": date.today().isoformat(),
    }


def write(folder: Path, name: str) -> None:
    """Put the tables measured since the last call under this name, beside those of other names."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "benchmarks.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    tables = [{"title": each.title, "rows": [row._asdict() for row in each.rows]} for each in Ratios.every]
    Ratios.every.clear()
    kept[name] = {"machine": machine(), "tables": tables}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "benchmarks.md").write_text(in_markdown(kept), encoding="utf-8")
    if (readme := folder.parent / "README.md").is_file():
        begin, middle, after = _parted(readme.read_text(encoding="utf-8"))
        readme.write_text(begin + (in_short(kept) if middle else "") + after, encoding="utf-8")


def _parted(text: str) -> tuple[str, bool, str]:
    """Return what stands before the table in a README, whether there is room for one, and what stands after."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return (before + begin, True, end + after) if begin and end else (text, False, "")


def in_short(kept: dict[str, Any]) -> str:
    """Return the lines of :data:`SHOWN` as one table, with the machine they were measured on."""
    found = [
        (row, own["machine"])
        for name, what in SHOWN
        if (own := kept.get(name)) is not None
        for row in (Row(**each) for table in own["tables"] for each in table["rows"])
        if what in row.what
    ]
    lines = ["", "", "| measured in one run | ours | theirs | ratio |", "|---|--:|--:|--:|"]
    for row, _ in found:
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row.cells()[:4]) + " |")
    machines = {f"{own['cores']} cores of {own['processor']}" for _, own in found}
    return "\n".join(
        [
            *lines,
            "",
            f"On {'; '.join(sorted(machines))}. All of it: [docs/benchmarks.md](docs/benchmarks.md).",
            "",
        ]
    )


def in_markdown(kept: dict[str, Any]) -> str:
    """Return every table as Markdown."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`: ratios of one run, ours against the peer on the same data.",
        "",
    ]
    for name in sorted(kept):
        own = kept[name]["machine"]
        lines += [
            f"## {name}",
            "",
            f"{own['cores']} cores of {own['processor']}, Python {own['python']}, {own['date']}; "
            + ", ".join(
                f"{peer} {version}" for peer, version in own["versions"].items() if version != "absent"
            )
            + ".",
            "",
        ]
        for table in kept[name]["tables"]:
            lines += [
                f"**{table['title']}**",
                "",
                "| what | ours | theirs | ratio | asked | |",
                "|---|--:|--:|--:|--:|---|",
            ]
            for row in (Row(**each) for each in table["rows"]):
                lines.append(
                    "| "
                    + " | ".join([*(cell.replace("|", "\\|") for cell in row.cells()), row.verdict])
                    + " |"
                )
            lines.append("")
    return "\n".join(lines)
