"""Checking the language model: one question, and a line for whatever a person has to know."""

from __future__ import annotations

from atlas.cli import main
from atlas.core.settings import Settings
from atlas.llm.check import check_model
from atlas.llm.client import ModelClient
from tests.support.messages_server import completion, no_such_path, serving

GOOD = '{"colour": "red", "numbers": [1, 2, 3]}'


def checked(*replies):
    with serving(*replies) as server:
        client = ModelClient(Settings(llm_base_url=server.url, llm_model="small", llm_retries=0), api_key="")
        try:
            return dict(check_model(client).lines)
        finally:
            client.close()


def test_a_model_that_answers_is_described():
    lines = checked(no_such_path(), completion(GOOD))
    assert lines["Protocol"] == "OpenAI's chat completions"
    assert (lines["Model"], lines["Holds a schema"]) == ("small", "yes")
    assert float(lines["Tokens a second"]) > 0
    assert lines["Took"] == "1 call, 120 tokens, $0.0000"


def test_a_model_that_holds_no_schema_is_described_with_the_fault():
    assert "is not one of" in checked(no_such_path(), completion(GOOD.replace("red", "pink")))["Holds a schema"]
    assert "not a JSON object" in checked(no_such_path(), completion("Red!"))["Holds a schema"]


def test_a_server_that_speaks_neither_protocol_is_described():
    lines = checked(no_such_path(), no_such_path())
    assert "does not speak any of the protocols" in lines["Answer"]
    assert "Holds a schema" not in lines


def test_the_command_line_prints_the_check_and_fails_where_it_does(monkeypatch, capsys):
    with serving(no_such_path(), completion(GOOD), completion("Red!")) as server:
        monkeypatch.setenv("ATLAS_LLM_BASE_URL", server.url)
        assert main(["llm", "check"]) == 0
        assert "Holds a schema   yes" in capsys.readouterr().out
        monkeypatch.setenv("ATLAS_LLM_API", "openai")
        assert main(["llm", "check"]) == 1
        assert "Holds a schema   no: the reply is not a JSON object" in capsys.readouterr().out
