import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rosenblatt.data.scales import Scales

BLOCK = arrays(np.float64, st.tuples(st.integers(1, 20), st.just(2)), elements=st.floats(-1e6, 1e6))


@given(BLOCK, st.data())
def test_blocks_give_the_mean_and_deviation_of_all(X, data):
    cut = data.draw(st.integers(0, len(X)))
    scales = Scales(2)
    scales.see(X[:cut])
    scales.see(X[cut:])
    for column, (centre, spread) in zip(X.T, scales.found(), strict=True):
        assert np.isclose(centre, column.mean(), rtol=1e-9, atol=1e-6)
        assert spread > 0
        if column.std() > 1e-3 * (1 + abs(column.mean())):
            assert np.isclose(spread, column.std(), rtol=1e-6)


def test_numbers_too_large_to_square_are_refused():
    scales = Scales(1)
    scales.see(np.array([[1e300], [-1e300]]))
    with pytest.raises(ValueError, match="too large to be scaled"):
        scales.found()
