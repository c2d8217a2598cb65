"""A process that answers and takes back, as fast as it can, until it is killed: what is acknowledged is printed."""

import asyncio
import random
import sys

from rosenblatt.service.mail.box import Mailbox
from rosenblatt.service.mail.marks import IMPORTANT, NOT
from rosenblatt.service.mail.teaching import Desk
from rosenblatt.service.models import Models
from rosenblatt.service.service import Service
from rosenblatt.web.refusals import Unknown


async def answer_for_ever(folder: str, seed: int) -> None:
    """Print a line after each answer that was acknowledged."""
    rng = random.Random(seed)
    models = Models(folder, recent_bytes=1 << 16)
    service = Service(models, snapshot_every=7)
    service.start()
    desk = Desk(service, Mailbox(models.store.folder))
    await desk.settle()
    numbers = [each.number for each in desk.box.find("", desk.number, 100)]
    print("ready", flush=True)
    while True:
        if rng.random() < 0.25:
            try:
                print("undone", (await desk.undo()).message, flush=True)
            except Unknown:
                continue
        else:
            number, label = rng.choice(numbers), rng.choice((IMPORTANT, NOT))
            await desk.answer(number, label)
            print("said", number, label, flush=True)


if __name__ == "__main__":
    asyncio.run(answer_for_ever(sys.argv[1], int(sys.argv[2])))
