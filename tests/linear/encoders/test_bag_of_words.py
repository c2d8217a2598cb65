import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from rosenblatt import Perceptron
from rosenblatt.linear.encoders import BagOfWords

TEXTS = st.lists(st.sampled_from(["to be", "or not to be", "Be! be", "", "that's the question"]), max_size=8)
BAGS = st.builds(BagOfWords, ngrams=st.sampled_from([(1, 1), (1, 2)]), binary=st.booleans())


@pytest.mark.filterwarnings("ignore:Can't test estimator")  # the checks on matrices: this one takes texts
@pytest.mark.parametrize("bag", [BagOfWords(), BagOfWords(buckets=16)])
def test_scikit_learn_checks_that_apply(bag):
    assert {found["status"] for found in check_estimator(bag, on_skip=None)} == {"passed"}


@settings(deadline=None)
@given(TEXTS, BAGS, st.data())
def test_any_split_is_one_go(texts, bag, data):
    cut = data.draw(st.integers(0, len(texts)))
    X = bag.fit_transform(texts)
    parts = clone(bag).partial_fit(texts[:cut]).partial_fit(texts[cut:])
    assert list(parts.get_feature_names_out()) == list(bag.get_feature_names_out())
    assert (parts.transform(texts) != X).sum() == 0
    assert X.shape == (len(texts), len(bag.vocabulary_))


def test_a_word_keeps_its_place_when_the_vocabulary_grows():
    bag = BagOfWords().fit(["b a"])
    before = bag.transform(["a c"]).toarray()
    after = bag.partial_fit(["c"]).transform(["a c"]).toarray()
    assert before.tolist() == [[0, 1]]
    assert after.tolist() == [[0, 1, 1]]


def test_fit_forgets_and_partial_fit_remembers():
    bag = BagOfWords().fit(["one"]).fit(["two"])
    assert list(bag.vocabulary_) == ["two"]
    assert list(bag.partial_fit(["one"]).vocabulary_) == ["two", "one"]


def test_hashed_words_need_no_vocabulary():
    bag = BagOfWords(buckets=8, binary=False).fit([])
    assert bag.transform(["never heard of before"]).sum() == 4
    assert len(bag.get_feature_names_out()) == 8


def test_in_a_pipeline_the_words_carry_the_weights():
    texts = ["free prize", "see you", "prize now", "you there", "free now", "see there"]
    model = make_pipeline(BagOfWords(), Perceptron()).fit(texts, [1, 0, 1, 0, 1, 0])
    assert model.predict(["a free prize for you"]).tolist() == [1]
    weights = dict(zip(model[0].get_feature_names_out(), model[1].coef_[0], strict=True))
    for_, against = (sum(weights[w] for w in words.split()) for words in ("free prize now", "see you there"))
    assert for_ > 0 > against


@pytest.mark.parametrize(
    ("X", "reason"),
    [("one text", "is one text"), (["a", None], "None in row 1"), ([b"a"], "row 0"), (5, "list of texts")],
)
def test_what_is_no_list_of_texts(X, reason):
    with pytest.raises(ValueError, match=reason):
        BagOfWords().fit(X)


def test_arrays_and_frames_of_texts():
    pandas = pytest.importorskip("pandas")
    for texts in (np.array(["a b", "b"]), pandas.Series(["a b", "b"])):
        assert BagOfWords().fit_transform(texts).toarray().tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize("binary", [True, False])
def test_tfidf_is_that_of_scikit_learn(binary):
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["free prize free call", "call me now", "", "prize prize prize", "nothing else matters now"]
    bag = BagOfWords(tfidf=True, binary=binary)
    peer = TfidfVectorizer(token_pattern=r"\w+", binary=binary, sublinear_tf=True)
    ours, theirs = bag.fit_transform(texts).toarray(), peer.fit_transform(texts).toarray()
    order = [bag.vocabulary_[word] for word in peer.get_feature_names_out()]
    np.testing.assert_allclose(ours[:, order], theirs, rtol=1e-14)
    new = ["free unheard now", "unheard"]
    np.testing.assert_allclose(
        bag.transform(new).toarray()[:, order], peer.transform(new).toarray(), rtol=1e-14
    )
    parts = BagOfWords(tfidf=True, binary=binary)
    for text in texts:
        parts.partial_fit([text])
    assert parts.vocabulary_ == bag.vocabulary_
    assert parts.transform(texts).toarray().tolist() == ours.tolist()
    assert (
        BagOfWords(tfidf=True, binary=binary).fit(texts).transform(texts).toarray().tolist() == ours.tolist()
    )


def test_tfidf_of_hashed_words():
    texts = ["free prize", "free call", "prize"]
    bag = BagOfWords(tfidf=True, buckets=64)
    X = bag.fit_transform(texts).toarray()
    assert X.shape == (3, 64)
    np.testing.assert_allclose((X**2).sum(axis=1), 1.0)
    assert BagOfWords(tfidf=True, buckets=64).fit(texts).transform(texts).toarray().tolist() == X.tolist()
