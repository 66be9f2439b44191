"""Answers that are kept, and looks that are shared."""

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from lpisearch.options import ServeSettings
from lpisearch.web.state import CoalescedCall, Gone, ResponseCache, WebState


def test_who_asks_the_same_waits_for_one() -> None:
    made = 0

    async def make() -> bytes:
        nonlocal made
        made += 1
        await asyncio.sleep(0)
        return b"answer"

    async def ask() -> None:
        kept = ResponseCache()
        assert await asyncio.gather(*(kept.get("a", make) for _ in range(5))) == [b"answer"] * 5
        assert await kept.get("a", make) == b"answer"

    asyncio.run(ask())
    assert made == 1


def test_what_fails_is_not_kept() -> None:
    tries = 0

    async def make() -> bytes:
        nonlocal tries
        tries += 1
        if tries == 1:
            message = "not yet"
            raise LookupError(message)
        return b"answer"

    async def ask() -> None:
        kept = ResponseCache()
        with pytest.raises(LookupError):
            await kept.get("a", make)
        assert await kept.get("a", make) == b"answer"

    asyncio.run(ask())


def test_no_more_is_kept_than_there_is_room_for() -> None:
    made: list[str] = []

    async def ask() -> None:
        kept = ResponseCache(most=50)  # bytes, as compressed

        async def of(mark: str) -> None:
            async def make() -> bytes:
                made.append(mark)
                return mark.encode() * 1000

            assert await kept.get(mark, make) == mark.encode() * 1000

        for mark in ("a", "b", "a", "c", "a", "b"):
            await of(mark)

    asyncio.run(ask())
    assert made == ["a", "b", "c", "b"]


def test_a_look_begins_after_it_was_asked_for() -> None:
    looks: list[int] = []
    now = 0

    async def look() -> str:
        seen = now
        looks.append(seen)
        await asyncio.sleep(0.01)
        return str(seen)

    async def ask() -> None:
        nonlocal now
        shared = CoalescedCall(look)
        first = asyncio.ensure_future(shared.get())
        await asyncio.sleep(0.002)
        now = 1
        later = [asyncio.ensure_future(shared.get()) for _ in range(10)]
        assert await first == "0"
        assert await asyncio.gather(*later) == ["1"] * 10
        assert await shared.get() == "1"

    asyncio.run(ask())
    assert looks == [0, 1, 1]


def test_work_for_a_client_that_has_gone_is_not_begun() -> None:
    class Client:
        def __init__(self, *, gone: bool) -> None:
            self.gone = gone

        async def is_disconnected(self) -> bool:
            return self.gone

    begun: list[str] = []

    async def ask() -> None:
        state = WebState(Any, ServeSettings())  # type: ignore[arg-type]
        for name, gone in (("here", False), ("away", True)):
            with suppress(Gone):
                await state.in_thread(partial(begun.append, name), Client(gone=gone))  # type: ignore[arg-type]

    asyncio.run(ask())
    assert begun == ["here"]
