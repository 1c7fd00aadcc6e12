"""The worst answers of a small model, on every path that asks one: nothing of them is stored, and each has its reason.

They are answers of SmolLM2-135M-Instruct to these prompts, shortened and put into the words of these attempts.
"""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from atlas.core.errors import LLMReplyInvalid, LLMUnavailable
from atlas.core.types import Strategy
from atlas.infra.bridge import run
from atlas.learning.model_composition import LLMCompositionStrategy
from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.learning.search.engines import Corpus
from atlas.learning.search.limits import Limits
from atlas.learning.search.model_engine import ModelEngine
from atlas.llm.prompts.attempt_summary import ATTEMPT_SUMMARY
from atlas.llm.structured_output import split_data
from atlas.llm.trial import run_trial
from atlas.maps.suggesting import UnnamedDomain, suggest_names
from atlas.memory.experience.extraction import to_experience
from atlas.memory.experience.model_extraction import LLMSummarizingExtractor
from atlas.memory.experience.refinement.llm import LLMRefineStrategy
from atlas.memory.journal.summaries import Summariser, SummaryDraft
from atlas.memory.strategies.induction.llm import LLMStrategyAbstractor
from atlas.testing import ScriptedLLM
from tests.support.learning.builders import concept
from tests.support.learning.patterns import term_of
from tests.support.memories import NOW, attempt
from tests.support.records import entry

SORRY = (
    "I'm sorry, but travel insurance cannot be added after the initial booking. If there's anything else that I can "
    "assist you with, please let me know."
)
CUT = "the reply was cut off (max_tokens); a shorter answer is needed"
COPIED_FAULT = "The attempt was cut off (max_tokens); a shorter answer is needed"
TASK = "Cancel my flight with a full refund, my reservation number is PEP4E0"
LOOP = f"This is a function that solves a problem using {'a concept of ' * 12}it"


def strategy(**fields):
    told = dict.fromkeys(("title", "situation", "suggestion", "rationale"), SORRY)
    return {"reusable": True, "reason": "It helps.", "parameters": [], **told, **fields}


WORDED = {
    "title": "Check the fare before a refund",
    "situation": "The user wants to cancel a flight.",
    "suggestion": "Look up the reservation first.",
    "rationale": "Refunds depend on the fare.",
}
HELD = Strategy(title="Refunds", situation="A flight is to be cancelled", suggestion="Check it", rationale="Policy")


@pytest.fixture
def trajectory():
    return attempt(TASK, solution=SORRY)


SUMMARY = {"task": "Cancel a flight", "key_steps": ["Looked it up"], "outcome": "No refund was given."}


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([SUMMARY | {"task": ATTEMPT_SUMMARY.text[:140]}], "task repeats the question"),
        ([SUMMARY | {"outcome": SORRY}], "outcome copies a long part of the data"),
        ([SUMMARY | {"key_steps": ["1. action: get_details({"]}], "names that are not in the data: get_details"),
        ([SUMMARY | {"task": "1.0.0.0/s/" * 8}], "task repeats itself"),
        ([LLMReplyInvalid(CUT, reply='{"task": "What was'), SUMMARY | {"task": COPIED_FAULT}], "repeats the question"),
    ],
    ids=["echo", "copy", "name", "loop", "fault"],
)
def test_a_summary(trajectory, answers, reason):
    extractor = LLMSummarizingExtractor(ScriptedLLM(answers * (3 - len(answers))))
    assert extractor.extract(trajectory) == TASK
    assert reason in extractor.failures[0]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (strategy(), "got the same text twice"),
        (strategy(**WORDED, reason=SORRY), "reason copies a long part of the data"),
        (strategy(**WORDED | {"title": "Task 17"}), "names that are not in the data: 17"),
        (strategy(**WORDED | {"rationale": "2022-01-22 22:39:50"}), "names that are not in the data: 2022-01-22"),
        (strategy(**WORDED, reason=" "), "expected words for reason"),
        ({"reusable": False, "reason": COPIED_FAULT}, "reason repeats the question"),
        ({"reusable": False, "reason": ""}, "expected words for reason"),
    ],
)
def test_a_strategy(trajectory, answer, reason):
    first = LLMReplyInvalid(CUT, reply='{"reusable": tr') if answer["reason"] == COPIED_FAULT else answer
    abstractor = LLMStrategyAbstractor(ScriptedLLM([first, answer]))
    with pytest.raises(LLMReplyInvalid, match=reason):
        run(abstractor.abstract(trajectory))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"same": False, "reason": "", "suggestion": ""}, "expected words for reason"),
        ({"same": True, "reason": "alike", "suggestion": "Check within 24 hours"}, "not in the data: 24"),
        ({"same": True, "reason": "alike", "suggestion": LOOP}, "suggestion repeats itself"),
    ],
)
def test_two_strategies_in_one(answer, reason):
    abstractor = LLMStrategyAbstractor(ScriptedLLM([answer] * 2))
    with pytest.raises(LLMReplyInvalid, match=reason):
        run(abstractor.combined(HELD, HELD))


@pytest.mark.parametrize(
    ("decisions", "reason"),
    [
        ([{"id": ",  ", "action": "drop", "into": "i", "reason": "i"}] * 5, "',  ' is not one of ['e1', 'e2']"),
        (
            [{"id": name, "action": "keep", "reason": "11/12/2020, " * 9} for name in ("e1", "e2")],
            "reason repeats itself",
        ),
        ([{"id": name, "action": "keep", "reason": SORRY} for name in ("e1", "e2")], "reason copies a long part"),
        ([{"id": "e1", "action": "drop", "reason": "i"}], "got none for 'e2'"),
    ],
)
def test_a_refinement(trajectory, decisions, reason):
    given = [to_experience(trajectory, experience_id=name, embedding_text=TASK, now=NOW) for name in "ab"]
    refined = run(LLMRefineStrategy(ScriptedLLM([{"decisions": decisions}] * 2)).refine_with_reasons(given))
    assert refined.experiences == given
    assert reason in refined.failure


@pytest.mark.parametrize(
    ("text", "numbers", "reason"),
    [
        ("12 entries of one type, generations 0 to 11, oldest first: ", ["1"], "text repeats the question"),
        ("12 entries of one type, generations 0 to 11, oldest first: " * 5, ["1"], "text repeats itself"),
        ("1234567890" * 20, ["1"], "text repeats itself"),
        ("Parsers were repaired.", ["tabs"], "'tabs' is not one of ['1', '2'"),
        ("It was about technology and society.", ["1"], "shares no words with the data"),
    ],
)
def test_a_summary_of_a_journal(text, numbers, reason):
    sources = [entry(n, entry_type="reflection", content="The parser broke on tabs.", generation=n) for n in range(12)]
    draft = SummaryDraft(
        entry_type="reflection", first_generation=0, last_generation=11, content="Picked", source_ids=("a",)
    )
    llm = ScriptedLLM([{"points": [{"text": text, "entries": numbers}]}] * 2)
    written = run(Summariser(llm).write_with_model(draft, sources))
    assert (written.content, written.written_by) == ("Picked", "extraction")
    assert reason in written.problem


def test_the_name_of_a_journal_s_type_is_data():
    sources = [entry(n, entry_type="note: obey", content="The parser broke.", generation=n) for n in range(2)]
    draft = SummaryDraft(
        entry_type="note: obey", first_generation=0, last_generation=1, content="Picked", source_ids=("a",)
    )
    llm = ScriptedLLM([LLMUnavailable("no key")])
    run(Summariser(llm).write_with_model(draft, sources))
    words, data = split_data(llm.prompts[0])
    assert "obey" not in words
    assert data == ["note: obey", "The parser broke.", "The parser broke."]


DOCUMENTED = {
    "name": "evens",
    "description": "Keeps the even ones.",
    "parameters": [{"name": "numbers", "type": "list[int]"}],
    "returns": "list[int]",
    "guidance": "For even numbers.",
}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": "concept_0"}, "expected a name that describes what the function does"),
        ({"description": LOOP}, "description repeats itself"),
        ({"parameters": [{"name": "numbers", "type": "str"}]}, "declared as str, but calls pass list[int]"),
        ({"guidance": ""}, "expected words for guidance"),
        ({"parameters": []}, "has 1 parameters, but the answer names 0"),
    ],
)
def test_a_name_for_a_function(fields, reason):
    code = "def fn_0(x0):\n    return [one for one in x0 if one % 2 == 0]"
    uses = [("Even ones.", "def solve(numbers: list[int]):\n    return fn_0(numbers)")]
    documenter = LLMAutoDocumenter(ScriptedLLM([DOCUMENTED | fields] * 2))
    documented = asyncio.run(documenter.document(concept(code), uses))
    assert documented.metadata["documented_by"] == "heuristic"
    assert reason in documented.metadata["undocumented_because"]


COMPOSED = {
    "name": "half_of_next",
    "description": "Halves the number after one.",
    "code": "def half_of_next(n: int) -> int:\n    return half(next_one(n))",
    "examples": [{"call": "half_of_next(3)", "result": "2"}],
    "guidance": "To split what follows.",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"code": "def half_of_next(x):\n    return x + 1"}, "at least two of the given functions"),
        (
            {"examples": [{"call": "def double(n):\n    return 2 * n", "result": "double(2) == 4\n"}]},
            "expected an example that calls",
        ),
        ({"guidance": "When to use it, " * 9}, "guidance repeats itself"),
        ({"examples": [{"call": "half_of_next(3)", "result": "'two'"}]}, "declares the type int, but the example"),
    ],
)
def test_a_composition(fields, reason):
    parts = [
        concept("def half(n: int) -> int:\n    return n // 2"),
        concept("def next_one(n: int) -> int:\n    return n + 1"),
    ]
    composed = asyncio.run(LLMCompositionStrategy(ScriptedLLM([COMPOSED | fields] * 2)).compose_with_reason(parts))
    assert composed.concept is None
    assert reason in composed.why_not


@pytest.mark.parametrize(
    "function",
    [
        {"code": "def solve(x: any) { return len(str(x)); }", "programs": ["def solve(x: any) { return 100; }", ",  "]},
        {"code": ",  ", "programs": ["p1", "p2"]},
    ],
)
def test_functions_that_programs_repeat(function):
    corpus = Corpus(terms=(term_of("def a(x):\n    return x + 1"),) * 2, tasks=("a", "b"))
    with pytest.raises(LLMReplyInvalid, match="gave two invalid answers"):
        ModelEngine(ScriptedLLM([{"functions": [function]}] * 2)).abstractions(corpus, Limits())


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([(0, "frequentWords"), (1, "task")], "name should describe the subject of its tasks"),
        ([(0, "Flights"), (1, "refund refund refund refund refund")], "should not repeat a word"),
        ([(0, "Flights"), (1, "task"), (2, "task")], r"2 is not one of \[0, 1\]"),
        ([], "expected exactly one name"),
    ],
)
def test_names_for_domains(names, reason):
    domains = [UnnamedDomain(number=n, terms=("flight", "cancel"), tasks=(TASK,)) for n in range(2)]
    answer = {"names": [{"group": group, "name": name} for group, name in names]}
    with pytest.raises(LLMReplyInvalid, match=reason):
        run(suggest_names(ScriptedLLM([answer] * 2), domains))


def test_a_demonstration_that_was_cut_off_is_shown_as_cut():
    cut = LLMReplyInvalid(CUT, reply="Le Grand Paris - la femme")
    trial = run_trial(ScriptedLLM([cut, "Here it is."]), TASK, "memories")
    assert {(reply.text, reply.problem) for reply in (trial.without, trial.with_block)} == {
        ("Le Grand Paris - la femme", CUT),
        ("Here it is.", ""),
    }


def test_every_prompt_s_example_has_the_form_that_is_asked_for():
    from atlas.learning import model_composition
    from atlas.learning.naming import autodoc
    from atlas.learning.search import model_engine
    from atlas.llm import check
    from atlas.llm.prompts.abstraction import ABSTRACTION
    from atlas.llm.prompts.autodoc import AUTODOC
    from atlas.llm.prompts.check import CHECK
    from atlas.llm.prompts.composition import COMPOSITION
    from atlas.llm.prompts.domain_names import DOMAIN_NAMES
    from atlas.llm.prompts.journal_summary import JOURNAL_SUMMARY
    from atlas.llm.prompts.refinement import REFINEMENT
    from atlas.llm.prompts.strategy import STRATEGY
    from atlas.llm.prompts.strategy_merge import STRATEGY_MERGE
    from atlas.llm.structured_output import check_conforms
    from atlas.maps import suggesting
    from atlas.memory.experience import model_extraction
    from atlas.memory.experience.refinement import llm as refining
    from atlas.memory.journal import summaries
    from atlas.memory.strategies.induction import llm as strategies

    pairs = [
        (ATTEMPT_SUMMARY, model_extraction.SCHEMA),
        (STRATEGY, strategies.SCHEMA),
        (STRATEGY_MERGE, strategies.SAMENESS_SCHEMA),
        (REFINEMENT, refining.build_schema(["e901", "e902", "e903"])),
        (JOURNAL_SUMMARY, summaries.build_schema(["901", "902", "903"])),
        (AUTODOC, autodoc.SCHEMA),
        (COMPOSITION, model_composition.SCHEMA),
        (ABSTRACTION, model_engine.build_schema(["p901", "p902"])),
        (DOMAIN_NAMES, suggesting.build_schema([901, 902])),
        (CHECK, check.SCHEMA),
    ]
    for prompt, schema in pairs:
        _, _, example = prompt.text.partition("\nA good answer about ")
        check_conforms(json.loads(example[example.index("\n{") :]), schema)
        assert prompt.version.startswith(f"{prompt.name}-")
