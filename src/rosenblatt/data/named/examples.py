"""What sources of named features share: a vocabulary, and words that are weighed by tf-idf."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.batch import Batch, batch_bytes, concatenate, sparse_rows
from rosenblatt.data.errors import SkippedLines
from rosenblatt.data.examples import Examples
from rosenblatt.data.labels import TargetValues
from rosenblatt.data.memory import memory_limit
from rosenblatt.data.named.vocabulary import NamedSchema, Vocabulary
from rosenblatt.data.tfidf import DocumentCounts, TfidfPlan

if TYPE_CHECKING:
    from rosenblatt.data.open import Opening

HELD_SHARE = 0.125  # of the memory there is, that counted rows may take until their weights are known


class NamedExamples(Examples):
    """Examples whose features have names, with an open vocabulary unless a schema fixes it.

    Where words are weighed by tf-idf, the document counts come from a schema, or from a first read of the whole source;
    as they arrive (``at_once``, or a schema that grows) each row is weighed by the documents up to it.
    """

    def __init__(self, opening: "Opening", schema: NamedSchema, grow: bool) -> None:
        super().__init__(opening.path, opening.batch_rows, opening.options.skip_bad)
        self._paths = opening.paths
        self._settings = schema
        self._vocabulary = Vocabulary(schema, grow)
        self._counts = DocumentCounts(schema.documents, schema.frequency)
        self._groups = np.empty(0, np.int32)
        self._weighs = schema.words.weighting == "tfidf"
        self._in_turn = self._weighs and grow and (opening.options.at_once or schema.documents > 0)
        self._target_values = TargetValues()
        self._fitted = not grow  # the document counts are those of training

    @property
    def schema(self) -> NamedSchema:
        """Names met so far, in order of appearance."""
        names = () if self._settings.bits else self._vocabulary.names
        frequency: tuple[int, ...] = ()
        if self._counts.documents:
            counted = self._counts.frequency[: len(names)].tolist()
            frequency = (*counted, *[0] * (len(names) - len(counted)))
        return replace(self._settings, names=names, documents=self._counts.documents, frequency=frequency)

    @property
    def target_kind(self) -> Literal["classes", "numeric"]:
        """``"numeric"`` where the labels read so far measure something: many different numbers; else ``"classes"``."""
        return self._target_values.kind

    @property
    def n_features(self) -> int:
        """How many features have been met."""
        return len(self._vocabulary)

    @property
    def plan(self) -> TfidfPlan | None:
        """The weighting to be fitted on counted rows of all that was read; None where words are not weighed."""
        return TfidfPlan(self._word_groups()) if self._weighs else None

    def read(self, prepared: bool = True) -> Batch:
        """Read all examples into one batch; without ``prepared``, with the counts of words instead of weights."""
        if prepared:
            return super().read()
        return concatenate(list(self._reading(self._counted_blocks)))

    @abstractmethod
    def _counted_blocks(self) -> Iterator[Batch]:
        """Read the source in blocks of any number of rows, their words counted."""

    def _blocks(self) -> Iterator[Batch]:
        self._target_values = TargetValues()
        if not self._weighs:
            yield from self._counted_blocks()
        elif self._in_turn:
            self._counts = DocumentCounts(self._settings.documents, self._settings.frequency)
            for batch in self._counted_blocks():
                yield batch._replace(X=self._counts.learn_rows(batch.X, self._word_groups()))
        else:
            held = None if self._fitted else self._fit()
            tfidf = self._counts.tfidf(self._word_groups())
            for batch in self._counted_blocks() if held is None else held:
                X = sparse_rows(batch.X.data, batch.X.indices, batch.X.indptr, len(self._vocabulary))
                yield batch._replace(X=tfidf.apply(X))

    def _finish(self, batch: Batch) -> Batch:
        self._target_values.update(batch.y)
        return batch

    def _fit(self) -> list[Batch] | None:
        """Count in how many rows each word occurs; return the rows where there is memory for all of them."""
        counts, held, size = DocumentCounts(), [], 0
        most = int(HELD_SHARE * memory_limit())
        for batch in self._counted_blocks():
            counts.update(batch.X)
            size += batch_bytes(batch)
            if size <= most:
                held.append(batch)
            else:
                held = []
        self._counts, self._fitted = counts, True
        if held or not counts.documents:
            return held
        self.skipped, self.unlabelled = SkippedLines(), 0  # the second read counts them again
        self.unseen_in.clear()
        return None

    def _word_groups(self) -> NDArray[np.int32] | None:
        """Return the text that every feature is a word of (-1: none); None where all are words of one text."""
        fields = self._settings.text
        if not fields:
            return None
        new = self._vocabulary.names[self._groups.size :]
        if new:
            self._groups = np.concatenate([self._groups, word_groups(new, fields)])
        return self._groups


def word_groups(names: Any, fields: tuple[str, ...]) -> NDArray[np.int32]:
    """Return which of the text fields each name is a word of, -1 for none; the longest field that fits counts.

    >>> word_groups(["body:free", "size", "body:text:free"], ("body", "body:text"))
    array([ 0, -1,  1], dtype=int32)
    """
    ranked = sorted(((f"{field}:", at) for at, field in enumerate(fields)), key=lambda each: -len(each[0]))
    groups = [next((at for prefix, at in ranked if name.startswith(prefix)), -1) for name in names]
    return np.array(groups, np.int32)
