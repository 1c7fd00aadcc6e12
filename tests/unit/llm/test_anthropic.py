"""The real SDK against a server on this machine: what comes back, what is tried again, and what is said in the end."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest

from atlas.core.errors import InvalidInput, LLMBudgetExceeded, LLMError, LLMReplyInvalid, LLMUnavailable
from atlas.core.settings import Settings
from atlas.infra.bridge import run
from atlas.llm.budget import operation
from atlas.llm.client import ModelClient, is_configured
from atlas.llm.structured_output import Question, ask
from atlas.protocols.infra import LLMClient
from tests.support.messages_server import Reply, call, error, message, serving, text

NAME = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}},
    "required": ["name"],
    "additionalProperties": False,
}
HELLO = message(text("hello"))


@contextmanager
def model(*replies, **settings):
    with serving(*replies) as server:
        options = Settings(
            llm_base_url=server.url,
            **{"llm_api": "anthropic", "llm_retries": 2, "llm_timeout_seconds": 20.0, **settings},
        )
        llm = ModelClient(options, api_key="key", backoff_seconds=0.001)
        try:
            yield llm, server
        finally:
            llm.close()


def complete(llm, prompt="who?", **options):
    return run(llm.complete("You name things.", prompt, **options))


def test_it_is_a_language_model():
    with model() as (llm, _):
        assert isinstance(llm, LLMClient)
        assert llm.model_name == "claude-haiku-5-5"


def test_a_plain_question_gets_the_reply_s_text():
    with model(message(text("hel"), text("lo"))) as (llm, server):
        assert complete(llm, max_tokens=50) == "hello"
    (request,) = server.requests
    assert request["messages"] == [{"role": "user", "content": "who?"}]
    assert request["system"] == [{"type": "text", "text": "You name things."}]
    assert request["max_tokens"] == 50 + Settings().llm_thinking_tokens
    assert "tools" not in request
    assert server.headers[0]["authorization"].endswith(" key")


def test_a_question_with_a_schema_forces_the_call_of_a_tool_and_gives_its_input():
    with model(message(text("so be it"), call({"name": "Ada"}), stop_reason="tool_use")) as (llm, server):
        assert complete(llm, schema=NAME) == {"name": "Ada"}
    (request,) = server.requests
    assert request["tools"][0]["input_schema"] == NAME
    assert request["tool_choice"] == {"type": "tool", "name": "answer", "disable_parallel_tool_use": True}


@pytest.mark.parametrize(
    "said",
    ["Thinking may not be enabled when tool_choice forces tool use.", "tool_choice: tool is not supported here"],
)
def test_a_model_that_cannot_be_forced_is_asked_to_call_the_tool_from_then_on(said):
    answer = message({"type": "thinking", "thinking": "", "signature": "s"}, call({"name": "Ada"}))
    with model(error(400, "invalid_request_error", said), answer, answer) as (llm, server):
        assert complete(llm, schema=NAME) == {"name": "Ada"}
        assert complete(llm, schema=NAME) == {"name": "Ada"}
    choices = [request["tool_choice"]["type"] for request in server.requests]
    assert choices == ["tool", "auto", "auto"]


def test_what_one_operation_learns_of_a_model_the_next_one_knows():
    answer = message(call({"name": "Ada"}))
    with model(error(400, "invalid_request_error", "no forced tool_choice"), answer, answer) as (llm, server):
        with operation():
            complete(llm, schema=NAME)
        with operation():
            complete(llm, schema=NAME)
    assert [request["tool_choice"]["type"] for request in server.requests] == ["tool", "auto", "auto"]


def test_questions_asked_at_once_all_learn_that_a_model_cannot_be_forced():
    def unforced(request):
        is_forced = request["tool_choice"]["type"] == "tool"
        return (
            error(400, "invalid_request_error", "no forced tool_choice")
            if is_forced
            else message(call({"name": "Ada"}))
        )

    async def both(llm):
        return await asyncio.gather(*[llm.complete("s", "p", schema=NAME) for _ in range(2)])

    with model(*[unforced] * 4) as (llm, _):
        assert run(both(llm)) == [{"name": "Ada"}] * 2


def test_a_server_that_answers_in_json_instead_of_calling_the_tool_is_understood():
    with model(message(text(' {"name": "Ada"}\n'))) as (llm, _):
        assert complete(llm, schema=NAME) == {"name": "Ada"}


@pytest.mark.parametrize(
    "failure",
    [
        error(429, "rate_limit_error"),
        error(429, "rate_limit_error", retry_after="0"),
        error(529, "overloaded_error"),
        error(500, "api_error"),
        Reply(b"<html>bad gateway</html>", 502),
        Reply(b'{"id": "msg_1", "content": [{"ty'),
    ],
)
def test_a_passing_failure_is_tried_again(failure, caplog):
    with model(failure, HELLO) as (llm, server):
        assert complete(llm) == "hello"
        assert llm.spent.n_calls == 1
    assert server.requests[0] == server.requests[1]
    assert "retrying" in caplog.text


def test_it_gives_up_after_so_many_retries_and_says_why():
    overloaded = error(529, "overloaded_error", "Overloaded")
    with model(overloaded, overloaded, overloaded) as (llm, server):
        with pytest.raises(LLMUnavailable, match=r"claude-haiku-5-5 at 127\.0\.0\.1 .*status 529, Overloaded"):
            complete(llm)
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (error(401, "authentication_error", "invalid x-api-key"), "invalid x-api-key; check ANTHROPIC_API_KEY"),
        (error(403, "permission_error"), "check what the key in ANTHROPIC_API_KEY may do"),
        (
            error(404, "not_found_error", "model: x"),
            "has no model 'claude-haiku-5-5': status 404, model: x. Correct ATLAS_LLM_MODEL",
        ),
        (error(400, "invalid_request_error", "prompt is too long"), "prompt is too long"),
    ],
)
def test_a_lasting_failure_is_told_at_once_with_what_to_do(failure, said):
    with model(failure) as (llm, server):
        with pytest.raises(LLMUnavailable, match=said):
            complete(llm)
        assert len(server.requests) == 1


def test_a_service_that_asks_for_an_hour_of_patience_counts_as_unavailable():
    with model(error(429, "rate_limit_error", retry_after="3600")) as (llm, server):
        with pytest.raises(LLMUnavailable, match="rate limited; retry in 3600 seconds"):
            complete(llm)
        assert len(server.requests) == 1


def test_a_reply_that_does_not_come_is_not_waited_for():
    held = Reply({}, is_held=True)
    with model(held, held, llm_retries=1, llm_timeout_seconds=0.2) as (llm, server):
        with pytest.raises(LLMUnavailable, match=r"did not answer within 0\.2 seconds.*ATLAS_LLM_TIMEOUT_SECONDS"):
            complete(llm)
        assert len(server.requests) == 2


def test_a_server_that_is_not_there_is_named():
    with model() as (llm, _):
        pass
    gone = ModelClient(replace(llm._settings, llm_retries=1), api_key="k", backoff_seconds=0.001)
    with pytest.raises(
        LLMUnavailable, match=r"nothing answers at http://127\.0\.0\.1.*Connection error\. Start the server"
    ):
        complete(gone)
    gone.close()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (message(text("a very long"), stop_reason="max_tokens"), "cut off"),
        (message(call({"na": 1}), stop_reason="max_tokens"), "cut off"),
        (message(stop_reason="refusal"), "refused"),
        (message(text("I would rather not.")), "is not a JSON object; it says 'I would rather"),
        (message(call({"name": "x"}, name="other")), "is not a JSON object"),
        (message(), "is not a JSON object"),
        (Reply({"choices": []}), "no content"),
        (Reply(b'"hello"'), "no content"),
    ],
)
def test_a_reply_that_is_no_answer_is_never_taken_for_one(reply, said):
    with model(reply) as (llm, _), pytest.raises(LLMReplyInvalid, match=said):
        complete(llm, schema=NAME)


def test_asking_gets_an_answer_of_the_right_form_at_the_second_attempt():
    with model(message(call({"name": 7})), message(call({"name": "Ada"}))) as (llm, server):
        question = Question(system="You name things.", prompt="who?", schema=NAME, validate=lambda value: value["name"])
        answer = run(ask(llm, question))
        assert answer == "Ada"
    question, wrong, fault = server.requests[1]["messages"]
    assert question == {"role": "user", "content": "who?"}
    assert wrong["content"][0]["input"] == {"name": 7}
    [result] = fault["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", wrong["content"][0]["id"])
    assert "7 is not of type 'string'" in result["content"]


def test_a_wrong_text_is_shown_as_the_model_s_own_turn():
    with model(message(text("Ada, I think")), message(), message(call({"name": "Ada"}))) as (llm, server):
        question = Question(system="s", prompt="who?", schema=NAME, validate=lambda value: value["name"])
        with pytest.raises(LLMReplyInvalid):
            run(ask(llm, question))
    assert [turn["role"] for turn in server.requests[1]["messages"]] == ["user", "assistant", "user"]
    assert server.requests[1]["messages"][1]["content"] == "Ada, I think"


def test_what_a_call_took_is_counted_by_kind_and_per_operation():
    replies = [message(text("a"), cache_read_input_tokens=30, cache_creation_input_tokens=7), HELLO, HELLO]
    with model(*replies) as (llm, _):
        with operation() as account:
            complete(llm)
            complete(llm)
        complete(llm)
        assert (account.spent.n_calls, account.spent.tokens) == (2, 277)
        assert (account.spent.cache_read_tokens, account.spent.cache_written_tokens) == (30, 7)
        assert llm.spent.n_calls == 3


def test_a_model_of_this_machine_costs_nothing():
    with model(HELLO) as (llm, _):
        complete(llm)
        assert str(llm.spent) == "1 call, 120 tokens, $0.0000"


def test_a_question_that_could_go_over_the_budget_is_not_asked():
    with model(HELLO, HELLO, llm_thinking_tokens=10, llm_budget_tokens=500) as (llm, server), operation():
        complete(llm, max_tokens=100)
        with pytest.raises(LLMBudgetExceeded, match=r"is 500 tokens, of which 120 are used; .* could take 516 more"):
            complete(llm, prompt="x" * 1_200, max_tokens=100)
        assert len(server.requests) == 1


def test_each_operation_has_a_budget_of_its_own_and_so_has_each_question_outside_of_one():
    with model(*[HELLO] * 8, llm_thinking_tokens=10, llm_budget_tokens=300) as (llm, server):
        for _ in range(3):
            complete(llm, max_tokens=100)

        async def thrice():
            for _ in range(3):
                await llm.complete("s", "p", max_tokens=100)

        asyncio.run(thrice())
        with operation(), pytest.raises(LLMBudgetExceeded, match="is 300 tokens, of which 240 are used"):
            run(thrice())
        assert len(server.requests) == 8


def test_threads_of_an_operation_and_sync_calls_inside_it_share_its_budget():
    with model(HELLO, llm_thinking_tokens=10, llm_budget_tokens=300) as (llm, server):

        async def in_threads():
            for _ in range(2):
                await asyncio.to_thread(complete, llm, max_tokens=170)

        with pytest.raises(LLMBudgetExceeded, match="of which 120 are used"):
            asyncio.run(_as_one(in_threads))
        assert len(server.requests) == 1


async def _as_one(body):
    with operation():
        await body()


def test_a_failed_question_gives_its_share_of_the_budget_back():
    bad = error(400, "invalid_request_error")
    with model(bad, bad, bad, HELLO, llm_thinking_tokens=10, llm_budget_tokens=500) as (llm, _), operation():
        for _ in range(3):
            with pytest.raises(LLMUnavailable):
                complete(llm, max_tokens=300)
        assert complete(llm, max_tokens=300) == "hello"


def test_questions_asked_at_once_share_one_budget():
    with model(HELLO, HELLO, llm_thinking_tokens=10, llm_budget_tokens=500) as (llm, server):

        async def both():
            asked = [llm.complete("s", "p", max_tokens=300) for _ in range(2)]
            return await asyncio.gather(*asked, return_exceptions=True)

        with operation():
            answers = run(both())
        assert sorted(type(answer).__name__ for answer in answers) == ["LLMBudgetExceeded", "str"]
        assert len(server.requests) == 1


def test_without_a_key_it_says_which_variable_to_set(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(LLMUnavailable, match="set ANTHROPIC_API_KEY"):
        ModelClient(Settings(llm_forbidden=False))


@pytest.mark.parametrize(
    ("key", "url", "forbidden", "configured"),
    [
        ("", "", False, False),
        ("key", "", False, True),
        ("key", "", True, False),
        ("", "http://localhost:8080", True, True),
        ("", "http://10.0.0.1", True, False),
        ("", "http://10.0.0.1", False, True),
        ("key", "localhost", False, False),
    ],
)
def test_whether_there_is_a_model_is_told_as_connecting_would(monkeypatch, key, url, forbidden, configured):
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    settings = Settings(llm_base_url=url, llm_forbidden=forbidden)
    assert is_configured(settings) == configured
    with nullcontext() if configured else pytest.raises((LLMUnavailable, InvalidInput)):
        ModelClient(settings).close()


def test_the_key_is_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from the environment")
    with serving(HELLO) as server:
        llm = ModelClient(Settings(llm_base_url=server.url))
        assert complete(llm) == "hello"
        llm.close()
    assert server.headers[0]["authorization"].endswith(" from the environment")


def test_the_switch_and_the_options_are_read_from_the_environment(monkeypatch):
    assert Settings().llm_forbidden
    assert not Settings.from_environment({"ATLAS_LLM_FORBIDDEN": "0"}).llm_forbidden
    given = {"ATLAS_LLM_MODEL": "claude-opus-5-5", "ATLAS_LLM_BUDGET_TOKENS": "9", "ATLAS_LLM_TIMEOUT_SECONDS": "1.5"}
    settings = Settings.from_environment(given)
    assert (settings.llm_model, settings.llm_budget_tokens, settings.llm_timeout_seconds) == ("claude-opus-5-5", 9, 1.5)
    monkeypatch.delenv("ATLAS_LLM_FORBIDDEN")
    assert not Settings().llm_forbidden


@pytest.mark.parametrize("url", ["", "https://api.anthropic.com", "http://localhost.example.org", "http://10.0.0.1"])
def test_tests_cannot_ask_a_model_elsewhere(url):
    with pytest.raises(LLMUnavailable, match="ATLAS_LLM_FORBIDDEN"):
        ModelClient(Settings(llm_base_url=url), api_key="key")


@pytest.mark.parametrize("url", ["localhost:8080", "nonsense", "http://[", "ftp://127.0.0.1", "http://"])
def test_an_address_that_is_none_is_refused_with_an_example(url):
    with pytest.raises(InvalidInput, match="such as http://localhost:8080 for ATLAS_LLM_BASE_URL, got"):
        ModelClient(Settings(llm_base_url=url), api_key="key")


@pytest.mark.parametrize("schema", [None, NAME])
@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"content": [{}]}', b'{"content": "x"}', b"hello"])
def test_a_malformed_reply_is_an_error_that_callers_expect(body, schema):
    with model(*[Reply(body)] * 3) as (llm, _), pytest.raises(LLMError, match=r"no content|empty|JSON"):
        complete(llm, schema=schema)
