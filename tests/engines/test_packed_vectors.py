"""Packed vectors: unpacking restores them, in the smaller form."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rosenblatt.engines.mixing import add_packed, pack, unpack

VECTORS = arrays(
    np.float64,
    st.tuples(st.just(2), st.integers(1, 30)),
    elements=st.sampled_from([0.0, 0.0, 0.0, 0.0, 1.5, -2.0]),
)


@given(VECTORS)
def test_packing_loses_nothing_and_takes_no_more_room(vectors):
    packed = pack(vectors)
    assert np.array_equal(unpack(packed), vectors)
    assert packed.nbytes <= vectors.nbytes


@given(VECTORS, st.integers(0, 2**32), st.booleans(), st.booleans())
def test_the_form_does_not_change_a_sum(vectors, seed, one_dense, other_dense):
    other = np.random.default_rng(seed).permutation(vectors, axis=1)
    forms = [
        pack(each)._replace(indices=None, values=each) if dense else pack(each)
        for each, dense in ((vectors, one_dense), (other, other_dense))
    ]
    before = [unpack(form).copy() for form in forms]
    assert np.array_equal(unpack(add_packed(*forms)), vectors + other)
    assert all(np.array_equal(unpack(form), kept) for form, kept in zip(forms, before, strict=True))
