"""Which options each learner takes, and the one parser of rules and their parameters."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

KERNEL_PARAMETERS = ("degree", "gamma", "coef0", "delta", "budget", "tolerance", "bias")
FLAGS = {  # options of training, and how the command line spells them
    "rule": "--rule",
    "hypothesis": "--hypothesis",
    "passes": "--passes",
    "shuffle": "--no-shuffle",
    "seed": "--seed",
    "multi_class": "--multi-class",
    "fit_intercept": "--no-intercept",
    "ledger": "--ledger",
    "map": "--map",
    "kernel": "--kernel",
    "forget": "--forget",
}
ONLINE = frozenset({"hypothesis", "passes", "shuffle", "seed"})
PASSES, MOST_PASSES, ENOUGH_VISITS = 10, 20, 50_000  # of a table by default, see passes_for


class LearnerEntry(NamedTuple):
    """A learner: its module, the options it takes, its own parameters, whether it also takes those of its rule."""

    module: str
    options: frozenset[str] = frozenset()
    parameters: tuple[str, ...] = ()
    rule_parameters: bool = False
    out_of_core: bool = False
    engine: bool = True
    task: str = "classification"
    scale: bool = True  # whether numeric columns of a table are standardised by default
    text_rule: str | None = None  # the default rule where rows have words of a text; None: as of other rows
    table_rule: str | None = None  # the default rule of standardised columns
    table_parameters: Mapping[str, float] = {}  # of that rule


LEARNERS: dict[str, LearnerEntry] = {
    "perceptron": LearnerEntry(
        "rosenblatt.learner.models.perceptron",
        ONLINE | {"rule", "multi_class", "fit_intercept", "ledger", "map"},
        rule_parameters=True,
        out_of_core=True,
        text_rule="arow",
        table_rule="passive-aggressive",
        table_parameters={"C": 0.1},
    ),
    "centroid": LearnerEntry("rosenblatt.learner.models.sums", parameters=("shrink_threshold",)),
    "naive-bayes": LearnerEntry(
        "rosenblatt.learner.models.sums", parameters=("smoothing", "binarize"), scale=False
    ),
    "multinomial-bayes": LearnerEntry(
        "rosenblatt.learner.models.sums", parameters=("smoothing",), scale=False
    ),
    "logistic": LearnerEntry(
        "rosenblatt.learner.models.logistic", ONLINE | {"fit_intercept"}, parameters=("eta", "lam")
    ),
    "kernel": LearnerEntry(
        "rosenblatt.learner.models.kernel",
        ONLINE | {"rule", "multi_class", "kernel", "forget"},
        parameters=KERNEL_PARAMETERS,
        rule_parameters=True,
        engine=False,
    ),
    "real": LearnerEntry(
        "rosenblatt.learner.models.regression",
        ONLINE | {"fit_intercept"},
        parameters=("eta",),
        engine=False,
        task="regression",
    ),
}
TASKS = ("classification", "regression")
CLASSIFIERS = tuple(name for name, entry in LEARNERS.items() if entry.task == "classification")


class TrainingOptions(NamedTuple):
    """What training is asked for; ``specified`` names the options that are not defaults."""

    learner: str = "perceptron"
    parameters: Mapping[str, float] = {}
    rule: str | None = None
    hypothesis: str | None = None
    passes: int | None = None  # None: the learner's own number
    shuffle: bool = True
    seed: int = 0
    multi_class: str = "joint"
    fit_intercept: bool = True
    ledger: str = "memory"  # none, memory or save
    map: str | None = None  # "quadratic": learn from every feature and every product of two
    kernel: str | None = None
    forget: str | None = None
    task: str = "classification"
    standardised: bool = False  # the rows were standardised before
    specified: frozenset[str] = frozenset()

    @property
    def keep_ledger(self) -> bool:
        """Whether updates are recorded."""
        return self.ledger != "none"

    @property
    def max_iter(self) -> int:
        """The most passes over the rows."""
        return self.passes if self.passes is not None else 50 if self.task == "regression" else PASSES


def passes_for(rows: int) -> int:
    """Return the default number of passes over a table: 10, and up to 20 where they are fewer than 50,000 visits.

    >>> [passes_for(rows) for rows in (100, 2500, 3000, 5000, 1_000_000)]
    [20, 20, 16, 10, 10]
    """
    return max(PASSES, min(MOST_PASSES, ENOUGH_VISITS // max(1, rows)))


def learner_for(options: TrainingOptions) -> LearnerEntry:
    """Return the entry of the learner, after a check that it takes every option that was given.

    >>> learner_for(TrainingOptions("centroid", passes=3, specified=frozenset({"passes"})))
    Traceback (most recent call last):
    ...
    ValueError: --learner centroid takes no --passes: it takes --param shrink_threshold
    """
    name = "real" if options.task == "regression" else options.learner
    if options.learner not in CLASSIFIERS:
        raise ValueError(f"--learner is {options.learner!r}: expected one of {', '.join(CLASSIFIERS)}")
    if options.task == "regression" and options.learner != "perceptron":
        raise ValueError(
            f"--task regression: {options.learner} learns classes; leave out --learner, or choose perceptron"
        )
    entry = LEARNERS[name]
    who = "--task regression" if name == "real" else f"--learner {name}"
    for option, flag in FLAGS.items():
        if option in options.specified and option not in entry.options:
            known = [FLAGS[each] for each in FLAGS if each in entry.options]
            known += [f"--param {each}" for each in entry.parameters]
            raise ValueError(f"{who} takes no {flag}: it takes {', '.join(known) or 'no options'}")
    if options.max_iter < 1:
        raise ValueError(f"--passes must be 1 or more, got {options.passes}")
    if entry.rule_parameters:
        rule_from(options.rule, options.parameters, other=entry.parameters)
    else:
        _check_names(who, options.parameters, entry.parameters)
    return entry


def with_default_rule(
    options: TrainingOptions, schema: Any, ledger: bool = False, *, scale: bool = False, rows: int = 0
) -> TrainingOptions:
    """Return options with the default rule for rows of this schema, where neither a rule nor a parameter was named.

    Rows with words of a text are learned by AROW, standardised columns by the passive-aggressive rule, others by
    Rosenblatt's. Standardised columns are passed over as often as their number of rows asks for (:func:`passes_for`; 20
    times where it is not known). With ``scale`` columns that are numbers were to be standardised, and a table of
    categories has none.
    AROW has no ledger: a hypothesis that is read from it, or a ledger that is asked for, keeps Rosenblatt's.

    >>> from rosenblatt.data import NamedSchema
    >>> with_default_rule(TrainingOptions(), NamedSchema(("free",), text=("body",))).rule
    'arow'
    """
    entry = LEARNERS["real" if options.task == "regression" else options.learner]
    if options.rule is not None or options.parameters:
        return options
    wants_ledger = ledger or ("ledger" in options.specified and options.keep_ledger)
    wants_ledger = wants_ledger or options.hypothesis not in (None, "last", "averaged")
    if has_text(schema):
        return options if wants_ledger or entry.text_rule is None else options._replace(rule=entry.text_rule)
    table = is_scaled(schema) or (scale and bool(getattr(schema, "columns", ())))
    if entry.table_rule is not None and table:
        passes = passes_for(rows) if options.passes is None else options.passes
        return options._replace(rule=entry.table_rule, parameters=entry.table_parameters, passes=passes)
    return options


def is_scaled(schema: Any) -> bool:
    """Return whether features were standardised."""
    if getattr(getattr(schema, "preprocessing", None), "spread", None) is not None:
        return True
    return any(getattr(column, "scale", None) is not None for column in getattr(schema, "columns", ()))


def has_text(schema: Any) -> bool:
    """Return whether rows of a schema hold words of a text."""
    columns = getattr(schema, "columns", ())
    weighed = getattr(schema, "documents", 0) or getattr(schema, "text", ())
    return bool(weighed) or any(column.words is not None for column in columns)


def rule_from(
    name: str | None,
    parameters: Mapping[str, float],
    other: tuple[str, ...] = (),
    default: str = "rosenblatt",
) -> Any:
    """Return the named rule with its parameters; those in ``other`` are not the rule's and are ignored.

    Without a name, a parameter ``C`` selects the passive-aggressive rule.

    >>> rule_from("passive-aggressive", {"C": 0.5})
    PassiveAggressive(C=0.5)
    >>> rule_from("rosenblatt", {"C": 2.0})
    Traceback (most recent call last):
    ...
    ValueError: --rule rosenblatt has no parameter C: it has eta
    """
    from rosenblatt import rules  # imports numpy, which the table of learners does without

    name = name or ("passive-aggressive" if "C" in parameters and "C" not in other else default)
    if name not in rules.BY_NAME:
        raise ValueError(f"--rule is {name!r}: expected one of {', '.join(rules.BY_NAME)}")
    cls = rules.BY_NAME[name]
    own = {key: value for key, value in parameters.items() if key not in other}
    _check_names(f"--rule {name}", own, (*cls._fields, *other))
    return rules.resolve(cls(**own))


def parse_parameters(texts: Iterable[str] | None) -> dict[str, float]:
    """Return parameters that are written as NAME=VALUE.

    >>> parse_parameters(["C=0.5", "eta=1"])
    {'C': 0.5, 'eta': 1.0}
    """
    parameters: dict[str, float] = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        try:
            parameters[name.strip()] = float(value)
        except ValueError:
            raise ValueError(
                f"--param {text!r} is not NAME=VALUE with a number, as in --param C=0.1"
            ) from None
    return parameters


def _check_names(who: str, parameters: Mapping[str, float], known: tuple[str, ...]) -> None:
    for name in parameters:
        if name not in known:
            raise ValueError(f"{who} has no parameter {name}: it has {', '.join(known) or 'none'}")
