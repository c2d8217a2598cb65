"""A few mutants of every kind of model file; ``make fuzz`` runs 10,000 of each, with bounds checks on."""

import pytest
from tests.fuzz.model_files import KINDS, Mutant, broken, parts_of, run, seeds
from tests.fuzz.model_files import OLD as FOLDER

MUTANTS = 300  # of each kind


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_a_mutant_is_refused_or_whole(kind):
    accepted = 0
    for number in range(KINDS.index(kind), MUTANTS * len(KINDS), len(KINDS)):
        accepted += run(number, thoroughly=False)
    assert 0 < accepted < MUTANTS / 2  # mutants do break files, and not all of them


def test_mutants_are_the_same_every_time():
    assert Mutant(11).content == Mutant(11).content != Mutant(16).content


@pytest.mark.parametrize("seed", [seed for kind in KINDS for seed in seeds(kind)])
def test_the_oracle_accepts_old_files(seed):
    assert broken(*parts_of((FOLDER / f"{seed}.safetensors").read_bytes())) is None
