"""A server that is down is waited for where a person sees that and may cancel, and nowhere else."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest

from atlas.core.errors import Cancelled, LLMUnavailable
from atlas.core.settings import Settings
from atlas.infra.bridge import run
from atlas.jobs.memory_job import requested_model
from atlas.llm.client import ModelClient
from tests.support.messages_server import completion, error, serving

SETTINGS = replace(Settings(), llm_api="openai", llm_retries=1, llm_timeout_seconds=20.0)


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


def client(port, **options):
    settings = replace(SETTINGS, llm_base_url=f"http://127.0.0.1:{port}/v1")
    return closing(ModelClient(settings, api_key="", backoff_seconds=0.001, **options))


def test_a_server_that_comes_back_is_asked_then():
    port, waits = free_port(), []
    with ExitStack() as stack:

        def on_wait(message):
            waits.append(message)
            if len(waits) == 5:
                stack.enter_context(serving(completion("hello"), port=port))

        with client(port, on_wait=on_wait) as llm:
            assert run(llm.complete("s", "p")) == "hello"
    assert len(waits) >= 5
    assert waits[0].startswith(f"http://127.0.0.1:{port}/v1 does not answer; waiting for ")


def test_a_job_shows_that_it_waits_and_goes_on(monkeypatch):
    port, shown = free_port(), []
    monkeypatch.setenv("ATLAS_LLM_BASE_URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setenv("ATLAS_LLM_RETRIES", "0")
    with ExitStack() as stack:

        def on_progress(done, total, message):
            if not shown:
                stack.enter_context(serving(completion("hello"), port=port))
            shown.append((done, total, message))

        with closing(requested_model(True, on_progress)) as llm:
            assert run(llm.complete("s", "p")) == "hello"
    assert all((done, total) == (0, 0) and "does not answer; waiting" in message for done, total, message in shown)


def test_a_server_that_loads_its_model_is_waited_for():
    loading = error(503, "unavailable_error", "Loading model")
    with serving(*[loading] * 6, completion("hello")) as server:
        with client(server.url.rpartition(":")[2], on_wait=lambda message: None) as llm:
            assert run(llm.complete("s", "p")) == "hello"
        assert len(server.requests) == 7


def test_a_server_that_refuses_is_not_waited_for():
    with serving(error(401, "authentication_error")) as server:
        with client(server.url.rpartition(":")[2], on_wait=pytest.fail) as llm, pytest.raises(LLMUnavailable):
            run(llm.complete("s", "p"))
        assert len(server.requests) == 1


def test_the_wait_may_be_cancelled():
    def cancel(message):
        raise Cancelled("stopped")

    with client(free_port(), on_wait=cancel) as llm, pytest.raises(Cancelled, match="stopped"):
        run(llm.complete("s", "p"))


def test_the_wait_ends():
    waits = []
    with (
        client(free_port(), on_wait=waits.append, patience_seconds=0.0) as llm,
        pytest.raises(LLMUnavailable, match="nothing answers at"),
    ):
        run(llm.complete("s", "p"))
    assert waits == []


def test_nobody_else_waits():
    loading = error(503, "unavailable_error", "Loading model")
    with serving(*[loading] * 6) as server:
        with client(server.url.rpartition(":")[2]) as llm, pytest.raises(LLMUnavailable, match="Loading model"):
            run(llm.complete("s", "p"))
        assert len(server.requests) == 2
