"""The tables of Freund and Schapire (1999), section 5: MNIST, degrees 1 to 6, theirs beside ours.

``python -m benchmarks freund_schapire``, or ``python benchmarks/freund_schapire.py FOLDER [DEVICE] [DEGREES]`` with
MNIST's four files in FOLDER. As in the paper: raw pixel values, random order, one class against the rest. Most of the
work is degree 1, which never comes to rest; on one H200 all of it took 18 seconds.
"""

import gzip
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

CHECKPOINTS = (0.1, 1, 2, 3, 4, 10, 30)
# Their test errors in %, as far as they are known to us; a missing row is left blank, never invented.
THEIRS = {
    (1, "voted"): (10.7, 8.5, 8.3, 8.2, 8.2, 8.1, None),
    (2, "voted"): (6.0, 2.8, 2.4, 2.2, 2.1, 1.8, 1.8),
    (2, "last"): (8.6, 4.0, 3.4, 3.0, 2.7, 2.3, 2.0),
    (3, "voted"): (5.4, 2.3, 1.9, 1.8, 1.7, 1.6, 1.6),
    (3, "averaged"): (5.3, 2.3, 1.9, 1.8, 1.7, 1.6, 1.5),
    (3, "last"): (6.9, 3.1, 2.5, 2.2, 2.0, 1.7, 1.6),
}
THEIR_MISTAKES = {1: (25_461, 19_795), 2: (10_201, 8_190), 3: (8_475, 6_774), 4: (7_977, 6_338)}  # at T = 1
ROWS = (
    ("voted", False),
    ("averaged", False),
    ("averaged", True),
    ("last", False),
    ("last", True),
    ("random", False),
    ("random", True),
)


def raw_mnist(folder: Path) -> list[np.ndarray]:
    parts = []
    for name in ("train", "t10k"):
        for kind, offset, shape in (("images-idx3", 16, (-1, 784)), ("labels-idx1", 8, (-1,))):
            with gzip.open(folder / f"{name}-{kind}-ubyte.gz") as file:
                parts.append(np.frombuffer(file.read(), np.uint8, offset=offset).reshape(shape))
    order = np.random.default_rng(1999).permutation(parts[0].shape[0])
    X, y, Xt, yt = parts
    return [X[order].astype(np.float32), y[order].astype(int), Xt.astype(np.float32), yt.astype(int)]


class Column:
    """What is known after so many passes."""

    def __init__(self, learner, Xt, yt) -> None:
        self.mistakes, self.support = learner.mistakes, learner.n_support
        self.errors = {
            row: 100.0 * float((learner.predict(Xt, row[0], normalise=row[1]) != yt).mean()) for row in ROWS
        }


def columns(degree, X, y, Xt, yt, **options) -> dict[float, Column]:
    """Train once and look at every checkpoint; a tenth of a pass is trained on its own."""
    from rosenblatt.learner.dual import DualLearner

    found = {}
    tenth = DualLearner(degree=degree, multi_class="ovr", **options)
    tenth.learn(X[: len(y) // 10], y[: len(y) // 10])
    found[0.1] = Column(tenth, Xt, yt)
    learner = DualLearner(degree=degree, multi_class="ovr", **options)

    def on_epoch(epoch) -> None:
        if epoch.number in CHECKPOINTS:
            found[epoch.number] = Column(learner, Xt, yt)

    learner.train(X, y, max_iter=int(CHECKPOINTS[-1]), shuffle=False, on_epoch=on_epoch)
    for passes in CHECKPOINTS:  # after a clean pass nothing moves, but the last hypothesis grows older
        if passes not in found:
            older = passes * len(y) - learner.clock
            learner.totals["clock"] += older
            learner.running["shadow"] += learner.running["scale"] * older
            found[passes] = Column(learner, Xt, yt)
    return found


def tell(degree: int, found: dict[float, Column]) -> None:
    def line(what: str, values) -> None:
        print(f"  {what:<22}" + "".join(f"{value:>10}" for value in values), flush=True)

    line(f"degree {degree}, T =", CHECKPOINTS)
    for name, normalise in ROWS:
        own = [f"{found[T].errors[name, normalise]:.1f}" for T in CHECKPOINTS]
        line(name + (" normalised" if normalise else ""), own)
        if not normalise and (degree, name) in THEIRS:
            line("    theirs", ["" if e is None else f"{e:.1f}" for e in THEIRS[degree, name]])
    line("mistakes", [f"{found[T].mistakes:,}" for T in CHECKPOINTS])
    line("support rows", [f"{found[T].support:,}" for T in CHECKPOINTS])
    if degree in THEIR_MISTAKES:
        line("    theirs at T = 1", ["", "{:,}/{:,}".format(*THEIR_MISTAKES[degree])])


def reproduce(folder: Path, device: str | None, degrees: list[int]) -> None:
    X, y, Xt, yt = raw_mnist(folder)
    if device is not None:
        import torch

        X, Xt = torch.as_tensor(X, device=device), torch.as_tensor(Xt, device=device)
    begun = time.perf_counter()
    for k, degree in enumerate(degrees):
        tell(degree, columns(degree, X, y, Xt, yt))
        bar = "#" * (k + 1) + "." * (len(degrees) - k - 1)
        print(f"[{bar}] {time.perf_counter() - begun:.1f} s", flush=True)


def main() -> None:
    from benchmarks.measure import data_folder

    folder = data_folder()
    if folder is None:
        print("freund_schapire: no data folder (set ROSENBLATT_DATA): nothing measured")
        return
    reproduce(folder / "mnist", None, [1, 2, 3, 4, 5, 6])


if __name__ == "__main__":
    given = sys.argv[1:]
    where = given[1] if len(given) > 1 and given[1] != "cpu" else None
    reproduce(Path(given[0]), where, [int(d) for d in given[2]] if len(given) > 2 else [1, 2, 3, 4, 5, 6])
