"""Out of core is in core: the same passes, whatever the blocks."""

import numpy as np
import pytest

from rosenblatt.data import BadInput, open_examples, read_all
from rosenblatt.learner import Learner
from rosenblatt.streams import cache
from rosenblatt.streams.training import standings_on, train_on_stream


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("rosenblatt.data.lines.BLOCK_BYTES", 300)


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
        Learner(keep_ledger=False), open_examples(path, batch_rows=None), path, passes=passes, keep=keep
    )
    assert [e.mistakes for e in got.learner.epochs] == [e.mistakes for e in expected.epochs]
    assert got.learner.converged == expected.converged
    for hypothesis in ("last", "averaged"):
        assert np.array_equal(got.learner.weights(hypothesis), expected.weights(hypothesis))
    found = standings_on(got.learner, open_examples(path, batch_rows=17))
    for name in ("last", "averaged"):
        assert found[name].margin == pytest.approx(expected.standings[name].margin)
        assert found[name].accuracy == pytest.approx(expected.standings[name].accuracy)


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

    def tell(progress):
        if progress.number == 3 and progress.rows > 50:
            raise KeyboardInterrupt

    got = train_on_stream(Learner(keep_ledger=False), open_examples(path), path, passes=9, tell=tell)
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
            tell=lambda _: tell(_._replace(number=3)),
        )


def test_memory_that_does_not_suffice_is_said(tmp_path):
    path = written(tmp_path)
    with pytest.raises(ValueError, match="more than the memory asked for"):
        train_on_stream(Learner(keep_ledger=False), open_examples(path), path, memory=1 << 20)


def test_the_cache_is_found_again_and_never_stale(tmp_path):
    path = written(tmp_path)
    first = cache.kept_batches(open_examples(path), path, {})
    files = list(cache.cache_folder().glob("*.arrow"))
    assert len(files) == 1
    made = files[0].stat().st_mtime_ns, files[0].stat().st_ino
    again = cache.kept_batches(open_examples(path), path, {})
    assert again.path == first.path
    assert files[0].stat().st_ino == made[1]
    text = path.read_text()
    stat = path.stat()
    path.write_text(text.replace("0 ", "1 ", 1) if "0 " in text else text)
    import os

    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # same size, same time, other content
    other = cache.kept_batches(open_examples(path), path, {})
    assert other.path != first.path
    assert read_all(other.path).y.tolist() == read_all(path).y.tolist()
    assert (
        cache.kept_batches(open_examples(path, zero_based=True), path, {"zero_based": True}).path
        != other.path
    )
    assert cache.remove_cache() > 0
    assert not list(cache.cache_folder().glob("*"))


def test_a_damaged_cache_is_made_anew_and_a_bad_source_leaves_none(tmp_path):
    path = written(tmp_path)
    kept = cache.kept_batches(open_examples(path), path, {}).path
    with open(kept, "r+b") as file:  # noqa: PTH123
        file.truncate(100)
    assert read_all(cache.kept_batches(open_examples(path), path, {}).path).y.size == 200
    cache.remove_cache()
    path.write_text(path.read_text() + "1 1:x\n")
    with pytest.raises(BadInput, match="201"):
        cache.kept_batches(open_examples(path), path, {})
    assert not list(cache.cache_folder().glob("*"))
