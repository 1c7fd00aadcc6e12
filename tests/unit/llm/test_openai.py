"""Chat completions over real sockets, and finding out which protocol a server speaks."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from atlas.core.errors import InvalidInput, LLMBudgetExceeded, LLMError, LLMReplyInvalid, LLMUnavailable
from atlas.core.settings import Settings
from atlas.infra.bridge import run
from atlas.llm.client import ModelClient
from atlas.llm.structured_output import Question, as_data, ask
from tests.support.messages_server import Reply, call, completion, error, message, no_such_path, serving, text

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ADA = completion('{"name": "Ada"}')


@contextmanager
def model(*replies, path="", key="key", **settings):
    with serving(*replies) as server:
        given = {"llm_api": "openai", "llm_retries": 1, "llm_timeout_seconds": 20.0, "llm_model": "small", **settings}
        llm = ModelClient(Settings(llm_base_url=server.url + path, **given), api_key=key, backoff_seconds=0.001)
        try:
            yield llm, server
        finally:
            llm.close()


def complete(llm, prompt="who?", **options):
    return run(llm.complete("You name things.", prompt, **options))


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_a_plain_question_gets_the_reply_s_text_with_or_without_v1(path):
    with model(completion("hello"), path=path) as (llm, server):
        assert complete(llm, max_tokens=50) == "hello"
    [request] = server.requests
    assert server.paths == ["/v1/chat/completions"]
    assert request == {
        "model": "small",
        "max_tokens": 50 + Settings().llm_thinking_tokens,
        "messages": [{"role": "system", "content": "You name things."}, {"role": "user", "content": "who?"}],
    }
    assert server.headers[0]["authorization"] == "Bearer key"
    assert llm.spent.tokens == 120


def test_a_server_without_a_key_is_sent_none():
    with model(completion("hello"), key="") as (llm, server):
        complete(llm)
    assert "authorization" not in server.headers[0]


def test_a_structured_question_is_held_to_its_schema():
    with model(ADA) as (llm, server):
        assert complete(llm, schema=NAME) == {"name": "Ada"}
    [request] = server.requests
    assert request["response_format"]["type"] == "json_schema"
    assert request["response_format"]["json_schema"]["schema"] == NAME


@pytest.mark.parametrize("content", ['```json\n{"name": "Ada"}\n```', '<think>Ada?</think>\n{"name": "Ada"}'])
def test_json_that_local_models_dress_up_is_read(content):
    with model(completion(content)) as (llm, _):
        assert complete(llm, schema=NAME) == {"name": "Ada"}


def test_a_server_that_cannot_hold_a_schema_is_given_it_in_words_from_then_on():
    refusal = error(400, "invalid_request_error", "response_format of type json_schema is not supported")
    with model(refusal, ADA, ADA) as (llm, server):
        assert complete(llm, schema=NAME) == {"name": "Ada"}
        assert complete(llm, schema=NAME) == {"name": "Ada"}
    assert ["response_format" in request for request in server.requests] == [True, False, False]
    assert '"required"' in server.requests[1]["messages"][0]["content"]


def test_a_model_is_told_to_answer_with_an_object_where_the_server_forces_it_too():
    with model(ADA) as (llm, server):
        complete(llm, schema=NAME)
    assert server.requests[0]["messages"][0]["content"].endswith("Answer only with one JSON object.")


def test_a_model_that_thinks_has_another_name_for_its_limit():
    refusal = error(400, "invalid_request_error", "Unsupported parameter: use 'max_completion_tokens' instead")
    with model(refusal, completion("hello"), completion("hello")) as (llm, server):
        assert [complete(llm), complete(llm)] == ["hello", "hello"]
    assert ["max_completion_tokens" in request for request in server.requests] == [False, True, True]


def test_a_wrong_answer_is_corrected_in_a_conversation():
    with model(completion('{"name": 7}'), ADA) as (llm, server):
        question = Question(system="s", prompt="who?", schema=NAME, validate=lambda value: value["name"])
        assert run(ask(llm, question)) == "Ada"
    roles = [turn["role"] for turn in server.requests[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert server.requests[1]["messages"][2]["content"] == '{"name":7}'


@pytest.mark.parametrize(
    ("reply", "fault", "kept"),
    [
        (completion('{"name": "Ad', "length"), "cut off", '{"name": "Ad'),
        (completion("", "content_filter"), "refused", ""),
        (completion("I would rather not."), "not a JSON object; it says 'I would", "I would rather not."),
        (completion(None), "not a JSON object", ""),
        (Reply({"choices": []}), "no content", ""),
        (Reply(b'"hello"'), "no content", ""),
    ],
)
def test_a_reply_that_is_no_answer_is_refused_and_kept(reply, fault, kept):
    with model(reply) as (llm, _), pytest.raises(LLMReplyInvalid, match=fault) as caught:
        complete(llm, schema=NAME)
    assert caught.value.reply == kept


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"choices": [{}]}', b"hello"])
def test_a_malformed_reply_is_an_error_that_callers_expect(body):
    with model(*[Reply(body)] * 2) as (llm, _), pytest.raises(LLMError, match=r"no content|JSON"):
        complete(llm)


def test_a_busy_server_is_asked_again():
    with model(Reply({"error": {"message": "loading model"}}, 503), completion("hello")) as (llm, server):
        assert complete(llm) == "hello"
        assert len(server.requests) == 2


# Finding out what a server speaks


def test_a_server_of_chat_completions_is_found_out_by_asking_once():
    with model(no_such_path(), completion("hello"), completion("hello"), llm_api="") as (llm, server):
        assert [complete(llm), complete(llm)] == ["hello", "hello"]
        assert llm.api_title == "OpenAI's chat completions"
    assert server.paths == ["/v1/messages", "/v1/chat/completions", "/v1/chat/completions"]


def test_an_address_that_ends_in_v1_is_asked_for_chat_completions_first():
    with model(no_such_path(), message(text("hello")), llm_api="", path="/v1") as (llm, server):
        assert complete(llm) == "hello"
    assert server.paths == ["/v1/chat/completions", "/v1/messages"]


def test_a_structured_question_finds_out_as_well():
    with model(no_such_path(), ADA, llm_api="") as (llm, _):
        assert complete(llm, schema=NAME) == {"name": "Ada"}
    with model(message(call({"name": "Ada"})), llm_api="") as (llm, _):
        assert complete(llm, schema=NAME) == {"name": "Ada"}


@pytest.mark.parametrize(
    ("replies", "api", "sentence"),
    [
        ([no_such_path()] * 2, "", "does not speak any of the protocols that ATLAS knows .*Set ATLAS_LLM_API"),
        ([no_such_path()], "openai", "does not speak OpenAI's chat completions .*Set ATLAS_LLM_API"),
        ([no_such_path()], "anthropic", "does not speak Anthropic's Messages API .*Set ATLAS_LLM_API"),
        ([error(404, "not_found", "The model `small` does not exist")], "openai", "has no model 'small': .*LLM_MODEL"),
        ([error(404, "not_found", "model: small")], "", "has no model 'small': .*Correct ATLAS_LLM_MODEL"),
        ([error(401, "auth", "bad key")], "openai", "bad key; check OPENAI_API_KEY"),
    ],
)
def test_what_is_wrong_with_the_settings_is_one_sentence(replies, api, sentence):
    with model(*replies, llm_api=api) as (llm, server):
        with pytest.raises(LLMUnavailable, match=sentence):
            complete(llm)
        assert len(server.requests) == len(replies)


def test_an_address_where_nothing_answers_is_named():
    with serving() as server:
        pass
    llm = ModelClient(Settings(llm_base_url=server.url, llm_api="openai", llm_retries=0), api_key="")
    with pytest.raises(LLMUnavailable, match=r"nothing answers at http://127\.0\.0\.1.*correct ATLAS_LLM_BASE_URL"):
        complete(llm)
    llm.close()


def test_a_protocol_that_is_none_is_refused_with_those_that_are():
    with pytest.raises(InvalidInput, match="expected anthropic or openai for ATLAS_LLM_API, got 'grpc'"):
        ModelClient(Settings(llm_base_url="http://localhost:1", llm_api="grpc"))


def test_no_retries_and_no_thinking_are_accepted():
    settings = Settings.from_environment({"ATLAS_LLM_RETRIES": "0", "ATLAS_LLM_THINKING_TOKENS": "0"})
    assert (settings.llm_retries, settings.llm_thinking_tokens) == (0, 0)
    with model(completion("hello"), llm_retries=0, llm_thinking_tokens=0) as (llm, server):
        complete(llm, max_tokens=50)
        with pytest.raises(LLMUnavailable):  # the server has no reply left
            complete(llm, max_tokens=50)
    request, _ = server.requests
    assert request["max_tokens"] == 50


# A small context


def test_data_are_cut_to_the_context_and_words_are_kept():
    data = as_data({"a": "long " * 4_000}, limit=24_000)
    with model(completion("hello"), llm_context_tokens=2_048) as (llm, server):
        complete(llm, prompt=f"Read:\n{data}\nand answer", max_tokens=256)
    [request] = server.requests
    shown = request["messages"][1]["content"]
    assert request["max_tokens"] <= 1_024
    assert len(shown) / 3 + request["max_tokens"] <= 2_048
    assert shown.startswith("Read:")
    assert shown.endswith("and answer")
    assert "characters …" in shown


def test_a_question_that_no_cutting_makes_fit_is_not_asked():
    with model(llm_context_tokens=300) as (llm, server), pytest.raises(LLMBudgetExceeded, match="does not fit into"):
        complete(llm, prompt="word " * 1_000)
    assert not server.requests
