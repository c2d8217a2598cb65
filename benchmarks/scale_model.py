"""The time of an epoch on S shards: a model of bytes, flops, latency and tree depth, its simulation and its fit.

``python -m benchmarks scale_model`` measures the constants here, and prints what they predict; ``python -m
benchmarks.scale_page`` measures them and writes them into docs/scale.md.
"""

import heapq
import math
import time
from collections import defaultdict
from importlib.util import find_spec
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from benchmarks.measure import Ratios
from rosenblatt.engines.protocol import FAN_IN


class Machine(NamedTuple):
    """A cluster: what its parts take."""

    fixed: float = 0.02  # seconds of an epoch whatever its size: the driver's mix, a round trip
    per_task: float = 0.0005  # of the scheduler, for each task it hands out
    latency: float = 0.0005  # of one message
    bandwidth: float = 1.25e9  # bytes a second into one worker (10 Gbit Ethernet)
    add: float = 2.5e-10  # seconds to add one byte of a parcel
    per_nonzero: float = 2e-9  # seconds of a pass for one non-zero
    spread: float = 0.1  # of the logarithm of pass times: stragglers


class Job(NamedTuple):
    """An epoch: one shard to a worker, S workers."""

    shards: int
    nonzeros: float  # of all shards
    down: float  # bytes of the weights sent to a shard
    up: float  # bytes sent back from a shard

    @property
    def groups(self) -> list[int]:
        """The largest group that is joined on each level of the tree."""
        sizes, left = [], self.shards
        while left > 1:
            sizes.append(min(FAN_IN, left))
            left = -(-left // FAN_IN)
        return sizes

    @property
    def depth(self) -> int:
        """Levels of the tree."""
        return len(self.groups)


class Costs(NamedTuple):
    """Seconds of an epoch by cause."""

    passes: float
    down: float
    up: float
    tasks: float
    fixed: float

    @property
    def total(self) -> float:
        """All of it; tasks are handed out while the weights are still on their way."""
        return self.passes + max(self.down, self.tasks) + self.up + self.fixed


def epoch_costs(job: Job, machine: Machine) -> Costs:
    """The model. Weights spread by doubling; passes run side by side, and the slowest counts; a join waits for the
    parcels of its group one after the other on its own line; the scheduler hands out one task after the other.
    """
    one = job.nonzeros / job.shards * machine.per_nonzero
    slowest = (
        math.exp(machine.spread * NormalDist().inv_cdf(1.0 - 0.5 / job.shards)) if job.shards > 1 else 1.0
    )
    holders = math.ceil(math.log2(job.shards + 1))
    a_parcel = machine.latency + job.up / machine.bandwidth
    joins = [machine.per_task + (size - 1) * a_parcel + size * job.up * machine.add for size in job.groups]
    return Costs(
        passes=one * slowest,
        down=holders * (machine.latency + job.down / machine.bandwidth),
        up=sum(joins) + a_parcel,
        tasks=machine.per_task * (job.shards + 1),
        fixed=machine.fixed,
    )


def simulate(job: Job, machine: Machine, seed: int = 0) -> float:
    """Play an epoch event by event: who holds the weights, when each task is handed out, which line is busy."""
    rng = np.random.default_rng(seed)
    one = job.nonzeros / job.shards * machine.per_nonzero
    seconds = one * np.exp(machine.spread * rng.standard_normal(job.shards))
    arrives = _spread_of_weights(job, machine)
    scheduler = machine.fixed + machine.per_task  # when it is free
    ready: list[tuple[float, int, int]] = []  # (when, level, number) of answers
    for shard in range(job.shards):
        scheduler += machine.per_task
        heapq.heappush(ready, (max(scheduler, arrives[shard]) + seconds[shard], 0, shard))
    counts = [job.shards]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // FAN_IN))
    waiting: dict[tuple[int, int], list[float]] = defaultdict(list)
    when = 0.0
    while ready:
        when, level, number = heapq.heappop(ready)
        if level == len(counts) - 1:
            break
        group = (level + 1, number // FAN_IN)
        waiting[group].append(when)
        members = min(FAN_IN, counts[level] - FAN_IN * group[1])
        if len(waiting[group]) < members:
            continue
        scheduler = max(scheduler, when) + machine.per_task
        line = (
            scheduler  # a join fetches what the others have, one after the other, when it has been handed out
        )
        for _ in range(members - 1):
            line += machine.latency + job.up / machine.bandwidth
        heapq.heappush(ready, (line + members * job.up * machine.add, *group))
    return when + machine.latency + job.up / machine.bandwidth


def _spread_of_weights(job: Job, machine: Machine) -> list[float]:
    """When each worker has the weights: everyone who has them passes them on, one copy at a time."""
    copy = machine.latency + job.down / machine.bandwidth
    free = [machine.fixed]  # when each holder can send next
    arrives = []
    for _ in range(job.shards):
        begun = heapq.heappop(free)
        arrives.append(begun + copy)
        heapq.heappush(free, begun + copy)
        heapq.heappush(free, begun + copy)
    return arrives


def measured_per_nonzero(width: int, rows: int = 40_000, nonzeros: int = 125) -> float:
    """Processor seconds of a pass for one non-zero, at places drawn from all of the weights."""
    from scipy.sparse import csr_array

    from rosenblatt.engines.mixing import pass_request, resize_for
    from rosenblatt.engines.shards import Shard, TrainingSetup
    from rosenblatt.learner import Learner
    from rosenblatt.rules import Rosenblatt

    rng = np.random.default_rng(0)
    places = np.sort(rng.integers(0, width, (rows, nonzeros), dtype=np.int32), axis=1)
    X = csr_array((np.ones(places.size), places.ravel(), np.arange(rows + 1) * nonzeros), shape=(rows, width))
    shard = Shard(X, (places[:, 0] < width // 500).astype(np.int64))
    setup = TrainingSetup(Rosenblatt(), "joint", True, 0, False, np.array([0, 1]), width, "float64", None)
    learner = Learner(keep_ledger=False)
    resize_for(learner, setup)
    request = pass_request(learner, setup, "uniform", single_shard=False)
    labels, visits = shard.visits(setup, 0)
    from rosenblatt.engines.mixing import ShardLearner

    request.answer(shard)
    best = math.inf
    for _ in range(3):
        own = ShardLearner(request)
        began = time.thread_time()
        own.visit_shard(shard, labels, visits)
        best = min(best, time.thread_time() - began)
    return best / places.size


def measured_machine() -> tuple[Machine, list[tuple[int, float, float]]]:
    """Fit the constants of Dask on this machine to epochs of passes that take no time; return the points too."""
    import copy

    from benchmarks.engines import dask_engines, learner_and_setup
    from rosenblatt.engines.mixing import mix, pass_request
    from rosenblatt.engines.shards import Shard

    points, rows = [], []
    with dask_engines() as engine:
        for width in (1_000, 500_000):
            learner, setup = learner_and_setup(width, "float64")
            learner.W = 1e-3 * np.random.default_rng(0).standard_normal(learner.W.shape)
            for shards in (2, 8, 32):
                X = np.ones((2, width))
                engine.load([lambda index, X=X: Shard(X, np.array([0, 1]), None, index)] * shards)
                best, sent = math.inf, 0.0
                for _ in range(5):
                    began = time.perf_counter()
                    request = pass_request(learner, setup, "uniform", single_shard=False)
                    outcome = engine.reduce(request)
                    mix(copy.deepcopy(learner), outcome)
                    best = min(best, time.perf_counter() - began)
                    sent = 2.0 * request.nbytes + sum(each.nbytes for each in outcome.passes)
                joins = -(-shards // FAN_IN) + (shards > FAN_IN)
                points.append((shards, sent, best))
                rows.append((1.0, shards + joins, sent))
        engine.release()
    times = np.array([best for _, _, best in points])
    weight = 1.0 / times  # relative errors count
    from scipy.optimize import nnls

    (fixed, per_task, per_byte), _ = nnls(np.array(rows) * weight[:, None], times * weight)
    bandwidth = 1.0 / per_byte if per_byte > 0.0 else math.inf
    return Machine()._replace(fixed=fixed, per_task=per_task, bandwidth=bandwidth), points


CLUSTER_2011 = Machine(bandwidth=1.25e8)  # 1 Gbit Ethernet
RECORD = Job(1000, 2.1e12, 2**24 * 8.0, 2 * 2**24 * 8.0)  # Agarwal et al.: 17·10⁹ examples, 2²⁴ weights


KINDS = {
    "long passes": lambda shards: Job(shards, 1e10 * shards / 10, 8e6, 16e6),
    "strong scaling": lambda shards: Job(shards, 1e11, 8e6, 16e6),
    "many weights": lambda shards: Job(shards, 1e10, 1e8, 2e8),
    "next to nothing": lambda shards: Job(shards, 1e6, 1e3, 2e3),
}
SHARDS = (10, 100, 1000, 10_000)


def played(job: Job, machine: Machine) -> float:
    """The median of a few simulated epochs."""
    return float(np.median([simulate(job, machine, seed) for seed in range(3)]))


def deviations() -> list[float]:
    """How far the model is from the simulation, over all kinds of jobs, sizes and both networks."""
    return [
        abs(epoch_costs(make(shards), machine).total / played(make(shards), machine) - 1.0)
        for make in KINDS.values()
        for shards in SHARDS
        for machine in (Machine(), CLUSTER_2011)
    ]


def measured() -> tuple[float, Machine, list[tuple[int, float, float]]]:
    """Return the seconds of a non-zero in cache, a cluster with the constants found here, and the points fitted."""
    machine, points = CLUSTER_2011._replace(per_nonzero=measured_per_nonzero(2**24)), []
    if find_spec("distributed"):
        here, points = measured_machine()
        machine = machine._replace(fixed=here.fixed, per_task=here.per_task)
    return measured_per_nonzero(1000), machine, points


def main() -> None:
    in_cache, machine, points = measured()
    table = Ratios(
        "An epoch over 10⁹ non-zeros, 10⁶ weights, 1 Gbit: what the model says against its simulation"
    )
    table.note(f"a pass, weights in cache: {1e9 * in_cache:.2f} ns a non-zero")
    table.note(f"a pass over 2²⁴ weights: {1e9 * machine.per_nonzero:.2f} ns a non-zero")
    if points:
        table.note(f"Dask here: {machine.fixed:.3f} s an epoch, {1000 * machine.per_task:.2f} ms a task")
    else:
        table.left_out("the constants of Dask here", "distributed is not installed")
    for shards in SHARDS:
        job = Job(shards, 1e9, 8e6, 16e6)
        told, simulated = epoch_costs(job, machine), played(job, machine)
        parts = ", ".join(f"{part} {value:.3f} s" for part, value in zip(told._fields, told, strict=True))
        what = f"{shards:,} shards, a tree {job.depth} deep ({parts})"
        table.add(what, f"{told.total:.2f} s", f"{simulated:.2f} s simulated", simulated / told.total, 0.0)
    told = epoch_costs(RECORD, machine)
    table.note(f"the record, 1,000 nodes, 1 Gbit: {told.total:.0f} s an epoch")
    fast = epoch_costs(RECORD, machine._replace(bandwidth=1.25e9))
    table.note(f"the same with 10 Gbit: {fast.total:.0f} s an epoch")
    table.note("docs/scale.md is written by python -m benchmarks.scale_page")
    table.show()


if __name__ == "__main__":
    main()
