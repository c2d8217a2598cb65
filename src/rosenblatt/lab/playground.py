"""The playground: data, a learner, and every step of it."""

import csv
import io
from functools import partial
from html import escape
from pprint import pformat
from typing import Any, NamedTuple

import numpy as np
from nicegui import ui

from rosenblatt import rules
from rosenblatt.core import hypotheses
from rosenblatt.lab import frame
from rosenblatt.lab.computing import Share
from rosenblatt.lab.elements.plane import Edit, Plane
from rosenblatt.lab.insight import Insight, curves, error_curve, mistakes_over_time
from rosenblatt.lab.learners import (
    CLASSES,
    LEARNERS,
    SPEEDS,
    STEPPED,
    Fitted,
    Line,
    Losses,
    PlaygroundState,
    Space,
    Training,
    losses,
)
from rosenblatt.lab.points import Points, arrays, counted, edited
from rosenblatt.lab.scene import Scene, empty_scene, legend_of, model_scene, proof_scene, training_scene
from rosenblatt.lab.table import Session
from rosenblatt.lab.upload import ask_for_table
from rosenblatt.plots.style import BLUE, GREEN, MISTAKE, PINK
from rosenblatt.web import layout
from rosenblatt.web.chart import Curve, chart
from rosenblatt.web.layout import Markup, html

# The session

SHOWN_ONLY = {"proof", "beside", "tool", "theme", "speed", "clock"}  # what can change without learning anew
DATA_NAMES = {"data", "n", "margin", "noise", "seed", "points", "space", "gamma", "test"}
MOST_EXPORTED = 20_000  # lines of a ledger


class PlaygroundSession(Session[PlaygroundState]):
    """One visitor's playground."""

    def __init__(
        self, state: PlaygroundState, patience: float | None = None, share: Share | None = None
    ) -> None:
        self.state = state
        self.patience = (
            patience  # seconds to wait for a proof before showing the page without it; None: to its end
        )
        self.share = share or Share()
        self.problem = ""
        self.training: Training | None = None
        self.insight: Any = None
        self.fitted: Fitted | None = None
        self._past: list[int] = []  # clocks to go back to
        self._others: dict[str, tuple[Scene, Losses | None, str]] = {}  # learners beside that have no steps
        self._look_at_data()

    # What there is

    def _look_at_data(self) -> None:
        self.points: Points = self.state.examples()
        self.X, self.y = arrays(self.points)
        self.test = self.state.held_out(len(self.points))
        self.train = np.flatnonzero(~self.test)  # the points that are learned from
        space = Space.named(self.state.space, self.state.gamma)
        if self.insight is not None:
            self.insight.cancel()
        self.insight = Insight(space, self.X[self.train], self.y[self.train], self.patience, self.share)
        self._learn()

    def _learn(self) -> None:
        self.training, self.fitted, self.problem, self._others = None, None, "", {}
        state = self.state
        X, y = self.X[self.train], self.y[self.train]
        if state.learner != "perceptron":
            iterations = state.clock if state.learner in STEPPED else None
            self.fitted = Fitted(state.learner, state, X, y, self.train, iterations, self.share.seconds)
            self.problem = self.fitted.note if self.fitted.model is None else ""
            self._keep_clock()
            return
        try:
            self.training = Training(state, X, y, self.train)
        except ValueError as error:
            self.problem = str(error)
            return
        self._keep_clock()
        if self.training.learner.ledger is None and state.hypothesis in hypotheses.FROM_THE_LEDGER:
            self.problem = f"{state.rule} keeps no ledger, so only last and averaged are known."

    def _keep_clock(self) -> None:
        if self.stepped is not None:
            self.change(clock=self.stepped.clock)

    @property
    def stepped(self) -> Training | Fitted | None:
        """The learner that steps move, where it has any."""
        if self.fitted is not None:
            return self.fitted if self.fitted.has_steps else None
        return self.training

    # Actions

    def set(self, **values: Any) -> None:
        """Change the state; what depends on it is computed anew by the library, at the same clock."""
        before = self.state
        if "rule" in values and "eta" not in values and values["rule"] != before.rule:
            own = rules.BY_NAME[values["rule"]]()
            values["eta"] = float(getattr(own, "eta", before.eta))
        different = self.change(**values)
        if different & {"learner"}:
            self._past = []
        if different & DATA_NAMES:
            self._look_at_data()
        elif different - SHOWN_ONLY:
            self._learn()
        elif "clock" in different:
            self._go(self.state.clock)

    def edit(self, what: str, **details: Any) -> None:
        """Do to the points what was done on the plane: add, move, flip, erase."""
        self.set(data="own", points=edited(self.points, what, **details))

    def step(self) -> None:
        """Look at one example."""
        self._forward(lambda run: run.steps(1))

    def advance(self, count: int) -> None:
        """Look at so many examples; Back undoes all of them at once."""
        self._forward(lambda run: run.steps(count))

    def update(self) -> None:
        """Go on until the weights move."""
        self._forward(lambda run: run.next_update())

    def epoch(self) -> None:
        """Go on to the end of the pass."""
        self._forward(lambda run: run.next_pass())

    def back(self) -> None:
        """Undo the last step, of whatever size; without one, go back by one example."""
        run = self.stepped
        if run is not None and run.clock:
            earlier = [clock for clock in self._past if clock < run.clock]
            self._go(earlier[-1] if earlier else run.clock - 1)
            self._past = earlier[:-1]

    def reset(self) -> None:
        """Go back to the start."""
        self._past = []
        self._go(0)

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to step through."""
        return self.stepped is None or self.stepped.finished

    def _forward(self, when: Any) -> None:
        run = self.stepped
        if run is not None and not run.finished:
            self._past.append(run.clock)
            self._go(when(run))

    def _go(self, clock: int) -> None:
        if self.stepped is None:
            return
        try:
            self.stepped.to(clock)
        except ValueError as error:
            self.problem = str(error)
        self._keep_clock()

    # What is shown

    def scene(self) -> Scene:
        """Return what the plane shows."""
        state = self.state
        scene = empty_scene(self.points, state.x_name, state.y_name)
        scene["held_out"] = np.flatnonzero(self.test).tolist()
        if self.training is not None:
            training_scene(self.training, self.points, scene)
        elif self.fitted is not None and self.fitted.model is not None:
            model_scene(self.fitted, self.points, scene)
        if state.proof and len(self.points):
            proof_scene(self.insight.proof, self.insight.space.is_plane, self.points, scene, self.train)
        return scene

    def beside(self) -> list[tuple[str, Scene, Losses | None, str]]:
        """Return learners side by side on the same data: name, picture, losses, note."""
        for name in self.state.beside:
            if name == "perceptron" or name not in self._others:
                self._others[name] = self._beside(name)
        return [(name, *self._others[name]) for name in self.state.beside]

    def _beside(self, name: str) -> tuple[Scene, Losses | None, str]:
        scene, note = empty_scene(self.points), ""
        scene["held_out"] = np.flatnonzero(self.test).tolist()
        X, y = self.X[self.train], self.y[self.train]
        model: Training | Fitted
        if name == "perceptron":
            try:
                model = self.training or Training(self.state, X, y, self.train)
            except ValueError as error:
                return scene, None, str(error)
            if not model.clock and not any(self.state.first_weights):
                return scene, None, "no step yet"
        else:
            model = Fitted(name, self.state, X, y, self.train, seconds=self.share.seconds)
            note = model.note
        if isinstance(model, Training) or model.model is not None:
            model_scene(model, self.points, scene)
        scores = model.scores(X) if len(y) else None
        return scene, losses(scores, model.weights(), y), note

    def losses(self) -> Losses | None:
        """Return the losses of what predicts, on the examples that it learned from."""
        model = self.training or self.fitted
        if model is None or not len(self.train):
            return None
        return losses(model.scores(self.X[self.train]), model.weights(), self.y[self.train])

    def errors(self) -> str:
        """Say how many examples are misclassified now, of those learned from and of those held out."""
        model = self.training or self.fitted
        scores = model.scores(self.X) if model is not None and len(self.points) else None
        if scores is None:
            return ""
        wrong = self.y * scores <= 0.0
        parts = [f"{int(wrong[self.train].sum())} of {len(self.train)}"]
        if self.test.any():
            parts.append(f"{int(wrong[self.test].sum())} of {int(self.test.sum())} held out")
        return " and ".join(parts) + " misclassified."

    def status(self) -> str:
        """Say in one line where the run stands."""
        if self.problem:
            return self.problem
        if not len(self.points):
            return "Put some points on the plane: choose Put +1 or Put −1, then click."
        if not len(self.train):
            return "Every point is held out for the test: put more points, or hold out fewer."
        if self.fitted is not None:
            return self._fitted_status(self.fitted)
        run = self.training
        if run is None or not run.clock:
            return "Nothing seen yet. Press step: the learner looks at one example."
        if run.converged:
            return f"A clean pass: no update in pass {run.epoch}. {counted(run.learner.mistakes, 'mistake')} in all."
        row, update = run.row_at(run.clock - 1), run.last_update
        text = f"Row {run.rows[row]} (y = {'+1' if run.y[row] > 0 else '−1'}): "
        if update is None:
            return text + "right, nothing moves."
        why = "a mistake" if update.score <= 0.0 else "right, but the rule moves"
        return text + f"{why}, {moved(run, update)}."

    def _fitted_status(self, fitted: Fitted) -> str:
        if not fitted.has_steps:
            return " ".join(
                ["Fitted in one go: there is nothing to step through.", self.errors(), fitted.note]
            ).strip()
        if not fitted.clock:
            return "Nothing learned yet. Press step: the learner sees all examples at once, and moves."
        end = ""
        if fitted.converged:
            end = " Nothing is misclassified." if fitted.name == "batch" else " The gradient is zero."
        return f"{counted(fitted.clock, 'iteration')}.{end} {self.errors()}"

    def summary(self) -> str:
        """Say what there is in numbers."""
        run = self.training
        plus = int(np.sum(self.y > 0))
        points = f"{counted(len(self.y), 'point')}: {plus} of +1, {len(self.y) - plus} of −1."
        if self.test.any():
            points += f" {int(self.test.sum())} held out."
        if run is None or not run.clock:
            return points
        number = run.epoch + (1 if run.clock % run.n else 0)
        return f"{points} Pass {number}, {run.clock} seen, {counted(run.learner.mistakes, 'mistake')}."

    def ledger_csv(self) -> str:
        """Return the ledger as a CSV table: every update with its example and the weights after it."""
        run = self.training
        if run is None or run.learner.ledger is None:
            return ""
        names = [] if run.space.kernel else ["b", *(f"w_{name}" for name in run.space.names())]
        written = io.StringIO()
        table = csv.writer(written, lineterminator="\n")
        table.writerow(["update", "clock", "row", "x1", "x2", "y", "y_score", "tau", "w_sqnorm", *names])
        for line in run.lines(MOST_EXPORTED):
            x1, x2 = run.X[line.row].tolist()
            row = [line.number, line.clock + 1, int(run.rows[line.row]), x1, x2, line.label]
            table.writerow([*row, line.score, line.tau, line.sqnorm, *line.weights])
        return written.getvalue()


def moved(run: Training, line: Line) -> str:
    """Write what an update did to the weights: in numbers, or by the row where there are many."""
    sign = "+" if line.tau > 0 else "−"
    by = abs(line.tau) * run.Z[line.row]
    if run.space.kernel:
        return f"α {sign}= {abs(line.tau):.3g} on row {run.rows[line.row]}"
    return f"w {sign}= {vector(by)}"


def vector(values: Any) -> str:
    """Write a vector.

    >>> vector([0.5, -1.25, 3.0])
    '(0.5, −1.25, 3)'
    """
    return frame.minus("(" + ", ".join(f"{float(value):.3g}" for value in values) + ")")


# Charts and tables

LINES = 60  # of the ledger that are shown
INK = "var(--ink)"
NAMES = {
    "perceptron": "Perceptron",
    "batch": "Batch perceptron",
    "logistic": "Logistic regression",
    "centroid": "Closest centroid",
    "naive-bayes": "Naive Bayes",
    "gaussian": "Gaussian discriminant",
    "max-margin": "Largest margin",
}


def charts(session: PlaygroundSession) -> list[str]:
    """Return the charts: mistakes and their bound, the two lemmas, E(w)."""
    run, best = session.training, session.insight.best
    errors = _error_chart(session)
    if run is None:
        model = session.fitted.model if session.fitted is not None else None
        if model is not None and hasattr(model, "criterion_"):
            steps = range(len(model.criterion_))
            curve = Curve(steps, model.criterion_, PINK, "E(w) of the descent")
            return [*errors, chart("E(w)", "iteration", [curve])]
        return errors
    when, total = mistakes_over_time(run)
    drawn = [Curve(when, total, MISTAKE, f"mistakes: {run.learner.mistakes}", stairs=True)]
    promised = run.state.rule == "rosenblatt" and not any(run.state.first_weights)
    if best is not None and promised:
        drawn.append(
            Curve([0, max(run.clock, 1)], [best.bound] * 2, INK, f"R²/γ² = {best.bound:.4g}", dotted=True)
        )
    parts = [chart("Mistakes against the bound", "examples seen", drawn), *errors]
    proof = curves(run, session.insight)
    if proof is None:
        why = "This rule keeps no ledger:" if run.learner.ledger is None else "After the first update:"
        return [*parts, f'<p class="lab-faint q-mt-sm">{why} v·u, ‖v‖² and E(w).</p>']
    k = proof.updates
    if proof.dot is None:
        why = (
            "u is being computed" if session.insight.pending else "there is no separator u to measure against"
        )
        parts.append(f'<p class="lab-faint q-mt-sm">v·u: {why}.</p>')
    else:
        lemma = [Curve(k, proof.dot, BLUE, "v·u")]
        if proof.floor is not None:
            lemma.append(Curve(k, proof.floor, INK, "never below kγ", dotted=True))
        parts.append(chart("v·u against its lemma", "update k", lemma))
    norm = [Curve(k, proof.sqnorm, GREEN, "‖v‖²")]
    if proof.ceiling is not None:
        norm.append(Curve(k, proof.ceiling, INK, "never above kR²", dotted=True))
    parts.append(chart("‖v‖² against its lemma", "update k", norm))
    parts.append(
        chart("E(w)", "update k", [Curve(k, proof.criterion, PINK, "E(w), the perceptron criterion")])
    )
    return parts


def _error_chart(session: PlaygroundSession) -> list[str]:
    """Return the errors along the run: on what was learned from, and on what was held out."""
    model = session.stepped
    if model is None or not len(session.train) or not (session.test.any() or isinstance(model, Fitted)):
        return []
    errors = error_curve(model, session.X, session.y, session.test)
    if errors is None:
        return []
    drawn = [Curve(errors.steps, errors.train, MISTAKE, f"training error: {errors.train[-1]:.3g}%")]
    if errors.test is not None:
        drawn.append(Curve(errors.steps, errors.test, BLUE, f"test error: {errors.test[-1]:.3g}%"))
    x_name = "iteration" if isinstance(model, Fitted) else "update k"
    return [chart("Misclassified, in percent", x_name, drawn)]


def ledger_table(session: PlaygroundSession) -> str:
    """Return the last lines of the ledger, the newest first."""
    run = session.training
    if run is None or run.learner.ledger is None:
        return '<p class="lab-faint">No ledger: this learner records no updates.</p>'
    rows, until = [], run.clock
    for line in reversed(run.lines(LINES)):
        lived, until = until - line.clock - 1, line.clock + 1
        move, norm = moved(run, line), f"{line.sqnorm:.4g}"
        if line.weights:
            move = _two(move, f"w = {vector(line.weights[1:])}")
            norm = _two(frame.minus(f"{line.weights[0]:.3g}"), norm)
        row = _two(run.rows[line.row], "+1" if line.label > 0 else "−1")
        score = _two(_signed(line.score), frame.mark(line.score > 0.0))
        rows.append([line.number, row, score, move, norm, _two(line.clock + 1, lived)])
    if not rows:
        return '<p class="lab-faint">Empty: every update will be a line here.</p>'
    move, norm = ("moved", "‖w‖²") if run.space.kernel else (_two("moved", "w after it"), _two("b", "‖w‖²"))
    heads = ["#", _two("row", "y"), _two("y·score", "right"), move, norm, _two("clock", "lived")]
    return frame.html_table("ledger", heads, rows, words=[3])


def _two(above: Any, below: Any) -> str:
    """Write two values one below the other, in one cell of a table."""
    return f'{above}<br><span class="lab-faint">{below}</span>'


def losses_table(rows: list[tuple[str, Losses | None, str]]) -> str:
    """Return learners with their losses, one a line."""
    lines = []
    for name, measured, note in rows:
        said = f'<br><span class="lab-faint">{escape(note)}</span>' if note else ""
        cells: list[Any] = ["–"] * 5
        if measured is not None:
            means = [f"{mean:.3f}" for mean in (measured.perceptron, measured.hinge, measured.logistic)]
            cells = [measured.wrong, *means, _signed(measured.margin)]
        lines.append([escape(NAMES[name]) + said, *cells])
    heads = ["learner", "wrong", "perceptron", "hinge", "logistic", "geometric margin"]
    return f'<div class="lab-wide">{frame.html_table("losses", heads, lines, words=[0])}</div>'


def weights_line(session: PlaygroundSession) -> str:
    """Write the weights of what predicts."""
    model = session.training or session.fitted
    weights = model.weights() if model is not None else None
    if model is None or weights is None:
        return ""
    names = ["b", *(f"w<sub>{escape(name)}</sub>" for name in model.space.names())]
    text = ", ".join(f"{name} = {_signed(float(value))}" for name, value in zip(names, weights, strict=True))
    measured = session.losses() if weights[1:].any() else None
    return (
        text
        if measured is None
        else f"{text}<br>geometric margin of this hypothesis: min y f(x)/‖w‖ = {_signed(measured.margin)}"
    )


def _signed(value: float) -> str:
    """Write a number with a real minus.

    >>> _signed(-0.5), _signed(0.0), _signed(-0.0)
    ('−0.50', '0.00', '0.00')
    """
    text = f"{value:.2f}" if abs(value) < 1000 else f"{value:.4g}"
    return "0.00" if float(text) == 0.0 else frame.minus(text)


# The state as Python code

PICTURE = """
try:
    from rosenblatt import plots

    axes = plots.boundary({model}, X, y)
    axes.figure.savefig("{name}.png")
except ImportError:
    print('a picture needs matplotlib: pip install "rosenblatt[plots]"')
"""


def data_code(points: Points) -> str:
    """Write the examples down."""
    rows = pformat([[p.x / 100, p.y / 100] for p in points], width=110, compact=True)
    labels = pformat([p.label for p in points], width=110, compact=True)
    return f"import numpy as np\n\nX = np.array({rows})\ny = np.array({labels})\n"


def playground_code(session: PlaygroundSession) -> str:
    """Return code that makes the model of a session, and prints what the page shows."""
    data, test = data_code(session.points), ""
    if session.test.any():
        data += (
            f"\nheld_out = {np.flatnonzero(session.test).tolist()!r}  # for the test\n"
            "X_test, y_test = X[held_out], y[held_out]\n"
            "X, y = np.delete(X, held_out, axis=0), np.delete(y, held_out)\n"
        )
        plain = session.insight.space.kernel or session.insight.space.is_plane
        rows = "X_test" if plain else "fmap.transform(X_test)"
        test = f"print((clf.predict({rows}) != y_test).sum(), 'of', len(y_test), 'held out misclassified')\n"
    if np.unique(session.y[session.train]).size < 2:
        return data + '\nprint("a boundary needs examples of both classes")\n'
    if session.training is not None:
        body = _training(session.training)
    elif session.fitted is not None and session.fitted.model is not None:
        body = _fitted(session)
    else:
        return data + f"\nprint({session.status()!r})\n"
    proof = ""
    if session.state.proof:
        rows = "Z" if not session.insight.space.kernel else "X"
        proof = (
            f"\nfrom rosenblatt import separability\n\nproof = separability({rows}, y)\nprint(proof)\n"
            f"assert proof.verify({rows}, y)\n"
        )
    return f"# Made by the lab of rosenblatt: the state ?{session.link}\n{data}{body}{test}{proof}"


def _mapped(space: Any) -> str:
    if space.kernel or space.is_plane:
        return "Z = X\n"
    return (
        f'from rosenblatt import FeatureMap\n\nfmap = FeatureMap("{space.kind}", degree={space.degree})\n'
        "Z = fmap.fit_transform(X)\n"
    )


def _training(run: Training) -> str:
    state = run.state
    cls = "KernelPerceptron" if run.space.kernel else "Perceptron"
    arguments = _arguments(run)
    whole, rest = divmod(run.clock, run.n)
    lines = [f"\nfrom rosenblatt import {cls}, rules\n", _mapped(run.space)]
    start = ""
    if any(state.first_weights):
        width = run.Z.shape[1]
        first = [state.start[1], state.start[2], *[0.0] * (width - 2)]
        start = f", coef_init={[first]!r}, intercept_init=[{state.start[0]!r}]"
    if not run.clock:
        lines.append("# nothing has been learned yet; the first pass:\n")
        whole = 1
    if whole:
        lines.append(f"clf = {cls}({arguments}, max_iter={whole}).fit(Z, y{start})\n")
    else:
        if start:
            lines.append(f"# begins with the weights {state.start!r}, the bias first\n")
        lines.append(f"clf = {cls}({arguments})\n")
    if rest and state.hypothesis != "pocket":
        rows = [run.row_at(whole * run.n + k) for k in range(rest)]
        picked = f"[:{rest}]" if rows == list(range(rest)) else f"[{rows!r}]"
        if not whole and start:
            lines.append(
                "from rosenblatt.learner import Learner\n\n"
                f"clf.learner_ = Learner(rules.resolve({state.rule!r}, {state.eta!r}))\n"
                f"clf.learner_.start_from({[first]!r}, {state.start[0]!r}, [-1, 1])\nclf.n_features_in_ = Z.shape[1]\n"
            )
        lines.append(f"clf.partial_fit(Z{picked}, y{picked}, classes=[-1, 1])  # the pass that has begun\n")
    lines.append("\nprint(clf.n_mistakes_, 'mistakes in', int(clf.clock_), 'examples')\n")
    if not run.space.kernel and state.hypothesis != "voted":
        lines.append("print('weights', clf.coef_[0], 'bias', clf.intercept_[0])\n")
    if run.space.is_plane or run.space.kernel:
        lines.append(PICTURE.format(model="clf", name="playground"))
    return "".join(lines)


def _arguments(run: Training) -> str:
    state = run.state
    arguments = [f"rule=rules.resolve({state.rule!r}, {state.eta!r})", f"hypothesis={state.hypothesis!r}"]
    arguments += [f"shuffle={state.order == 'shuffled'}", f"random_state={state.seed}"]
    if run.space.kernel and run.space.kind == "rbf":
        arguments.insert(0, f'kernel="rbf", gamma={run.space.gamma!r}')
    elif run.space.kernel:
        arguments.insert(0, f'kernel="poly", degree={run.space.degree}')
    return ", ".join(arguments)


def _fitted(session: PlaygroundSession) -> str:
    fitted = session.fitted
    assert fitted is not None
    cls, _ = CLASSES[fitted.name]
    arguments = ", ".join(f"{name}={value!r}" for name, value in fitted.arguments.items())
    picture = PICTURE.format(model="clf", name="playground") if fitted.space.is_plane else ""
    quiet = ""
    if fitted.has_steps and not fitted.converged:
        quiet = 'import warnings\n\nwarnings.simplefilter("ignore")  # it stops before it has converged, on purpose\n'
    return (
        f"\n{quiet}from rosenblatt import {cls}\n\n{_mapped(fitted.space)}clf = {cls}({arguments}).fit(Z, y)\n"
        "print((clf.predict(Z) != y).sum(), 'of', len(y), 'misclassified')\n"
        f"print('weights', clf.coef_[0], 'bias', clf.intercept_[0])\n{picture}"
    )


# The page

DATA_TITLES = {
    "separable": "Separable",
    "overlapping": "Overlapping",
    "circles": "Circles",
    "moons": "Moons",
    "xor": "XOR",
    "none": "Empty plane",
    "own": "Your own points",
}
SPACE_TITLES = {
    "plane": "None: the plane itself",
    "squares": "Map: squares",
    "products": "Map: products",
    "polynomial-2": "Map: polynomial, degree 2",
    "polynomial-3": "Map: polynomial, degree 3",
    "kernel-poly-2": "Kernel: (1 + a·b)²",
    "kernel-poly-3": "Kernel: (1 + a·b)³",
    "kernel-poly-4": "Kernel: (1 + a·b)⁴",
    "kernel-rbf": "Kernel: Gaussian",
}
PAPERS = {  # names that papers write in capitals
    "norma": "NORMA",
    "paum": "PAUM",
    "romma": "ROMMA",
    "alma": "ALMA",
    "arow": "AROW",
    "nag": "NAG",
    "scinol": "ScInOL",
    "widrow-hoff": "Widrow–Hoff",
}
KEYS = {"s": "step", "u": "update", "e": "epoch", "b": "back"}
PATIENCE = 0.02  # seconds that the page waits for a proof before it is shown without
POLL = 0.2  # seconds between looks whether a proof is there
TICK = 0.1  # seconds between two pictures of a run, where it does more than one step in that time
SPEED_TITLES = {float(k): f"{speed:,} a second" for k, speed in enumerate(SPEEDS)}


def rule_title(name: str) -> str:
    """Return the name of a rule as its paper writes it.

    >>> [rule_title(name) for name in ("arow", "scinol-hinge", "widrow-hoff", "passive-aggressive")]
    ['AROW', 'ScInOL hinge', 'Widrow–Hoff', 'Passive-aggressive']
    """
    first, _, rest = name.partition("-")
    written = PAPERS.get(name) or PAPERS.get(first)
    if written is None:
        return name.capitalize().replace("-squared", ", squared")
    return f"{written} {rest}" if rest and name not in PAPERS else written


class PlaygroundView(NamedTuple):
    """What the page shows of a session; where a point is being dragged, the first two only."""

    scene: Scene
    status: str
    answer: str = ""
    charts: str = ""
    weights: str = ""
    ledger: str = ""
    beside: tuple[tuple[str, Scene], ...] = ()
    losses: str = ""
    has_ledger: bool = False
    has_steps_behind: bool = False
    finished: bool = False
    whole: bool = False

    @classmethod
    def of(cls, session: PlaygroundSession, whole: bool) -> "PlaygroundView":
        """Look at a session."""
        scene = session.scene()
        status = f"<b>{escape(session.status())}</b><br><span class='lab-faint'>{session.summary()}</span>"
        if not whole:
            return cls(scene, status)
        rows, run = session.beside(), session.training
        return cls(
            scene,
            status,
            _answer(session),
            "".join(charts(session)),
            weights_line(session),
            ledger_table(session),
            tuple((name, small) for name, small, _, _ in rows),
            losses_table([(name, measured, note) for name, _, measured, note in rows]),
            run is not None and bool(run.learner.ledger) and run.learner.updates > 0,
            session.stepped is not None and session.stepped.clock > 0,
            session.finished,
            whole=True,
        )


def _answer(session: PlaygroundSession) -> str:
    """Answer "is it separable?" where it was asked."""
    if not session.state.proof:
        return ""
    proof = session.insight.proof
    details = (
        ""
        if proof is None
        else f"<details class='lab-faint'><summary>the proof in words</summary>{proof}</details>"
    )
    return f"<b>{session.insight.answer()}</b>{details}"


class PlaygroundPage(frame.LabPage[PlaygroundSession]):
    """One visitor's page."""

    path, table, code = "/", PlaygroundState, staticmethod(playground_code)

    @classmethod
    def begin(cls, state: PlaygroundState, share: Share) -> PlaygroundSession:
        """Return the session of a state."""
        return PlaygroundSession(state, PATIENCE, share)

    @staticmethod
    def look(session: PlaygroundSession, whole: bool = True) -> PlaygroundView:
        """Compute what is shown of a session."""
        return PlaygroundView.of(session, whole)

    def draw(self, first: bool) -> None:
        """Build the elements."""
        self.timer = ui.timer(TICK, self._tick, active=False)
        self.first = first  # whether this is a first visit
        self.tick = 0
        self.finished = False
        self.awaiting = ui.timer(POLL, self._show_proof, active=False)
        frame.head(self, self.path, self.state.theme, self._controls)
        with ui.element("main").classes("lab-main"):
            with ui.element("div").classes("lab-stack"):
                self._plane()
                self._beside()
            with ui.element("div").classes("lab-stack"):
                self._numbers()
        frame.shortcuts(self, self._key)

    # Parts

    def _controls(self) -> None:
        with ui.element("div").classes("lab-side"):
            layout.heading("Data")
            frame.choice(self, "data", "Examples", DATA_TITLES)
            self.generated_only = ui.element("div").classes("w-full")
            with self.generated_only:
                frame.slider(self, "n", "Points", 1)
                self.margin = frame.slider(self, "margin", "Margin γ", 0.01)
                self.noise = frame.slider(self, "noise", "Noise", 0.05)
                frame.button("Draw others", "casino", self._others)
            frame.slider(self, "test", "Held out for the test, %", 5, {0.0: "none"})
            frame.button("Upload CSV", "upload_file", partial(ask_for_table, self))
            layout.heading("Learner")
            frame.choice(self, "learner", "Learner", NAMES)
            self.online = ui.element("div").classes("lab-stack").style("gap:8px")
            with self.online:
                frame.choice(self, "rule", "Rule", {name: rule_title(name) for name in rules.BY_NAME})
            self.eta = frame.slider(self, "eta", "Learning rate η", 0.01)
            self.stepped = ui.element("div").classes("lab-stack").style("gap:8px")
            with self.stepped:
                frame.choice(self, "order", "Order", {"given": "As given", "shuffled": "Shuffled every pass"})
                frame.choice(
                    self, "hypothesis", "Hypothesis", {name: name.capitalize() for name in hypotheses.NAMES}
                )
                self._start()
            layout.heading("Space")
            frame.choice(self, "space", "Feature map or kernel", SPACE_TITLES)
            self.gamma = frame.slider(self, "gamma", "Kernel γ: width 1/√(2γ)", 0.05)
            layout.heading("Side by side")
            several = ui.select(
                {name: NAMES[name] for name in LEARNERS},
                value=list(self.state.beside),
                multiple=True,
                label="Learners on the same data",
            )
            several.props("dense outlined options-dense use-chips").classes("w-full").mark("beside")
            several.on_value_change(self._choose_beside)
            self.controls["beside"] = several

    def _start(self) -> None:
        """Where the weights begin."""
        self.start = ui.row().classes("w-full no-wrap").style("gap:6px")
        self.start_boxes: list[Any] = []
        with self.start:
            for k, name in enumerate(("b", "w₁", "w₂")):
                box = ui.number(f"Start {name}", value=self.state.start[k], step=0.5, min=-10, max=10)
                box.props("dense outlined").classes("col").mark(f"start{k}")

                def begun(event: Any, k: int = k) -> None:
                    start = [float(each.value or 0.0) for each in self.start_boxes]
                    start[k] = float(event.value or 0.0)
                    self.chosen("start", tuple(start))

                box.on_value_change(begun)
                self.start_boxes.append(box)

    def _plane(self) -> None:
        with layout.card() as box:
            box.classes("lab-plane-card")
            with frame.toolbar("Editing tools"):
                self.tools = frame.editing_tools(self)
                clear = frame.button(
                    "Clear", "delete_sweep", partial(self.set, data="own", points=(), clock=0)
                )
                clear.props("aria-label=Clear")
            self.plane = Plane(
                empty_scene(),
                label="The plane with the examples and the boundary. Arrow keys move a cursor, Enter uses the tool.",
                tool=self.state.tool,
                on_edit=self._edited,
            )
            with frame.toolbar("Steps", "lab-steps"):
                self.back_button = frame.button("Back", "skip_previous", lambda: self._act("back"), "b")
                self.step_button = frame.main_button("Step", "play_arrow", lambda: self._act("step"))
                self.update_button = frame.button("Update", "skip_next", lambda: self._act("update"), "u")
                self.epoch_button = frame.button("Epoch", "fast_forward", lambda: self._act("epoch"), "e")
                self.run_button = frame.button("Run", "directions_run", self._run, "r")
                self.reset_button = frame.button("Restart", "replay", lambda: self._act("reset"))
                self.ask_button = frame.button("Is it separable?", "help_outline", self._ask)
            with ui.element("div").classes("lab-speed"):
                frame.slider(self, "speed", "Speed of Run", 1, SPEED_TITLES)
            self.status = html().classes("lab-status q-mt-sm").props("role=status")
            self.answer = html().classes("q-mt-xs").props("data-part=answer")
            self.key = html().classes("lab-key").props("data-part=legend")

    def _beside(self) -> None:
        self.beside_card = ui.element("section").classes("lab-card")
        with self.beside_card:
            layout.heading("Side by side")
            self.small = ui.element("div").classes("lab-small-planes q-mb-md")
            self.losses = html()
            ui.label("Losses are means over the examples, at ‖w‖ = 1.").classes("lab-faint q-mt-sm")
        self.small_planes: dict[str, Plane] = {}

    def _numbers(self) -> None:
        with layout.card("The run"):
            self.charts = html().classes("lab-chart")
            self.weights = html().classes("lab-faint").props("data-part=weights")
        with layout.card("Ledger"):
            self.ledger = html().classes("lab-scroll")
            self.csv_button = frame.button("Ledger as CSV", "download", self._save_ledger)
            self.csv_button.classes("q-mt-sm")

    # Actions

    def _act(self, what: str) -> None:
        self.first = False
        self._stop()
        self.apply(getattr(self.session, what))

    def _run(self) -> None:
        self.first = False
        if self.timer.active:
            self._stop()
        elif not self.finished:
            self.tick = 0
            self.timer.interval = max(TICK, 1.0 / SPEEDS[self.state.speed])
            self.timer.activate()
        self._show_run()

    def _stop(self) -> None:
        if self.timer.active:
            self.timer.deactivate()

    def _tick(self) -> None:
        """Go on by as many examples as the speed asks for; all of a run is one entry of the history."""
        if self.working:
            return  # the last examples are still being looked at
        if not self.allowed or self.finished:
            self._stop()
            self._show_run()
            return
        self.tick += 1
        speed = SPEEDS[self.state.speed]
        # one run leaves most of the time to others, however slow this computer is
        self.timer.interval = max(TICK, 1.0 / speed, 3 * self.took)
        count = max(1, round(speed * self.timer.interval))
        self.apply(partial(self.session.advance, count), merge=self.tick > 1)

    def _choose_beside(self, event: Any) -> None:
        self.chosen("beside", tuple(event.value))

    def _save_ledger(self) -> None:
        self.ask(self.session.ledger_csv, lambda table: ui.download.content(table, "ledger.csv", "text/csv"))

    def _show_proof(self) -> None:
        """Show the page again once the proof that it was shown without is there."""
        if not self.session.insight.pending and not self.working:
            self.awaiting.deactivate()
            self.apply(lambda: None)

    def _ask(self) -> None:
        self.apply(lambda: self.session.set(proof=not self.session.state.proof))

    def _others(self) -> None:
        self.apply(lambda: self.session.set(seed=(self.session.state.seed + 1) % 10_000, clock=0))

    def _edited(self, event: dict[str, Any]) -> None:
        edit = Edit.of(event)
        if edit is not None:
            self.apply(
                partial(self.session.edit, edit.what, **edit.details), names=edit.names, whole=edit.done
            )

    def _key(self, name: str) -> None:
        if name in KEYS:
            self._act(KEYS[name])
        elif name == "r":
            self._run()

    # Showing

    def show(self, view: PlaygroundView) -> None:
        """Bring the page to the state."""
        self.plane.show(view.scene, self.state.tool)
        self.status.content = Markup(view.status)
        if not view.whole:
            return
        self.finished = view.finished
        if self.finished:
            self._stop()
        self.answer.content = Markup(view.answer)
        self.charts.content = Markup(view.charts)
        self.weights.content = Markup(view.weights)
        self.ledger.content = Markup(view.ledger)
        self.key.content = Markup(legend_of(view.scene))
        self.csv_button.set_enabled(view.has_ledger)
        self._show_beside(view)
        self._show_controls(view)
        if self.session.insight.pending:
            self.awaiting.activate()
        self.record()

    def _show_beside(self, view: PlaygroundView) -> None:
        self.beside_card.set_visibility(bool(view.beside))
        if list(self.small_planes) != [name for name, _ in view.beside]:
            self.small.clear()
            self.small_planes = {}
            with self.small:
                for name, scene in view.beside:
                    with ui.element("div"):
                        html(Markup(NAMES[name]), tag="h3")
                        self.small_planes[name] = Plane(scene, label=NAMES[name], small=True)
        for name, scene in view.beside:
            if self.small_planes[name].scene is not scene:  # most of them do not change with a step
                self.small_planes[name].show(scene)
        self.losses.content = Markup(view.losses)

    def _show_controls(self, view: PlaygroundView) -> None:
        state = self.state
        generated_only = state.data not in ("own", "none")
        self.generated_only.set_visibility(generated_only)
        frame.show_slider(self.margin, state.data == "separable")
        frame.show_slider(self.noise, generated_only and state.data != "separable")
        one_by_one = state.learner == "perceptron"  # others look at all examples in every iteration
        for each in (self.stepped, self.online):
            each.set_visibility(one_by_one)
        self.update_button.set_visibility(one_by_one)
        self.epoch_button.set_text("Epoch" if one_by_one else "Ten steps")
        own_eta = one_by_one and "eta" in rules.BY_NAME[state.rule]._fields
        frame.show_slider(self.eta, own_eta or state.learner == "batch")
        frame.show_slider(self.gamma, state.space == "kernel-rbf")
        self.start.set_visibility(state.takes_start)
        for name, tool in self.tools.items():
            frame.pressed(tool, name == state.tool)
        for each in (self.back_button, self.reset_button):
            each.set_enabled(view.has_steps_behind)
        for each in (self.step_button, self.update_button, self.epoch_button, self.run_button):
            each.set_enabled(not view.finished)
        frame.pressed(self.ask_button, state.proof)
        self._show_run()

    def _bring_controls(self) -> None:
        super()._bring_controls()
        self._showing = True
        for box, value in zip(self.start_boxes, self.state.start, strict=True):
            if box.value != value:
                box.value = value
        self._showing = False

    def _show_run(self) -> None:
        frame.marked(self.step_button, self.first, "glow")
        self.run_button.set_text("Pause" if self.timer.active else "Run")
