"""The model of an epoch's cost against a simulation that plays it event by event."""

import pytest
from benchmarks.scale_model import (
    CLUSTER_2011,
    KINDS,
    RECORD,
    SHARDS,
    Job,
    Machine,
    epoch_costs,
    played,
)
from benchmarks.scale_page import BEGIN, END, PAGE

from rosenblatt.engines.protocol import groups_of


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("machine", [Machine(), CLUSTER_2011], ids=["10 Gbit", "1 Gbit"])
def test_the_model_is_what_the_simulation_plays(kind, shards, machine):
    job = KINDS[kind](shards)
    assert epoch_costs(job, machine).total == pytest.approx(played(job, machine), rel=0.15)


@pytest.mark.parametrize("shards", [1, 2, 8, 9, 64, 65, 1000])
def test_the_depth_is_that_of_the_tree_the_engines_build(shards):
    level, depth = list(range(shards)), 0
    while len(level) > 1:
        level, depth = list(groups_of(level)), depth + 1
    assert Job(shards, 1.0, 1.0, 1.0).depth == depth


def test_the_record_is_within_reach_of_the_model():
    assert RECORD.shards * epoch_costs(RECORD, CLUSTER_2011).passes > 0.0
    assert (
        epoch_costs(RECORD, CLUSTER_2011).total < 70 * 60 / 10
    )  # ten epochs in seventy minutes, rows in memory


def test_the_page_has_room_for_what_is_measured():
    page = PAGE.read_text()
    assert page.count(BEGIN) == page.count(END) == 1
    assert page.index(BEGIN) < page.index(END)
