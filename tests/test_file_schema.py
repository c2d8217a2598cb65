"""Hostile model files: whatever a tensor or a header field says, compiled code sees it only after it was checked."""

import contextlib
import json
import re
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save
from tests.fuzz.model_files import OLD, parts_of
from tests.model_files import load

from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner, save_learner
from rosenblatt.storage import BadModel
from rosenblatt.storage.schema import parse_header


def put(name, place, value):
    def change(header, arrays):
        arrays[name][place] = value

    return change


def say(path, value):
    *way, last = path.split(".")

    def change(header, arrays):
        for name in way:
            header = header[name]
        header[last] = value

    return change


def without(name):
    return lambda header, arrays: arrays.pop(name)


def instead(name, make):
    def change(header, arrays):
        arrays[name] = make(arrays[name])

    return change


NAMED = {"kind": "named", "bits": 0, "target": None, "labels": "text", "text": []}
WORDS = {"ngrams": [1, 1], "lowercase": True, "binary": True, "buckets": 0}
HOSTILE = [
    # What the issue names.
    (
        "learner-joint-sparse",
        put("ledger.down", 3, -4),
        "ledger.down[3] is -4, expected a number of 0 or more",
    ),
    ("learner-joint-sparse", put("ledger.down", 0, -100), "ledger.down[0] is -100"),
    ("learner-binary", put("ledger.down", 0, -100), "ledger.down[0] is -100"),
    ("learner-ovr", put("ledger.down", 0, -4), "ledger.down[0] is -4, expected a number of -1"),
    ("learner-binary", without("ledger.support"), "ledger.support is missing"),
    ("learner-binary", instead("ledger.clock", lambda clock: clock[::-1]), "expected ascending numbers"),
    ("learner-binary", put("ledger.clock", 0, -1.0), "ledger.clock[0] is -1.0"),
    ("learner-binary", put("ledger.clock", -1, 1e6), "at most 72"),
    ("learner-binary", put("running.scale", 0, 0.0), "running.scale[0] is 0.0, expected a number above 0"),
    ("kernel-poly", put("running.scale", 0, -1.0), "running.scale[0] is -1.0"),
    ("learner-binary", say("learner.standings.last", [1.0, -5.0, 0.5]), "standings.last[1] is -5.0"),
    ("learner-binary", say("learner.standings.last", [1.0, 5.0, 1.5]), "standings.last[2] is 1.5"),
    ("learner-binary", say("learner.standings.best", [1.0, 5.0, 0.5]), "standings.best is unknown"),
    ("stream-table", say("about.schema.columns", []), "a table needs columns"),
    (
        "stream-table",
        say("about.schema.columns", [{"name": "a", "categories": None}]),
        "1 features, the model 4",
    ),
    (
        "stream-online",
        say("about.schema", {**NAMED, "names": ["a"], "words": WORDS}),
        "1 features, the model 12",
    ),
    (
        "stream-online",
        say("about.schema", {**NAMED, "names": "a" * 12, "words": WORDS}),
        "names must be a list",
    ),
    ("stream-online", say("about.schema.names", ["a"] * 12), "names must be distinct strings"),
    ("stream-online", say("about.feature_names", ["a"]), "1 names for 12 features"),
    # The ledger and the examples in it.
    ("learner-binary", put("ledger.up", 0, 0), "ledger.up[0] is 0"),
    ("learner-joint-sparse", put("ledger.up", 0, 3), "ledger.up[0] is 3"),
    ("learner-binary", put("ledger.row", 0, -1), "ledger.row[0] is -1"),
    ("learner-binary", put("ledger.support_rows", 0, 0), "expected a row of ledger.support_rows"),
    ("learner-binary", put("ledger.row", slice(None), 2), "expected a row that a line of the ledger names"),
    ("learner-binary", instead("ledger.support_rows", lambda rows: rows[::-1]), "strictly ascending"),
    ("learner-binary", instead("ledger.support", lambda rows: rows[:-1]), "ledger.support has shape"),
    ("learner-binary", instead("ledger.support", lambda rows: rows[:, :-1]), "ledger.support has shape"),
    ("learner-binary", put("ledger.support", (0, 0), 1e9), "squared norms of rows"),
    ("learner-joint-sparse", put("ledger.support.indices", 0, 4), "ledger.support.indices[0] is 4"),
    ("learner-joint-sparse", put("ledger.support.indices", 0, -1), "ledger.support.indices[0] is -1"),
    ("learner-joint-sparse", put("ledger.support.indptr", -1, 10_000), "ledger.support.indptr"),
    ("learner-joint-sparse", put("ledger.support.indptr", 0, 1), "ledger.support.indptr"),
    ("learner-joint-sparse", without("ledger.support.indptr"), "ledger.support.indptr is missing"),
    ("learner-grown-ovr", put("running.updates", 0, 25), "running.updates[0] is 25"),
    ("learner-arow", lambda h, a: a.update({"ledger.row": np.zeros(1, np.int64)}), "must not be there"),
    # The running numbers.
    ("learner-binary", put("totals.written", 0, -100), "totals.written[0] is -100"),
    ("learner-binary", put("totals.written", 0, 2**62), "totals.written[0]"),
    ("learner-binary", put("totals.clock", 0, -1.0), "totals.clock[0] is -1.0"),
    ("learner-pegasos", put("totals.clock", 0, np.nan), "totals.clock[0] is nan"),
    ("learner-binary", put("running.updates", 0, -5), "running.updates[0] is -5"),
    ("learner-binary", put("running.sqnorm", 0, 1e300), "running.sqnorm[0] is 1e+300"),
    ("learner-binary", put("running.sqnorm", 0, -7.0), "running.sqnorm[0] is -7.0"),
    ("learner-pegasos", put("running.decay", 0, -1.0), "running.decay[0] is -1.0"),
    ("learner-binary", put("W", (0, 1), np.inf), "W[0, 1] is inf"),
    ("learner-binary-without-intercept", put("W", (0, 0), 1.0), "no intercept is learned"),
    ("learner-arow", put("S", (0, 1), 0.0), "S[0, 1] is 0.0, expected a variance"),
    ("learner-arow", put("S", (0, 1), 2.0), "S[0, 1] is 2.0, expected a variance"),
    ("learner-arow", without("S"), "S is missing"),
    ("learner-alma-p4", put("S", (0, 1), 5.0), "S[0, 1] is 5.0"),
    ("learner-binary", lambda h, a: a.update(S=np.ones_like(a["W"])), "S must not be there"),
    # Shapes, dtypes, names.
    ("learner-binary", instead("W", lambda W: W[:, :0]), "W has shape (1, 0)"),
    ("learner-binary", instead("W", lambda W: W.reshape(-1)), "W has shape"),
    ("learner-binary", instead("A", lambda A: A.astype(np.float32)), "A is float32"),
    ("learner-binary", lambda h, a: a.update(extra=a["W"]), "tensor extra does not belong"),
    ("learner-ovr", instead("running.scale", lambda scale: scale[:1]), "running.scale has shape (1,)"),
    # The header.
    ("learner-labels-text", say("classes.values", ["ö", "é"]), "ascending order"),
    ("learner-labels-text", say("classes.values", ["a", "a\0"]), "without NUL"),
    ("learner-labels-number", say("classes.type", "V1000000000"), "expected one of float16"),
    ("learner-binary", say("classes.values", [0, 2**63]), "do not fit int64"),
    ("learner-binary", say("classes.values", [0, True]), "a label of kind 'i'"),
    ("learner-binary", say("classes.values", list(range(1000))), "W has shape"),
    ("learner-binary", say("learner.rule", {"name": "rosenblatt", "eta": -1.0}), "eta must be"),
    ("learner-alma-p4", say("learner.rule.p", 1.0), "p must be 2 or more"),
    ("learner-passive-aggressive", say("learner.rule.C", "nan"), "expected a number, 'inf'"),
    ("learner-binary", say("learner.rule.name", ["rosenblatt"]), "learner.rule.name is"),
    ("learner-binary", say("learner.seed", 0.5), "learner.seed is 0.5"),
    ("learner-binary", say("learner.rows_seen", -1), "learner.rows_seen is -1"),
    (
        "learner-binary",
        say("learner.rows_seen", 2),
        "ledger.support_rows[1] is 2, expected a number of 0 or more",
    ),
    ("learner-binary", say("learner.epochs", [[1, 2, 3]]), "expected a list of 2"),
    ("learner-binary", say("learner.epochs", [[0, 10**9]]), "of all epochs"),
    ("learner-binary", say("learner.fit_intercept", "yes"), "expected true or false"),
    ("learner-binary", say("learner.extra", 1), "learner.extra is unknown"),
    ("learner-binary", say("about", []), "about is []"),
    # Other kinds of models.
    ("learner-real", put("totals.updates", 0, 10**6), "totals.updates"),
    ("learner-real", say("model.rule", {"name": "rosenblatt", "eta": 1.0}), "the rule for regression"),
    ("learner-real", instead("running.scale", lambda scale: scale[:0]), "running.scale has shape (0,)"),
    ("learner-centroid", put("counts", 0, -1.0), "counts[0] is -1.0"),
    ("learner-centroid", say("classes.values", ["c", "b", "a"]), "ascending order"),
    ("learner-naive-bayes", put("sums", (0, 0), 1e9), "from 0 to the count of the class"),
    ("learner-naive-bayes", say("model.smoothing", -1), "model.smoothing is -1"),
    ("learner-planes", instead("weights", lambda weights: weights[:2]), "weights has shape (2, 5)"),
    ("learner-planes", say("kind", "pickle"), "kind is 'pickle'"),
    # Kernel learners.
    ("kernel-poly", put("running.sqnorm", 0, 1e300), "running.sqnorm[0] is 1e+300"),
    ("kernel-budget-oldest", put("running.sqnorm", 0, -1e9), "running.sqnorm[0] is -1000000000.0"),
    (
        "learner-binary",
        instead("ledger.start", lambda start: start.astype(np.float32)),
        "ledger.start is float32",
    ),
    (
        "learner-binary",
        instead("W", lambda W: W.astype(np.float32)),
        "W is float32, but ledger.support float64",
    ),
    ("learner-binary", say("learner.start_norm", 1e300), "learner.start_norm is 1e+300"),
    ("learner-binary", say("classes.values", []), "classes.values is []"),
    ("learner-float32", put("ledger.start", (0, 2), 1e300), "ledger.start[0, 2] is 1e+300"),
    ("kernel-poly", put("support_rows", 0, -1), "support_rows[0] is -1"),
    ("kernel-poly", put("support", (0, 0), 1e30), "kernels of rows with themselves"),
    ("kernel-rbf-ovr", put("support", (0, 0), 1e200), "squared norms of rows"),
    ("kernel-precomputed", put("support", 0, 10_000), "support[0] is 10000"),
    ("kernel-poly", say("dual.kernel.degree", 10**15), "dual.kernel.degree"),
    ("kernel-poly", say("dual.kernel.halvings", 600), "at most 2^1000"),
    ("kernel-poly", say("dual.n_features", 10**9), "support has shape"),
    ("kernel-poly", put("pocket", 0, 10**6), "pocket[0]"),
    ("kernel-poly", without("ledger.row"), "ledger.row is missing"),
    ("kernel-poly-float32-sparse", put("support.indices", 0, -4), "support.indices[0] is -4"),
    ("kernel-budget-oldest", say("dual.budget", 10**6), "budget.since has shape (6,), but budget is 1000000"),
    ("kernel-budget-oldest", put("budget.counts", 0, -1), "budget.counts[0] is -1"),
    ("kernel-budget-oldest", put("budget.counts", 0, 5), "the 6 support rows"),
    ("kernel-budget-oldest", put("budget.since", 0, 2**62), "budget.since[0]"),
    ("kernel-budget-project", put("toll.short", 0, -1.0), "toll.short[0] is -1.0"),
    # Streams, snapshots of the service, checkpoints.
    ("stream-online", say("about.stream.rows", -1), "about.stream.rows is -1"),
    ("stream-online-last-forgetting", say("about.stream.since", 10**6), "about.stream.since is 1000000"),
    ("stream-online-last-forgetting", say("about.stream.forget", 0.5), "about.stream.forget is 0.5"),
    ("stream-online", say("about.stream.since", 1), "0 where nothing is forgotten"),
    ("stream-online", say("about.hypothesis", "voted"), "read from a ledger"),
    ("stream-online-hashed", say("about.hashed_names", {"²": "a"}), "about.hashed_names is '²'"),
    ("stream-online-hashed", say("about.hashed_names", {"32": "a"}), "about.hashed_names is '32'"),
    ("stream-table", say("about.stream.right", 10**6), "about.stream.right"),
    ("service-words", say("about.stream.service.counts.seq", -1), "counts.seq is -1"),
    ("service-words", say("about.stream.service.counts.seq", "1"), "counts.seq is '1'"),
    ("service-words", say("about.schema.bits", True), "hash bits must be"),
    ("checkpoint-uniform", say("about.mixing_run.features", 3), "its features is 3, here 4"),
    (
        "checkpoint-uniform",
        lambda h, a: a.update(W=np.zeros((3, 3)), A=np.zeros((3, 3)), **{"running.sqnorm": np.zeros(1)}),
        "its features is 2, here 4",
    ),
    ("checkpoint-uniform", say("classes.values", [0, 1, 7]), "its list of labels is [0, 1, 7]"),
    ("checkpoint-uniform", say("about.mixed_epochs", []), "its list of epochs"),
    ("checkpoint-uniform", say("learner.seed", 5), "its seed is 5"),
]


@pytest.mark.parametrize(("seed", "change", "message"), HOSTILE)
def test_a_hostile_file_is_refused_by_name_place_and_value(tmp_path, seed, change, message):
    header, arrays = parts_of((OLD / f"{seed}.safetensors").read_bytes())
    change(header, arrays)
    path = tmp_path / "hostile"
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    path.write_bytes(save(arrays, metadata={"rosenblatt": json.dumps(header)}))
    kind, _, name = seed.partition("-")
    with pytest.raises(BadModel, match=re.escape(message)) as refused:
        load(kind, name, path)
    assert str(refused.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested deeper"),
        ("[" * 100 + "]" * 100, "nested deeper"),
        ('{"a": NaN}', "not finite"),
        ('{"a": -Infinity}', "not finite"),
        ('{"a": 1e999}', "not finite"),
        ('{"a": ' + "9" * 5000 + "}", "beyond 64 bits"),
        ('{"a": {"b": 1, "b": 1}}', "'b' twice"),
        ('{"a": 1', "delimiter"),
    ],
)
def test_a_hostile_header_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_header(text)


def test_a_repeated_key_among_many_is_refused_in_time_linear_in_them():
    """By counting every key anew, this header would take half an hour."""
    keys = ",".join(f'"{n}":1' for n in range(300_000))
    with pytest.raises(ValueError, match="the key '299999' twice"):
        parse_header(f'{{{keys},"299999":1}}')


def raw(tensors, data, text="{}"):
    head = json.dumps({"__metadata__": {"rosenblatt": text}, **tensors}).encode()
    return len(head).to_bytes(8, "little") + head + data


@pytest.mark.parametrize(
    "tensor",
    [
        {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
        {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1] * 70, "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
    ],
)
def test_tensors_that_numpy_does_not_know_are_refused(tmp_path, tensor):
    header, _ = parts_of((OLD / "learner-planes.safetensors").read_bytes())
    path = tmp_path / "m"
    path.write_bytes(raw({"weights": tensor}, b"abcd", json.dumps(header)))
    with pytest.raises(BadModel, match="weights"):
        load("learner", "planes", path)


@pytest.mark.parametrize(
    ("seed", "change"),
    [
        ("kernel-poly", say("dual.n_features", 2**40)),
        ("kernel-budget-oldest", say("dual.budget", 2**20)),
        ("kernel-poly", say("dual.block_size", 2**31)),
        ("stream-online-hashed", say("about.schema.bits", 30)),
        ("learner-planes", say("about.schema", {"kind": "libsvm", "n_features": 2**47})),
        ("learner-binary", say("learner.rows_seen", 2**53)),
    ],
)
def test_a_small_file_takes_little_memory(tmp_path, seed, change):
    """Declared sizes allocate nothing: features, classes, slots and rows are those of the tensors."""
    header, arrays = parts_of((OLD / f"{seed}.safetensors").read_bytes())
    change(header, arrays)
    path = tmp_path / "m"
    path.write_bytes(save(arrays, metadata={"rosenblatt": json.dumps(header)}))
    kind, _, name = seed.partition("-")
    tracemalloc.start()
    try:
        with contextlib.suppress(BadModel):
            load(kind, name, path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("rule", ["rosenblatt", "passive-aggressive", "pegasos", "alma", "romma", "arow"])
def test_an_honest_run_loads_however_odd_its_data(tmp_path, rule):
    """Rounding is no damage: features of very different sizes, weights that cancel, classes that join."""
    rng = np.random.default_rng(0)
    for trial in range(8):
        learner = Learner(rule, multi_class=("joint", "ovr")[trial % 2], seed=trial)
        scale = 10.0 ** rng.uniform(-9, 9, 3)
        for classes in (2, 4):
            X = rng.normal(size=(40, 3)) * scale
            learner.learn(np.concatenate([X, X]), rng.integers(0, classes, 80), rng.uniform(0, 3, 80))
        save_learner(learner, tmp_path / "m", ledger=learner.ledger is not None)
        back, _ = load_learner(tmp_path / "m")
        assert np.array_equal(back.running, learner.running)
