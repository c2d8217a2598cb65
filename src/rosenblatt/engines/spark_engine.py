"""Passes on Spark: shards are files beside the executors, and where they lie is a persisted RDD.

Rows cross from Java to Python once, when the shards are made; a pass then maps the files of its shard. Tasks go where
the partition of the RDD is kept, which is where the files are. An executor that is lost takes that partition along, and
its shard is made again from its lineage; a task that runs on another machine all the same says so and is asked again.

Stages are ordinary ones, without barriers: a barrier stage waits for all its slots at once, and never gets them under
dynamic allocation.
"""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from rosenblatt.engines.foretold import Foretold, came_true, foretell
from rosenblatt.engines.mixing import one_pass
from rosenblatt.engines.protocol import FAN, up_the_tree
from rosenblatt.engines.recipes import Mixed
from rosenblatt.engines.removal import remove_behind
from rosenblatt.engines.shard import Facts, Shard, facts_of
from rosenblatt.engines.shard_files import Kept, Writer, opened
from rosenblatt.engines.spark_errors import plain_errors
from rosenblatt.engines.spark_workers import acknowledge, set_aside

T = TypeVar("T")
ELSEWHERE = "elsewhere"  # the answer of a task that does not find its shard
SHARDS = "rosenblatt.shards"  # the property that tells a task how many there are
SMALL = 1 << 18  # bytes that travel with every task rather than as a broadcast, which costs a round trip


class SparkEngine:
    """Shards and passes on the executors of a ``SparkContext``."""

    name = "spark"

    def __init__(self, context: Any) -> None:
        self._context = context
        self.run = f"rosenblatt-{uuid4().hex[:8]}"
        self._shards: Any = None  # persisted
        self._anew: Callable[[], Any] | None = None  # the same from its lineage, made again by every job
        self._count = 0
        self._facts: list[Facts] | None = None  # where they came with the shards
        self._foretold: list[Foretold | None] = []  # as did first passes
        self._folders: set[str] = set()  # that the run has on executors
        self._unsure = False  # whether there may be others

    def hold(self, makers: Sequence[Any]) -> None:
        """Make the shards, one to a partition."""
        every, run = list(makers), self.run

        def shards() -> Any:
            numbers = self._context.parallelize(range(len(every)), len(every))
            return numbers.map(lambda at: kept(every[at](at), run, at))

        self._keep(shards)

    def hold_rows(self, rows: Callable[[], Any]) -> None:
        """Make the shards that an RDD of :func:`told` rows writes, at once; what they say of themselves comes along."""
        self._keep(rows)
        self._context.setLocalProperty(SHARDS, str(self._count))
        try:
            with self._sending(()):
                every = {row["at"]: row for row in self._shards.collect()}
        finally:
            self._context.setLocalProperty(SHARDS, None)
        nothing = facts_of(_without_rows(0))
        self._facts = [_facts(every[at]) if at in every else nothing for at in range(self._count)]
        self._foretold = [_foretold(every.get(at)) for at in range(self._count)]
        self._folders = {str(Path(Kept.from_json(row["shard"]).folder).parent) for row in every.values()}

    def gather(self, ask: Callable[..., T], *sent: Any) -> list[T]:
        """Ask every shard and return the answers in order; those that were not found are asked for again."""
        if ask is facts_of and self._facts is not None:
            return list(self._facts)  # type: ignore[arg-type]
        assert self._anew is not None, "no shards are held"
        with self._sending(sent) as common:
            found: dict[int, Any] = {}
            left = list(range(self._count))
            for last in (False, False, True):
                shards = self._anew() if last else self._shards
                answers = shards.mapPartitionsWithIndex(_answering(ask, common))
                # to name those that are asked takes a call to Java each
                all_of_them = len(left) == self._count
                for at, folder, answer in (
                    answers.collect() if all_of_them else self._context.runJob(answers, list, left)
                ):
                    found[at] = answer
                    self._folders |= {folder} if folder else set()
                left = [at for at in left if _is_elsewhere(found[at])]
                if not left:
                    return [found[at] for at in range(self._count)]
        raise RuntimeError(f"shards {left} were not found by the tasks that made them: is the disk full?")

    def reduce(self, ask: Callable[..., T], sent: Any, join: Callable[[list[T]], T]) -> T:
        """Ask every shard, and join the answers on the executors, up a tree; the last join is the driver's."""
        if ask is one_pass and came_true(self._foretold, sent):
            foretold: list[Any] = [each.outcome for each in self._foretold if each is not None]
            outcome: T = up_the_tree(foretold, join)
            return outcome
        if self._count <= FAN:
            return up_the_tree(self.gather(ask, sent), join)
        with self._sending((sent,)) as common:
            level = self._shards.mapPartitionsWithIndex(_answering(ask, common)).map(lambda told: told[::2])
            count = self._count
            while count > FAN:
                count = -(-count // FAN)
                level = level.map(lambda pair: (pair[0] // FAN, pair)).groupByKey(count).map(_joining(join))
            found: list[T] = [answer for _, answer in sorted(level.collect(), key=_number)]
        if any(_is_elsewhere(answer) for answer in found):
            return up_the_tree(self.gather(ask, sent), join)
        return up_the_tree(found, join)

    def release(self) -> None:
        """Let go of the shards; their files are removed while others go on (``removal.removed`` waits for it)."""
        if (
            self._shards is None or self._context._jsc is None
        ):  # none, or Spark has stopped and removed its folders
            return
        here = [folder for folder in self._folders if Path(folder).exists()]
        remove_behind(here)
        if self._unsure or len(here) < len(self._folders):
            run, wide = self.run, max(self._count, self._context.defaultParallelism)
            with contextlib.suppress(Exception):  # what is then left goes with the executors' own folders
                self._context.parallelize(range(wide), wide).foreach(lambda _: _remove(run))
        self._shards.unpersist()
        self._shards = self._anew = self._facts = None
        self._foretold = []
        self._folders, self._unsure = set(), False

    def _keep(self, shards: Callable[[], Any]) -> None:
        from pyspark import StorageLevel

        self.release()
        self._anew, self._shards = shards, shards().persist(StorageLevel.MEMORY_AND_DISK)
        self._count = self._shards.getNumPartitions()

    @contextlib.contextmanager
    def _sending(self, sent: tuple[Any, ...]) -> Iterator[Callable[[], tuple[Any, ...]]]:
        """Send something to every executor while jobs run; what is interrupted is cancelled there too."""
        from pyspark.serializers import CPickleSerializer

        written = CPickleSerializer().dumps(sent)
        common = self._context.broadcast(written) if len(written) > SMALL else None
        self._context.setJobGroup(self.run, "rosenblatt", interruptOnCancel=True)
        try:
            with plain_errors():
                yield _unwrapping(written if common is None else None, common)
        except BaseException:
            self._unsure = True
            self._context.cancelJobGroup(self.run)
            raise
        finally:
            self._context.setLocalProperty("spark.jobGroup.id", None)
            if common is not None:
                common.destroy()


# On the executors


def kept(shard: Any, run: str, at: int) -> Any:
    """Write a shard to files and return where; anything else, and a shard of its own kind, stays as it is."""
    if type(shard) is not Shard:
        return shard
    writer = Writer(folder_for(run, at))
    try:
        writer.add(shard)
        return {"shard": writer.close().to_json()}
    except BaseException:
        writer.discard()
        raise


def told(
    writer: Writer, at: int, max_sqnorm: float | None, begin: Mixed | None = None
) -> dict[str, list[Any]]:
    """Return the row that tells where a written shard lies, what it says about itself, and its first pass if need be.

    Of one shard, and of so many that answers are joined on the executors, no first pass is made: nobody would ask here.
    """
    from pyspark import TaskContext
    from pyspark.serializers import CPickleSerializer

    found = writer.close()
    shard = opened(found._replace(max_sqnorm=max_sqnorm), at)
    assert shard is not None
    facts = facts_of(shard)
    shard.max_sqnorm = facts.max_sqnorm
    count = int(TaskContext.get().getLocalProperty(SHARDS) or 0)
    first = foretell(shard, facts, begin) if begin is not None and 1 < count <= FAN else None
    said = facts._asdict()
    kind = facts.classes.dtype.str
    said |= {"classes": [kind, facts.classes.tolist()], "counts": facts.counts.tolist()}
    return {
        "at": [at],
        "shard": [found._replace(max_sqnorm=facts.max_sqnorm).to_json()],
        "facts": [json.dumps(said)],
        "first": [None if first is None else CPickleSerializer().dumps(first)],
    }


def told_schema() -> Any:
    """Return the type of what :func:`told` says; built here, since Spark takes milliseconds to read it from text."""
    from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

    kinds = {"at": IntegerType(), "shard": StringType(), "facts": StringType(), "first": BinaryType()}
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


def _facts(row: Any) -> Facts:
    facts = json.loads(row["facts"])
    kind, classes = facts["classes"]
    facts |= {"classes": np.array(classes, kind), "counts": np.array(facts["counts"], np.int64)}
    return Facts(**facts)


def _foretold(row: Any) -> Foretold | None:
    from pyspark.serializers import CPickleSerializer

    if row is None or row["first"] is None:
        return None
    found: Foretold = CPickleSerializer().loads(bytes(row["first"]))
    return found


def folder_for(run: str, at: int) -> Path:
    """Return a new folder for a shard, among those that Spark removes with the executor."""
    roots = _roots()
    return Path(roots[at % len(roots)], run, f"{at}-{uuid4().hex[:8]}")


def _roots() -> list[str]:
    return os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")


def _remove(run: str) -> None:
    for root in _roots():
        shutil.rmtree(Path(root, run), ignore_errors=True)


def _answering(
    ask: Callable[..., Any], common: Callable[[], tuple[Any, ...]]
) -> Callable[..., Iterator[Any]]:
    def answering(at: int, shards: Iterable[Any]) -> Iterator[tuple[int, str | None, Any]]:
        folder = None
        acknowledge()
        shard, *_ = [
            *shards,
            None,
        ]  # read to the end: Spark ends a Python process that leaves something unread
        if shard is None:
            shard = _without_rows(at)
        elif isinstance(shard, dict) or hasattr(shard, "asDict"):  # a dict of ours, a row of Spark's
            where = Kept.from_json(shard["shard"])
            folder = str(Path(where.folder).parent)
            shard = opened(where, at)
        answer = ELSEWHERE if shard is None else ask(shard, *common())
        set_aside()
        yield at, folder, answer

    return answering


def _joining(join: Callable[[list[T]], T]) -> Callable[[Any], tuple[int, Any]]:
    def joined(group: tuple[int, Iterable[tuple[int, T]]]) -> tuple[int, Any]:
        answers = [answer for _, answer in sorted(group[1], key=_number)]
        return group[0], ELSEWHERE if any(_is_elsewhere(each) for each in answers) else join(answers)

    return joined


def _unwrapping(written: bytes | None, common: Any) -> Callable[[], tuple[Any, ...]]:
    def sent() -> tuple[Any, ...]:
        from pyspark.serializers import CPickleSerializer

        found: tuple[Any, ...] = CPickleSerializer().loads(common.value if written is None else written)
        return found

    return sent


def _without_rows(at: int) -> Shard:
    return Shard(np.empty((0, 0)), np.empty(0), None, at)


def _is_elsewhere(answer: Any) -> bool:
    return isinstance(answer, str) and answer == ELSEWHERE


def _number(pair: tuple[int, Any]) -> int:
    return pair[0]
