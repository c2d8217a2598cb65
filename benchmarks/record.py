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
