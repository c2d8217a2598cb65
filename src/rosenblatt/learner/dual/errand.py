"""Work that a device does for the CPU: what it needs goes over, what it finds comes back."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.learner.dual.arrays import Arrays, to_numpy
from rosenblatt.learner.dual.crossing import Crossing, OnItsWay
from rosenblatt.learner.dual.recording import Recording

MOST_RECORDINGS = 8  # of one errand: each keeps room on the device for all that its work holds

Work = Callable[..., tuple[Any, Any]]


class Errand:
    """A function of a few arrays that runs where matrices live.

    It returns two things: one comes back, the other stays there, valid until the next run. To ask a GPU for a small
    thing costs the CPU more than the thing costs the GPU. So an errand that may be ``recorded`` is, with its copies,
    when arrays of the same shapes go a second time; from then on one call plays all of it.

    Parameters
    ----------
    arrays : where matrices live
    work : the function
    dtypes : of the arrays that go over
    recorded : the work asks for the same of the device every time, and never waits for it
    aside : when played, in a queue of its own: nothing it reads may be written by what is asked for meanwhile
    """

    def __init__(
        self, arrays: Arrays, work: Work, *dtypes: str, recorded: bool = False, aside: bool = False
    ) -> None:
        self._arrays, self._work, self._dtypes = arrays, work, dtypes
        self._may_be_recorded, self._aside = recorded and arrays.on_gpu, aside
        self._recordings: dict[Any, Recording] = {}
        self._met: dict[Any, Any] = {}  # by the shapes of what went over: where the result came back to
        self._crossing = Crossing()

    def run(self, *given: NDArray[Any]) -> tuple[OnItsWay, Any]:
        """Do the work for these arrays."""
        arrays = self._arrays
        if not arrays.on_gpu:
            told, stays = self._work(*map(arrays.put, given, self._dtypes))
            return OnItsWay(np.ascontiguousarray(to_numpy(told))), stays
        shapes = tuple(array.shape for array in given)
        if shapes in self._met:
            back = self._met.pop(shapes)
            self._recordings[shapes] = Recording(
                self._work, given, self._dtypes, arrays.device, self._aside, back
            )
        if shapes in self._recordings:
            return self._recordings[shapes].play(*given)
        there = [
            self._crossing.bring(str(k), array, dtype, arrays.device)
            for k, (array, dtype) in enumerate(zip(given, self._dtypes, strict=True))
        ]
        told, stays = self._work(*there)
        sent = self._crossing.send("back", told)
        if self._may_be_recorded and len(self._recordings) + len(self._met) < MOST_RECORDINGS:
            self._met[shapes] = self._crossing.arrives_in("back", told)
        return sent, stays
