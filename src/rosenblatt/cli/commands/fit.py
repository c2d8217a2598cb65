"""``rosenblatt fit``: learn from a file, and report how it went."""

from dataclasses import replace
from typing import Any

from rosenblatt.cli import options as opt
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.fit.request import (
    EngineFlags,
    EstimateFlags,
    FitRequest,
    KernelFlags,
    LearnerFlags,
    OutOfCoreFlags,
    OutputFlags,
    check_estimate,
    refuse_without_rows,
    training_options,
)
from rosenblatt.cli.flags import arguments_of
from rosenblatt.cli.reading import refuse_overwriting, scale_by_default
from rosenblatt.cli.signals import end_interrupted, nothing_saved


def fit(
    source: opt.Source,
    data: opt.DataFlags,
    learner: LearnerFlags,
    kernel: KernelFlags,
    estimate: EstimateFlags,
    out_of_core: OutOfCoreFlags,
    engine: EngineFlags,
    output: OutputFlags,
) -> None:
    """Train a model on a file, and report how good it is.

    \b
    Examples:
      rosenblatt fit sample:breast-cancer
      rosenblatt fit weather.csv --target Play --model m.safetensors
      rosenblatt fit train.svm --test test.svm --rule passive-aggressive --C 0.1
      rosenblatt fit houses.csv --target price --task regression
      rosenblatt fit data.csv --learner naive-bayes --report report.html
      rosenblatt fit sample:circles --learner kernel --kernel rbf --no-scale
      rosenblatt fit sample:circles --map quadratic
      rosenblatt fit and.csv --no-scale --no-shuffle --trace -
      rosenblatt fit 'data/*.parquet' --target y --engine local

    Numeric columns of a table are standardised, so radius, margin and bound hold in the scaled space; --no-scale takes
    them as they are.
    """
    from rosenblatt.learner.models.options import learner_for

    training = training_options(learner, kernel)
    reading = data.read_options(classes=learner.task != "regression")
    request = FitRequest(
        source,
        reading,
        training,
        estimate,
        out_of_core,
        engine,
        output,
        learner.task is not None,
        tuple(arguments_of(data)),
    )
    _check(request)
    takes_scaled = learner_for(training).scale and not out_of_core.hash_bits
    scale = scale_by_default(source, reading, data.scale, takes_scaled)
    report = _run(replace(request, reading=reading.changed(scale=scale)))
    _print(report, output.json, lines=out_of_core.every is not None)


def _check(request: FitRequest) -> None:
    """Refuse what cannot be done together, before any work."""
    output, training = request.output, request.training
    every = request.out_of_core.every
    if every is not None and every < 1:
        refuse(f"--every must be 1 or more, got {every}")
    if training.ledger == "save" and output.model is None:
        refuse("--ledger save writes the ledger into the model file: name one with --model FILE")
    if output.trace is not None and training.ledger == "none":
        refuse("--trace is read from the ledger: leave out --ledger none")
    if output.trace is not None and (training.learner != "perceptron" or training.task == "regression"):
        who = "a regression" if training.task == "regression" else training.learner
        refuse(f"--trace: {who} records no updates of weights; only --learner perceptron does")
    if training.map is not None and (output.trace is not None or request.out_of_core.out_of_core):
        refuse(
            "--map quadratic holds mapped rows in memory and has no --trace: leave out --out-of-core and --trace"
        )
    check_estimate(request)
    if request.engine.engine is not None:
        from rosenblatt.cli.fit.engine import check_engine

        check_engine(request)
    for path in (output.model, output.report, output.trace):
        if path not in (None, "-"):
            refuse_overwriting(str(path), request.source, request.estimate.test)


def _run(request: FitRequest) -> dict[str, Any]:
    """Train in memory, out of core or on an engine, and return the report."""
    output, engine = request.output, request.engine
    if engine.engine is not None:
        from rosenblatt.cli.fit.engine import fit_on_engine

        if output.report or output.trace or request.training.ledger == "save":
            refuse("--report, --trace and --ledger save need the rows in one process: leave out --engine")
        if request.out_of_core.specified:
            refuse(
                f"{', '.join(request.out_of_core.specified)}: for fits out of core only; leave out --engine"
            )
        refuse_without_rows(request.estimate, "leave out --engine")
        return fit_on_engine(request)
    if engine.cluster is not None or engine.checkpoint is not None:
        refuse("--cluster and --checkpoint are options of --engine: name one")
    with nothing_saved(output.model):
        if _out_of_core(request):
            from rosenblatt.cli.fit.stream import fit_on_stream

            if output.report is not None or output.trace is not None:
                refuse("--report and --trace need the rows in memory: leave out --out-of-core and --memory")
            refuse_without_rows(request.estimate, "leave out --out-of-core and --memory")
            return fit_on_stream(request)
        if request.out_of_core.specified:
            refuse(
                f"{', '.join(request.out_of_core.specified)}: for fits out of core only; add --out-of-core"
            )
        from rosenblatt.cli.fit.memory import fit_in_memory

        return fit_in_memory(request)


def _out_of_core(request: FitRequest) -> bool:
    """Return whether the rows are read in passes: on request, or because memory does not hold them."""
    from rosenblatt.cli.fit.stream import too_large
    from rosenblatt.learner.models.options import learner_for

    flags, training = request.out_of_core, request.training
    if learner_for(training).out_of_core and training.map is None:
        return flags.out_of_core or too_large(request.source, flags.memory)
    who = "--task regression" if training.task == "regression" else f"--learner {training.learner}"
    who = "--map quadratic" if training.map is not None else who
    if flags.out_of_core:
        refuse(f"{who} holds all rows in memory: leave out --out-of-core")
    if flags.memory is not None and too_large(request.source, flags.memory):
        refuse(f"{who} holds all rows in memory, which do not fit into --memory {flags.memory}: allow more")
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
