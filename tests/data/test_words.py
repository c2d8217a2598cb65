import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data.words import Words, count_words, looks_like_text

TEXTS = st.lists(
    st.text(max_size=30) | st.sampled_from(["to be or not", "not to be", "Be! be; BE"]), max_size=8
)
HOWS = st.builds(Words, st.sampled_from([(1, 1), (1, 2), (2, 2)]), st.booleans(), st.booleans(), st.just(0))


@settings(deadline=None)
@given(TEXTS, HOWS, st.data())
def test_any_split_is_one_go(texts, how, data):
    whole, index = {}, {}
    X = count_words(texts, how, whole, grow=True).X
    cut = data.draw(st.integers(0, len(texts)))
    above = count_words(texts[:cut], how, index, grow=True).X
    below = count_words(texts[cut:], how, index, grow=True).X
    assert index == whole
    assert X.toarray()[:cut, : above.shape[1]].tolist() == above.toarray().tolist()
    assert X.toarray()[:cut, above.shape[1] :].sum() == 0
    assert X.toarray()[cut:].tolist() == below.toarray().tolist()


@settings(deadline=None)
@given(TEXTS, HOWS)
def test_every_count_is_how_often_the_word_was_cut(texts, how):
    index = {}
    X = count_words(texts, how, index, grow=True).X
    for row, text in zip(X.toarray(), texts, strict=True):
        counts = Counter(how.cut(text))
        assert {word: row[at] for word, at in index.items() if row[at]} == {
            word: 1 if how.binary else count for word, count in counts.items()
        }
    hashed = how._replace(buckets=8, binary=False)
    folded = count_words(texts, hashed, {}).X.toarray()
    assert folded.sum(axis=1).tolist() == [len(how.cut(text)) for text in texts]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop", ["don't", "stop"]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),  # composed or not, one word
        ("Straße, naïve", ["straße", "naïve"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # vowel signs stay with their word
        ("£1000 call 087 now!!!", ["1000", "call", "087", "now"]),
        ("  \n", []),
    ],
)
def test_what_a_word_is(text, words):
    assert Words().cut(text) == words


def test_a_hash_is_the_same_in_every_process():
    code = (
        "from rosenblatt.data import Words; print([Words(buckets=1000).bucket(w) for w in ('free', 'été')])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {b"[896, 572]\n"}


def test_a_text_without_a_known_word_is_counted():
    assert count_words(["free", "gratis", "", "free gratis"], Words(), {"free": 0}).unknown == 1


@pytest.mark.parametrize("how", [Words(ngrams=(0, 1)), Words(ngrams=(2, 1)), Words(buckets=-1)])
def test_what_makes_no_sense_is_refused(how):
    with pytest.raises(ValueError, match=r"ngrams must be|buckets must be"):
        how.check()


@pytest.mark.parametrize(
    ("values", "prose"),
    [
        (["a b c", "d e f g"], True),
        (["a b c"] * 5, False),  # always the same
        (["red", "green", "blue"], False),
        (["New York", "Los Angeles", "San Jose"], False),
        ([], False),
    ],
)
def test_prose(values, prose):
    assert looks_like_text(values) is prose
