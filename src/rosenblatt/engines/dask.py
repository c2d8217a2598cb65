"""Training on a Dask cluster: tasks load the shards, so that lost ones can be loaded again; passes run where they lie.

Workers that die: scattered data are lost with them, and scattering while a worker dies hangs; so the weights, too, are
the result of a task, which the scheduler can run again. A task bound to one address waits forever once that worker is
gone; a task bound to none is stolen by an idle worker, and the shard moves with it, seconds for a gigabyte. So a
request prefers the worker that holds its shard but may run elsewhere, and a wait that finds no worker busy loads lost
shards again under new keys and repeats the request. Cancelling by force can fail inside the scheduler: futures are
released instead, which cancels tasks that no one else needs.

Latency: a client sends to its scheduler at most every 10 ms. So a request is one graph, the reduction included; the
futures of the request before are released behind it, and the locations of the shards are looked up while passes run.
"""

import os
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from uuid import uuid4

from rosenblatt.engines import dask_collections as collections
from rosenblatt.engines.dask_collections import DelayedLoader
from rosenblatt.engines.estimators import (
    check_estimator,
    fit_encoder,
    fit_estimator,
    is_encoder,
    is_pipeline,
    pipeline_steps,
)
from rosenblatt.engines.protocol import FAN_IN, Answer, Reduction, Request, groups_of, reduce_tree
from rosenblatt.engines.shards import Shard, ShardSummary, SummaryRequest
from rosenblatt.engines.training import ConfusionMatrix, OnEpoch, evaluate_model

T = TypeVar("T")
ATTEMPTS = 5  # of one request
POLL_SECONDS = 1.0  # between looks at the state of the cluster
IDLE_POLLS = 10  # polls without a busy worker before the request is repeated
EMPTY_POLLS = 120  # polls without any worker before the run is given up: workers take a while to start
FETCH_SECONDS = 600.0  # for results that are computed to arrive
INLINE_BYTES = (
    1 << 18
)  # a request up to this size is sent with every task, a larger one as the result of one task


class Stranded(RuntimeError):
    """No worker is busy with pending tasks: they wait for workers that are gone, or were lost."""


class NoWorkers(RuntimeError):
    """The cluster has had no workers for a while."""


class _Opaque:
    """A value that Dask does not traverse: it looks for tasks inside of tuples."""

    def __init__(self, value: Any) -> None:
        self.value = value


class DaskEngine:
    """Shards and passes on the workers of a ``distributed.Client``; every task shows on its dashboard."""

    name = "dask"

    def __init__(self, client: Any) -> None:
        self._client = client
        self._run = uuid4().hex[:8]
        self._loaders: list[Any] = []
        self._shards: dict[int, Any] = {}  # futures
        self._preferred: dict[int, str] = {}  # address that a shard was to be loaded at
        self._locations: dict[str, Any] = {}  # addresses that held a shard at the last look, by key
        self._last_futures: list[Any] = []  # of the request before
        self._requests = 0

    def load(self, loaders: Sequence[Any]) -> None:
        """Load the shards by tasks: from blocks, where Dask puts them; others spread evenly over the workers."""
        self.release()
        self._loaders = list(loaders)
        self._submit_loads(list(range(len(loaders))))
        self._with_retries(lambda: self._wait(list(self._shards.values())))
        for future in self._shards.values():
            if future.status == "error":
                future.result()

    def summaries(self) -> list[ShardSummary]:
        """Return the summary of every shard."""
        return self.gather(SummaryRequest())

    def gather(self, request: Request[Answer]) -> list[Answer]:
        """Return the answer of every shard, in order."""
        return self._with_retries(lambda: self._run_request(request, None))

    def reduce(self, request: Reduction[Answer]) -> Answer:
        """Return the answers combined up a tree on the workers; a few small ones are combined here, which is faster."""
        few = len(self._shards) <= FAN_IN and _pickled_size(request) <= INLINE_BYTES
        combine = None if few else request.combine
        answers: list[Answer] = self._with_retries(lambda: self._run_request(request, combine))
        return reduce_tree(answers, request.combine)

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        """Call a function on every item, on the workers; items may be delayed."""
        import dask

        call = dask.delayed(function, pure=False)

        def run() -> list[T]:
            self._requests += 1
            tasks = [call(item, dask_key_name=self._key("map", at)) for at, item in enumerate(items)]
            futures = self._client.compute(tasks)
            try:
                return list(self._fetch(futures))
            finally:
                for future in futures:
                    future.release()

        return self._with_retries(run)

    def release(self) -> None:
        """Release the shards; tasks that still run are cancelled."""
        for future in (*self._shards.values(), *self._last_futures):
            future.release()
        self._shards, self._preferred, self._locations, self._last_futures = {}, {}, {}, []

    def _submit_loads(self, numbers: list[int]) -> None:
        """Submit tasks that load some of the shards."""
        import dask

        self._requests += 1
        threads = self._client.nthreads()
        slots = [address for address in sorted(threads) for _ in range(threads[address])]
        delayed = []
        for place, at in enumerate(numbers):
            loader = self._loaders[at]
            function, blocks = loader if isinstance(loader, DelayedLoader) else (loader, ())
            self._preferred.pop(at, None)
            annotations = {}
            if slots and not blocks:
                self._preferred[at] = slots[place * len(slots) // len(numbers)]
                annotations = {"workers": [self._preferred[at]], "allow_other_workers": True}
            with dask.annotate(**annotations):
                load = dask.delayed(function, pure=False)
                delayed.append(load(*blocks, at, dask_key_name=self._key("shard", at)))
        self._shards |= zip(numbers, self._client.compute(delayed), strict=True)

    def _has_stranded_shards(self) -> bool:
        """Return whether some shard is neither held nor being loaded, and prefers a worker that is gone."""
        alive = self._client.nthreads()
        gone = [at for at, address in self._preferred.items() if address not in alive]
        if not gone or not alive:
            return False
        held = self._client.who_has([self._shards[at] for at in gone])
        busy = {key for keys in self._client.processing().values() for key in keys}
        keys = [self._shards[at].key for at in gone]
        return any(not held.get(key) and key not in busy for key in keys)

    def _run_request(self, request: Request[Any], combine: Callable[[list[Any]], Any] | None) -> list[Any]:
        """Run a request where the shards lie; without this preference Dask would move idle shards."""
        import dask

        self._requests += 1
        name = type(request).__name__
        answer, message = dask.delayed(_answer, pure=False), _Opaque(request)
        shared: Any = message
        if _pickled_size(request) > INLINE_BYTES:
            shared = dask.delayed(_identity, pure=False)(message, dask_key_name=self._key("request", 0))
        locations = self._locations or self._look_up_locations()
        level = []
        for at in range(len(self._shards)):
            holders = list(locations.get(self._shards[at].key, ()))
            with dask.annotate(**({"workers": holders, "allow_other_workers": True} if holders else {})):
                level.append(answer(shared, self._shards[at], dask_key_name=self._key(name, at)))
        depth = 0
        while combine is not None and len(level) > 1:
            depth += 1
            reduction = dask.delayed(_combine, pure=False)
            level = [
                reduction(shared, group, dask_key_name=self._key(f"combine{depth}", at))
                for at, group in enumerate(groups_of(level))
            ]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # weights, not rows
            futures = self._client.compute(level, optimize_graph=False)
        before, self._last_futures = self._last_futures, futures
        for future in before:
            future.release()
        try:
            self._look_up_locations()
            return list(self._fetch(futures))
        except BaseException:
            for future in futures:
                future.release()
            raise

    def _look_up_locations(self) -> dict[str, Any]:
        """Look up which workers hold the shards; the next request prefers them."""
        self._locations = self._client.who_has(list(self._shards.values()))
        return self._locations

    def _key(self, what: str, at: int) -> str:
        return f"rosenblatt-{what}-{self._run}-{self._requests}-{at}"

    def _fetch(self, futures: list[Any]) -> Any:
        self._wait(futures)
        try:
            results = self._client.gather(futures, asynchronous=True)
            return self._client.sync(_awaited, results, callback_timeout=FETCH_SECONDS)
        except TimeoutError:
            raise Stranded(f"results did not arrive from the workers within {FETCH_SECONDS:g} s") from None

    def _wait(self, futures: list[Any]) -> None:
        """Wait for futures; poll whether the cluster has workers, and whether any is busy."""
        from distributed import wait

        idle = empty = 0
        while True:
            try:
                wait(futures, timeout=POLL_SECONDS)
            except TimeoutError:
                no_workers = not self._client.nthreads()
                empty = empty + 1 if no_workers else 0
                if empty >= EMPTY_POLLS:
                    raise NoWorkers(
                        f"the Dask cluster has had no worker for {empty * POLL_SECONDS:g} s: start some, and fit again "
                        "(with checkpoint=, it continues from the last epoch)"
                    ) from None
                idle = 0 if no_workers or any(self._client.processing().values()) else idle + 1
                if self._has_stranded_shards() or idle >= IDLE_POLLS:
                    raise Stranded(
                        "the Dask cluster has workers, but none is busy with this request"
                    ) from None
            else:
                return

    def _with_retries(self, run: Callable[[], T]) -> T:
        """Run, and repeat where workers died in a way that Dask does not recover from; lost shards are loaded again."""
        from distributed.client import FutureCancelledError, FuturesCancelledError
        from distributed.comm import CommClosedError

        for left in reversed(range(ATTEMPTS)):
            try:
                return run()
            except (FutureCancelledError, FuturesCancelledError, CommClosedError, Stranded):
                if not left:
                    raise
                locations = self._look_up_locations()
                lost = [at for at, shard in self._shards.items() if not locations.get(shard.key)]
                if lost:
                    self._submit_loads(lost)
                    self._locations = {}  # looked up again before the next request
        raise AssertionError  # the last attempt returned or raised


async def _awaited(results: Awaitable[T]) -> T:
    return await results


def _identity(message: _Opaque) -> _Opaque:
    return message


def _answer(message: _Opaque, shard: Shard) -> Any:
    return message.value.answer(shard)


def _combine(message: _Opaque, answers: list[Any]) -> Any:
    return message.value.combine(answers)


def _pickled_size(value: Any) -> int:
    """Return the number of bytes that are sent; arrays are not copied to find out."""
    from distributed.protocol.pickle import dumps

    buffers: list[Any] = []
    inline: bytes = dumps(value, buffer_callback=buffers.append)
    return len(inline) + sum(int(each.raw().nbytes) for each in buffers)


def fit_dask(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    client: Any = None,
    shards: int | None = None,
    mixing: str = "uniform",
    checkpoint: str | os.PathLike[str] | None = None,
    on_epoch: OnEpoch | None = None,
) -> Any:
    """Fit an estimator on a Dask cluster, and return it: an ordinary fitted estimator.

    Parameters
    ----------
    estimator : Perceptron or LogisticRegression (mixing), ClosestCentroid or NaiveBayes (one pass, exact), Attributes,
        or a pipeline of Attributes and one of these
    X : a dask array; a dask dataframe; a list of ``dask.delayed`` blocks, dense or CSR; or a bag of batches ``(X, y)``
    y : a dask array, series or list with the same blocks as X; or the name of a column of the dataframe; None for a bag
    client : a ``distributed.Client``; the current one by default
    shards : number of shards; one for each block by default, which moves no data. Fewer join neighbouring blocks
    mixing : ``"uniform"``, or ``"mistakes"``: shards with more corrections count more
    checkpoint : a file that holds the state after every epoch; where it exists, training continues from it
    on_epoch : called after every epoch with a :class:`~rosenblatt.engines.history.MixedEpoch`

    Notes
    -----
    **Guarantee.** A function of the blocks, not of the cluster: any number of workers, and workers that die during
    training, give the same bits. With ``shards=1`` the result is that of ``estimator.fit`` on all rows. See
    :mod:`rosenblatt.engines.mixing`.
    """
    client = client or _current()
    if is_pipeline(estimator):
        return _fit_pipeline(estimator, X, y, client, shards, mixing, checkpoint, on_epoch)
    if is_encoder(estimator):
        parts = collections.dataframe_partitions(X)
        return fit_encoder(estimator, lambda function: DaskEngine(client).map(function, parts))
    check_estimator(estimator)
    blocks = collections.blocks_of(X, y)
    engine = DaskEngine(client)
    try:
        engine.load(collections.shard_loaders(blocks, shards))
        return fit_estimator(
            engine, estimator, mixing=mixing, checkpoint=checkpoint, on_epoch=on_epoch, names=blocks.names
        )
    finally:
        engine.release()


def predict_dask(model: Any, X: Any) -> Any:
    """Predict lazily where the blocks lie; return an array, a series, delayed blocks or a bag, as X is."""
    return collections.map_blocks(model, "predict", X)


def transform_dask(encoder: Any, X: Any) -> list[Any]:
    """Encode the partitions of a dataframe lazily where they lie; return delayed blocks for :func:`fit_dask`."""
    import dask

    call = dask.delayed(collections.call_method, pure=False)
    return [call(encoder, "transform", part) for part in collections.dataframe_partitions(X)]


def evaluate_dask(model: Any, X: Any, y: Any = None, *, client: Any = None) -> ConfusionMatrix:
    """Count the right and wrong predictions of a model where the blocks lie."""
    if is_pipeline(model):
        frame, y = collections.without_target(X, y)
        X, model = transform_dask(model[:-1], frame), model[-1]
    engine = DaskEngine(client or _current())
    try:
        engine.load(collections.shard_loaders(collections.blocks_of(X, y), None))
        return evaluate_model(engine, model)
    finally:
        engine.release()


def _fit_pipeline(
    pipeline: Any,
    X: Any,
    y: Any,
    client: Any,
    shards: int | None,
    mixing: str,
    checkpoint: Any,
    on_epoch: Any,
) -> Any:
    """Fit the encoder on the cluster, encode there, and fit the last step on the encoded blocks."""
    encoder, last = pipeline_steps(pipeline)
    check_estimator(last)
    frame, y = collections.without_target(X, y)
    fit_dask(encoder, frame, client=client)
    blocks = transform_dask(encoder, frame)
    labels = collections.label_blocks(y, len(blocks))
    fit_dask(
        last,
        blocks,
        labels,
        client=client,
        shards=shards,
        mixing=mixing,
        checkpoint=checkpoint,
        on_epoch=on_epoch,
    )
    return pipeline


def _current() -> Any:
    try:
        from distributed import get_client
    except ImportError:
        raise ImportError("fit_dask needs Dask: pip install 'rosenblatt[dask]'") from None
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "no Dask client: pass client=distributed.Client(...), as in Client() for this machine"
        ) from None
