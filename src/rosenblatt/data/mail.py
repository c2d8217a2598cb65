"""Mail and text files: mbox, Maildir, folders of text by class; every message a bag of words.

Nothing in a message is run, rendered or fetched; HTML is stripped to its text.
"""

import email
import email.policy
import html
import re
from collections.abc import Iterator, Sequence
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.data.bad_input import BadInput, BadLine, shown
from rosenblatt.data.batch import Batch
from rosenblatt.data.examples import Examples
from rosenblatt.data.labels import wrong_with_text
from rosenblatt.data.named import Record, Vocabulary, batch_of, in_batches
from rosenblatt.data.named_schema import NamedSchema
from rosenblatt.data.packed import pieces
from rosenblatt.data.words import Words

ROWS_AT_ONCE = 256
LONGEST_TEXT = 1 << 20  # characters of a message that are read
LABEL_HEADERS = ("X-Label", "X-Gmail-Labels", "X-Keywords", "X-Spam-Flag")
TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.IGNORECASE | re.DOTALL)
MAILDIR_PARTS = ("cur", "new")


class Letter(NamedTuple):
    """A message or a text: where it stands, and whose class it is in unless a header says."""

    path: str
    line: int  # of its file where it begins, from 1
    box: str
    content: bytes


def letters(path: str) -> Iterator[Letter]:
    """Yield the messages of an mbox or Maildir, or the files of a folder by class, in a settled order."""
    place = Path(path)
    if place.is_dir():
        yield from _maildir(place) if is_maildir(place) else _by_class(place)
    else:
        yield from _mbox(path)


def is_maildir(folder: Path) -> bool:
    """Whether a folder is a Maildir, or holds some.

    >>> is_maildir(Path("/nowhere"))
    False
    """
    return _is_box(folder) or any(_is_box(inner) for inner in _folders_in(folder))


def _is_box(folder: Path) -> bool:
    """Whether a folder has the parts of a Maildir; of two classes one may also be called ``new``."""
    there = [part for part in MAILDIR_PARTS if (folder / part).is_dir()]
    others = {inner.name for inner in _folders_in(folder)} - {*MAILDIR_PARTS, "tmp"}
    return len(there) == len(MAILDIR_PARTS) or (bool(there) and all(name.startswith(".") for name in others))


def _folders_in(folder: Path) -> list[Path]:
    return [inner for inner in sorted(folder.iterdir()) if inner.is_dir()] if folder.is_dir() else []


def _maildir(folder: Path) -> Iterator[Letter]:
    for box in [folder, *_folders_in(folder)]:
        name = "INBOX" if box == folder else box.name.lstrip(".")
        files = [file for part in MAILDIR_PARTS if (box / part).is_dir() for file in (box / part).iterdir()]
        for file in sorted(files, key=lambda file: file.name):
            if file.is_file() and not file.name.startswith("."):
                yield Letter(str(file), 1, name, file.read_bytes())


def _by_class(folder: Path) -> Iterator[Letter]:
    """Take the classes in turn, in proportion to their sizes, so that none comes all at once; hidden files are none."""
    classes = [inner for inner in _folders_in(folder) if not inner.name.startswith(".")]
    if not classes:
        raise BadInput(
            str(folder), None, "no folders in it: expected one for every class, with its files inside"
        )
    ranked = []
    for inner in classes:
        files = sorted(
            file
            for file in inner.rglob("*")
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(inner).parts)
        )
        ranked += [((at + 0.5) / len(files), inner.name, file) for at, file in enumerate(files)]
    for _, name, file in sorted(ranked):
        yield Letter(str(file), 1, name, file.read_bytes())


def _mbox(path: str) -> Iterator[Letter]:
    name = Path(path).name.split(".")[0]
    held: list[bytes] = []
    begins = 0  # the line of the message under way
    after_blank = True
    for number, line in enumerate(_lines(path), 1):
        if line.startswith(b"From ") and after_blank:
            if begins:
                yield Letter(path, begins, name, b"".join(held))
            begins = number
            held = []
        elif begins:
            held.append(line[1:] if re.match(rb">+From ", line) else line)
        elif line.strip():
            raise BadInput(path, number, "not an mbox: it must begin with a line 'From ...'", 1)
        after_blank = not line.strip()
    if begins:
        yield Letter(path, begins, name, b"".join(held))


def _lines(path: str) -> Iterator[bytes]:
    rest = b""
    for piece in pieces(path, 1 << 20):
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def is_message(content: bytes) -> bool:
    """Whether a text begins like a message, with headers.

    >>> is_message(b"Subject: hi\\n\\nhello"), is_message(b"once upon a time")
    (True, False)
    """
    return re.match(rb"[A-Za-z][A-Za-z0-9-]*:[ \t]", content) is not None


def words_of(content: bytes, words: Words) -> dict[str, float]:
    """Return the words of a message: ``subject:free``, ``from:example.org``, and those of its text."""
    fields = fields_of(content)
    features: dict[str, float] = {}
    for place, text in fields.items():
        for word in words.cut(text):
            name = word if place == "text" else f"{place}:{word}"
            features[name] = 1.0 if words.binary else features.get(name, 0.0) + 1.0
    return features


def fields_of(content: bytes) -> dict[str, str]:
    """Return the parts of a message that are read: subject, from, text."""
    if not is_message(content):
        return {"text": content.decode("utf-8", "replace")[:LONGEST_TEXT]}
    message = email.message_from_bytes(content, policy=email.policy.compat32)
    senders = getaddresses([str(value) for value in message.get_all("from", [])])
    addresses = " ".join(address.replace("@", " ") for _, address in senders)
    return {"subject": _header(message, "subject"), "from": addresses, "text": text_of(message)}


def text_of(message: Message) -> str:
    """Return the text of a message; of HTML, what it says."""
    texts = []
    for part in message.walk():
        if part.get_content_maintype() != "text" or part.get_filename():
            continue
        payload = part.get_payload(decode=True)
        if not isinstance(payload, bytes):
            continue
        text = _decoded(payload, str(part.get_content_charset() or "utf-8"))
        if part.get_content_subtype() == "html":
            text = html.unescape(TAG.sub(" ", text))
        texts.append(text[:LONGEST_TEXT])
    return "\n".join(texts)[:LONGEST_TEXT]


def _decoded(payload: bytes, charset: str) -> str:
    try:
        return payload.decode(charset, "replace")
    except LookupError:  # a charset nobody knows
        return payload.decode("utf-8", "replace")


def _header(message: Message, name: str) -> str:
    from email.header import decode_header

    try:
        parts = decode_header(str(message.get(name, "")))
    except (email.errors.HeaderParseError, ValueError):
        return str(message.get(name, ""))
    return " ".join(
        _decoded(text, charset or "utf-8") if isinstance(text, bytes) else text for text, charset in parts
    )


def sent_at(content: bytes) -> float:
    """Return when a message says it was sent, in seconds; infinity where it does not say."""
    message = email.message_from_bytes(content[: 1 << 16], policy=email.policy.compat32)
    try:
        return float(parsedate_to_datetime(str(message.get("date"))).timestamp())
    except (TypeError, ValueError, OverflowError, IndexError):
        return float("inf")


class MailExamples(Examples):
    """Messages as examples: the class is a header where one is named or usual, else the box or folder."""

    def __init__(
        self,
        paths: Sequence[str],
        *,
        path: str,
        format: str,
        target: str | None,
        schema: NamedSchema | None,
        grow: bool,
        words: Words,
        bits: int,
        batch_rows: int | None,
        skip_bad: bool,
    ) -> None:
        super().__init__(path, batch_rows, skip_bad)
        self.format = format
        self._paths = list(paths)
        self._told = schema or NamedSchema((), bits, target, "text", (), words)
        self._target = target or self._told.target
        self._vocabulary = Vocabulary(self._told, grow or schema is None)
        self._order = self._by_time()

    @property
    def schema(self) -> NamedSchema:
        """Words met so far, in order of appearance."""
        told = self._told
        names = () if told.bits else self._vocabulary.names
        return NamedSchema(names, told.bits, self._target, "text", (), told.words)

    def _all(self) -> Iterator[Letter]:
        for path in self._paths:
            yield from letters(path)

    def _by_time(self) -> Any:
        """Return the place of every message in time; texts and undated messages keep their order, last."""
        times = [sent_at(letter.content) for letter in self._all()]
        if not times:
            raise BadInput(self.path, None, "no messages in it")
        if self._target is None and self.format in ("mbox", "maildir"):
            self._target = self._usual_header()
        return np.argsort(np.array(times), kind="stable")

    def _usual_header(self) -> str | None:
        for letter in self._all():
            message = email.message_from_bytes(letter.content, policy=email.policy.compat32)
            for name in LABEL_HEADERS:
                if message.get(name):
                    return name
            return None
        return None

    def _blocks(self) -> Iterator[Batch]:
        for labelled in in_batches(self._labelled(), self.batch_rows or ROWS_AT_ONCE):
            records = [
                Record(letter.line, label, words_of(letter.content, self._told.words))
                for letter, label in labelled
            ]
            batch, unknown = batch_of(records, self._vocabulary, "text")
            if unknown:
                self.unseen_in["words the model does not know"] += unknown
            yield batch._replace(files=_files([letter for letter, _ in labelled]))

    def _labelled(self) -> Iterator[tuple[Letter, str]]:
        """Yield what is read with its label; a header or folder name that can be no label is a bad line."""
        for letter in self._texts():
            label = self._label(letter)
            reason = wrong_with_text(label)
            if reason is None:
                yield letter, label
            else:
                self._pass_over([BadLine(letter.path, letter.line, f"the label {shown(label)} {reason}")])

    def _texts(self) -> Iterator[Letter]:
        """Yield what is read, in order: messages, whatever is in them, and texts that are some."""
        for letter in self._in_time_order():
            nul = letter.content.find(b"\0")
            if nul < 0 or is_message(letter.content):
                yield letter
            else:
                before = letter.content[:nul]
                line, column = before.count(b"\n") + 1, nul - before.rfind(b"\n")
                self._pass_over([BadLine(letter.path, line, "a NUL byte: is this a text file?", column)])

    def _in_time_order(self) -> Iterator[Letter]:
        """Read messages by time: straight through where they lie so, else held until their turn comes."""
        waiting: dict[int, Letter] = {}
        order = iter(self._order.tolist())
        next_place = next(order, None)
        for place, letter in enumerate(self._all()):
            waiting[place] = letter
            while next_place is not None and next_place in waiting:
                yield waiting.pop(next_place)
                next_place = next(order, None)

    def _label(self, letter: Letter) -> str:
        if self._target is None:
            return letter.box
        message = email.message_from_bytes(letter.content[: 1 << 16], policy=email.policy.compat32)
        return str(message.get(self._target) or "").strip() or letter.box


def _files(letters: Sequence[Letter]) -> tuple[tuple[int, str], ...]:
    """Return (first row, path) of every file."""
    paths = [letter.path for letter in letters]
    return tuple((row, path) for row, path in enumerate(paths) if row == 0 or path != paths[row - 1])
