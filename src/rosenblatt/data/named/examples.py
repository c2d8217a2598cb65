"""The base class of sources of named features: a vocabulary, and tf-idf weights of words."""

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
from rosenblatt.data.words import DocumentCounts, TfidfPlan

if TYPE_CHECKING:
    from rosenblatt.data.open import Opening

BUFFERED_SHARE = 0.125  # of the memory, for counted rows that wait for their tf-idf weights


class NamedExamples(Examples):
    """Examples whose features have names, with an open vocabulary unless a schema fixes it.

    With tf-idf, the document counts come from a schema or from a first pass over the whole source. In a stream
    (``at_once``, or a schema that grows) each row is weighted by the documents up to it.
    """

    def __init__(self, opening: "Opening", schema: NamedSchema, grow: bool) -> None:
        super().__init__(opening.path, opening.batch_rows, opening.options.skip_bad)
        self._paths = opening.paths
        self._options = schema
        self._vocabulary = Vocabulary(schema, grow)
        self._counts = DocumentCounts(schema.documents, schema.frequency)
        self._groups = np.empty(0, np.int32)
        self._tfidf = schema.words.weighting == "tfidf"
        self._streaming = self._tfidf and grow and (opening.options.at_once or schema.documents > 0)
        self._target_values = TargetValues()
        self._fitted = not grow  # the document counts are final

    @property
    def schema(self) -> NamedSchema:
        """Names so far, in order of appearance."""
        names = () if self._options.bits else self._vocabulary.names
        frequency: tuple[int, ...] = ()
        if self._counts.documents:
            counts = self._counts.frequency[: len(names)].tolist()
            frequency = (*counts, *[0] * (len(names) - len(counts)))
        return replace(self._options, names=names, documents=self._counts.documents, frequency=frequency)

    @property
    def target_kind(self) -> Literal["classes", "numeric"]:
        """``"numeric"`` if the labels so far are a measurement, with many distinct numbers; else ``"classes"``."""
        return self._target_values.kind

    @property
    def n_features(self) -> int:
        """Number of features so far."""
        return len(self._vocabulary)

    @property
    def plan(self) -> TfidfPlan | None:
        """The tf-idf weighting, to be fitted on counted rows; None without tf-idf."""
        return TfidfPlan(self._word_groups()) if self._tfidf else None

    def read(self, prepared: bool = True) -> Batch:
        """Read all examples into one batch; without ``prepared``, with word counts instead of tf-idf weights."""
        if prepared:
            return super().read()
        return concatenate(list(self._reading(self._counted_blocks)))

    @abstractmethod
    def _counted_blocks(self) -> Iterator[Batch]:
        """Yield the source in blocks of any number of rows, with word counts."""

    def _blocks(self) -> Iterator[Batch]:
        self._target_values = TargetValues()
        if not self._tfidf:
            yield from self._counted_blocks()
        elif self._streaming:
            self._counts = DocumentCounts(self._options.documents, self._options.frequency)
            for batch in self._counted_blocks():
                yield batch._replace(X=self._counts.learn_rows(batch.X, self._word_groups()))
        else:
            buffered = None if self._fitted else self._fit()
            tfidf = self._counts.tfidf(self._word_groups())
            for batch in self._counted_blocks() if buffered is None else buffered:
                X = sparse_rows(batch.X.data, batch.X.indices, batch.X.indptr, len(self._vocabulary))
                yield batch._replace(X=tfidf.apply(X))

    def _finish(self, batch: Batch) -> Batch:
        self._target_values.update(batch.y)
        return batch

    def _fit(self) -> list[Batch] | None:
        """Count the documents of each word; return the counted rows if they fit in memory, else None."""
        counts, buffered, size = DocumentCounts(), [], 0
        limit = int(BUFFERED_SHARE * memory_limit())
        for batch in self._counted_blocks():
            counts.update(batch.X)
            size += batch_bytes(batch)
            if size <= limit:
                buffered.append(batch)
            else:
                buffered = []
        self._counts, self._fitted = counts, True
        if buffered or not counts.documents:
            return buffered
        self.skipped, self.unlabelled = SkippedLines(), 0  # the second pass counts them again
        self.unseen_in.clear()
        return None

    def _word_groups(self) -> NDArray[np.int32] | None:
        """Return the number of the text field that every feature is a word of, -1 for none; None without fields."""
        fields = self._options.text
        if not fields:
            return None
        new = self._vocabulary.names[self._groups.size :]
        if new:
            self._groups = np.concatenate([self._groups, word_groups(new, fields)])
        return self._groups


def word_groups(names: Any, fields: tuple[str, ...]) -> NDArray[np.int32]:
    """Return the number of the text field that each name is a word of, -1 for none; the longest matching field counts.

    >>> word_groups(["body:free", "size", "body:text:free"], ("body", "body:text"))
    array([ 0, -1,  1], dtype=int32)
    """
    prefixes = sorted(((f"{field}:", k) for k, field in enumerate(fields)), key=lambda item: -len(item[0]))
    groups = [next((k for prefix, k in prefixes if name.startswith(prefix)), -1) for name in names]
    return np.array(groups, np.int32)
