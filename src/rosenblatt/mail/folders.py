"""Sorted mail: the messages of an mbox, a Maildir or folders of ``.eml`` files, with the folder of each.

A message that cannot be read comes as a :class:`~rosenblatt.data.errors.BadLine` that says
where it is, which one it is and why; nothing of it is kept, and the messages after it are read.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rosenblatt.data.errors import BadInput, BadLine
from rosenblatt.data.named.mail import Letter, is_maildir, letters, read_file
from rosenblatt.data.named.mime import is_message
from rosenblatt.mail.marks import IMPORTANT, NOT
from rosenblatt.mail.message import Mail, message_id, read_mail

INBOX = "inbox"
ENDS = (".mbox", ".mbx")
MOST_NAMED = 8  # folders or labels, in an error


class Sorted(NamedTuple):
    """A message and where it lies: important, not, or nowhere that was named."""

    mail: Mail
    label: str | None


def sorted_mail(path: Path, important: Sequence[str], rest: Sequence[str]) -> Iterator[Sorted | BadLine]:
    """Yield the messages of a mailbox with their labels; one that lies in both places is important.

    In a folder, a name is that of a Maildir folder (``Starred`` for ``.Starred``, ``INBOX`` for the Maildir itself), of
    a folder of files, or of an mbox. In an mbox it is a label that messages carry in their headers, or the name of
    the file. Case does not count.
    """
    spelt = {
        _plain(name): name for name in (*important, *rest)
    }  # a folder is asked for once, as it was written
    wanted = {spelt[_plain(name)]: IMPORTANT for name in important}
    for name in map(_plain, rest):
        if wanted.get(spelt[name]) == IMPORTANT:
            raise ValueError(f"{spelt[name]!r} cannot hold both what is important and the rest")
        wanted[spelt[name]] = NOT
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    if path.is_dir():
        yield from _in_folders(path, wanted)
    else:
        yield from _by_labels(path, wanted)


def new_mail(path: Path) -> Iterator[Mail | BadLine]:
    """Yield the messages of an mbox, a Maildir, a folder of files or one ``.eml`` file, sorted or not."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    if path.is_dir() and not is_maildir(path):
        contents: Iterator[Letter] = map(read_file, _files(path))
    elif path.suffix.lower() == ".eml":
        contents = iter([read_file(path, follow_links=True)])
    else:
        contents = letters(str(path))
    for number, letter in enumerate(contents, 1):
        yield read_letter(letter, number)


def read_letter(letter: Letter, number: int) -> Mail | BadLine:
    """Read the message with a number among those of an import, or say why it cannot be read."""
    reason = letter.problem
    if not reason and not is_message(letter.content):
        reason = "not a mail message: it does not begin with header lines"
    if not reason:
        try:
            return read_mail(letter.content)
        except Exception as error:  # whatever is in a message, the others are read
            reason = failure_reason(error)
    return BadLine(letter.path, letter.line, failed_message(number, message_id(letter.content), reason))


def failed_message(number: int, identity: str, reason: str) -> str:
    """Say which message failed, and why.

    >>> failed_message(7, "<a@b>", "larger than 64 MB")
    'message 7, <a@b>: larger than 64 MB'
    """
    return f"message {number:,}{', ' if identity else ''}{identity}: {reason}"


def failure_reason(error: Exception) -> str:
    """Say why a message failed in a way that nobody foresaw."""
    return f"{type(error).__name__}: {error}; please report it"


def _in_folders(path: Path, wanted: dict[str, str]) -> Iterator[Sorted | BadLine]:
    """Take the important folders first: their copies elsewhere say nothing new."""
    important: set[bytes] = set()
    folders = [
        (_contents(path, name), label) for name, label in wanted.items()
    ]  # all are there, or none is read
    number = 0
    for contents, label in folders:
        for letter in contents:
            number += 1
            mail = read_letter(letter, number)
            if isinstance(mail, BadLine):
                yield mail
                continue
            if label == IMPORTANT:
                important.add(mail.digest)
            elif mail.digest in important:
                continue
            yield Sorted(mail, label)


def _contents(path: Path, name: str) -> Iterator[Letter]:
    if _plain(name) == INBOX and is_maildir(path):
        return _box(path)
    matches = [inner for inner in sorted(path.iterdir()) if _plain(inner.name) == _plain(name)]
    if not matches:
        names = [inner.name for inner in sorted(path.iterdir()) if inner.name not in ("cur", "new", "tmp")]
        listed = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
        raise BadInput(str(path), None, f"no folder {name!r} in it; there are {listed or 'none'}")
    if matches[0].is_file():
        return letters(str(matches[0]))
    if is_maildir(matches[0]):
        return _box(matches[0])
    return map(read_file, _files(matches[0]))


def _box(folder: Path) -> Iterator[Letter]:
    """Yield what lies in a Maildir itself, not in its folders."""
    return (letter for letter in letters(str(folder)) if letter.box.lower() == INBOX)


def _files(folder: Path) -> Iterator[Path]:
    files = sorted(file for file in folder.rglob("*") if not file.name.startswith(".") and not file.is_dir())
    mails = [file for file in files if file.suffix.lower() == ".eml"]
    return iter(mails or files)


def _by_labels(path: Path, wanted: dict[str, str]) -> Iterator[Sorted | BadLine]:
    labels = {_plain(name): label for name, label in wanted.items()}
    met: dict[str, None] = {}
    any_wanted = False
    for number, letter in enumerate(letters(str(path)), 1):
        mail = read_letter(letter, number)
        if isinstance(mail, BadLine):
            yield mail
            continue
        names = [*mail.labels, letter.box]
        met.update(dict.fromkeys(mail.labels))
        matched = {labels.get(_plain(name)) for name in names} - {None}
        any_wanted = any_wanted or bool(matched)
        yield Sorted(mail, IMPORTANT if IMPORTANT in matched else NOT if matched else None)
    if not any_wanted:
        listed = ", ".join(list(met)[:MOST_NAMED]) or "none"
        raise BadInput(
            str(path), None, f"no message in it is labelled {' or '.join(wanted)}; its labels: {listed}"
        )


def _plain(name: str) -> str:
    """Return a name without what only its kind of mailbox adds.

    >>> _plain(".Starred"), _plain("INBOX.mbox")
    ('starred', 'inbox')
    """
    name = name.lower().lstrip(".")
    for end in ENDS:
        name = name.removesuffix(end)
    return name
