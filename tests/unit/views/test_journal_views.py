"""What the journal's page says: lists, the timeline, an entry's worth and links, plans, contexts, conversations."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sized
from contextlib import closing
from datetime import date, timedelta
from functools import partial
from typing import Any

import pytest

import atlas
from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.types import JournalEntry
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.history.operations import operation_detail, operation_diffs, operation_page
from atlas.views.journal import timeline as timelines
from atlas.views.journal.contexts import FOR_EVOLUTION, FOR_TASK, ContextQuery, context_view, quota_sentence
from atlas.views.journal.conversations import conversation_view, found_turns
from atlas.views.journal.entry import EditableEntry, entry_detail, metadata_in
from atlas.views.journal.kind import ENTRIES
from atlas.views.journal.links import PHRASES, SHOWN, candidates, entry_links, suggested_links
from atlas.views.journal.list import entry_rows
from atlas.views.journal.proposals import CompactRequest, tier_sizes
from atlas.views.journal.refused import gate_views, refused_listing
from atlas.views.journal.timeline import MAX_BARS, OTHERS, Timeline, brush_range, timeline_caption, timeline_chart
from atlas.views.kinds.filters import options_of
from atlas.views.kinds.journal import FIXED, JOURNAL, NOT_FIXED, fix_condition
from atlas.views.kinds.journal_words import state_word
from atlas.views.lists.listing import found_page, listed_page
from atlas.views.lists.queries import PAGE_ROWS, Narrowing, Query, query_of, search
from tests.support.records import START, entry


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(tmp_path, clock):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings(), clock=clock) as opened:
        yield opened


def asked(memory, order: str = "", **values) -> Query:
    """A question that narrows the list."""
    return query_of(memory, JOURNAL, values=values, order=order)


def timeline(memory, query: Query) -> Timeline:
    """The timeline as it is drawn on the day of the memory's clock."""
    return timelines.timeline(memory, query, memory.storage.ledger.clock.now().toordinal())


def listed(memory, **narrowed) -> list[int]:
    """The generations of what a list shows."""
    return [row.generation for row in listed_page(memory, ENTRIES, asked(memory, **narrowed)).rows]


def test_a_list_is_narrowed_by_type_generation_tier_tag_and_metadata(memory):
    ids = memory.journal.add_entries(
        [
            entry(1, metadata={"file": "a.py", "line": 7}),
            entry(2, metadata={"file": "解析.py", "line": 8}, tier="cold"),
            entry(3, metadata={"file": "a.py", "done": True}),
        ]
    )
    memory.journal.change_marks([ids[1]], add_tags=["odd"])
    assert listed(memory) == [3, 2, 1]
    assert listed(memory, order="Oldest first") == [1, 2, 3]
    assert listed(memory, types=("crash_log",)) == [1]
    assert listed(memory, since=2, until=2) == [2]
    assert listed(memory, since=2) == [3, 2]
    assert listed(memory, tiers=("cold",)) == [2]
    assert listed(memory, tags=("odd",)) == [2]
    assert listed(memory, meta=("file=解析.py",)) == [2]
    assert listed(memory, meta=("line=7",)) == [1]
    assert listed(memory, meta=("done=true",)) == [3]
    assert listed(memory, meta=("file=a.py", "line=7")) == [1]
    assert listed(memory, meta=("file=a.py", "line=8")) == []
    assert listed_page(memory, ENTRIES, asked(memory, since=2)).caption == "2 of 3 entries · newest first"
    options = options_of(JOURNAL.filters, memory.journal)
    assert [options[name] for name in ("tiers", "tags", "meta")] == [
        {"hot": 2, "cold": 1},
        {"odd": 1},
        {"file=a.py": 2},
    ]


def test_a_search_says_why_and_finds_what_is_archived(memory):
    memory.journal.add_entries([entry(n) for n in range(4)] + [entry(9, content="the lock timed out", tier="archived")])
    query = Query(text="the lock timed out")
    row = found_page(memory, ENTRIES, query, search(memory, JOURNAL, query)).rows[0]
    assert (row.generation, row.tier) == (9, "archived")
    assert row.why
    words = Query(text="lock", by="Words")
    listing = found_page(memory, ENTRIES, words, search(memory, JOURNAL, words))
    assert ([one.generation for one in listing.rows], listing.rows[0].relevance) == ([9], None)
    assert listing.caption == "1 that holds any of these words among 5 entries, best match first"


def test_the_timeline_counts_every_entry_once_crashes_without_a_fix_first(memory):
    ids = memory.journal.add_entries([entry(n, entry_type="crash_log" if n % 5 == 0 else "task") for n in range(1, 21)])
    memory.journal.link(ids[4], ids[5], "fixed_by")
    shown = timeline(memory, asked(memory, since=3))
    assert [(lane.name, lane.n_entries) for lane in shown.lanes] == [(NOT_FIXED, 3), (FIXED, 1), (OTHERS, 16)]
    assert (shown.first_position, shown.last_position, shown.width) == (1, 20, 1)
    assert "rounds 1 to 20. Crashes without a fix: 3. Crashes with a fix: 1. Other entries: 16." in timeline_caption(
        shown
    )
    unfixed, fixed = timeline(memory, asked(memory, types=("crash_log",))).lanes
    assert (dict(unfixed.counts), dict(fixed.counts)) == ({10: 1, 15: 1, 20: 1}, {5: 1})
    colours = [bars["marker"]["color"] for bars in timeline_chart(shown)["data"]]
    assert len({*colours}) == 3
    assert "■ other entries" in re.sub("<.*?>", "", timeline_chart(shown)["layout"]["annotations"][0]["text"])


def test_of_many_generations_a_bar_stands_for_several_and_none_is_lost(memory):
    memory.journal.add_entries([entry(n, entry_type="task", created_at=START) for n in range(1, 1002, 2)])
    shown = timeline(memory, Query())
    chart = timeline_chart(shown)
    [bars] = chart["data"]
    assert "■" not in chart["layout"]["annotations"][0]["text"], "all bars have one colour"
    assert len(bars["x"]) <= MAX_BARS
    assert sum(n for _, n in bars["customdata"]) == 501
    assert bars["customdata"][0] == ["rounds 1 to 9", 5]


def days(*numbers: int) -> list[JournalEntry]:
    """Entries of some days after the start, of which the first is a crash."""
    return [
        entry(n, entry_type="task" if n else "crash_log", created_at=START + timedelta(days=number))
        for n, number in enumerate(numbers)
    ]


def test_the_bars_are_of_days_however_few_days_a_filter_leaves(memory):
    memory.journal.add_entries(days(0, 0, 1, 5, 9))
    assert timeline_caption(timeline(memory, asked(memory, types=("crash_log",)))).startswith(
        "1 entry of 1 Mar 2026. Crashes without a fix: 1. Entries by day"
    )


def test_the_bars_leave_out_an_entry_whose_day_is_damaged(memory, tmp_path):
    memory.journal.add_entries(days(0, 1, 2, 5, 9))
    with closing(sqlite3.connect(tmp_path / "atlas.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE attributes SET value = '2026-13-77' WHERE value LIKE '2026-03-10%'")
    assert timeline_caption(timeline(memory, Query())).startswith("4 entries of 1 Mar 2026 to 6 Mar 2026")


def test_entries_of_several_days_are_drawn_by_day_and_a_brush_takes_days(memory):
    memory.journal.add_entries(days(0, 0, 1, 5, 9))
    shown = timeline(memory, asked(memory, first_day=date(2026, 3, 6)))
    assert timeline_caption(shown) == (
        "5 entries of 1 Mar 2026 to 10 Mar 2026. Crashes without a fix: 1. Other entries: 4. "
        "Entries by day. Drag across the bars to narrow the list."
    )
    crashes, others = timeline_chart(shown)["data"]
    assert (crashes["x"], crashes["y"]) == (["2026-03-01T00:00:00"], [1])
    assert others["customdata"] == [["1 Mar 2026", 1], ["2 Mar 2026", 1], ["6 Mar 2026", 1], ["10 Mar 2026", 1]]
    chosen = brush_range({"box": [{"x": ["2026-03-01 07:12:00.5", "2026-03-06 10:00"]}]}, shown)
    assert [date.fromordinal(position) for position in chosen] == [date(2026, 3, 2), date(2026, 3, 6)]
    assert listed(memory, first_day=date(2026, 3, 2), last_day=date(2026, 3, 6)) == [3, 2]


def test_entries_of_many_days_are_drawn_by_weeks_from_monday_to_sunday(memory):
    memory.journal.add_entries(days(0, 1, 7, 8, 60))
    shown = timeline(memory, Query())
    bars = [bar for lane in timeline_chart(shown)["data"] for bar in lane["customdata"]]
    assert bars == [
        ["23 Feb 2026 to 1 Mar 2026", 1], ["2 Mar 2026 to 8 Mar 2026", 2], ["9 Mar 2026 to 15 Mar 2026", 1],
        ["27 Apr 2026 to 30 Apr 2026", 1],
    ]  # fmt: skip
    axis = timeline_chart(shown)["layout"]["xaxis"]
    assert (axis["tickvals"][0], axis["ticktext"][0]) == ("2026-02-26T00:00:00", "23 Feb 2026")
    assert "Entries by week." in timeline_caption(shown)


def test_entries_of_several_writers_name_them(memory, tmp_path):
    memory.journal.add("observation", "the queue was full of old parcels", metadata={"agent": "tern-3"}, generation=1)
    rows = listed_page(memory, ENTRIES, Query()).rows
    assert [row.writer for row in rows] == [""]
    actor = atlas.Settings(actor="gull-7")
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=actor, clock=FixedClock(START)) as other:
        other.journal.add("observation", "the scanner lost its network twice", generation=2)
        other.journal.as_operation("import").add_entries([entry(3, entry_type="task")])
    rows = listed_page(memory, ENTRIES, Query()).rows
    assert {row.generation: row.writer for row in rows} == {1: "tern-3", 2: "gull-7", 3: ""}
    words = Query(text="queue scanner", by="Words")
    found = found_page(memory, ENTRIES, words, search(memory, JOURNAL, words))
    assert {row.writer for row in found.rows} == {"tern-3", "gull-7"}


def test_the_timeline_shows_no_names_of_types_and_shades_what_is_chosen(memory):
    memory.journal.add_entries([entry(n, entry_type=f"<b>{n}</b>{{x}}") for n in range(12)])
    shown = timeline(memory, Query())
    assert [(lane.name, lane.n_entries) for lane in shown.lanes] == [(OTHERS, 12)]
    chart = timeline_chart(shown, since=2)
    assert "<b>" not in str(chart)
    assert (chart["layout"]["shapes"][0]["x0"], chart["layout"]["shapes"][0]["x1"]) == (1.5, 11.5)


def test_a_brush_takes_whole_generations_that_there_are(memory):
    memory.journal.add_entries([entry(n) for n in range(1, 21)])
    shown = timeline(memory, Query())
    assert brush_range({"box": [{"x": [4.4, 9.7]}]}, shown) == (5, 9)
    assert brush_range({"box": [{"x": [99.0, -5.0]}]}, shown) == (1, 20)
    assert brush_range({"box": []}, shown) is None
    assert brush_range({}, shown) is None


def test_an_entry_says_what_it_is_worth_and_what_was_written_around_it(memory, clock):
    ids = memory.journal.add_entries([entry(n) for n in range(12)])
    clock.advance(timedelta(days=30))
    detail = entry_detail(memory, ids[5])
    assert [row.generation for row in detail.before] == [1, 2, 3, 4]
    assert [row.generation for row in detail.after] == [6, 7, 8, 9]
    assert any("start at 0.75" in sentence for sentence in detail.worth)
    memory.journal.edit(ids[5], importance=0.2)
    memory.journal.record_use(ids[5], success=True)
    assert any("set to 0.20" in sentence for sentence in entry_detail(memory, ids[5]).worth)
    assert any("make it 0.28" in sentence for sentence in entry_detail(memory, ids[5]).worth)
    assert entry_detail(memory, "gone") is None


def test_an_entry_names_its_state_unless_it_is_active(memory):
    active, faded = memory.journal.add_entries([entry(1), entry(2, tier="cold")])
    assert "State" not in [fact.name for fact in entry_detail(memory, active).facts]
    assert state_word("cold") in [fact.value for fact in entry_detail(memory, faded).facts]


def test_entries_of_one_instant_are_neighbours_in_the_order_in_which_they_were_added(memory):
    instants = [0, *[1] * 8, 2]
    ids = memory.journal.add_entries(
        [entry(n, created_at=START + timedelta(hours=at)) for n, at in enumerate(instants)]
    )
    around = {n: entry_detail(memory, entry_id) for n, entry_id in enumerate(ids)}
    assert [row.generation for row in around[6].before] == [2, 3, 4, 5]
    assert [row.generation for row in around[6].after] == [7, 8, 9]
    assert [row.generation for row in around[2].before] == [0, 1]
    assert [row.generation for row in around[9].before] == [5, 6, 7, 8]
    assert [row.generation for row in around[0].after] == [1, 2, 3, 4]


def test_what_was_typed_becomes_the_changes_that_an_edit_takes():
    stored = entry(3, metadata={"a": 1})
    begun = EditableEntry.of(stored)
    typed = EditableEntry(content=begun.content, generation=4, importance=0.5, tier="warm", metadata='{"a": 2}')
    assert typed.changes(begun, stored) == {"generation": 4, "tier": "warm", "metadata": {"a": 2}}
    with pytest.raises(InvalidInput, match="should be JSON such as"):
        metadata_in("{a: 1}")
    with pytest.raises(InvalidInput, match="should be a JSON object"):
        metadata_in("[1]")


def threaded(memory, entry_id, depth=3):
    return [(line.depth, line.words, line.row.id) for line in entry_links(memory, entry_id, depth).thread]


def test_linked_entries_are_a_thread_from_the_crash_to_its_fix(memory):
    crash, reflection, fix, alone = memory.journal.add_entries([entry(n) for n in (1, 2, 3, 4)])
    memory.journal.link(reflection, crash, "caused_by")
    memory.journal.link(reflection, fix, "fixed_by")
    whole = [(0, "", crash), (1, "followed from it", reflection), (2, "fixed it", fix)]
    assert threaded(memory, crash) == threaded(memory, fix) == whole
    assert [line.is_open for line in entry_links(memory, fix, 3).thread] == [False, False, True]
    assert threaded(memory, fix, depth=1) == [(0, "", reflection), (1, "fixed it", fix)]
    assert threaded(memory, alone) == []


def test_related_entries_are_a_thread_in_the_order_of_time(memory):
    earlier, later = memory.journal.add_entries([entry(1), entry(2)])
    memory.journal.link(later, earlier, "related")
    assert threaded(memory, later) == [(0, "", earlier), (1, "is related to it", later)]


def test_an_entry_that_follows_from_several_is_repeated_below_each_but_not_what_follows_from_it(memory):
    one, two, both, last = memory.journal.add_entries([entry(n) for n in (1, 2, 3, 4)])
    memory.journal.link(both, one, "refers_to")
    memory.journal.link(both, two, "refers_to")
    memory.journal.link(last, both, "refers_to")
    lines = entry_links(memory, both, 2).thread
    assert [line.row.id for line in lines] == [one, both, last, two, both]
    assert [line.is_repeated for line in lines] == [False, False, False, False, True]


def test_a_circle_of_links_begins_with_its_earliest_entry(memory):
    one, two = memory.journal.add_entries([entry(1), entry(2)])
    memory.journal.link(one, two, "caused_by")
    memory.journal.link(two, one, "caused_by")
    assert threaded(memory, two) == [(0, "", one), (1, "followed from it", two), (2, "followed from it", one)]


def test_only_the_nearest_of_many_linked_entries_are_shown(memory):
    hub, *others = memory.journal.add_entries([entry(n) for n in range(SHOWN + 6)])
    for other in others:
        memory.journal.link(other, hub, "refers_to")
    links = entry_links(memory, hub, 1)
    assert (len(links.thread), links.n_hidden) == (SHOWN + 1, 5)


def test_links_are_told_in_both_directions(memory):
    crash, fix, far = memory.journal.add_entries([entry(1), entry(2), entry(3, entry_type="summary")])
    memory.journal.link(crash, fix, "fixed_by")
    memory.journal.link(far, fix, "summarises")
    links = entry_links(memory, fix, depth=1)
    assert {(one.words, one.other.id) for one in links.direct} == {("fix of", crash), ("summarised by", far)}
    assert PHRASES["fix of"] == ("fixed_by", True)


def test_an_entry_to_link_to_is_found_by_what_it_says_and_by_its_id(memory):
    ids = memory.journal.add_entries([entry(n) for n in range(3)])
    assert [row.id for row in candidates(memory, ids[0], ids[2])] == [ids[2]]
    assert ids[0] not in [row.id for row in candidates(memory, ids[0], "worker of customer")]


def test_a_suggested_link_shows_both_ends(memory):
    said = "the parser fails on an empty list of numbers"
    memory.journal.add_entries(
        [entry(1, entry_type="crash_log", content=said), entry(2, entry_type="reflection", content=f"{said}, always")]
    )
    [one] = suggested_links(memory)
    assert (one.source.entry_type, one.target.entry_type) == ("crash", "reflection")
    assert one.reason.startswith("a reflection 1 round later is on the same subject")
    memory.journal.link(one.source.id, one.target.id, "fixed_by")
    assert [line.colour for line in entry_links(memory, one.source.id).thread] == ["red", "gray"]
    memory.journal.unlink(one.source.id, one.target.id)
    memory.journal.refuse_link(one.suggestion)
    assert suggested_links(memory) == ()


def test_compacting_is_proposed_as_it_is_applied_and_taken_back(memory, clock):
    memory.journal.add_entries([entry(n, entry_type="observation", importance=0.3) for n in range(30)])
    clock.advance(timedelta(days=60))
    before = tier_sizes(memory)
    proposal = CompactRequest(plan=memory.journal.plan_compact(5)).propose(memory)
    assert proposal.view.is_large
    assert proposal.view.n_going == 25
    [summary] = proposal.summaries
    assert summary.headline == "Rounds 0 to 24: one summary of 25 entries"
    assert len(summary.sources) == 25
    assert summary.origin == "Sentences picked from its entries"
    assert proposal.view.button == "Move 25 entries, write 1 summary"
    operation_id = proposal.apply(memory)
    assert proposal.removed_ids == ()
    assert proposal.done_sentence == "Moved 25 entries, wrote 1 summary"
    assert {state_word(tier).capitalize(): f"{n:,}" for tier, n in tier_sizes(memory).items()} == {
        figure.name: figure.value for figure in proposal.view.figures
    }
    assert operation_detail(memory, operation_id).row.sentence.startswith("Shortened ")
    memory.undo(operation_id)
    assert tier_sizes(memory) == before


def test_a_compaction_of_a_journal_that_has_changed_is_refused(memory, clock):
    ids = memory.journal.add_entries([entry(n, entry_type="observation", importance=0.3) for n in range(30)])
    clock.advance(timedelta(days=60))
    proposal = CompactRequest(plan=memory.journal.plan_compact(5)).propose(memory)
    memory.journal.edit(ids[0], importance=1.0)
    with pytest.raises(PlanOutdated):
        proposal.apply(memory)


def test_deleting_says_what_links_to_what_goes(memory):
    ids = memory.journal.add_entries([entry(n) for n in range(3)])
    memory.journal.link(ids[0], ids[1], "related")
    proposal = ENTRIES.act("delete").request((ids[1], "gone")).propose(memory)
    assert [(row.id, row.goes) for row in proposal.view.rows] == [(ids[1], True), (ids[0], False)]
    assert proposal.view.notes[0] == "1 of those chosen is not there any more."
    operation_id = proposal.apply(memory)
    assert proposal.done_sentence == "Deleted 1 entry"
    assert memory.journal.count() == 2
    memory.undo(operation_id)
    assert memory.journal.count() == 3
    memory.journal.delete([ids[0]])
    with pytest.raises(PlanOutdated):
        proposal.apply(memory)


def test_a_context_is_what_an_agent_would_be_told_and_looking_counts_as_no_retrieval(memory):
    ids = memory.journal.add_entries([entry(n) for n in range(20)])
    view = context_view(memory, ContextQuery(limit=4))
    assert [told.row.entry_type for told in view.entries][:2] == ["crash", "crash"]
    assert view.caption == f"4 entries, about {view.n_tokens} tokens, the most urgent first"
    assert context_view(memory, ContextQuery(limit=None, token_budget=40)).n_tokens <= 40
    assert context_view(memory, ContextQuery(purpose=FOR_TASK, task="the worker of customer 3")).entries
    assert all(used.n_retrieved == 0 for used in memory.journal.usage(ids).values())
    assert "2 crashes" in quota_sentence(FOR_EVOLUTION)


def test_a_row_shows_only_states_that_prompts_leave_out(memory):
    tiers = ("hot", "warm", "cold", "archived")
    ids = memory.journal.add_entries([entry(n, tier=tier) for n, tier in enumerate(tiers)])
    rows = {row.id: row.marks for row in listed_page(memory, ENTRIES, asked(memory)).rows}
    assert [rows[entry_id] for entry_id in ids] == ["", "", "search only", "archived"]


def test_a_conversation_marks_what_an_agent_is_reminded_of(memory, clock):
    for number in range(8):
        clock.advance(timedelta(minutes=3))
        memory.conversations.add(f"Question {number}", f"Answer {number}", "main")
    shown = conversation_view(memory, "main", 6)
    assert [(turn.user_text.whole, turn.is_live) for turn in shown.turns] == [
        ("Question 2", False),
        ("Question 3", False),
        ("Question 4", True),
        ("Question 5", True),
        ("Question 6", True),
        ("Question 7", True),
    ]
    assert shown.n_earlier == 2
    assert shown.window.endswith("no older than 10 minutes: 4 turns now.")
    assert found_turns(memory, "Question 3 Answer 3", "main")[0].user_text.whole == "Question 3"
    assert found_turns(memory, "Question 3 Answer 3", "other") == ()


def test_what_a_gate_kept_out_is_counted_and_says_why(memory, clock):
    held = memory.journal.add("observation", "The worker read all pages of the report", generation=1)
    memory.journal.add("observation", "ok", generation=2)
    clock.advance(timedelta(minutes=1))
    memory.journal.add("observation", "The worker read all pages of the report", generation=3)
    listing = refused_listing(memory)
    assert listing.n == 2
    assert dict(listing.by_gate) == {"tell nothing": 1, "repeat an entry of the same type": 1}
    assert [(one.generation, one.like_id) for one in listing.entries] == [(3, held), (2, "")]
    assert held not in listing.entries[0].reason
    assert held[:8] in listing.entries[0].reason


def test_each_gate_says_whether_it_is_on_and_who_says_so(memory):
    memory.journal.switch_gate("noise", False)
    memory.journal.keep_repetitions = True
    noise, repetitions = gate_views(memory)
    assert (noise.is_on, noise.is_overridden) == (False, False)
    assert noise.effect == "Entries of fewer than 3 different words are accepted"
    assert noise.reason == "Switched off for everyone who writes to this store."
    assert (repetitions.is_on, repetitions.is_overridden) == (False, True)
    assert repetitions.reason == "ATLAS_KEEP_REPETITIONS is set here and overrides the store's setting."


def test_the_history_tells_of_entries(memory):
    memory.journal.add("reflection", "The parser should be told of empty lists", generation=1)
    memory.journal.add_entries([entry(n) for n in range(3)])
    counts = [row.counts for row in operation_page(memory).rows]
    assert counts == ["3 entries added", "entry The parser should be told of empty lists added"]


def test_a_crash_says_whether_it_is_fixed(memory):
    task, crash = memory.journal.add_entries([entry(1, entry_type="task"), entry(2, entry_type="crash_log")])
    assert links_shown(memory) == ["✗ no fix yet", ""]
    assert [row.state for row in listed_page(memory, ENTRIES, Query()).rows] == ["problem", ""]
    memory.journal.link(crash, task, "fixed_by")
    assert links_shown(memory) == ["✓ fixed 1 Mar 2026", "✓ fixes the crash of 1 Mar 2026"]
    open_crashes = Query(where={"id": fix_condition(memory.journal, NOT_FIXED)})
    assert not listed_page(memory, ENTRIES, open_crashes).rows
    memory.journal.unlink(crash, task, "fixed_by")
    open_crashes = Query(where={"id": fix_condition(memory.journal, NOT_FIXED)})
    assert [row.id for row in listed_page(memory, ENTRIES, open_crashes).rows] == [crash]
    listing = listed_page(memory, ENTRIES, Query())
    assert (listing.caption, listing.narrowing) == (
        "2 entries · 1 Mar 2026 · newest first",
        Narrowing("1 of 1 crash has no fix yet", "fixes", NOT_FIXED),
    )


def test_a_crash_without_a_fix_says_for_how_many_days(memory):
    memory.journal.add_entries([entry(1, entry_type="crash_log", created_at=START - timedelta(days=18))])
    assert links_shown(memory) == ["✗ no fix yet · 18 days"]
    assert [row.state for row in listed_page(memory, ENTRIES, Query()).rows] == ["problem"]


def test_the_days_since_a_crash_are_those_between_the_dates_that_are_shown(memory, clock):
    memory.journal.add_entries([entry(1, entry_type="crash_log", created_at=START.replace(hour=23, minute=59))])
    clock.advance(timedelta(days=3) - (START - START.replace(hour=0, minute=1)))
    assert links_shown(memory) == ["✗ no fix yet · 3 days"]


def test_a_reflection_that_became_a_strategy_says_so_until_that_is_deleted(memory):
    kept = memory.journal.add("reflection", "Refunds fail at night. Try again in the morning.", generation=1)
    memory.apply_promotion(memory.plan_promotion(kept))
    assert [row.facts for row in listed_page(memory, ENTRIES, Query()).rows] == [("became a strategy",)]
    assert [row.facts for row in entry_rows(memory, [memory.journal.get(kept)])] == [("became a strategy",)]
    memory.strategies.delete(memory.strategies.ids())
    assert [row.facts for row in listed_page(memory, ENTRIES, Query()).rows] == [()]


def test_the_axis_of_the_bars_runs_to_today_unless_that_leaves_most_of_it_empty(memory, clock):
    memory.journal.add_entries(days(0, 1, 2, 5, 9))
    last = timeline(memory, Query()).last_position
    clock.advance(timedelta(days=last - clock.now().toordinal() + 4))
    assert timeline(memory, Query()).end == last + 5
    assert timeline_caption(timeline(memory, Query())).startswith("5 entries of 1 Mar 2026 to 10 Mar 2026")
    clock.advance(timedelta(days=30))
    assert timeline(memory, Query()).end == last + 1


def test_a_crash_and_its_fix_name_each_others_day_and_stand_in_the_order_of_time(memory):
    kinds = ("crash_log", "crash_log", "task", "reflection", "reflection")
    first, second, task, fix, last = memory.journal.add_entries(
        [entry(1, entry_type=kind, created_at=START + timedelta(days=n)) for n, kind in enumerate(kinds)]
    )
    memory.journal.link(first, fix, "fixed_by")
    for crash in (first, second):
        memory.journal.link(crash, last, "fixed_by")
    newest, oldest = (
        listed_page(memory, ENTRIES, Query(order=order)).rows for order in ("Newest first", "Oldest first")
    )
    assert [row.id for row in newest] == [last, fix, task, second, first]
    assert [row.id for row in oldest] == [first, second, task, fix, last]
    assert [row.links for row in oldest] == [
        "✓ fixed 4 Mar 2026",
        "✓ fixed 5 Mar 2026",
        "",
        "✓ fixes the crash of 1 Mar 2026",
        "✓ fixes 2 crashes",
    ]
    words = Query(text="customer", by="Words")
    found = found_page(memory, ENTRIES, words, search(memory, JOURNAL, words)).rows
    assert {row.id: row.links for row in found} == {row.id: row.links for row in newest}


def test_a_row_shows_an_importance_that_is_high(memory):
    memory.journal.add_entries(
        [entry(n, entry_type="task", importance=importance) for n, importance in enumerate((0.9, 0.6, 0.4))]
    )
    rows = listed_page(memory, ENTRIES, Query()).rows
    assert [row.facts for row in rows] == [(), (), ("high importance",)]


def test_a_fix_on_another_page_than_its_crash_names_it(memory):
    crash, *_, fix = memory.journal.add_entries(
        [entry(n, entry_type="task" if n else "crash_log") for n in range(PAGE_ROWS + 1)]
    )
    memory.journal.link(crash, fix, "fixed_by")
    pages = [listed_page(memory, ENTRIES, Query(), page).rows for page in (1, 2)]
    assert (pages[0][0].id, pages[0][0].links) == (fix, "✓ fixes the crash of 1 Mar 2026")
    assert [(row.id, row.links) for row in pages[1]] == [(crash, "✓ fixed 2 Mar 2026")]


class CountedReads:
    """A collection that counts the records, or the values of records, that it returns."""

    def __init__(self, collection: Any) -> None:
        self._collection = collection
        self.n = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._collection, name)
        return partial(self._counted, found) if callable(found) else found

    def _counted(self, read: Any, *args: Any, **kwargs: Any) -> Any:
        result = read(*args, **kwargs)
        self.n += len(result) if isinstance(result, Sized) else 0
        return result


def test_a_page_of_a_longer_journal_reads_no_more_records(memory):
    n_read = []
    reads = memory.journal._store = CountedReads(memory.journal._store)
    for n in range(3):
        ids = memory.journal.add_entries([entry(n * 100 + i) for i in range(100)])
        memory.journal.link(ids[0], ids[99], "fixed_by")
        for order in ("Newest first", "Oldest first"):
            reads.n = 0
            assert len(listed_page(memory, ENTRIES, Query(order=order, distinct=True), 3).rows) == PAGE_ROWS
            n_read.append(reads.n)
    assert max(n_read) < 3 * PAGE_ROWS
    assert n_read[-2:] == n_read[2:4]


def links_shown(memory: atlas.MemorySystem) -> list[str]:
    """The links of each entry in the list."""
    return [row.links for row in listed_page(memory, ENTRIES, Query()).rows]


def test_letting_in_what_a_gate_kept_out_is_told_as_a_change_of_the_journal(memory):
    memory.journal.add("observation", "ok ok.", generation=7)
    memory.journal.accept(memory.journal.rejected().latest[0].id)
    [row, *_] = operation_page(memory).rows
    assert row.sentence == "Stored entry “ok ok”"
    assert {diff.page for diff in operation_diffs(memory, row.id)} == {"journal"}
