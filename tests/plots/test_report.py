"""The report: one file, no network, no script error, both themes; looked at in a real browser."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from tests import browsing

from rosenblatt import Perceptron
from rosenblatt.data import read_all
from rosenblatt.data.tables.infer import ColumnReport
from rosenblatt.learner import Learner
from rosenblatt.learner.estimate import certificate, estimate, percent_span
from rosenblatt.linear.encoders import Attributes
from rosenblatt.plots.compare import compare
from rosenblatt.plots.ledger import ledger
from rosenblatt.plots.report import HeldOut, Report, write_report
from rosenblatt.proofs import separability

SEPARABLE, IRIS = read_all("sample:separable"), read_all("sample:iris")


@pytest.fixture(scope="module")
def full():
    X, y = SEPARABLE.X, SEPARABLE.y
    return Report(
        "Separable <sample> & more",
        model=Perceptron().fit(X, y),
        X=X,
        y=y,
        comparison=compare(X, y, learners=["Perceptron", "ClosestCentroid", "NaiveBayes"], cv=3),
        proof=separability(X, y),
        about="sample:separable",
    )


class Page(HTMLParser):
    """The words of a page, and every address in it."""

    def __init__(self, text):
        super().__init__()
        self.words, self.addresses, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data.strip())


def test_everything_is_in_it_and_nothing_outside(full):
    text = full.to_html()
    page = Page(text)
    assert page.open == []
    assert all(address.startswith("data:") for address in page.addresses)
    assert not re.search(r"url\(|@import|https?://", re.sub(r"data:[^\"]*", "", text))
    words = " ".join(page.words)
    for heading in (
        "Which columns matter",
        "Where it errs",
        "Learners compared",
        "Is it separable?",
        "How it learned",
    ):
        assert heading in words
    assert "Separable <sample> & more" in words
    assert str(full.proof)[:60] in words
    assert "200 of the 200 rows shown here are right; it may have learned from them." in words
    assert "of held-out rows (3 folds), the most of 3 learners" in words


def test_the_confusion_matrix_counts_every_row():
    clf = Perceptron(max_iter=3).fit(IRIS.X, IRIS.y)
    text = Report(model=clf, X=IRIS.X, y=IRIS.y).to_html()
    counts = np.array([int(n) for n in re.findall(r'<td class="cell[^>]*>([\d,]+)', text)]).reshape(3, 3)
    assert counts.sum(axis=1).tolist() == [50, 50, 50]
    assert counts.trace() == (clf.predict(IRIS.X) == IRIS.y).sum()


def test_labels_the_model_never_saw_have_a_row_of_their_own():
    clf = Perceptron().fit(IRIS.X[:100], IRIS.y[:100])
    text = Report(model=clf, X=IRIS.X, y=IRIS.y).to_html()
    assert len(re.findall(r'<td class="cell', text)) == 9


def test_a_learner_of_the_command_line_will_do():
    learner = Learner()
    learner.train(IRIS.X, IRIS.y)
    text = Report(model=learner, X=IRIS.X, y=IRIS.y, feature_names=IRIS.feature_names).to_html()
    assert "petal width (cm)" in text
    assert "Which columns matter" in text


def test_names_are_shown_and_escaped():
    rows = [{"tag": "<b>", "n": 1.0}, {"tag": "&", "n": 2.0}, {"tag": "<b>", "n": 3.0}]
    attributes = Attributes().fit(rows)
    X = attributes.transform(rows)
    text = Report(
        model=Perceptron().fit(X, [1, 0, 1]), feature_names=attributes.get_feature_names_out()
    ).to_html()
    assert "tag=&lt;b&gt;" in text
    assert "<b>" not in text


def held_out_report(X, y, scores, **more):
    """A report with figures from scores; probabilities are a logistic function of them."""
    clf = Perceptron(max_iter=3).fit(X, y)
    labels = np.searchsorted(clf.classes_, y)
    if scores.ndim == 1:
        p = 1 / (1 + np.exp(-scores))
        probabilities = np.column_stack([1 - p, p])
    else:
        probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    predicted = clf.classes_[probabilities.argmax(axis=1)]
    figures = estimate(scores, labels, clf.classes_, "5 folds", probabilities=probabilities)
    return Report(
        model=clf, X=X, y=y, estimate=figures, held_out=HeldOut(y, predicted, probabilities), **more
    ), figures


def test_figures_on_new_rows_come_first_and_beside_the_majority_class():
    X, y = SEPARABLE.X, SEPARABLE.y
    report, figures = held_out_report(X, y, np.where(y == y[0], -1.0, 1.0) * np.linspace(-0.2, 2, y.size))
    words = " ".join(Page(report.to_html()).words)
    assert f"{figures.accuracy:.1%}" in words
    assert percent_span(figures.low, figures.high) in words
    assert "would be right on" in words
    assert "Can its probabilities be believed?" in words
    assert "is no estimate for new rows" not in words
    assert words.index("not learned from") < words.index("Which columns matter")


def test_a_training_figure_is_called_one():
    clf = Perceptron(max_iter=3).fit(IRIS.X, IRIS.y)
    words = " ".join(Page(Report(model=clf, X=IRIS.X, y=IRIS.y).to_html()).words)
    assert "this is no estimate for new rows" in words


def test_a_model_no_better_than_the_majority_class_says_so():
    rng = np.random.default_rng(0)
    report, _ = held_out_report(SEPARABLE.X, SEPARABLE.y, rng.normal(size=SEPARABLE.y.size))
    assert "It is not shown to be better than that." in report.to_html()


def test_the_surest_errors_are_listed_first():
    scores = np.zeros((IRIS.y.size, 3))
    scores[np.arange(IRIS.y.size), np.searchsorted(np.unique(IRIS.y), IRIS.y)] = 2.0
    scores[7], scores[9] = (0.0, 5.0, 0.0), (0.0, 3.0, 0.0)
    report, _ = held_out_report(IRIS.X, IRIS.y, scores)
    text = report.to_html()
    assert re.findall(r"<tr><td>(\d+)</td><td>setosa</td><td>versicolor</td>", text) == ["8", "10"]


def test_a_certificate_is_stated_as_the_theorem_it_is():
    report, _ = held_out_report(
        SEPARABLE.X,
        SEPARABLE.y,
        np.where(SEPARABLE.y == SEPARABLE.y[0], -1.0, 1.0),
        certificate=certificate(3, 100),
    )
    words = " ".join(Page(report.to_html()).words)
    assert (
        "At most 7.6% wrong on new rows like these, with 95% confidence (Clopper–Pearson, 100 rows held out)"
        in words
    )


def test_weights_are_shown_on_standardised_columns():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2)) * [1.0, 1000.0]
    y = np.where(X[:, 0] + X[:, 1] / 1000.0 > 0, "b", "a")
    clf = Perceptron(max_iter=3).fit(X, y)
    text = Report(model=clf, X=X, y=y).to_html()
    shown = [abs(float(number)) for number in re.findall(r'class="signed" title="([^"]+)"', text)]
    assert shown == pytest.approx(sorted(np.abs(clf.coef_[0] * X.std(axis=0)), reverse=True), rel=1e-3)


def test_it_is_written_whole_or_not_at_all(tmp_path, full, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("before")
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        full.write(target)
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError, match=r"no such folder, so r\.html cannot be written"):
        write_report(tmp_path / "nowhere" / "r.html")


def test_the_same_report_twice_is_the_same_file(full):
    assert full.to_html() == full.to_html()


@pytest.fixture(scope="module")
def chromium():
    with browsing.chromium() as browser:
        yield browser


def test_a_table_with_many_long_names_is_read_on_a_phone_without_scrolling(chromium, tmp_path):
    long = "a_measurement_with_a_rather_long_name"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    y = np.array([f"class number {k}" for k in X[:, :3].argmax(axis=1)])
    kinds = ("numeric", "category", "numeric", "category", "numeric", "numeric")
    columns = [
        ColumnReport(f"{long}_{k}", kind, 12 * k, f"39 values: {long}, other-values, and, more", 1, "imputed")
        for k, kind in enumerate(kinds)
    ]
    scores = X[:, :3] + 0.5 * rng.normal(size=(90, 3))
    report, _ = held_out_report(X, y, scores, columns=columns, feature_names=[c.name for c in columns])
    report.write(tmp_path / "report.html")
    for width in (390, 1440):
        context = browsing.window(chromium, viewport={"width": width, "height": 844})
        page = context.new_page()
        page.goto((tmp_path / "report.html").as_uri(), wait_until="load")
        boxes = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        assert page.evaluate(f"{boxes}.map(e => e.innerText)") == []
        assert page.evaluate("document.querySelector('.columns').innerText").count(long) >= 6
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390], ids=["desktop", "phone"])
def test_in_a_real_browser(chromium, tmp_path, full, scheme, width):
    full.write(tmp_path / "report.html")
    context = browsing.window(chromium, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    told, asked = [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "report.html").as_uri(), wait_until="load")
    assert [url for url in asked if not url.startswith("data:")] == [(tmp_path / "report.html").as_uri()]
    assert page.evaluate(
        "document.documentElement.scrollWidth <= innerWidth"
    )  # tables scroll, the page does not
    visible = page.evaluate(
        "[...document.images].filter(i => i.offsetParent).map(i => [i.className, i.complete && i.naturalWidth > 0])"
    )
    assert visible
    assert all(shown == [f"in-{scheme}", True] for shown in visible)
    every = "[...document.querySelectorAll('p,td,th,pre,h1,h2,button')]"
    sizes = every + ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    assert min(page.evaluate(sizes)) >= 14
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper
    other = {"light": "dark", "dark": "light"}[scheme]
    page.locator(f"img.in-{other}").first.wait_for(state="visible")
    assert told == []
    context.close()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_cells_of_the_ledger_do_not_overlap(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    names = np.array(["grignolino red", "barbera d'asti", "nebbiolo 1998"])
    y = names[np.argmax(X[:, :classes] + 0.3 * rng.normal(size=(400, classes)), axis=1)]
    ax = ledger(Perceptron("passive-aggressive", max_iter=2).fit(X, y))
    renderer = ax.figure.canvas.get_renderer()
    rows: dict[float, list[tuple[float, float]]] = {}
    for text in ax.texts:
        if text.get_text():
            box = text.get_window_extent(renderer)
            rows.setdefault(text.get_position()[1], []).append((box.x0, box.x1))
    assert len(rows) == 16
    for cells in rows.values():
        cells.sort()
        assert all(left[1] < right[0] for left, right in pairwise(cells))
