"""Messages as HTML: everything that comes from a message is escaped; nothing of it is ever markup."""

import re
from collections.abc import Collection, Iterable
from datetime import datetime

from markupsafe import Markup

from rosenblatt.mail.features import WordReason
from rosenblatt.mail.marks import IMPORTANT, NOT, UNDECIDED, WORD_FOR, Mark, sureness

SHAPES = {
    IMPORTANT: Markup('<circle cx="8" cy="8" r="6.5" fill="#0072B2"/>'),
    NOT: Markup('<rect x="2" y="2" width="12" height="12" fill="#E69F00"/>'),
    UNDECIDED: Markup(
        '<text x="8" y="14" text-anchor="middle" font-size="17" font-weight="700" fill="currentColor">?</text>'
    ),
}
SENTENCE = {IMPORTANT: "important", NOT: "not important"}
BOLD = Markup("<b>{}</b>")
MARK = Markup(
    '<span class="mail-mark {label}"><svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">{shape}</svg>'
    '{word}</span><span class="mail-score">{sure}</span>'
    '<span class="mail-bar {label}" aria-hidden="true"><i style="width:{percent:.0f}%"></i></span>'
)
REASON = Markup('<span class="mail-reason {side}">{word} {push}</span>')
_word = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def number(value: float, digits: int = 2) -> str:
    """Write a weight with its sign.

    >>> number(0.414), number(-0.12), number(-0.0001)
    ('+0.41', '−0.12', '0.00')
    """
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def draw_mark(mark: Mark) -> Markup:
    """Draw a mark: its shape, its word, how sure it is, and a bar of that."""
    share = min(1.0, abs(mark.score)) if mark.probability is None else 2 * mark.probability - 1
    return MARK.format(
        label=mark.label,
        shape=SHAPES[mark.label],
        word=WORD_FOR[mark.label],
        sure=sureness(mark),
        percent=100 * max(share, 0.0),
    )


def because(why: Iterable[WordReason], mark: Mark) -> Markup:
    """Write the reasons, those that support the mark in bold, and what all else adds: they sum to the score.

    Where the reasons together speak against the mark, it says so.
    """
    parts, rest = [], mark.score
    for word, push in why:
        rest -= push
        supports = (push > 0) == (mark.score > 0)
        name = BOLD.format(word) if supports else word
        parts.append(REASON.format(side=_side(push), word=name, push=number(push)))
    if not parts:
        lean = "" if mark.label == UNDECIDED else "; it goes by what most mail has been"
        return Markup("because: no word in it is known yet{}").format(lean)
    if against_mark(mark, rest):
        other = "against" if mark.score > 0 else "for"
        text = f"these speak {other} it; many small reasons outweigh them: {number(rest)}"
    else:
        text = f"all else {number(rest)}"
    parts.append(Markup('<span class="mail-reason">{}</span>').format(text))
    return Markup("because: {}").format(Markup(" ").join(parts))


def against_mark(mark: Mark, rest: float) -> bool:
    """Whether the reasons shown sum against the mark; ``rest`` is what all else adds.

    >>> against_mark(Mark(IMPORTANT, 0.5), 0.7), against_mark(Mark(NOT, -0.5), -0.2)
    (True, False)
    """
    return mark.label != UNDECIDED and (mark.score - rest) * mark.score < 0


def highlighted(text: str, words: dict[str, float]) -> Markup:
    """Return a text with the words that decided marked, each by the side it speaks for.

    >>> str(highlighted("<b>Budget</b> now", {"budget": 0.3}))
    '&lt;b&gt;<mark class="for">Budget</mark>&lt;/b&gt; now'
    """
    parts: list[str] = []
    at = 0
    for match in _word.finditer(text):
        push = words.get(match.group().lower())
        if push:
            parts += [text[at : match.start()], _marked(match.group(), push)]
            at = match.end()
    return Markup("").join([*parts, text[at:]])


def sender(name: str, address: str, words: dict[str, float]) -> str:
    """Write who sent a message, marked where that is a reason."""
    domain = address.rpartition("@")[2]
    push = words.get(f"from {address}", 0.0) or words.get(f"from {domain}", 0.0)
    shown = f"{name} <{address}>" if name and address else name or address
    return _marked(shown, push) if push else shown


def _marked(text: str, push: float) -> Markup:
    return Markup('<mark class="{}">{}</mark>').format(_side(push), text)


def _side(push: float) -> str:
    return "for" if push > 0 else "against"


def when(sent: float) -> str:
    """Write when a message was sent."""
    try:
        day = datetime.fromtimestamp(sent)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{day.day} {day:%b %Y, %H:%M}"


def learned(moved: Collection[tuple[str, float, float]], marks_changed: int, label: str) -> Markup:
    """Say what a correction did: the words whose weights moved, and how many marks changed with them."""
    if not moved:
        return Markup("Noted: <b>{}</b>. It was sure enough already; no weight moved.").format(
            SENTENCE[label]
        )
    parts = [
        REASON.format(
            side=_side(after - before),
            word=BOLD.format(word),
            push=f"{number(before, 3)} → {number(after, 3)}",
        )
        for word, before, after in moved
    ]
    also = "1 mark on screen changed" if marks_changed == 1 else f"{marks_changed} marks on screen changed"
    return Markup("Learned <b>{}</b>: {}{}").format(
        SENTENCE[label], Markup(" ").join(parts), f" · {also}" if marks_changed else ""
    )


def taken_back(label: str) -> Markup:
    """Say what an undo did."""
    return Markup("Undone: <b>{}</b>. The filter is as it was without this answer.").format(SENTENCE[label])


def messages(count: int) -> str:
    """Write a number of messages.

    >>> messages(1), messages(2000)
    ('1 message', '2,000 messages')
    """
    return "1 message" if count == 1 else f"{count:,} messages"
