"""Streams and files larger than memory, from the command line."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from rosenblatt.cli.app import app
from rosenblatt.cli.fit.stream import IN_MEMORY, LOADED, too_large
from rosenblatt.cli.progress import size_in_words
from rosenblatt.learner import Learner
from rosenblatt.learner.files import load_learner
from rosenblatt.streams.online import OnlineLearner

CLI = CliRunner()


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(*arguments, code=0, stdin=None):
    result = CLI.invoke(app, [str(argument) for argument in arguments], input=stdin)
    assert result.exit_code == code, result.output
    return result


def events(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        label = str(rng.choice(["up", "down", "flat"] if k > 20 else ["up", "down"]))
        rows.append({"label": label, "word": f"{label}{rng.integers(3)}", "size": int(rng.integers(5))})
    return rows


def as_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_stream_from_standard_input_reports_and_saves(tmp_path):
    rows = events(250)
    model = tmp_path / "m.safetensors"
    result = run(
        "stream", "-", "--target", "label", "--model", model, "--every", "100", "--json", stdin=as_lines(rows)
    )
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [report["rows"] for report in told] == [100, 200, 250]
    learner, right = OnlineLearner("auto"), 0
    for row in rows:
        x = {key: value for key, value in row.items() if key != "label"}
        right += learner.predict_one(x) == row["label"]
        learner.learn_one(x, row["label"])
    assert told[-1]["accuracy"] == pytest.approx(right / 250, abs=1e-6)
    stored = OnlineLearner.load(model)
    assert stored.names == learner.names
    assert told[-1]["leader"].endswith(f", {learner.predicting}")
    n = len(learner.names)
    assert np.array_equal(stored.statistics, learner.statistics[: n + 1])
    for own, other in zip(stored.candidates, learner.candidates, strict=True):
        for hypothesis in ("last", "averaged"):
            weights = other.learner.weights(hypothesis)[:, : n + 1]
            assert np.array_equal(own.learner.weights(hypothesis), weights)
    assert "down" in run("evaluate", model, "-", stdin=as_lines(rows)).stdout


def test_without_a_source_standard_input_is_read(tmp_path):
    text = as_lines(events(50))
    named, unnamed = (
        run("stream", *source, "--target", "label", "--json", stdin=text) for source in (["-"], [])
    )
    assert json.loads(unnamed.stdout)["rows"] == 50
    assert json.loads(unnamed.stdout)["accuracy"] == json.loads(named.stdout)["accuracy"]


def test_a_stream_goes_on_where_it_stopped(tmp_path):
    rows = events(200)
    (tmp_path / "all.jsonl").write_text(as_lines(rows))
    (tmp_path / "one.jsonl").write_text(as_lines(rows[:90]))
    (tmp_path / "two.jsonl").write_text(as_lines(rows[90:]))
    whole = run("stream", tmp_path / "all.jsonl", "--model", tmp_path / "a.safetensors", "--json")
    run("stream", tmp_path / "one.jsonl", "--model", tmp_path / "b.safetensors")
    second = run("stream", tmp_path / "two.jsonl", "--model", tmp_path / "b.safetensors", "--json")
    one, other = json.loads(whole.stdout.splitlines()[-1]), json.loads(second.stdout.splitlines()[-1])
    assert one["accuracy"] == other["accuracy"]
    assert one["rows"] == other["rows"] == 200
    a, b = (load_learner(tmp_path / f"{name}.safetensors")[0] for name in "ab")
    assert np.array_equal(a.weights("averaged"), b.weights("averaged"))


def test_rows_that_fit_learned_from_are_not_counted_as_predicted(tmp_path):
    """The accuracy of a stream is that of its own predictions, also in a later run."""
    model = tmp_path / "m.safetensors"
    run("fit", "sample:breast-cancer", "--model", model, "--no-estimate")
    for times in (1, 2):
        result = run("stream", "sample:breast-cancer", "--model", model, "--json")
        (report,) = [json.loads(line) for line in result.stdout.splitlines()]
        assert report["rows"] == 569 * times
        assert report["accuracy"] > 0.9
        assert report["progressive_loss"] == pytest.approx(1 - report["accuracy"])


@pytest.mark.parametrize(
    "options", [["--half-life", "50"], ["--hash-bits", "8"], ["--rule", "passive-aggressive"]]
)
def test_options_of_a_stream(tmp_path, options):
    (tmp_path / "a.csv").write_text("a,b,y\n" + "".join(f"{k % 7},w{k % 3},{k % 2}\n" for k in range(100)))
    told = run("stream", tmp_path / "a.csv", *options, "--json").stdout
    assert json.loads(told)["rows"] == 100


@pytest.mark.parametrize("command", ["stream", "fit"])
def test_hashed_features_keep_the_names_of_the_weightiest(tmp_path, command):
    rows = events(200)
    path, model = tmp_path / "a.jsonl", tmp_path / "m.safetensors"
    path.write_text(as_lines(rows))
    more = ["--out-of-core", "--passes", "2"] if command == "fit" else []
    run(command, path, "--target", "label", "--hash-bits", "14", "--model", model, *more)
    told = json.loads(run("info", model, "--top", "3", "--json").stdout)
    assert told["schema"]["bits"] == 14
    for label in ("up", "down", "flat"):
        names = [name for name, _ in told["weights"][label]["towards"]]
        assert all(name.startswith(f"word={label}") for name in names)
        assert len(names) == 3
    assert "features known by name, hashed" in run("info", model).stdout
    explained = json.loads(run("explain", model, path, "--row", "5", "--json").stdout)
    parts = {part["feature"] for part in explained["parts"]} - {"(bias)"}
    assert parts <= {f"word={rows[4]['word']}", "size"}
    if command == "stream":  # the names go on with the model
        run("stream", path, "--target", "label", "--model", model)
        assert "word=up" in run("info", model).stdout


def test_reports_of_a_stream_tell_how_far_it_is(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(as_lines(events(250)))
    answer = run("stream", path, "--target", "label", "--every", "100", "--json")
    for line in answer.stdout.splitlines():
        told = json.loads(line)
        assert told["progressive_loss"] == pytest.approx(1 - told["accuracy"], abs=1e-6)
        assert told["bytes_of"] == path.stat().st_size
        assert told["bytes"] is None or 0 < told["bytes"] <= told["bytes_of"]
        assert told["seconds_left"] is None or told["seconds_left"] >= 0.0
    shown = run("stream", path, "--target", "label", "--every", "100").stdout
    assert "rows/s" in shown


def test_a_stream_through_a_pipe_counts_its_own_bytes_and_no_others(tmp_path):
    text = as_lines(events(40))
    report = run("stream", "-", "--target", "label", "--json", stdin=text)
    assert json.loads(report.stdout.splitlines()[-1])["bytes"] == len(text)


def test_bad_lines_stop_a_stream_or_are_listed(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": 0}\n{"x": }\n{"x": 2, "y": 1}\n')
    result = run("stream", tmp_path / "a.jsonl", "--target", "y", code=65)
    assert "a.jsonl:2:" in result.stderr
    result = run("stream", tmp_path / "a.jsonl", "--target", "y", "--skip-bad", "--json")
    assert json.loads(result.stdout)["skipped"] == 1
    assert "skipped 1 bad line" in result.stderr
    run("stream", tmp_path / "a.jsonl", "--every", "0", code=2)
    run("stream", tmp_path / "a.jsonl", "--rule", "nobody", code=2)


def svm(tmp_path, classes=(0, 1, 2)):
    rng = np.random.default_rng(3)
    X, y = rng.integers(-3, 4, (300, 5)), rng.choice(classes, 300)
    text = "".join(
        f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) + "\n"
        for row, label in zip(X, y, strict=True)
    )
    (tmp_path / "a.svm").write_text(text)
    return tmp_path / "a.svm", X.astype(float), y


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--rule", ["arow", "rosenblatt"]),
        ("--hypothesis", ["last", "averaged"]),
        ("--hypothesis", ["voted", "last"]),
        ("--half-life", ["50", "60"]),
        ("--hash-bits", ["10", "11"]),
        ("--multi-class", ["ovr", "joint"]),
        ("--no-intercept", []),
    ],
)
def test_a_model_that_is_there_goes_on_as_it_was_begun(tmp_path, option, values):
    (tmp_path / "a.jsonl").write_text(as_lines(events(40)))
    words = ["stream", tmp_path / "a.jsonl", "--target", "label", "--model"]
    run(*words, tmp_path / "plain", "--rule", "margin")
    other = [option, *values[:1]]
    result = run(*words, tmp_path / "plain", *other, code=2)
    without = option in ("--half-life", "--hash-bits", "--no-intercept")
    assert f"exists and was trained {'without' if without else 'with'} {option}" in result.stderr
    assert "omit the option, or choose another --model" in result.stderr
    run(*words, tmp_path / "other", *other)
    run(*words, tmp_path / "other", *other)  # the same again
    run(*words, tmp_path / "other")  # nothing said
    assert load_learner(tmp_path / "other")[1]["stream"]["rows"] == 120
    if values:  # also where the default is asked for
        result = run(*words, tmp_path / "other", option, values[1], code=2)
        assert f"exists and was trained with {option} {values[0]}" in result.stderr


def test_a_drifting_stream_is_no_trap_for_the_default(tmp_path):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(3000, 3))
    up = (Z @ [1.0, -1.0, 0.5] > 0) != (np.arange(3000) // 500 % 2 == 1)
    X = Z * [1.0, 1000.0, 0.01] + [5.0, 9000.0, 1.0]
    table = "".join(
        f"{a!r},{b!r},{c!r},{'up' if y else 'down'}\n" for (a, b, c), y in zip(X.tolist(), up, strict=True)
    )
    (tmp_path / "a.csv").write_text("a,b,c,y\n" + table)
    chosen = json.loads(run("stream", tmp_path / "a.csv", "--json").stdout)
    plain = json.loads(
        run("stream", tmp_path / "a.csv", "--rule", "rosenblatt", "--no-scale", "--json").stdout
    )
    assert chosen["accuracy"] > 0.85
    assert plain["accuracy"] < 0.7
    assert chosen["leader_changes"] >= 1
    assert "leader" not in plain


@pytest.mark.parametrize("every", [7, 1000])
def test_a_stream_says_where_repeating_the_last_label_would_be_better(tmp_path, every):
    rng = np.random.default_rng(3)
    runs = np.repeat(rng.integers(0, 2, 20), 15)
    told = {}
    for name, X in {"noise": rng.normal(size=300), "signal": runs + 0.01 * rng.normal(size=300)}.items():
        path = tmp_path / f"{name}.csv"
        path.write_text(
            "x,y\n" + "".join(f"{x:.4f},{['no', 'yes'][y]}\n" for x, y in zip(X, runs, strict=True))
        )
        answer = CliRunner().invoke(app, ["stream", str(path), "--json", "--every", str(every)])
        assert answer.exit_code == 0
        report = json.loads(answer.stdout.splitlines()[-1])
        assert report["repeat_accuracy"] == round((runs[1:] == runs[:-1]).sum() / 300, 6)
        told[name] = "repeating the label of the row before" in answer.stderr
    assert told == {"noise": True, "signal": False}


def test_scaling_is_for_tables_and_on_request_for_vectors(tmp_path):
    (tmp_path / "a.svm").write_text("".join(f"{k % 2} 1:{k % 5} 2:{k % 3}\n" for k in range(40)))
    (tmp_path / "a.csv").write_text("a,b,y\n" + "".join(f"{k % 5},{k % 3},{k % 2}\n" for k in range(40)))
    scaled = {}
    for name, options in (("a.svm", []), ("a.svm", ["--scale"]), ("a.csv", []), ("a.csv", ["--no-scale"])):
        for rule in ([], ["--rule", "arow"]):
            model = tmp_path / "-".join(["model", name, *options, *rule])
            run("stream", tmp_path / name, *options, *rule, "--model", model)
            scaled[name, *options, *rule] = load_learner(model)[0].statistics is not None
    assert {key for key, value in scaled.items() if value} == {
        (name, *options, *rule)
        for name, options in (("a.svm", ["--scale"]), ("a.csv", []))
        for rule in ([], ["--rule", "arow"])
    }
    model = tmp_path / "m"
    run("stream", tmp_path / "a.csv", "--model", model)
    for option, message in (("--no-scale", "trained with --scale"), (("--rule", "arow"), "without --rule")):
        words = [option] if isinstance(option, str) else option
        assert message in run("stream", tmp_path / "a.csv", "--model", model, *words, code=2).stderr
    run("stream", tmp_path / "a.csv", "--model", model, "--auto", "--scale")
    refused = run("stream", tmp_path / "a.csv", "--text", "a", "--words", "tfidf", code=2).stderr
    assert "--words tfidf: the rows of a table that arrives are not counted; choose counts" in refused
    assert "leave out --auto" in run("stream", tmp_path / "a.csv", "--auto", "--rule", "arow", code=2).stderr


def test_names_are_hashed_where_there_are_names(tmp_path):
    rows = "".join(f"{k % 7},{'abc'[k % 3]},{'no' if k % 3 else 'yes'}\n" for k in range(60))
    (tmp_path / "a.csv").write_text("size,word,label\n" + rows)
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:1\n")
    options = ["--out-of-core", "--hash-bits", "6"]
    told = json.loads(run("fit", tmp_path / "a.csv", *options, "--model", tmp_path / "m", "--json").stdout)
    assert told["features"] == 64
    assert "word=a" in run("info", tmp_path / "m").stdout
    assert run("predict", tmp_path / "m", tmp_path / "a.csv").stdout.split()[:3] == ["yes", "no", "no"]
    assert "leave out --hash-bits" in run("fit", tmp_path / "a.svm", *options, code=2).stderr
    assert "leave out --scale" in run("fit", tmp_path / "a.csv", *options, "--scale", code=2).stderr


@pytest.mark.parametrize("through", ["text", "arrow", "stdin"])
def test_out_of_core_is_in_core(tmp_path, through):
    path, X, y = svm(tmp_path)
    expected = Learner(keep_ledger=False)
    expected.train(X, y, max_iter=3, shuffle=False)
    source, stdin = path, None
    if through == "arrow":
        told = json.loads(run("convert", path, tmp_path / "a.arrow", "--json").stdout)
        assert told["rows"] == 300
        source = tmp_path / "a.arrow"
    elif through == "stdin":
        source, stdin = "-", path.read_text()
    model = tmp_path / "m.safetensors"
    options = ["--out-of-core", "--passes", "3", "--no-shuffle", "--model", model, "--json"]
    told = json.loads(run("fit", source, *options, stdin=stdin).stdout)
    assert told["mistakes"] == [epoch.mistakes for epoch in expected.epochs]
    for name, standing in expected.evaluations.items():
        assert told["accuracy"]["train"][name]["accuracy"] == pytest.approx(standing.accuracy)
    assert told["margin"] == pytest.approx(expected.evaluations["averaged"].margin)
    assert told["bound"] == pytest.approx(expected.evaluations["averaged"].bound)
    assert told["radius"] == expected.radius
    stored, _ = load_learner(model)
    assert np.array_equal(stored.weights("averaged"), expected.weights("averaged"))
    assert "out of core" in run("fit", source, "--out-of-core", "--passes", "2", stdin=stdin).stdout


@pytest.mark.parametrize("hypothesis", ["last", "averaged", "voted", "survivor", "pocket", "random"])
@pytest.mark.parametrize("passes", [1, 2])
def test_every_hypothesis_through_a_pipe(tmp_path, hypothesis, passes):
    path, X, y = svm(tmp_path)
    expected = Learner()
    expected.train(X, y, max_iter=passes, shuffle=False)
    model = tmp_path / "m.safetensors"
    options = [
        "--out-of-core",
        "--passes",
        passes,
        "--no-shuffle",
        "--hypothesis",
        hypothesis,
        "--model",
        model,
    ]
    run("fit", "-", *options, stdin=path.read_text())
    labels = run("predict", model, path).stdout.split()
    assert labels == [str(label) for label in expected.predict(X, hypothesis)]


@pytest.mark.parametrize("hypothesis", ["last", "averaged", "voted", "survivor", "pocket", "random"])
def test_every_hypothesis_out_of_core_and_a_test_set(tmp_path, hypothesis):
    path, X, y = svm(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    test = tmp_path / "test.svm"
    test.write_text("".join(lines[:40]) + "7 1:1\n")
    expected = Learner()
    expected.train(X, y, max_iter=3, shuffle=False)
    model = tmp_path / "m.safetensors"
    options = ["--out-of-core", "--passes", "3", "--no-shuffle", "--hypothesis", hypothesis, "--test", test]
    answer = run("fit", path, *options, "--model", model, "--json")
    told = json.loads(answer.stdout)
    right = (expected.predict(X[:40], hypothesis) == y[:40]).sum()
    assert told["accuracy"]["test"][hypothesis] == {"accuracy": pytest.approx(right / 41), "rows": 41}
    assert told["test"]["unseen_labels"] == {"7": 1}
    assert "unseen in training (7)" in answer.stderr
    labels = run("predict", model, path).stdout.split()
    assert labels == [str(label) for label in expected.predict(X, hypothesis)]
    shown = run("fit", path, *options).stdout
    assert "margin" in shown
    assert "predicts" in shown


def test_reports_out_of_core_are_a_line_each(tmp_path):
    path, _, y = svm(tmp_path)
    for options in (["--passes", "2", "--no-shuffle"], ["--passes", "1", "--no-shuffle"], ["--passes", "2"]):
        answer = run("fit", path, "--out-of-core", "--every", "100", "--json", *options)
        *reports, last = [json.loads(line) for line in answer.stdout.splitlines()]
        passes = int(options[1])
        assert [r["rows"] for r in reports if r["pass"] == passes][-1] == y.size
        for report in reports:
            assert report["progressive_loss"] == pytest.approx(report["mistakes"] / report["rows"], abs=1e-6)
            assert report["seconds_left"] is None or report["seconds_left"] >= 0
            assert report["bytes_of"] == path.stat().st_size
        ends = [r["mistakes"] for r in reports if r["pass"] and r["rows"] == y.size]
        assert set(last["mistakes"]) == set(ends)
        assert last["rows"] == y.size
    shown = run("fit", path, "--out-of-core", "--every", "100", "--passes", "1", "--no-shuffle").stdout
    assert "pass 1 of 1: 300 rows  loss 0." in shown
    assert "rows/s" in shown
    assert "--every: for fits out of core only" in run("fit", path, "--every", "100", code=2).stderr
    assert "--every must be 1 or more" in run("fit", path, "--out-of-core", "--every", "0", code=2).stderr


def test_memory_decides(tmp_path):
    path, _, _ = svm(tmp_path)
    assert "out of core" in run("fit", path, "--memory", "300MB", "--out-of-core").stdout
    assert "out of core" not in run("fit", path, "--memory", "300MB").stdout
    through_a_pipe = run("fit", "-", "--memory", "300MB", stdin=path.read_text())
    assert "out of core" in through_a_pipe.stdout  # nobody knows how much will come
    assert "out of core" not in run("fit", "-", stdin=path.read_text()).stdout
    for options, words in {
        "--out-of-core": "leave out --out-of-core",
        "--memory 150MB": "allow more",
    }.items():
        result = run("fit", path, "--learner", "centroid", *options.split(), code=2)
        assert "--learner centroid holds all rows in memory" in result.stderr
        assert words in result.stderr
    for little in ("1KB", "150MB"):  # Python alone takes more
        assert "more than the memory asked for" in run("fit", path, "--memory", little, code=2).stderr
    run("fit", path, "--memory", "plenty", code=2)


def test_folders_and_packed_columns_are_as_large_as_their_rows(tmp_path):
    path, _, _ = svm(tmp_path)
    room = f"{LOADED + 2 * IN_MEMORY * 3 * path.stat().st_size // 2}"
    assert not too_large(str(path), room)
    folder = tmp_path / "many" / "deep"
    folder.mkdir(parents=True)
    for name in ("a.svm", "b.svm"):
        (folder / name).write_bytes(path.read_bytes())
    assert too_large(str(folder), room)
    assert too_large(str(tmp_path / "many"), room)
    parquet.write_table(
        pa.table({"a": np.zeros(100_000), "y": np.arange(100_000) % 2}), tmp_path / "a.parquet"
    )
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    assert too_large(str(tmp_path / "a.parquet"), f"{LOADED + 1_600_000}")
    assert not too_large(str(tmp_path / "a.parquet"), f"{LOADED + 16_000_000}")


def test_convert_refuses_what_it_cannot_write(tmp_path):
    path, _, _ = svm(tmp_path)
    assert "only Arrow" in run("convert", path, tmp_path / "a.txt", code=2).stderr
    path.write_text("1 1:x\n")
    run("convert", path, tmp_path / "b.arrow", code=65)
    assert not (tmp_path / "b.arrow").exists()


def test_what_is_kept_is_told_and_removed_on_request(tmp_path):
    path, _, _ = svm(tmp_path)
    assert ": 0 files, 0 bytes stored" in run("cache", "show").stdout
    run("fit", path, "--out-of-core", "--passes", "2")
    told = json.loads(run("cache", "show", "--json").stdout)
    (kept,) = (tmp_path / "cache" / "rosenblatt" / "examples").iterdir()
    size = kept.stat().st_size
    assert told == {
        "folder": str(kept.parent),
        "files": 1,
        "half_written": 0,
        "bytes": size,
        "limit": 10 << 30,
        "removed": False,
    }
    assert ": 1 file, " in (shown := run("cache", "show").stdout)
    assert shown.endswith("stored, limit 10GB\n")
    assert f": 1 file, {size_in_words(told['bytes'])} removed" in run("cache", "remove").stdout
    assert not kept.exists()
    assert "0 files" in run("cache", "show").stdout


@pytest.mark.parametrize("how", [[], ["--out-of-core"], ["--out-of-core", "--no-shuffle", "--passes", "1"]])
def test_bad_lines_without_end_are_all_counted_and_the_first_listed(tmp_path, monkeypatch, how):
    path, _, _ = svm(tmp_path)
    path.write_text(path.read_text() + "1 1:x\n" * 30)
    monkeypatch.setattr("rosenblatt.data.errors.MOST_LISTED", 12)
    for _ in range(2):  # the second time from the cache
        result = run("fit", path, "--skip-bad", "--json", *how)
        told = json.loads(result.stdout)
        assert told["skipped_in_all"] == 30
        assert len(told["skipped"]) == 12
        assert "skipped 30 bad lines; the first 10 are listed" in result.stderr
    assert "30 bad lines skipped" in run("fit", path, "--skip-bad", *how).stdout
    assert json.loads(run("stream", path, "--skip-bad", "--json").stdout)["skipped"] == 30


def test_the_inner_lines_of_a_quoted_value_are_never_learned(tmp_path):
    path, model = tmp_path / "a.csv", tmp_path / "m.safetensors"
    text = 'a,b,y\n1,2,no\n3,"4\n5,6,INNER\n7,8,INNER\n",yes\n9,1,yes\n'
    for command in (["fit"], ["fit", "--out-of-core"], ["stream", "--category", "b"]):
        path.write_text(text)
        assert json.loads(run(*command, path, "--json", "--model", model).stdout)["rows"] == 3
        assert load_learner(model)[0].classes.tolist() == ["no", "yes"]
        model.unlink()
        path.write_text(text.replace('",yes', ",yes"))
        for options in ([], ["--skip-bad"]):
            answer = run(*command, path, *options, "--model", model, code=65)
            assert f"{path}:3:3: a quote that opens here and never closes: close it" in answer.stderr
            assert not model.exists()


def test_what_a_killed_run_left_in_the_cache_is_counted_and_removed(tmp_path):
    folder = tmp_path / "cache" / "rosenblatt" / "examples"
    folder.mkdir(parents=True)
    (folder / ".abc.arrow.xyz").write_bytes(b"half")
    assert (
        "1 file (1 left half-written by a run that was killed), 4 bytes stored" in run("cache", "show").stdout
    )
    assert json.loads(run("cache", "show", "--json").stdout)["half_written"] == 1
    run("cache", "remove")
    assert not list(folder.iterdir())
