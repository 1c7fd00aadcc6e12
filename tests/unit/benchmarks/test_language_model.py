"""The benchmark of language models counts what came of each question."""

from __future__ import annotations

from benchmarks import language_model
from tests.support.messages_server import completion, error, serving


def figures_of(*replies, monkeypatch, questions):
    with serving(*replies) as server:
        monkeypatch.setenv("ATLAS_LLM_BASE_URL", server.url)
        monkeypatch.setenv("ATLAS_LLM_API", "openai")
        monkeypatch.setenv("ATLAS_LLM_RETRIES", "0")
        monkeypatch.setattr(language_model, "_questions", lambda: questions)
        return {figure.what: figure.ours for figure in language_model.figures()}


def test_usable_repaired_and_refused_answers_are_counted(monkeypatch):
    async def name(llm):
        return await llm.complete("s", 'What?\n<data-0123456789abcdef id="a">\nflight\n</data-0123456789abcdef>')

    def ask(llm, reason=""):
        language_model.run(name(llm))
        return reason

    def ask_twice(llm):
        language_model.run(name(llm))
        return language_model.run(llm.correct("s", "p", {}, "wrong", schema={"type": "object"})) and ""

    refused = "gave two invalid answers: first task is empty; then task repeats itself; shorten it"
    questions = [("one", ask), ("one", ask_twice), ("two", lambda llm: ask(llm, refused))]
    replies = [completion("flight"), completion("hotel"), completion('{"a": "p"}'), completion("flight")]
    figures = figures_of(*replies, monkeypatch=monkeypatch, questions=questions)
    assert figures["one: usable, of questions asked"] == 2
    assert figures["one: usable without a repair"] == 1
    assert figures["one: telling words that are in the data"] == 0.5
    assert figures["one: tokens read, a question"] == 150
    assert figures["two: usable, of questions asked"] == 0
    assert figures["two: refused as it repeats itself"] == 1
    assert figures["all: usable, of questions asked"] == 2


def test_every_path_is_asked(monkeypatch):
    monkeypatch.setattr(language_model, "N_ATTEMPTS", 1)
    down = error(503, "unavailable_error", "no")
    figures = figures_of(*[down] * 40, monkeypatch=monkeypatch, questions=[*language_model._questions()])
    paths = {what.partition(":")[0] for what in figures}
    assert paths == {*language_model.PATHS, "all"}
    assert figures["all: refused as it was not there in time"] == 12
    assert figures["all: usable, of questions asked"] == 0


def test_without_a_model_there_are_no_figures(monkeypatch, capsys):
    for name in ("ATLAS_LLM_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert [*language_model.figures()] == []
    assert "no model is configured" in capsys.readouterr().err
