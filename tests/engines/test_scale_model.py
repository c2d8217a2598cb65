"""The model of an epoch's cost against a simulation that plays it event by event."""

import numpy as np
import pytest
from benchmarks.scale_model import CLUSTER_2011, RECORD, Job, Machine, epoch_costs, simulate

from rosenblatt.engines.protocol import in_groups

JOBS = {
    "long passes": lambda shards: Job(shards, 1e10 * shards / 10, 8e6, 16e6),
    "strong scaling": lambda shards: Job(shards, 1e11, 8e6, 16e6),
    "many weights": lambda shards: Job(shards, 1e10, 1e8, 2e8),
    "next to nothing": lambda shards: Job(shards, 1e6, 1e3, 2e3),
}


@pytest.mark.parametrize("shards", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.parametrize("machine", [Machine(), CLUSTER_2011], ids=["10 Gbit", "1 Gbit"])
def test_the_model_is_what_the_simulation_plays(kind, shards, machine):
    job = JOBS[kind](shards)
    played = np.median([simulate(job, machine, seed) for seed in range(3)])
    assert epoch_costs(job, machine).total == pytest.approx(played, rel=0.15)


@pytest.mark.parametrize("shards", [1, 2, 8, 9, 64, 65, 1000])
def test_the_depth_is_that_of_the_tree_the_engines_build(shards):
    level, depth = list(range(shards)), 0
    while len(level) > 1:
        level, depth = list(in_groups(level)), depth + 1
    assert Job(shards, 1.0, 1.0, 1.0).depth == depth


def test_the_record_is_within_reach_of_the_model():
    assert RECORD.shards * epoch_costs(RECORD, CLUSTER_2011).passes > 0.0
    assert (
        epoch_costs(RECORD, CLUSTER_2011).total < 70 * 60 / 10
    )  # ten epochs in seventy minutes, rows in memory
