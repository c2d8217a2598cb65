"""Reports from the command line: one page, written whole, about what was asked."""

from tests.cli.commands import run


def test_fit_writes_a_page_about_its_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for learner in ("perceptron", "centroid", "logistic"):
        answer = run(f"fit sample:iris --learner {learner} --report {learner}.html")
        assert answer.exit_code == 0, answer.output
        page = (tmp_path / f"{learner}.html").read_text()
        assert page.startswith("<!doctype html>")
        assert "petal length" in page
        assert f"report  {learner}.html" in answer.stdout


def test_compare_writes_a_page_with_its_table_and_the_proof(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = run(
        "compare sample:xor --learner Perceptron --learner ClosestCentroid --report page.html --prove"
    )
    assert answer.exit_code == 0, answer.output
    page = (tmp_path / "page.html").read_text()
    assert "ClosestCentroid" in page
    assert "weighted average of rows of one class" in page


def test_a_report_needs_the_rows_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = run("fit sample:iris --out-of-core --report page.html")
    assert answer.exit_code == 2
    assert "in memory" in answer.stderr


def test_compiling_is_not_counted_as_learning(monkeypatch):
    from rosenblatt import jit
    from rosenblatt.cli.fit.report import Stopwatch

    compiled, clock = [0.0], [100.0]
    monkeypatch.setattr(jit, "compile_seconds", lambda: compiled[0])
    monkeypatch.setattr("rosenblatt.cli.fit.report.time.perf_counter", lambda: clock[0])
    watch = Stopwatch()
    clock[0] += 2.0
    watch.lap("read")
    assert watch.seconds == {"read": 2.0}
    clock[0], compiled[0] = clock[0] + 5.0, 4.0
    watch.lap("learn")
    assert watch.seconds == {"read": 2.0, "learn": 1.0, "compile": 4.0}


def test_compare_says_how_a_learner_of_counts_can_take_part():
    chosen = "compare sample:iris --learner MultinomialNaiveBayes --learner ClosestCentroid"
    assert "--no-scale" in run(chosen.split()).stdout
    assert "left out" not in run([*chosen.split(), "--no-scale"]).stdout


def test_the_target_of_a_regression_needs_no_hint(tmp_path):
    path = tmp_path / "houses.csv"
    path.write_text("size,price\n" + "".join(f"{n},{n * 1.5}\n" for n in range(1, 40)))
    asked = run(f"fit {path} --task regression").stdout
    assert "target" in asked
    assert "regression?" not in asked
    assert "regression?" in " ".join(run(f"info {path}").stdout.split())
