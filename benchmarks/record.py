"""Write down what the benchmarks found: JSON for programs, a Markdown table for people, the machine named."""

import json
import os
import platform
from datetime import date
from importlib import import_module, metadata
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
# What sets the size of a question: the variable, what it is without one, what was asked for, what it counts.
SIZES = (
    ("ROSENBLATT_DATA", "../shared/data", "", "folder of real data sets"),
    ("ROSENBLATT_BENCH_MB", "100", "1000", "files: megabytes per file"),
    ("ROSENBLATT_BENCH_STREAM_MB", "2000", "10000", "streams: megabytes through the pipe"),
    ("ROSENBLATT_GIGABYTES", "1", "4", "engines: gigabytes of dense rows"),
    ("ROSENBLATT_JOURNAL", "1000000", "1000000", "service: feedbacks before a restart"),
    ("ROSENBLATT_SVC", "", "1", "kernel: also train scikit-learn's SVC"),
    ("ROSENBLATT_DEGREES", "23", "123456", "freund_schapire: degrees of the kernel"),
    ("ROSENBLATT_PASSES", "4", "30", "freund_schapire: largest number of passes"),
)
SUPPORT = {
    "__init__",
    "__main__",
    "against",
    "turns",
    "large_pages",
    "measure",
    "record",
    "against_spark",
    "kernel_gpu",
    "service_load",
    "service_plain",
    "scale_page",
}
OPENING = (
    "# Benchmarks",
    "",
    "`make bench` writes this page. Each benchmark compares this package with a peer in one run, on the same data,",
    "with the same passes and threads; where it matters, both warm (in memory, compiled) and cold (from disk, first",
    "run). *asked* is the goal that was set before the code was written; missed goals are shown too. Times depend on",
    "the machine, ratios less so. `python -m benchmarks NAME` runs one benchmark.",
    "",
    "All benchmarks take about 25 minutes on two cores. Environment variables change their sizes:",
    "",
    "| variable | default | full size | meaning |",
    "|---|---|---|---|",
)
BEGIN, END = "<!-- benchmarks: begin (written by `make bench`) -->", "<!-- benchmarks: end -->"
# What the README shows, also where others are faster: the benchmark, and words of the line.
SHOWN = (
    ("heart", "clean labels: one more averaged pass"),
    ("heart", "CSR 200,000×50,000, 75 a row: one more"),
    ("heart", "MNIST joint"),
    ("proofs", "cone 20,000×200"),
    ("files", "LIBSVM to model"),
    ("files", "CSV to model"),
    ("files", "a table with gaps"),
    ("streams", "fit, 90 MB, one pass, not measured after it / vw on its own text"),
    ("first_minute", "a new process: import, Perceptron().fit, dense float64"),
    ("streams", "predict_one + learn_one, 100,000"),
    ("service", "predict, 20 features"),
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
        "set": {name: os.environ[name] for name, *_ in SIZES[1:] if name in os.environ},
    }


def load() -> float | None:
    """Return how many processes want to run, as the system counts them."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def questions() -> list[str]:
    """Return the name of every benchmark: one file, one question."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in SUPPORT)


def write(folder: Path, name: str, seconds: float, before: float | None) -> None:
    """Put the tables measured since the last call under this name, beside those of other names."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "benchmarks.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    tables = [
        {"title": each.title, "rows": [row._asdict() for row in each.rows], "notes": each.notes}
        for each in Ratios.every
    ]
    Ratios.every.clear()
    asked = (import_module(f"benchmarks.{name}").__doc__ or "").partition("\n")[0]
    kept[name] = {
        "question": asked,
        "machine": {**machine(), "load": before},
        "seconds": round(seconds),
        "tables": tables,
    }
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    retell(folder)


def retell(folder: Path) -> None:
    """Write the page, and the table of a README beside the folder, from the record."""
    kept = json.loads((folder / "benchmarks.json").read_text(encoding="utf-8"))
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
    lines = [
        "",
        "",
        "| ours and theirs in each row are from the same run | ours | theirs | ratio |",
        "|---|--:|--:|--:|",
    ]
    for row, _ in found:
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row.cells()[:4]) + " |")
    machines = {f"{own['cores']} cores of {own['processor']}" for _, own in found}
    return "\n".join(
        [
            *lines,
            "",
            f"On {'; '.join(sorted(machines))}. All rows: [docs/benchmarks.md](docs/benchmarks.md).",
            "",
        ]
    )


def in_markdown(kept: dict[str, Any]) -> str:
    """Return every table as Markdown."""
    lines = [*OPENING]
    for name, usual, full, what in SIZES:
        lines.append(f"| `{name}` | {usual or 'not set'} | {full or '–'} | {what} |")
    lines += ["", *not_run(kept)]
    for name in sorted(kept):
        lines += in_section(name, kept[name])
    return "\n".join(lines)


def not_run(kept: dict[str, Any]) -> list[str]:
    """Return what could not be run, and why."""
    rows = [
        f"- {name}: {row['what']}: {row['ours']}"
        for name in sorted(kept)
        for table in kept[name]["tables"]
        for row in table["rows"]
        if row["ratio"] is None
    ]
    rows += [f"- {name}: not run yet" for name in questions() if name not in kept]
    return ["## What was not run", "", *(rows or ["- Nothing: every row below was measured."]), ""]


def in_section(name: str, found: dict[str, Any]) -> list[str]:
    """Return the tables of one question."""
    own = found["machine"]
    versions = ", ".join(f"{peer} {told}" for peer, told in own["versions"].items() if told != "absent")
    took = f" It took {found['seconds']} s; the load before was {own['load']}." if "seconds" in found else ""
    changed = "".join(f" {key}={value}." for key, value in own.get("set", {}).items())
    lines = [f"## {name}", ""] + ([found["question"], ""] if found.get("question") else [])
    lines += [
        f"{own['cores']} cores of {own['processor']}, Python {own['python']}, {own['date']}; {versions}.{took}"
        + changed,
        "",
    ]
    for table in found["tables"]:
        lines += [
            f"**{table['title']}**",
            "",
            "| what | ours | theirs | ratio | asked | |",
            "|---|--:|--:|--:|--:|---|",
        ]
        for row in (Row(**each) for each in table["rows"]):
            cells = [*(cell.replace("|", "\\|") for cell in row.cells()), row.verdict]
            lines.append("| " + " | ".join(cells) + " |")
        lines += ["", *(f"- {note}" for note in table.get("notes", []))]
        lines += [""] if table.get("notes") else []
    return lines


if __name__ == "__main__":
    retell(Path("docs"))
