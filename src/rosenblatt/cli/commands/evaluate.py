"""``rosenblatt evaluate``: how well a model does on labelled rows."""

from typing import Any

from rosenblatt.cli import options as opt
from rosenblatt.cli.commands.predict import known_hypothesis
from rosenblatt.cli.errors import refuse_data
from rosenblatt.cli.output import counted
from rosenblatt.cli.reading import Rows, note_unseen_labels, read_for
from rosenblatt.learner.models import Model, load

WIDEST = 12  # classes whose confusions are drawn as a square; of more, the commonest are listed
MOST_CONFUSIONS = 10


def evaluate(
    model: opt.ModelFile,
    source: opt.Source,
    data: opt.ModelDataFlags,
    hypothesis: opt.Hypothesis = None,
    json: opt.AsJson = False,
) -> None:
    """Score a model on a labelled file.

    \b
    Examples:
      rosenblatt evaluate m.safetensors test.svm
      rosenblatt evaluate m.safetensors test.csv --hypothesis pocket
      rosenblatt evaluate m.safetensors test.csv --json

    A vote of many hypotheses is expensive: on large files 'voted' is scored on a sample of rows, spread evenly
    over the file, unless --hypothesis voted is given. A label that training never saw counts as an error.
    """
    trained = load(model)
    chosen = known_hypothesis(trained, model, hypothesis)
    rows = read_for(trained, source, data.read_options())
    if rows.y is None:
        refuse_data(f"{source}: has no target column to score against: name it with --target")
    describe = _report if trained.classes is not None else _regression_report
    report = {"model": model, **describe(trained, chosen, rows)}
    if json:
        from rosenblatt.cli.output import print_json

        print_json(report)
    else:
        (_show if trained.classes is not None else _show_regression)(report)


def _report(trained: Model, chosen: str, rows: Rows) -> dict[str, Any]:
    import numpy as np

    from rosenblatt.cli.scoring import accuracy_of, codes_of, named, torn, unseen_labels

    codes = codes_of(rows.y, trained.classes)
    unseen = unseen_labels(rows.y, codes)
    note_unseen_labels(rows.source, unseen, trained.classes)
    scores = trained.scores(rows.X, chosen)
    predicted = named(scores, trained.classes.size)
    classes = [str(label) for label in trained.classes.tolist()]
    truths = [*classes, *unseen]  # labels that training never saw have rows of their own
    truth = np.where(codes >= 0, codes, 0)
    strange = codes < 0
    truth[strange] = len(classes) + np.unique(rows.y[strange], return_inverse=True)[1].reshape(-1)
    confusion = np.zeros((len(truths), len(classes)), dtype=np.int64)
    np.add.at(confusion, (truth, predicted), 1)
    accuracies = {
        name: accuracy_of(trained, name, rows.X, codes, all_rows=name == chosen)._asdict()
        for name in trained.hypotheses()
    }
    return {
        **rows.about(),
        **({"unseen_labels": unseen} if unseen else {}),
        "hypothesis": chosen,
        "accuracy": accuracies[chosen]["accuracy"],
        **_probability_losses(trained, chosen, scores, codes),
        "undecided": int(torn(scores).sum()),
        "hypotheses": accuracies,
        "classes": _per_class(confusion, classes),
        "confusion": {"truth": truths, "predicted": classes, "counts": confusion.tolist()},
    }


def _probability_losses(trained: Model, chosen: str, scores: Any, codes: Any) -> dict[str, float]:
    """Return log loss and Brier score of the rows whose class is known, where the model gives probabilities."""
    from rosenblatt.learner.estimate import brier_score, log_loss
    from rosenblatt.learner.models.folds import probabilities_of

    known = codes >= 0
    probabilities = probabilities_of(trained, scores, chosen)
    if probabilities is None or not known.any():
        return {}
    return {
        "log_loss": log_loss(probabilities[known], codes[known]),
        "brier": brier_score(probabilities[known], codes[known]),
    }


def _per_class(confusion: Any, classes: list[str]) -> dict[str, dict[str, Any]]:
    """Return precision and recall of every class; none where nothing was predicted or there was nothing to find."""
    by_class = {}
    for k, name in enumerate(classes):
        right, called, present = (
            int(n) for n in (confusion[k, k], confusion[:, k].sum(), confusion[k].sum())
        )
        by_class[name] = {
            "rows": present,
            "predicted": called,
            "precision": right / called if called else None,
            "recall": right / present if present else None,
        }
    return by_class


def _show(report: dict[str, Any]) -> None:
    from rich.text import Text

    from rosenblatt.cli.output import columns, facts, share, show, title

    summary = [
        ("model", report["model"]),
        ("rows", f"{report['rows']:,}"),
        ("accuracy", f"{share(report['accuracy'])} ({report['hypothesis']})"),
        *(
            [("probabilities", f"log loss {share(report['log_loss'])}, Brier score {share(report['brier'])}")]
            if "log_loss" in report
            else []
        ),
        ("undecided", counted(report["undecided"], "row")),
    ]
    scored = columns("hypothesis", "accuracy", "")
    scored.columns[-1].justify = "left"
    for name, each in report["hypotheses"].items():
        some = each["rows"] < report["rows"]
        remark = "predicts" if name == report["hypothesis"] else f"on {each['rows']:,} rows" if some else ""
        style = "bold" if name == report["hypothesis"] else ""
        scored.add_row(
            Text(name, style=style),
            Text(share(each["accuracy"], roughly=some), style=style),
            Text(remark, style="dim"),
        )
    per_class = columns("class", "rows", "precision", "recall")
    for name, each in report["classes"].items():
        precision, recall = share(each["precision"]) or "-", share(each["recall"]) or "-"
        per_class.add_row(Text(name), f"{each['rows']:,}", precision, recall)
    show(
        title(report["source"]),
        facts(summary),
        "",
        scored,
        "",
        per_class,
        "",
        _confusions(report["confusion"]),
    )


def _confusions(confusion: dict[str, Any]) -> Any:
    """Draw the confusions: a square of few classes, a list of the commonest of many."""
    from rich.text import Text

    from rosenblatt.cli.output import columns

    truths, predicted, counts = confusion["truth"], confusion["predicted"], confusion["counts"]
    if len(predicted) <= WIDEST:
        table = columns("true \\ predicted", *predicted)
        for k, name in enumerate(truths):
            cells = [
                Text(f"{count:,}", style="bold" if place == k else "" if count else "dim")
                for place, count in enumerate(counts[k])
            ]
            table.add_row(Text(name), *cells)
        return table
    pairs = [
        (count, truths[k], predicted[place])
        for k, row in enumerate(counts)
        for place, count in enumerate(row)
        if count and place != k
    ]
    table = columns("is", "called", "rows")
    for count, truth, called in sorted(pairs, key=lambda pair: -pair[0])[:MOST_CONFUSIONS]:
        table.add_row(Text(truth), Text(called), f"{count:,}")
    return table


def _regression_report(trained: Model, chosen: str, rows: Rows) -> dict[str, Any]:
    from rosenblatt.cli.scoring import regression_errors

    errors = regression_errors(trained, rows)
    return {**rows.about(), "hypothesis": chosen, **errors[chosen], "hypotheses": errors}


def _show_regression(report: dict[str, Any]) -> None:
    from rich.text import Text

    from rosenblatt.cli.output import columns, facts, number, show, title

    summary = [
        ("model", report["model"]),
        ("rows", f"{report['rows']:,}"),
        ("R²", f"{number(report['r2'])} ({report['hypothesis']})"),
    ]
    table = columns("hypothesis", "MAE", "RMSE", "R²", "")
    table.columns[-1].justify = "left"
    for name, each in report["hypotheses"].items():
        predicts = name == report["hypothesis"]
        cells = [number(each[key]) for key in ("mae", "rmse", "r2")]
        style = "bold" if predicts else ""
        table.add_row(
            *(Text(cell, style=style) for cell in (name, *cells)),
            Text("predicts" if predicts else "", style="dim"),
        )
    show(title(report["source"]), facts(summary), "", table)
