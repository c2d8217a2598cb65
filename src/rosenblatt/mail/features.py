"""Features of a message, and reasons in plain words.

A message is a bag of features, all of one value, which makes its norm :data:`NORM`: every word of the subject (once as
a word, once more as a word *of the subject*) and of the text, lower-cased, :data:`MOST_WORDS` at most; the sender and
its domain; and a few kinds that a person sees at once (came through a mailing list, is a reply, has links, prices,
many recipients …). Numbers, addresses, links, the header lines of quoted and forwarded messages, and words that
everybody uses all the time (``everyday.txt``) are left out: they identify old messages, say nothing about new
ones, and nobody would accept them as a reason.
"""

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from rosenblatt.data.words import Words
from rosenblatt.mail.message import Mail

MOST_WORDS = 1000
NORM = 10.0  # of a message: a long one teaches as much as a short one, and the bias, which is 1, little
SHORTEST, LONGEST = 2, 24  # letters of a word
SMALLEST = 0.1  # share of the weightiest reason below which none is shown
MOST_AGAINST = 2  # reasons against the mark beside those that support it
MANY = 5  # recipients
FEW_WORDS = 8
BIAS = "(bias)"
SUBJECT, FROM, DOMAIN, KIND = "subject:", "from:", "domain:", "kind:"
KINDS = {
    "list": "mailing list",
    "reply": "a reply",
    "forward": "forwarded",
    "many": "many recipients",
    "attachment": "attachment",
    "link": "links",
    "exclaims": "exclamation marks",
    "prices": "prices",
    "numbers": "mostly numbers",
    "short": "very short",
}
# Every pattern takes linear time on any text; quote marks and spaces before a header may span lines, and are bounded.
QUOTED_HEADERS = re.compile(
    r"^[>\s]{0,60}+(?:from|to|cc|bcc|sent|date|subject|reply-to|importance)\s*+:.*$"
    r"|^.*\b(?:forwarded by|original message)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
LINK = re.compile(r"\bhttps?\s?:\S*|\bwww\s?\.\s?\S+", re.IGNORECASE)
ADDRESS = re.compile(r"(?<!\S)\S+@\S+")  # what stands between two spaces, so it is tried once
PRICE = re.compile(r"[$€£¥]\s?\d|\d\s?(?:%|eur\b|usd\b|gbp\b)", re.IGNORECASE)
REPLY, FORWARD = (
    re.compile(r"(?:re|aw|sv)\s*:", re.IGNORECASE),
    re.compile(r"(?:fwd?|wg|tr)\s*:", re.IGNORECASE),
)
NO_WORD = re.compile(r"[\d_]")

WORDS = Words()
EVERYDAY = frozenset(
    word
    for line in (Path(__file__).parent / "everyday.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
    for word in line.split()
)


class WordReason(NamedTuple):
    """A reason in plain words: the word, and how much it speaks for *important* (below zero: against)."""

    word: str
    push: float


def features(mail: Mail) -> dict[str, float]:
    """Return the features of a message, in order of appearance.

    >>> from rosenblatt.mail.message import read_mail
    >>> found = features(read_mail(b"From: ann@example.org\\nSubject: Budget\\n\\nThe deadline is near: http://a.b/c"))
    >>> list(found)
    ['from:ann@example.org', 'domain:example.org', 'subject:budget', 'budget', 'deadline', 'near', 'kind:link',
     'kind:short']
    >>> math.hypot(*found.values())
    10.0
    """
    names: dict[str, float] = {}
    if mail.sender:
        names[FROM + mail.sender] = 1.0
        if "@" in mail.sender:
            names[DOMAIN + mail.sender.rpartition("@")[2]] = 1.0
    before = len(names)
    for word in words(mail.subject):
        names[SUBJECT + word] = names[word] = 1.0
    for word in words(mail.text):
        if len(names) >= MOST_WORDS:
            break
        names[word] = 1.0
    few = len(names) - before < FEW_WORDS
    for kind in _kinds(mail):
        names[KIND + kind] = 1.0
    if few:
        names[KIND + "short"] = 1.0
    return dict.fromkeys(names, NORM / math.sqrt(len(names))) if names else {}


def words(text: str) -> Iterable[str]:
    """Yield the words of a text that may be reasons."""
    text = ADDRESS.sub(" ", LINK.sub(" ", QUOTED_HEADERS.sub(" ", text)))
    for word in WORDS.cut(text):
        if SHORTEST <= len(word) <= LONGEST and word not in EVERYDAY and not NO_WORD.search(word):
            yield word


def _kinds(mail: Mail) -> Iterable[str]:
    both = f"{mail.subject}\n{mail.text}"
    present = {
        "list": mail.from_list,
        "reply": REPLY.match(mail.subject),
        "forward": FORWARD.match(mail.subject),
        "many": mail.recipients > MANY,
        "attachment": mail.attachments,
        "link": LINK.search(both),
        "exclaims": both.count("!") >= 2,
        "prices": PRICE.search(both),
        "numbers": sum(map(str.isdigit, both)) > 0.1 * len(both),
    }
    return [kind for kind, is_present in present.items() if is_present]


def word_for(feature: str) -> str:
    """Return the word that is shown for a feature; an empty one for a feature that is no reason.

    >>> word_for("subject:budget"), word_for("from:ann@example.org"), word_for("kind:list"), word_for("(bias)")
    ('budget', 'from ann@example.org', 'mailing list', '')
    """
    if feature.startswith(SUBJECT):
        return feature.removeprefix(SUBJECT)
    for prefix in (FROM, DOMAIN):
        if feature.startswith(prefix):
            return f"from {feature.removeprefix(prefix)}"
    if feature.startswith(KIND):
        return KINDS.get(feature.removeprefix(KIND), "")
    return "" if feature == BIAS else feature


def in_words(pushes: Iterable[tuple[str, float]], lone_sender: bool = False) -> dict[str, float]:
    """Return what each word adds to the score, summed over subject and text."""
    total: dict[str, float] = {}
    for feature, push in pushes:
        if lone_sender and feature.startswith((FROM, DOMAIN)):
            continue
        word = word_for(feature)
        if word:
            total[word] = total.get(word, 0.0) + push
    return total


def reasons(
    pushes: Iterable[tuple[str, float]],
    score: float,
    most: int = 5,
    lone_sender: bool = False,
    shares: Mapping[str, float] | None = None,
) -> list[WordReason]:
    """Return the strongest reasons; a word's weights in the subject and in the text are summed.

    Reasons that support the mark of ``score`` come first; at most two others follow. A reason counts less, the more
    messages have it (``shares``, by word). With ``lone_sender`` the sender is left out: a reason that only one message
    has explains nothing.

    >>> pushes = [("subject:budget", 0.25), ("budget", 0.5), ("(bias)", 2.0), ("sale", -0.9), ("kind:link", 0.8)]
    >>> reasons(pushes, score=1.0, shares={"links": 0.75})
    [WordReason(word='budget', push=0.75), WordReason(word='links', push=0.8), WordReason(word='sale', push=-0.9)]
    """
    shares = shares or {}
    total = in_words(pushes, lone_sender)
    least = max(0.005, SMALLEST * max(map(abs, total.values()), default=0.0))
    weighty = [WordReason(word, push) for word, push in total.items() if abs(push) >= least]
    weighty.sort(key=lambda each: -abs(each.push) * (1.0 - shares.get(each.word, 0.0)))
    support = [each for each in weighty if each.push * score > 0]
    against = [each for each in weighty if each.push * score <= 0][: max(MOST_AGAINST, most - len(support))]
    return [*support[: most - min(len(against), MOST_AGAINST)], *against][:most]
