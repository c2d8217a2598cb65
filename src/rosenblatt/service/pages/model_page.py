"""The model page: what the filter looks for, how it came to that, what is promised of it, and a file to take away."""

import asyncio
from collections.abc import Mapping, Sequence
from html import escape

from nicegui import ui

from rosenblatt.plots.style import BLUE, GREEN, VERMILLION
from rosenblatt.service.mail.bound import Bounded, bound_for
from rosenblatt.service.mail.features import in_words
from rosenblatt.service.mail.marks import IMPORTANT, MODEL, NOT, WORD_FOR
from rosenblatt.service.mail.teaching import Desk
from rosenblatt.service.messages import LedgerLine
from rosenblatt.service.model import Model
from rosenblatt.service.pages.frame import Frame
from rosenblatt.service.pages.history import LAST, History, history
from rosenblatt.service.pages.wording import number
from rosenblatt.web.chart import Curve, chart
from rosenblatt.web.layout import card

TOP = 15
LOOKED_AT = 60  # features of each class from which the words are put together


class ModelPage:
    """One visitor's look at the model."""

    def __init__(self, desk: Desk, query: Mapping[str, str]) -> None:
        self.desk = desk
        self.frame = Frame(desk, "/model", query)

    async def show(self) -> None:
        """Draw the page."""
        self.frame.head("Model<span> — mail filter</span>", "inbox", "/", "inbox")
        model = self.desk.model
        with ui.element("main").classes("mail-main"):
            if model is None or not model.learner.rows:
                with ui.element("div").classes("mail-empty"):
                    ui.html(
                        "<h2>Nothing learned yet</h2><p>Import an mbox into the inbox, and say what is important.</p>",
                        sanitize=False,
                    )
                self.frame.tell_stats()
                return
            service = self.desk.service
            await service.write_ledger()
            past = await asyncio.to_thread(history, service.models.store, model)
            self.frame.tell_stats()
            self._facts(model)
            with ui.element("div").classes("mail-cards"):
                words = top_words(model)
                for label in (IMPORTANT, NOT):
                    with card("Speaks for important" if label == IMPORTANT else "Speaks against it"):
                        ui.html(_words(words[label], label), sanitize=False)
            with ui.element("div").classes("mail-cards"):
                with card("Mistakes against the clock"):
                    drawn = (
                        ui.html(_mistakes(past, None), sanitize=False).classes("mail-chart").mark("mistakes")
                    )
                    note = ui.html("computing the bound …", sanitize=False).classes("mail-note").mark("bound")
                with card("Progressive accuracy"):
                    ui.html(_accuracy(past), sanitize=False).classes("mail-chart")
                    ui.html(
                        "Every message is marked before the filter is told the truth about it, so this is how "
                        "often it was right on mail it had not seen.",
                        sanitize=False,
                    ).classes("mail-note")
            with card("Ledger, newest first"):
                subjects = self.desk.box.subjects(model.number, [line.seq for line in past.lines])
                ui.html(_ledger(past.lines, subjects), sanitize=False).classes("mail-ledger")

        async def add_bound() -> None:
            found = await asyncio.to_thread(bound_for, service.models.store, model)
            drawn.set_content(_mistakes(past, found))
            note.set_content(_about(found, model.learner.rows))

        ui.timer(0.05, add_bound, once=True)

    def _facts(self, model: Model) -> None:
        info = self.desk.service.models.info(MODEL)
        facts = {
            "messages learned from": f"{info.clock:,}",
            "marked wrong before": f"{info.mistakes:,}",
            "right": f"{100 * (info.accuracy or 0.0):.1f}%",
            "updates of the weights": f"{info.updates:,}",
            "words and signs known": f"{info.features:,}",
        }
        with ui.element("div").classes("mail-facts"):
            for name, value in facts.items():
                ui.html(f"<b>{value}</b><span>{name}</span>", sanitize=False).classes("mail-fact")
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
            told = f"rule {model.settings.rule}, hypothesis {model.settings.hypothesis}"
            ui.label(f"{told}; every rosenblatt command reads this file.").classes("lab-faint")


def top_words(model: Model) -> dict[str, list[tuple[str, float]]]:
    """Return the words that speak most for each class, their places in a message taken together."""
    portraits = {each.label: each for each in model.portraits(LOOKED_AT).classes}
    found = {}
    for label in (IMPORTANT, NOT):
        features = portraits[label].features if label in portraits else []
        words = in_words((each.feature, each.contribution) for each in features)
        strong = sorted(words.items(), key=lambda each: -each[1])
        found[label] = [(word, push) for word, push in strong if push > 0][:TOP]
    return found


def _words(words: Sequence[tuple[str, float]], label: str) -> str:
    most = max((push for _, push in words), default=1.0)
    rows = "".join(
        f'<tr><td>{escape(word)}</td><td class="b"><i style="width:{100 * push / most:.0f}%"></i></td>'
        f'<td class="n">{number(push if label == IMPORTANT else -push)}</td></tr>'
        for word, push in words
    )
    return f'<table class="mail-words {label}">{rows}</table>' if words else "<p>No word yet.</p>"


def _mistakes(past: History, found: Bounded | str | None) -> str:
    lines = [Curve(past.clock, past.mistakes, VERMILLION, "mistakes", stairs=True)]
    if isinstance(found, Bounded) and len(past.clock):
        ends = past.clock[[0, -1]]
        formula = "(R/γ)²" if found.separable else "PA-I"
        label = f"bound {formula} = {found.bound:,.0f}"
        lines.append(Curve(ends, [found.bound, found.bound], "var(--ink)", label, dotted=True))
    return chart("mistakes against the clock", "messages seen", lines, "no message yet")


def _accuracy(past: History) -> str:
    percent, end = 100.0, past.right.size - 1
    if end < 0:
        return chart("progressive accuracy", "messages seen", [], "no message yet")
    lines = [
        Curve(past.clock, percent * past.right, BLUE, f"{percent * past.right[end]:.1f}% right so far"),
        Curve(
            past.clock, percent * past.recent, GREEN, f"{percent * past.recent[end]:.1f}% of the last {LAST}"
        ),
    ]
    return chart("progressive accuracy", "messages seen", lines, "no message yet")


def _about(found: Bounded | str, seen: int) -> str:
    if isinstance(found, str):
        return escape(found[0].upper() + found[1:]) + "."
    loose = f" More than the {seen:,} seen: it says little here." if found.bound >= seen else ""
    if found.separable:
        return (
            f"These messages can be separated with margin γ = {found.margin:.3f} within radius R = {found.radius:.2f}: "
            "whatever their order, the passive-aggressive rule makes at most "
            f"(R/γ)² = {found.bound:,.0f} mistakes.{loose}"
        )
    return (
        "No hyperplane that was found separates these messages: the bound max(R², 1/C)(‖u‖² + 2C Σ loss) "
        f"allows {found.bound:,.0f} mistakes on them (Crammer et al. 2006, Theorem 4).{loose}"
    )


def _ledger(lines: Sequence[LedgerLine], subjects: Mapping[int, str]) -> str:
    rows = "".join(
        f"<tr><td>{line.clock + 1:,}</td><td class='word'>{escape(subjects.get(line.seq, '')[:120]) or '–'}</td>"
        f"<td class='word'>{WORD_FOR.get(str(line.label), escape(str(line.label)))}</td>"
        f"<td class='word'>{_predicted(line)}</td><td>{abs(line.score):.2f}</td>"
        f"<td class='word'>{'moved' if line.moved else 'stayed'}</td><td>{line.mistakes:,}</td></tr>"
        for line in lines
    )
    heads = "".join(
        f"<th{' class=word' if name in ('message', 'truth', 'said', 'weights') else ''}>{name}</th>"
        for name in ("clock", "message", "truth", "said", "score", "weights", "mistakes")
    )
    return f'<table class="lab-table"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _predicted(line: LedgerLine) -> str:
    if line.score == 0.0 or line.predicted is None:
        return "don't know ✗"
    word = WORD_FOR.get(str(line.predicted), escape(str(line.predicted)))
    return word if line.predicted == line.label else f"<span class='lab-wrong'>{word} ✗</span>"
