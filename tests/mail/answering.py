"""A process that answers and takes back, as fast as it can, until it is killed: what is acknowledged is printed."""

import asyncio
import random
import sys

from rosenblatt.mail.filter import MailFilter
from rosenblatt.mail.mailbox import Mailbox
from rosenblatt.mail.marks import IMPORTANT, NOT
from rosenblatt.service.models import Models
from rosenblatt.service.writer import Service
from rosenblatt.web.refusals import Unknown


async def answer_for_ever(folder: str, seed: int) -> None:
    """Print a line after each answer that was acknowledged."""
    rng = random.Random(seed)
    models = Models(folder, recent_bytes=1 << 16)
    service = Service(models, snapshot_every=7)
    service.start()
    mail_filter = MailFilter(service, Mailbox(models.store.folder))
    await mail_filter.settle()
    numbers = [each.number for each in mail_filter.box.find("", mail_filter.number, 100)]
    print("ready", flush=True)
    while True:
        if rng.random() < 0.25:
            try:
                for answer in await mail_filter.undo():
                    print("undone", answer.message, flush=True)
            except Unknown:
                continue
        else:
            number, label = rng.choice(numbers), rng.choice((IMPORTANT, NOT))
            if (await mail_filter.answer([number], label)).learned:  # the same answer again teaches nothing
                print("said", number, label, flush=True)


if __name__ == "__main__":
    asyncio.run(answer_for_ever(sys.argv[1], int(sys.argv[2])))
