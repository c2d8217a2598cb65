"""KernelPerceptron: what it promises, what it refuses, and what survives a file."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from scipy import sparse
from tests.kernel.test_exact import MODES, whole_numbers

from rosenblatt.core.kernel_loop import FORGETTING_COST
from rosenblatt.data import matrix
from rosenblatt.data.matrix import encoded
from rosenblatt.kernel import KernelPerceptron
from rosenblatt.learner import Learner
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.linear import base
from rosenblatt.rules import NO_SHRINK, PassiveAggressive, rule
from rosenblatt.storage import BadModel

NAMES = ("last", "averaged", "voted", "survivor", "pocket", "random")
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])


def cubic(A, B):
    return (A @ B.T + 1.0) ** 3


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_labels_are_encoded_once(method, monkeypatch):
    lengths = []

    def counted(y):
        lengths.append(len(y))
        return encoded(y)

    monkeypatch.setattr(matrix, "encoded", counted)
    monkeypatch.setattr(base, "encoded", counted)
    X, y = XOR
    weight = [1.0, 2.0, 1.0, 1.0]
    getattr(KernelPerceptron(max_iter=3), method)(X, y, sample_weight=weight)
    assert lengths == [4]


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_a_linear_kernel_makes_the_mistakes_of_the_linear_learner(classes, mode, shuffle):
    X, y = whole_numbers(classes=classes)
    dual = KernelLearner(kernel="linear", fit_intercept=True, multi_class=mode, seed=3)
    primal = Learner(multi_class=mode, seed=3)
    dual.train(X, y, max_iter=5, shuffle=shuffle)
    primal.train(X, y, max_iter=5, shuffle=shuffle)
    assert dual.epochs == primal.epochs
    assert dual.radius == primal.radius
    for field in ("row", "target", "rival", "tau", "clock", "sqnorm"):
        np.testing.assert_array_equal(dual.ledger.entries[field], primal.ledger.entries[field])
    for name in NAMES:
        np.testing.assert_allclose(dual.scores(X, name), primal.scores(X, name), atol=1e-9, err_msg=name)
    for name in set(NAMES) - {"voted"}:
        np.testing.assert_allclose(dual.evaluations[name], primal.evaluations[name], rtol=1e-9, err_msg=name)


def test_xor_is_separable_by_products_and_not_without():
    X, y = XOR
    clf = KernelPerceptron(kernel="poly", degree=2, max_iter=100).fit(X, y)
    assert clf.converged_
    assert clf.use("last").score(X, y) == 1.0
    assert clf.use("last").margin_ > 0.0
    assert clf.n_mistakes_ <= clf.use("last").mistake_bound_
    flat = KernelPerceptron(kernel="linear", fit_intercept=True, max_iter=100).fit(X, y)
    assert not flat.converged_
    assert flat.use("last").margin_ <= 0.0


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), mode=st.sampled_from(["joint", "ovr"]), classes=st.sampled_from([2, 3]))
def test_a_coordinate_of_its_own_makes_any_data_separable_and_the_bound_holds(seed, mode, classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (24, 2)).astype(float)
    X[12:] = X[:12]  # every row twice, and labels that contradict each other
    y = np.concatenate([np.arange(24) % classes])[rng.permutation(24)]
    clf = KernelPerceptron(delta=2.0, max_iter=20_000, multi_class=mode, hypothesis="last").fit(X, y)
    assert clf.converged_
    assert clf.margin_ > 0.0
    assert clf.n_mistakes_ <= clf.mistake_bound_ * (1 + 1e-9)


@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_normalising_divides_every_hypothesis_by_its_norm(classes, mode):
    X, y = whole_numbers(classes=classes)
    learner = KernelLearner(degree=3, multi_class=mode)
    learner.train(X, y, max_iter=3)
    joint, entries, slots = learner.joint, learner.ledger.entries, learner.ledger.support_index()
    alpha, mean, clock = np.zeros_like(learner.weights("last")), 0.0, 0.0
    sqnorm = np.zeros(learner.running.size)
    for k, line in enumerate(entries):
        norm = np.where(sqnorm > 0, np.sqrt(sqnorm), 1.0)[:, None]
        mean = mean + (line["clock"] - clock) * alpha / norm
        clock = line["clock"]
        up = line["target"] if len(alpha) > 1 else 0
        alpha[up, slots[k]] += line["tau"]
        if line["rival"] >= 0:
            alpha[line["rival"], slots[k]] -= line["tau"]
        sqnorm[0 if joint or len(alpha) == 1 else up] = line["sqnorm"]
    norm = np.where(sqnorm > 0, np.sqrt(sqnorm), 1.0)[:, None]
    mean = (mean + (learner.clock - clock) * alpha / norm) / learner.clock
    np.testing.assert_allclose(learner.weights("averaged", normalise=True), mean, atol=1e-12)
    np.testing.assert_allclose(learner.weights("last", normalise=True), alpha / norm, atol=1e-12)
    clf = KernelPerceptron(degree=3, multi_class=mode, max_iter=3).fit(X, y)
    view = clf.use("averaged", normalise=True)
    np.testing.assert_allclose(view.dual_coef_, mean, atol=1e-12)
    assert not clf.normalise


def test_a_rule_that_shrinks_is_followed_through_every_fold():
    from typing import NamedTuple

    class Fading(NamedTuple):
        keep: float = 0.5

    @rule(Fading)
    def fading(fading, seen):
        return (fading.keep if seen.clock % 3 == 0 else NO_SHRINK), (1.0 if seen.y * seen.score <= 1 else 0.0)

    X, y = whole_numbers(n=200, classes=3)
    for mode in ("joint", "ovr"):
        dual = KernelLearner(
            Fading(1e-3), kernel="linear", fit_intercept=True, multi_class=mode, block_size=32
        )
        primal = Learner(Fading(1e-3), multi_class=mode)
        dual.train(X, y, max_iter=3)
        primal.train(X, y, max_iter=3)
        assert dual.epochs == primal.epochs
        for name in ("last", "averaged", "voted", "survivor"):
            np.testing.assert_allclose(
                dual.scores(X, name), primal.scores(X, name), rtol=1e-7, atol=1e-12, err_msg=name
            )


def test_high_degrees_of_raw_pixels_do_not_overflow_float32():
    rng = np.random.default_rng(0)
    X = (255 * (rng.random((80, 784)) < 0.2)).astype(np.float32)
    y = rng.integers(0, 2, 80)
    raw = KernelPerceptron(degree=6, max_iter=5).fit(X, y)
    fine = KernelPerceptron(degree=6, max_iter=5).fit(X.astype(np.float64), y)
    assert np.isfinite(raw.decision_function(X)).all()
    assert raw.radius_ == pytest.approx(fine.radius_, rel=1e-5)
    assert raw.learner_.space.value_scale > 1.0


@pytest.mark.parametrize("stored", ["dense", "sparse", "gram", "function", "budget", "project"])
@pytest.mark.parametrize(("classes", "mode"), MODES)
def test_a_file_holds_the_whole_model(tmp_path, stored, classes, mode):
    X, y = whole_numbers(classes=classes)
    options = {"multi_class": mode, "max_iter": 3, "rule": PassiveAggressive(C=0.5), "degree": 3}
    kernel = {"gram": "precomputed", "function": cubic}.get(stored, "poly")
    if stored in ("budget", "project"):
        options |= {"budget": 10, "forget": "project"} if stored == "project" else {"budget": 10}
        options |= {"rule": "rosenblatt", "tolerance": 0.1 if stored == "project" else 0.0}
    given = {"gram": cubic(X, X), "sparse": sparse.csr_array(X)}.get(stored, X)
    clf = KernelPerceptron(kernel, **options).fit(given, y)
    path = tmp_path / "model"
    clf.save(path)
    again = KernelPerceptron.load(path, kernel=cubic if stored == "function" else None)
    known = NAMES[:2] if "budget" in options else NAMES
    for name in known:
        np.testing.assert_array_equal(
            again.use(name).decision_function(given), clf.use(name).decision_function(given)
        )
    for what in ("mistakes_", "support_", "margin_", "mistake_bound_", "clock_", "radius_", "converged_"):
        np.testing.assert_array_equal(getattr(again, what), getattr(clf, what))
    if stored != "gram":  # it goes on as if it had never been away
        np.testing.assert_allclose(
            again.partial_fit(given[:20], y[:20]).use("averaged").decision_function(given),
            clf.partial_fit(given[:20], y[:20]).use("averaged").decision_function(given),
            rtol=1e-9,
        )
    assert pickle.loads(pickle.dumps(clf)).predict(given).tolist() == clf.predict(given).tolist()


def damaged(header, arrays, how):
    """Return a file's content with one thing wrong."""
    told = header["dual"]
    if how == "class":
        arrays["ledger.up"] = np.full_like(arrays["ledger.up"], 99)
    elif how == "row":
        arrays["ledger.row"] = arrays["ledger.row"] + 1000
    elif how == "shape":
        arrays["W"] = arrays["W"][:, :-1].copy()
    elif how == "nan":
        arrays["support"] = arrays["support"] * np.nan
    elif how == "missing":
        del arrays["A"]
    elif how == "kernel":
        told["kernel"] = {"name": "os.system"}
    elif how == "degree":
        told["kernel"]["degree"] = -1
    elif how == "rule":
        told["rule"] = {"name": "exec"}
    elif how == "budget":
        told["budget"], told["keep_ledger"] = 1, False
    elif how == "slots":
        told["budget"], told["keep_ledger"] = 1, False
        arrays |= {"budget.since": np.zeros(1, int), "budget.counts": np.array([1, 0, 0])}
        arrays |= {f"toll.{name}": np.zeros(1) for name in FORGETTING_COST.names}
    elif how == "pocket":
        arrays["pocket"] = arrays["pocket"] + 10**6
    return header, arrays


@pytest.mark.parametrize(
    "how",
    ["class", "row", "shape", "nan", "missing", "kernel", "degree", "rule", "budget", "slots", "pocket"],
)
def test_a_hostile_file_gets_a_clear_error(tmp_path, how):
    from rosenblatt.storage import read_file, write_file

    X, y = whole_numbers()
    path = tmp_path / "model"
    KernelPerceptron(max_iter=3).fit(X, y).save(path)
    write_file(path, *damaged(*read_file(path), how))
    with pytest.raises(BadModel, match="the model file is inconsistent"):
        KernelPerceptron.load(path)


def test_other_files_are_refused_by_name(tmp_path):
    from rosenblatt.learner.files import load_learner, save_learner

    X, y = whole_numbers()
    learner = Learner()
    learner.train(X, y)
    save_learner(learner, tmp_path / "linear")
    with pytest.raises(BadModel, match="expected a kernel learner"):
        KernelPerceptron.load(tmp_path / "linear")
    clf = KernelPerceptron(cubic).fit(X, y)
    clf.save(tmp_path / "function")
    with pytest.raises(BadModel, match=r"cubic.*give it again as kernel="):
        KernelPerceptron.load(tmp_path / "function")
    with pytest.raises(BadModel):
        load_learner(tmp_path / "function")
    save_file(load_file(tmp_path / "linear"), tmp_path / "bare", metadata={"rosenblatt": json.dumps([])})
    with pytest.raises(BadModel):
        KernelPerceptron.load(tmp_path / "bare")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "cosine"}, "kernel must be one of poly, rbf, linear, precomputed or a function"),
        ({"degree": 0}, "degree must be 1 or more"),
        ({"gamma": -1.0}, "gamma must be above 0"),
        ({"delta": -1.0}, "delta must be zero or more"),
        ({"budget": 0}, "budget must be 1 or more rows"),
        ({"forget": "newest"}, "forget must be one of oldest, random, project"),
        ({"budget": 3, "hypothesis": "voted"}, "use 'last' or 'averaged'"),
        ({"hypothesis": "best"}, "hypothesis must be one of"),
        ({"block_size": 0}, "block_size must be 1 or more"),
        ({"max_iter": 0}, "max_iter must be a whole number, 1 or more"),
        ({"multi_class": "pairs"}, "multi_class must be one of"),
        ({"kernel": lambda A, B: A}, "one value for each pair"),
        ({"kernel": lambda A, B: A @ B.T * np.inf}, "not finite"),
        ({"kernel": "precomputed"}, "square matrix"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(options, message):
    X, y = whole_numbers()
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        KernelPerceptron(**options).fit(X, y)


def test_without_a_ledger_two_hypotheses_are_known():
    X, y = whole_numbers()
    clf = KernelPerceptron(keep_ledger=False).fit(X, y)
    assert clf.use("last").predict(X).shape == y.shape
    with pytest.raises(ValueError, match="keep_ledger=True"):
        clf.use("voted")
    with pytest.raises(AttributeError, match="keep_ledger=True"):
        _ = clf.ledger_


def test_weight_zero_leaves_an_example_out_and_keeps_the_numbers_of_the_others():
    X, y = whole_numbers()
    weight = np.ones(60)
    weight[:30] = 0.0
    clf = KernelPerceptron(max_iter=3).fit(X, y, sample_weight=weight)
    rest = KernelPerceptron(max_iter=3).fit(X[30:], y[30:])
    assert clf.support_.min() >= 30
    np.testing.assert_array_equal(clf.support_ - 30, rest.support_)
    assert clf.margin_ == pytest.approx(rest.margin_)


def test_the_bound_counts_every_presentation_of_an_example():
    X, y = whole_numbers()
    copies = np.ones(60, np.int64)
    copies[7] = 9
    clf = KernelPerceptron(kernel="linear", max_iter=2).fit(X, y, sample_weight=copies)
    written_out = KernelPerceptron(kernel="linear", max_iter=2).fit(
        np.repeat(X, copies, 0), np.repeat(y, copies)
    )
    assert clf.n_mistakes_ == written_out.n_mistakes_
    assert clf.mistake_bound_ == pytest.approx(written_out.mistake_bound_)
