"""Out of core is in core: the same passes, whatever the blocks."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import run_well
from tests.sources import Stdin

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.data.arrow_batches import BatchFile, write_batches
from rosenblatt.data.batch import coalesce
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner
from rosenblatt.streams import cache
from rosenblatt.streams.train import evaluate_stream, train_on_stream


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("rosenblatt.data.textblocks.BLOCK_BYTES", 300)


def written(tmp_path, classes=(0, 1), n=200, sort=False, separable=False):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (n, 5))
    y = rng.choice(classes, n)
    if separable:
        y = np.where(X @ [3, -2, 1, 5, 1] > 0.5, 1, 0)
    if sort:
        X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v)
        for row, label in zip(X, y, strict=True)
    )
    path = tmp_path / "data.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("passes", [1, 4])
@pytest.mark.parametrize("classes", [(0, 1), (2, 5, 9), (0, 1, 2, 3)])
@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("keep", [True, False])
def test_it_equals_training_in_memory(tmp_path, passes, classes, sort, keep):
    path = written(tmp_path, classes, sort=sort)
    whole = read_all(path)
    expected = Learner(keep_ledger=False)
    expected.train(whole.X, whole.y, max_iter=passes, shuffle=False)
    got = train_on_stream(
        Learner(keep_ledger=False),
        open_examples(path, batch_rows=None),
        path,
        passes=passes,
        keep=keep,
        evaluate=True,
    )
    assert [e.mistakes for e in got.learner.epochs] == [e.mistakes for e in expected.epochs]
    assert got.learner.converged == expected.converged
    for hypothesis in ("last", "averaged"):
        assert np.array_equal(got.learner.weights(hypothesis), expected.weights(hypothesis))
    found = evaluate_stream(got.learner, open_examples(path, batch_rows=17))
    assert list(got.evaluations) == list(found) == ["last", "averaged"]
    for name, told in expected.evaluations.items():
        assert found[name] == pytest.approx(told)
        assert got.evaluations[name] == pytest.approx(told)


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("classes", [(0, 1), (2, 5, 9)])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_with_a_ledger_it_knows_every_hypothesis(tmp_path, passes, classes, multi_class):
    path = written(tmp_path, classes)
    whole = read_all(path)
    expected = Learner(multi_class=multi_class)
    expected.train(whole.X, whole.y, max_iter=passes, shuffle=False)
    learner = Learner(multi_class=multi_class)
    got = train_on_stream(learner, open_examples(path, batch_rows=23), path, passes=passes, evaluate=True)
    assert set(got.evaluations) == set(expected.evaluations)
    for name, told in expected.evaluations.items():
        assert got.evaluations[name] == pytest.approx(told)
        assert np.array_equal(got.learner.weights(name), expected.weights(name))
    assert np.array_equal(got.learner.predict(whole.X, "voted"), expected.predict(whole.X, "voted"))


@pytest.mark.parametrize("late", ["", "1,x,0", "1,2,0.5", "1,2,spam"])
def test_a_table_that_is_not_what_its_head_says_is_learned_as_it_is(tmp_path, monkeypatch, late):
    monkeypatch.setattr("rosenblatt.data.tables.delimited.INFERENCE_BYTES", 100)
    rng = np.random.default_rng(0)
    rows = [f"{a},{b},{int(a > b)}" for a, b in rng.integers(0, 9, (400, 2))]
    path = tmp_path / "data.csv"
    path.write_text("a,b,y\n" + "\n".join([*rows, *([late] if late else [])]) + "\n")
    whole = read_all(path)
    expected = Learner(keep_ledger=False)
    expected.train(whole.X, whole.y, max_iter=1, shuffle=False)
    got = train_on_stream(
        Learner(keep_ledger=False), open_examples(path, batch_rows=None), path, passes=1, evaluate=True
    )
    assert got.schema == whole.schema
    assert got.rows == whole.y.size
    assert got.learner.classes.tolist() == expected.classes.tolist()
    assert np.array_equal(got.learner.weights(), expected.weights())


@pytest.mark.parametrize("passes", [1, 3])
def test_an_index_zero_that_comes_late_makes_indices_count_from_zero(tmp_path, monkeypatch, passes):
    path = tmp_path / "data.svm"
    path.write_text("1 1:2 3:1\n-1 2:1\n" * 50 + "1 0:5 2:1\n" + "-1 2:1\n" * 99)
    whole = read_all(path, zero_based=True)
    for rule, ledger in (("rosenblatt", False), ("rosenblatt", True), ("arow", False), ("alma", False)):
        monkeypatch.setattr("rosenblatt.streams.cache.coalesce", lambda batches: coalesce(batches, 9))
        cache.remove_cache()
        examples = open_examples(path, batch_rows=None)
        got = train_on_stream(
            Learner(rule, keep_ledger=ledger), examples, path, passes=passes, evaluate=True, pocket=ledger
        )
        expected = Learner(rule, keep_ledger=ledger)
        expected.train(whole.X, whole.y, max_iter=passes, shuffle=False)
        assert got.schema == whole.schema
        for name in ("last", "averaged", *(["voted", "survivor"] if ledger else [])):
            scores = [each.scores(whole.X, name) for each in (got.learner, expected)]
            assert np.array_equal(*scores), (rule, name)
        assert got.evaluations["last"] == expected.evaluations["last"]


def test_an_index_zero_that_comes_late_in_a_stream(tmp_path):
    lines = "1 1:2 3:1\n-1 2:1\n" * 200 + "1 0:5 2:1\n" + "-1 2:1\n1 1:1\n" * 200
    (tmp_path / "a.svm").write_text(lines)
    models = [tmp_path / name for name in ("late", "known")]
    for model, option in zip(models, ("", "--zero-based"), strict=True):
        run_well(f"stream {tmp_path / 'a.svm'} --every 50 {option} --model {model}")
    learners = [load_learner(model)[0] for model in models]
    assert np.array_equal(*(learner.weights("averaged") for learner in learners))


@pytest.mark.parametrize("separable", [True, False])
def test_without_room_for_all_scores_only_the_bound_of_weights_that_err_is_unknown(tmp_path, separable):
    path = written(tmp_path, separable=separable)
    got = train_on_stream(
        Learner(keep_ledger=False), open_examples(path), path, passes=300 if separable else 3
    )
    known, unknown = (
        evaluate_stream(got.learner, open_examples(path, batch_rows=31), margin_bytes=size)
        for size in (1 << 20, 100)
    )
    for name, told in known.items():
        assert unknown[name].margin == pytest.approx(told.margin)
        assert unknown[name].accuracy == told.accuracy
        assert unknown[name].bound == pytest.approx(told.bound if told.margin > 0 else np.inf)
    assert (known["last"].margin > 0) is separable


def test_many_passes_over_a_stream_average_exactly(tmp_path):
    """The average is that of the weights after every single example of every pass."""
    path = written(tmp_path, n=60)
    whole = read_all(path)
    X, y = whole.X.toarray(), 2 * whole.y - 1
    w, total = np.zeros(6), np.zeros(6)
    for _ in range(4):
        for row, label in zip(X, y, strict=True):
            x = np.concatenate([[1.0], row])
            if label * (w @ x) <= 0:
                w = w + label * x
            total += w
    got = train_on_stream(Learner(keep_ledger=False), open_examples(path, batch_rows=7), path, passes=4)
    np.testing.assert_allclose(got.learner.weights("averaged")[0], total / 240, rtol=1e-12)


def test_a_shuffle_holds_no_more_than_its_buffer(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.setattr("rosenblatt.streams.train.BUFFER_ROWS", 40)
    seen = []
    learner = Learner(keep_ledger=False)
    learn = learner.visit
    learner.visit = lambda examples, *rest: (
        seen.append(examples.labels.size),
        learn(examples, *rest),
    )[1]
    monkeypatch.setattr("rosenblatt.data.batch.COALESCED_ROWS", 9)
    examples = open_examples(path, batch_rows=9)

    monkeypatch.setattr("rosenblatt.streams.cache.coalesce", lambda batches: coalesce(batches, 9))
    train_on_stream(learner, examples, path, passes=2, shuffle=True)
    assert max(seen) <= 40 + 9
    assert sum(seen) == 400


@pytest.mark.parametrize("shuffle", [False, True])
def test_every_batch_is_given_back(tmp_path, shuffle):
    path = written(tmp_path)
    with open(tmp_path / "a.arrow", "wb") as file:  # noqa: PTH123
        write_batches(file, open_examples(path, batch_rows=9))
    batches = BatchFile(str(tmp_path / "a.arrow"))
    learner = Learner(keep_ledger=False)
    train_on_stream(learner, batches, path, passes=2, shuffle=shuffle, memory=1 << 30)
    assert learner.clock == 400
    assert not batches._extents
    assert not batches._resident


def test_a_ledger_that_outgrows_the_memory_is_said(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.setattr("rosenblatt.streams.train.BASE_MEMORY", 0)
    with pytest.raises(ValueError, match="the ledger of"):
        train_on_stream(Learner(), open_examples(path), path, passes=3, memory=2000)


def test_it_stops_at_a_clean_pass(tmp_path):
    path = written(tmp_path, separable=True)
    got = train_on_stream(Learner(keep_ledger=False), open_examples(path), path, passes=500).learner
    assert got.converged
    assert got.epochs[-1].updates == 0
    assert len(got.epochs) < 500


def test_a_shuffle_is_seeded_and_visits_every_row(tmp_path):
    path = written(tmp_path, (0, 1))
    runs = {}
    for seed in (0, 0, 1):
        learner = Learner(keep_ledger=False, seed=seed)
        got = train_on_stream(
            learner, open_examples(path, batch_rows=9), path, passes=3, shuffle=True
        ).learner
        assert got.clock == 600
        runs.setdefault(seed, []).append(got.weights("averaged"))
    assert np.array_equal(*runs[0])
    assert not np.array_equal(runs[0][0], runs[1][0])


def test_an_interrupt_keeps_the_last_whole_pass(tmp_path):
    path = written(tmp_path)

    def note(progress):
        if progress.number == 3 and progress.rows > 50:
            raise KeyboardInterrupt

    got = train_on_stream(Learner(keep_ledger=False), open_examples(path), path, passes=9, on_pass=note)
    two = train_on_stream(Learner(keep_ledger=False), open_examples(path), path, passes=2)
    assert got.interrupted
    assert len(got.learner.epochs) == 2
    assert np.array_equal(got.learner.weights("averaged"), two.learner.weights("averaged"))
    with pytest.raises(KeyboardInterrupt):
        train_on_stream(
            Learner(keep_ledger=False),
            open_examples(path),
            path,
            passes=9,
            on_pass=lambda _: note(_._replace(number=3)),
        )


def test_memory_that_does_not_suffice_is_said(tmp_path):
    path = written(tmp_path)
    with pytest.raises(ValueError, match=r"alone take about \d+ MB, more than the memory asked for \(1 MB\)"):
        train_on_stream(Learner(keep_ledger=False), open_examples(path), path, memory=1 << 20)
    assert not cache.cache_folder().exists()  # it is said before anything is read
    wide = tmp_path / "wide.svm"
    wide.write_text("1 1:1\n0 9000000:1\n")
    with pytest.raises(ValueError, match="9,000,000 features need about 656 MB"):
        train_on_stream(Learner(keep_ledger=False), open_examples(wide), wide, memory=300 << 20)
    wide.write_text("1 1:1\n0 900000:1\n2 1:2\n3 1:4\n")
    with pytest.raises(
        ValueError, match="900,000 features need about 464 MB"
    ):  # by the first batch, of all classes
        train_on_stream(Learner(keep_ledger=False), open_examples(wide), wide, memory=400 << 20, passes=2)


@pytest.mark.parametrize("passes", [1, 3])
def test_an_interrupt_after_the_last_pass_loses_nothing(tmp_path, passes):
    path = written(tmp_path)

    def note(progress):
        if progress.number == passes and progress.done:
            raise KeyboardInterrupt

    got = train_on_stream(Learner(keep_ledger=False), open_examples(path), path, passes=passes, on_pass=note)
    assert got.interrupted
    assert got.learner.clock == 200 * passes
    assert len(got.learner.epochs) == passes


def test_the_cache_is_found_again_and_never_stale(tmp_path):
    path = written(tmp_path)
    first = cache.cached_batches(open_examples(path), path, {})
    files = list(cache.cache_folder().glob("*.arrow"))
    assert len(files) == 1
    made = files[0].stat().st_mtime_ns, files[0].stat().st_ino
    again = cache.cached_batches(open_examples(path), path, {})
    assert again.path == first.path
    assert files[0].stat().st_ino == made[1]
    text = path.read_text()
    stat = path.stat()
    path.write_text(text.replace("0 ", "1 ", 1) if "0 " in text else text)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # same size, same time, other content
    other = cache.cached_batches(open_examples(path), path, {})
    assert other.path != first.path
    assert read_all(other.path).y.tolist() == read_all(path).y.tolist()
    assert (
        cache.cached_batches(open_examples(path, zero_based=True), path, {"zero_based": True}).path
        != other.path
    )
    assert cache.remove_cache() > 0
    assert not list(cache.cache_folder().glob("*"))


def test_a_damaged_cache_is_made_anew_and_a_bad_source_leaves_none(tmp_path):
    path = written(tmp_path)
    kept = cache.cached_batches(open_examples(path), path, {}).path
    with open(kept, "r+b") as file:  # noqa: PTH123
        file.truncate(100)
    assert read_all(cache.cached_batches(open_examples(path), path, {}).path).y.size == 200
    cache.remove_cache()
    path.write_text(path.read_text() + "1 1:x\n")
    with pytest.raises(BadInput, match="201"):
        cache.cached_batches(open_examples(path), path, {})
    assert not list(cache.cache_folder().glob("*"))


def cached_sources(tmp_path, n):
    """Return so many sources whose rows are in the cache, and the files there; the first is the least recently used."""
    sources, files = [], []
    for number in range(n):
        source = tmp_path / f"{number}.jsonl"
        source.write_text("".join(f'{{"label": {row % 2}, "a": {row + number}}}\n' for row in range(50)))
        files.append(Path(cache.cached_batches(open_examples(source), source, {}).path))
        os.utime(files[-1], ns=(number, number))
        sources.append(source)
    return sources, files


def test_the_cache_evicts_what_was_used_least_recently(tmp_path, monkeypatch):
    sources, files = cached_sources(tmp_path, 4)
    assert [file.path for file in cache.cached_files()] == files
    cache.cached_batches(open_examples(sources[0]), sources[0], {})  # used again
    size = sum(file.stat().st_size for file in files)
    monkeypatch.setenv("ROSENBLATT_CACHE", str(size))
    sources[3].write_text('{"label": 1, "a": 1}\n{"label": 0, "a": 2}\n')
    newest = Path(cache.cached_batches(open_examples(sources[3]), sources[3], {}).path)
    assert [file.path for file in cache.cached_files()] == [files[2], files[3], files[0], newest]
    assert sum(file.bytes for file in cache.cached_files()) <= cache.cache_limit() == size
    assert cache.evict(0) > 0
    assert not cache.cached_files()


def test_a_file_larger_than_the_cache_is_read_and_not_left_there(tmp_path, monkeypatch):
    sources, _ = cached_sources(tmp_path, 2)
    monkeypatch.setenv("ROSENBLATT_CACHE", "100")
    sources[0].write_text(sources[0].read_text() * 2)
    batches = cache.cached_batches(open_examples(sources[0]), sources[0], {})
    assert not cache.cached_files()
    assert sum(batch.lines.size for batch in batches) == 100
    monkeypatch.setenv("ROSENBLATT_CACHE", "plenty")
    with pytest.raises(
        ValueError, match="ROSENBLATT_CACHE='plenty' is not a size, as in ROSENBLATT_CACHE=20GB"
    ):
        cache.cache_limit()


def test_a_file_that_another_process_removes_is_no_error(tmp_path, monkeypatch):
    sources, files = cached_sources(tmp_path, 3)
    glob = Path.glob

    def removed_meanwhile(self, pattern):
        found = list(glob(self, pattern))
        files[1].unlink(missing_ok=True)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", removed_meanwhile)
        assert [file.path for file in cache.cached_files()] == [files[0], files[2]]
        assert json.loads(run_well("cache show --json").stdout)["files"] == 2
    listed = cache.cached_files()
    files[0].unlink()
    with monkeypatch.context() as patch:
        patch.setattr(cache, "cached_files", lambda: listed)
        assert cache.remove_cache() == listed[1].bytes
    utime = os.utime

    def evicted_meanwhile(path, *args, **options):
        Path(path).unlink()
        return utime(path, *args, **options)

    cache.cached_batches(open_examples(sources[0]), sources[0], {})
    monkeypatch.setattr(os, "utime", evicted_meanwhile)
    batches = cache.cached_batches(open_examples(sources[0]), sources[0], {})
    assert sum(batch.lines.size for batch in batches) == 50


def test_batches_that_are_evicted_before_they_are_opened_are_written_again(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = Path(cache.cached_batches(open_examples(path), path, {}).path)
    original = cache.BatchFile

    def evicted_before(name, *arguments, **options):
        if not options:
            Path(name).unlink()
        return original(name, *arguments, **options)

    monkeypatch.setattr(cache, "BatchFile", evicted_before)
    batches = cache.cached_batches(open_examples(path), path, {})
    assert sum(batch.lines.size for batch in batches) == 200
    assert first.exists()


def test_where_nothing_can_be_kept_batches_are_temporary(tmp_path, monkeypatch):
    path = written(tmp_path)
    expected = train_on_stream(Learner(keep_ledger=False), open_examples(path), path, passes=2).learner
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    got = train_on_stream(Learner(keep_ledger=False), open_examples(path), path, passes=2).learner
    assert np.array_equal(got.weights("averaged"), expected.weights("averaged"))


@pytest.mark.parametrize("keep", [True, False])
def test_a_full_disk_is_told_with_the_folder_and_leaves_nothing(tmp_path, monkeypatch, keep):
    path = written(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for module in ("cache", "train"):
        monkeypatch.setattr(f"rosenblatt.streams.{module}.write_batches", full)
    with pytest.raises(OSError, match="no space for the cache between epochs") as caught:
        train_on_stream(Learner(keep_ledger=False), open_examples(path), path, passes=2, keep=keep)
    assert str(tmp_path) in caught.value.filename
    assert not [file for file in tmp_path.rglob("*.arrow*") if file.is_file()]


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    path = written(tmp_path)
    cache.cached_batches(open_examples(path), path, {})
    left, written_now = (cache.cache_folder() / f".{name}.arrow.xyz" for name in ("left", "now"))
    for file in (left, written_now):
        file.write_bytes(b"half")
    with written_now.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert [file.path for file in cache.abandoned_files()] == [left]
        cache.remove_cache()
        assert list(cache.cache_folder().iterdir()) == [written_now]
    cache.cached_batches(open_examples(path), path, {})  # the next run that keeps anything sweeps
    assert not written_now.exists()


KILLED = """
import os, signal, sys
from rosenblatt.data import open_examples
from rosenblatt.learner import Learner
from rosenblatt.streams.train import train_on_stream

def die(told):
    os.kill(os.getpid(), signal.SIGKILL)

source = sys.argv[1]
options = {"batch_rows": 10}
train_on_stream(Learner(), open_examples(source, **options), source, passes=2, keep=sys.argv[2] == "keep", on_pass=die)
"""


@pytest.mark.parametrize("keep", ["keep", "no"])
def test_a_run_that_is_killed_leaves_nothing_that_the_next_one_does_not_remove(tmp_path, keep):
    path = tmp_path / "a.jsonl"  # whose reader compiles nothing
    path.write_text("".join(f'{{"label": {row % 2}, "a": {row}}}\n' for row in range(40)))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", KILLED, str(path), keep]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    assert not list(temporary.iterdir())
    left = list(cache.cache_folder().iterdir()) if cache.cache_folder().exists() else []
    assert len(left) == (keep == "keep")
    assert [file.path for file in cache.abandoned_files()] == left
    cache.cached_batches(open_examples(path), path, {})
    assert not [file for file in cache.cache_folder().iterdir() if file in left]


def test_the_cache_of_examples_is_for_its_owner_alone(tmp_path):
    before = os.umask(0o022)
    try:
        cache.cached_batches(open_examples(path := written(tmp_path)), path, {})
    finally:
        os.umask(before)
    folder = cache.cache_folder()
    assert [each.stat().st_mode & 0o077 for each in (folder, *folder.iterdir())] == [0, 0]


def test_what_is_kept_of_standard_input_between_passes_has_a_limit(monkeypatch, tmp_path):
    monkeypatch.setenv("ROSENBLATT_SPOOL", "1000")
    monkeypatch.setattr("sys.stdin", Stdin(written(tmp_path).read_bytes() * 20, 1 << 16))
    with pytest.raises(
        BadInput, match=r"<stdin>: more than 1,000 bytes came through standard input.*ROSENBLATT_SPOOL=20GB"
    ):
        train_on_stream(Learner(), open_examples("-", batch_rows=None), "-", passes=2)


def spoiled(path, column, value):
    """Change the first number of a column of the first batch, in the file."""
    batches = BatchFile(str(path))
    record = batches._reader.get_batch(0)
    x = record.column("x")
    array = {"index": x.flatten().field("index"), "offsets": x.offsets}.get(column)
    array = record.column(column) if array is None else array
    place = array.buffers()[1].address - batches._base
    content = bytearray(path.read_bytes())
    content[place : place + len(value)] = value
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("index", b"\xff\xff\xff\x7f", "an index above the 5 features"),
        ("index", b"\xff\xff\xff\xff", "an index above the 5 features"),
        ("y", b"\x00\x00\x00\x00\x00\x00\xf8\x7f", "a label that is not a finite number"),
        ("offsets", b"\x05\x00\x00\x00", "Offset invariant failure"),
        ("file", b"\xff\xff\xff\x7f", "index out of range"),
    ],
)
def test_damaged_batches_are_told_and_never_learned_from(tmp_path, column, value, reason):
    path = tmp_path / "a.arrow"
    with path.open("wb") as file:
        write_batches(file, open_examples(written(tmp_path)))
    spoiled(path, column, value)
    with pytest.raises(BadInput, match=f"a damaged file of examples .*{reason}"):
        read_all(path)


@pytest.mark.parametrize("weight", ["2", "0", "2.5", "0.5"])
def test_with_weights_it_stands_as_in_memory(tmp_path, weight):
    rng = np.random.default_rng(1)
    rows = (
        f"{rng.integers(0, 2)} {weight if k % 3 else 1} | a:{rng.integers(-3, 4)} b:{rng.integers(-3, 4)}\n"
        for k in range(60)
    )
    path = tmp_path / "a.vw"
    path.write_text("".join(rows))
    whole = read_all(path)
    expected = Learner()
    expected.train(whole.X, whole.y, max_iter=3, shuffle=False, sample_weight=whole.weight)
    got = train_on_stream(Learner(), open_examples(path), path, passes=3, evaluate=True)
    assert set(got.evaluations) == set(expected.evaluations)
    for name, standing in expected.evaluations.items():
        assert got.evaluations[name] == pytest.approx(standing)
