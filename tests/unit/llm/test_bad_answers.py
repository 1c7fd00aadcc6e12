"""Seven kinds of bad answers on all paths: each is refused with a reason, and the store stays as it was.

The kinds are those that SmolLM2-135M-Instruct gave to these prompts.
"""

from __future__ import annotations

import copy
import json
import os

import pytest

from atlas.core.errors import LLMReplyInvalid
from atlas.testing import ScriptedLLM
from tests.support.model_paths import PATHS, contents, prepared

CUT = "the reply was cut off (max_tokens); a shorter answer is needed"
LOOP = "a concept of " * 12
PROSE = {
    "attempt_summary": "outcome",
    "strategy": "suggestion",
    "warning": "suggestion",
    "strategy_merge": "suggestion",
    "refinement": "reason",
    "journal_summary": "text",
    "autodoc": "description",
    "composition": "guidance",
    "abstraction": "code",
    "domain_names": "name",
}
"""The field of each path that a kind of bad answer fills."""

UNKNOWN = {
    "attempt_summary": ("outcome", "It was booking XQ77PL."),
    "strategy": ("suggestion", "Call get_details first."),
    "warning": ("suggestion", "Never refund 4,711 dollars."),
    "strategy_merge": ("suggestion", "Check {fare} first."),
    "refinement": ("id", ",  "),
    "journal_summary": ("entries", ["tabs"]),
    "autodoc": ("name", "concept_0"),
    "composition": ("code", "def half_of_next(n: int) -> int:\n    return double(half(n))"),
    "abstraction": ("programs", ["def solve(x: any) { return 100; }", ",  "]),
    "domain_names": ("group", 7),
}
"""A field with an id or a name that the model was not shown."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")


def changed(answer, name, value):
    """Return an answer with this value in every field of the name."""
    if isinstance(answer, list):
        return [changed(part, name, value) for part in answer]
    if isinstance(answer, dict):
        return {key: value if key == name else changed(part, name, value) for key, part in answer.items()}
    return answer


def answer_of(path):
    """Return a good answer of a path to what the store holds."""
    answer = copy.deepcopy(path.answer)
    if path.prompt.name == "abstraction":
        answer["functions"] = [{"code": "def f(xs):\n    return sum(xs) / len(xs)", "programs": ["p1", "p2"]}]
    return answer


def bad_answers(kind, path):
    good, prose = answer_of(path), PROSE[path.prompt.name]
    unknown = UNKNOWN[path.prompt.name]
    fault = changed(good, prose, CUT)
    return {
        "echo": [changed(good, prose, path.prompt.text[:140])] * 2,
        "copied fault": [LLMReplyInvalid(CUT, reply='{"'), fault],
        "loop": [changed(good, prose, LOOP)] * 2,
        "cut": [LLMReplyInvalid(CUT, reply='{"')] * 2,
        "unknown": [changed(good, *unknown)] * 2,
        "types": [changed(good, prose, 3)] * 2,
        "empty": [changed(good, prose, " ")] * 2,
    }[kind]


def state_after(path, directory, answers):
    """Return the outcome of a path with these answers, after a check that it left the store as it was."""
    llm = ScriptedLLM(answers)
    with prepared(path, directory, llm) as memory:
        before = contents(memory)
        outcome = path.ask(memory, llm)
        if path.stores:
            memory.undo(memory.history(1)[0].id)
        assert contents(memory) == before
        assert not llm._answers, "a question was not asked"
        return outcome


KINDS = ("echo", "copied fault", "loop", "cut", "unknown", "types", "empty")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROSE)
def test_a_bad_answer_is_refused_with_its_reason(name, kind, tmp_path):
    path = PATHS[name]
    outcome = state_after(path, tmp_path, bad_answers(kind, path))
    assert "scripted gave two invalid answers" in outcome.reason
    for bad in (CUT, LOOP, path.prompt.text[:140]):
        assert bad not in str(outcome.result)


def example_texts(value):
    """Yield each field of words of an answer, with one of its texts in the form that the field has."""
    if isinstance(value, list):
        value = {str(number): part for number, part in enumerate(value)}
    for name, part in value.items():
        if name in ("code", "call"):
            continue
        if isinstance(part, str) and " " in part:
            yield name, part
        elif isinstance(part, list) and all(isinstance(text, str) for text in part):
            yield from ((name, [text]) for text in part if " " in text)
        elif isinstance(part, list | dict):
            yield from example_texts(part)


@pytest.mark.parametrize("name", [name for name in PROSE if name != "abstraction"])  # which has only code
def test_no_text_of_a_prompt_s_example_passes_for_an_answer(name, tmp_path):
    path = PATHS[name]
    _, _, example = path.prompt.text.partition("\nA good answer about ")
    texts = list(example_texts(json.loads(example[example.index("\n{") :])))
    assert texts
    for number, (field, text) in enumerate(texts):
        outcome = state_after(path, tmp_path / str(number), [changed(answer_of(path), field, text)] * 2)
        assert outcome.reason.count("repeats the question; answer it") == 2, (field, text)


@pytest.mark.parametrize("name", [name for name in PROSE if name != "abstraction"])
def test_a_good_answer_is_taken(name, tmp_path):
    path = PATHS[name]
    outcome = state_after(path, tmp_path, [answer_of(path)])
    assert outcome.reason == ""
    assert outcome.result


@pytest.mark.parametrize(
    ("answer", "text", "reason"),
    [
        (LLMReplyInvalid(CUT, reply="Le Grand Paris"), "Le Grand Paris", CUT),
        (LLMReplyInvalid("the reply is empty"), "", "the reply is empty"),
    ],
    ids=["cut", "empty"],
)
def test_a_demonstration_shows_what_there_is(answer, text, reason, tmp_path):
    """It stores nothing and compares two texts, so that an echo or a loop is shown as it is."""
    outcome = state_after(PATHS["demonstration"], tmp_path, [answer, answer])
    assert (outcome.result[1], outcome.reason) == (text, reason)
