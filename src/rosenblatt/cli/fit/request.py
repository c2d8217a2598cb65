"""The request of ``rosenblatt fit``: the flags in groups, and one object of them all.

A new group of flags is one dataclass here, one field of :class:`FitRequest` and one parameter of the command.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rosenblatt.cli.errors import refuse, refuse_data
from rosenblatt.cli.flags import flag
from rosenblatt.cli.options import OUTPUT, RULES, HypothesisName
from rosenblatt.cli.output import note
from rosenblatt.learner.models.options import CLASSIFIERS, TrainingOptions, parse_parameters

if TYPE_CHECKING:
    from rosenblatt.data.options import ReadOptions

LEARNER, KERNEL, ESTIMATE, OUT_OF_CORE, ENGINE = "Learner", "Kernel", "Estimate", "Out of core", "Engine"


@dataclass(frozen=True)
class LearnerFlags:
    """What learns, and how."""

    task: Annotated[
        Literal["classification", "regression"] | None,
        flag("--task", group=LEARNER, help="Predict classes, or a number.", show_default="classification"),
    ] = None
    learner: Annotated[str, flag("--learner", group=LEARNER, help=f"One of {', '.join(CLASSIFIERS)}.")] = (
        "perceptron"
    )
    rule: Annotated[
        str | None,
        flag(
            "--rule",
            group=LEARNER,
            help=f"One of {', '.join(RULES)}.",
            show_default="passive-aggressive with C=0.1 for scaled columns, arow for text, else rosenblatt",
        ),
    ] = None
    eta: Annotated[float | None, flag("--eta", group=LEARNER, help="Learning rate of the rule.")] = None
    C: Annotated[
        float | None, flag("--C", group=LEARNER, help="Largest step of a passive-aggressive rule.")
    ] = None
    param: Annotated[
        list[str] | None,
        flag(
            "--param",
            group=LEARNER,
            metavar="NAME=VALUE",
            help="Any parameter of the rule or the learner, such as beta=2; may be repeated.",
        ),
    ] = None
    map: Annotated[
        Literal["quadratic"] | None,
        flag("--map", group=LEARNER, help="Add the squares and the pairwise products of all features."),
    ] = None
    hypothesis: Annotated[
        HypothesisName | None,
        flag(
            "--hypothesis", group=LEARNER, help="The hypothesis that predicts.",
            show_default="averaged; last for regression",
        ),
    ] = None  # fmt: skip
    passes: Annotated[
        int | None,
        flag(
            "--passes",
            "--max-iter",
            group=LEARNER,
            help="Largest number of passes; training ends earlier after a pass without an update.",
            show_default="10; up to 20 for small scaled tables; 50 for regression",
        ),
    ] = None
    seed: Annotated[
        int | None,
        flag(
            "--seed", group=LEARNER, rare=True, help="Seed of the shuffle and of the random hypothesis.",
            show_default="0",
        ),
    ] = None  # fmt: skip
    no_shuffle: Annotated[
        bool,
        flag("--no-shuffle", group=LEARNER, rare=True, help="Visit the rows in the order of the file."),
    ] = False
    multi_class: Annotated[
        Literal["joint", "ovr"] | None,
        flag(
            "--multi-class",
            group=LEARNER,
            rare=True,
            help="Three or more classes: the true class against its best rival, or each class against the rest.",
            show_default="joint",
        ),
    ] = None
    no_intercept: Annotated[
        bool,
        flag(
            "--no-intercept", group=LEARNER, rare=True,
            help="Learn no bias: boundaries pass through the origin.",
        ),
    ] = False  # fmt: skip
    ledger: Annotated[
        Literal["none", "memory", "save"] | None,
        flag(
            "--ledger",
            group=LEARNER,
            rare=True,
            help="Where to record updates: nowhere (last and averaged only), in memory, or in the model file too.",
            show_default="memory",
        ),
    ] = None
    beta: Annotated[float | None, flag("--beta", hidden=True, help="Now --param beta=VALUE.")] = None
    no_ledger: Annotated[bool, flag("--no-ledger", hidden=True, help="Now --ledger none.")] = False
    save_ledger: Annotated[bool, flag("--save-ledger", hidden=True, help="Now --ledger save.")] = False


@dataclass(frozen=True)
class KernelFlags:
    """Parameters of the kernel perceptron."""

    kernel: Annotated[
        Literal["poly", "rbf", "linear"] | None,
        flag("--kernel", group=KERNEL, help="Kernel of --learner kernel.", show_default="poly"),
    ] = None
    degree: Annotated[
        float | None, flag("--degree", group=KERNEL, help="Degree of a polynomial kernel.", show_default="2")
    ] = None
    gamma: Annotated[float | None, flag("--gamma", group=KERNEL, help="Factor inside a kernel.")] = None
    coef0: Annotated[
        float | None,
        flag("--coef0", group=KERNEL, rare=True, help="Constant of a polynomial kernel.", show_default="1"),
    ] = None
    delta: Annotated[
        float | None,
        flag(
            "--delta",
            group=KERNEL,
            rare=True,
            help="Add delta² to the diagonal of the Gram matrix: K + delta²I.",
        ),
    ] = None
    budget: Annotated[
        float | None,
        flag("--budget", group=KERNEL, rare=True, help="Largest number of support rows of a kernel model."),
    ] = None
    forget: Annotated[
        Literal["oldest", "random", "project"] | None,
        flag(
            "--forget", group=KERNEL, rare=True, help="Which support row is removed when the budget is full.",
            show_default="oldest",
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True)
class EstimateFlags:
    """How well the model does on rows it did not learn from, and the choice of a learner by such rows."""

    auto: Annotated[
        bool,
        flag(
            "--auto",
            group=ESTIMATE,
            help="Choose rule, parameters, hypothesis, map and kernel by cross-validation; estimate on other rows.",
        ),
    ] = False
    test: Annotated[
        str | None,
        flag(
            "--test",
            group=ESTIMATE,
            metavar="SOURCE",
            help="Estimate on this file instead of rows of SOURCE; it is not learned from.",
        ),
    ] = None
    folds: Annotated[
        int | None,
        flag(
            "--folds", group=ESTIMATE, metavar="N", help="Number of cross-validation folds of the estimate.",
            show_default="5; on large data one fifth is held out",
        ),
    ] = None  # fmt: skip
    holdout: Annotated[
        float | None,
        flag(
            "--holdout",
            group=ESTIMATE,
            metavar="SHARE",
            help="Estimate on this share of the rows, such as 0.2, instead of folds.",
        ),
    ] = None
    groups: Annotated[
        str | None,
        flag(
            "--groups",
            group=ESTIMATE,
            metavar="COLUMN",
            help="Keep rows with the same value of this column, such as a patient, in one fold. It is not a feature.",
        ),
    ] = None
    time_order: Annotated[
        bool,
        flag(
            "--time-order",
            group=ESTIMATE,
            help="Rows are in time order: train on earlier rows, estimate on later ones.",
        ),
    ] = False
    no_estimate: Annotated[
        bool, flag("--no-estimate", group=ESTIMATE, help="Do not estimate, and fit no probabilities.")
    ] = False
    certify: Annotated[
        float | None,
        flag(
            "--certify",
            group=ESTIMATE,
            metavar="CONFIDENCE",
            help="Never train on a fifth of the rows; bound the error on new rows with this confidence (0.95).",
        ),
    ] = None

    @property
    def specified(self) -> list[str]:
        """The options that mean nothing to a fit out of core or on an engine."""
        flags = {
            "--auto": self.auto,
            "--folds": self.folds,
            "--holdout": self.holdout,
            "--groups": self.groups,
            "--time-order": self.time_order,
            "--certify": self.certify,
        }
        return [name for name, value in flags.items() if value]


@dataclass(frozen=True)
class OutOfCoreFlags:
    """How a source that memory does not hold is read."""

    memory: Annotated[
        str | None,
        flag(
            "--memory",
            group=OUT_OF_CORE,
            metavar="SIZE",
            help="Memory limit, such as 2GB; a larger source is read in passes, out of core.",
            show_default="half of the memory",
        ),
    ] = None
    out_of_core: Annotated[
        bool,
        flag(
            "--out-of-core",
            group=OUT_OF_CORE,
            help="Read the source in passes and hold no rows in memory, whatever its size.",
        ),
    ] = False
    no_cache: Annotated[
        bool,
        flag(
            "--no-cache", group=OUT_OF_CORE, rare=True, help="Do not store the parsed rows for the next run."
        ),
    ] = False
    no_measure: Annotated[
        bool,
        flag(
            "--no-measure",
            group=OUT_OF_CORE,
            rare=True,
            help="Do not read all rows once more to measure margin, bound and accuracy on them.",
        ),
    ] = False
    hash_bits: Annotated[
        int,
        flag(
            "--hash-bits", group=OUT_OF_CORE, rare=True, metavar="N",
            help="Hash names into 2^N features; 0 keeps every name.",
        ),
    ] = 0  # fmt: skip
    every: Annotated[
        int | None,
        flag(
            "--every",
            group=OUT_OF_CORE,
            rare=True,
            metavar="ROWS",
            help="Report after this many rows of a pass.",
        ),
    ] = None

    @property
    def specified(self) -> list[str]:
        """The options that mean nothing to a fit in memory or on an engine."""
        flags = {"--every": self.every, "--hash-bits": self.hash_bits, "--no-measure": self.no_measure}
        return [name for name, value in flags.items() if value]


@dataclass(frozen=True)
class EngineFlags:
    """Where shards are learned from side by side."""

    engine: Annotated[
        Literal["local", "dask", "spark"] | None,
        flag("--engine", group=ENGINE, help="Train on shards in parallel: in threads, on Dask, or on Spark."),
    ] = None
    cluster: Annotated[
        str | None,
        flag(
            "--cluster",
            group=ENGINE,
            rare=True,
            metavar="ADDRESS",
            help="Address of the cluster, such as tcp://host:8786 or spark://host:7077.",
            show_default="one on this machine",
        ),
    ] = None
    checkpoint: Annotated[
        str | None,
        flag(
            "--checkpoint",
            group=ENGINE,
            rare=True,
            metavar="FILE",
            help="Save every pass here, and continue from the last pass saved.",
        ),
    ] = None


@dataclass(frozen=True)
class OutputFlags:
    """What is written, and where."""

    model: Annotated[
        str | None, flag("--model", "-m", group=OUTPUT, metavar="FILE", help="Write the model here.")
    ] = None
    report: Annotated[
        str | None,
        flag(
            "--report",
            group=OUTPUT,
            metavar="FILE",
            help="Write one HTML page with tables and pictures here.",
        ),
    ] = None
    trace: Annotated[
        str | None,
        flag(
            "--trace",
            group=OUTPUT,
            metavar="FILE",
            help="Write every update to this CSV file, with the weights before and after it; - prints a table.",
        ),
    ] = None
    json: Annotated[bool, flag("--json", group=OUTPUT, help="Print JSON instead of a table.")] = False


@dataclass(frozen=True)
class FitRequest:
    """All options of a fit."""

    source: str
    reading: "ReadOptions"
    training: TrainingOptions
    estimate: EstimateFlags
    out_of_core: OutOfCoreFlags
    engine: EngineFlags
    output: OutputFlags
    task_given: bool = False  # --task was written out: no other task is suggested
    reading_arguments: tuple[str, ...] = ()  # the options of reading, as they would be typed


def refuse_many_numbers(request: FitRequest, different: int | None = None, way_out: str = "") -> None:
    """Refuse to take each of many different numbers for a class, unless ``--task classification`` says so."""
    if request.task_given:
        return
    many = "many" if different is None else f"{different:,}"
    name = request.reading.target
    target, other = (f"target {name!r}", ", name another column with --target") if name else ("target", "")
    refuse_data(
        f"{request.source}: the {target} holds {many} different numbers: learn to predict them with --task regression"
        f"{way_out}{other}, or take each as a class with --task classification"
    )


def training_options(learner: LearnerFlags, kernel: KernelFlags) -> TrainingOptions:
    """Return what the learner and kernel flags ask for; old spellings are translated with a warning."""
    ledger = learner.ledger
    for old, value in ((learner.no_ledger, "none"), (learner.save_ledger, "save")):
        if old:
            note(f"--{'no' if value == 'none' else 'save'}-ledger is now --ledger {value}")
            if ledger not in (None, value):
                refuse(f"--ledger {ledger} and --ledger {value} contradict each other: keep one")
            ledger = value  # type: ignore[assignment]
    if learner.beta is not None:
        note(f"--beta {learner.beta:g} is now --param beta={learner.beta:g}")
    numbers = {name: getattr(learner, name) for name in ("eta", "C", "beta")}
    numbers |= {name: getattr(kernel, name) for name in ("degree", "gamma", "coef0", "delta", "budget")}
    if learner.learner != "kernel":
        own = [f"--{name}" for name in ("kernel", "forget", "degree", "gamma", "coef0", "delta", "budget")
               if getattr(kernel, name) is not None]  # fmt: skip
        if own:
            refuse(f"{', '.join(own)}: options of --learner kernel, which was not chosen")
    values: dict[str, Any] = {
        "rule": learner.rule,
        "hypothesis": learner.hypothesis,
        "passes": learner.passes,
        "shuffle": False if learner.no_shuffle else None,
        "seed": learner.seed,
        "multi_class": learner.multi_class,
        "fit_intercept": False if learner.no_intercept else None,
        "ledger": ledger,
        "map": learner.map,
        "kernel": kernel.kernel,
        "forget": kernel.forget,
    }
    values = {name: value for name, value in values.items() if value is not None}
    parameters = {name: value for name, value in numbers.items() if value is not None}
    return TrainingOptions(
        learner=learner.learner,
        parameters=parameters | parse_parameters(learner.param),
        task=learner.task or "classification",
        specified=frozenset(values),
        **values,
    )


def check_estimate(request: FitRequest) -> None:
    """Refuse options that contradict each other."""
    flags = request.estimate
    chosen = [
        f"--{name}" for name in ("test", "folds", "holdout", "certify") if getattr(flags, name) is not None
    ]
    if flags.no_estimate and (chosen or flags.groups or flags.time_order):
        refuse(
            "--no-estimate contradicts " + ", ".join(chosen or ["--groups and --time-order"]) + ": keep one"
        )
    if len(chosen) > 1:
        refuse(f"{' and '.join(chosen)} are different ways to estimate: keep one")
    if flags.auto:
        options = sorted(request.training.specified) + sorted(request.training.parameters)
        if request.training.task == "regression" or request.training.learner != "perceptron":
            refuse("--auto chooses among classifiers: leave out --task and --learner")
        if {*options} - {"seed", "ledger"}:
            refuse(f"--auto chooses {', '.join(options)} itself: leave them out")
        if flags.folds or flags.holdout or flags.no_estimate:
            refuse("--auto holds out a fifth of the rows: leave out --folds, --holdout and --no-estimate")
    if flags.groups and flags.time_order:
        refuse("--groups and --time-order divide the rows differently: keep one")
    if flags.groups and (flags.holdout or flags.certify):
        refuse("--groups divides rows into folds: leave out --holdout and --certify")
    if flags.folds is not None and flags.folds < 2:
        refuse(f"--folds must be 2 or more, got {flags.folds}")
    if flags.holdout is not None and not 0.0 < flags.holdout < 1.0:
        refuse(f"--holdout must be between 0 and 1, got {flags.holdout:g}")
    if flags.certify is not None and not 0.5 <= flags.certify < 1.0:
        refuse(f"--certify takes a confidence from 0.5 to below 1, such as 0.95, got {flags.certify:g}")
    if flags.certify is not None and request.training.task == "regression":
        refuse("--certify bounds the error of classes: leave out --task regression")


def refuse_without_rows(flags: EstimateFlags, where: str) -> None:
    """Refuse options of the estimate where rows are not held in memory."""
    if flags.specified:
        refuse(
            f"{', '.join(flags.specified)}: rows are not held in memory, so none can be held out; {where}, or give "
            "--test FILE. Without these options the figure is that of the first pass"
        )
