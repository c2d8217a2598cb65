"""The kernel perceptron: a dual learner as a model."""

from collections.abc import Callable
from typing import Any

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.learner.kernel import KernelLearner, load_kernel_learner, save_kernel_learner
from rosenblatt.learner.models.options import KERNEL_PARAMETERS, TrainingOptions, rule_from
from rosenblatt.storage import BadModel

NEEDS_EVALUATION = ("survivor", "pocket", "random")  # measured only on request: one more read of every row
INTEGERS = ("degree", "budget", "bias")


class KernelModel:
    """A trained dual learner, its predicting hypothesis, and the metadata of its file."""

    name = "kernel"

    def __init__(self, learner: KernelLearner, hypothesis: str, about: dict[str, Any]) -> None:
        self.learner = learner
        self.classes = learner.classes
        self.n_features = learner.n_features
        self.hypothesis = hypothesis
        self.about = about

    def hypotheses(self) -> tuple[str, ...]:
        """Return the hypotheses that this run, or this file, holds."""
        known = {"last", "averaged"}
        if self.learner.ledger is not None and self.learner.budget is None:
            known |= {"voted", "survivor", "random"}
        known |= {self.hypothesis}
        return tuple(name for name in hypotheses.NAMES if name in known)

    def cost(self, hypothesis: str) -> int:
        """Return the number of support rows: each is compared with every row."""
        return self.learner.n_support

    def scores(self, X: Any, hypothesis: str) -> Any:
        """Return the scores of every row."""
        return self.learner.scores(X, hypothesis)

    def weights(self, hypothesis: str) -> Any:
        """Raise: a kernel model has support rows instead of weights."""
        raise ValueError("a kernel model has no weight for a feature: it is a sum over its support rows")

    def facts(self) -> dict[str, Any]:
        """Return kernel, rule, passes, mistakes, support, and margin and bound of the predicting hypothesis."""
        learner = self.learner
        evaluation = learner.evaluations.get(self.hypothesis)
        kernel, degree, gamma, coef0 = learner.kernel_parameters
        return {
            "kernel": {"name": kernel, "degree": degree, "gamma": gamma, "coef0": coef0},
            "rule": rules.to_dict(learner.rule),
            "multi_class": learner.multi_class if learner.classes.size > 2 else None,
            "passes": len(learner.epochs),
            "clock": learner.clock,
            "mistakes": [epoch.mistakes for epoch in learner.epochs],
            "n_mistakes": learner.mistakes,
            "updates": learner.updates,
            "support": learner.n_support,
            "converged": learner.converged,
            "radius": learner.radius,
            "margin": evaluation.margin if evaluation else None,
            "bound": evaluation.bound if evaluation else None,
        }

    def save(self, path: str, about: dict[str, Any], ledger: bool) -> None:
        """Write the file; the ledger is the model, so it is always there."""
        save_kernel_learner(self.learner, path, about={**self.about, **about})


def train(
    options: TrainingOptions, X: Any, y: Any, weight: Any, on_pass: Callable[[int, str], bool]
) -> KernelModel:
    """Train as ``KernelPerceptron(...).fit(X, y, weight)`` does."""
    hypothesis = hypotheses.check_name(options.hypothesis or "averaged")
    numbers = _numbers(options)
    learner = KernelLearner(
        rule_from(options.rule, options.parameters, other=KERNEL_PARAMETERS),
        kernel=options.kernel or "poly",
        forget=options.forget or "oldest",
        multi_class=options.multi_class,
        fit_intercept=bool(numbers.pop("bias", 0)),
        keep_ledger=options.keep_ledger,
        seed=options.seed,
        **numbers,
    )
    learner.train(
        X,
        y,
        max_iter=options.max_iter,
        shuffle=options.shuffle,
        standardised=options.standardised,
        sample_weight=weight,
        on_epoch=lambda epoch: on_pass(epoch.number, f"pass {epoch.number}: {epoch.mistakes:,} mistakes"),
        evaluate=hypothesis in NEEDS_EVALUATION,
    )
    about = {
        "estimator": "KernelPerceptron",  # so that KernelPerceptron.load reads it too
        "hypothesis": hypothesis,
        "normalise": False,
        "parameters": {"max_iter": options.max_iter, "shuffle": options.shuffle, "warm_start": False},
        "n_iter": len(learner.epochs),
    }
    return KernelModel(learner, hypothesis, about)


def load(path: str) -> KernelModel:
    """Read a file written by ``fit --learner kernel`` or by ``KernelPerceptron.save``."""
    learner, about = load_kernel_learner(path)
    try:
        hypothesis = hypotheses.check_name(str(about.get("hypothesis", "averaged")))
    except ValueError as error:
        raise BadModel(f"{path}: {error}") from error
    return KernelModel(learner, hypothesis, about)


def _numbers(options: TrainingOptions) -> dict[str, Any]:
    """Return the parameters that belong to the kernel."""
    numbers = {name: value for name, value in options.parameters.items() if name in KERNEL_PARAMETERS}
    for name in INTEGERS:
        if name in numbers and numbers[name] != int(numbers[name]):
            raise ValueError(f"{name} must be a whole number, got {numbers[name]:g}")
    return {name: int(value) if name in INTEGERS else value for name, value in numbers.items()}
