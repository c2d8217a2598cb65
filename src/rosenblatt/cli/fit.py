"""``rosenblatt fit``: learn from a file, and say what was learned."""

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.interrupts import Interruptible, end_interrupted
from rosenblatt.cli.learners import LEARNERS, Model, Options, trainer
from rosenblatt.cli.progress import Progress
from rosenblatt.cli.reading import Reading, Rows, note_unseen_labels, read, refuse_overwriting
from rosenblatt.cli.telling import refuse
from rosenblatt.rules import BY_NAME

if TYPE_CHECKING:
    from rosenblatt.cli.scoring import Accuracy


def fit(
    source: opt.Source,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="SOURCE", help="Score on this too; nothing is learned from it."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="FILE", help="Write the model here.")
    ] = None,
    target: opt.Target = None,
    learner: Annotated[str, typer.Option("--learner", help=f"One of {', '.join(LEARNERS)}.")] = "perceptron",
    rule: Annotated[
        str | None, typer.Option("--rule", help=f"One of {', '.join(BY_NAME)}.", show_default="rosenblatt")
    ] = None,
    eta: Annotated[
        float | None, typer.Option("--eta", help="Learning rate of the rule, 0 < eta <= 1.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option("--beta", help="Margin that the rule 'margin' asks for.")
    ] = None,
    C: Annotated[float | None, typer.Option("--C", help="Largest step of a passive-aggressive rule.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="Any other parameter of the rule or the learner."),
    ] = None,
    kernel: Annotated[
        Literal["poly", "rbf", "linear"] | None,
        typer.Option("--kernel", help="Of --learner kernel.", show_default="poly"),
    ] = None,
    degree: Annotated[
        float | None, typer.Option("--degree", help="Of a polynomial kernel.", show_default="2")
    ] = None,
    gamma: Annotated[float | None, typer.Option("--gamma", help="Factor inside a kernel.")] = None,
    coef0: Annotated[
        float | None, typer.Option("--coef0", help="Constant of a polynomial kernel.", show_default="1")
    ] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", help="A coordinate of its own for every row: K + delta²I.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", help="The most rows that a kernel model may remember.")
    ] = None,
    forget: Annotated[
        Literal["oldest", "random", "project"] | None,
        typer.Option("--forget", help="What goes when the budget is full.", show_default="oldest"),
    ] = None,
    hypothesis: Annotated[
        opt.HypothesisName | None,
        typer.Option("--hypothesis", help="What the model predicts by.", show_default="averaged"),
    ] = None,
    passes: Annotated[
        int,
        typer.Option("--passes", "--max-iter", help="Stop at a pass without an update, or after so many."),
    ] = 10,
    no_shuffle: Annotated[
        bool, typer.Option("--no-shuffle", help="Visit the rows in the order of the file.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of the shuffle and of the random hypothesis.")] = 0,
    multi_class: Annotated[
        Literal["joint", "ovr"],
        typer.Option(
            "--multi-class", help="Three or more classes: against the best rival, or each for itself."
        ),
    ] = "joint",
    no_intercept: opt.NoIntercept = False,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Do not record updates: less memory, only last and averaged.")
    ] = False,
    save_ledger: Annotated[
        bool,
        typer.Option(
            "--save-ledger", help="Write the ledger into the model, so that every hypothesis survives."
        ),
    ] = False,
    skip_bad: opt.SkipBad = False,
    format: opt.InputFormat = None,
    header: opt.Header = None,
    text: opt.TextColumns = None,
    scale: opt.Scale = False,
    zero_based: opt.ZeroBased = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Use no more than this, as in 2GB: a larger source is read in passes, out of core.",
            show_default="half of what there is",
        ),
    ] = None,
    out_of_core: Annotated[
        bool, typer.Option("--out-of-core", help="Read in passes and hold no rows, whatever the size.")
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep nothing for the next run of what was read out of core.")
    ] = False,
    no_measure: Annotated[
        bool,
        typer.Option(
            "--no-measure",
            help="Out of core: do not read all rows once more to measure margin, bound and accuracy on them.",
        ),
    ] = False,
    hash_bits: Annotated[
        int,
        typer.Option("--hash-bits", help="Out of core: hash names into 2^N features; 0 keeps every name."),
    ] = 0,
    every: Annotated[
        int | None,
        typer.Option("--every", metavar="ROWS", help="Out of core: report after so many rows of a pass."),
    ] = None,
    engine: Annotated[
        Literal["local", "dask", "spark"] | None,
        typer.Option("--engine", help="Learn on shards side by side: threads here, Dask, or Spark."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Of the engine, as in tcp://host:8786 or spark://host:7077; one on this machine by default.",
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Of an engine: keep every pass here, and go on from what is there.",
        ),
    ] = None,
    report_file: opt.Report = None,
    json: opt.AsJson = False,
) -> None:
    """Learn from a file, and say how it went.

    \b
    Examples:
      rosenblatt fit sample:breast-cancer
      rosenblatt fit train.svm --test test.svm --model m.safetensors
      rosenblatt fit weather.csv --target Play --rule passive-aggressive --C 0.1
      rosenblatt fit train.csv --passes 50 --hypothesis voted --json
      rosenblatt fit data.csv --learner naive-bayes --report report.html
      rosenblatt fit sample:circles --learner kernel --kernel poly --degree 2
      rosenblatt fit 'data/*.parquet' --target y --engine dask --cluster tcp://host:8786
    """
    train = trainer(learner)
    asked = Options(
        learner=learner,
        rule=rule,
        parameters=_parameters(
            {"eta": eta, "beta": beta, "C": C, "degree": degree, "gamma": gamma}
            | {"coef0": coef0, "delta": delta, "budget": budget},
            param,
        ),
        hypothesis=hypothesis,
        passes=passes,
        shuffle=not no_shuffle,
        seed=seed,
        multi_class=multi_class,
        fit_intercept=not no_intercept,
        keep_ledger=not no_ledger,
        kernel=kernel,
        forget=forget,
    )
    if learner != "kernel" and (kernel or forget):
        refuse("--kernel and --forget belong to --learner kernel")
    if save_ledger and (no_ledger or model is None):
        refuse(
            "--save-ledger writes the ledger into --model FILE: "
            + ("drop --no-ledger" if no_ledger else "name one")
        )
    for written in (model, report_file):
        if written is not None:
            refuse_overwriting(written, source, test)
    reading = Reading(target, format, zero_based, skip_bad, header, tuple(text or ()), scale)
    if engine is not None:
        from rosenblatt.cli.fit_on_engine import OnEngine, fit_on_engine

        if report_file is not None or save_ledger:
            refuse("--report and --save-ledger need the rows in one process: drop --engine")
        if every is not None or hash_bits or no_measure:
            refuse("--every, --hash-bits and --no-measure belong to a fit out of core: drop --engine")
        _print(
            fit_on_engine(source, reading, asked, OnEngine(engine, cluster, checkpoint), test, model), json
        )
        return
    if cluster is not None or checkpoint is not None:
        refuse("--cluster and --checkpoint belong to --engine: name one")
    from rosenblatt.cli.streamed_fit import Streaming, fit_on_stream, too_large

    if learner == "perceptron" and (out_of_core or too_large(source, memory)):
        if report_file is not None:
            refuse("--report draws the rows it was trained on: it needs them in memory")
        streaming = Streaming(test, memory, not no_cache, every, json, hash_bits, not no_measure)
        streamed = fit_on_stream(source, reading, asked, streaming, model, save_ledger)
        _print(streamed, json, lines=every is not None)
        return
    if every is not None or hash_bits or no_measure:
        refuse(
            "--every, --hash-bits and --no-measure belong to a fit out of core: ask for it with --out-of-core"
        )
    with Progress() as progress:
        started = time.perf_counter()
        progress.tell(f"reading {source}")
        rows = read(source, reading)
        _check_classes(rows)
        held_out = None
        if test is not None:
            progress.tell(f"reading {test}")
            held_out = read(test, reading, rows.schema)
            if held_out.y is None:
                refuse(f"{test}: has no target column to score against")
        read_at = time.perf_counter()
        progress.tell("learning", 0, passes)
        with Interruptible() as interrupt:

            def on_pass(done: int, words: str) -> bool:
                progress.tell(words, done, passes)
                return not interrupt.asked

            trained = train(asked, rows.X, rows.y, rows.weight, on_pass)
        trained_at = time.perf_counter()
        if model is not None:
            about = {
                "learner": learner,
                "schema": rows.schema.to_dict(),
                "feature_names": rows.schema.feature_names,
            }
            trained.save(model, about, save_ledger)
        progress.tell("scoring")
        report = _report(trained, rows, held_out)
    report["interrupted"] = interrupt.asked
    if model is not None:
        report["model"] = model
    report["seconds"] = {
        "read": round(read_at - started, 6),
        "learn": round(trained_at - read_at, 6),
        "score": round(time.perf_counter() - trained_at, 6),
    }
    if report_file is not None:
        from rosenblatt.plots.report import write_report

        write_report(
            report_file,
            source,
            model=trained.learner,
            X=rows.X,
            y=rows.y,
            feature_names=rows.schema.feature_names,
        )
        report["report"] = report_file
    _print(report, json)


def _print(report: dict[str, Any], json: bool, lines: bool = False) -> None:
    """Print a report, as one line of JSON where other lines came before; an interrupted fit has its own exit code."""
    if json:
        from rosenblatt.cli.drawing import print_json

        print_json(report, indent=None if lines else 1)
    else:
        from rosenblatt.cli.fit_report import show

        show(report)
    if report["interrupted"]:
        end_interrupted(report)


def _parameters(flags: dict[str, float | None], more: list[str] | None) -> dict[str, float]:
    given = {name: value for name, value in flags.items() if value is not None}
    for text in more or []:
        name, _, value = text.partition("=")
        try:
            given[name.strip()] = float(value)
        except ValueError:
            refuse(f"--param {text!r} is not NAME=VALUE with a number, as in --param C=0.1")
    return given


def _check_classes(rows: Rows) -> None:
    if rows.y is None:
        refuse(f"{rows.source}: has no labels to learn from")
    labels = set(rows.y[:1000].tolist())
    if len(labels) < 2 and (rows.y == rows.y[0]).all():
        refuse(f"{rows.source}: only one class, {rows.y[0].item()!r}: a boundary needs two to lie between")


def _report(trained: Model, rows: Rows, test: Rows | None) -> dict[str, Any]:
    """Put together what is printed, as JSON holds it."""
    import numpy as np

    from rosenblatt.cli.scoring import codes_of, unseen_labels

    codes = codes_of(rows.y, trained.classes)
    report: dict[str, Any] = {
        **rows.about(),
        "features": trained.n_features,
        "classes": dict(zip(map(str, trained.classes.tolist()), np.bincount(codes).tolist(), strict=True)),
        "learner": trained.name,
        "hypothesis": trained.hypothesis,
        **trained.facts(),
    }
    report["accuracy"] = {"train": _accuracies(trained, rows.X, codes)}
    if test is None:
        return report
    test_codes = codes_of(test.y, trained.classes)
    unseen = unseen_labels(test.y, test_codes)
    note_unseen_labels(test.source, unseen, trained.classes)
    report["test"] = {**test.about(), **({"unseen_labels": unseen} if unseen else {})}
    report["accuracy"]["test"] = _accuracies(trained, test.X, test_codes)
    return report


def _accuracies(trained: Model, X: Any, codes: Any) -> dict[str, dict[str, Any]]:
    """Score every hypothesis; where only some rows were looked at, say how many."""
    from rosenblatt.cli.scoring import accuracy_of

    found: dict[str, Accuracy] = {
        name: accuracy_of(trained, name, X, codes, asked=name == trained.hypothesis)
        for name in trained.hypotheses()
    }
    return {name: each._asdict() for name, each in found.items()}
