"""What is drawn is what is so: lines, bands, rings, curves and tables are read back from the axes."""

import io
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import Perceptron, plots
from rosenblatt.data import read_all
from rosenblatt.linear.encoders import FeatureMap
from rosenblatt.plots.criterion import descend, energy
from rosenblatt.plots.geometry import Box, border_in_box, line_in_box
from rosenblatt.plots.style import DARK, LIGHT, MISTAKE, _contrast, _rgb, class_looks, for_text
from rosenblatt.plots.votes import votes_on

SEPARABLE, MOONS, IRIS = (read_all(f"sample:{name}") for name in ("separable", "moons", "iris"))


def drawn(ax, gid):
    """Everything on the axes that was drawn under a name."""
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


@pytest.fixture(scope="module")
def separated():
    return Perceptron(max_iter=50).fit(SEPARABLE.X, SEPARABLE.y)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_the_boundary_is_where_the_score_is_zero_and_every_culprit_is_ringed(seed):
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)) * rng.uniform(0.1, 10, 2)
    y = np.where(X @ rng.normal(size=2) + rng.normal() > rng.normal(size=30) * 0.3, "yes", "no")
    if len(set(y)) < 2:
        return
    clf = Perceptron(max_iter=5).fit(X, y)
    ax = plots.boundary(clf, X, y)
    w, b = clf.coef_[0], clf.intercept_[0]
    for line in drawn(ax, "boundary"):
        points = np.column_stack(line.get_data())
        assert np.abs(points @ w + b).max() <= 1e-9 * (np.linalg.norm(w) * np.abs(points).max() + abs(b))
    distance = np.where(y == "yes", 1, -1) * (X @ w + b) / np.linalg.norm(w)
    bands = drawn(ax, "margin")
    if distance.min() > 0:
        for line in bands:
            points = np.column_stack(line.get_data())
            assert np.allclose(np.abs(points @ w + b) / np.linalg.norm(w), distance.min(), rtol=1e-6)
    else:
        assert not bands
    wrong = X[clf.predict(X) != y]
    rings = drawn(ax, "misclassified")
    ringed = np.vstack([ring.get_offsets() for ring in rings]) if rings else np.empty((0, 2))
    assert sorted(map(tuple, ringed)) == sorted(map(tuple, wrong))
    plt.close("all")


def test_rows_on_the_margin_are_ringed_and_w_is_normal_to_the_boundary(separated):
    X, y = SEPARABLE.X, SEPARABLE.y
    ax = plots.boundary(separated, X, y)
    nearest = np.argmin(y * separated.distance(X))
    assert X[nearest].tolist() in drawn(ax, "on the margin")[0].get_offsets().tolist()
    (arrow,) = drawn(ax, "normal vector")
    along = np.array(arrow.xy) - np.array(arrow.xyann)
    assert np.allclose(along / np.linalg.norm(along), separated.coef_[0] / np.linalg.norm(separated.coef_))
    assert abs(separated.decision_function([arrow.xyann])[0]) < 1e-9


def test_between_three_classes_both_score_alike_and_the_third_no_higher():
    X = IRIS.X[:, 2:]
    clf = Perceptron(max_iter=50).fit(X, IRIS.y)
    lines = drawn(plots.boundary(clf, X, IRIS.y), "boundary")
    assert lines
    for line in lines:
        for share in (0.01, 0.5, 0.99):
            start, end = np.column_stack(line.get_data())
            scores = np.sort(clf.decision_function([start + share * (end - start)])[0])
            assert np.isclose(scores[-1], scores[-2], atol=1e-6 * np.abs(scores).max())


@given(st.lists(st.floats(-3, 3), min_size=9, max_size=9))
def test_clipped_lines_stay_in_the_box(numbers):
    box = Box(np.array([-1.0, -2.0]), np.array([2.0, 1.0]))
    weights = np.array(numbers).reshape(3, 3)
    for segment in (line_in_box(weights[0, 1:], weights[0, 0], box), border_in_box(weights, 0, 1, box)):
        if segment is not None and np.abs(weights).min() > 1e-3:
            assert (segment >= box.low - 1e-6).all()
            assert (segment <= box.high + 1e-6).all()


def test_a_model_without_weights_is_drawn_from_its_scores(separated):
    ax = plots.boundary(separated.use("voted"), SEPARABLE.X, SEPARABLE.y)
    (contour,) = [each for each in ax.collections if type(each).__name__ == "QuadContourSet"]
    found = contour.get_paths()[0].vertices
    below, above = (
        separated.use("voted").predict(found + step * separated.coef_[0]) for step in (-0.05, 0.05)
    )
    assert (below == -1).mean() > 0.9
    assert (above == 1).mean() > 0.9


def test_the_losses_are_what_they_are_called():
    ax = plots.losses()
    z = drawn(ax, "hinge")[0].get_xdata()
    assert np.allclose(drawn(ax, "hinge")[0].get_ydata(), np.clip(1 - z, 0, None))
    assert np.allclose(drawn(ax, "perceptron")[0].get_ydata(), np.clip(-z, 0, None))
    logistic = drawn(ax, "logistic")[0].get_ydata()
    assert np.allclose(logistic, np.log2(1 + np.exp(-z)))
    assert (logistic >= (z <= 0) - 1e-12).all()  # above the mistake it stands for


def test_the_sigmoid_and_the_step_agree_where_both_are_sure():
    ax = plots.sigmoid()
    z, belief = drawn(ax, "sigmoid")[0].get_data()
    assert np.allclose(np.log(belief / (1 - belief)), z)
    assert [line.get_ydata()[0] for line in drawn(ax, "step")] == [0, 1]


@pytest.mark.parametrize("data", [SEPARABLE, MOONS], ids=["separable", "moons"])
def test_convergence_ends_at_the_mistakes_made_below_the_bound(data):
    clf = Perceptron().fit(data.X, data.y)
    ax = plots.convergence(clf)
    total = drawn(ax, "mistakes")[0].get_ydata()
    assert total[-1] == clf.n_mistakes_
    assert (np.diff(total) >= 0).all()
    assert drawn(ax, "bound")[0].get_ydata()[0] == clf.mistake_bound_ >= clf.n_mistakes_
    without = Perceptron(keep_ledger=False).fit(data.X, data.y)
    assert drawn(plots.convergence(without), "mistakes")[0].get_ydata()[-1] == without.n_mistakes_


def test_the_lemmas_hold_at_every_update(separated):
    left, right = plots.lemmas(separated.trace((separated.coef_, separated.intercept_)))
    assert (drawn(left, "run")[0].get_ydata() >= drawn(left, "bound")[0].get_ydata() - 1e-9).all()
    assert (drawn(right, "run")[0].get_ydata() <= drawn(right, "bound")[0].get_ydata() + 1e-9).all()
    with pytest.raises(ValueError, match="no updates"):
        plots.lemmas(separated.trace((separated.coef_, separated.intercept_))._replace(dot=[]))


@pytest.mark.parametrize(
    "X", [SEPARABLE.X[:20], SEPARABLE.X[:20, :1]], ids=["two weights", "weight and bias"]
)
def test_the_path_goes_down_the_gradient(X):
    y = SEPARABLE.y[:20]
    path = np.column_stack(drawn(plots.criterion(X, y), "path")[0].get_data())
    rows = (X if X.shape[1] == 2 else np.column_stack([X, np.ones(20)])) * y[:, None]
    steps = np.diff(path, axis=0)
    for w, step in zip(path, steps, strict=False):
        pull = rows[rows @ w <= 0].sum(axis=0)
        assert np.allclose(step / np.linalg.norm(step), pull / np.linalg.norm(pull))
    assert energy(rows, path)[-1] <= energy(rows, path)[0]
    assert descend(rows, path[0], 1.0)[0].tolist() == path[0].tolist()
    with pytest.raises(ValueError, match="two classes and one or two features"):
        plots.criterion(IRIS.X, IRIS.y)


@pytest.mark.parametrize("row", [0, 3, 50])
def test_the_votes_add_up_to_the_voted_score(separated, row):
    found = votes_on(separated, SEPARABLE.X[row])
    share = (found.survival * found.sign).sum() / found.survival.sum()
    assert np.isclose(share, separated.use("voted").decision_function(SEPARABLE.X[row : row + 1])[0])
    ax = plots.votes(separated, SEPARABLE.X[row])
    widths = [bar.get_width() for bar in drawn(ax, "survival")]
    lived = found.survival[found.survival > 0]
    assert len(widths) == min(lived.size, 12)
    assert str(separated.use("voted").predict(SEPARABLE.X[row : row + 1])[0]) in ax.get_xlabel().split("→")[1]


def test_the_ledger_shows_its_last_lines(separated):
    ax = plots.ledger(separated, last=4)
    texts = [text.get_text() for text in ax.texts]
    assert texts.count("✕") == 4
    assert [f"{int(line['row'])}" in texts for line in separated.ledger_[-4:]] == [True] * 4
    assert plots.ledger(Perceptron().fit(IRIS.X, IRIS.y)) is not None


def test_a_feature_map_before_and_after():
    circles = read_all("sample:circles")
    before, after = plots.feature_map(circles.X, circles.y, FeatureMap("squares"))
    assert not drawn(after, "misclassified")
    assert drawn(after, "boundary")[0].get_xdata()[0] == 0
    assert len(before.collections) >= 3
    _, plane = plots.feature_map(circles.X, circles.y, np.square)
    assert np.vstack([drawn(plane, f"class {c}")[0].get_offsets() for c in (-1, 1)]).min() >= 0


PICTURES = {
    "boundary": lambda clf, **kw: plots.boundary(clf, SEPARABLE.X, SEPARABLE.y, **kw),
    "convergence": plots.convergence,
    "criterion": lambda clf, **kw: plots.criterion(SEPARABLE.X, SEPARABLE.y, **kw),
    "feature_map": lambda clf, **kw: plots.feature_map(SEPARABLE.X, SEPARABLE.y, FeatureMap(), **kw),
    "ledger": plots.ledger,
    "lemmas": lambda clf, **kw: plots.lemmas(clf.trace((clf.coef_, clf.intercept_)), **kw),
    "losses": lambda clf, **kw: plots.losses(**kw),
    "sigmoid": lambda clf, **kw: plots.sigmoid(**kw),
    "votes": lambda clf, **kw: plots.votes(clf, SEPARABLE.X[0], **kw),
}


def test_every_picture_is_here():
    assert sorted(PICTURES) == sorted(plots.__all__)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_legible_in_both_themes(separated, name, theme):
    from matplotlib.text import Text

    axes = np.ravel(PICTURES[name](separated, theme=theme.name))
    figure = axes[0].get_figure()
    figure.savefig(io.BytesIO(), dpi=96)
    for ax in axes:
        assert ax.get_title(loc="left")
        written = [text for text in ax.findobj(Text) if text.get_text().strip() and text.get_visible()]
        assert min(text.get_fontsize() for text in written) * 96 / 72 >= 14
    assert figure.get_facecolor()[:3] == tuple(_rgb(theme.paper))


def test_pictures_draw_on_the_axes_they_are_given(separated):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert plots.convergence(separated, ax=ax) is ax


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_text_in_class_colours_can_be_read(theme):
    for look in class_looks(range(5)):
        assert _contrast(_rgb(for_text(look.colour, theme)), _rgb(theme.paper)) >= 4.5
    assert len({(look.colour, look.hatch) for look in class_looks(range(15))}) == 15
    assert MISTAKE == "#D55E00"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda clf: plots.boundary(clf, IRIS.X, IRIS.y), "needs two features"),
        (lambda clf: plots.losses(theme="sepia"), "theme must be one of light, dark"),
        (lambda clf: plots.votes(Perceptron().fit(IRIS.X, IRIS.y), IRIS.X[0]), "two classes, there are 3"),
    ],
)
def test_what_cannot_be_drawn_is_said(separated, wrong, reason):
    with pytest.raises(ValueError, match=reason):
        wrong(separated)


def test_without_matplotlib_the_way_out_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.pyplot'] = None\n"
        "from rosenblatt import plots\n"
        "try: plots.losses()\n"
        "except ImportError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 'pip install "rosenblatt[plots]"' in told
