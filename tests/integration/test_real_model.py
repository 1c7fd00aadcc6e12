"""A real small model on every path: each ends in time, stores nothing of prompt or fault, and says why it refused.

Nothing is asserted about what the model writes.
"""

from __future__ import annotations

import asyncio
from contextlib import closing, contextmanager
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from threading import Timer

import pytest

import atlas
from atlas.core.errors import LLMError
from atlas.core.types import Strategy
from atlas.infra.bridge import run
from atlas.jobs.compaction import plan_now as plan_compaction
from atlas.jobs.compression import compress_now, strategy_of
from atlas.jobs.refinement import plan_now as plan_refinement
from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.llm.client import ModelClient
from atlas.llm.prompts.attempt_summary import ATTEMPT_SUMMARY
from atlas.llm.prompts.autodoc import AUTODOC
from atlas.llm.prompts.composition import COMPOSITION
from atlas.llm.prompts.domain_names import DOMAIN_NAMES
from atlas.llm.prompts.journal_summary import JOURNAL_SUMMARY
from atlas.llm.prompts.refinement import REFINEMENT
from atlas.llm.prompts.strategy import STRATEGY
from atlas.llm.prompts.strategy_merge import STRATEGY_MERGE
from atlas.llm.substance import Basis
from atlas.llm.trial import tried
from atlas.maps.suggesting import UnnamedDomain, suggest_names
from atlas.memory.experience.model_extraction import LLMSummarizingExtractor
from atlas.memory.strategies.induction.llm import LLMStrategyAbstractor
from atlas.testing import HashEmbedder
from tests.support.learning.builders import concept
from tests.support.memories import attempt
from tests.support.real_model import CONTEXT_TOKENS, MISSING, serving_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs the packages of a real model: {', '.join(MISSING)}"),
]

TASK = "Cancel the flight of reservation PEP4E0 and refund it"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
PROMPTS = (
    *(ATTEMPT_SUMMARY, AUTODOC, COMPOSITION, DOMAIN_NAMES, JOURNAL_SUMMARY, REFINEMENT, STRATEGY, STRATEGY_MERGE),
)
ECHOES = Basis(
    instructions="\n".join([*(prompt.text for prompt in PROMPTS), "the reply was cut off; a shorter answer is needed"]),
    sources=[TASK],
)


@pytest.fixture(scope="module")
def server():
    with serving_model() as model:
        yield model


@pytest.fixture(params=["openai", "anthropic"])
def llm(request, server):
    with client(server.url, request.param) as made:
        yield made


@contextmanager
def client(url, api):
    settings = atlas.Settings(
        llm_base_url=url,
        llm_api=api,
        llm_model="smollm2",
        llm_context_tokens=CONTEXT_TOKENS,
        llm_thinking_tokens=0,
        llm_retries=0,
        llm_timeout_seconds=20.0,
    )
    with closing(ModelClient(settings, api_key="")) as made:
        yield made


def value_or_reason(question, *args, **options):
    """Return what a question gives, or the reason of its refusal, which is never empty."""
    try:
        return question(*args, **options)
    except LLMError as error:
        reason = str(error)
    assert reason
    return reason


@pytest.fixture
def memory(llm, tmp_path):
    settings = replace(atlas.Settings(), llm_store_seconds=20.0)
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm, settings=settings) as opened:
        yield opened


def texts_of(value):
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts_of(getattr(value, field.name))
    elif isinstance(value, dict):
        yield from (text for one in value.values() for text in texts_of(one))
    elif isinstance(value, (list, tuple)):
        yield from (text for one in value for text in texts_of(one))


def assert_own_words(*values):
    """Assert that no text of these repeats a prompt."""
    for text in texts_of(list(values)):
        words = Basis(instructions=text, sources=()).echoes
        assert words.isdisjoint(ECHOES.echoes), text


def test_a_summary(llm):
    extractor = LLMSummarizingExtractor(llm)
    text = extractor.extract(attempt(TASK))
    assert bool(extractor.failures) == (text == TASK)
    assert_own_words(text)


def test_storing(memory):
    stored = memory.store(attempt(TASK))
    assert memory.experience.get(stored["experience"]).task.description == TASK
    assert "strategies" in stored or "strategies" in stored["errors"] or memory.strategies.ids() == []
    memory._late.wait(60)
    assert_own_words(memory.strategies.get_many(memory.strategies.ids()))


def test_planning_strategies(memory):
    plan = memory.strategies.plan_write([attempt(TASK), attempt("Change a seat")])
    assert plan.n_attempts == len(plan.added) + plan.n_nothing + len(plan.problems) + plan.n_joined_sources
    assert_own_words(plan.added)
    assert memory.strategies.ids() == []


def test_two_strategies_in_one(llm):
    held = Strategy(title="Refunds", situation="A flight is to be cancelled", suggestion="Check it", rationale="Policy")
    other = replace(held, suggestion="Ask for the fare first")
    combined = value_or_reason(lambda: run(LLMStrategyAbstractor(llm).combined(held, other)))
    assert_own_words(combined if isinstance(combined, Strategy) else "")


def test_refining(memory, llm):
    memory.experience.store_many([attempt(TASK), attempt("Cancel a flight"), attempt("Change a seat")])
    plan = plan_refinement(memory, llm=llm)
    assert plan.failures or len(plan.decisions) == plan.n_total
    assert memory.experience.count() == 3


def test_summing_up_a_journal(memory):
    memory.journal.add_entries(
        [
            atlas.JournalEntry(entry_type="observation", content=text, generation=1, created_at=LONG_AGO)
            for text in ("The parser broke on tabs", "Tabs broke it again", "Spaces work", "It was mended", "All pass")
        ]
    )
    plan = plan_compaction(memory, 0)
    assert all(bool(draft.problem) == (draft.written_by == "extraction") for draft in plan.summaries)
    assert_own_words(plan.summaries)
    operation_id = memory.journal.apply_compact(plan)
    memory.undo(operation_id)
    assert memory.journal.count() == 5


def test_a_name_for_a_function(llm):
    code = "def fn_0(x0):\n    return [one for one in x0 if one % 2 == 0]"
    uses = [("Even ones.", "def solve(numbers):\n    return fn_0(numbers)")]
    documented = asyncio.run(LLMAutoDocumenter(llm).document(concept(code), uses))
    assert (documented.metadata["documented_by"] == "heuristic") == ("undocumented_because" in documented.metadata)
    assert_own_words(documented.description, documented.guidance)


def test_a_composition(memory):
    parts = [
        concept("def half(n: int) -> int:\n    return n // 2", ("half(4)", "2")),
        concept("def next_one(n: int) -> int:\n    return n + 1", ("next_one(4)", "5")),
    ]
    ids = memory.concepts.add_many(parts)
    composed = memory.concepts.explain_composition(ids)
    assert (composed.concept is None) == bool(composed.why_not)
    assert memory.concepts.count() == 2


def test_compressing(memory, llm):
    programs = ["def solve(xs):\n    total = sum(xs)\n    return total / len(xs)"] * 2
    memory.experience.store_many([attempt(f"Average {n}", solution=code) for n, code in enumerate(programs)])
    value_or_reason(compress_now, memory, strategy=strategy_of(llm))
    assert memory.concepts.count() == 0


def test_names_for_domains(llm):
    domains = [UnnamedDomain(number=0, terms=("flight", "cancel"), tasks=(TASK,))]
    names = value_or_reason(lambda: run(suggest_names(llm, domains)))
    assert_own_words(names if isinstance(names, dict) else "")


def test_a_demonstration(llm):
    trial = tried(llm, TASK, "memories")
    assert all(reply.text or reply.problem for reply in (trial.without, trial.with_block))


def test_a_server_that_is_killed_while_it_answers_loses_nothing_and_is_reported(tmp_path):
    with (
        serving_model() as model,
        client(model.url, "openai") as llm,
        atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm) as memory,
    ):
        Timer(1.0, model.kill).start()
        stored = memory.store(attempt(TASK))
        assert memory.experience.get(stored["experience"]).task.description == TASK
        assert "nothing answers at" in stored["errors"]["strategies"]
