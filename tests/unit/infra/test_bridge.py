"""A bridge to others' coroutines: what one call raises is that call's, and the others are answered."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading

import pytest

from atlas.core.errors import BlockingCall
from atlas.infra.bridge import call, in_thread, run
from tests.support.waiting import GIVE_UP_SECONDS


async def raising(error):
    await asyncio.sleep(0)
    raise error


async def raising_in_a_task(error):
    await asyncio.gather(raising(error), asyncio.sleep(0))


async def stopping():
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
    return "went on"


async def running_loop():
    return asyncio.get_running_loop()


def answer(coroutine):
    """What a thread of its own gets, so that one that is never answered holds up nobody but itself."""
    came = []

    def ask():
        try:
            came.append(run(coroutine))
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
    waiting = threading.Thread(target=lambda: others.append(run(asyncio.to_thread(may_end.wait, 60))), daemon=True)
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


def test_a_coroutine_runs_on_our_loop_for_sync_calls_and_on_the_callers_for_awaited_ones():
    assert run(running_loop()) is run(running_loop())

    async def asking():
        return asyncio.get_running_loop(), await in_thread(run, running_loop())

    theirs, used = asyncio.run(asking())
    assert used is theirs
    assert used is not run(running_loop())


def test_waiting_for_oneself_is_refused():
    async def inside():
        run(asyncio.sleep(0))

    with pytest.raises(BlockingCall, match=r"called from ATLAS's own event loop; await its async twin \(`a…`\)"):
        run(inside())


@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError, StopIteration])
def test_what_would_end_more_than_itself_is_an_error_of_the_call(kind):
    def at_once():
        raise kind("enough")

    async def awaited():
        await asyncio.sleep(0)
        raise kind("enough")

    async def in_threads():
        return await asyncio.gather(*[in_thread(call, one) for one in (at_once, awaited)], return_exceptions=True)

    for error in asyncio.run(in_threads()):
        assert isinstance(error, RuntimeError)


def test_a_sync_function_that_raises_stop_iteration_is_not_waited_for_for_ever():
    async def asking():
        await asyncio.wait_for(in_thread(lambda: next(iter(()))), 20)

    with pytest.raises(RuntimeError, match=r"called raised StopIteration\(\)"):
        asyncio.run(asking())


def test_a_sync_call_within_a_sync_call_within_an_awaited_one_does_not_wait_for_the_blocked_loop():
    async def innermost():
        return run(asyncio.sleep(0))

    async def inner():
        return run(innermost())

    async def outer():
        await in_thread(run, inner())

    came = []

    def ask():
        try:
            asyncio.run(outer())
        except BlockingCall as error:
            came.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(20)
    assert len(came) == 1


def test_more_calls_may_wait_than_a_loop_has_threads():
    n_calls = 100
    barrier = threading.Barrier(n_calls, timeout=GIVE_UP_SECONDS)

    async def every():
        return await asyncio.gather(*[in_thread(barrier.wait) for _ in range(n_calls)])

    assert sorted(asyncio.run(every())) == list(range(n_calls))


def test_a_call_whose_loop_is_closed_is_not_waited_for_for_ever():
    loop, came = asyncio.new_event_loop(), []
    started = threading.Event()

    async def never():
        started.set()
        await asyncio.Event().wait()

    def outcome():
        try:
            run(never())
        except RuntimeError as error:
            came.append(error)

    async def asking():
        await in_thread(outcome)

    serving = threading.Thread(target=loop.run_forever)
    serving.start()
    asyncio.run_coroutine_threadsafe(asking(), loop)
    assert started.wait(60)
    loop.call_soon_threadsafe(loop.stop)
    serving.join(60)
    loop.close()
    for _ in range(600):
        if came:
            break
        threading.Event().wait(0.1)
    assert "the event loop was closed before" in str(came[0])


def cancelled_while(write, begun):
    """What comes of a twin's call that is cancelled once something has begun on its loop."""

    async def cancel():
        task = asyncio.create_task(in_thread(write))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task

    return cancel()


def test_a_cancelled_call_cancels_the_coroutine_that_it_waits_for_and_begins_no_other():
    came = []

    async def asking():
        begun, ended = asyncio.Event(), asyncio.Event()

        async def costly():
            begun.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                came.append("cancelled")
                raise
            finally:
                ended.set()

        async def next_one():
            came.append("asked")

        def both():
            try:
                call(costly)
            except Exception:  # noqa: BLE001 - as whoever asks several parts does, each of which may fail
                came.append("taken for a failure")
            finally:
                try:
                    call(next_one)
                finally:
                    done.set()

        done = threading.Event()
        await cancelled_while(both, begun)
        await ended.wait()
        await asyncio.to_thread(done.wait, 60)
        assert done.is_set()

    asyncio.run(asking())
    assert came == ["cancelled"]


def test_a_write_goes_to_its_end_though_its_call_is_cancelled():
    came = []

    async def asking():
        begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def write():
            begun.set()
            await may_end.wait()
            came.append("written")
            ended.set()

        await cancelled_while(lambda: run(write(), is_shielded=True), begun)
        may_end.set()
        await ended.wait()

    asyncio.run(asking())
    assert came == ["written"]


def test_what_a_cancelled_call_raises_later_is_logged(caplog):
    begun, may_fail, failed = (threading.Event() for _ in range(3))

    def failing():
        begun.set()
        may_fail.wait(60)
        try:
            raise OSError("quota exceeded")
        finally:
            failed.set()

    async def cancelled():
        task = asyncio.create_task(in_thread(failing))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_fail.set()
        await asyncio.to_thread(failed.wait, 60)

    with caplog.at_level(logging.ERROR):
        asyncio.run(cancelled())
        for _ in range(600):
            if "quota exceeded" in caplog.text:
                break
            threading.Event().wait(0.1)
    assert "a call failed after it was cancelled: quota exceeded" in caplog.text


STOPPED = """
import asyncio
from atlas.infra.bridge import in_thread, run

async def timed_out():
    try:
        await asyncio.wait_for(in_thread(run, asyncio.sleep(3600)), 0.1)
    except TimeoutError:
        print("timed out")

asyncio.new_event_loop().run_until_complete(timed_out())
"""


def test_a_process_whose_loop_was_stopped_with_a_call_under_way_ends():
    ended = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "timed out\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_an_awaited_call_forks_does_not_wait_for_the_parents_loop():
    def forking():
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(run(asyncio.sleep(0, 3)))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    async def asking():
        return await in_thread(forking)

    assert asyncio.run(asking()) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_a_loop_and_threads_of_its_own():
    run(asyncio.sleep(0))
    child = os.fork()
    if not child:
        came = run(asyncio.sleep(0, 3)) + asyncio.run(in_thread(lambda: 4))
        os._exit(came)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
