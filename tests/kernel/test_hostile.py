"""What a kernel learner is given that it cannot use: it says so, and never learns something else from it."""

import numpy as np
import pytest
from scipy import sparse
from tests.kernel.test_arrays import strict, torch_here
from tests.kernel.test_exact import whole_numbers

from rosenblatt.kernel import KernelPerceptron
from rosenblatt.learner.kernel import KernelLearner

X, Y = whole_numbers(classes=3)
GRAM = (X @ X.T + 1.0) ** 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": True}, "budget must be 1 or more rows, or None, got True"),
        ({"budget": 0}, "budget must be 1 or more"),
        ({"budget": 1.5}, "budget must be 1 or more"),
        ({"gamma": [1.0]}, "gamma must be above 0"),
        ({"gamma": float("nan")}, "gamma must be above 0"),
        ({"coef0": "1"}, "coef0 must be a finite number, got '1'"),
        ({"degree": True}, "degree must be 1 or more"),
        ({"degree": 2.0}, "degree must be 1 or more"),
        ({"delta": "1"}, "delta must be zero or more"),
        ({"delta": float("nan")}, "delta must be zero or more"),
        ({"budget": 3, "forget": "project", "tolerance": "0.1"}, r"tolerance must be in \[0, 1\)"),
        ({"block_size": True}, "block_size must be 1 or more"),
        ({"random_state": -1}, "seed must be a whole number, zero or more, got -1"),
        ({"kernel": np.ones((2, 2))}, "kernel must be one of poly, rbf, linear, precomputed or a function"),
        ({"kernel": None}, "kernel must be one of"),
    ],
)
def test_a_parameter_that_is_none_is_named_with_its_value(options, words):
    with pytest.raises(ValueError, match=words):
        KernelPerceptron(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (lambda A, B: np.ones(3), r"shape \(60, 60\), got \(3,\)"),
        (lambda A, B: 1.0, "got float"),
        (lambda A, B: None, "got NoneType"),
        (lambda A, B: (A @ B.T).tolist(), "got list"),
        (lambda A, B: A @ B.T * 1j, "real numbers, got complex128"),
        (lambda A, B: (A @ B.T).astype(str), "real numbers, got <U"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "not finite"),
    ],
)
def test_a_function_that_is_no_kernel_is_told_why(kernel, words):
    with pytest.raises(ValueError, match=words):
        KernelPerceptron(kernel).fit(X, Y)


@pytest.mark.parametrize("kernel", ["poly", "linear", "rbf"])
@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array, torch_here, strict])
def test_rows_too_large_for_a_float_are_refused_where_they_come(kernel, made):
    huge = X.copy()
    huge[4] *= 1e200
    clf = KernelPerceptron(kernel)
    with pytest.raises(ValueError, match=r"row 4|squared norm inf"):
        clf.fit(made(huge), Y)
    clf.fit(made(X), Y)
    with pytest.raises(ValueError, match="too large for the kernel, row 4"):
        clf.predict(made(huge))
    before = clf.decision_function(made(X))
    with pytest.raises(ValueError, match="too large for the kernel, row 4"):
        clf.partial_fit(made(huge), Y)
    np.testing.assert_array_equal(clf.decision_function(made(X)), before)


def test_a_degree_beyond_every_float_is_refused():
    for degree, rows in ((5000, X), (6, X * 1e60), (6, (X * 1e18).astype(np.float32))):
        with pytest.raises(ValueError, match=f"degree {degree} overflows"):
            KernelPerceptron(degree=degree).fit(rows, Y)
    large = KernelPerceptron(degree=6).fit((X * 1e10).astype(np.float32), Y)  # in units of a power of two
    assert np.isfinite(large.decision_function((X * 1e10).astype(np.float32))).all()
    assert np.isfinite([large.margin_, large.mistake_bound_, large.radius_]).all()


@pytest.mark.parametrize(
    "options", [{}, {"kernel": "rbf"}, {"budget": 7}, {"budget": 7, "forget": "project"}]
)
def test_batches_may_be_dense_and_sparse_in_turn(options):
    plain, mixed, other = (KernelLearner(degree=3, **{"kernel": "poly", **options}) for _ in range(3))
    for number, piece in enumerate((slice(0, 15), slice(15, 20), slice(20, 60), slice(0, 30))):
        plain.learn(X[piece], Y[piece], classes=np.arange(3))
        for learner, turn in ((mixed, 0), (other, 1)):
            rows = sparse.csr_array(X[piece]) if number % 2 == turn else X[piece]
            learner.learn(rows, Y[piece], classes=np.arange(3))
    for learner in (mixed, other):
        assert learner.support_rows.tolist() == plain.support_rows.tolist()
        np.testing.assert_allclose(learner.scores(X, "last"), plain.scores(X, "last"), rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(
            learner.scores(sparse.csr_array(X), "averaged"),
            plain.scores(X, "averaged"),
            rtol=1e-12,
            atol=1e-9,
        )


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array, torch_here])
def test_a_gram_matrix_grows_by_rows_and_columns(made):
    rows = KernelPerceptron("poly", coef0=1.0)
    pairs = KernelPerceptron("precomputed")
    for lo, hi in ((0, 20), (20, 45), (45, 60)):
        rows.partial_fit(X[lo:hi], Y[lo:hi], classes=[0, 1, 2])
        pairs.partial_fit(made(GRAM[lo:hi, :hi]), Y[lo:hi], classes=[0, 1, 2])
        assert pairs.n_features_in_ == hi
    assert pairs.support_.tolist() == rows.support_.tolist()
    np.testing.assert_allclose(pairs.decision_function(made(GRAM)), rows.decision_function(X))
    narrower, too_narrow = GRAM[:, :50], np.hstack([GRAM, GRAM[:, :9]])  # for sixty more examples
    for wrong in (narrower, too_narrow):
        with pytest.raises(ValueError, match=r"column|expecting 60 features"):
            pairs.partial_fit(made(wrong), Y)
        assert pairs.n_features_in_ == 60


def test_tensors_that_are_no_matrix_of_numbers_are_refused():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(ValueError, match=r"layout torch.sparse_coo: make it dense"):
        KernelPerceptron().fit(torch_here(X).to_sparse(), Y)
    with pytest.raises(ValueError, match=r"real numbers, got torch.complex128"):
        KernelPerceptron().fit(torch_here(X) + 0j, Y)
    with pytest.raises(ValueError, match="no rows"):
        KernelPerceptron().fit(torch.zeros((0, 3)), np.zeros(0, int))
    with pytest.raises(ValueError, match="1d array"):
        KernelPerceptron().fit(torch_here(X), np.column_stack([Y, Y]))
    learned = KernelPerceptron().fit(torch_here(X).requires_grad_(), Y)
    np.testing.assert_array_equal(learned.mistakes_, KernelPerceptron().fit(X, Y).mistakes_)


def test_a_device_that_is_not_there_is_named():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(ValueError, match=r"device='nowhere' cannot be used here: .*leave device=None"):
        KernelPerceptron(device="nowhere").fit(X, Y)
