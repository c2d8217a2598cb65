"""The same model whatever array library holds the rows: numpy, the strict array API, PyTorch, a GPU."""

import numpy as np
import pytest
from tests.kernel.test_exact import MODES, whole_numbers

from rosenblatt.kernel import KernelPerceptron
from rosenblatt.learner.kernel import KernelLearner
from rosenblatt.learner.kernel.device import Arrays, to_numpy

NAMES = ("last", "averaged", "voted", "survivor", "pocket", "random")


def strict(X):
    library = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return library.asarray(X)


def torch_here(X):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.as_tensor(X)


def torch_there(X):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    return torch.as_tensor(X, device="cuda")


@pytest.mark.parametrize("library", [strict, torch_here, torch_there])
@pytest.mark.parametrize(("classes", "mode"), MODES)
@pytest.mark.parametrize("options", [{"kernel": "poly"}, {"kernel": "rbf"}, {"kernel": "poly", "budget": 9}])
def test_every_library_gives_the_model_that_numpy_gives(library, classes, mode, options):
    X, y = whole_numbers(classes=classes)
    here = KernelLearner(multi_class=mode, block_size=16, **options)
    there = KernelLearner(multi_class=mode, block_size=16, **options)
    here.train(X, y, max_iter=3)
    there.train(library(X), y, max_iter=3)
    assert [e.mistakes for e in here.epochs] == [e.mistakes for e in there.epochs]
    assert here.support_rows.tolist() == there.support_rows.tolist()
    for name in NAMES[:2] if "budget" in options else NAMES:
        np.testing.assert_allclose(
            there.scores(library(X), name), here.scores(X, name), rtol=1e-9, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("library", [strict, torch_here, torch_there])
@pytest.mark.parametrize(("classes", "mode"), MODES)
@pytest.mark.parametrize("rule", ["pegasos", "romma", "alma"])
def test_rules_that_shrink_vote_everywhere_as_with_numpy(rule, library, classes, mode):
    X, y = whole_numbers(n=90, classes=classes)
    X = X / 3 + 0.01 * np.random.default_rng(3).random(X.shape)  # no two scores are the same
    here, there = (KernelLearner(rule, multi_class=mode, block_size=16) for _ in range(2))
    here.train(X, y, max_iter=3)
    there.train(library(X), y, max_iter=3)
    for name in NAMES:
        told = there.scores(library(X), name)
        np.testing.assert_allclose(told, here.scores(X, name), rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("library", [strict, torch_here, torch_there])
def test_a_gram_matrix_may_live_anywhere(library):
    X, y = whole_numbers(classes=3)
    gram = (X @ X.T + 1.0) ** 2
    here, there = (KernelPerceptron("precomputed", max_iter=3) for _ in range(2))
    here.fit(gram, y)
    there.fit(library(gram), library(y))
    np.testing.assert_array_equal(there.mistakes_, here.mistakes_)
    np.testing.assert_allclose(there.decision_function(library(gram)), here.decision_function(gram))
    assert there.classes_.tolist() == [0, 1, 2]


def test_without_array_api_compat_pytorch_speaks_for_itself(monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from rosenblatt.learner.kernel import device

    monkeypatch.setattr(device, "find_spec", lambda name: None if name == "array_api_compat" else True)
    X, y = whole_numbers(classes=4)
    for mode in ("joint", "ovr"):
        here, there = (KernelLearner(kernel="rbf", multi_class=mode) for _ in range(2))
        here.train(X, y, max_iter=2)
        there.train(torch_here(X), y, max_iter=2)
        assert there.space.arrays.xp.__name__ == "torch"
        for name in NAMES:
            np.testing.assert_allclose(there.scores(torch_here(X), name), here.scores(X, name), atol=1e-9)


def test_what_a_device_refuses_is_named():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    clf = KernelPerceptron()
    with pytest.raises(ValueError, match="row 1, column 0"):
        clf.fit(torch.tensor([[1.0], [float("nan")]]), [0, 1])
    clf.fit(torch.tensor([[1.0], [-1.0]]), [0, 1])
    with pytest.raises(ValueError, match="2 features, but the learner has seen 1"):
        clf.predict(torch.tensor([[1.0, 2.0]]))
    assert clf.predict(np.array([[1.0]])).tolist() == [0]  # rows from here are brought there


def test_precision_is_kept_unless_asked():
    assert Arrays(np.ones((1, 1), np.float32)).dtype == "float32"
    assert Arrays([[1]]).dtype == "float64"
    assert Arrays(np.ones((1, 1)), dtype="float32").dtype == "float32"
    with pytest.raises(ValueError, match="dtype must be one of float32, float64"):
        Arrays(np.ones((1, 1)), dtype="float16")
    assert to_numpy(np.ones(2)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("library", [torch_here, torch_there])
@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_on_a_device_are_visited_in_the_order_they_would_be_here(dtype, copies, library):
    from rosenblatt.learner.kernel.device import shuffled

    X, y = whole_numbers(classes=3)
    X = (X * 0.37).astype(dtype)
    X[:20] = -X[:20]  # zeros of either sign say nothing
    X[7] = 0.0
    if not copies:
        X[:, 0] += np.arange(len(X))
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(y))
    for seed in (0, 7, 2**63, 2**64 - 1):
        for weights in (None, weight):
            here, there = shuffled(X, y, seed, weights), shuffled(library(X), y, seed, weights)
            for epoch in range(2):
                np.testing.assert_array_equal(there.epoch(epoch).order, here.epoch(epoch).order)
                np.testing.assert_array_equal(there.epoch(epoch).weight, here.epoch(epoch).weight)


def test_rows_of_nothing_and_of_no_features_have_an_order_too():
    from rosenblatt.learner.kernel.device import shuffled

    for X in (np.zeros((5, 3)), np.zeros((5, 0))):
        here, there = (shuffled(A, np.arange(5), 3, None) for A in (X, torch_here(X)))
        np.testing.assert_array_equal(there.epoch(1).order, here.epoch(1).order)
