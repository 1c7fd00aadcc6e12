"""What the overview, the queues, the tray and the proposals make of a memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

import atlas
from atlas.jobs.duplicates import LiveDuplicates
from atlas.jobs.worker import Worker
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.curate.health import UNKNOWN, health
from atlas.views.curate.queues import (
    COMPRESS,
    REFINE,
    RULE,
    group_lines,
    groups_within,
    queue_ids,
    queue_page,
    tabs,
)
from atlas.views.experience.proposals import MergeRequest, PruneRequest, criteria_of
from atlas.views.experience.selection import comparison_columns, selection_rows, selection_summary
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.lists.tables import exported_lines
from atlas.views.overview.recent import Recent
from atlas.views.overview.sample import remove_sample_data
from atlas.views.overview.summary import overview, size_text
from atlas.views.shared.plans import Figure
from atlas.views.shared.wording import UNKNOWN_VALUE
from tests.support.records import START, attempt, attempts

LATER = START + timedelta(days=400)
TODAY = START.date()


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    settings = atlas.Settings(actor="ann")
    clock = FixedClock(START)
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=settings, clock=clock) as memory:
        yield memory


def alike(n: int, **given: object) -> list[atlas.Trajectory]:
    """Attempts that say the same, of which only the last succeeded."""
    return [attempt("Boil an egg", success=i == n - 1, agent=f"agent {i}", **given) for i in range(n)]


def test_the_overview_counts_by_outcome_source_and_day(memory):
    memory.experience.store_many([*attempts(6), attempt(success=True)])
    view = overview(memory, TODAY)
    assert (view.rate.n_succeeded, view.rate.n_failed, view.rate.n_unknown) == (3, 2, 2)
    assert [(group.name, group.n) for group in view.sources.rows] == [("north", 3), ("south", 3), (UNKNOWN_VALUE, 1)]
    assert view.trend is None, "all attempts are of one day"
    memory.experience.store_many([attempt(f"task {n}", n > 2, at=START + timedelta(days=1 + n % 2)) for n in range(12)])
    assert [day.rate.n for day in overview(memory, TODAY).trend.line.days] == [7, 6, 6]


def test_the_overview_shows_the_largest_sources_and_counts_the_rest(memory):
    memory.experience.store_many([attempt(f"task {n}", source=f"source {n}") for n in range(60)])
    groups = overview(memory, TODAY).sources
    assert (len(groups.rows), groups.n_more) == (50, 10)


def test_sizes_are_readable():
    assert (size_text(3 * 2**20), size_text(5 * 2**29)) == ("3.0 MB", "2.5 GB")


def test_removing_the_sample_data_leaves_the_rest_and_can_be_undone(memory):
    own, _ = memory.experience.store_many([attempt("own"), replace(attempt("made up"), metadata={"is_sample": True})])
    assert overview(memory, TODAY).n_sample == 1
    done = remove_sample_data(memory)
    assert done is not None
    assert done.sentence == "Deleted the sample data, 1 record"
    assert memory.experience.ids() == [own]
    memory.undo(done.operation_id)
    assert len(memory.experience) == 2
    memory.experience.delete(memory.experience.ids({"is_sample": True}))
    assert remove_sample_data(memory) is None


def test_what_is_new_counts_the_attempts_agents_and_strategies_of_the_last_week(memory):
    times = [START - timedelta(days=days) for days in (0, 3, 6, 7)]
    memory.experience.store_many([attempt(f"task {n}", at=at, agent=f"agent {n % 2}") for n, at in enumerate(times)])
    memory.strategies.add(atlas.Strategy(situation="A dry day", suggestion="Water"))
    new = overview(memory, TODAY).recent
    assert new == Recent("Last 7 days: 3 attempts by 2 agents, 1 new strategy", TODAY - timedelta(days=6))


def test_what_is_new_in_an_idle_store_is_the_week_up_to_its_newest_attempt(memory):
    assert overview(memory, TODAY).recent is None
    memory.experience.store_many([attempt(f"task {n}", at=START - timedelta(days=5 * n)) for n in range(3)])
    new = overview(memory, LATER.date()).recent
    assert new == Recent("7 days to 1 Mar 2026: 2 attempts", TODAY - timedelta(days=6))


def test_health_lists_what_there_is_and_nothing_else(memory):
    memory.experience.store_many(alike(3))
    found = health(memory, None, START)
    assert (found.never_used, found.stale, found.n_unknown, found.n_buried) == ((), (), 0, 0)
    memory.experience.store(attempt("odd", success=None))
    buried, *_ = memory.experience.ids()
    memory.experience.change_marks([buried], buried=True)
    found = health(memory, None, LATER)
    assert (len(found.never_used), len(found.stale), found.n_unknown, found.n_buried) == (4, 4, 1, 1)


def test_what_a_search_returned_is_not_listed_as_never_retrieved(memory):
    found_id, other = memory.experience.store_many([attempt("Boil an egg"), attempt("Mend a shoe")])
    memory.experience.search_hits("Boil an egg", 1)
    memory.close()
    assert health(memory, None, LATER).never_used == (other,)
    assert found_id not in health(memory, None, LATER).never_used


def test_what_was_used_is_neither_never_retrieved_nor_stale(tmp_path):
    clock = FixedClock(START)
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=clock) as memory:
        used, idle = memory.experience.store_many([attempt("Boil an egg"), attempt("Mend a shoe")])
        clock.advance(LATER - START)
        memory.experience.record_use(used, True)
        found = health(memory, None, LATER)
        assert (found.never_used, found.stale) == ((idle,), (idle,))
        long_after = health(memory, None, LATER + timedelta(days=200))
        assert (long_after.never_used, set(long_after.stale)) == ((idle,), {used, idle})


def test_queues_are_narrowed_by_the_scope_and_those_that_hold_something_come_first(memory):
    memory.experience.store_many(attempts(6))
    found = health(memory, None, START)
    inside = frozenset(memory.experience.ids({"source": "north"}))
    counts = {queue: len(ids) for queue, ids in queue_ids(memory, found, inside).items()}
    assert counts[UNKNOWN] == 1
    assert len(queue_ids(memory, found)[UNKNOWN]) == 2
    assert list(tabs(counts).values())[:2] == ["All 0", "Outcome unknown 1"]
    assert list(tabs(counts))[-3:] == [RULE, REFINE, COMPRESS]


def test_a_page_of_a_queue_keeps_its_order_and_leaves_out_what_is_gone(memory):
    first, second, third, *_ = memory.experience.store_many(attempts(6))
    memory.experience.delete([second])
    assert [row.id for row in queue_page(memory, (third, second, first))] == [third, first]
    ids = tuple(memory.experience.store_many(attempts(60))[6:])
    assert [row.id for row in queue_page(memory, ids, 2)] == list(ids[25:50])


def test_groups_lose_what_lies_outside_of_the_scope():
    groups = (("a", "b", "c"), ("d", "e"))
    assert groups_within(groups, None) == groups
    assert groups_within(groups, {"a", "c", "e"}) == (("a", "c"),)


def test_near_duplicates_follow_the_store(memory):
    worker = Worker()
    live = LiveDuplicates(memory, worker)
    ids = memory.experience.store_many([*alike(3), attempt("Mend a shoe")])
    assert [set(group) for group in live.latest().groups] == [set(ids[:2])]  # the third one ended otherwise
    memory.experience.delete(ids[:2])
    assert live.latest().groups == ()
    assert live.latest().is_known
    worker.close()


def test_a_group_says_how_its_attempts_went(memory):
    same = tuple(memory.experience.store_many(alike(3, task_id="egg")))
    (line,) = group_lines(memory, [same])
    assert line.label == "3 attempts at one task: 1 succeeded, 2 failed"
    assert [member.outcome for member in line.members] == ["✗ failed", "✗ failed", "✓ succeeded"]


def test_a_selection_knows_what_is_gone_and_how_the_rest_went(memory):
    ids = memory.experience.store_many(attempts(6))
    memory.experience.delete([ids[1]])
    now = selection_summary(memory, ids, "lasso on the map")
    assert now.sentence == "6 selected from lasso on the map"
    assert now.figures == "5 still there, 1 gone since · 67% of 3 with a known outcome succeeded (likely 19–93%)"
    assert now.ids == (ids[0], *ids[2:])
    memory.experience.change_marks(now.ids, pinned=True, add_tags=["new"])
    now = selection_summary(memory, ids, "")
    assert (now.is_all_pinned, now.is_all_retired, now.tags) == (True, False, ("new",))


def test_few_are_compared_and_all_are_listed_in_their_order(memory):
    ids = memory.experience.store_many(attempts(6))
    assert [one.id for one in comparison_columns(memory, ids[::-1])] == ids[:1:-1]
    assert [row.id for row in selection_rows(memory, ids[::-1])] == ids[::-1]
    assert comparison_columns(memory, [ids[1]])[0].facts == "1 Mar 2026, 10:30 UTC · 2 steps"


def test_what_is_exported_can_be_imported_again(memory):
    ids = memory.experience.store_many(attempts(3))
    lines = exported_lines(memory, EXPERIENCE, ids[:2]).decode().splitlines()
    assert [json.loads(line)["experience"]["id"] for line in lines] == ids[:2]


def test_a_proposal_shows_the_memory_before_and_after_and_does_just_that(memory):
    ids = memory.experience.store_many(attempts(6))
    proposal = PruneRequest(among=tuple(ids[:3])).propose(memory)
    assert proposal.removed_ids == tuple(ids[:3])
    assert [(figure.value, figure.before) for figure in proposal.view.figures] == [
        ("3", "6"),
        ("50% of 2 (likely 9–91%), too few to judge", "50% of 4 (likely 15–85%)"),
    ]
    assert proposal.view.heading == "Delete 3 experiences: 1 succeeded, 1 failed, 1 unknown"
    assert (proposal.view.rule, proposal.view.undo) == (
        "",
        "Undo brings all 3 experiences back from the trash, until a purge.",
    )
    assert proposal.view.is_large
    operation_id = proposal.apply(memory)
    assert proposal.done_sentence == "Deleted 3 experiences"
    assert memory.experience.ids() == ids[3:]
    assert memory.history(1)[0].id == operation_id
    memory.undo(operation_id)
    assert memory.experience.ids() == ids


def test_a_proposal_tells_that_removing_outcomes_changes_the_success_rate(memory):
    good, bad, other = memory.experience.store_many(
        [attempt(success=True), attempt(success=False), attempt(success=None)]
    )
    rising, falling = (PruneRequest(among=(record_id,)).propose(memory).view for record_id in (bad, good))
    assert rising.figures == (
        Figure("Experiences", "2", "3"),
        Figure("Success rate", "100% of 1 (likely 16–100%), too few to judge", "50% of 2 (likely 9–91%)"),
    )
    assert rising.notes[0] == "The rate rises because failures are deleted, not because the agent improved."
    assert falling.figures[1].value == "0% of 1 (likely 0–84%), too few to judge"
    assert falling.notes[0] == "The rate falls because successes are deleted, not because the agent got worse."
    assert PruneRequest(among=(other,)).propose(memory).view.heading == "Delete 1 experience: 1 unknown"


def test_a_proposal_says_what_was_learned_from_the_experiences_and_stays(memory):
    taught, other = memory.experience.store_many([attempt("egg", task_id="egg"), attempt("milk", task_id="milk")])
    trajectory_id = memory.experience.get(taught).trajectory_id
    memory.strategies.add(atlas.Strategy(situation="An egg", suggestion="Boil", sources=(trajectory_id,)))
    notes = [PruneRequest(among=ids).propose(memory).view.notes[0] for ids in ((taught, other), (other,))]
    assert notes == [
        "1 strategy was learned from these, and stays.",
        "No strategy and no concept was learned from these.",
    ]
    PruneRequest(among=(taught,)).propose(memory).apply(memory)
    assert memory.strategies.count() == 1


def test_a_proposal_that_no_longer_holds_does_nothing(memory):
    ids = memory.experience.store_many(attempts(4))
    proposal = PruneRequest(among=tuple(ids[:2])).propose(memory)
    memory.experience.edit(ids[0], feedback="changed meanwhile")
    with pytest.raises(atlas.PlanOutdated):
        proposal.apply(memory)
    assert memory.experience.ids() == ids


def test_merging_proposes_the_best_attempt_and_leaves_out_what_is_gone(memory):
    ids = memory.experience.store_many(alike(4))
    memory.experience.delete([ids[0]])
    proposal = MergeRequest(groups=(tuple(ids),)).propose(memory)
    assert proposal.view.button == "Merge 3 experiences into 1"
    assert set(proposal.removed_ids) == {ids[1], ids[2]}
    operation_id = proposal.apply(memory)
    assert proposal.done_sentence == "Merged 3 experiences into 1"
    assert memory.experience.ids() == [ids[3]]
    memory.undo(operation_id)
    assert len(memory.experience) == 3


def test_merging_what_is_gone_is_refused_in_words(memory):
    first, second = memory.experience.store_many(attempts(2))
    memory.experience.delete([first])
    with pytest.raises(atlas.InvalidInput, match="at least two records"):
        MergeRequest(groups=((first, second),)).propose(memory)


def test_what_a_form_leaves_empty_is_no_criterion_and_diversity_alone_is_none():
    empty = {"min_percent": None, "max_age_days": None, "never_retrieved_days": None, "max_count": None}
    assert criteria_of(**empty, keep_diverse=True) == {}
    given = {**empty, "min_percent": 40.0, "max_count": 0}
    assert criteria_of(**given, keep_diverse=True) == {"min_success_rate": 0.4, "max_count": 0, "keep_diverse": True}
