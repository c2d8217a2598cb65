"""``fit`` on what memory holds: all rows are read, then learned from."""

import csv
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rosenblatt.cli.errors import refuse, refuse_data
from rosenblatt.cli.fit.estimate import (
    Estimated,
    calibration_in,
    certified,
    estimate_by_rows,
    estimate_by_test,
    held_out_rows,
)
from rosenblatt.cli.fit.report import Fitted, Stopwatch, report_of, save_model
from rosenblatt.cli.fit.request import FitRequest, refuse_many_numbers
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import Rows, note_unseen_labels, part_of, read, read_to_train
from rosenblatt.cli.signals import Interruptible
from rosenblatt.learner.models import Model, trainer
from rosenblatt.learner.models.options import is_scaled, with_default_rule

if TYPE_CHECKING:
    from rosenblatt.learner.models import TrainingOptions

MOST_WEIGHTS = 4  # bias and weights shown in a table of --trace; the file holds all of them
MOST_UPDATES = 200  # that it shows
PROOF_SECONDS = 5.0  # that the report of a model may take to decide whether the rows are separable


def fit_in_memory(request: FitRequest) -> dict[str, Any]:
    """Train on all rows at once, estimate on rows not learned from, write files, and return the report."""
    output, flags = request.output, request.estimate
    with Progress() as progress:
        watch = Stopwatch()
        progress.update(f"reading {request.source}")
        rows = _without_groups(request)
        _check_target(rows, request)
        request = replace(request, training=request.training._replace(standardised=is_scaled(rows.schema)))
        if not flags.auto:
            traced, scale = output.trace is not None, request.reading.scale
            training = with_default_rule(request.training, rows.schema, traced, scale=scale, rows=rows.y.size)
            request = replace(request, training=training)
        groups = _groups(request, rows) if flags.groups else None
        test_rows = None
        if flags.test is not None:
            progress.update(f"reading {flags.test}")
            test_rows = read(flags.test, request.reading, rows.schema)
            if test_rows.y is None:
                refuse_data(f"{flags.test}: has no target column to score against")
        elif flags.certify is not None:
            held = held_out_rows(request, rows)
            every_row, rows = rows, part_of(rows, (~held).nonzero()[0])
            held_rows = part_of(every_row, held.nonzero()[0], rows)
        watch.lap("read")
        chosen, estimated = None, None
        if flags.auto:
            from rosenblatt.cli.fit.auto import choose_and_estimate, choose_training

            if flags.test is None and flags.certify is None:
                chosen, estimated = choose_and_estimate(request, rows, progress, groups)
            else:
                chosen = choose_training(request, rows, progress, groups)
            request = replace(request, training=chosen.training)
        model, interrupted = _train(request.training, rows, progress)
        watch.lap("learn")
        fitted = Fitted(model, rows.schema, rows.about(), {}, interrupted=interrupted, columns=rows.columns)
        if chosen is not None:
            fitted.more["auto"] = chosen.report
            fitted.metadata |= chosen.metadata
        if estimated is None and not (flags.no_estimate or interrupted):
            if flags.certify is not None:
                estimated = certified(request, model, rows, held_rows, progress)
            else:
                estimated = estimate_by_rows(request, rows, groups, progress)
        if estimated is not None:
            fitted.metadata |= estimated.metadata
        save_model(request, fitted)
        progress.update("scoring")
        fitted.train = _scores(model, rows)
        fitted.class_counts = _class_counts(model, rows)
        if test_rows is not None:
            fitted.test = _test(model, test_rows)
            fitted.test_scores = _scores(model, test_rows)
            calibration = None if estimated is None else calibration_in(estimated.metadata)
            estimated = estimate_by_test(model, test_rows, calibration)
        if estimated is not None:
            fitted.more["estimate"] = estimated.report
    watch.lap("score")
    fitted.seconds = watch.seconds
    report = report_of(request, fitted)
    if output.report is not None:
        _write_report(request, fitted, rows, estimated)
        report["report"] = output.report
    if output.trace is not None:
        report["trace"] = _write_trace(output.trace, model, rows, output.json)
    return report


def _without_groups(request: FitRequest) -> Rows:
    """Read the rows to learn from; the column of groups is no feature."""
    options = request.reading
    if request.estimate.groups is not None:
        options = options.changed(drop=(*options.drop, request.estimate.groups))
    return read_to_train(request.source, options)


def _groups(request: FitRequest, rows: Rows) -> Any:
    """Return the group of every row: the column is read as if it were the target."""
    options = request.reading.changed(target=request.estimate.groups, drop=())
    column = read(request.source, options)
    if column.y is None or column.lines.tolist() != rows.lines.tolist():
        refuse_data(
            f"{request.source}: column {request.estimate.groups!r} has rows without a value: "
            "fill them, or leave out --groups"
        )
    return column.y


def _write_report(request: FitRequest, fitted: Fitted, rows: Rows, estimated: "Estimated | None") -> None:
    """Write the HTML page: summary, columns, weights, errors on new rows, probabilities, proof and training."""
    from pathlib import PurePath

    import numpy as np

    from rosenblatt.learner.estimate import Bound
    from rosenblatt.plots.report import HeldOut, write_report

    about: dict[str, Any] = {}
    mapped = getattr(fitted.model, "mapped", lambda X: X)
    feature_names = rows.schema.feature_names
    if request.training.map and feature_names is not None:
        from rosenblatt.data.tables.preprocess import quadratic_names

        feature_names = quadratic_names(feature_names)
    if estimated is not None and estimated.figures is not None:
        about["estimate"] = estimated.figures
        numbers = None if estimated.rows is None else rows.lines[estimated.rows]
        labels, predicted = np.asarray(estimated.labels), np.asarray(estimated.predicted)
        about["held_out"] = HeldOut(labels, predicted, estimated.probabilities, numbers)
        certificate = estimated.report.get("certificate")
        if certificate is not None:
            fields = {name: certificate[name] for name in Bound._fields}
            about["certificate"] = Bound(**fields)
    if fitted.model.classes is not None and fitted.model.classes.size == 2:
        about["proof"] = _proof(mapped(rows.X), rows.y)
    write_report(
        str(request.output.report),
        PurePath(request.source).name if not request.source.startswith("sample:") else request.source,
        model=fitted.model.learner,
        X=mapped(rows.X),
        y=rows.y,
        columns=rows.columns,
        feature_names=feature_names,
        **about,
    )


def _proof(X: Any, y: Any) -> Any:
    """Return a proof that the rows, as they are learned from, are separable or not; None where it takes too long."""
    from rosenblatt.proofs import separability

    proof = separability(X, y, time_limit=PROOF_SECONDS)
    return None if type(proof).__name__ == "Undecided" else proof


def _train(options: "TrainingOptions", rows: Rows, progress: Progress) -> tuple[Model, bool]:
    """Return the trained model, and whether an interrupt ended its training."""
    progress.update("learning", 0, options.max_iter)
    with Interruptible() as interrupt:

        def on_pass(done: int, message: str) -> bool:
            progress.update(message, done, options.max_iter)
            return not interrupt.requested

        model = trainer(options)(options, rows.X, rows.y, rows.weight, on_pass)
    return model, interrupt.requested


def _check_target(rows: Rows, request: FitRequest) -> None:
    """Refuse a target that the task cannot learn, and suggest regression where the target is measured."""
    y = rows.y
    if y is None:
        refuse_data(f"{rows.source}: has no labels to learn from")
    name = getattr(rows.schema, "target", None)
    target = f"target {name!r}" if name else "target"
    if request.training.task == "regression":
        if y.dtype.kind not in "iuf":
            refuse_data(
                f"{rows.source}: the {target} holds {str(y[0])!r}, which is not a number: leave out --task regression"
            )
        return
    labels = set(y[:1000].tolist())
    if len(labels) < 2 and (y == y[0]).all():
        refuse_data(f"{rows.source}: only one class, {y[0].item()!r}: a boundary needs two to lie between")
    if not request.task_given and rows.measured_target:
        reading = request.reading.changed(target=name)
        refuse_many_numbers(replace(request, reading=reading), len(set(y.tolist())))


def _class_counts(model: Model, rows: Rows) -> dict[str, int | None] | None:
    """Return how many rows there are of each class; None of a regression."""
    if model.classes is None:
        return None
    import numpy as np

    from rosenblatt.cli.scoring import codes_of

    counts = np.bincount(codes_of(rows.y, model.classes), minlength=model.classes.size)
    return dict(zip(map(str, model.classes.tolist()), counts.tolist(), strict=True))


def _scores(model: Model, rows: Rows) -> dict[str, dict[str, Any]]:
    """Score every hypothesis; where only some rows were scored, say how many."""
    from rosenblatt.cli.scoring import accuracy_of, codes_of, regression_errors

    if model.classes is None:
        return regression_errors(model, rows)
    codes = codes_of(rows.y, model.classes)
    return {
        name: accuracy_of(model, name, rows.X, codes, all_rows=name == model.hypothesis)._asdict()
        for name in model.hypotheses()
    }


def _test(model: Model, rows: Rows) -> dict[str, Any]:
    """Describe the test rows, and note labels that training never saw."""
    if model.classes is None:
        return rows.about()
    from rosenblatt.cli.scoring import codes_of, unseen_labels

    unseen = unseen_labels(rows.y, codes_of(rows.y, model.classes))
    note_unseen_labels(rows.source, unseen, model.classes)
    return {**rows.about(), **({"unseen_labels": unseen} if unseen else {})}


def _write_trace(path: str, model: "Model", rows: Rows, as_json: bool) -> dict[str, Any]:
    """Write the updates of a run to a CSV file or as a table; return where they are and how their rows are counted."""
    from rosenblatt.learner.history import updates_of

    if model.learner.ledger is None:
        refuse("--trace: this rule records no updates of weights; choose another --rule")
    names = rows.schema.feature_names or [f"x{j}" for j in range(1, model.n_features + 1)]
    updates = updates_of(model.learner)
    header = ["update", "clock", "row", "line", "label", "class", "score", "tau"]
    counting = {"rows_counted": "from 1, in the order of the file"}
    if path == "-" and as_json:
        records = [_update_record(each, rows) for each in updates]
        return {"file": path, **counting, "weights": ["bias", *names], "updates": records}
    if path == "-":
        _print_updates(updates, rows, names)
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


def _update_record(update: Any, rows: Rows) -> dict[str, Any]:
    """Return an update as JSON holds it."""
    fields = {**update._asdict(), "line": rows.where(update.row - 1)}
    fields |= {"class": fields.pop("of_class")}
    return fields | {when: fields[when].tolist() for when in ("before", "after")}


def _print_updates(updates: Any, rows: Rows, names: list[str]) -> None:
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
