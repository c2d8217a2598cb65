"""The run of a playground as charts and tables, in HTML."""

from html import escape

from rosenblatt.lab.fitted import Losses
from rosenblatt.lab.insight import curves, mistakes_over_time
from rosenblatt.lab.playground_session import PlaygroundSession
from rosenblatt.plots.style import BLUE, GREEN, MISTAKE, PINK
from rosenblatt.web.chart import Curve, chart

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
    if run is None:
        model = session.fitted.model if session.fitted is not None else None
        if model is not None and hasattr(model, "criterion_"):
            steps = range(len(model.criterion_))
            return [chart("E(w)", "step", [Curve(steps, model.criterion_, PINK, "E(w) of the descent")])]
        return []
    when, total = mistakes_over_time(run)
    drawn = [Curve(when, total, MISTAKE, f"mistakes: {run.learner.mistakes}", stairs=True)]
    promised = run.state.rule == "rosenblatt" and not any(run.state.first_weights)
    if best is not None and promised:
        drawn.append(
            Curve([0, max(run.clock, 1)], [best.bound] * 2, INK, f"R²/γ² = {best.bound:.4g}", dotted=True)
        )
    found = [chart("Mistakes against the bound", "examples seen", drawn)]
    told = curves(run, session.insight)
    if told is None:
        why = "This rule keeps no ledger:" if run.learner.ledger is None else "After the first update:"
        return [*found, f'<p class="lab-faint q-mt-sm">{why} v·u, ‖v‖² and E(w).</p>']
    k = told.updates
    if told.dot is None:
        found.append('<p class="lab-faint q-mt-sm">v·u: there is no separator u to measure against.</p>')
    else:
        lemma = [Curve(k, told.dot, BLUE, "v·u")]
        if told.floor is not None:
            lemma.append(Curve(k, told.floor, INK, "never below kγ", dotted=True))
        found.append(chart("v·u against its lemma", "update k", lemma))
    norm = [Curve(k, told.sqnorm, GREEN, "‖v‖²")]
    if told.ceiling is not None:
        norm.append(Curve(k, told.ceiling, INK, "never above kR²", dotted=True))
    found.append(chart("‖v‖² against its lemma", "update k", norm))
    found.append(
        chart("E(w)", "update k", [Curve(k, told.criterion, PINK, "E(w), the perceptron criterion")])
    )
    return found


def ledger_table(session: PlaygroundSession) -> str:
    """Return the last lines of the ledger, the newest first."""
    run = session.training
    if run is None or run.learner.ledger is None:
        return '<p class="lab-faint">No ledger: this learner records no updates.</p>'
    rows, until = [], run.clock
    for line in reversed(run.lines(LINES)):
        lived, until = until - line.clock - 1, line.clock + 1
        mark = '<span class="lab-wrong">✗</span>' if line.score <= 0.0 else '<span class="lab-right">✓</span>'
        moved = f"w {'+' if line.tau > 0 else '−'}= {_tau(line.tau)}x<sub>{line.row}</sub>"
        rows.append(
            f"<tr><td>{line.number}</td><td>{line.clock + 1}</td><td>{line.row}</td>"
            f"<td>{'+1' if line.label > 0 else '−1'}</td>"
            f'<td>{_signed(line.score)} {mark}</td><td class="word">{moved}</td><td>{line.sqnorm:.4g}</td>'
            f"<td>{lived}</td></tr>"
        )
    if not rows:
        return '<p class="lab-faint">Empty: every update will be a line here.</p>'
    return (
        '<table class="lab-table" data-part="ledger"><thead><tr><th>#</th><th>clock</th><th>row</th><th>y</th>'
        '<th>y·score</th><th class="word">moved</th><th>‖w‖²</th><th>lived</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def losses_table(rows: list[tuple[str, Losses | None, str]]) -> str:
    """Return learners with their losses, one a line."""
    lines = []
    for name, told, note in rows:
        said = f'<br><span class="lab-faint">{escape(note)}</span>' if note else ""
        cells = (
            "".join(
                f"<td>{value}</td>"
                for value in (
                    told.wrong,
                    f"{told.perceptron:.3f}",
                    f"{told.hinge:.3f}",
                    f"{told.logistic:.3f}",
                    _signed(told.margin),
                )
            )
            if told is not None
            else "<td>–</td>" * 5
        )
        lines.append(f'<tr><td class="word">{escape(NAMES[name])}{said}</td>{cells}</tr>')
    return (
        '<div class="lab-wide"><table class="lab-table" data-part="losses"><thead><tr><th class="word">learner</th>'
        "<th>wrong</th><th>perceptron</th><th>hinge</th><th>logistic</th><th>geometric margin</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def weights_line(session: PlaygroundSession) -> str:
    """Write the weights of what predicts."""
    model = session.training or session.fitted
    weights = model.weights() if model is not None else None
    if model is None or weights is None:
        return ""
    names = ["b", *(f"w<sub>{escape(name)}</sub>" for name in model.space.names())]
    told = ", ".join(f"{name} = {_signed(float(value))}" for name, value in zip(names, weights, strict=True))
    measured = session.losses() if weights[1:].any() else None
    return (
        told
        if measured is None
        else f"{told}<br>geometric margin of this hypothesis: min y f(x)/‖w‖ = {_signed(measured.margin)}"
    )


def _tau(tau: float) -> str:
    return "" if abs(abs(tau) - 1.0) < 1e-9 else f"{abs(tau):.3g}·"


def _signed(value: float) -> str:
    """Write a number with a real minus.

    >>> _signed(-0.5), _signed(0.0), _signed(-0.0)
    ('−0.50', '0.00', '0.00')
    """
    text = f"{value:.2f}" if abs(value) < 1000 else f"{value:.4g}"
    return "0.00" if float(text) == 0.0 else text.replace("-", "−")
