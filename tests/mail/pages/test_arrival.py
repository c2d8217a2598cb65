"""Mail that arrives while the page is busy, without a browser."""

import asyncio

from tests.mail.messages import letter

from rosenblatt.mail.filter import MailFilter
from rosenblatt.mail.mailbox import Mailbox
from rosenblatt.mail.message import read_mail
from rosenblatt.mail.pages.inbox import InboxPage
from rosenblatt.service.models import Models
from rosenblatt.service.writer import Service


class Undrawn(InboxPage):
    """A page whose drawing is left out."""

    def _list_rows(self):
        pass

    def _insert_rows(self):
        pass

    async def _tell(self):
        pass


def test_a_message_that_arrives_while_an_answer_is_learned_is_listed_afterwards(tmp_path):
    async def visit():
        service = Service(Models(tmp_path / "store", recent_bytes=1 << 16))
        service.start()
        box = Mailbox(service.models.store.folder)
        page = Undrawn(MailFilter(service, box), {})
        await page.load()
        async with page._work():
            box.add([read_mail(letter(1, True))])
            await page._remark()
        assert len(page.shown) == 0
        await page._look()
        assert len(page.shown) == 1
        box.close()
        await service.stop()

    asyncio.run(visit())


def test_a_message_that_arrives_while_a_listing_is_read_is_listed_afterwards(tmp_path, monkeypatch):
    async def visit():
        service = Service(Models(tmp_path / "store", recent_bytes=1 << 16))
        service.start()
        box = Mailbox(service.models.store.folder)
        page = Undrawn(MailFilter(service, box), {})
        listing = page.mail_filter.listing

        async def then_mail_arrives(query):
            read = await listing(query)
            box.add([read_mail(letter(1, True))])
            return read

        monkeypatch.setattr(page.mail_filter, "listing", then_mail_arrives)
        await page.load()
        assert len(page.shown) == 0
        monkeypatch.undo()
        await page._look()
        assert len(page.shown) == 1
        box.close()
        await service.stop()

    asyncio.run(visit())
