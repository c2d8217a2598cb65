"""What rosenblatt is for, on one screen: ``make demo``. Each part names the command that shows it in full."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from rosenblatt.cli.app import app

TABLE = "examples/data/loans.csv"
# A proof is about numbers that are read as the caller says; fit infers all of this.
READING = "--id loan --date opened --numeric income --numeric rate --decimal . --missing mean"
CONTINUED = "\\\n    --date"  # a command over two lines
SUMMARY = 53  # characters of the summary of a column: lines of 80


def answer(command: str) -> dict[str, Any]:
    """Run a command with --json, and return its answer."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        app([*command.split(), "--json"], prog_name="rosenblatt", standalone_mode=False)
    return json.loads(output.getvalue())


def main() -> None:
    """Fit the table, choose a learner, decide separability and check the proof."""
    fit = answer(f"fit {TABLE} --auto --report report.html")
    print(f"$ rosenblatt fit {TABLE} --auto --report report.html")
    for column in fit["columns"]:
        missing = f", {column['missing']} missing" if column["missing"] else ""
        summary = column["summary"] + missing
        cut = summary if len(summary) <= SUMMARY else summary[: SUMMARY - 1] + "…"
        print(f"  {column['name']:<14}{column['kind']:<11}{cut}")

    estimate, chosen = fit["estimate"], fit["auto"]
    low, high = (f"{100 * estimate[end]:.0f}%" for end in ("low", "high"))
    used = fit["rows"] - estimate["rows"]
    print(
        f"\nChosen by cross-validation on {used} rows, among {len(chosen['tried'])} candidates:\n"
        f"  {chosen['chosen']}, {chosen['hypothesis']} weights\n"
        f"On the other {estimate['rows']} rows, which took no part in the choice:\n"
        f"  chosen learner  {100 * estimate['accuracy']:.1f}% correct (95% interval {low} to {high})\n"
        f"  majority class  {100 * estimate['majority_accuracy']:.1f}%, always answering {estimate['majority']}"
    )

    proof = answer(f"prove {TABLE} -o proof.json {READING}")
    checked = answer(f"verify proof.json {TABLE} {READING}")
    separable = "separable" if proof["answer"] == "Separable" else "not separable"
    culprits = json.loads(Path("proof.json").read_text()).get("culprits")
    why = f": {len(culprits)} rows contradict each other" if culprits else ""
    print(f"\n$ rosenblatt prove {TABLE} -o proof.json {READING.replace('--date', CONTINUED, 1)}")
    print(f"  The classes are {separable} by a hyperplane{why}.")
    print(f"  The proof {'holds' if checked['holds'] else 'does not hold'}, checked in exact arithmetic.")

    print(f"\nReport, to open in a browser: {Path('report.html').resolve()}")


if __name__ == "__main__":
    main()
