"""The tables of Freund and Schapire (1999), section 5: MNIST, degrees 1 to 6, their results beside ours.

``python -m benchmarks freund_schapire`` (or this file without arguments) for the degrees in ``ROSENBLATT_DEGREES``
(23; all are 123456) and the passes in ``ROSENBLATT_PASSES`` (4; theirs are 30), or ``python
benchmarks/freund_schapire.py FOLDER [DEVICE] [DEGREES] [ORDERS]`` with MNIST's four files in FOLDER, all passes. As in
the paper: raw pixel values, random order, one class against the rest. With ORDERS above one, the spread over so many
random orders is told beside their numbers. Most of the work is degree 1, which never comes to rest; on one H200 all six
degrees take ten seconds.
"""

import contextlib
import gzip
import os
import sys
import time
from functools import partial
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
    X, y, Xt, yt = parts
    return [X.astype(np.float32), y.astype(int), Xt.astype(np.float32), yt.astype(int)]


@contextlib.contextmanager
def progress(steps: int):
    """Give a function that says what is done; a bar where rich is installed and someone looks."""
    try:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        Progress = None
    if Progress is None or not sys.stderr.isatty():
        begun, done = time.perf_counter(), [0]

        def say(what: str, advance: int) -> None:
            done[0] += advance
            if not advance:
                print(
                    f"[{done[0]:>4} of {steps} passes] {time.perf_counter() - begun:6.1f} s  {what}",
                    file=sys.stderr,
                )

        yield say
        return
    from rich.console import Console

    shown = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed} of {task.total} passes"),
    )
    with Progress(*shown, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=steps)
        yield lambda what, advance: bar.update(task, description=what, advance=advance)


class Column:
    """What is known after so many passes."""

    def __init__(self, learner, Xt, yt) -> None:
        self.mistakes, self.support = learner.mistakes, learner.n_support
        self.errors = {
            row: 100.0 * float((learner.predict(Xt, row[0], normalise=row[1]) != yt).mean()) for row in ROWS
        }


def columns(degree, X, y, Xt, yt, on_pass, checkpoints=CHECKPOINTS, **options) -> dict[float, Column]:
    """Train once and look at every checkpoint; a tenth of a pass is trained on its own."""
    from rosenblatt.learner.kernel import KernelLearner

    found = {}
    tenth = KernelLearner(degree=degree, multi_class="ovr", **options)
    tenth.learn(X[: len(y) // 10], y[: len(y) // 10])
    found[0.1] = Column(tenth, Xt, yt)
    learner = KernelLearner(degree=degree, multi_class="ovr", **options)

    def on_epoch(epoch) -> None:
        on_pass(1)
        if epoch.number in checkpoints:
            found[epoch.number] = Column(learner, Xt, yt)

    learner.train(X, y, max_iter=int(checkpoints[-1]), shuffle=False, on_epoch=on_epoch)
    on_pass(int(checkpoints[-1]) - len(learner.epochs))
    for passes in checkpoints:  # after a clean pass nothing moves, but the last hypothesis grows older
        if passes not in found:
            older = passes * len(y) - learner.clock
            learner.totals["clock"] += older
            learner.running["scale_sum"] += learner.running["scale"] * older
            found[passes] = Column(learner, Xt, yt)
    return found


def tell(degree: int, found: dict[float, Column]) -> None:
    def line(what: str, values) -> None:
        print(f"  {what:<22}" + "".join(f"{value:>10}" for value in values), flush=True)

    line(f"degree {degree}, T =", found)
    for name, normalise in ROWS:
        own = [f"{found[T].errors[name, normalise]:.1f}" for T in found]
        line(name + (" normalised" if normalise else ""), own)
        if not normalise and (degree, name) in THEIRS:
            theirs = THEIRS[degree, name][: len(found)]
            line("    theirs", ["" if e is None else f"{e:.1f}" for e in theirs])
    line("mistakes", [f"{found[T].mistakes:,}" for T in found])
    line("support rows", [f"{found[T].support:,}" for T in found])
    if degree in THEIR_MISTAKES:
        line("    theirs at T = 1", ["", "{:,}/{:,}".format(*THEIR_MISTAKES[degree])])


def tell_spread(degree: int, every: list[dict[float, Column]]) -> None:
    """Tell what the order of the examples alone does to the test error: mean, deviation, least and most."""
    print(f"  degree {degree}, {len(every)} random orders, T = {CHECKPOINTS}")
    for name, normalise in ROWS:
        errors = np.array([[found[T].errors[name, normalise] for T in CHECKPOINTS] for found in every])
        theirs = THEIRS.get((degree, name)) if not normalise else None
        lines = {
            "mean": errors.mean(axis=0),
            "deviation": errors.std(axis=0, ddof=1),
            "least": errors.min(axis=0),
            "most": errors.max(axis=0),
        }
        print(f"    {name}{' normalised' if normalise else ''}")
        for what, values in lines.items():
            print(f"      {what:<18}" + "".join(f"{value:>8.2f}" for value in values), flush=True)
        if theirs:
            print(
                f"      {'theirs':<18}" + "".join(f"{'' if e is None else e:>8}" for e in theirs), flush=True
            )


def reproduce(
    folder: Path, device: str | None, degrees: list[int], shuffles: int = 1, checkpoints=CHECKPOINTS
) -> dict[int, dict[float, Column]]:
    """Print the tables; return what was found in the first order, by degree."""
    told = {}
    X, y, Xt, yt = raw_mnist(folder)
    if device is not None:
        import torch

        X, Xt = torch.as_tensor(X, device=device), torch.as_tensor(Xt, device=device)
    with progress(len(degrees) * shuffles * int(checkpoints[-1])) as say:
        for degree in degrees:
            every = []
            for k in range(shuffles):
                order = np.random.default_rng(1999 + k).permutation(len(y))
                what = f"degree {degree}" + (f", order {k + 1}" if shuffles > 1 else "")
                say(what, 0)
                here = order if device is None else torch.as_tensor(order, device=device)
                on_pass = partial(say, what)
                every.append(columns(degree, X[here], y[order], Xt, yt, on_pass, checkpoints))
            told[degree] = every[0]
            tell(degree, every[0])
            if shuffles > 1:
                tell_spread(degree, every)
    return told


def main() -> None:
    from benchmarks.measure import Ratios, data_folder

    table = Ratios(
        "Freund and Schapire 1999, MNIST, one random order: test errors, ours and those they printed"
    )
    folder = data_folder()
    if folder is None:
        table.left_out("every degree", "needs mnist in ROSENBLATT_DATA")
        table.show()
        return
    degrees = [int(digit) for digit in os.environ.get("ROSENBLATT_DEGREES", "23")]
    passes = max(1, int(os.environ.get("ROSENBLATT_PASSES", "4")))
    checkpoints = tuple(T for T in CHECKPOINTS if passes >= T)
    for degree, found in reproduce(folder / "mnist", None, degrees, 1, checkpoints).items():
        for name in ("voted", "averaged", "last"):
            theirs = THEIRS.get((degree, name), ())
            for T, error in zip(found, theirs, strict=False):
                ours = found[T].errors[name, False]
                if error is not None:
                    what = f"degree {degree}, {name}, {T:g} passes"
                    apart = -round(abs(round(ours, 1) - error), 1)
                    table.add(what, f"{ours:.1f} %", f"{error:.1f} %", apart, -0.3, unit=" points")
        if degree in THEIR_MISTAKES:
            own, (mistakes, _) = found[1].mistakes, THEIR_MISTAKES[degree]
            what = f"degree {degree}: mistakes in the first pass"
            table.add(what, f"{own:,}", f"{mistakes:,}", mistakes / own, 0.0)
    table.note(
        "the order of the examples alone moves an error of `last` by more than 0.3 points: docs/kernel.md"
    )
    if missing := sorted(set(range(1, 7)) - set(degrees)):
        why = "takes long without a GPU: set ROSENBLATT_DEGREES=123456 ROSENBLATT_PASSES=30; docs/kernel.md has them"
        table.left_out(f"degrees {', '.join(map(str, missing))}", why)
    table.show()


if __name__ == "__main__":
    given = sys.argv[1:]
    if not given:
        sys.path.insert(0, str(Path(__file__).parent.parent))
        main()
    elif not Path(given[0]).is_dir():
        sys.exit(f"{__doc__}\n{given[0]} is not a folder")
    else:
        where = given[1] if len(given) > 1 and given[1] != "cpu" else None
        which = [int(d) for d in given[2]] if len(given) > 2 else [1, 2, 3, 4, 5, 6]
        reproduce(Path(given[0]), where, which, int(given[3]) if len(given) > 3 else 1)
