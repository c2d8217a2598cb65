"""``rosenblatt evaluate``: how well a model does on labelled rows."""

from typing import Any

from rosenblatt.cli import options as opt
from rosenblatt.cli.commands.predict import known_hypothesis
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.output import counted
from rosenblatt.cli.reading import Rows, note_unseen_labels, read_for, read_options
from rosenblatt.cli.regression import regression_report, show_regression
from rosenblatt.learner.models import Model, load

WIDEST = 12  # classes whose confusions are drawn as a square; of more, the commonest are listed
MOST_CONFUSIONS = 10


def evaluate(
    model: opt.ModelFile,
    source: opt.Source,
    hypothesis: opt.Hypothesis = None,
    target: opt.ModelTarget = None,
    format: opt.InputFormat = None,
    zero_based: opt.ZeroBased = None,
    skip_bad: opt.SkipBad = False,
    json: opt.AsJson = False,
) -> None:
    """Score a model on a labelled file.

    \b
    Examples:
      rosenblatt evaluate m.safetensors test.svm
      rosenblatt evaluate m.safetensors test.csv --hypothesis pocket
      rosenblatt evaluate m.safetensors test.csv --json

    A vote of many hypotheses is expensive: on large files 'voted' is scored on rows spread evenly over the
    file, unless --hypothesis voted asks for all of them. A label that training never saw counts as wrong.
    """
    trained = load(model)
    chosen = known_hypothesis(trained, model, hypothesis)
    rows = read_for(
        trained, source, read_options(target=target, format=format, zero_based=zero_based, skip_bad=skip_bad)
    )
    if rows.y is None:
        refuse(f"{source}: has no target column to score against: name it with --target")
    told = _report if trained.classes is not None else regression_report
    report = {"model": model, **told(trained, chosen, rows)}
    if json:
        from rosenblatt.cli.output import print_json

        print_json(report)
    else:
        (_show if trained.classes is not None else show_regression)(report)


def _report(trained: Model, chosen: str, rows: Rows) -> dict[str, Any]:
    import numpy as np

    from rosenblatt.cli.scoring import accuracy_of, codes_of, named, torn, unseen_labels

    codes = codes_of(rows.y, trained.classes)
    unseen = unseen_labels(rows.y, codes)
    note_unseen_labels(rows.source, unseen, trained.classes)
    scores = trained.scores(rows.X, chosen)
    found = named(scores, trained.classes.size)
    classes = [str(label) for label in trained.classes.tolist()]
    truths = [*classes, *unseen]  # labels that training never saw have rows of their own
    truth = np.where(codes >= 0, codes, 0)
    strange = codes < 0
    truth[strange] = len(classes) + np.unique(rows.y[strange], return_inverse=True)[1].reshape(-1)
    confusion = np.zeros((len(truths), len(classes)), dtype=np.int64)
    np.add.at(confusion, (truth, found), 1)
    accuracies = {
        name: accuracy_of(trained, name, rows.X, codes, asked=name == chosen)._asdict()
        for name in trained.hypotheses()
    }
    return {
        **rows.about(),
        **({"unseen_labels": unseen} if unseen else {}),
        "hypothesis": chosen,
        "accuracy": accuracies[chosen]["accuracy"],
        "undecided": int(torn(scores).sum()),
        "hypotheses": accuracies,
        "classes": _per_class(confusion, classes),
        "confusion": {"truth": truths, "predicted": classes, "counts": confusion.tolist()},
    }


def _per_class(confusion: Any, classes: list[str]) -> dict[str, dict[str, Any]]:
    """Return precision and recall of every class; none where nothing was predicted or there was nothing to find."""
    told = {}
    for k, name in enumerate(classes):
        right, predicted, there = (
            int(n) for n in (confusion[k, k], confusion[:, k].sum(), confusion[k].sum())
        )
        told[name] = {
            "rows": there,
            "predicted": predicted,
            "precision": right / predicted if predicted else None,
            "recall": right / there if there else None,
        }
    return told


def _show(report: dict[str, Any]) -> None:
    from rich.text import Text

    from rosenblatt.cli.output import columns, facts, share, show, title

    summary = [
        ("model", report["model"]),
        ("rows", f"{report['rows']:,}"),
        ("accuracy", f"{share(report['accuracy'])} ({report['hypothesis']})"),
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
    found = columns("class", "rows", "precision", "recall")
    for name, each in report["classes"].items():
        precision, recall = share(each["precision"]) or "-", share(each["recall"]) or "-"
        found.add_row(Text(name), f"{each['rows']:,}", precision, recall)
    show(title(report["source"]), facts(summary), "", scored, "", found, "", _confusions(report["confusion"]))


def _confusions(confusion: dict[str, Any]) -> Any:
    """Draw the confusions: a square of few classes, a list of the commonest of many."""
    from rich.text import Text

    from rosenblatt.cli.output import columns

    truths, predicted, counts = confusion["truth"], confusion["predicted"], confusion["counts"]
    if len(predicted) <= WIDEST:
        table = columns("is \\ called", *predicted)
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
