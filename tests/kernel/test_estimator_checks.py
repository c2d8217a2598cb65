"""scikit-learn's own checks, with no failure expected."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt.kernel import KernelPerceptron
from rosenblatt.rules import PassiveAggressive


@parametrize_with_checks(
    [
        KernelPerceptron(),
        KernelPerceptron("rbf", gamma="scale", hypothesis="voted", multi_class="ovr"),
        KernelPerceptron("linear", fit_intercept=True, rule=PassiveAggressive(C=0.1), hypothesis="pocket"),
        KernelPerceptron("precomputed", hypothesis="last", fit_intercept=True),
        KernelPerceptron("rbf", gamma="scale", budget=60, forget="project"),
    ]
)
def test_estimator(estimator, check):
    check(estimator)
