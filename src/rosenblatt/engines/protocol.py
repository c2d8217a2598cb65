"""What an engine is: where shards lie and requests run. Local threads, Dask and Spark implement this protocol."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from rosenblatt.engines.shards import Shard, ShardSummary

T = TypeVar("T")
Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)
Loader = Callable[[int], Shard]  # builds the shard of this number: on any worker, any number of times
FAN_IN = 8  # answers that one node of the reduction tree combines


class Request(Protocol[Answer_co]):
    """A question to one shard, with everything the answer depends on.

    ``answer`` has no side effects: where a worker is lost the request is repeated, and the answer counts once. Requests
    are sent to workers, so they are picklable.
    """

    def answer(self, shard: Shard) -> Answer_co:
        """Return the answer of one shard."""


class Reduction(Request[Answer], Protocol[Answer]):
    """A request whose answers are combined, in the order of the shards, on the way to the driver."""

    def combine(self, answers: list[Answer]) -> Answer:
        """Combine answers of neighbouring shards into one."""


class Engine(Protocol):
    """Shards are loaded once and stay; requests come to them.

    Reduction trees have the same shape on every engine, so the same shards give the same bits.
    """

    name: str

    def load(self, loaders: Sequence[Any]) -> None:
        """Load the shards and keep them where they are."""

    def summaries(self) -> list[ShardSummary]:
        """Return the summary of every shard, in order."""

    def gather(self, request: Request[Answer]) -> list[Answer]:
        """Return the answer of every shard, in order; for small answers."""

    def reduce(self, request: Reduction[Answer]) -> Answer:
        """Return the answers of all shards combined up a tree; for large answers."""

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        """Call a function on every item, on the workers; no shard is involved."""

    def release(self) -> None:
        """Release the shards, and every other resource of the run."""


def groups_of(items: Sequence[T]) -> Iterator[list[T]]:
    """Cut one level of the reduction tree into groups that are combined.

    >>> [len(group) for group in groups_of(range(20))]
    [8, 8, 4]
    """
    for start in range(0, len(items), FAN_IN):
        yield list(items[start : start + FAN_IN])


def reduce_tree(answers: Sequence[T], combine: Callable[[list[T]], T]) -> T:
    """Combine answers in order, level by level.

    >>> reduce_tree(["a", "b", "c"], "".join)
    'abc'
    """
    level = list(answers)
    while len(level) > 1:
        level = [combine(group) for group in groups_of(level)]
    return level[0]
