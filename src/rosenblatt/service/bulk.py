"""Bulk learning: NDJSON read while it arrives, learned from in order, durable in groups."""

import asyncio
from collections.abc import AsyncIterator

from msgspec import UNSET
from starlette.requests import ClientDisconnect

from rosenblatt.service.messages import Learned
from rosenblatt.service.refusals import Left, Refusal, TimedOut, TooLarge
from rosenblatt.service.service import Service
from rosenblatt.service.settings import Settings
from rosenblatt.service.store import Fresh
from rosenblatt.service.wire import read_feedback


async def learn_lines(
    service: Service, name: str, pieces: AsyncIterator[bytes], settings: Settings
) -> Learned:
    """Learn from every line; a bad one ends it, and the refusal says what was learned before."""
    bulk, number = service.bulk(), 0
    try:
        async for line in _lines(pieces, settings):
            number += 1
            if line.strip():
                await bulk.add(_fresh(service, name, line))
        return await bulk.finish()
    except Refusal as refusal:
        await bulk.settle()
        told = type(refusal)(f"line {number}: {refusal}")
        told.learned = bulk.total
        raise told from None


def _fresh(service: Service, name: str, line: bytes) -> Fresh:
    message = read_feedback(line)
    key = message.key if message.key is not UNSET else None
    prediction = message.prediction if message.prediction is not UNSET else None
    given = not (message.features is message.vector is message.text is UNSET)
    return service.models.fresh(name, message.label, message if given else None, prediction, key)


async def _lines(pieces: AsyncIterator[bytes], settings: Settings) -> AsyncIterator[bytes]:
    held = b""
    while True:
        try:
            async with asyncio.timeout(settings.body_seconds):
                piece = await anext(pieces)
        except StopAsyncIteration:
            break
        except ClientDisconnect:
            raise Left("the client went away") from None
        except TimeoutError:
            raise TimedOut(f"nothing arrived for {settings.body_seconds:g} s") from None
        *lines, held = (held + piece).split(b"\n")
        if max(map(len, [*lines, held])) > settings.line_bytes:
            raise TooLarge(f"a line after this one is longer than {settings.line_bytes:,} bytes")
        for line in lines:
            yield line
    if held.strip():
        yield held
