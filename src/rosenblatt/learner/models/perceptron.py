"""The perceptron with every rule: a :class:`~rosenblatt.learner.Learner` as a model."""

from collections.abc import Callable
from typing import Any

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.data.memory import memory_limit
from rosenblatt.data.tables.preprocess import features_before, quadratic, quadratic_size
from rosenblatt.data.textblocks import cores
from rosenblatt.learner import Learner
from rosenblatt.learner.examples import checked_examples
from rosenblatt.learner.models.options import TrainingOptions, rule_from

NAME = "perceptron"
NEEDS_LEDGER_IN_FILE = ("voted", "survivor", "random")  # the pocket is kept as weights


class PerceptronModel:
    """A trained learner, its predicting hypothesis, and the metadata of its file."""

    name = NAME

    def __init__(self, learner: Learner, hypothesis: str, about: dict[str, Any]) -> None:
        self.learner = learner
        self.classes = learner.classes
        self.map = str(about.get("map") or "")  # of the rows, before the learner reads them
        self.n_features = features_before(learner.n_features) if self.map else learner.n_features
        self.hypothesis = hypothesis
        self.about = about

    def hypotheses(self) -> tuple[str, ...]:
        """Return the hypotheses that this run, or this file, holds."""
        known = {"last", "averaged"}
        if self.learner.ledger is not None:
            known |= {"voted", "survivor", "random"}
        if self.learner.pocket is not None:
            known.add("pocket")
        return tuple(name for name in hypotheses.NAMES if name in known)

    def cost(self, hypothesis: str) -> int:
        """Return the number of updates for a vote, which visits each of them for every row."""
        return self.learner.updates if hypothesis == "voted" else 0

    def scores(self, X: Any, hypothesis: str) -> Any:
        """Return the scores of every row."""
        return self.learner.scores(self.mapped(X), hypothesis)

    def mapped(self, X: Any) -> Any:
        """Return rows as the learner reads them."""
        return quadratic(X) if self.map else X

    def weights(self, hypothesis: str) -> Any:
        """Return the weights of a hypothesis that has them, of the mapped features."""
        return self.learner.weights(hypothesis)

    def facts(self) -> dict[str, Any]:
        """Return rule, passes, mistakes, and margin and bound of the predicting hypothesis."""
        learner = self.learner
        evaluation = learner.evaluations.get(self.hypothesis)
        return {
            "rule": rules.to_dict(learner.rule),
            "map": self.map or None,
            "multi_class": learner.multi_class if learner.classes.size > 2 else None,
            "fit_intercept": bool(learner.bias_input),
            "passes": len(learner.epochs),
            "clock": learner.clock,
            "mistakes": [epoch.mistakes for epoch in learner.epochs],
            "n_mistakes": learner.mistakes,
            "updates": learner.updates,
            "converged": learner.converged,
            "radius": learner.radius,
            "margin": evaluation.margin if evaluation else None,
            "bound": evaluation.bound if evaluation else None,
        }

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Write the file; with the ledger on request, or where the hypothesis is read from it."""
        needed = self.hypothesis in NEEDS_LEDGER_IN_FILE
        from rosenblatt.learner.files import save_learner

        save_learner(self.learner, path, about={**self.about, **about}, ledger=ledger or needed)


def train(
    options: TrainingOptions, X: Any, y: Any, weight: Any, on_pass: Callable[[int, str], bool]
) -> PerceptronModel:
    """Train as ``Perceptron(...).fit(X, y, weight)`` does, and call ``on_pass(pass, words)`` after every pass."""
    hypothesis = hypotheses.check_name(options.hypothesis or "averaged")
    learner = new_learner(options)
    if options.map:
        check_map(X)
    examples = checked_examples(quadratic(X) if options.map else X, y, weight)
    learner.train_checked(
        examples._replace(standardised=options.standardised),
        max_iter=options.max_iter,
        shuffle=options.shuffle,
        on_epoch=lambda epoch: on_pass(epoch.number, f"pass {epoch.number}: {epoch.mistakes:,} mistakes"),
        threads=cores(),
    )
    return PerceptronModel(learner, hypothesis, about_training(options, learner, hypothesis))


def about_training(options: TrainingOptions, learner: Learner, hypothesis: str) -> dict[str, Any]:
    """Return the metadata by which ``Perceptron.load`` reads the file too."""
    return {
        "estimator": "Perceptron",
        "hypothesis": hypothesis,
        **({"map": options.map} if options.map else {}),
        "parameters": {
            "max_iter": options.max_iter,
            "shuffle": options.shuffle,
            "warm_start": False,
            "keep_ledger": learner.ledger is not None,
        },
        "n_iter": len(learner.epochs),
    }


def check_map(X: Any) -> None:
    """Refuse a quadratic map of rows that memory does not hold."""
    mapped = quadratic_size(X.shape[1])
    if X.shape[0] * mapped * 8 > memory_limit() // 4:
        raise ValueError(
            f"--map quadratic makes {mapped:,} features of {X.shape[1]:,}, too many for {X.shape[0]:,} rows in memory: "
            "use --learner kernel --kernel poly --degree 2, or fewer columns"
        )


def new_learner(options: TrainingOptions) -> Learner:
    """Return an untrained learner with these options."""
    if options.hypothesis in hypotheses.FROM_THE_LEDGER and not options.keep_ledger:
        raise ValueError(
            f"--hypothesis {options.hypothesis} is read from the ledger: leave out --ledger none"
        )
    learner = Learner(
        rule_from(options.rule, options.parameters),
        multi_class=options.multi_class,
        fit_intercept=options.fit_intercept,
        keep_ledger=options.keep_ledger,
        seed=options.seed,
    )
    if options.hypothesis in hypotheses.FROM_THE_LEDGER and learner.ledger is None:
        raise ValueError(
            f"--hypothesis {options.hypothesis} is read from the ledger, which --rule {options.rule} does not keep: "
            "choose last or averaged"
        )
    return learner


def load(path: str) -> PerceptronModel:
    """Read a file written by ``fit`` or by ``Perceptron.save``."""
    from rosenblatt.learner.files import load_learner
    from rosenblatt.storage import BadModel

    learner, about = load_learner(path)
    try:
        hypothesis = hypotheses.check_name(str(about.get("hypothesis", "averaged")))
    except ValueError as error:
        raise BadModel(f"{path}: {error}") from error
    return PerceptronModel(learner, hypothesis, about)
