"""Mutants of model files: each is refused with a ValueError, or loads with every invariant kept and can be used.

Mutant ``number`` is made from an old file of its kind (``number % 5``): header fields, tensor values at boundaries,
shapes, dtypes, names, raw bytes. A worker process loads it, compares the outcome with an oracle in plain Python, and
uses what was loaded: all hypotheses, votes, learning on, mixing, saving again. The worker runs with numba's bounds
checks on (``NUMBA_BOUNDSCHECK=1``, a cache of machine code of its own), so that an access outside an array is an
IndexError; a worker that dies is a finding.
"""

import contextlib
import copy
import itertools
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save

KINDS = ("learner", "kernel", "stream", "service", "checkpoint")
FULL = 10_000 * len(KINDS)
OLD = Path(__file__).parents[1] / "fixtures" / "v0.1" / "models"
SECONDS = 120  # that one mutant may take, machine code compiled the first time included
BOUNDARIES = (-1, -4, -100, 0, 1, 2, 3, 5, 24, 25, 2**31 - 1, 2**31, 2**63 - 1, -(2**31), -(2**63))
REALS = (math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, 1e-300, 1e300, -1e300, 0.5, 2.0, 1e9, -4.0, -100.0)
JSON_VALUES = (
    *(-1, -4, 0, 1, 2, 3, 7, 2**31, 2**53, 2**63, 2**64, 10**30, -(10**30), True, False, None),
    *(
        0.5,
        -0.5,
        1e308,
        1e-308,
        -1e308,
        "",
        "a",
        "a\0",
        "inf",
        "nan",
        "1",
        "averaged",
        "voted",
        "ovr",
        "joint",
    ),
    *(
        [],
        {},
        [[]],
        [1, 2],
        ["a", "a"],
        {"a": 1},
        {"name": "arow"},
        [0, 0, 0],
        "\ud800",
        "float32",
        "project",
    ),
)


def seeds(kind):
    """Return the names of the old files of a kind."""
    return sorted(path.stem for path in OLD.glob(f"{kind}-*.safetensors"))


def parts_of(content):
    """Return the header and the tensors of a good file."""
    from safetensors.numpy import load

    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["rosenblatt"])
    return header, {name: np.array(array) for name, array in load(content).items()}


class Mutant:
    """A mutated file: its bytes, and its parts where they can be told (None for raw bytes)."""

    def __init__(self, number):
        rng = self.rng = random.Random(number)
        self.kind = KINDS[number % len(KINDS)]
        self.seed = rng.choice(seeds(self.kind))
        self.name = self.seed.removeprefix(f"{self.kind}-")
        self.content = (OLD / f"{self.seed}.safetensors").read_bytes()
        self.parts = None
        self.steps = []
        if rng.random() < 0.15:
            self._mutate_bytes()
            return
        self.header, self.arrays = parts_of(self.content)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            (self._mutate_header if rng.random() < 0.4 else self._mutate_tensor)()
        self._pack()

    def _pack(self):
        # NaN and Infinity are written as Python's json does: readers must refuse them.
        text = json.dumps(self.header)
        if self.rng.random() < 0.05:
            self.steps.append("header text")
            text = self.rng.choice(
                (
                    text.replace('"version"', '"version": 1, "version"', 1),
                    text.replace('"about": {', '"about": {"x": ' + "[" * 500 + "]" * 500 + ", ", 1),
                    text.replace('"about": {', '"about": {"x": 1e999, ', 1),
                    text.replace('"about": {', '"about": {"x": NaN, ', 1),
                    text.replace('"about": {', '"about": {"x": ' + "9" * 5000 + ", ", 1),
                    text[: len(text) // 2],
                )
            )
        else:
            self.parts = json.loads(text), self.arrays
        self.content = save(
            {name: np.ascontiguousarray(array) for name, array in self.arrays.items()},
            metadata={"rosenblatt": text},
        )

    def _mutate_bytes(self):
        rng, content = self.rng, bytearray(self.content)
        (size,) = struct.unpack("<Q", content[:8])
        way = rng.randrange(6)
        self.steps.append(f"bytes {way}")
        if way == 0:
            del content[rng.randrange(len(content)) :]
        elif way == 1:
            for _ in range(rng.choice((1, 2, 8, 64))):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        elif way == 2:
            for _ in range(rng.choice((1, 3))):
                content[rng.randrange(8, 8 + size)] = rng.choice(b'0123456789-{}[]",:eI')
        elif way == 3:
            content[:8] = struct.pack("<Q", rng.choice((0, 1, size - 1, size + 1, 2**31, 2**63, 2**64 - 1)))
        elif way == 4:
            at = rng.randrange(len(content))
            content[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 8, 100))))
        else:
            at = rng.randrange(8 + size, len(content) + 1)
            length = rng.choice((4, 8, 64))
            content[at : at + length] = (b"\xff" * length)[: max(0, len(content) - at)]
        self.content = bytes(content)

    def _mutate_header(self):
        rng = self.rng
        parent, key = self.header, None
        while True:
            keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
            if not keys:
                break
            key = rng.choice(keys)
            if not isinstance(parent[key], dict | list) or not parent[key] or rng.random() < 0.15:
                break
            parent = parent[key]
        way = rng.random()
        self.steps.append(f"header {key}")
        if way < 0.12 and key is not None:
            del parent[key]
        elif way < 0.2:
            if isinstance(parent, dict):
                parent[rng.choice(("extra", "W", "kind", "dual", "learner", "budget"))] = rng.choice(
                    JSON_VALUES
                )
            else:
                parent.insert(rng.randrange(len(parent) + 1), rng.choice(JSON_VALUES))
        elif way < 0.28 and isinstance(parent, list) and len(parent) > 1:
            rng.shuffle(parent)
        elif key is not None:
            value = parent[key]
            near = [value - 1, value + 1, -value, value * 2] if type(value) in (int, float) else []
            parent[key] = copy.deepcopy(rng.choice([*JSON_VALUES, *near, *near]))

    def _mutate_tensor(self):
        rng, arrays = self.rng, self.arrays
        if not arrays:
            return
        name = rng.choice(sorted(arrays))
        array = arrays[name]
        way = rng.random()
        self.steps.append(f"{name} {way:.2f}")
        if way < 0.5 and array.size:
            for _ in range(rng.choice((1, 1, 2))):
                place = rng.randrange(array.size)
                array.reshape(-1)[place] = self._value(array, array.reshape(-1)[place])
        elif way < 0.58 and array.size:
            array[...] = self._value(array, array.reshape(-1)[0])
        elif way < 0.64 and array.size > 1:
            arrays[name] = rng.choice(
                (array[::-1], array.reshape(-1)[::-1].reshape(array.shape), np.sort(array))
            )
        elif way < 0.74:
            cuts = [array[:-1], array[1:], np.concatenate([array, array[-1:]]), array[:0], array.reshape(-1)]
            cuts += [array[None], array.T, np.repeat(array, 2, axis=0)]
            cuts += [array[:, :-1], array[:, :1], np.repeat(array, 2, axis=1)] if array.ndim == 2 else []
            arrays[name] = rng.choice(cuts)
        elif way < 0.82:
            dtype = rng.choice(("float16", "float32", "float64", "int8", "int32", "int64", "uint64", "bool"))
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(dtype)
        elif way < 0.9:
            del arrays[name]
        elif way < 0.95:
            other = rng.choice(sorted(arrays))
            arrays[name], arrays[other] = arrays[other], arrays[name]
        else:
            arrays[rng.choice(("S", "pocket", "ledger.support", "support", "extra", "ledger.up", "A"))] = (
                array
            )

    def _value(self, array, before):
        if array.dtype.kind == "f":
            return self.rng.choice((*REALS, -before, before * 2, before + 1))
        if array.dtype.kind == "b":
            return not before
        least, most = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        near = (int(before) - 1, int(before) + 1, -int(before))
        return min(max(self.rng.choice((*BOUNDARIES, *near)), least), most)


# The oracle: the invariants of a file, one by one, without numpy's comparisons and without the package.

RULES = {
    "rosenblatt": "eta", "margin": "eta beta", "passive-aggressive": "C", "passive-aggressive-squared": "C",
    "paum": None, "romma": "margin", "alma": "alpha C p", "arow": "r", "pegasos": "lam", "logistic": "eta lam",
    "widrow-hoff": "eta", "norma": "eta lam rho",
}  # fmt: skip


def broken(header, arrays):
    """Return the invariant that a file breaks, None where no check here fails."""
    try:
        return _broken(header, arrays)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        return f"a field is missing or of another type: {error!r}"


def _broken(header, arrays):
    for name, array in arrays.items():
        if array.dtype.kind == "f" and any(not math.isfinite(x) for x in array.reshape(-1).tolist()):
            return f"{name} is not finite"
    if header["format"] != "rosenblatt" or header["version"] != 1:
        return "format"
    section = [name for name in ("learner", "dual", "model") if name in header]
    if len(section) != 1 or type(header["about"]) is not dict:
        return "sections"
    fields = header[section[0]]
    classes = None if header["classes"] is None else header["classes"]["values"]
    if section[0] != "model" or header["kind"] != "real":
        if any("\0" in label for label in classes if type(label) is str):
            return "NUL in a label"
        if any(classes[k] == classes[j] for k in range(len(classes)) for j in range(k)):
            return "a class twice"
        if header.get("kind") != "planes" and any(not a < b for a, b in itertools.pairwise(classes)):
            return "classes do not ascend"
    if section[0] == "model":
        return _broken_model(header, fields, arrays, len(classes or ()))
    rows = 1 if len(classes) <= 2 else len(classes)
    if fields["multi_class"] not in ("joint", "ovr") or type(fields["fit_intercept"]) is not bool:
        return "multi_class or fit_intercept"
    joint = fields["multi_class"] == "joint" and rows > 1
    hypotheses = 1 if joint else rows
    return _broken_run(fields, arrays, hypotheses) or (
        _broken_learner(fields, arrays, rows, joint)
        if section[0] == "learner"
        else _broken_dual(fields, arrays, rows, joint)
    )


def _broken_run(fields, arrays, hypotheses):
    rule = fields["rule"]
    if rule["name"] not in RULES:
        return "rule"
    if RULES[rule["name"]] is not None and not set(rule) <= {"name", *RULES[rule["name"]].split()}:
        return "rule parameters"
    if type(fields["rows_seen"]) is not int or not 0 <= fields["rows_seen"] <= 2**53:
        return "rows_seen"
    for name, dtype in (
        ("scale", "f8"),
        ("shadow", "f8"),
        ("sqnorm", "f8"),
        ("decay", "f8"),
        ("updates", "i8"),
    ):
        array = arrays[f"running.{name}"]
        if array.dtype != np.dtype(dtype) or array.shape != (hypotheses,):
            return f"running.{name}"
        for value in array.tolist():
            if (name == "scale" and not value > 0) or (name in ("shadow", "decay", "updates") and value < 0):
                return f"running.{name}"
            if name == "sqnorm" and abs(value) > 1e250 and rule["name"] != "romma":
                return "running.sqnorm is that of no weights"
    for name, dtype in (
        ("clock", "f8"),
        ("mistakes", "i8"),
        ("updates", "i8"),
        ("reach", "f8"),
        ("written", "i8"),
    ):
        array = arrays[f"totals.{name}"]
        if array.dtype != np.dtype(dtype) or array.shape != (1,) or array[0] < 0:
            return f"totals.{name}"
    own, total = arrays["running.updates"].tolist(), int(arrays["totals.updates"][0])
    if arrays["totals.written"][0] != 0 or not max(own) <= total <= sum(own):
        return "totals.written or totals.updates"
    for name in fields.get("standings", {}):
        if name not in ("last", "averaged", "voted", "survivor", "pocket", "random"):
            return "standings"
    for epoch in fields.get("epochs", []):
        if len(epoch) != 2 or any(type(count) is not int or count < 0 for count in epoch):
            return "epochs"
    return None


def _broken_learner(fields, arrays, rows, joint):
    width = arrays["W"].shape[1]
    for name in ("W", "A", "S", "pocket", "ledger.start"):
        if name in arrays and (arrays[name].shape != (rows, width) or width < 1):
            return f"shape of {name}"
        if name in arrays and name != "S" and not fields["fit_intercept"] and arrays[name][:, 0].any():
            return f"a bias in {name}"
    rule = fields["rule"]
    beside = rule["name"] == "arow" or (rule["name"] == "alma" and float(rule.get("p", 2.0)) != 2.0)
    if beside != ("S" in arrays) or arrays["A"].dtype != np.float64:
        return "S or A"
    if rule["name"] == "arow" and any(not 0 < x <= 1.1 for x in arrays["S"].reshape(-1).tolist()):
        return "a variance"
    if not any(name.startswith("ledger.") for name in arrays):
        return None
    if beside:
        return "a ledger of a rule that has none"
    stored = arrays["ledger.support_rows"].tolist()
    if any(b <= a for a, b in itertools.pairwise(stored)):
        return "support_rows do not ascend"
    return _broken_ledger(arrays, stored, fields, rows, joint) or _broken_support(
        arrays, "ledger.support", len(stored), width - 1
    )


def _broken_ledger(arrays, stored, fields, rows, joint):
    lines = arrays["ledger.row"].size
    for name in ("row", "up", "down", "tau", "decay", "clock", "score", "sqnorm"):
        if arrays[f"ledger.{name}"].shape != (lines,):
            return f"shape of ledger.{name}"
    dtypes = [arrays[f"ledger.{name}"].dtype.name for name in ("row", "up", "down", "clock")]
    if dtypes != ["int64", "int32", "int32", "float64"]:
        return "dtypes of the ledger"
    if any(not 0 <= row < fields["rows_seen"] for row in stored):
        return "a row that was never seen"
    if set(arrays["ledger.row"].tolist()) != set(stored):
        return "rows of the ledger that are not stored, or stored for nothing"
    counts, before = [0] * max(rows, 2), 0.0
    for up, down, clock in zip(
        *(arrays[f"ledger.{name}"].tolist() for name in ("up", "down", "clock")), strict=True
    ):
        if rows == 1 and (up, down) != (1, -1):
            return "up or down of two classes"
        if rows > 1 and not (0 <= up < rows and (0 <= down < rows and down != up if joint else down == -1)):
            return "a class that is not there"
        if not before <= clock <= arrays["totals.clock"][0]:
            return "clocks do not ascend up to the clock"
        before, counts[up] = clock, counts[up] + 1
    own = arrays["running.updates"].tolist()
    if own != ([lines] if len(own) == 1 else counts[:rows]):
        return "lines are not updates"
    return None


def _broken_support(arrays, name, stored, features):
    if name in arrays:
        return None if stored and arrays[name].shape == (stored, features) else f"shape of {name}"
    if not stored:
        return "support of nothing" if f"{name}.data" in arrays else None
    data, indices, indptr = (arrays[f"{name}.{part}"].tolist() for part in ("data", "indices", "indptr"))
    if len(indptr) != stored + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or len(data) != len(indices):
        return f"{name}.indptr"
    if any(b < a for a, b in itertools.pairwise(indptr)) or any(not 0 <= i < features for i in indices):
        return f"{name}.indices"
    return None


def _broken_dual(fields, arrays, rows, joint):
    stored = arrays["support_rows"].tolist()
    n, features = len(stored), fields["n_features"]
    if arrays["W"].shape != (rows, n) or arrays["A"].shape != (rows, n) or len(set(stored)) < n:
        return "shape of W or A, or a row twice"
    if any(not 0 <= row < fields["rows_seen"] for row in stored):
        return "a row that was never seen"
    if fields["kernel"]["name"] == "precomputed":
        if n and (arrays["support"].tolist() != stored or max(stored) >= features):
            return "columns"
    elif found := _broken_support(arrays, "support", n, features):
        return found
    if fields["budget"] is not None:
        used, emptied, visits = arrays["budget.counts"].tolist()
        since = arrays["budget.since"].tolist()
        if used != n or len(since) != fields["budget"] or used > len(since) or emptied < 0:
            return "slots"
        if any(not 0 <= at <= visits for at in since):
            return "budget.since"
    if fields["keep_ledger"]:
        if "pocket" in arrays and any(
            not 0 <= k <= u
            for k, u in zip(arrays["pocket"].tolist(), arrays["running.updates"].tolist(), strict=True)
        ):
            return "pocket"
        return _broken_ledger(arrays, stored, fields, rows, joint)
    return None


def _broken_model(header, fields, arrays, classes):
    kind = header["kind"]
    if kind == "real":
        same = arrays["W"].shape == arrays["A"].shape and arrays["W"].shape[0] == 1
        return _broken_run(fields, arrays, 1) or (None if same else "shape of W or A")
    if kind == "planes":
        return None if arrays["weights"].shape[0] == (1 if classes <= 2 else classes) else "shape of weights"
    sums, counts = arrays["sums"], arrays["counts"]
    if sums.shape[0] != classes or counts.shape != (classes,) or (counts < 0).any():
        return "sums or counts"
    if kind == "naive-bayes" and any(
        not 0 <= x <= c + 1e-6 for row, c in zip(sums, counts, strict=True) for x in row
    ):
        return "sums beyond counts"
    return None


# What is done with a mutant.


def run(number, thoroughly=True):
    """Load mutant ``number`` and use it; raise for a finding, and return whether it was accepted."""
    from tests.model_files import load

    mutant = Mutant(number)
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        path = Path(folder) / "m.safetensors"
        path.write_bytes(mutant.content)
        try:
            model = load(mutant.kind, mutant.name, path)
        except ValueError as error:
            if str(path) not in str(error):
                raise AssertionError(f"the message does not name the file: {error}") from error
            return False
        found = None if mutant.parts is None else broken(*mutant.parts)
        if found is not None:
            raise AssertionError(f"{mutant.seed} ({'; '.join(mutant.steps)}) was accepted, but {found}")
        with np.errstate(all="ignore"):
            use(mutant.kind, mutant.name, path, model, thoroughly)
    return True


def use(kind, name, path, model, thoroughly):
    """Do with a loaded model what its users do; a ValueError is an answer, anything else is not."""
    from tests.model_files import inner

    again = path.with_name("again.safetensors")
    own = inner(model)
    write_again(kind, name, model, path, again)
    rows = example_rows(own, 6)
    for hypothesis in ("last", "averaged", "voted", "survivor", "pocket", "random"):
        with contextlib.suppress(ValueError):
            own.scores(rows, hypothesis)
        if kind == "kernel":
            with contextlib.suppress(ValueError):
                own.scores(rows, hypothesis, normalise=True)
    if not thoroughly:
        return
    if kind == "checkpoint":
        from tests.model_files import CHECKPOINT_OPTIONS, numbers

        from rosenblatt.engines import fit_local
        from rosenblatt.linear.perceptron import Perceptron

        options = CHECKPOINT_OPTIONS[name]
        with contextlib.suppress(ValueError):
            fit_local(Perceptron(max_iter=4, **options), *numbers(classes=3), shards=3, checkpoint=path)
    elif kind in ("stream", "service"):
        use_stream(kind, model)
    else:
        use_learner(own, rows)


def write_again(kind, name, model, path, again):
    """Save what was loaded, and load it again: what is accepted once is accepted for ever."""
    from tests.model_files import inner, load

    from rosenblatt.learner.files import save_learner, save_model
    from rosenblatt.learner.kernel import save_kernel_learner
    from rosenblatt.service.model import Counts, write_model
    from rosenblatt.storage import read_about
    from rosenblatt.streams.online import OnlineLearner

    own = inner(model)
    if kind == "kernel":
        save_kernel_learner(own, again)
    elif kind == "service":
        from tests.model_files import SERVED

        write_model(again, SERVED[name], model, Counts())
    elif isinstance(model, OnlineLearner):
        model.save(again)
    elif kind in ("stream", "checkpoint") or (hasattr(own, "ledger") and own.classes is not None):
        save_learner(own, again, about=read_about(path), ledger=own.ledger is not None)
    else:
        save_model(own, again)
    load(kind, name, again)


def example_rows(own, n):
    rng = np.random.default_rng(0)
    features = int(own.n_features)
    if features > 10_000:
        from scipy.sparse import csr_array

        return csr_array((n, features))
    return rng.integers(-2, 3, (n, features)) + 0.5


def use_learner(own, rows):
    """Learn on: known classes, and one that is new."""
    from rosenblatt.engines.mixing import mixed_learners
    from rosenblatt.learner import Learner
    from rosenblatt.learner.history import trace_of

    if isinstance(own, Learner):
        with contextlib.suppress(ValueError):
            mixed_learners([own, copy.deepcopy(own)])
        with contextlib.suppress(ValueError):
            trace_of(own, np.ones((own.W.shape[0], own.n_features)))
    classes = [] if own.classes is None else own.classes.tolist()
    if own.classes is None:
        with contextlib.suppress(ValueError):
            own.learn(rows, np.arange(len(rows), dtype=float))
        return
    if not classes or not hasattr(own, "learn"):
        return
    y = np.array([classes[k % len(classes)] for k in range(rows.shape[0])], dtype=own.classes.dtype)
    with contextlib.suppress(ValueError):
        own.learn(rows > 0 if getattr(own, "kind", "") == "naive-bayes" else rows, y)
        own.predict(rows)
    new = "zz" if isinstance(classes[0], str) else 99
    with contextlib.suppress(ValueError):
        own.learn(
            rows[:2], np.array([classes[0], new], dtype=object if own.classes.dtype == object else None)
        )
        for hypothesis in ("last", "averaged", "voted", "survivor", "random"):
            with contextlib.suppress(ValueError):
                own.scores(rows, hypothesis)


def use_stream(kind, model):
    """Predict and learn named examples; names and classes join."""
    from tests.model_files import inner

    labels = model.labels or ["ham"]
    if not hasattr(model, "learn_one"):
        from scipy.sparse import csr_array

        for _ in range(2):
            with contextlib.suppress(ValueError):
                model.progress(
                    csr_array(example_rows(inner(model), 6)), np.array([labels[0], labels[-1]] * 3)
                )
        return
    new = "zz" if isinstance(labels[0], str) else 99
    for x, y in (
        ({"word1": 1.0, "word2": 2.0}, labels[0]),
        ({"word1": 1.0, "fresh": 2.0}, labels[-1]),
        ({"word3": 1.0, "fresh": 2.0, "other": 0.5}, new),
    ):
        with contextlib.suppress(ValueError):
            model.predict_one(x)
            model.learn_one(x, y)
            model.learn_many([x, x], [y, y])
            model.predict_many([x])
            model.explain_one(x)
            model.top_features()
        if kind == "service":
            with contextlib.suppress(ValueError):
                model.score(x)
                model.guess(x)
                model.fingerprint()


# The worker, and who asks it.

_WORKER: list[subprocess.Popen] = []


def prepare():
    """Start the worker, and let it use every old file once, which compiles what it needs."""
    folder = Path(tempfile.gettempdir()) / f"rosenblatt-bounds-checked-{os.getuid()}"
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)}
    worker = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.model_files"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    _WORKER[:] = [worker]
    _ask("prepare")


def check(number):
    """Have the worker load and use mutant ``number``; raise AssertionError for a finding."""
    return _ask(str(number))


def _ask(line):
    worker = _WORKER[0]
    with contextlib.suppress(BrokenPipeError):
        worker.stdin.write(line + "\n")
        worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        code = worker.wait()
        prepare()
        raise AssertionError(f"mutant {line}: the process died with {code}")
    said = json.loads(answer)
    if said["error"] is not None:
        raise AssertionError(f"mutant {line}: {said['error']}")
    return said["accepted"]


def _work():
    import faulthandler
    import traceback
    import warnings

    import numba

    assert numba.config.BOUNDSCHECK == 1
    faulthandler.enable()
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        faulthandler.dump_traceback_later(SECONDS * (10 if line == "prepare\n" else 1), exit=True)
        said = {"error": None, "accepted": True}
        try:
            if line == "prepare\n":
                _use_every_seed()
            else:
                said["accepted"] = run(int(line))
        except Exception:
            said["error"] = traceback.format_exc()[-3000:]
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(said), flush=True)


def _use_every_seed():
    from tests.model_files import load

    for kind in KINDS:
        for seed in seeds(kind):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "m.safetensors"
                path.write_bytes((OLD / f"{seed}.safetensors").read_bytes())
                name = seed.removeprefix(f"{kind}-")
                use(kind, name, path, load(kind, name, path), thoroughly=True)


if __name__ == "__main__":
    _work()
