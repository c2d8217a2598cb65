"""Which options a learner takes, and the one parser of rules."""

import pytest

from rosenblatt import rules
from rosenblatt.learner.models.options import FLAGS, LEARNERS, TrainingOptions, learner_for, rule_from

VALUES = {
    "rule": "margin",
    "passes": 3,
    "shuffle": False,
    "seed": 1,
    "multi_class": "ovr",
    "fit_intercept": False,
}


@pytest.mark.parametrize("name", [name for name, entry in LEARNERS.items() if entry.task == "classification"])
@pytest.mark.parametrize("option", FLAGS)
def test_an_option_is_taken_or_refused(name, option):
    options = TrainingOptions(name, specified=frozenset({option}), **{option: VALUES.get(option, "x")})
    if option in LEARNERS[name].options:
        assert learner_for(options) is LEARNERS[name]
    else:
        with pytest.raises(ValueError, match=f"--learner {name} takes no {FLAGS[option]}"):
            learner_for(options)


def test_a_regression_takes_no_rule_and_no_other_learner():
    with pytest.raises(ValueError, match="--task regression takes no --rule"):
        learner_for(TrainingOptions(task="regression", rule="margin", specified=frozenset({"rule"})))
    with pytest.raises(ValueError, match="centroid learns classes"):
        learner_for(TrainingOptions("centroid", task="regression"))


@pytest.mark.parametrize("name", rules.BY_NAME)
def test_a_rule_has_its_parameters_and_no_others(name):
    rule = rule_from(name, {})
    assert type(rule) is rules.BY_NAME[name]
    with pytest.raises(ValueError, match=f"--rule {name} has no parameter speed"):
        rule_from(name, {"speed": 1.0})
