"""Measure the constants of the scale model here, and write them and what they predict into docs/scale.md."""

import os
import sys
from pathlib import Path

import numpy as np

from benchmarks.scale_model import RECORD, SHARDS, Job, Machine, deviations, epoch_costs, measured, played

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
BEGIN = "<!-- measured: begin (written by python -m benchmarks.scale_page) -->"
END = "<!-- measured: end -->"


def constants_told(in_cache: float, machine: Machine, points: list[tuple[int, float, float]]) -> list[str]:
    """The constants as a table."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg()[:2])
    told = [
        f"Two cores of a shared virtual machine, load {load} (above 2, these are upper bounds; run it on your own):",
        "",
        "| constant | measured |",
        "|---|---|",
        f"| `c`, weights in cache (10³) | {1e9 * in_cache:.2g} ns of processor time a non-zero |",
        f"| `c`, 2²⁴ weights, places drawn at random | {1e9 * machine.per_nonzero:.2g} ns: a cache miss each |",
    ]
    if points:
        told += [
            f"| `t`, Dask | {1000 * machine.per_task:.2g} ms a task |",
            f"| `f`, Dask | {1000 * machine.fixed:.2g} ms |",
            "",
            "`t` and `f` are fitted to epochs of passes that take no time (shards: MB that travelled, seconds): "
            + "; ".join(f"{shards}: {sent / 1e6:.1f}, {best:.3f}" for shards, sent, best in points)
            + ".",
        ]
    return told


def predictions_told(machine: Machine) -> list[str]:
    """What the constants predict, beside the simulation."""
    off = deviations()
    told = [
        f"Over {', '.join(f'{n:,}' for n in SHARDS)} shards, four kinds of jobs and both networks the model is within "
        f"{100 * max(off):.0f}% of what is played, in half of the cases within {100 * float(np.median(off)):.0f}%. "
        "10⁹ non-zeros and 10⁶ weights (8 MB down, 16 MB up) at 1 Gbit, with the constants above:",
        "",
        "| shards | depth | model | simulated | passes | down | up | tasks |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for shards in SHARDS:
        job = Job(shards, 1e9, 8e6, 16e6)
        costs = epoch_costs(job, machine)
        parts = " | ".join(f"{value:.2f}" for value in costs[:4])
        told.append(
            f"| {shards:,} | {job.depth} | {costs.total:.2g} s | {played(job, machine):.2g} s | {parts} |"
        )
    return told


def record_told(machine: Machine) -> list[str]:
    """What the model says about the record of 2011."""
    told = [
        "The record (2.1·10¹² non-zeros, 2²⁴ weights, 1,000 nodes: 134 MB of weights go down, 268 MB come up):",
        "",
        "| | passes | down | up | tasks | an epoch | ten, rows in memory | ten, read at 100 MB/s meanwhile |",
        "|---|---|---|---|---|---|---|---|",
    ]
    reading = RECORD.nonzeros / RECORD.shards * 8.0 / 1e8
    for name, bandwidth in (("1 Gbit (their time)", 1.25e8), ("10 Gbit", 1.25e9)):
        costs = epoch_costs(RECORD, machine._replace(bandwidth=bandwidth))
        parts = " | ".join(f"{value:.0f} s" for value in costs[:4])
        waiting = costs.total + max(reading - costs.passes, 0.0)
        told.append(
            f"| {name} | {parts} | **{costs.total:.0f} s** | {costs.total / 6:.0f} min | {waiting / 6:.0f} min |"
        )
    return told


def main() -> None:
    in_cache, machine, points = measured()
    parts = (constants_told(in_cache, machine, points), predictions_told(machine), record_told(machine))
    text = "\n\n".join("\n".join(lines) for lines in parts)
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE} lacks the marks {BEGIN} and {END}")
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    print(text)


if __name__ == "__main__":
    main()
