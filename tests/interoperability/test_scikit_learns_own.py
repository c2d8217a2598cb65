"""scikit-learn's own tests of its perceptron, centroids and Bernoulli naive Bayes, run on ours.

Where the meaning is the same, their test functions run as they stand with our class under their name and their
parameters translated. Where it differs, the difference stands below with its reason.
"""

import importlib
import inspect

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from rosenblatt import ClosestCentroid, NaiveBayes, Perceptron

PERCEPTRON = "sklearn.linear_model.tests.test_perceptron"
CENTROID = "sklearn.neighbors.tests.test_nearest_centroid"
BAYES = "sklearn.tests.test_naive_bayes"


def their_perceptron(max_iter=1000, tol=1e-3, shuffle=True):
    """Theirs predicts by the last weights, one class against the rest, and stops early where ``tol`` says so."""
    return Perceptron(max_iter=max_iter, shuffle=shuffle, hypothesis="last", multi_class="ovr")


class TheirBernoulliNB(NaiveBayes):
    """Theirs binarises at zero unless told otherwise, and calls the same numbers by other names."""

    def __init__(self, *, alpha=1.0, binarize=0.0, smoothing=None):
        super().__init__(smoothing=alpha if smoothing is None else smoothing, binarize=binarize)
        self.alpha = alpha

    @property
    def class_log_prior_(self):
        return np.log(self.class_count_ / self.class_count_.sum())

    @property
    def feature_log_prob_(self):
        return self.learner_.log_probabilities()[0]


THEIR_NAMES = {PERCEPTRON: "Perceptron", CENTROID: "NearestCentroid", BAYES: "BernoulliNB"}
OURS = {PERCEPTRON: their_perceptron, CENTROID: ClosestCentroid, BAYES: TheirBernoulliNB}
SAME = [
    (PERCEPTRON, "test_perceptron_accuracy", {"container": np.array}),
    (PERCEPTRON, "test_perceptron_accuracy", {"container": csr_matrix}),
    (PERCEPTRON, "test_perceptron_accuracy", {"container": csr_array}),
    (PERCEPTRON, "test_perceptron_correctness", {}),
    (PERCEPTRON, "test_undefined_methods", {}),
    (CENTROID, "test_pickle", {}),
    (BAYES, "test_bnb", {}),
    (BAYES, "test_bnb_feature_log_prob", {}),
    (BAYES, "test_discretenb_prior", {"DiscreteNaiveBayes": TheirBernoulliNB, "global_random_seed": 42}),
    (BAYES, "test_discretenb_partial_fit", {"DiscreteNaiveBayes": TheirBernoulliNB}),
    (BAYES, "test_discretenb_predict_proba", {}),
    (BAYES, "test_discretenb_sample_weight_multiclass", {"DiscreteNaiveBayes": TheirBernoulliNB}),
    (BAYES, "test_check_accuracy_on_digits", {}),
    (BAYES, "test_categorical_input_tag", {"Estimator": TheirBernoulliNB}),
]
SAME += [
    (BAYES, "test_discretenb_degenerate_one_class_case", {
        "DiscreteNaiveBayes": TheirBernoulliNB, "use_partial_fit": partial, "train_on_single_class_y": False
    })
    for partial in (False, True)
]  # fmt: skip
ONE_CLASS = "one class is an error here: there is nothing to tell it from"
SHRINKING = "shrunken centroids are another classifier; ours is the plain one of seed 001"
METRIC = "a manhattan distance has no hyperplane"
PRIORS = "centroids are compared by distance alone; there is no prior to set"
FIXED_PRIOR = "the prior is counted, never set by hand"
TINY_ALPHA = "smoothing of zero is an error where it would make a probability zero, not replaced by 1e-10"
DIFFERENT = {
    "test_perceptron_l1_ratio": "there are no penalties: a rule that shrinks (Pegasos) is the way to regularise",
    "test_classification_toy": "scores are half differences of squared distances, not divided by variances; no priors",
    "test_iris": METRIC,
    "test_iris_shrinkage": SHRINKING,
    "test_shrinkage_correct": SHRINKING,
    "test_shrinkage_threshold_decoded_y": SHRINKING,
    "test_predict_translated_data": SHRINKING,
    "test_manhattan_metric": METRIC,
    "test_features_zero_var": SHRINKING,
    "test_negative_priors_error": PRIORS,
    "test_warn_non_normalized_priors": PRIORS,
    "test_method_not_available_with_manhattan": METRIC,
    "test_error_zero_variances": "nothing is divided by a variance: equal centroids are undecided, which is no error",
    "test_NB_partial_fit_no_first_classes": "classes may appear at any time: `classes=` is never required",
    "test_discretenb_uniform_prior": FIXED_PRIOR,
    "test_discretenb_provide_prior": FIXED_PRIOR,
    "test_discretenb_provide_prior_with_partial_fit": FIXED_PRIOR,
    "test_alpha": TINY_ALPHA,
    "test_check_alpha": TINY_ALPHA,
    "test_predict_joint_proba": "the joint log likelihood is `decision_function`; there is no second name for it",
}


def named(case):
    return f"{case[0].rsplit('.', 1)[1]}.{case[1]}"


@pytest.mark.parametrize(("module", "test", "arguments"), SAME, ids=map(named, SAME))
def test_what_means_the_same_passes_their_test(module, test, arguments, monkeypatch):
    theirs = importlib.import_module(module)
    monkeypatch.setattr(theirs, THEIR_NAMES[module], OURS[module])
    getattr(theirs, test)(**arguments)


@pytest.mark.parametrize("module", THEIR_NAMES)
def test_every_test_of_theirs_is_run_or_its_difference_told(module):
    theirs = importlib.import_module(module)
    about = ("DiscreteNaiveBayes", "NaiveBayes()", "Estimator", THEIR_NAMES[module])
    known = {test for _, test, _ in SAME} | set(DIFFERENT)
    untold = [
        name
        for name, function in inspect.getmembers(theirs, inspect.isfunction)
        if name.startswith("test_") and any(word in inspect.getsource(function) for word in about)
        if name not in known
    ]
    if untold:
        import sklearn

        pytest.skip(f"scikit-learn {sklearn.__version__} has tests not compared yet: {', '.join(untold)}")


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_centroids_predict_as_theirs_on_their_data(container):
    from sklearn.neighbors import NearestCentroid

    theirs = importlib.import_module(CENTROID)
    for X, y in ((np.array(theirs.X, float), theirs.y), (theirs.iris.data, theirs.iris.target)):
        ours = ClosestCentroid().fit(container(X), y)
        peer = NearestCentroid(priors="uniform").fit(X, y)
        np.testing.assert_allclose(ours.centroids_, peer.centroids_, rtol=1e-12)
        distances = ((X[:, None] - peer.centroids_) ** 2).sum(axis=2)
        assert np.array_equal(ours.predict(container(X)), peer.classes_[distances.argmin(axis=1)])
