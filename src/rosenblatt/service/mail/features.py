"""What of a message the model looks at, and how its reasons are said to a person.

Each feature is 0 or 1: every word of the subject (once as a word, once more as a word *of the subject*) and of the
text, lower-cased, :data:`MOST_WORDS` at most; the sender and its domain; and a few kinds that a person sees at a glance
(came through a mailing list, is a reply, has links, prices, many recipients …). Numbers, addresses, links, the header
lines of quoted and forwarded messages, and words that everybody uses all the time (``everyday.txt``) are left out: they
separate messages that were seen, say nothing about the next, and nobody would take them for a reason.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rosenblatt.data.words import Words
from rosenblatt.service.mail.message import Mail

MOST_WORDS = 300
SHORTEST, LONGEST = 2, 24  # letters of a word
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


class Said(NamedTuple):
    """A reason in a person's words: what it is, and how much it speaks for *important* (below zero: against)."""

    word: str
    push: float


def features(mail: Mail) -> dict[str, float]:
    """Return the features of a message, in order of appearance.

    >>> from rosenblatt.service.mail.message import read_mail
    >>> list(features(read_mail(b"From: ann@example.org\\nSubject: Budget\\n\\nThe deadline is near: http://a.b/c")))
    ['from:ann@example.org', 'domain:example.org', 'subject:budget', 'budget', 'deadline', 'near', 'kind:link',
     'kind:short']
    """
    found: dict[str, float] = {}
    if mail.sender:
        found[FROM + mail.sender] = 1.0
        if "@" in mail.sender:
            found[DOMAIN + mail.sender.rpartition("@")[2]] = 1.0
    before = len(found)
    for word in words(mail.subject):
        found[SUBJECT + word] = found[word] = 1.0
    for word in words(mail.text):
        if len(found) >= MOST_WORDS:
            break
        found[word] = 1.0
    few = len(found) - before < FEW_WORDS
    for kind in _kinds(mail):
        found[KIND + kind] = 1.0
    if few:
        found[KIND + "short"] = 1.0
    return found


def words(text: str) -> Iterable[str]:
    """Yield the words of a text that may be reasons."""
    text = ADDRESS.sub(" ", LINK.sub(" ", QUOTED_HEADERS.sub(" ", text)))
    for word in WORDS.cut(text):
        if SHORTEST <= len(word) <= LONGEST and word not in EVERYDAY and not NO_WORD.search(word):
            yield word


def _kinds(mail: Mail) -> Iterable[str]:
    both = f"{mail.subject}\n{mail.text}"
    found = {
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
    return [kind for kind, there in found.items() if there]


def said(feature: str) -> str:
    """Return a feature as a person says it; nothing for what is no reason by itself.

    >>> said("subject:budget"), said("from:ann@example.org"), said("kind:list"), said("(bias)")
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
    """Return what each word adds, in all its places together."""
    total: dict[str, float] = {}
    for feature, push in pushes:
        if lone_sender and feature.startswith((FROM, DOMAIN)):
            continue
        word = said(feature)
        if word:
            total[word] = total.get(word, 0.0) + push
    return total


def reasons(pushes: Iterable[tuple[str, float]], most: int = 5, lone_sender: bool = False) -> list[Said]:
    """Return the weightiest reasons, a word's place in the subject and in the text taken together.

    With ``lone_sender`` the sender is none: a reason that speaks of one message only explains nothing.

    >>> reasons([("subject:budget", 0.25), ("budget", 0.5), ("(bias)", 2.0), ("sale", -0.5)])
    [Said(word='budget', push=0.75), Said(word='sale', push=-0.5)]
    """
    total = in_words(pushes, lone_sender)
    found = [Said(word, push) for word, push in total.items() if abs(push) >= 0.005]
    return sorted(found, key=lambda each: -abs(each.push))[:most]
