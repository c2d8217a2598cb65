"""``rosenblatt mail``: learn from mail that is already sorted, mark mail that is new, and watch for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rosenblatt.cli import options as opt
from rosenblatt.cli.commands.serve import Data, need_service
from rosenblatt.cli.errors import refuse
from rosenblatt.cli.output import counted, note

if TYPE_CHECKING:
    from rosenblatt.mail.filter import Imported
    from rosenblatt.mail.watch import Source
    from rosenblatt.service.model import Model

SHOWN = 72  # characters of a subject
NEWEST = 2000  # messages by which a common word is known
LISTED = 20  # messages that could not be read


def import_(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="An mbox, a Maildir, or a folder with folders of .eml files."),
    ],
    important: Annotated[
        list[str],
        typer.Option("--important", metavar="FOLDER", help="Folder of important mail; may be repeated."),
    ],
    rest: Annotated[
        list[str],
        typer.Option("--rest", metavar="FOLDER", help="Folder of all other mail; may be repeated."),
    ],
    data: Data = None,
    json: opt.AsJson = False,
) -> None:
    """Learn from mail that is already sorted, in the order it was sent.

    The first import of 200 messages or more chooses the rule: passive-aggressive or AROW, whichever marked fewer
    messages wrong before it learned from them.

    In a Maildir, FOLDER is one of its folders (Starred for .Starred, INBOX for the Maildir itself); in a folder, a
    folder of .eml files or an mbox; in an mbox, a label in the headers of its messages. Messages in no FOLDER are left
    out. The others go into the store that rosenblatt serve --data shows. Messages imported before are not learned
    again. A message that cannot be read is left out and listed.

    \b
    Examples:
      rosenblatt mail import ~/Maildir --important Starred --rest INBOX
      rosenblatt mail import takeout.mbox --important Starred --rest Inbox
    """
    need_service()
    from itertools import chain

    from rosenblatt.data.errors import BadLine
    from rosenblatt.mail.filter import FEW_TO_CHOOSE, import_sorted
    from rosenblatt.mail.folders import sorted_mail
    from rosenblatt.mail.mailbox import Mailbox
    from rosenblatt.mail.marks import MODEL
    from rosenblatt.service.writer import LocalModels

    path = path.expanduser()
    if not path.exists():
        refuse(f"{path}: no such file or folder")
    items = (each for each in sorted_mail(path, important, rest) if isinstance(each, BadLine) or each.label)
    unreadable: list[BadLine] = []  # before the first that can be read
    first = None
    for item in items:  # no store is created if no message can be read
        if not isinstance(item, BadLine):
            first = item
            break
        unreadable.append(item)
    if first is None:
        refuse(f"{path}: no message in it" + (f" that can be read; {unreadable[0]}" if unreadable else ""))
    models = LocalModels(_folder(data))
    try:
        box = Mailbox(models.store.folder)
        try:
            imported = import_sorted(models, box, chain(unreadable, [first], items))
            undated = box.learned_without_date(models.model(MODEL).number)
        finally:
            box.close()
        info = models.info(MODEL)
        settings = models.model(MODEL).settings
    finally:
        models.close()
    if json:
        failures = [each._asdict() for each in imported.failures]
        counts = {**imported._asdict(), "failed": imported.failed, "failures": failures}
        accuracy = info.accuracy if undated == 0 else None
        learned_by = {"rule": settings.rule, "hypothesis": settings.hypothesis}
        _print_json({**counts, "clock": info.clock, "accuracy": accuracy, **learned_by})
        return
    print(f"{counted(imported.messages, 'message')} read, {imported.new:,} of them new")
    for line in learned_lines(imported):
        print(line)
    if imported.dated >= FEW_TO_CHOOSE:
        print(f"learned by rule {settings.rule}, which predicts with its {settings.hypothesis} weights")
    if imported.failed:
        print(f"{counted(imported.failed, 'message')} could not be read:")
        for failure in imported.failures[:LISTED]:
            print(f"  {_printable(str(failure))}")
        if imported.failed > LISTED:
            print(f"  and {imported.failed - LISTED:,} more; --json lists them")


def learned_lines(imported: "Imported") -> list[str]:
    """Return lines on what was learned; the share of right marks only for messages whose order is known."""
    from rosenblatt.learner.estimate import percent

    if not imported.learned:
        return ["learned from none: all were learned before"]
    lines = []
    if imported.dated:
        right = percent(1 - imported.mistakes / imported.dated)
        lines.append(f"learned from {imported.dated:,} in time order, {right} marked right before")
    undated = imported.learned - imported.dated
    if undated:
        lines.append(
            f"learned from {undated:,} without a date, the two classes interleaved; "
            "their order is unknown, so no share of right marks is printed for them"
        )
    return lines


def sort(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="An mbox, a Maildir, a folder of .eml files, or one .eml file."),
    ],
    data: Data = None,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each message.")] = False,
) -> None:
    """Mark mail as important or not, and say why.

    Each message is marked Important, Not important or Unsure, with its probability, a score and reasons; nothing is
    learned. A message that cannot be read is listed with the reason.

    A score above zero means important; the rule aims at a score of 1. A server may have the store open meanwhile.

    \b
    Examples:
      rosenblatt mail sort new.mbox
      rosenblatt mail sort ~/Maildir --json | jq 'select(.mark == "important")'
    """
    need_service()
    from rosenblatt.data.errors import BadLine
    from rosenblatt.mail.features import features
    from rosenblatt.mail.folders import new_mail
    from rosenblatt.mail.marks import WORD_FOR, Marks, sureness

    path = path.expanduser()
    model, again, shares = _model(_folder(data))
    for at, each in enumerate(new_mail(path), 1):
        if isinstance(each, BadLine):
            if json:
                _print_json({"number": at, "mark": None, "failure": each._asdict()})
            else:
                print(f"{'unreadable':<13}             {_printable(str(each))}")
            continue
        marks = Marks([features(each)], shares)
        marks.look(model)
        mark, why = marks.mark(0), marks.reasons(0, lone_sender=each.sender not in again)
        if json:
            _print_json(
                {
                    "number": at,
                    "mark": mark.label,
                    "score": round(mark.score, 6),
                    "probability": None if mark.probability is None else round(mark.probability, 6),
                    "subject": each.subject,
                    "sender": each.sender,
                    "reasons": [{"word": word, "push": round(push, 6)} for word, push in why],
                }
            )
            continue
        subject = each.subject if len(each.subject) <= SHOWN else each.subject[: SHOWN - 1] + "…"
        sure = "" if mark.probability is None else sureness(mark)
        print(
            f"{WORD_FOR[mark.label]:<13} {sure:>4} {_signed(mark.score)}  {_printable(subject) or '(no subject)'}"
        )
        if why:
            rest = mark.score - sum(push for _, push in why)
            words = "  ".join(f"{word} {_signed(push)}" for word, push in why)
            outweighed = rest * mark.score > 0 and abs(rest) > abs(mark.score)
            other = "many small reasons outweigh these:" if outweighed else "all else"
            print("    because: " + _printable(f"{words}  {other} {_signed(rest)}"))


def watch(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A Maildir, or imaps://USER@HOST/MAILBOX (imap:// for STARTTLS)."
        ),
    ],
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--password-file",
            metavar="FILE",
            help="File (mode 600) whose first line is the IMAP password.",
            show_default="asked for",
        ),
    ] = None,
    ca_file: Annotated[
        Path | None,
        typer.Option("--ca-file", metavar="FILE", help="Certificates to trust.", show_default="the system's"),
    ] = None,
    existing: Annotated[
        int,
        typer.Option(
            "--existing", min=0, help="How many of the newest existing messages to take at the start."
        ),
    ] = 500,
    every: Annotated[
        float,
        typer.Option(
            "--every", metavar="SECONDS", min=0.1, help="Seconds between two checks for new messages."
        ),
    ] = 10.0,
    once: Annotated[bool, typer.Option("--once", help="Check once and exit.")] = False,
    data: Data = None,
) -> None:
    """Bring new messages into the inbox as they arrive.

    The source is only read: no message is moved, deleted or marked as seen. A server may have the store open, and its
    page shows new messages. A message that the inbox already has is not added again. Ctrl-C ends the watch; the next
    watch continues where this one ended.

    \b
    Examples:
      rosenblatt mail watch ~/Maildir
      rosenblatt mail watch imaps://ann@mail.example.org/INBOX --once
    """
    need_service()
    import time

    from rosenblatt.mail.mailbox import Mailbox
    from rosenblatt.mail.watch import SourceUnavailable, take
    from rosenblatt.service.store import make_private_folder

    watched = _source(source, password_file, ca_file, existing)
    folder = _folder(data)
    make_private_folder(folder)
    box = Mailbox(folder)
    try:
        position = box.position(watched.name)
        if position is not None:
            watched.resume(position)
        print(f"watching {source} for {folder}", flush=True)
        while True:
            try:
                arrived = take(watched, box)
            except SourceUnavailable as error:
                if once:
                    raise ValueError(str(error)) from None
                note(f"{_printable(str(error))}; trying again in {every:g} s")
                time.sleep(every)
                continue
            if arrived.letters:
                print(
                    f"{counted(arrived.letters, 'message')} arrived, {arrived.new:,} of them new", flush=True
                )
            for failure in arrived.failures:
                note(_printable(str(failure)))
            if arrived.letters:  # more may wait
                continue
            if once:
                return
            time.sleep(every)
    finally:
        watched.close()
        box.close()


def _source(source: str, password_file: Path | None, ca_file: Path | None, existing: int) -> "Source":
    """Open what is watched."""
    from rosenblatt.mail.watch import ImapSource, MaildirSource, parse_address, read_password

    if "://" not in source:
        if password_file is not None or ca_file is not None:
            refuse("--password-file and --ca-file are for imaps:// and imap://")
        return MaildirSource(Path(source).expanduser(), existing)
    address = parse_address(source)
    if password_file is not None:
        password = read_password(password_file.expanduser())
    else:
        password = typer.prompt(f"Password of {address.user} at {address.host}", hide_input=True)
    return ImapSource(address, password, ca_file, existing)


def _model(folder: Path) -> "tuple[Model, _Known, dict[str, float]]":
    """Return the filter's model as the journal has it now, the senders it knows, and how common each word is.

    A server may have the store open meanwhile.
    """
    from rosenblatt.mail.features import FROM
    from rosenblatt.mail.mailbox import FILE, Mailbox
    from rosenblatt.mail.marks import MODEL, word_shares
    from rosenblatt.service.model import Model
    from rosenblatt.service.snapshots import restore
    from rosenblatt.service.store import Store, settings_from

    if not (folder / "journal.sqlite3").is_file():
        refuse(f"{folder}: there is no store; make one with rosenblatt mail import, or name it with --data")
    store = Store(folder, reading=True)
    try:
        stored = {name: (number, settings) for number, name, settings in store.models()}
        if MODEL not in stored:
            refuse(f"{folder}: nothing was learned about mail yet; begin with rosenblatt mail import")
        number, settings = stored[MODEL]
        model = Model(number, MODEL, settings_from(settings))
        restore(store, model)
        for entry in store.entries(model.number, model.counts.seq):
            model.replay(*entry)
    finally:
        store.close()
    shares: dict[str, float] = {}
    if (folder / FILE).is_file():
        box = Mailbox(folder)
        try:
            shares = word_shares(box.newest_features(NEWEST))
        finally:
            box.close()
    return model, _Known(FROM, model), shares


class _Known:
    """The senders that the model has met."""

    def __init__(self, prefix: str, model: "Model") -> None:
        self._prefix, self._names = prefix, frozenset(model.learner.names)

    def __contains__(self, sender: str) -> bool:
        return self._prefix + sender in self._names


def _printable(text: str) -> str:
    """Return a text that a terminal shows and does not obey: control characters become U+FFFD."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "\ufffd" for each in text)


def _signed(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")


def _folder(data: Path | None) -> Path:
    from rosenblatt.web.settings import usual_folder

    return (data or usual_folder()).expanduser()


def _print_json(fields: dict[str, Any]) -> None:
    import json
    import re

    text = json.dumps(fields, ensure_ascii=False)  # in which only C0 controls are escaped
    print(re.sub("[\x7f-\x9f\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text))


SUBCOMMANDS = {"import": import_, "sort": sort, "watch": watch}
