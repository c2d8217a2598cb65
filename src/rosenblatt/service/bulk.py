"""Bulk learning: NDJSON read while it arrives, learned from in order, durable in groups."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from msgspec import UNSET
from starlette.requests import ClientDisconnect

from rosenblatt.service.messages import Change, Learned
from rosenblatt.service.models import add_to
from rosenblatt.service.store import Fresh
from rosenblatt.service.wire import read_feedback
from rosenblatt.web.refusals import Left, Refusal, TimedOut, TooLarge
from rosenblatt.web.settings import Settings

if TYPE_CHECKING:
    from rosenblatt.service.service import Service

LONG_LINE = 16 << 10  # bytes of a line that is read beside the loop
SLICE_SECONDS = 0.001  # that the lines of a bulk have the loop at a time
AT_ONCE = 64  # feedbacks of a bulk that go through the queue together


class Bulk:
    """Many feedbacks in order, a few in the queue at a time, so that others are served in between."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._size = max(1, min(AT_ONCE, service.most_waiting // 4))
        self._held: list[Fresh] = []
        self._last: asyncio.Future[list[Change | Refusal]] | None = None
        self.total = Learned(0, 0, 0, 0)

    async def add(self, fresh: Fresh) -> None:
        """Take one more."""
        self._held.append(fresh)
        if len(self._held) >= self._size:
            await self._flush()

    async def finish(self) -> Learned:
        """Return what was learned once all of it is on disk."""
        await self._flush()
        await self._wait()
        return self.total

    async def settle(self) -> None:
        """Learn from what was taken so far, as far as that is possible."""
        with contextlib.suppress(Refusal):
            await self.finish()

    async def _flush(self) -> None:
        if not self._held:
            return
        held, self._held = self._held, []
        before = self._last
        while self._service.waiting > self._service.most_waiting // 2:
            await asyncio.sleep(0.001)
        self._last, last = self._service.submit(held, brief=True), before
        if last is not None:
            self._count(await last)

    async def _wait(self) -> None:
        if self._last is not None:
            last, self._last = self._last, None
            self._count(await last)

    def _count(self, changes: list[Change | Refusal]) -> None:
        for change in changes:
            if isinstance(change, Refusal):
                raise change
            add_to(self.total, change)


async def learn_lines(
    service: "Service", name: str, pieces: AsyncIterator[bytes], settings: Settings
) -> Learned:
    """Learn from every line; a bad one ends it, and the refusal says what was learned before."""
    bulk, number = Bulk(service), 0
    began = time.perf_counter()
    try:
        async for line in _lines(pieces, settings):
            number += 1
            if len(line) > LONG_LINE:
                async with service.turn():
                    fresh = await service.aside(_fresh, service, name, line)
                await bulk.add(fresh)
            elif line.strip():
                await bulk.add(_fresh(service, name, line))
            if time.perf_counter() - began > SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
        return await bulk.finish()
    except Refusal as refusal:
        await bulk.settle()
        told = type(refusal)(f"line {number}: {refusal}")
        told.learned = bulk.total
        raise told from None


def _fresh(service: "Service", name: str, line: bytes) -> Fresh:
    message = read_feedback(line)
    key = message.key if message.key is not UNSET else None
    prediction = message.prediction if message.prediction is not UNSET else None
    given = not (message.features is message.vector is message.text is UNSET)
    return service.models.fresh(name, message.label, message if given else None, prediction, key)


async def _lines(pieces: AsyncIterator[bytes], settings: Settings) -> AsyncIterator[bytes]:
    parts: list[bytes] = []  # of a line whose end has not come
    held = size = 0
    until = asyncio.get_running_loop().time() + settings.stream_seconds
    while True:
        try:
            async with asyncio.timeout(settings.body_seconds):
                piece = await anext(pieces)
            size += len(piece)
        except StopAsyncIteration:
            break
        except ClientDisconnect:
            raise Left("the client went away") from None
        except TimeoutError:
            raise TimedOut(f"nothing arrived for {settings.body_seconds:g} s") from None
        if size > settings.upload_bytes:
            raise TooLarge(
                f"there are more than {settings.upload_bytes:,} bytes: send the lines after this one again"
            )
        if asyncio.get_running_loop().time() > until:
            raise TimedOut(
                f"a stream may take {settings.stream_seconds:g} s: send the lines after this one again"
            )
        first, *rest = piece.split(b"\n")
        held += len(first)
        if max(held, *map(len, rest), 0) > settings.line_bytes:
            raise TooLarge(f"a line after this one is longer than {settings.line_bytes:,} bytes")
        parts.append(first)
        if rest:
            yield b"".join(parts)
            *lines, last = rest
            for line in lines:
                yield line
            parts, held = [last], len(last)
    line = b"".join(parts)
    if line.strip():
        yield line
