"""One after another, on whichever loop: nobody comes in beside another, and nobody waits for one that has gone."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from atlas.infra.turns import Turns, turns_of


def test_coroutines_of_one_loop_come_in_one_after_another_as_they_came():
    async def all_of_them():
        turns, came = Turns(), list[tuple[str, int]]()

        async def come(number):
            async with turns:
                came.append(("in", number))
                await asyncio.sleep(0)
                came.append(("out", number))

        await asyncio.gather(*map(come, range(5)))
        return came

    assert asyncio.run(all_of_them()) == [(way, number) for number in range(5) for way in ("in", "out")]


def test_loops_of_several_threads_come_in_one_after_another():
    turns, total = Turns(), [0]

    async def add():
        for _ in range(50):
            async with turns:
                before = total[0]
                await asyncio.sleep(0)
                total[0] = before + 1

    threads = [threading.Thread(target=lambda: asyncio.run(add())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert total == [200]


def test_one_that_is_cancelled_while_it_waits_holds_nobody_up():
    async def all_of_them():
        turns = Turns()
        async with turns:
            waiting = [asyncio.create_task(_through(turns)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
        async with asyncio.timeout(60):
            return await asyncio.gather(*waiting[1:])

    assert asyncio.run(all_of_them()) == ["through", "through"]


def test_one_that_is_cancelled_as_its_turn_comes_gives_it_on():
    async def all_of_them():
        turns = Turns()
        async with turns:
            first, second = (asyncio.create_task(_through(turns)) for _ in range(2))
            await asyncio.sleep(0)
        first.cancel()  # its turn has come, but it has not run since
        with pytest.raises(asyncio.CancelledError):
            await first
        async with asyncio.timeout(60):
            return await second

    assert asyncio.run(all_of_them()) == "through"


def test_an_error_inside_lets_the_next_one_in():
    async def all_of_them():
        turns = Turns()
        with pytest.raises(OSError, match="gone"):
            async with turns:
                raise OSError("gone")
        async with asyncio.timeout(60):
            return await _through(turns)

    assert asyncio.run(all_of_them()) == "through"


def test_an_object_has_one_lock_whatever_it_compares_as():
    one, other = [1], [1]
    held = turns_of(one)
    assert turns_of(one) is held
    assert turns_of(other) is not held


async def _through(turns):
    async with turns:
        return "through"


def test_one_whose_coroutine_is_thrown_away_while_it_waits_holds_nobody_up():
    async def all_of_them():
        turns = Turns()
        async with turns:
            waiting, given = _through(turns), _through(turns)
            waiting.send(None)
            given.send(None)
            waiting.close()
        given.close()  # it was given its turn, and does not know it yet
        async with asyncio.timeout(10):
            return await _through(turns)

    assert asyncio.run(all_of_them()) == "through"


def test_one_whose_loop_is_closed_while_it_waits_holds_nobody_up():
    turns, loop = Turns(), asyncio.new_event_loop()

    async def all_of_them():
        async with turns:
            await asyncio.to_thread(begin_waiting)
        async with asyncio.timeout(10):
            return await _through(turns)

    def begin_waiting():
        begun.append(loop.create_task(_through(turns)))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    begun = []
    assert asyncio.run(all_of_them()) == "through"
    [abandoned] = begun
    abandoned.get_coro().close()
    assert asyncio.run(_through(turns)) == "through"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_process_that_is_forked_while_one_is_in_waits_for_nobody():
    thing = object()
    turns = turns_of(thing)

    async def fork():
        async with turns:
            child = os.fork()
            if child == 0:
                _enter_and_exit(turns)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert asyncio.run(fork()) == 0


def _enter_and_exit(turns):
    """End this process, with 0 if it is let in at once."""
    try:
        turns.__aenter__().send(None)
    except StopIteration:
        os._exit(0)
    finally:
        os._exit(1)
