"""A message as the filter reads it: who, when, about what, and its text. HTML is stripped, nothing fetched or run."""

import email
import email.policy
import hashlib
import re
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from typing import NamedTuple

from rosenblatt.data.mail import LABEL_HEADERS, fields_of, is_message, text_of

LONGEST_SHOWN = 20_000  # characters of a text that are kept to be shown
LONGEST_HEADER = 500
NOTHING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufffe\uffff\ud800-\udfff]"
)
AROUND, EMPTY_LINES = re.compile(" ?\n ?"), re.compile(r"\n{3,}")
SPACES = re.compile(r"[ \t\u00a0\xad]+")


class Mail(NamedTuple):
    """A message, read."""

    digest: bytes  # of its bytes: the same message is kept once
    sent: float | None  # seconds, as it says itself
    sender: str  # address, lower-cased
    name: str  # of the sender, as it says itself
    subject: str
    text: str
    recipients: int
    from_list: bool  # it came through a mailing list
    attachments: int
    labels: tuple[str, ...]  # that its headers give it


def read_mail(content: bytes) -> Mail:
    """Read a message; one without headers is all text.

    >>> mail = read_mail(b"From: Ann <Ann@Example.org>\\nSubject: budget\\n\\nDecide by Friday.")
    >>> mail.sender, mail.subject, mail.text
    ('ann@example.org', 'budget', 'Decide by Friday.')
    """
    digest = hashlib.blake2b(content, digest_size=16).digest()
    if not is_message(content):
        text = clean(fields_of(content)["text"])
        return Mail(digest, None, "", "", "", text, 0, False, 0, ())
    message = email.message_from_bytes(content, policy=email.policy.compat32)
    name, address = _sender(message)
    to = getaddresses([str(value) for field in ("to", "cc") for value in message.get_all(field, [])])
    return Mail(
        digest,
        _sent(message),
        address,
        name,
        one_line(_decoded(str(message.get("subject", "")))),
        clean(text_of(message)),
        len([each for _, each in to if each]),
        any(message.get(field) for field in ("list-id", "list-unsubscribe", "list-post")),
        sum(1 for part in message.walk() if part.get_filename()),
        _labels(message),
    )


def clean(text: str) -> str:
    """Return a text without what cannot be seen, and with at most one empty line between two others."""
    text = NOTHING.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return EMPTY_LINES.sub("\n\n", AROUND.sub("\n", SPACES.sub(" ", text))).strip()


def one_line(text: str) -> str:
    """Return a header as one line of bounded length."""
    return " ".join(NOTHING.sub("", text.replace("\n", " ")).split())[:LONGEST_HEADER]


def _sender(message: Message) -> tuple[str, str]:
    for name, address in getaddresses([str(value) for value in message.get_all("from", [])]):
        if address:
            return one_line(_decoded(name)), one_line(address.lower())
    return "", ""


def _sent(message: Message) -> float | None:
    try:
        return float(parsedate_to_datetime(str(message.get("date"))).timestamp())
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


def _decoded(name: str) -> str:
    from email.errors import HeaderParseError
    from email.header import decode_header, make_header

    try:
        return str(make_header(decode_header(name)))
    except (HeaderParseError, ValueError, LookupError):
        return name


def _labels(message: Message) -> tuple[str, ...]:
    found = []
    for field in LABEL_HEADERS:
        for value in message.get_all(field, []):
            found += [label.strip() for label in _decoded(str(value)).split(",")]
    return tuple(label for label in found if label)
