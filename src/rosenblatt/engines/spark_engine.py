"""Passes on Spark: shards are a persisted RDD, made again from its lineage where an executor is lost.

Stages are ordinary ones, without barriers: a barrier stage waits for all its slots at once, and never gets them under
dynamic allocation.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar
from uuid import uuid4

from rosenblatt.engines.protocol import FAN, up_the_tree
from rosenblatt.engines.shard import Shard, shard_of_batches

T = TypeVar("T")
PIECE = 128 << 20  # bytes of rows in one record: Spark's records are arrays of less than 2 GB
_SAID = re.compile(r"^(?:[\w.]+\.)?(ValueError|TypeError|BadInput|FileNotFoundError): (.*)$", re.MULTILINE)


class SparkEngine:
    """Shards and passes on the executors of a ``SparkContext``."""

    name = "spark"

    def __init__(self, context: Any) -> None:
        self._context = context
        self._run = f"rosenblatt-{uuid4().hex[:8]}"
        self._shards: Any = None
        self._count = 0

    def hold(self, makers: Sequence[Any]) -> None:
        """Make the shards, one to a partition."""
        every = list(makers)
        numbers = self._context.parallelize(range(len(every)), len(every))
        self.hold_pieces(numbers.flatMap(lambda at: pieces_of(every[at](at))), len(every))

    def hold_pieces(self, pieces: Any, count: int) -> None:
        """Keep an RDD whose partitions hold the pieces of a shard each."""
        from pyspark import StorageLevel

        self.release()
        self._shards, self._count = pieces.persist(StorageLevel.MEMORY_AND_DISK), count

    def gather(self, ask: Callable[..., T], *sent: Any) -> list[T]:
        """Ask every shard and return the answers in order."""
        with self._broadcast(sent) as common:
            return [answer for _, answer in sorted(self._answers(ask, common).collect(), key=_number)]

    def reduce(self, ask: Callable[..., T], sent: Any, join: Callable[[list[T]], T]) -> T:
        """Ask every shard, and join the answers on the executors, up a tree; the last join is the driver's."""
        with self._broadcast((sent,)) as common:
            level, count = self._answers(ask, common), self._count
            while count > FAN:
                level = level.map(lambda pair: (pair[0] // FAN, pair))
                count = -(-count // FAN)
                level = level.groupByKey(count).map(
                    lambda group: (group[0], join([answer for _, answer in sorted(group[1], key=_number)]))
                )
            found: list[T] = [answer for _, answer in sorted(level.collect(), key=_number)]
            return up_the_tree(found, join)

    def release(self) -> None:
        """Let go of the shards."""
        if self._shards is not None and self._context._jsc is not None:
            self._shards.unpersist()
        self._shards = None

    def _answers(self, ask: Callable[..., T], common: Any) -> Any:
        def answer(at: int, pieces: Iterable[Any]) -> Iterator[tuple[int, T]]:
            yield at, ask(shard_of_pieces(pieces, at), *common.value)

        return self._shards.mapPartitionsWithIndex(answer)

    @contextlib.contextmanager
    def _broadcast(self, sent: tuple[Any, ...]) -> Iterator[Any]:
        """Send something to every executor while jobs run; what is interrupted is cancelled there too."""
        common = self._context.broadcast(sent)
        self._context.setJobGroup(self._run, "rosenblatt", interruptOnCancel=True)
        try:
            with plain_errors():
                yield common
        except BaseException:
            self._context.cancelJobGroup(self._run)
            raise
        finally:
            self._context.setLocalProperty("spark.jobGroup.id", None)
            common.destroy()


def pieces_of(shard: Any) -> Iterator[Any]:
    """Cut a shard into records that Spark can hold; anything else, and a shard of its own kind, stays as it is."""
    if type(shard) is not Shard:
        yield shard
        return
    n = shard.X.shape[0]
    nbytes = shard.X.nbytes if hasattr(shard.X, "nbytes") else shard.X.data.nbytes + shard.X.indices.nbytes
    rows = max(1, n // (1 + nbytes // PIECE))
    for at in range(0, max(n, 1), rows):
        part = slice(at, at + rows)
        whole = rows >= n
        yield (
            shard.X if whole else shard.X[part],
            shard.y if whole else shard.y[part],
            shard.weight if whole or shard.weight is None else shard.weight[part],
        )


def shard_of_pieces(pieces: Iterable[Any], index: int) -> Any:
    """Put a shard together where a pass comes to it."""
    every = list(pieces)
    if len(every) == 1 and type(every[0]) is not tuple:
        return every[0]
    some = [piece if piece[2] is not None else piece[:2] for piece in every]
    if len(some) == 1:
        X, y, weight = (*some[0], None)[:3]
        return Shard(X, y, weight, index)
    return shard_of_batches(some, index)


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Say what an executor said, without the stack of two languages around it."""
    from pyspark.errors import PythonException

    try:
        yield
    except PythonException as error:
        said = _SAID.findall(str(error))
        if not said:
            raise
        kind, message = said[-1]
        raise (TypeError if kind == "TypeError" else ValueError)(message) from None


def _number(pair: tuple[int, Any]) -> int:
    return pair[0]
