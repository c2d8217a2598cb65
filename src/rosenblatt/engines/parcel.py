"""What travels between shards and the driver: vectors side by side, sparse where that is smaller."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Parcel(NamedTuple):
    """Some vectors of one length; where few of their places hold anything, only those travel.

    >>> parcel = packed(np.array([[0.0, 0.0, 0.0, 2.0, 0.0, 0.0]]))
    >>> parcel.places, parcel.values
    (array([3], dtype=uint32), array([[2.]]))
    >>> unpacked(added(parcel, parcel))
    array([[0., 0., 0., 4., 0., 0.]])
    """

    size: int
    places: NDArray[Any] | None  # ascending; None: every place
    values: NDArray[Any]  # (vectors, places)

    @property
    def nbytes(self) -> int:
        """How many bytes travel."""
        return int(self.values.nbytes + (0 if self.places is None else self.places.nbytes))


def packed(vectors: NDArray[Any]) -> Parcel:
    """Pack ``(vectors, size)`` numbers in whichever form takes fewer bytes."""
    size = vectors.shape[1]
    used = np.flatnonzero(vectors.any(axis=0))
    if _is_smaller_sparse(used.size, size, vectors.shape[0] * vectors.itemsize):
        return Parcel(size, used.astype(_index_type(size)), vectors[:, used])
    return Parcel(size, None, vectors)


def unpacked(parcel: Parcel) -> NDArray[Any]:
    """Return the ``(vectors, size)`` numbers; those of a dense parcel are not copied."""
    if parcel.places is None:
        return parcel.values
    vectors = np.zeros((parcel.values.shape[0], parcel.size), parcel.values.dtype)
    vectors[:, parcel.places] = parcel.values
    return vectors


def added(one: Parcel, other: Parcel) -> Parcel:
    """Add parcels of the same shape; neither changes. The sum of two sparse ones stays sparse while that is smaller."""
    if one.places is None and other.places is None:
        return Parcel(one.size, None, one.values + other.values)
    if one.places is not None and other.places is not None:
        places = np.union1d(one.places, other.places)
        if _is_smaller_sparse(places.size, one.size, one.values.shape[0] * one.values.itemsize):
            values = np.zeros((one.values.shape[0], places.size), one.values.dtype)
            values[:, np.searchsorted(places, one.places)] = one.values
            values[:, np.searchsorted(places, other.places)] += other.values
            return Parcel(one.size, places, values)
    into = unpacked(one).copy() if one.places is None else unpacked(one)
    if other.places is None:
        into += other.values
    else:
        into[:, other.places] += other.values
    return Parcel(one.size, None, into)


def _is_smaller_sparse(used: int, size: int, bytes_a_place: int) -> bool:
    return used * (bytes_a_place + _index_type(size)().itemsize) < size * bytes_a_place


def _index_type(size: int) -> type[np.unsignedinteger[Any]]:
    return np.uint32 if size <= np.iinfo(np.uint32).max else np.uint64
