"""Sync over async: what one caller's coroutine raises is that caller's, and the others are answered."""

from __future__ import annotations

import asyncio
import threading

import pytest


async def raising(error):
    await asyncio.sleep(0)
    raise error


async def raising_in_a_task(error):
    await asyncio.gather(raising(error), asyncio.sleep(0))


async def stopping():
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
    return "went on"


def answer(coroutine):
    """What a thread of its own gets, so that one that is never answered holds up nobody but itself."""
    came = []

    def ask():
        try:
            came.append(coroutine)
        except (KeyboardInterrupt, SystemExit, OSError) as error:
            came.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(20)
    return came


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, OSError])
@pytest.mark.parametrize("raised", [raising, raising_in_a_task])
def test_whatever_a_coroutine_raises_is_raised_in_its_caller_and_others_go_on(kind, raised):
    may_end = threading.Event()
    waiting = threading.Thread(target=lambda: others.append(asyncio.to_thread(may_end.wait, 60)), daemon=True)
    others = []
    waiting.start()
    assert [type(one) for one in answer(raised(kind("enough")))] == [kind]
    may_end.set()
    waiting.join(20)
    assert others == [True]
    assert answer(asyncio.sleep(0, "later")) == ["later"]


def test_a_coroutine_that_stops_the_loop_stops_nobody():
    assert answer(stopping()) == ["went on"]
    assert answer(asyncio.sleep(0, "later")) == ["later"]
