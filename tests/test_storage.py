"""Model files: what is saved resumes bit for bit, and what is not a model says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save
from scipy.sparse import csr_array
from tests.fuzz.model_files import OLD
from tests.strategies import integer_data

from rosenblatt import rules
from rosenblatt.core.hypotheses import NAMES
from rosenblatt.core.ledger import Ledger
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner, load_model, save_learner
from rosenblatt.learner.kernel import load_kernel_learner, save_kernel_learner
from rosenblatt.storage import (
    KINDS,
    BadModel,
    read_about,
    read_file,
    read_model,
    replacing,
    write,
    write_file,
)

WITH_LEDGER = sorted(
    name for name, rule in rules.BY_NAME.items() if isinstance(rules.geometry_of(rule()), rules.Euclidean)
)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@settings(max_examples=25, deadline=None)
@given(data=integer_data(), sparse=st.booleans(), rule=st.sampled_from(WITH_LEDGER))
def test_resuming_is_never_having_stopped_bit_for_bit(tmp_path_factory, multi_class, data, sparse, rule):
    X, labels, classes = data
    X = X + 0.1 if not sparse else csr_array(X * 0.3)
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    half = len(labels) // 2
    straight, stopped = Learner(rule, multi_class=multi_class), Learner(rule, multi_class=multi_class)
    for learner in (straight, stopped):
        learner.learn(X[:half], labels[:half], classes=np.arange(classes))
    save_learner(stopped, path, ledger=True)
    resumed, _ = load_learner(path)
    for learner in (straight, resumed):
        learner.learn(X[half:], labels[half:])
    assert np.array_equal(straight.W, resumed.W)
    assert np.array_equal(straight.average_offset, resumed.average_offset)
    assert np.array_equal(straight.running, resumed.running)
    assert np.array_equal(straight.totals, resumed.totals)
    assert np.array_equal(straight.ledger.entries, resumed.ledger.entries)
    for name in ("last", "averaged", "voted", "survivor", "random"):
        assert np.array_equal(straight.scores(X, name), resumed.scores(X, name))


@pytest.mark.parametrize(
    "labels", [["x", "y"], [0, 1], [0.5, 1.5], [True, False], np.array(["p", "q"], object)]
)
def test_classes_of_every_kind_come_back_as_they_were(tmp_path, labels):
    learner = Learner()
    learner.train([[1.0], [-1.0]], labels)
    save_learner(learner, tmp_path / "m", about={"note": "ümlaut"})
    back, about = load_learner(tmp_path / "m")
    assert back.classes.tolist() == learner.classes.tolist()
    assert back.classes.dtype == learner.classes.dtype
    assert about == {"note": "ümlaut"}
    assert back.evaluations == learner.evaluations
    assert back.epochs == learner.epochs


def test_the_ledger_is_saved_on_request_only(tmp_path):
    learner = Learner()
    learner.train([[1.0], [-1.0]], [1, 0])
    save_learner(learner, tmp_path / "without")
    save_learner(learner, tmp_path / "with", ledger=True)
    assert load_learner(tmp_path / "without")[0].ledger is None
    back = load_learner(tmp_path / "with")[0]
    for name in NAMES:
        assert np.array_equal(back.scores([[0.5]], name), learner.scores([[0.5]], name))
    with pytest.raises(ValueError, match="keep_ledger=True"):
        save_learner(Learner(keep_ledger=False), tmp_path / "none", ledger=True)


def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    learner = Learner()
    learner.train([[1.0], [-1.0]], [1, 0])
    save_learner(learner, tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rosenblatt.storage.os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_learner(learner, tmp_path / "m", ledger=True)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m").read_bytes() == before


def model_bytes(tmp_path):
    learner = Learner()
    rng = np.random.default_rng(0)
    learner.train(rng.normal(size=(30, 3)), rng.integers(0, 3, 30))
    save_learner(learner, tmp_path / "m", ledger=True)
    return (tmp_path / "m").read_bytes()


def test_a_truncated_file_is_refused_wherever_it_was_cut(tmp_path):
    content = model_bytes(tmp_path)
    for length in [0, 1, 7, 8, 50, len(content) // 2, len(content) - 1]:
        (tmp_path / "cut").write_bytes(content[:length])
        with pytest.raises(BadModel, match="cut"):
            load_learner(tmp_path / "cut")


def test_flipped_bits_never_crash_and_never_run(tmp_path):
    content = bytearray(model_bytes(tmp_path))
    rng = np.random.default_rng(0)
    header = int.from_bytes(content[:8], "little")
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.integers(0, header + 8)] ^= 1 << int(rng.integers(0, 8))
        (tmp_path / "bad").write_bytes(damaged)
        try:
            learner, _ = load_learner(tmp_path / "bad")
        except BadModel:
            continue
        learner.predict(np.zeros((1, learner.n_features)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"label,x\n1,2\n", "not a model"),
        (save({"w": np.zeros(3)}), "not a rosenblatt model"),
        (save({"w": np.zeros(3)}, metadata={"rosenblatt": "[1, 2]"}), "not a rosenblatt model"),
        (save({"w": np.zeros(3)}, metadata={"rosenblatt": "{"}), "not a model"),
        (
            save({"w": np.zeros(3)}, metadata={"rosenblatt": '{"format": "rosenblatt", "version": 99}'}),
            "version 99",
        ),
        (save({"w": np.zeros(3)}, metadata={"rosenblatt": "[" * 100_000}), "not a model"),
    ],
)
def test_what_is_not_a_model_says_so(tmp_path, content, message):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(BadModel, match=message):
        load_learner(tmp_path / "m")


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a: h["learner"]["rule"].update(name="os.system"),
        lambda h, a: h["learner"].update(multi_class="pairs"),
        lambda h, a: h["classes"].update(values=[1, 1, 1]),
        lambda h, a: h["classes"].update(values=[[1], [2], [3]]),
        lambda h, a: h.pop("learner"),
        lambda h, a: a.pop("W"),
        lambda h, a: a.update(W=np.full_like(a["W"], np.nan)),
        lambda h, a: a.update(A=a["A"][:1]),
        lambda h, a: a.update({"ledger.row": a["ledger.row"] + 1000}),
        lambda h, a: a.update({"ledger.up": a["ledger.up"] + 7}),
        lambda h, a: a.update({"ledger.tau": a["ledger.tau"][:-1]}),
        lambda h, a: a.update({"running.scale": a["running.scale"].astype(np.float32)}),
    ],
)
def test_a_hostile_model_is_refused(tmp_path, change):
    model_bytes(tmp_path)
    header, arrays = read_file(tmp_path / "m")
    header = json.loads(json.dumps(header))
    change(header, arrays)
    write_file(tmp_path / "hostile", header, arrays)
    with pytest.raises(BadModel, match="the model file is inconsistent"):
        load_learner(tmp_path / "hostile")


def test_a_missing_file_and_a_missing_folder_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such model"):
        load_learner(tmp_path / "nowhere")
    learner = Learner()
    learner.train([[1.0], [-1.0]], [1, 0])
    with pytest.raises(FileNotFoundError, match="no such folder"):
        save_learner(learner, tmp_path / "nowhere" / "m")


def test_what_was_said_about_a_model_is_read_without_its_numbers(tmp_path):
    learner = Learner()
    learner.train([[1.0], [-1.0]], [1, 0])
    save_learner(learner, tmp_path / "m", about={"learner": "perceptron"})
    assert read_about(tmp_path / "m") == {"learner": "perceptron"}
    write_file(tmp_path / "bare", {"format": "rosenblatt", "version": 1}, {})
    with pytest.raises(BadModel, match="has no object 'about'"):
        read_about(tmp_path / "bare")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("before")

    def stopped_halfway():
        with replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped_halfway()
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["labels.csv"]
    link = tmp_path / "link"
    link.symlink_to(path)
    with replacing(link) as file:
        file.write(b"after")
    assert path.read_text() == "after"
    assert link.is_symlink()


def test_a_device_is_written_to_and_not_replaced():
    with replacing("/dev/null") as file:
        file.write(b"gone")
    assert not Path("/dev/null").is_file()


RESAVED = [
    path.name for path in sorted(OLD.glob("*.safetensors")) if path.name.startswith(("learner-", "kernel-"))
]


@pytest.mark.parametrize("name", RESAVED)
def test_what_is_read_is_written_again_tensor_by_tensor(tmp_path, name):
    """Reading and writing follow one declaration, and format version 1 keeps its names."""
    path, again = OLD / name, tmp_path / "again"
    content = read_model(path, *KINDS)
    if content.name == "dual":
        model, about = load_kernel_learner(path)
        save_kernel_learner(model, again, about=about)
    else:
        model, about = load_model(path)
        values = {} if getattr(model, "ledger", None) is not None else {"ledger": None}
        write(again, content.name, model, about=about, values=values)
    (header, arrays), (old_header, old_arrays) = read_file(again), read_file(path)
    assert header == old_header
    assert set(arrays) == set(old_arrays)
    for tensor, array in arrays.items():
        if tensor != "ledger.start":  # version 0.1 wrote float64 start weights beside float32 ones
            assert array.dtype == old_arrays[tensor].dtype, tensor
        assert np.array_equal(array, old_arrays[tensor]), tensor


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"W": np.full((1, 4), np.nan)}, r"W\[0, 0\] is nan, expected a finite number"),
        ({"W": np.zeros((1, 3))}, r"A has shape \(1, 4\), but width is 3"),
        ({"average_offset": None}, "tensor A is missing"),
        ({"pocket": np.zeros((2, 4))}, "pocket has shape"),
        ({"rows_seen": -1}, "learner.rows_seen is -1"),
        ({"evaluations": {"best": (1.0, 1.0, 1.0)}}, "learner.standings.best is unknown"),
        ({"S": np.ones((1, 4))}, "tensor S must not be there"),
        ({"ledger": Ledger(np.zeros((1, 4)))}, r"running.updates\[0\] is"),
    ],
)
def test_the_writer_refuses_what_a_reader_would_refuse(tmp_path, values, message):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    learner = Learner()
    learner.train(X, y, max_iter=2)
    with pytest.raises(ValueError, match=f"m: this model cannot be saved.*{message}"):
        write(tmp_path / "m", "learner", learner, values=values)
    assert not list(tmp_path.iterdir())


def test_storage_needs_no_learner():
    """The codec lies below the learners that it stores: see the layers in pyproject.toml."""
    code = "import sys, rosenblatt.storage; print([m for m in sys.modules if m.startswith('rosenblatt.learner')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_private_file_is_for_its_owner_alone(tmp_path):
    for private, mode in ((True, 0o600), (False, 0o666)):
        with replacing(tmp_path / "file", private=private) as file:
            file.write(b"x")
        others = os.umask(0)
        os.umask(others)
        assert (tmp_path / "file").stat().st_mode & 0o777 == (mode if private else mode & ~others)
