"""Import on the page: an mbox is uploaded and marked, or learned from if all of it is of one kind."""

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from nicegui import ui

from rosenblatt.data.errors import BadInput
from rosenblatt.data.source import Damaged
from rosenblatt.mail.filter import MOST_MESSAGES, Imported, MailFilter
from rosenblatt.mail.folders import new_mail
from rosenblatt.mail.marks import IMPORTANT, NOT
from rosenblatt.mail.pages.wording import messages
from rosenblatt.web.layout import Markup, html
from rosenblatt.web.refusals import Refusal
from rosenblatt.web.settings import Settings

Done = Callable[[Imported], Awaitable[None]]  # what the page does after an import
LARGEST = Settings.mail_bytes  # what the browser is told; the server counts for itself
LISTED = 20  # messages that could not be read
NEW = "new"
KINDS = {
    NEW: "New mail: mark it for me",
    IMPORTANT: "All of it is important: learn from it",
    NOT: "None of it is important: learn from it",
}


def import_button(mail_filter: MailFilter, done: Done) -> Any:
    """Draw the button that opens the import; return the dialog."""
    with ui.dialog() as dialog, ui.element("div").classes("lab-dialog mail-dialog"):
        html(Markup("<h2>Import mail</h2>"))
        _form(mail_filter, done, dialog)
        ui.button("Close", on_click=dialog.close, color=None).props("flat").classes("lab-quiet")
    button = ui.button("import mbox", icon="upload_file", on_click=dialog.open, color=None)
    button.props("flat dense no-wrap").classes("lab-quiet q-px-sm").mark("import")
    return dialog


def offer(mail_filter: MailFilter, done: Done) -> None:
    """Draw the page of an empty inbox."""
    html(
        Markup(
            "<h2>No messages yet</h2><p>Import an mbox, which most mail programs and services can export. Nothing "
            "leaves this machine. At first the filter is unsure about every message; mark some, and it learns from "
            "each answer.</p>"
        )
    )
    _form(mail_filter, done, None)
    html(
        Markup(
            "<p>Or let mail come by itself: <code>rosenblatt mail watch ~/Maildir</code></p>"
            "<p>Or teach it what is already sorted: stop the server, and "
            "<code>rosenblatt mail import ~/Maildir --important Starred --rest INBOX</code></p>"
        )
    )


def _form(mail_filter: MailFilter, done: Done, dialog: Any) -> None:
    kind = ui.radio(KINDS, value=NEW).props("dense").classes("mail-kinds")

    async def came(event: Any) -> None:
        name = str(event.file.name)[:80]
        try:
            imported = await _read(mail_filter, event, name, kind.value)
        except (BadInput, Damaged, Refusal) as error:
            ui.notify(str(error), type="negative", timeout=10_000)
            return
        finally:
            uploader.reset()
        if dialog is not None:
            dialog.close()
        ui.notify(_summary(imported, name), type="positive")
        await done(imported)

    uploader = ui.upload(
        label="mbox file: choose, or drop it here",
        max_files=1,
        max_file_size=LARGEST,
        auto_upload=True,
        on_upload=came,
        on_rejected=lambda: ui.notify(
            f"One mbox file at a time, {LARGEST >> 20} MB at most.", type="negative"
        ),
    )
    uploader.props("flat bordered").classes("mail-upload").mark("upload")


async def _read(mail_filter: MailFilter, event: Any, name: str, kind: str) -> Imported:
    """Store the messages of an uploaded file; its name is only shown, never used as a path."""
    with tempfile.TemporaryDirectory(dir=mail_filter.service.models.store.folder, prefix=".mail-") as folder:
        path = Path(folder) / "upload.mbox"
        await event.file.save(path)
        if path.stat().st_size > LARGEST:
            raise BadInput(name, None, f"larger than {LARGEST >> 20} MB: split it")
        with path.open("rb") as file:
            if file.read(5) != b"From ":
                raise BadInput(
                    name, None, "not an mbox: it must begin with a line 'From ...'; unpack it if it is packed"
                )
        try:
            imported = await mail_filter.keep(new_mail(path), None if kind == NEW else kind)
        except BadInput as error:
            raise BadInput(name, None, str(error).rpartition(": ")[2]) from None
    for at, failure in enumerate(imported.failures):  # the folder is gone; the name is the visitor's own
        imported.failures[at] = failure._replace(path=name)
    return imported


def _summary(imported: Imported, name: str) -> str:
    learned = f", {imported.learned:,} learned from" if imported.learned else ""
    most = " Those after them were left out." if imported.messages + imported.failed == MOST_MESSAGES else ""
    return f"{messages(imported.messages)} in {name}, {imported.new:,} of them new{learned}.{most}"


def failures_text(imported: Imported) -> str:
    """Return the list of messages that could not be read, as the page shows it; empty if there is none."""
    if not imported.failed:
        return ""
    lines = [f"{messages(imported.failed)} could not be read:", *map(str, imported.failures[:LISTED])]
    if imported.failed > LISTED:
        lines.append(f"and {imported.failed - LISTED:,} more")
    return "\n".join(lines)
