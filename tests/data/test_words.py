import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.data.words import WORD, Words, count_words, looks_like_text, words_in

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
    hashed = how._replace(buckets=8, weighting="counts")
    folded = count_words(texts, hashed, {}).X.toarray()
    assert folded.sum(axis=1).tolist() == [len(how.cut(text)) for text in texts]


LETTERS = [
    "a",
    "é",
    "don't",
    "rock'n'roll",
    "d’or",
    "'quoted'",
    "x'",
    "_",
    "9",
    "हिन्दी",
    "日本語",
    "𝒜",
    "cafe\u0301",
    "ẞ",
    "İ",
]
OTHERS = ["'", "’", " ", "\n", ".", "\0", "\ud800", "e\u0301'", "\u200d", "😀", "--", "''", "a''b"]
PIECES = st.sampled_from(LETTERS + OTHERS)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=20), max_size=12),
    st.builds(Words, st.just((1, 1)), st.booleans(), st.booleans()),
    st.integers(1, 3),
    st.integers(1, 40),
)
def test_the_compiled_scanner_counts_what_the_regular_expression_finds(texts, how, n, part):
    prefixes = ["", "from:", "subject:"][:n]
    texts = texts[: len(texts) // n * n]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.data.words.PART_CHARACTERS", part)
        plain = words_in(texts, how, prefixes)
        patch.setattr("rosenblatt.data.words.MANY_CHARACTERS", 0)
        scanned = words_in(texts, how, prefixes)
    assert scanned.words == plain.words
    for ours, theirs in zip(scanned[1:], plain[1:], strict=True):
        assert ours.tolist() == theirs.tolist()


def test_every_character_is_of_one_kind():
    """As the regular expression has it, on all of Unicode."""
    text = "".join(chr(code) + " " for code in range(0x110000))
    how = Words(lowercase=False)
    assert words_in([text], how).words == list(dict.fromkeys(WORD.findall(how.normalized(text))))


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
