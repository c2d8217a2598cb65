"""The report: one file, no network, no script error, both themes; looked at in a real browser."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from tests import browsing

from rosenblatt import Perceptron
from rosenblatt.data import read_all
from rosenblatt.learner import Learner
from rosenblatt.linear.encoders import Attributes
from rosenblatt.plots.compare import compare
from rosenblatt.plots.report import Report, write_report
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
        "Learners compared",
        "What Perceptron looks for",
        "Where it errs",
        "How it learned",
        "Proof",
    ):
        assert heading in words
    assert "Separable <sample> & more" in words
    assert str(full.proof)[:60] in words
    assert "100.00% of 200 rows are right." in words


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
    assert "What Perceptron looks for" in text


def test_names_are_shown_and_escaped():
    rows = [{"tag": "<b>", "n": 1.0}, {"tag": "&", "n": 2.0}, {"tag": "<b>", "n": 3.0}]
    attributes = Attributes().fit(rows)
    X = attributes.transform(rows)
    text = Report(
        model=Perceptron().fit(X, [1, 0, 1]), feature_names=attributes.get_feature_names_out()
    ).to_html()
    assert "tag=&lt;b&gt;" in text
    assert "<b>" not in text


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
