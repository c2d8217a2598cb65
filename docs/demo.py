"""What rosenblatt is for, on one screen: ``make demo``. Each part names the command that shows it in full."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from rosenblatt.cli.app import app

TABLE = "examples/data/loans.csv"
# A proof leaves nothing to guess.
READ = "--id loan --date opened --numeric income --numeric rate --decimal . --missing mean"
WIDTH = 60  # of what is said of a column


def answer(command: str) -> dict[str, Any]:
    """Run a command with --json, and return its answer."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        app([*command.split(), "--json"], prog_name="rosenblatt", standalone_mode=False)
    return json.loads(output.getvalue())


def main() -> None:
    """Fit the table, choose a learner, decide separability and check the proof."""
    fit = answer(f"fit {TABLE} --auto --report report.html")
    print(f"{fit['rows']} rows of {TABLE}. $ rosenblatt fit {TABLE} --auto --report report.html\n")
    print("How the columns were read")
    for column in fit["columns"]:
        missing = f", {column['missing']} missing" if column["missing"] else ""
        print(f"  {column['name']:<14}{column['kind']:<11}{(column['summary'] + missing)[:WIDTH]}")

    estimate, chosen = fit["estimate"], fit["auto"]
    low, high = (f"{100 * estimate[end]:.0f}%" for end in ("low", "high"))
    print("\nHow good it is on rows that it did not learn from")
    print(
        f"  model     {100 * estimate['accuracy']:.1f}% right (95% interval {low} to {high}; {estimate['how']})"
    )
    print(
        f"  majority  {100 * estimate['majority_accuracy']:.1f}% by always answering {estimate['majority']}"
    )
    print(
        f"  chosen    {chosen['chosen']}, {chosen['hypothesis']} hypothesis, of {len(chosen['tried'])} tried"
    )

    proof = answer(f"prove {TABLE} {READ} -o proof.json")
    checked = answer(f"verify proof.json {TABLE} {READ}")
    holds = "holds" if checked["holds"] else "does not hold"
    print("\nWhether a hyperplane separates the classes")
    print(
        f"  {'yes' if proof['answer'] == 'Separable' else 'no'}; the proof in proof.json {holds} in exact arithmetic"
    )
    if culprits := json.loads(Path("proof.json").read_text()).get("culprits"):
        print(f"  a weighted average of one class equals one of the other ({len(culprits)} rows)")
    print(f"  $ rosenblatt verify proof.json {TABLE} {READ}")

    print(f"\nA page to send on: {Path('report.html').resolve().as_uri()}")


if __name__ == "__main__":
    main()
