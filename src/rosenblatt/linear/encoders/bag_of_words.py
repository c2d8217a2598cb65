"""Bag of words: every text becomes the row of words that occur in it."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rosenblatt.data.words import Words, count_words


class BagOfWords(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to sparse rows, one feature per word; the vocabulary is open and may grow mid-stream.

    Words join the vocabulary in order of appearance, so that any split into batches gives the same features as
    one go, and what was learned about earlier words stays where it was. A word is a run of letters, digits and
    their combining marks in any script; an apostrophe joins (``don't``).

    Parameters
    ----------
    ngrams : (int, int), default=(1, 1)
        From how many words in a row to how many.
    lowercase : bool, default=True
    binary : bool, default=True
        1 for a word that occurs, however often; else how often it occurs.
    buckets : int, default=0
        Hash words into so many features instead of keeping a vocabulary (CRC-32: the same everywhere).

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The place of every word; empty where words are hashed.

    Examples
    --------
    >>> bag = BagOfWords().fit(["free prize"])
    >>> bag.partial_fit(["free call"]).get_feature_names_out()
    array(['free', 'prize', 'call'], dtype=object)
    >>> bag.transform(["Free! FREE! and unheard of"]).toarray()
    array([[1., 0., 0.]])
    """

    def __init__(
        self,
        *,
        ngrams: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        binary: bool = True,
        buckets: int = 0,
    ) -> None:
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.binary = binary
        self.buckets = buckets

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary of the texts, and of no others."""
        self.vocabulary_: dict[str, int] = {}
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add the words of more texts to the vocabulary."""
        words, texts = self._words(), checked_texts(X)
        if not hasattr(self, "vocabulary_"):
            self.vocabulary_ = {}
        if not words.buckets:
            count_words(texts, words, self.vocabulary_, grow=True)
        return self

    def transform(self, X: Any) -> Any:
        """Return ``(texts, words)`` as a ``csr_array``; words that are not in the vocabulary do not count."""
        check_is_fitted(self)
        return count_words(checked_texts(X), self._words(), self.vocabulary_).X

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the vocabulary and count, reading every text once."""
        words, texts = self._words(), checked_texts(X)
        self.vocabulary_ = {}
        return count_words(texts, words, self.vocabulary_, grow=not words.buckets).X

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the words in the order of the columns; for hashed words, their buckets."""
        check_is_fitted(self)
        names = [f"#{bucket}" for bucket in range(self.buckets)] if self.buckets else list(self.vocabulary_)
        return np.array(names, dtype=object)

    def _words(self) -> Words:
        shortest, longest = self.ngrams
        return Words((shortest, longest), self.lowercase, self.binary, self.buckets).check()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def checked_texts(X: Any) -> list[str]:
    """Return texts as a list of strings, or say which is none.

    >>> checked_texts("one text")
    Traceback (most recent call last):
    ValueError: X is one text: give a list of texts, [X] for this one
    """
    if isinstance(X, str | bytes):
        raise ValueError("X is one text: give a list of texts, [X] for this one")  # noqa: TRY004
    if not isinstance(X, Iterable):
        raise ValueError(f"X must be a list of texts, got {type(X).__name__}")  # noqa: TRY004
    texts = X.tolist() if isinstance(X, np.ndarray) else list(X)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"X has {text!r:.40} in row {row}, not a text: a text is a string")  # noqa: TRY004
    return texts
