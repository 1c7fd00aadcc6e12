"""Promoting a journal's entries as the page proposes it: what would be written, why not, and the way there and back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

import atlas
from atlas.core.errors import PlanOutdated
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.journal.entry import entry_detail
from atlas.views.journal.promotion import NO_FIX, OTHER_TYPE, PROMOTED, PromoteRequest, made_of
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.shared.plans import Figure
from tests.support.records import START, entry

CRASH = "KeyError in count_vowels"
FIX = "count_vowels has to lower the word before it looks a letter up"


@pytest.fixture
def memory(tmp_path):
    clock = FixedClock(START)
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings(), clock=clock) as opened:
        yield opened


@pytest.fixture
def solved(memory) -> tuple[str, str]:
    """A crash and what fixed it."""
    crash, fix = memory.journal.add_entries(
        [entry(4, entry_type="crash_log", content=CRASH), entry(6, entry_type="reflection", content=FIX)]
    )
    memory.journal.link(crash, fix, "fixed_by")
    return crash, fix


def test_a_crash_would_become_an_experience_of_it_and_its_fix(memory, solved):
    proposal = PromoteRequest(id=solved[0]).propose(memory)
    assert proposal.view.headline == "A crash and its fix would become an experience."
    assert [(row.id, row.why) for row in proposal.view.rows] == [(solved[0], "the crash"), (solved[1], "its fix")]
    assert {part.name: part.text.whole for part in proposal.parts} == {"Task": CRASH, "Solution": FIX}
    assert proposal.view.figures == (Figure("Experiences", "1", "0"),)
    assert proposal.view.button == "Promote to an experience"
    assert len(memory.experience) == 0


def test_the_task_whose_words_would_be_written_is_shown_as_one_that_changes_nothing(memory, solved):
    before = memory.journal.get(solved[0]).created_at - timedelta(minutes=1)
    [task] = memory.journal.add_entries(
        [replace(entry(4, entry_type="task", content="Count vowels"), created_at=before)]
    )
    proposal = PromoteRequest(id=solved[0]).propose(memory)
    assert [(row.id, row.goes) for row in proposal.view.rows] == [(solved[0], True), (solved[1], True), (task, False)]
    assert proposal.removed_ids == ()
    assert proposal.parts[0].text.whole == f"Count vowels\n\n{CRASH}"


def test_what_was_shown_is_written_and_undone_as_one_operation(memory, solved):
    n_before = memory.count_operations()
    proposal = PromoteRequest(id=solved[1]).propose(memory)
    operation_id = proposal.apply(memory)
    assert proposal.done_sentence == "Promoted 1 entry to a strategy"
    assert memory.count_operations() == n_before + 1
    assert len(memory.strategies) == 1
    memory.undo(operation_id)
    assert len(memory.strategies) == 0
    assert entry_detail(memory, solved[1]).why_not_promoted == ""


def test_a_plan_that_the_journal_has_outrun_is_not_applied(memory, solved):
    proposal = PromoteRequest(id=solved[0]).propose(memory)
    memory.journal.edit(solved[1], content="It was something else after all")
    with pytest.raises(PlanOutdated):
        proposal.apply(memory)
    assert len(memory.experience) == 0


def test_why_an_entry_cannot_be_promoted_is_said_in_our_own_words(memory, solved):
    alone, task = memory.journal.add_entries([entry(8, entry_type="crash_log"), entry(9, entry_type="task")])
    assert entry_detail(memory, alone).why_not_promoted == NO_FIX
    assert entry_detail(memory, task).why_not_promoted == OTHER_TYPE
    PromoteRequest(id=solved[0]).propose(memory).apply(memory)
    assert [entry_detail(memory, one).why_not_promoted for one in solved] == [PROMOTED, ""]


def test_a_crash_whose_fix_was_deleted_is_not_solved(memory, solved):
    memory.journal.delete([solved[1]])
    assert entry_detail(memory, solved[0]).why_not_promoted == NO_FIX


def test_an_entry_and_what_it_became_lead_to_each_other(memory, solved):
    for one in solved:
        PromoteRequest(id=one).propose(memory).apply(memory)
    [experience] = memory.experience.ids()
    [strategy] = memory.strategies.ids()
    ends = entry_detail(memory, solved[1]).became
    assert [(end.kind, end.id) for end in ends] == [(EXPERIENCE, experience), (STRATEGY, strategy)]
    assert {end.id for end in made_of(memory, EXPERIENCE, experience)} == set(solved)
    assert [(end.id, end.title) for end in made_of(memory, STRATEGY, strategy)] == [(solved[1], FIX)]
    memory.experience.delete([experience])
    assert [end.kind for end in entry_detail(memory, solved[1]).became] == [STRATEGY]
