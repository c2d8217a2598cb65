"""Mail and text files (mbox, Maildir, folders of text by class) as bags of words.

Nothing in a message is run, rendered or fetched; HTML is reduced to its text. A message that cannot be read is reported
(:attr:`Letter.problem`) and does not affect the others.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rosenblatt.data.batch import Batch
from rosenblatt.data.errors import BadInput, BadLine, shown
from rosenblatt.data.labels import invalid_text_reason
from rosenblatt.data.named.examples import NamedExamples
from rosenblatt.data.named.mime import (
    LONGEST_TEXT,
    addresses,
    header_words,
    is_message,
    parse_headers,
    parse_message,
    sent,
    text_of,
)
from rosenblatt.data.named.vocabulary import NamedSchema, labels_of
from rosenblatt.data.source import pieces
from rosenblatt.data.words import Words, words_in

if TYPE_CHECKING:
    from rosenblatt.data.open import Opening

ROWS_AT_ONCE, BYTES_AT_ONCE = 1024, 4 << 20
PREFIXES = {
    "subject": "subject:",
    "from": "from:",
    "text": "",
}  # put before the words of each part of a message
LARGEST_MESSAGE = 64 << 20  # bytes
HEAD = 1 << 16  # bytes of a message that are searched for its date and label
PIECE = 1 << 20  # bytes of an mbox read at a time; a longer line is split
MAX_OTHER_FILES = 0.1  # share of other files in a folder of mail
LABEL_HEADERS = ("X-Label", "X-Gmail-Labels", "X-Keywords", "X-Spam-Flag")
MAILDIR_PARTS = ("cur", "new")
ESCAPED_FROM = re.compile(rb"^>(?=>*+From )", re.MULTILINE)
TOO_LARGE = f"larger than {LARGEST_MESSAGE >> 20} MB: take it out"


class Letter(NamedTuple):
    """The content of a message or text file, and its location."""

    path: str
    line: int  # first line in its file, from 1
    box: str  # mailbox or folder, its class unless a header names one
    content: bytes
    problem: str = ""  # why it cannot be read; its content is then empty or truncated


def letters(path: str, format: str = "") -> Iterator[Letter]:
    """Yield the messages of an mbox or Maildir, or the files of a folder by class, in a deterministic order.

    With ``format="folders"`` a folder is never read as a Maildir.
    """
    folder = Path(path)
    if folder.is_dir():
        is_mail = format != "folders" and is_maildir(folder)
        yield from _maildir(folder) if is_mail else _by_class(path)
    else:
        yield from _mbox(path)


def is_maildir(folder: Path) -> bool:
    """Whether a folder is a Maildir, or contains one.

    >>> is_maildir(Path("/nowhere"))
    False
    """
    return _is_box(folder) or any(_is_box(inner) for inner in _folders_in(folder))


def _is_box(folder: Path) -> bool:
    """Whether a folder has the subfolders of a Maildir; a class folder may also be called ``new``."""
    present = [part for part in MAILDIR_PARTS if (folder / part).is_dir()]
    others = {inner.name for inner in _folders_in(folder)} - {*MAILDIR_PARTS, "tmp"}
    return len(present) == len(MAILDIR_PARTS) or (
        bool(present) and all(name.startswith(".") for name in others)
    )


def _folders_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted(folder / entry.name for entry in entries if entry.is_dir())


def _maildir(folder: Path) -> Iterator[Letter]:
    for box in [folder, *_folders_in(folder)]:
        name = "INBOX" if box == folder else box.name.lstrip(".")
        files = [file for part in MAILDIR_PARTS if (box / part).is_dir() for file in (box / part).iterdir()]
        for file in sorted(files, key=lambda file: file.name):
            if not file.name.startswith(".") and not file.is_dir():
                yield read_file(file, name)


def _by_class(folder: str) -> Iterator[Letter]:
    """Yield files except hidden ones, with classes interleaved in proportion to their sizes."""
    classes = class_folders(folder)
    if not classes:
        raise BadInput(folder, None, "no folders in it: expected one for every class, with its files inside")
    ranked = []
    for name in classes:
        files = sorted(_files_below(f"{folder}/{name}"), key=lambda file: file.split("/"))
        ranked += [((k + 0.5) / len(files), name, file) for k, file in enumerate(files)]
    for _, name, file in sorted(ranked):
        yield read_file(f"{folder}/{name}/{file}", name, follow_links=True)


def class_folders(folder: str) -> list[str]:
    """Return the names of the subfolders except hidden ones, sorted."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def beside_classes(folder: str) -> list[str]:
    """Return the names of the files beside the class folders except hidden ones, sorted."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_file() and not entry.name.startswith("."))


def _files_below(folder: str, inner: str = "") -> Iterator[str]:
    """Yield the relative paths of all files below a folder except hidden ones."""
    with os.scandir(f"{folder}/{inner}") as entries:
        for entry in entries:
            name = f"{inner}/{entry.name}" if inner else entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_file():
                yield name
            elif entry.is_dir(follow_symlinks=False):
                yield from _files_below(folder, name)


def read_file(path: str | Path, box: str = "", follow_links: bool = False) -> Letter:
    """Read a file with one message or text, unless it is a link, too large or not a regular file.

    Mail folders may be copies from elsewhere, whose links could point to any file of this machine.
    """
    path = str(path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (0 if follow_links else getattr(os, "O_NOFOLLOW", 0))
    try:
        if not follow_links and Path(path).is_symlink():
            return Letter(path, 1, box, b"", "a symbolic link: put the file itself there")
        handle = os.open(path, flags)
        try:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode):
                return Letter(path, 1, box, b"", "not a regular file: take it out of the folder")
            content = os.read(handle, min(state.st_size, LARGEST_MESSAGE) + 1)
            while len(content) <= LARGEST_MESSAGE and (more := os.read(handle, PIECE)):
                content += more
        finally:
            os.close(handle)
    except OSError as error:
        return Letter(path, 1, box, b"", f"cannot be read: {error.strerror or error}")
    if len(content) > LARGEST_MESSAGE:
        return Letter(path, 1, box, content[:HEAD], TOO_LARGE)
    return Letter(path, 1, box, content)


def _mbox(path: str) -> Iterator[Letter]:
    """Split an mbox at ``From ...`` lines that follow an empty line, with one message in memory at a time."""
    name = Path(path).name.split(".")[0]
    message: list[bytes] = []  # pieces of the current message
    begins = size = 0  # its first line and its bytes so far
    line = 1
    line_start = blank = True  # the next block begins a line; the line before it is empty so far

    def letter() -> Letter:
        return Letter(path, begins, name, b"".join(message), TOO_LARGE if size > LARGEST_MESSAGE else "")

    for block in _line_blocks(path):
        at = 0
        for cut in [*_from_lines(block, line_start, blank), len(block)]:
            piece = block[at:cut]
            if begins:
                size += len(piece)
                if size <= LARGEST_MESSAGE:
                    escaped = b">From " in piece and (at or line_start)
                    message.append(ESCAPED_FROM.sub(b"", piece) if escaped else piece)
                elif sum(map(len, message)) != HEAD:  # the head identifies the message
                    message = [(b"".join(message) + piece[:HEAD])[:HEAD]]
            elif piece.strip():
                line += piece[: len(piece) - len(piece.lstrip())].count(b"\n")
                raise BadInput(path, line, "not an mbox: it must begin with a line 'From ...'", 1)
            line += piece.count(b"\n")
            if cut < len(block):
                if begins:
                    yield letter()
                message, begins, size = [], line, 0
                at = block.find(b"\n", cut) + 1 or len(block)
                line += block.endswith(b"\n", cut, at)
        blank = _blank_before(block, len(block), line_start or blank)
        line_start = block.endswith(b"\n")
    if begins:
        yield letter()


def _line_blocks(path: str) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines; only a line longer than :data:`PIECE` is split."""
    rest = b""
    for piece in pieces(path, PIECE):
        whole, newline, last = piece.rpartition(b"\n")
        if newline:
            yield rest + whole + newline
            rest = last
        else:
            rest += last
            if len(rest) > PIECE:
                yield rest
                rest = b""
    if rest:
        yield rest


def _from_lines(block: bytes, line_start: bool, blank: bool) -> Iterator[int]:
    """Yield the positions of ``From ...`` lines after an empty line; ``blank``: the line before the block is empty."""
    if line_start and blank and block.startswith(b"From "):
        yield 0
    at = block.find(b"\nFrom ") + 1
    while at:
        if _blank_before(block, at, line_start or blank):
            yield at
        at = block.find(b"\nFrom ", at) + 1


def _blank_before(block: bytes, at: int, first_blank: bool) -> bool:
    """Whether the line that ends at ``at`` is empty; ``first_blank``: the part of it before the block is."""
    begin = block.rfind(b"\n", 0, at - 1) + 1
    return (begin > 0 or first_blank) and not block[begin:at].strip()


def words_of(content: bytes, words: Words) -> dict[str, float]:
    """Return the words of a message: ``subject:free``, ``from:example.org``, and those of its body."""
    fields = fields_of(content)
    features: dict[str, float] = {}
    for part, text in fields.items():
        for word in words.cut(text):
            name = word if part == "text" else f"{part}:{word}"
            features[name] = 1.0 if words.binary else features.get(name, 0.0) + 1.0
    return features


def fields_of(content: bytes) -> dict[str, str]:
    """Return subject, from and text of a message."""
    if not is_message(content):
        return {"text": content[: 4 * LONGEST_TEXT].decode("utf-8", "replace")[:LONGEST_TEXT]}
    message = parse_message(content)
    senders = " ".join(address.replace("@", " ") for _, address in addresses(message.headers.get("from", [])))
    subject = header_words(message.headers.first("subject"))
    return {"subject": subject, "from": senders, "text": text_of(message)}


def sent_at(content: bytes) -> float:
    """Return the date of a message as a timestamp; infinity without one."""
    seconds = sent(parse_headers(content[:HEAD]))
    return float("inf") if seconds is None else seconds


class MailExamples(NamedExamples):
    """Messages as examples; the label is a header, named or of :data:`LABEL_HEADERS`, else the mailbox or folder."""

    def __init__(self, opening: "Opening", schema: NamedSchema | None) -> None:
        options = opening.options
        self.format = opening.format
        words = options.weighted_words(any_text=True)
        super().__init__(
            opening,
            schema or NamedSchema((), options.hash_bits, options.target, "text", (), words),
            options.grow or schema is None,
        )
        self._target = options.target or self._options.target
        self._not_mail: set[str] = set()  # files in a folder of mail that are not messages
        self._order = self._date_order()
        self._options = replace(self._options, target=self._target, labels="text", text=())
        if self.format == "folders":
            self.notes = [_stray_files_note(path) for path in self._paths if beside_classes(path)]
            if self._not_mail:
                files = sorted(self._not_mail)
                what = (
                    "1 file that is not mail"
                    if len(files) == 1
                    else f"{len(files):,} files that are not mail"
                )
                self.notes.append(f"{self.path}: {what} skipped ({_abbreviated(files)})")

    def _all(self) -> Iterator[Letter]:
        for path in self._paths:
            yield from letters(path, self.format)

    def _date_order(self) -> Any:
        """Return the order of the messages by date; texts and undated messages are last, in their order."""
        texts = self.format == "folders"  # of mail or of other texts
        times, not_mail = [], []
        for letter in self._all():
            if texts and not is_message(letter.content):
                times.append(float("inf"))
                not_mail.append(letter.path)
            else:
                times.append(sent_at(letter.content))
        if not times:
            raise BadInput(self.path, None, "no messages in it")
        if texts and len(not_mail) < MAX_OTHER_FILES * len(times):
            self._not_mail = set(not_mail)
        if self._target is None and self.format in ("mbox", "maildir"):
            self._target = self._default_header()
        return np.argsort(np.array(times), kind="stable")

    def _default_header(self) -> str | None:
        for letter in self._all():
            headers = parse_headers(letter.content[:HEAD])
            return next((name for name in LABEL_HEADERS if headers.first(name.lower())), None)
        return None

    def _counted_blocks(self) -> Iterator[Batch]:
        for labelled in _batches(self._labelled()):
            texts: list[str] = []
            for letter, _ in labelled:
                fields = fields_of(letter.content)
                texts += [fields.get(part, "") for part in PREFIXES]
            counts = words_in(texts, self._options.words, [*PREFIXES.values()])
            features = np.array(self._vocabulary.features(counts.words), np.int32)
            unknown = int((features[counts.numbers] < 0).sum())
            if unknown:
                self.unseen_in["words the model does not know"] += unknown
            X = counts.rows(features, len(self._vocabulary))
            y = labels_of([label for _, label in labelled], "text")
            lines = np.array([letter.line for letter, _ in labelled], np.int64)
            yield Batch(X, y, lines, files=_files([letter for letter, _ in labelled]))

    def _labelled(self) -> Iterator[tuple[Letter, str]]:
        """Yield the messages and texts with their labels; an invalid label is a bad line."""
        for letter in self._texts():
            label = self._label(letter)
            reason = invalid_text_reason(label)
            if reason is None:
                yield letter, label
            else:
                self._skip_lines([BadLine(letter.path, letter.line, f"the label {shown(label)} {reason}")])

    def _texts(self) -> Iterator[Letter]:
        """Yield messages, and texts without NUL bytes, in order; others are bad lines."""
        for letter in self._by_date():
            if letter.path in self._not_mail and not letter.problem:
                continue
            if letter.problem:
                self._skip_lines([BadLine(letter.path, letter.line, letter.problem)])
                continue
            nul = letter.content.find(b"\0")
            if nul < 0 or is_message(letter.content):
                yield letter
            else:
                before = letter.content[:nul]
                line, column = before.count(b"\n") + 1, nul - before.rfind(b"\n")
                self._skip_lines([BadLine(letter.path, line, "a NUL byte: is this a text file?", column)])

    def _by_date(self) -> Iterator[Letter]:
        """Yield messages by date; hold those that come too early until their turn."""
        waiting: dict[int, Letter] = {}
        order = iter(self._order.tolist())
        next_position = next(order, None)
        for position, letter in enumerate(self._all()):
            waiting[position] = letter
            while next_position is not None and next_position in waiting:
                yield waiting.pop(next_position)
                next_position = next(order, None)

    def _label(self, letter: Letter) -> str:
        if self._target is None:
            return letter.box
        value = parse_headers(letter.content[:HEAD]).first(self._target.lower())
        return value.strip() or letter.box


def _stray_files_note(folder: str) -> str:
    """Return the note about files beside the class folders."""
    names = beside_classes(folder)
    files = "1 file" if len(names) == 1 else f"{len(names):,} files"
    return f"{folder}: {files} beside the class folders skipped ({_abbreviated(names)})"


def _abbreviated(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _batches(labelled: Iterable[tuple[Letter, str]]) -> Iterator[list[tuple[Letter, str]]]:
    """Collect messages into lists of at most :data:`ROWS_AT_ONCE`, and slightly more than :data:`BYTES_AT_ONCE`."""
    batch: list[tuple[Letter, str]] = []
    size = 0
    for letter, label in labelled:
        batch.append((letter, label))
        size += len(letter.content)
        if len(batch) == ROWS_AT_ONCE or size >= BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _files(letters: Sequence[Letter]) -> tuple[tuple[int, str], ...]:
    """Return (first row, path) of every file."""
    paths = [letter.path for letter in letters]
    return tuple((row, path) for row, path in enumerate(paths) if row == 0 or path != paths[row - 1])
