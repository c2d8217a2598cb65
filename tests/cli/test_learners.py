"""A new learner is one entry in the table and one module."""

import json
import sys
from types import ModuleType

import numpy as np
import pytest
from tests.cli.commands import run, run_well

from rosenblatt.learner.models import LEARNERS, options
from rosenblatt.learner.models.options import LearnerEntry
from rosenblatt.storage import read_file, write_file


class Commonest:
    """Always says the commonest class: the least that a learner can do."""

    name = hypothesis = "commonest"
    learner = None

    def __init__(self, classes, counts, n_features, about):
        self.classes, self.counts, self.n_features, self.about = (
            np.array(classes),
            np.array(counts),
            n_features,
            about,
        )

    def hypotheses(self):
        return ("commonest",)

    def cost(self, hypothesis):
        return 0

    def scores(self, X, hypothesis):
        return np.tile(self.counts, (X.shape[0], 1))

    def weights(self, hypothesis):
        return np.column_stack([self.counts, np.zeros((self.counts.size, self.n_features))])

    def facts(self):
        return {}

    def save(self, path, about, ledger):
        learner = {"classes": self.classes.tolist(), "n_features": self.n_features}
        header = {"format": "rosenblatt", "version": 1, "about": about, "learner": learner}
        write_file(path, header, {"counts": self.counts})


@pytest.fixture
def commonest(monkeypatch):
    module = ModuleType("tests.cli.commonest")

    def train(options, X, y, weight, on_pass):
        return Commonest(*np.unique(y, return_counts=True), X.shape[1], {})

    def load(path):
        header, arrays = read_file(path)
        return Commonest(**header["learner"], counts=arrays["counts"], about=header["about"])

    module.train, module.load = train, load
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(LEARNERS, "commonest", LearnerEntry(module.__name__))
    monkeypatch.setattr(options, "CLASSIFIERS", (*options.CLASSIFIERS, "commonest"))


@pytest.mark.usefixtures("commonest")
def test_a_learner_that_knows_little_passes_through_every_command(tmp_path):
    source, model = tmp_path / "a.csv", tmp_path / "m"
    source.write_text("a,y\n1,p\n2,q\n3,q\n4,r\n")
    shown = run_well(f"fit {source} --test {source} --learner commonest -m {model}").stdout
    assert "commonest   0.5000  0.5000  predicts" in shown
    told = json.loads(run_well(f"fit {source} --learner commonest --json").stdout)
    assert told["learner"] == "commonest"
    assert run_well(f"predict {model} {source}").stdout == "q\n" * 4
    assert "0.5000 (commonest)" in run_well(f"evaluate {model} {source}").stdout
    assert "bias" in run_well(f"info {model}").stdout


def test_without_its_entry_it_is_unknown():
    assert run("fit sample:iris --learner commonest").exit_code == 2


@pytest.mark.parametrize(
    ("learner", "estimator"),
    [("centroid", "ClosestCentroid"), ("naive-bayes", "NaiveBayes"), ("logistic", "LogisticRegression")],
)
def test_the_library_reads_what_the_command_line_writes(tmp_path, monkeypatch, learner, estimator):
    import rosenblatt
    from rosenblatt.data import read_all

    monkeypatch.chdir(tmp_path)
    threshold = " --param binarize=2" if learner == "naive-bayes" else ""
    run_well(f"fit sample:iris --no-scale --learner {learner}{threshold} --model m")
    model = getattr(rosenblatt, estimator).load("m")
    iris = read_all("sample:iris")
    fitted = type(model)(**model.get_params()).fit(iris.X, iris.y)
    assert np.array_equal(model.coef_, fitted.coef_)
    said = run_well("predict m sample:iris").stdout.split()
    assert said == fitted.predict(iris.X).tolist()


def test_the_library_reads_a_kernel_model_of_the_command_line(tmp_path, monkeypatch):
    from rosenblatt import KernelPerceptron
    from rosenblatt.data import read_all

    monkeypatch.chdir(tmp_path)
    run_well("fit sample:moons --no-scale --learner kernel --kernel poly --degree 3 --model m")
    moons = read_all("sample:moons")
    model, fitted = KernelPerceptron.load("m"), KernelPerceptron(degree=3).fit(moons.X, moons.y)
    assert np.array_equal(model.support_, fitted.support_)
    said = run_well("predict m sample:moons").stdout.split()
    assert said == [str(label) for label in fitted.predict(moons.X).tolist()]
