"""Gates and networks of gates equal their truth tables; what no unit can do is refused with the proof."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.networks import Gate, Network, Unit
from rosenblatt.networks.gate import every_input
from rosenblatt.proofs import Inseparable, separability

TWO = every_input(2).astype(int)
TABLES = {
    "AND": TWO.all(axis=1),
    "OR": TWO.any(axis=1),
    "NAND": ~TWO.all(axis=1),
    "NOR": ~TWO.any(axis=1),
}


@pytest.mark.parametrize("inputs", [1, 2, 3, 5])
@pytest.mark.parametrize("name", TABLES)
def test_gates_equal_their_truth_tables_for_any_number_of_inputs(name, inputs):
    rows = every_input(inputs).astype(bool)
    table = {"AND": rows.all(1), "OR": rows.any(1), "NAND": ~rows.all(1), "NOR": ~rows.any(1)}[name]
    assert getattr(Gate, name)(inputs).truth_table().tolist() == table.astype(int).tolist()
    assert Gate.NOT().truth_table().tolist() == [1, 0]


@given(table=st.lists(st.integers(0, 1), min_size=8, max_size=8))
@settings(max_examples=60, deadline=None)
def test_a_learned_gate_has_its_table_or_there_is_a_proof_that_none_has(table):
    if isinstance(separability(every_input(3), table) if len(set(table)) > 1 else None, Inseparable):
        with pytest.raises(ValueError, match="A weighted average of rows of one class"):
            Gate.learned(table)
    else:
        assert Gate.learned(table).truth_table().tolist() == table


def test_of_the_16_functions_of_two_inputs_only_xor_and_its_negation_are_no_gate():
    refused = []
    for number in range(16):
        table = [number >> k & 1 for k in range(4)]
        try:
            Gate.learned(table)
        except ValueError:
            refused.append(table)
    assert refused == [[0, 1, 1, 0], [1, 0, 0, 1]]


@given(data=st.data(), inputs=st.integers(1, 3), n=st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_a_composition_equals_the_truth_tables_of_its_gates(data, inputs, n):
    units, columns = [], list(every_input(inputs).astype(int).T)
    for k in range(n):
        sources = data.draw(st.lists(st.integers(0, inputs + k - 1), min_size=1, max_size=3))
        name = data.draw(st.sampled_from(["AND", "OR", "NAND", "NOR"]))
        units.append(Unit(getattr(Gate, name)(len(sources)), tuple(sources)))
        heard = np.array([columns[source] for source in sources])
        plain = heard.all(axis=0) if name in ("AND", "NAND") else heard.any(axis=0)
        columns.append((~plain if name in ("NAND", "NOR") else plain).astype(int))
    network = Network(inputs, units)
    assert network.truth_table().tolist() == columns[-1].tolist()
    assert network.signals(every_input(inputs)).T.tolist() == [c.tolist() for c in columns[inputs:]]
    assert sorted(k for layer in network.layers for k in layer) == list(range(n))
    for k, unit in enumerate(units):
        own = next(level for level, layer in enumerate(network.layers) if k in layer)
        assert all(
            s < inputs or any(s - inputs in layer for layer in network.layers[:own]) for s in unit.sources
        )


def test_xor_is_and_of_nand_and_or():
    xor = Network.layered(["a", "b"], [[Gate.NAND(), Gate.OR()], [Gate.AND()]])
    assert xor.truth_table().tolist() == [0, 1, 1, 0]
    dot = xor.to_dot()
    assert dot.count("->") == 6
    assert 'label="a"' in dot
    assert "doublecircle" in dot


@pytest.mark.parametrize(
    ("units", "reason"),
    [
        ([Unit(Gate.AND(), (0, 2))], "only sources 0 to 1 precede it"),
        ([Unit(Gate.AND(), (0,))], "2 weights but reads 1"),
        ([], "needs at least one unit"),
    ],
)
def test_wrong_wiring_is_refused(units, reason):
    with pytest.raises(ValueError, match=reason):
        Network(2, units)


def test_wrong_tables_and_rows_are_refused():
    with pytest.raises(ValueError, match="2, 4, 8"):
        Gate.learned([0, 1, 1])
    with pytest.raises(ValueError, match=r"2 input\(s\)"):
        Gate.AND().evaluate([[1, 2, 3]])
    with pytest.raises(ValueError, match="2 inputs"):
        Network.layered(2, [[Gate.AND()]]).evaluate([[1.0]])
