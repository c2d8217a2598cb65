"""``fit --trace``: every update as a line, to a CSV file or as a table."""

import csv
from typing import TYPE_CHECKING, Any

from rosenblatt.cli.errors import refuse
from rosenblatt.cli.reading import Rows

if TYPE_CHECKING:
    from rosenblatt.learner.models import Model

MOST_WEIGHTS = 4  # bias and weights shown in a table; the file holds all of them
MOST_UPDATES = 200  # shown in a table


def write_trace(path: str, model: "Model", rows: Rows, as_json: bool) -> dict[str, Any]:
    """Write the updates of a run, and return where they are and how their rows are counted."""
    from rosenblatt.learner.history import updates_of

    if model.learner.ledger is None:
        refuse("--trace: this rule records no updates of weights; choose another --rule")
    names = rows.schema.feature_names or [f"x{j}" for j in range(1, model.n_features + 1)]
    updates = updates_of(model.learner)
    header = ["update", "clock", "row", "line", "label", "class", "score", "tau"]
    counting = {"rows_counted": "from 1, in the order of the file"}
    if path == "-" and as_json:
        records = [_record(each, rows) for each in updates]
        return {"file": path, **counting, "weights": ["bias", *names], "updates": records}
    if path == "-":
        _print_table(updates, rows, names)
        total = len(model.learner.ledger)
    else:
        import io

        from rosenblatt.storage import replacing

        total = 0
        with replacing(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(
                [*header, *(f"{name} {when}" for when in ("before", "after") for name in ("bias", *names))]
            )
            for each in updates:
                total = each.update
                place = [each.update, f"{each.clock:g}", each.row, rows.where(each.row - 1)]
                writer.writerow(
                    [*place, each.label, each.of_class, each.score, each.tau, *each.before, *each.after]
                )
            text.flush()
            text.detach()
    return {"file": path, **counting, "updates": total}


def _record(update: Any, rows: Rows) -> dict[str, Any]:
    """Return an update as JSON holds it."""
    fields = {**update._asdict(), "line": rows.where(update.row - 1)}
    fields |= {"class": fields.pop("of_class")}
    return fields | {when: fields[when].tolist() for when in ("before", "after")}


def _print_table(updates: Any, rows: Rows, names: list[str]) -> None:
    """Print the first updates with their first weights."""
    from itertools import islice

    from rich.text import Text

    from rosenblatt.cli.output import columns, number, show

    shown = [*islice(updates, MOST_UPDATES + 1)]
    several = any(each.of_class != shown[0].of_class for each in shown)
    table = columns(
        "clock", "row", "line", "label", *(["class"] if several else []), "score", "w before", "w after"
    )
    for each in shown[:MOST_UPDATES]:
        weights = [
            " ".join(number(value) for value in vector[:MOST_WEIGHTS])
            + (" …" if len(vector) > MOST_WEIGHTS else "")
            for vector in (each.before, each.after)
        ]
        cells = [f"{each.clock:g}", f"{each.row}", f"{rows.where(each.row - 1)}", each.label]
        cells += [each.of_class] if several else []
        table.add_row(*(Text(cell) for cell in (*cells, number(each.score), *weights)))
    order = ", ".join(["bias", *names[: MOST_WEIGHTS - 1]])
    more = ["more updates follow: name a file with --trace FILE"] if len(shown) > MOST_UPDATES else []
    about = f"every update; rows count from 1 in the order of the file; weights are {order}"
    show(Text(about, style="dim"), table, *(Text(line, style="dim") for line in more), "")
