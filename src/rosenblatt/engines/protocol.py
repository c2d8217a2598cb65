"""What an engine is: where shards lie and passes run. One file per engine keeps to this."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from rosenblatt.engines.shard import Shard

T = TypeVar("T")
Maker = Callable[[int], Shard]  # makes the shard of this number, anywhere and any number of times
FAN = 8  # answers that one join takes


class Engine(Protocol):
    """Shards are made where they stay, asked one by one, and their answers joined up a tree.

    A question is a function of a shard and of what is sent along, without side effects: where a worker is lost, it is
    asked again, and the answer counts once. Trees have the same shape on every engine, so the same shards give the same
    bits.
    """

    name: str

    def hold(self, makers: Sequence[Any]) -> None:
        """Make the shards and keep them where they are."""

    def gather(self, ask: Callable[..., T], *sent: Any) -> list[T]:
        """Ask every shard and return the answers in order; for small ones."""

    def reduce(self, ask: Callable[..., T], sent: Any, join: Callable[[list[T]], T]) -> T:
        """Ask every shard and join the answers, in order, up a tree; for large ones."""

    def release(self) -> None:
        """Let go of the shards, and of whatever else was kept."""


def in_groups(items: Sequence[T]) -> Iterator[list[T]]:
    """Cut what one level of a tree joins.

    >>> [len(group) for group in in_groups(range(20))]
    [8, 8, 4]
    """
    for start in range(0, len(items), FAN):
        yield list(items[start : start + FAN])


def up_the_tree(answers: Sequence[T], join: Callable[[list[T]], T]) -> T:
    """Join answers in order, level by level."""
    level = list(answers)
    while len(level) > 1:
        level = [join(group) for group in in_groups(level)]
    return level[0]
