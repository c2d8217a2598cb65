"""A message as the filter reads it: who, when, about what, and its text. HTML is stripped, nothing fetched or run."""

import hashlib
import re
from typing import NamedTuple

from rosenblatt.data.named.mail import LABEL_HEADERS, fields_of
from rosenblatt.data.named.mime import (
    Headers,
    addresses,
    header_text,
    is_message,
    parse_headers,
    parse_message,
    sent,
    text_of,
    without_envelope,
)

LONGEST_SHOWN = 20_000  # characters of a text that are kept to be shown
LONGEST_HEADER = 500
LONGEST_HEAD, LONGEST_ID = 1 << 16, 200  # bytes in which a Message-ID is looked for, and its characters
NOTHING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufffe\uffff\ud800-\udfff]"
)
AROUND, EMPTY_LINES = re.compile(" ?\n ?"), re.compile(r"\n{3,}")
SPACES = re.compile(r"[ \t\u00a0\xad]+")


class Mail(NamedTuple):
    """A message, read."""

    digest: bytes  # of its bytes, the envelope left out: the same message is kept once
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
    """Read a message, skipping an envelope line ``From ...`` before its headers; without headers, all of it is text.

    >>> mail = read_mail(b"From: Ann <Ann@Example.org>\\nSubject: budget\\n\\nDecide by Friday.")
    >>> mail.sender, mail.subject, mail.text
    ('ann@example.org', 'budget', 'Decide by Friday.')
    """
    content = without_envelope(content)
    digest = hashlib.blake2b(content, digest_size=16).digest()
    if not is_message(content):
        text = clean(fields_of(content)["text"])
        return Mail(digest, None, "", "", "", text, 0, False, 0, ())
    message = parse_message(content)
    headers = message.headers
    name, address = _sender(headers)
    recipients = addresses([*headers.get("to", []), *headers.get("cc", [])])
    return Mail(
        digest,
        sent(headers),
        address,
        name,
        one_line(header_text(headers.first("subject"))),
        clean(text_of(message)),
        len([each for _, each in recipients if each]),
        any(headers.first(field) for field in ("list-id", "list-unsubscribe", "list-post")),
        sum(part.is_attachment for part in message.parts),
        _labels(headers),
    )


def message_id(content: bytes) -> str:
    """Return the ``Message-ID`` of a message, or nothing."""
    return one_line(parse_headers(content[:LONGEST_HEAD]).first("message-id"))[:LONGEST_ID]


def clean(text: str) -> str:
    """Return a text without invisible characters, and with at most one empty line in a row."""
    text = NOTHING.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return EMPTY_LINES.sub("\n\n", AROUND.sub("\n", SPACES.sub(" ", text))).strip()


def one_line(text: str) -> str:
    """Return a header as one line of bounded length."""
    return " ".join(NOTHING.sub("", text.replace("\n", " ")).split())[:LONGEST_HEADER]


def _sender(headers: Headers) -> tuple[str, str]:
    for name, address in addresses(headers.get("from", [])):
        if address:
            return one_line(header_text(name)), one_line(address.lower())
    return "", ""


def _labels(headers: Headers) -> tuple[str, ...]:
    labels: list[str] = []
    for field in LABEL_HEADERS:
        for value in headers.get(field.lower(), []):
            labels += [label.strip() for label in header_text(value).split(",")]
    return tuple(label for label in labels if label)
