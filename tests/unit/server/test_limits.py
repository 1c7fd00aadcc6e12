"""Limits of a server: wrong keys, requests of one key, and requests at once."""

from __future__ import annotations

import threading
from functools import partial

import anyio
import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import atlas
from atlas.access.keys import ApiKeys
from atlas.access.stores import Stores
from atlas.access.wrong_keys import FORGET_SECONDS, FREE_ATTEMPTS, MAX_ADDRESSES, WrongKeyBackoff
from atlas.core.errors import InvalidInput
from atlas.infra.actor import Role
from atlas.server.operations import limits
from atlas.server.operations.limits import ConcurrencyLimitMiddleware, RequestRate, limit_threads, requests_per_minute
from tests.support.serving import serving
from tests.support.waiting import GIVE_UP_SECONDS

get, post = (partial(method, timeout=GIVE_UP_SECONDS) for method in (httpx.get, httpx.post))


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def test_wrong_keys_wait_twice_as_long_each_time(time):
    entries = WrongKeyBackoff(time)
    for _ in range(FREE_ATTEMPTS - 1):
        assert entries.add("10.0.0.1") == 0
    waits = []
    for _ in range(8):
        assert entries.add("10.0.0.1") == 0
        waits.append(entries.add("10.0.0.1"))
        time.now += waits[-1]
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


def test_an_address_does_not_wait_for_another(time):
    entries = WrongKeyBackoff(time)
    for _ in range(FREE_ATTEMPTS):
        entries.add("10.0.0.1")
    assert entries.add("10.0.0.1") > 0
    assert entries.add("10.0.0.2") == 0


def test_a_count_is_reset_after_a_quarter_of_an_hour(time):
    entries = WrongKeyBackoff(time)
    for _ in range(FREE_ATTEMPTS):
        entries.add("10.0.0.1")
    time.now += FORGET_SECONDS + 1
    assert [entries.add("10.0.0.1") for _ in range(FREE_ATTEMPTS)] == [0] * FREE_ATTEMPTS


def test_addresses_are_bounded(time):
    entries = WrongKeyBackoff(time)
    for number in range(MAX_ADDRESSES + 100):
        entries.add(str(number))
    assert len(entries._by_address) == MAX_ADDRESSES


def test_forty_wrong_keys_in_a_row_have_to_wait_and_a_right_one_does_not(memory):
    _, secret = ApiKeys(memory.storage.path).add("crawler", Role.WRITER, created_by="owner")
    with serving(memory) as address:
        wrong = {"Authorization": "Bearer atlas_wrong"}
        answers = [
            post(f"{address}/api/v1/context", json={"task": {"description": "t"}}, headers=wrong) for _ in range(40)
        ]
        right = post(
            f"{address}/api/v1/context",
            json={"task": {"description": "t"}},
            headers={"Authorization": f"Bearer {secret}"},
        )
    statuses = [answer.status_code for answer in answers]
    assert statuses[:FREE_ATTEMPTS] == [401] * FREE_ATTEMPTS
    assert 429 in statuses[FREE_ATTEMPTS:]
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert int(refused.headers["Retry-After"]) >= 1
    assert "too many wrong keys came from your address; try again in" in refused.json()["detail"]
    assert right.status_code == 200


def test_the_audit_log_has_only_what_was_answered(memory):
    stores = Stores({"store": memory.storage.path}, {})
    waits = [stores.record_refusal("10.0.0.1", "this key is unknown") for _ in range(40)]
    stores.first.audit.flush()
    assert sum(event.n for event in stores.first.audit.events()) == waits.count(0) < 40


def test_a_key_has_its_requests_of_a_minute(memory):
    api_keys = ApiKeys(memory.storage.path)
    keys = [api_keys.add(name, Role.WRITER, created_by="owner")[1] for name in ("crawler", "other")]
    with serving(memory, requests_per_minute=3) as address:

        def ask(key: str) -> httpx.Response:
            return get(f"{address}/api/v1/experience", headers={"Authorization": f"Bearer {key}"})

        answers = [ask(keys[0]) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[3].headers["Retry-After"]) <= 20
        assert ask(keys[1]).status_code == 200


def test_a_bucket_refills_steadily(time):
    thrice = RequestRate(3, time)
    assert [thrice.take("a") for _ in range(4)] == [0, 0, 0, pytest.approx(20)]
    rate = RequestRate(60, time)
    assert [rate.take("a") for _ in range(60)] == [0] * 60
    assert rate.take("a") == pytest.approx(1)
    time.now += 1
    assert rate.take("a") == 0
    assert rate.take("a") > 0


def test_a_client_in_python_waits_and_tries_again(memory):
    _, secret = ApiKeys(memory.storage.path).add("crawler", Role.WRITER, created_by="owner")
    with serving(memory, requests_per_minute=60) as address, atlas.connect(address, key=secret) as there:
        counts = [there.experience.count() for _ in range(62)]
    assert counts == [30] * 62


@pytest.mark.parametrize("text", ["-1", "1.5", "many", "²"])
def test_a_limit_that_is_no_number_is_refused(text):
    with pytest.raises(InvalidInput, match="expected a whole number such as 600, or 0, for ATLAS_REQUESTS_PER_MINUTE"):
        requests_per_minute(text)


def test_one_request_more_than_wait_is_refused_at_once():
    async def ask() -> list[int]:
        released, n_inside = anyio.Event(), 0

        async def slow(request) -> PlainTextResponse:
            nonlocal n_inside
            n_inside += 1
            await released.wait()
            return PlainTextResponse("done")

        app = ConcurrencyLimitMiddleware(Starlette(routes=[Route("/", slow)]), max_concurrent=2)
        statuses = []
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://memory") as client:

            async def one() -> None:
                statuses.append((await client.get("/")).status_code)

            async with anyio.create_task_group() as group:
                group.start_soon(one)
                group.start_soon(one)
                while n_inside < 2:
                    await anyio.sleep(0)
                await one()
                released.set()
            await one()
        return statuses

    assert anyio.run(ask) == [429, 200, 200, 200]


def test_no_more_threads_answer_requests_than_the_limit(monkeypatch):
    monkeypatch.setattr(limits, "MAX_THREADS", 2)
    working, most, both = 0, 0, threading.Barrier(2)

    def work() -> None:
        nonlocal working, most
        working += 1
        most = max(most, working)
        both.wait(GIVE_UP_SECONDS)
        working -= 1

    async def serve() -> None:
        async with limit_threads(lambda: False), anyio.create_task_group() as requests:
            for _ in range(6):
                requests.start_soon(anyio.to_thread.run_sync, work)

    anyio.run(serve)
    assert most == 2


def test_a_model_that_is_chosen_or_removed_later_changes_the_threads():
    has_model = False

    async def serve() -> None:
        nonlocal has_model
        limiter = anyio.to_thread.current_default_thread_limiter()
        async with limit_threads(lambda: has_model, pause_seconds=0):
            assert limiter.total_tokens == limits.MAX_THREADS
            for is_chosen, n_threads in ((True, limits.MAX_THREADS_WITH_MODEL), (False, limits.MAX_THREADS)):
                has_model = is_chosen
                with anyio.fail_after(GIVE_UP_SECONDS):
                    while limiter.total_tokens != n_threads:
                        await anyio.sleep(0)

    anyio.run(serve)
