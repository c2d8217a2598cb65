"""The model page: the words with the largest weights, the history of mistakes with its bound, the model as a file."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from nicegui import ui
from numpy.typing import NDArray

from rosenblatt.learner.estimate import percent
from rosenblatt.mail.bound import Bounded, bound_for
from rosenblatt.mail.features import in_words
from rosenblatt.mail.filter import MailFilter
from rosenblatt.mail.marks import IMPORTANT, MODEL, NOT, UNDECIDED, WORD_FOR
from rosenblatt.mail.pages.frame import Frame
from rosenblatt.mail.pages.wording import number
from rosenblatt.plots.style import BLUE, GREEN, VERMILLION
from rosenblatt.service.learner import ServedLearner
from rosenblatt.service.model import Model
from rosenblatt.service.schemas import LedgerLine
from rosenblatt.service.store import Store
from rosenblatt.web.chart import Curve, chart
from rosenblatt.web.layout import Markup, card, html

TOP = 15
SMALLEST = 0.005  # weight of a word that is listed: less is shown as 0.00
POINTS = 300  # of a curve
LAST = 200  # messages over which the recent share is taken
LINES = 100  # of the ledger
LOOKED_AT = 60  # features of each class from which the words are put together


class ModelPage:
    """One visitor's look at the model."""

    def __init__(self, mail_filter: MailFilter, query: Mapping[str, str]) -> None:
        self.mail_filter = mail_filter
        self.frame = Frame(mail_filter, "/model", query)

    async def show(self) -> None:
        """Draw the page."""
        self.frame.head("Model", "inbox", "/", "inbox")
        model = self.mail_filter.model
        with ui.element("main").classes("mail-main"):
            if model is None or not model.learner.rows:
                with ui.element("div").classes("mail-empty"):
                    html(
                        Markup(
                            "<h2>Nothing learned yet</h2>"
                            "<p>Import an mbox into the inbox, and say what is important.</p>"
                        )
                    )
                await self.frame.show_stats()
                return
            service = self.mail_filter.service
            await service.write_ledger()
            past = await asyncio.to_thread(history, service.models.store, model)
            await self.frame.show_stats()
            accuracy = await self.mail_filter.accuracy()
            self._facts(model, accuracy)
            with ui.element("div").classes("mail-cards"):
                words = await asyncio.to_thread(top_words, model, await service.read(model.learner.frozen))
                for label in (IMPORTANT, NOT):
                    with card(f"Speaks for {WORD_FOR[label]}"):
                        html(_words(words[label], label))
            with ui.element("div").classes("mail-cards"):
                with card("Mistakes against the clock"):
                    drawn = html(Markup(_mistakes(past, None))).classes("mail-chart").mark("mistakes")
                    note = html("computing the bound …").classes("mail-note").mark("bound")
                with card("Progressive accuracy"):
                    if accuracy is None:
                        html("Some messages have no date, so the order in which they came is unknown: how often a "
                             "message was marked right before it was learned from would say nothing.")  # fmt: skip
                    else:
                        html(Markup(_accuracy(past))).classes("mail-chart")
                        html(
                            "Every message is marked before the filter learns its true label, so this is how "
                            "often it was right on mail that it had not seen."
                        ).classes("mail-note")
            with card("Ledger, newest first"):
                seqs = [line.seq for line in past.lines]
                subjects = await asyncio.to_thread(self.mail_filter.box.subjects, model.number, seqs)
                html(_ledger(past.lines, subjects)).classes("mail-ledger")

        async def add_bound() -> None:
            bound = await asyncio.to_thread(bound_for, service.models.store, model)
            drawn.set_content(Markup(_mistakes(past, bound)))
            note.set_content(_about(bound, model.learner.rows))

        ui.timer(0.05, add_bound, once=True)

    def _facts(self, model: Model, accuracy: float | None) -> None:
        info = self.mail_filter.service.models.info(MODEL)
        facts = {
            "messages learned from": f"{info.clock:,}",
            "marked wrong before": f"{info.mistakes:,}",
            "marked right before": "unknown order" if accuracy is None else percent(accuracy),
            "updates of the weights": f"{info.updates:,}",
            "words and signs known": f"{info.features:,}",
        }
        with ui.element("div").classes("mail-facts"):
            for name, value in facts.items():
                html(Markup("<b>{}</b><span>{}</span>").format(value, name)).classes("mail-fact")
        with ui.element("div").classes("mail-tools"):
            link = (
                ui.link("", f"/v1/models/{MODEL}/snapshot")
                .props(f"download={MODEL}.safetensors")
                .mark("download")
            )
            link.classes("mail-download")
            with link:
                ui.icon("download")
                ui.label(f"Download {MODEL}.safetensors")
            learns_by = f"rule {model.settings.rule}, hypothesis {model.settings.hypothesis}"
            ui.label(f"{learns_by}; every rosenblatt command reads this file.").classes("lab-faint")


class History(NamedTuple):
    """The curves of a model: one value for each place on the clock."""

    clock: NDArray[np.float64]
    mistakes: NDArray[np.float64]
    right: NDArray[np.float64]  # share of all marks so far
    recent: NDArray[np.float64]  # share of the last ones
    lines: list[LedgerLine]  # the newest of the ledger, newest first


def history(store: Store, model: Model) -> History:
    """Read the history of a model from its ledger."""
    reader = store.reader()
    try:
        rows = reader.execute(
            "SELECT clock + 1, mistakes FROM ledger WHERE model = ? ORDER BY seq", (model.number,)
        ).fetchall()
        newest = reader.execute(
            "SELECT seq FROM ledger WHERE model = ? ORDER BY seq DESC LIMIT 1 OFFSET ?", (model.number, LINES)
        ).fetchone()
    finally:
        reader.close()
    counts = np.array(rows, dtype=np.float64).reshape(-1, 2)
    wrong = counts[np.diff(counts[:, 1], prepend=0.0) > 0, 0]
    lines = store.ledger(model.number, newest[0] if newest else 0, LINES)
    return History(*curves(wrong, model.learner.rows), lines[::-1])


def curves(wrong: NDArray[np.float64], rows: int) -> tuple[Any, Any, Any, Any]:
    """Return clock, mistakes, and the two shares of right marks, from the clocks of the mistakes.

    >>> clock, mistakes, right, _ = curves(np.array([1.0, 3.0]), 4)
    >>> mistakes, right
    (array([1., 1., 2., 2.]), array([0. , 0.5 , 0.33..., 0.5 ]))
    """
    clock = np.unique(np.linspace(1, rows, min(rows, POINTS)).round()) if rows else np.zeros(0)
    mistakes = np.searchsorted(wrong, clock, side="right").astype(np.float64)
    start = np.maximum(clock - LAST, 0.0)
    recent = mistakes - np.searchsorted(wrong, start, side="right")
    with np.errstate(divide="ignore"):
        return clock, mistakes, 1.0 - mistakes / clock, 1.0 - recent / (clock - start)


def top_words(model: Model, frozen: ServedLearner) -> dict[str, list[tuple[str, float]]]:
    """Return the words with the largest weights for each class, summed over subject and text."""
    portraits = {each.label: each for each in model.portraits(LOOKED_AT, frozen).classes}
    words_of = {}
    for label in (IMPORTANT, NOT):
        features = portraits[label].features if label in portraits else []
        words = in_words((each.feature, each.contribution) for each in features)
        strong = sorted(words.items(), key=lambda each: -each[1])
        words_of[label] = [(word, push) for word, push in strong if push >= SMALLEST][:TOP]
    return words_of


def _words(words: Sequence[tuple[str, float]], label: str) -> Markup:
    most = max((push for _, push in words), default=1.0)
    row = Markup('<tr><td>{}</td><td class="b"><i style="width:{:.0f}%"></i></td><td class="n">{}</td></tr>')
    rows = [
        row.format(word, 100 * push / most, number(push if label == IMPORTANT else -push))
        for word, push in words
    ]
    table = Markup('<table class="mail-words {}">{}</table>')
    return table.format(label, Markup("").join(rows)) if words else Markup("<p>No word yet.</p>")


def _mistakes(past: History, bound: Bounded | str | None) -> str:
    lines = [Curve(past.clock, past.mistakes, VERMILLION, "mistakes", stairs=True)]
    if isinstance(bound, Bounded) and len(past.clock):
        ends = past.clock[[0, -1]]
        formula = "(R/γ)²" if bound.separable else "PA-I"
        label = f"bound {formula} = {bound.bound:,.0f}"
        lines.append(Curve(ends, [bound.bound, bound.bound], "var(--ink)", label, dotted=True))
    return chart("mistakes against the clock", "messages seen", lines, "no message yet")


def _accuracy(past: History) -> str:
    if not past.right.size:
        return chart("progressive accuracy", "messages seen", [], "no message yet")
    lines = [
        Curve(past.clock, 100.0 * past.right, BLUE, f"all: {percent(float(past.right[-1]), short=True)}"),
        Curve(
            past.clock,
            100.0 * past.recent,
            GREEN,
            f"last {LAST}: {percent(float(past.recent[-1]), short=True)}",
        ),
    ]
    return chart("progressive accuracy", "messages seen", lines, "no message yet")


def _about(bound: Bounded | str, seen: int) -> str:
    if isinstance(bound, str):
        return bound[0].upper() + bound[1:] + "."
    loose = f" More than the {seen:,} seen: it says little here." if bound.bound >= seen else ""
    if bound.separable:
        return (
            f"These messages can be separated with margin γ = {bound.margin:.3f} within radius R = {bound.radius:.2f}: "
            "whatever their order, the passive-aggressive rule makes at most "
            f"(R/γ)² = {bound.bound:,.0f} mistakes.{loose}"
        )
    return (
        "No hyperplane that was found separates these messages: the bound max(R², 1/C)(‖u‖² + 2C Σ loss) "
        f"allows {bound.bound:,.0f} mistakes on them (Crammer et al. 2006, Theorem 4).{loose}"
    )


def _ledger(lines: Sequence[LedgerLine], subjects: Mapping[int, str]) -> Markup:
    row = Markup(  # a phone shows a row as lines, with the names that it has no columns for
        "<tr><td>{:,}</td><td class='word'>{}</td><td class='word' data-name='truth'>{}</td>"
        "<td class='word' data-name='mark before'>{}</td><td data-name='score'>{:.2f}</td>"
        "<td class='word' data-name='weights'>{}</td><td data-name='mistakes'>{:,}</td></tr>"
    )
    rows = [
        row.format(
            line.clock + 1,
            subjects.get(line.seq, "")[:120] or "–",
            WORD_FOR.get(str(line.label), str(line.label)),
            _predicted(line),
            abs(line.score),
            "moved" if line.moved else "stayed",
            line.mistakes,
        )
        for line in lines
    ]
    names = ("clock", "message", "truth", "mark before", "score", "weights", "mistakes")
    texts = ("message", "truth", "mark before", "weights")
    heads = [
        Markup("<th{}>{}</th>").format(Markup(" class=word") if name in texts else "", name) for name in names
    ]
    table = Markup('<table class="lab-table"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>')
    return table.format(Markup("").join(heads), Markup("").join(rows))


def _predicted(line: LedgerLine) -> str:
    if line.score == 0.0 or line.predicted is None:
        return f"{WORD_FOR[UNDECIDED]} ✗"
    word = WORD_FOR.get(str(line.predicted), str(line.predicted))
    return (
        word if line.predicted == line.label else Markup("<span class='lab-wrong'>{} ✗</span>").format(word)
    )
