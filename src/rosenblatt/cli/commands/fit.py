"""``rosenblatt fit``: learn from a file, and say what was learned."""

from typing import Annotated, Any, Literal

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.reading import read_options, refuse_overwriting
from rosenblatt.cli.signals import end_interrupted, nothing_saved
from rosenblatt.learner.models import LEARNERS, Options, trainer
from rosenblatt.rules import BY_NAME


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
    trainer(learner)  # one that is not there is told first
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
    if every is not None and every < 1:
        refuse(f"--every must be 1 or more, got {every}")
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
    reading = read_options(
        target=target,
        format=format,
        zero_based=zero_based,
        skip_bad=skip_bad,
        header=header,
        text=text,
        scale=scale,
    )
    if engine is not None:
        from rosenblatt.cli.fit.engine import OnEngine, fit_on_engine

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
    with nothing_saved(model):
        if _out_of_core(source, learner, memory, out_of_core):
            from rosenblatt.cli.fit.stream import Streaming, fit_on_stream

            if report_file is not None:
                refuse("--report draws the rows it was trained on: it needs them in memory")
            streaming = Streaming(test, memory, not no_cache, every, json, hash_bits, not no_measure)
            report = fit_on_stream(source, reading, asked, streaming, model, save_ledger)
        elif every is not None or hash_bits or no_measure:
            refuse(
                "--every, --hash-bits and --no-measure belong to a fit out of core: ask for it with --out-of-core"
            )
        else:
            from rosenblatt.cli.fit.memory import fit_in_memory

            report = fit_in_memory(source, reading, asked, test, model, save_ledger, report_file)
    _print(report, json, lines=every is not None)


def _out_of_core(source: str, learner: str, memory: str | None, asked: bool) -> bool:
    """Whether the rows are read in passes: asked for, or there is no room for them."""
    from rosenblatt.cli.fit.stream import too_large

    if learner == "perceptron":
        return asked or too_large(source, memory)
    if asked or (memory is not None and too_large(source, memory)):
        refuse(
            f"--learner {learner} holds all rows in memory"
            + (": drop --out-of-core" if asked else f", more than --memory {memory} has room for: allow more")
        )
    return False


def _print(report: dict[str, Any], json: bool, lines: bool = False) -> None:
    """Print a report, as one line of JSON where other lines came before; an interrupted fit has its own exit code."""
    if json:
        from rosenblatt.cli.output import print_json

        print_json(report, indent=None if lines else 1)
    else:
        from rosenblatt.cli.fit.report import show

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
