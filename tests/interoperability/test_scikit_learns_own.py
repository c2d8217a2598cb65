"""scikit-learn's own tests of its perceptron, centroids and discrete naive Bayes, run on ours.

Their test functions run as they stand, with our class under their name and nothing translated. Where the meaning
differs, the difference stands below with its reason, and docs/how-to/from-scikit-learn.md lists it.
"""

import inspect
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from rosenblatt import ClosestCentroid, MultinomialNaiveBayes, NaiveBayes, Perceptron

PERCEPTRON = "sklearn.linear_model.tests.test_perceptron"
CENTROID = "sklearn.neighbors.tests.test_nearest_centroid"
BAYES = "sklearn.tests.test_naive_bayes"
OURS = {
    PERCEPTRON: {"Perceptron": partial(Perceptron, hypothesis="last")},
    CENTROID: {"NearestCentroid": ClosestCentroid},
    BAYES: {"BernoulliNB": NaiveBayes, "MultinomialNB": MultinomialNaiveBayes},
}
SAME = [
    (PERCEPTRON, "test_perceptron_accuracy", {"container": np.array}),
    (PERCEPTRON, "test_perceptron_accuracy", {"container": csr_matrix}),
    (PERCEPTRON, "test_perceptron_accuracy", {"container": csr_array}),
    (PERCEPTRON, "test_perceptron_correctness", {}),
    (PERCEPTRON, "test_undefined_methods", {}),
    (CENTROID, "test_pickle", {}),
    (CENTROID, "test_shrinkage_correct", {}),
    (CENTROID, "test_shrinkage_threshold_decoded_y", {}),
    (CENTROID, "test_predict_translated_data", {}),
    (CENTROID, "test_features_zero_var", {}),
    (CENTROID, "test_negative_priors_error", {}),
    (CENTROID, "test_warn_non_normalized_priors", {}),
    (CENTROID, "test_error_zero_variances", {"array_constructor": np.array}),
    (CENTROID, "test_error_zero_variances", {"array_constructor": csr_array}),
    (BAYES, "test_bnb", {}),
    (BAYES, "test_bnb_feature_log_prob", {}),
    (BAYES, "test_discretenb_predict_proba", {}),
    (BAYES, "test_check_accuracy_on_digits", {}),
    (BAYES, "test_mnnb", {"kind": "dense", "global_random_seed": 42, "csr_container": csr_matrix}),
    (BAYES, "test_mnnb", {"kind": "sparse", "global_random_seed": 42, "csr_container": csr_array}),
]
for each in (NaiveBayes, MultinomialNaiveBayes):
    discrete = {"DiscreteNaiveBayes": each}
    SAME += [
        (BAYES, "test_discretenb_prior", {**discrete, "global_random_seed": 42}),
        (BAYES, "test_discretenb_partial_fit", discrete),
        (BAYES, "test_discretenb_uniform_prior", discrete),
        (BAYES, "test_discretenb_provide_prior_with_partial_fit", discrete),
        (BAYES, "test_discretenb_sample_weight_multiclass", discrete),
        (BAYES, "test_predict_joint_proba", {"Estimator": each, "global_random_seed": 42}),
        (BAYES, "test_categorical_input_tag", {"Estimator": each}),
    ]
    SAME += [
        (
            BAYES,
            "test_discretenb_degenerate_one_class_case",
            {**discrete, "use_partial_fit": use_partial_fit, "train_on_single_class_y": False},
        )
        for use_partial_fit in (False, True)
    ]

METRIC = "a Manhattan distance has no hyperplane between two centroids: metric='manhattan' is refused"
TINY_ALPHA = "alpha=0 is an error where it makes log odds infinite; there is no force_alpha, which replaces it by 1e-10"
ANY_TIME = (
    "classes may appear at any time: partial_fit never requires classes=, and repeats need not be equal"
)
DIFFERENT = {
    "test_perceptron_l1_ratio": "there is no L1 penalty; its L2 part is tested below",
    "test_classification_toy": "decision_function is the score by which predict decides, where theirs predicts by one "
    "distance and scores by twice another; its predictions are tested below",
    "test_iris": METRIC,
    "test_iris_shrinkage": METRIC,
    "test_manhattan_metric": METRIC,
    "test_method_not_available_with_manhattan": METRIC,
    "test_NB_partial_fit_no_first_classes": ANY_TIME,
    "test_discretenb_provide_prior": ANY_TIME,
    "test_mnb_prior_unobserved_targets": "a class that has no example yet has no prior: predicting is an error until "
    "it has one",
    "test_alpha": TINY_ALPHA,
    "test_check_alpha": TINY_ALPHA,
    "test_alpha_vector": "alpha is one number for all features",
}


def named(case):
    """Return the name of a case: module, test and what it is given."""
    values = [getattr(value, "__name__", str(value)) for value in case[2].values()]
    return ".".join([case[0].rsplit(".", 1)[1], case[1], *values])


def their_tests(module):
    """Return their test module; skip where scikit-learn is installed without its tests."""
    return pytest.importorskip(module, reason="scikit-learn is installed without its tests")


@pytest.mark.parametrize(("module", "test", "arguments"), SAME, ids=map(named, SAME))
def test_what_means_the_same_passes_their_test(module, test, arguments, monkeypatch):
    theirs = their_tests(module)
    for name, ours in OURS[module].items():
        monkeypatch.setattr(theirs, name, ours)
    getattr(theirs, test)(**arguments)


@pytest.mark.parametrize("module", OURS)
def test_every_test_of_theirs_is_run_or_its_difference_listed(module):
    theirs = their_tests(module)
    about = ("DiscreteNaiveBayes", "NaiveBayes()", "Estimator", *OURS[module])
    known = {test for _, test, _ in SAME} | set(DIFFERENT)
    missing = [
        name
        for name, function in inspect.getmembers(theirs, inspect.isfunction)
        if name.startswith("test_") and any(word in inspect.getsource(function) for word in about)
        if name not in known
    ]
    if missing:
        import sklearn

        pytest.skip(f"scikit-learn {sklearn.__version__} has tests not compared yet: {', '.join(missing)}")


def test_every_difference_is_documented():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "from-scikit-learn.md"
    text = page.read_text(encoding="utf-8")
    assert not [name for name in DIFFERENT if f"`{name}`" not in text]


def test_the_l2_part_of_their_penalty_test():
    theirs = their_tests(PERCEPTRON)
    l2, elastic = (
        Perceptron(hypothesis="last", penalty=penalty, l1_ratio=0).fit(theirs.X, theirs.y)
        for penalty in ("l2", "elasticnet")
    )
    np.testing.assert_allclose(l2.coef_, elastic.coef_)
    for refused in ({"penalty": "l1"}, {"penalty": "elasticnet"}):
        with pytest.raises(ValueError, match=r"is not available.*penalty='l2'"):
            Perceptron(**refused).fit(theirs.X, theirs.y)


@pytest.mark.parametrize("container", [np.array, csr_array])
@pytest.mark.parametrize("priors", ["uniform", "empirical", [0.25, 0.75]])
def test_centroids_predict_their_toy_set_by_any_priors(container, priors):
    theirs = their_tests(CENTROID)
    model = ClosestCentroid(priors=priors).fit(container(theirs.X), theirs.y)
    assert model.predict(container(theirs.T)).tolist() == theirs.true_result


@pytest.mark.parametrize("container", [np.array, csr_array])
def test_centroids_predict_as_theirs_with_priors_and_shrinking(container):
    from sklearn.neighbors import NearestCentroid

    theirs = their_tests(CENTROID)
    X, y = theirs.iris.data[:120], theirs.iris.target[:120]
    for shrink_threshold in (None, 0.1, 0.5, 3.0):
        for priors in ("uniform", "empirical", [0.2, 0.5, 0.3]):
            ours = ClosestCentroid(shrink_threshold=shrink_threshold, priors=priors).fit(container(X), y)
            peer = NearestCentroid(shrink_threshold=shrink_threshold, priors=priors).fit(X, y)
            np.testing.assert_allclose(ours.centroids_, peer.centroids_, rtol=1e-9)
            np.testing.assert_allclose(ours.class_prior_, peer.class_prior_)
            assert np.array_equal(ours.predict(container(theirs.iris.data)), peer.predict(theirs.iris.data))
            if priors != "uniform":
                twice = 2.0 * ours.decision_function(container(theirs.iris.data))
                expected = peer.decision_function(theirs.iris.data)
                difference = twice - expected  # the same but for a number of each row
                np.testing.assert_allclose(difference - difference[:, :1], 0.0, atol=1e-6)


@pytest.mark.parametrize("each", [NaiveBayes, MultinomialNaiveBayes])
def test_given_priors_are_used_and_must_be_one_for_each_class(each):
    clf = each(class_prior=[0.5, 0.5]).fit([[0], [0], [1]], [0, 0, 1])
    np.testing.assert_allclose(np.exp(clf.class_log_prior_), [0.5, 0.5])
    with pytest.raises(ValueError, match="Number of priors must match number of classes"):
        clf.fit([[0], [1], [2]], [0, 1, 2])
    assert clf.classes_.tolist() == [0, 1]  # refused examples change nothing


def test_centroids_predict_as_theirs_on_their_data():
    from sklearn.neighbors import NearestCentroid

    theirs = their_tests(CENTROID)
    for X, y in ((np.array(theirs.X, float), theirs.y), (theirs.iris.data, theirs.iris.target)):
        for container in (np.asarray, csr_array):
            ours = ClosestCentroid().fit(container(X), y)
            peer = NearestCentroid(priors="uniform").fit(X, y)
            np.testing.assert_allclose(ours.centroids_, peer.centroids_, rtol=1e-12)
            distances = ((X[:, None] - peer.centroids_) ** 2).sum(axis=2)
            assert np.array_equal(ours.predict(container(X)), peer.classes_[distances.argmin(axis=1)])
