"""Messages as HTML: everything that comes from a message is escaped; nothing of it is ever markup."""

import re
from collections.abc import Collection, Iterable
from datetime import datetime
from html import escape

from rosenblatt.service.mail.features import Said
from rosenblatt.service.mail.marks import IMPORTANT, NOT, UNDECIDED, WORD_FOR, Mark

SHAPES = {
    IMPORTANT: '<circle cx="8" cy="8" r="6.5" fill="#0072B2"/>',
    NOT: '<rect x="2" y="2" width="12" height="12" fill="#E69F00"/>',
    UNDECIDED: '<text x="8" y="14" text-anchor="middle" font-size="17" font-weight="700" fill="currentColor">?</text>',
}
_word = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


SENTENCE = {IMPORTANT: "important", NOT: "not important"}


def number(value: float, digits: int = 2) -> str:
    """Write a weight with its sign.

    >>> number(0.414), number(-0.12), number(-0.0001)
    ('+0.41', '−0.12', '0.00')
    """
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def mark(found: Mark) -> str:
    """Draw a mark: its shape, its word, how sure it is, and a bar of that."""
    share = min(1.0, abs(found.score))
    return (
        f'<span class="mail-mark {found.label}"><svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">'
        f"{SHAPES[found.label]}</svg>{WORD_FOR[found.label]}</span>"
        f'<span class="mail-score">{abs(found.score):.2f}</span>'
        f'<span class="mail-bar {found.label}" aria-hidden="true"><i style="width:{100 * share:.0f}%"></i></span>'
    )


def because(why: Iterable[Said], found: Mark) -> str:
    """Write the reasons, those that speak for the mark in bold, and what all else adds: they sum to the score."""
    parts, rest = [], found.score
    for word, push in why:
        rest -= push
        for_it = (push > 0) == (found.score > 0)
        name = f"<b>{escape(word)}</b>" if for_it else escape(word)
        parts.append(f'<span class="mail-reason {_side(push)}">{name} {number(push)}</span>')
    if parts:
        parts.append(f'<span class="mail-reason">all else {number(rest)}</span>')
        return f"because: {' '.join(parts)}"
    lean = "" if found.label == UNDECIDED else "; it goes by what most mail has been"
    return f"because: no word in it is known yet{lean}"


def highlighted(text: str, words: dict[str, float]) -> str:
    """Return a text with the words that decided marked, each by the side it speaks for.

    >>> highlighted("<b>Budget</b> now", {"budget": 0.3})
    '&lt;b&gt;<mark class="for">Budget</mark>&lt;/b&gt; now'
    """
    parts, at = [], 0
    for found in _word.finditer(text):
        push = words.get(found.group().lower())
        if push:
            parts.append(escape(text[at : found.start()]))
            parts.append(f'<mark class="{_side(push)}">{escape(found.group())}</mark>')
            at = found.end()
    parts.append(escape(text[at:]))
    return "".join(parts)


def sender(name: str, address: str, words: dict[str, float]) -> str:
    """Write who sent a message, marked where that is a reason."""
    domain = address.rpartition("@")[2]
    push = words.get(f"from {address}", 0.0) or words.get(f"from {domain}", 0.0)
    shown = f"{name} <{address}>" if name and address else name or address
    return f'<mark class="{_side(push)}">{escape(shown)}</mark>' if push else escape(shown)


def _side(push: float) -> str:
    return "for" if push > 0 else "against"


def when(sent: float) -> str:
    """Write when a message was sent."""
    try:
        day = datetime.fromtimestamp(sent)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{day.day} {day:%b %Y, %H:%M}"


def learned(moved: Collection[tuple[str, float, float]], marks_changed: int, label: str) -> str:
    """Say what a correction did: the words whose weights moved, and how many marks changed with them."""
    if not moved:
        return f"Noted: <b>{SENTENCE[label]}</b>. It was sure enough already; no weight moved."
    parts = [
        f'<span class="mail-reason {_side(after - before)}"><b>{escape(word)}</b> '
        f"{number(before, 3)} → {number(after, 3)}</span>"
        for word, before, after in moved
    ]
    also = "1 mark on screen changed" if marks_changed == 1 else f"{marks_changed} marks on screen changed"
    return f"Learned <b>{SENTENCE[label]}</b>: {' '.join(parts)}" + (f" · {also}" if marks_changed else "")
