"""Mail into the box by the page: an mbox is uploaded and marked, or learned from where all of it is of one kind."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicegui import ui

from rosenblatt.data.bad_input import BadInput
from rosenblatt.service.mail.folders import new_mail
from rosenblatt.service.mail.marks import IMPORTANT, NOT
from rosenblatt.service.mail.teaching import MOST_MESSAGES
from rosenblatt.service.refusals import Refusal
from rosenblatt.service.settings import Settings

if TYPE_CHECKING:
    from rosenblatt.service.pages.inbox import InboxPage

LARGEST = Settings.mail_bytes  # what the browser is told; the server counts for itself
NEW = "new"
KINDS = {
    NEW: "New mail: mark it for me",
    IMPORTANT: "All of it is important: learn from it",
    NOT: "None of it is important: learn from it",
}


def import_button(page: "InboxPage") -> None:
    """Draw the button that opens the import."""
    with ui.dialog() as dialog, ui.element("div").classes("lab-dialog mail-dialog"):
        ui.html("<h2>Import mail</h2>", sanitize=False)
        _form(page, dialog)
        ui.button("Close", on_click=dialog.close, color=None).props("flat").classes("lab-quiet")
    button = ui.button("import mbox", icon="upload_file", on_click=dialog.open, color=None)
    button.props("flat dense no-wrap").classes("lab-quiet q-px-sm").mark("import")


def offer(page: "InboxPage") -> None:
    """Draw what stands where there are no messages."""
    ui.html(
        "<h2>No messages yet</h2><p>Import an mbox, which most mail programs and services can export. Nothing "
        "leaves this machine. The filter begins by not knowing; tell it what is important, and it learns from "
        "every answer.</p>",
        sanitize=False,
    )
    _form(page, None)
    ui.html(
        "<p>Or teach it what is already sorted: stop the server, and "
        "<code>rosenblatt mail import ~/Maildir --important Starred --rest INBOX</code></p>",
        sanitize=False,
    )


def _form(page: "InboxPage", dialog: Any) -> None:
    kind = ui.radio(KINDS, value=NEW).props("dense").classes("mail-kinds")

    async def came(event: Any) -> None:
        try:
            told = await _read(page, event, kind.value)
        except (BadInput, Refusal) as error:
            ui.notify(str(error), type="negative", timeout=10_000)
            return
        finally:
            uploader.reset()
        if dialog is not None:
            dialog.close()
        ui.notify(told, type="positive")
        await page.load()

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


async def _read(page: "InboxPage", event: Any, kind: str) -> str:
    """Keep the messages of an uploaded file; its name is only shown, never used as a path."""
    name = str(event.file.name)[:80]
    with tempfile.TemporaryDirectory(dir=page.desk.service.models.store.folder, prefix=".mail-") as folder:
        path = Path(folder) / "upload.mbox"
        await event.file.save(path)
        with path.open("rb") as file:
            if file.read(5) != b"From ":
                raise BadInput(
                    name, None, "not an mbox: it must begin with a line 'From ...'; unpack it if it is packed"
                )
        try:
            told = await page.desk.keep(new_mail(path), None if kind == NEW else kind)
        except BadInput as error:
            raise BadInput(name, None, str(error).rpartition(": ")[2]) from None
    learned = f", {told.learned:,} learned from" if told.learned else ""
    most = " Those after them were left out." if told.messages == MOST_MESSAGES else ""
    return f"{told.messages:,} messages in {name}, {told.new:,} of them new{learned}.{most}"
