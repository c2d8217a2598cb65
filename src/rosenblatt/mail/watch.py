"""Mail as it arrives, from a Maildir or an IMAP server, into the mailbox of a store.

Nothing at the source is changed: a Maildir is only read, and an IMAP mailbox is opened read-only (``EXAMINE``) and its
messages are fetched without marking them as seen (``BODY.PEEK``). Connections to an IMAP server are encrypted, and its
certificate is checked.
"""

import contextlib
import imaplib
import os
import re
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from rosenblatt.data.errors import BadLine, SkippedLines
from rosenblatt.data.named.mail import (
    LARGEST_MESSAGE,
    MAILDIR_PARTS,
    TOO_LARGE,
    Letter,
    read_file,
)
from rosenblatt.mail.filter import Intake
from rosenblatt.mail.folders import read_letter
from rosenblatt.mail.mailbox import Mailbox

MOST_AT_ONCE = 200  # messages of one poll; the next follows at once
EXISTING = 500  # messages that are there when the watch begins, the newest, which are taken
SECONDS = 30.0  # in which an IMAP server must answer
PORTS = {"imaps": 993, "imap": 143}
SIZE = re.compile(rb"UID (\d+).*?RFC822\.SIZE (\d+)|RFC822\.SIZE (\d+).*?UID (\d+)", re.DOTALL)


class SourceUnavailable(Exception):
    """A source cannot be read now; the next poll may succeed."""


class Source(Protocol):
    """Where mail comes from."""

    def poll(self) -> list[Letter]:
        """Return messages that have come since the last poll, :data:`MOST_AT_ONCE` at most, oldest first."""

    def close(self) -> None:
        """Let go of what is open."""


class Arrivals(NamedTuple):
    """What one poll brought."""

    letters: int
    new: int  # messages that the mailbox did not have
    failures: SkippedLines


def take(source: Source, box: Mailbox) -> Arrivals:
    """Put what has come into the mailbox; a message that cannot be read is listed, and the others are kept."""
    letters = source.poll()
    mails = (read_letter(letter, number) for number, letter in enumerate(letters, 1))
    intake = Intake(box, 0)
    intake.take(mail if isinstance(mail, BadLine) else (mail, None) for mail in mails)
    return Arrivals(len(letters), intake.new, intake.failures)


class MaildirSource:
    """A Maildir, polled: files in ``new`` and ``cur`` whose names were not there before.

    Parameters
    ----------
    folder : Path
        The Maildir.
    existing : int
        How many of the messages that are there already are taken, the newest by their files' times.
    """

    def __init__(self, folder: Path, existing: int = EXISTING) -> None:
        if not any((folder / part).is_dir() for part in MAILDIR_PARTS):
            raise ValueError(f"{folder}: not a Maildir: there is no folder 'cur' or 'new' in it")
        self._folder = folder
        files = self._files()
        newest = sorted(files, key=lambda name: files[name].modified)[-existing:] if existing else []
        self._seen = set(files) - set(newest)

    def poll(self) -> list[Letter]:
        """Return messages that have come since the last poll, oldest first."""
        files = self._files()
        self._seen &= set(files)  # only names that are there are remembered
        fresh = sorted(set(files) - self._seen, key=lambda name: (files[name].modified, name))[:MOST_AT_ONCE]
        self._seen.update(fresh)
        return [read_file(files[name].path, "INBOX") for name in fresh]

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _files(self) -> "dict[str, _File]":
        """Return the files of messages by their unique names, which stay when flags change or they leave ``new``."""
        files: dict[str, _File] = {}
        for part in MAILDIR_PARTS:
            with contextlib.suppress(FileNotFoundError), os.scandir(self._folder / part) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    with contextlib.suppress(FileNotFoundError):  # it was moved meanwhile
                        modified = entry.stat(follow_symlinks=False).st_mtime
                        files[entry.name.partition(":")[0]] = _File(entry.path, modified)
        return files


class _File(NamedTuple):
    path: str
    modified: float


class ImapAddress(NamedTuple):
    """Where an IMAP mailbox is: ``imaps://USER@HOST[:PORT]/MAILBOX``, or ``imap://`` with STARTTLS."""

    scheme: str
    user: str
    host: str
    port: int
    mailbox: str


def parse_address(url: str) -> ImapAddress:
    """Return the parts of an IMAP address; a password has no place in it.

    >>> parse_address("imaps://ann%40example.org@mail.example.org/INBOX")
    ImapAddress(scheme='imaps', user='ann@example.org', host='mail.example.org', port=993, mailbox='INBOX')
    """
    parts = urlsplit(url)
    if parts.scheme not in PORTS:
        raise ValueError(f"{parts.scheme}://: use imaps://, or imap:// for STARTTLS")
    if parts.password is not None:
        raise ValueError(
            "a password in the address is seen by every user of this machine: leave it out, and give --password-file "
            "or type it"
        )
    if not parts.username or not parts.hostname:
        raise ValueError(f"{url}: give it as imaps://USER@HOST/MAILBOX")
    mailbox = unquote(parts.path.lstrip("/")) or "INBOX"
    port = parts.port or PORTS[parts.scheme]
    return ImapAddress(parts.scheme, unquote(parts.username), parts.hostname, port, mailbox)


def read_password(path: Path) -> str:
    """Return the first line of a file that only its owner may read."""
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise ValueError(f"{path}: not a regular file")
    if os.name == "posix" and state.st_mode & 0o077:
        raise ValueError(f"{path}: other users of this machine can read it; close it with: chmod 600 {path}")
    password = path.read_text(encoding="utf-8").split("\n", 1)[0].rstrip("\r")
    if not password:
        raise ValueError(f"{path}: its first line is empty; write the password there")
    return password


class ImapSource:
    """An IMAP mailbox, polled read-only over TLS; a connection that breaks is made anew at the next poll.

    Parameters
    ----------
    address : ImapAddress
        Server, user and mailbox.
    password : str
        The user's password.
    ca_file : Path, optional
        Certificates to trust instead of the system's.
    existing : int
        How many of the messages that are there already are taken, the newest.
    """

    def __init__(
        self, address: ImapAddress, password: str, ca_file: Path | None = None, existing: int = EXISTING
    ) -> None:
        self._address, self._password, self._existing = address, password, existing
        self._context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
        self._connection: Any = None
        self._validity: bytes | None = None  # of the numbers of messages; another one begins anew
        self._last: int | None = None  # number of the last message that was taken

    def poll(self) -> list[Letter]:
        """Return messages that have come since the last poll, oldest first."""
        letters: list[Letter] = []
        try:
            letters.extend(self._fetch(self._new()))
        except (OSError, imaplib.IMAP4.error) as error:
            self.close()
            if letters:  # the next poll begins after them
                return letters
            text = error.args[0] if error.args and isinstance(error.args[0], bytes) else str(error).encode()
            reason = text.decode("utf-8", "replace")
            raise SourceUnavailable(f"{self._address.host}:{self._address.port}: {reason}") from None
        return letters

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError, imaplib.IMAP4.error):
                connection.logout()

    def _connect(self) -> Any:
        host, port = self._address.host, self._address.port
        if self._address.scheme == "imaps":
            connection: Any = imaplib.IMAP4_SSL(host, port, ssl_context=self._context, timeout=SECONDS)
        else:
            connection = imaplib.IMAP4(host, port, timeout=SECONDS)
            connection.starttls(self._context)  # raises where the server has none: nothing was sent yet
        self._connection = connection
        connection.login(self._address.user, self._password)
        return connection

    def _new(self) -> list[int]:
        """Return the numbers of messages that were not taken yet, oldest first."""
        connection = self._connection or self._connect()
        mailbox = self._address.mailbox.replace("\\", "\\\\").replace('"', '\\"')
        _checked(connection.select(f'"{mailbox}"', readonly=True))
        validity = connection.response("UIDVALIDITY")[1][0]
        if validity != self._validity:
            self._validity, self._last = validity, None
        first = 1 if self._last is None else self._last + 1
        found = b" ".join(_checked(connection.uid("SEARCH", "UID", f"{first}:*")))
        numbers = sorted(
            number for number in map(int, found.split()) if number >= first
        )  # *: the last, if below
        if self._last is None:
            numbers = numbers[-self._existing :] if self._existing else []
            self._last = max(numbers[0] - 1, 0) if numbers else self._highest(connection)
        return numbers[:MOST_AT_ONCE]

    def _highest(self, connection: Any) -> int:
        upcoming = connection.response("UIDNEXT")[1][0]
        return int(upcoming) - 1 if upcoming else 0

    def _fetch(self, numbers: list[int]) -> Iterator[Letter]:
        """Fetch messages one by one; one that is too large is not fetched."""
        if not numbers:
            return
        connection, name = self._connection, self._address.mailbox
        sizes = self._sizes(numbers)
        for number in numbers:
            place = f"{self._address.host}/{name}"
            if sizes.get(number, 0) > LARGEST_MESSAGE:
                yield Letter(place, number, name, b"", TOO_LARGE)
            else:
                for part in _checked(connection.uid("FETCH", str(number), "(BODY.PEEK[])")):
                    if isinstance(part, tuple):  # none where it was deleted meanwhile
                        yield Letter(place, number, name, part[1].replace(b"\r\n", b"\n"))  # as files have it
            self._last = number

    def _sizes(self, numbers: list[int]) -> dict[int, int]:
        answers = _checked(self._connection.uid("FETCH", ",".join(map(str, numbers)), "(UID RFC822.SIZE)"))
        sizes: dict[int, int] = {}
        for answer in answers:
            found = SIZE.search(answer) if isinstance(answer, bytes) else None
            if found is not None:
                uid, size = (found[1], found[2]) if found[1] else (found[4], found[3])
                sizes[int(uid)] = int(size)
        return sizes


def _checked(answer: tuple[str, list[Any]]) -> list[Any]:
    status, data = answer
    if status != "OK":
        reason = data[0] if data and isinstance(data[0], bytes) else b"the server refused"
        raise imaplib.IMAP4.error(reason)
    return [part for part in data if part is not None]
