"""What the pages say of strategies: how surely they work, what writing and merging would do, and the history."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from datetime import timedelta

import pytest

import atlas
from atlas.core.errors import InvalidInput, NotFound, PlanOutdated
from atlas.core.operations import Use
from atlas.core.statistics import Interval
from atlas.core.types import Strategy
from atlas.memory.strategies.records import WARNING
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.charts.interval_bars import interval_bar
from atlas.views.history.operations import operation_page
from atlas.views.kinds.filters import options_of
from atlas.views.kinds.kind import SUREST
from atlas.views.kinds.strategy import HIGHEST, MOST_TRIED_FIRST, READ, RETIRED, STRATEGY
from atlas.views.kinds.uses import UNUSED, WORSE
from atlas.views.lists.facts import Fact
from atlas.views.lists.findings import count_with_uses
from atlas.views.lists.listing import found_page, listed_page
from atlas.views.lists.queries import Narrowing, Query, query_of, search
from atlas.views.lists.selection import chosen_used
from atlas.views.lists.uses import use_rows
from atlas.views.shared.retirement import BringBackPlan, RetireRequest
from atlas.views.shared.state import uses_seen
from atlas.views.shared.wording import day_text
from atlas.views.strategies.charts import tries_caption, tries_chart, updater_estimates, updaters_chart
from atlas.views.strategies.kind import STRATEGIES
from atlas.views.strategies.overview import strategy_counts
from atlas.views.strategies.parameters import parameters_in, parameters_text
from atlas.views.strategies.strategy import (
    EditableStrategy,
    effect_view,
    strategy_detail,
)
from atlas.views.strategies.writing import MAX_ASKED, propose_writing, write_by_hand
from atlas.views.trace.ending import ending_of
from tests.support.records import attempt

NOW = FixedClock().now()


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings(), clock=FixedClock()) as opened:
        yield opened


def strategy(situation="refund a cancelled flight", suggestion="look the booking up first", **fields):
    return Strategy(situation=situation, suggestion=suggestion, **fields)


def tried(memory, strategy_id, n_succeeded, n):
    for number in range(n):
        memory.strategies.update_stats(strategy_id, number < n_succeeded, task_id=f"t{number}")


def uses(*outcomes):
    return [
        Use(record_id="s", success=success, task_id="t", trajectory_id="", at=NOW, actor="a") for success in outcomes
    ]


def listed(memory, order="", **values):
    asked = query_of(memory, STRATEGY, values=values, order=order)
    return [row.title for row in listed_page(memory, STRATEGIES, asked).rows]


def at(task_id, success=True, description="refund the cancelled flight of a customer"):
    steps = tuple(atlas.Step(action=f"{call}(booking)") for call in ("look_up", "check_policy", "refund"))
    return attempt(description, task_id=task_id, success=success, steps=steps)


def test_a_row_says_how_sure_its_rate_is_and_that_nobody_tried(memory):
    sure, untried = memory.strategies.add(strategy(title="sure")), memory.strategies.add(strategy("a", title="untried"))
    tried(memory, sure, 3, 4)
    rows = {row.id: row for row in listed_page(memory, STRATEGIES, Query()).rows}
    assert (rows[sure].succeeded, rows[sure].record.rate, rows[sure].record.tries) == ("3 of 4", 0.75, "3 of 4 uses")
    assert (rows[untried].succeeded, rows[untried].record.rate) == ("not used yet", None)


def test_a_strategy_that_was_not_tried_has_no_rate_from_the_attempts_that_it_was_written_from(memory):
    sources = [at("a") for _ in range(4)]
    memory.experience.store_many(sources)
    one = memory.strategies.add(strategy(title="one", sources=tuple(source.id for source in sources)))
    [row] = listed_page(memory, STRATEGIES, Query()).rows
    assert (row.succeeded, row.record.rate) == ("not used yet", None)
    found = strategy_detail(memory, one)
    assert Fact("Learned from", "4 attempts: 4 succeeded") in found.facts
    assert found.headline == "It has not been used yet."
    assert memory.strategies.rate(one).rate is None
    assert memory.strategies.to_pandas()["rate"].isna().all()


def test_strategies_that_were_not_tried_are_last_in_every_order_by_tries(memory):
    sources = [at("a") for _ in range(4)]
    memory.experience.store_many(sources)
    bad = memory.strategies.add(strategy("bad", title="bad"))
    ids = tuple(source.id for source in sources)
    memory.strategies.add(strategy("older", title="older", sources=ids, created_at=NOW - timedelta(days=1)))
    memory.strategies.add(strategy("newer", title="newer", created_at=NOW))
    tried(memory, bad, 0, 5)
    for order in (SUREST, HIGHEST, MOST_TRIED_FIRST):
        assert listed(memory, order=order) == ["bad", "newer", "older"]


def test_the_list_is_sorted_by_how_sure_how_high_and_how_much_tried(memory):
    often, once, never = (memory.strategies.add(strategy(name, title=name)) for name in ("often", "once", "never"))
    tried(memory, often, 8, 10)
    tried(memory, once, 1, 1)
    assert listed(memory, order=SUREST) == ["often", "once", "never"]
    assert listed(memory, order=HIGHEST) == ["once", "often", "never"]
    assert listed(memory, order=MOST_TRIED_FIRST) == ["often", "once", "never"]
    assert listed(memory, order="Title, A to Z") == ["never", "often", "once"]
    assert uses_seen(memory, STRATEGY) == 11
    assert never


def test_a_row_says_what_to_do_or_to_avoid(memory):
    memory.strategies.add(strategy(title="do", suggestion="First:\n1. Read {log}.\n2. Raise the limit."))
    memory.strategies.add(strategy("a", title="avoid", suggestion="Start it again.", metadata={WARNING: True}))
    rows = {row.title: row.advice for row in listed_page(memory, STRATEGIES, Query()).rows}
    assert rows == {"do": "Do: Read {log}. Raise the limit.", "avoid": "Avoid: Start it again."}


def test_a_strategy_is_called_clearly_worse_in_its_row_and_by_the_finding(memory):
    good, worse, unclear = (memory.strategies.add(strategy(name, title=name)) for name in ("good", "worse", "unclear"))
    tried(memory, good, 20, 20)
    tried(memory, worse, 1, 7)
    tried(memory, unclear, 1, 2)
    rows = listed_page(memory, STRATEGIES, Query()).rows
    assert {row.title: row.state for row in rows} == {"good": "", "worse": "problem", "unclear": ""}
    verdicts = {row.title: row.record.verdict for row in rows}
    assert verdicts == {"good": "mostly works", "worse": "clearly worse", "unclear": "not clear yet"}
    assert [row.record.others for row in rows if row.record.others] == ["95%"]
    finding = count_with_uses(memory, STRATEGY, Query())
    assert (finding.n, finding.note) == (3, "1 mostly works · 1 not clear yet")
    assert finding.narrowing == Narrowing("1 clearly worse: look at it", "state", WORSE)
    assert listed(memory, state=WORSE) == ["worse"]


def test_the_head_of_a_list_counts_a_strategy_that_mostly_fails_as_its_row_says(memory):
    failing = memory.strategies.add(strategy("failing", title="failing"))
    memory.strategies.add(strategy("unused", title="unused"))
    tried(memory, failing, 0, 9)
    verdicts = {row.title: row.record.verdict for row in listed_page(memory, STRATEGIES, Query()).rows}
    finding = count_with_uses(memory, STRATEGY, Query())
    assert verdicts["failing"] == "mostly fails"
    assert (finding.note, finding.narrowing) == ("1 mostly fails · 1 not used yet", None)


def test_the_list_is_narrowed_by_writer_domain_tag_and_what_agents_are_given(memory):
    by_pattern = memory.strategies.add(
        strategy(title="pattern", metadata={"derived_by": "template", "domain": "airline"})
    )
    outworn = memory.strategies.add(strategy("b", title="outworn"))
    tried(memory, outworn, 0, 12)
    memory.strategies.change_marks([outworn], add_tags=["bad"])
    assert options_of(STRATEGY.filters, memory.strategies)["written_by"] == {"template": 1}
    assert listed(memory, written_by=("template",)) == ["pattern"]
    assert listed(memory, domain=("airline",)) == ["pattern"]
    assert listed(memory, tag=("bad",)) == ["outworn"]
    assert listed(memory, state=READ) == ["pattern"]
    assert listed(memory, state=RETIRED) == ["outworn"]
    assert listed(memory, state=WORSE) == [], "it is retired"
    assert listed(memory, state=UNUSED) == ["pattern"]
    assert (
        listed_page(memory, STRATEGIES, query_of(memory, STRATEGY, values={"state": RETIRED})).caption
        == "1 of 2 strategies"
    )
    memory.strategies.retire([by_pattern])
    assert listed(memory, state=READ) == []


def test_a_search_ranks_as_agents_are_given_them_retired_ones_too(memory):
    memory.strategies.add(strategy(title="refund"))
    retired = memory.strategies.add(strategy("refund a cancelled flight twice", title="retired"))
    memory.strategies.retire([retired])
    query = Query(text="refund a cancelled flight")
    found = found_page(memory, STRATEGIES, query, search(memory, STRATEGY, query))
    assert {row.title: row.status for row in found.rows} == {"refund": "", "retired": "retired by a person"}
    assert {row.title: row.state for row in found.rows} == {"refund": "", "retired": "retired"}
    assert all(row.relevance is not None and row.why for row in found.rows)
    assert found.caption == "2 of 2 strategies are relevant, best first"


def test_one_in_full_says_what_it_is_how_sure_and_what_it_comes_from(memory):
    source = at("a")
    [experience_id] = memory.experience.store_many([source])
    one = memory.strategies.add(strategy(sources=(source.id, "forgotten"), metadata={"derived_by": "template"}))
    detail = strategy_detail(memory, one)
    assert detail.headline == "It has not been used yet."
    assert [row.experience_id for row in detail.sources] == [experience_id, ""]
    memory.strategies.update_stats(one, True, task_id="a", trajectory_id=source.id)
    detail = strategy_detail(memory, one)
    assert detail.headline == "Its only use succeeded."
    assert {fact.name: fact.value for fact in detail.facts}["Written by"] == "template"
    [row] = use_rows(memory, detail.attempts)
    assert (row.experience_id, row.outcome) == (experience_id, "✓ succeeded")
    assert row.ending == ending_of(memory.experience.get(experience_id))
    assert strategy_detail(memory, "nowhere") is None


def test_what_its_writer_knew_is_told_without_json(memory):
    said = {"derived_by": "template", "task_id": "a", "cost": {"tokens": 7, "models": ["x", "y"]}, "is_sample": True,
            "variants": [{"suggestion": "ask the customer", "sources": ["b"]}]}  # fmt: skip
    detail = strategy_detail(memory, memory.strategies.add(strategy(metadata=said)))
    assert [way.whole for way in detail.other_ways] == ["ask the customer"]
    assert [(fact.name, fact.value) for fact in detail.background] == [
        ("cost, models", "x, y"),
        ("cost, tokens", "7"),
        ("task id", "a"),
    ]


def test_an_edit_can_be_taken_back_by_its_version(memory):
    one = memory.strategies.add(strategy(title="one"))
    memory.strategies.edit(one, suggestion="ask first")
    [version] = strategy_detail(memory, one).versions
    assert "-look the booking up first" in version.difference.whole
    assert STRATEGIES.changes_to(memory, one, version.number) == {"suggestion": "look the booking up first"}
    with pytest.raises(NotFound):
        STRATEGIES.changes_to(memory, one, 10_000)


def test_it_helps_where_its_tries_do_surely_better_than_similar_attempts(memory):
    one = memory.strategies.add(strategy("refund the cancelled flight of a customer"))
    assert effect_view(memory, one).verdict.startswith("It has not been used yet")
    memory.experience.store_many([at(f"t{n}", False) for n in range(20)])
    tried(memory, one, 20, 20)
    view = effect_view(memory, one)
    assert view.verdict == "Clearly better than similar tasks without it."
    assert [(row.name, row.counts, row.range) for row in view.rows] == [
        ("With it", "20 of 20 uses", "likely 84–100%"),
        ("Without it", "0 of 20 similar attempts", "likely 0–16%"),
    ]
    memory.strategies.update_stats(one, True)
    assert effect_view(memory, one).verdict.startswith(
        "21 of 21 uses succeeded. 1 use names no attempt and no task, so it cannot be compared"
    )


@pytest.mark.parametrize(
    ("n_succeeded", "n", "verdict"),
    [
        (2, 3, "Not clear yet whether it is better than similar tasks without it."),
        (6, 12, "Mixed, not clearly better than similar tasks without it."),
        (12, 12, "Mostly works, not clearly better than similar tasks without it."),
    ],
)
def test_a_difference_that_is_not_clear_stands_behind_the_verdict_of_the_list(memory, n_succeeded, n, verdict):
    one = memory.strategies.add(strategy("refund the cancelled flight of a customer"))
    memory.experience.store_many([at("t0", False), at("t1")])
    tried(memory, one, n_succeeded, n)
    assert effect_view(memory, one).verdict == verdict


@pytest.mark.parametrize("found", [[[1]], [{"$in": []}], "x", [None], []])
def test_a_strategy_with_odd_metadata_of_its_source_can_be_opened(memory, found):
    one = memory.strategies.add(strategy(metadata={"promoted_from": found}))
    assert [fact for fact in strategy_detail(memory, one).facts if "journal" in fact.value] == []


def test_a_strategy_from_the_journal_names_the_day_of_the_entry(memory):
    entry_id = memory.journal.add("reflection", "Refunds fail at night. Try again in the morning.", generation=1)
    memory.apply_promotion(memory.plan_promotion(entry_id))
    found = strategy_detail(memory, memory.strategies.ids()[0])
    day = day_text(memory.journal.get(entry_id).created_at)
    assert Fact("Learned from", f"a journal entry of {day}") in found.facts
    assert "Written by" not in [fact.name for fact in found.facts]


def test_a_situation_that_is_the_title_is_not_repeated(memory):
    memory.strategies.add(strategy("Rotate the logs.", title="Rotate the logs"))
    memory.strategies.add(strategy("The disk is full.", title="Clean up"))
    rows = {row.title: row.situation for row in listed_page(memory, STRATEGIES, Query()).rows}
    assert rows == {"Rotate the logs": "", "Clean up": "When: The disk is full."}


def test_a_row_compares_its_rate_with_all_attempts_of_the_store(memory):
    used = memory.strategies.add(strategy())
    memory.experience.store_many([at("a"), at("b"), at("c"), at("d", False)])
    tried(memory, used, 1, 2)
    [row] = listed_page(memory, STRATEGIES, Query()).rows
    assert row.record.average == 0.75


def test_the_ways_of_counting_are_compared_on_the_same_tries():
    attempts = uses(True, True, False)
    assert dict(updater_estimates(attempts)) == pytest.approx(
        {
            "Moving average (alpha 0.1)": 0.5355,
            "Plain average": 2 / 3,
            "Bayesian (uniform prior)": 0.6,
            "Recent first (half-life 10 uses)": 0.6433,
        },
        abs=1e-4,
    )
    assert [len(trace["x"]) for trace in updaters_chart(attempts)["data"]] == [3] * 4


def test_the_chart_of_tries_has_the_share_until_then_within_its_interval():
    chart = tries_chart(uses(True, False, True))
    low, high, rate = (trace["y"] for trace in chart["data"][:3])
    assert rate == pytest.approx([1, 1 / 2, 2 / 3])
    assert all(low[n] < rate[n] <= high[n] or rate[n] == 1 for n in range(3))
    assert [(trace["name"], trace["x"]) for trace in chart["data"][3:]] == [("succeeded", [1, 3]), ("failed", [2])]
    assert tries_caption(uses(True, False)).startswith("1 of 2 uses succeeded")


def test_a_bar_is_where_the_interval_is():
    svg = base64.b64decode(interval_bar(Interval(0.25, 0.75), 0.5).partition(",")[2]).decode()
    assert '<rect x="32.5" y="8" width="55.0"' in svg
    assert '<line x1="60.0" x2="60.0" y1="4"' in svg
    assert "<text" not in svg


def test_a_bar_has_a_scale_if_it_is_asked_for():
    svg = base64.b64decode(interval_bar(Interval(0.25, 0.75), 0.5, has_scale=True).partition(",")[2]).decode()
    assert re.findall(r">(\d+%)</text>", svg) == ["0%", "50%", "100%"]


@pytest.mark.parametrize(
    ("line", "parameter"),
    [
        ("id", {"name": "id"}),
        ("id (text)", {"name": "id", "type": "text"}),
        ("id: the booking", {"name": "id", "description": "the booking"}),
        (
            "id (text): the booking [such as ZFA04Y]",
            {"name": "id", "type": "text", "description": "the booking", "example": "ZFA04Y"},
        ),
        ("id [such as 7]", {"name": "id", "example": "7"}),
        ('{"name": "a(b", "kept": "x"}', {"name": "a(b", "kept": "x"}),
        ('{"name": "a", "description": "two\\nlines"}', {"name": "a", "description": "two\nlines"}),
    ],
)
def test_parameters_are_lines_and_come_back_as_they_were(line, parameter):
    assert parameters_text([parameter]) == line
    assert parameters_in(f"\n  {line} \n") == (parameter,)


@pytest.mark.parametrize(
    ("text", "said"),
    [("(x)", "one a line"), ("a\na", "named once"), ("{x", "expected JSON"), ('{"type": "str"}', "with a `name`")],
)
def test_parameters_that_cannot_be_read_are_refused(text, said):
    with pytest.raises(InvalidInput, match=said):
        parameters_in(text)


def test_a_merge_is_previewed_with_what_stays_and_done_as_previewed(memory):
    old = memory.strategies.add(strategy(title="old", sources=("a",)))
    used = memory.strategies.add(strategy(suggestion="ask", title="used", sources=("b",)))
    tried(memory, used, 1, 2)
    proposal = STRATEGIES.act("merge").request((old, used, "gone")).propose(memory)
    assert proposal.view.button == "Merge 2 strategies into 1"
    assert [(row.title, row.goes) for row in proposal.view.rows] == [("used", False), ("old", True)]
    assert "used 2 times, 2 sources with theirs" in proposal.view.rows[0].why
    proposal.apply(memory)
    assert proposal.done_sentence == "Merged 2 strategies into 1"
    assert memory.strategies.get(used).sources == ("b", "a")


def test_a_deletion_is_done_as_previewed_or_not_at_all(memory):
    one, other = memory.strategies.add(strategy(title="one")), memory.strategies.add(strategy("b"))
    proposal = STRATEGIES.act("delete").request((one,)).propose(memory)
    assert proposal.view.headline == "1 of 2 strategies would be deleted (50%)."
    tried(memory, one, 1, 1)
    with pytest.raises(PlanOutdated):
        proposal.apply(memory)
    STRATEGIES.act("delete").request((one,)).propose(memory).apply(memory)
    assert memory.strategies.ids() == [other]


def test_retiring_and_bringing_back_are_plans_that_remove_nothing(memory):
    one = memory.strategies.add(strategy())
    retire = RetireRequest(STRATEGY, (one, "gone")).propose(memory)
    assert (retire.view.button, retire.ids, retire.removed_ids) == ("Retire 1 strategy", (one,), ())
    assert retire.done_sentence == "Retired 1 strategy; no task to replay"
    operation_id = retire.apply(memory)
    assert memory.history(1)[0].id == operation_id
    with pytest.raises(PlanOutdated, match="the strategies have changed since this was planned"):
        retire.apply(memory)
    assert RetireRequest(STRATEGY, (one,)).propose(memory).view.button == ""
    back = BringBackPlan(kind=STRATEGY, ids=(one,))
    assert (back.view.button, back.done_sentence) == ("Bring back", "Brought back 1 strategy")
    assert back.apply(memory) is not None
    assert memory.strategies.retired() == {}


def test_attempts_that_were_imported_become_strategies_as_previewed_and_that_is_undone(memory):
    memory.experience.store_many([at("a"), at("a"), at("a", False), at("b", description="sort")])
    proposal = propose_writing(memory)
    assert proposal.view.headline == "3 attempts would become 1 strategy."
    assert "They are written by pattern, without a language model." in proposal.view.notes
    assert [(row.what, row.n_sources) for row in proposal.rows] == [("new", 2)]
    operation_id = proposal.apply(memory)
    assert proposal.done_sentence == "Wrote 1 strategy"
    assert propose_writing(memory).view.button == ""
    [row] = listed_page(memory, STRATEGIES, Query()).rows
    assert row.succeeded == "not used yet"
    assert Fact("Learned from", "3 attempts: 2 succeeded, 1 failed") in strategy_detail(memory, row.id).facts
    memory.undo(operation_id)
    assert memory.strategies.count() == 0


def test_a_language_model_is_asked_only_where_a_person_says_so_and_about_few(memory):
    asked = []

    class Model:
        async def abstract(self, trajectory):
            asked.append(trajectory.id)
            return strategy(trajectory.task.description, sources=(trajectory.id,))

    memory.experience.store_many([at(f"t{n}", description=f"task number {n} of many") for n in range(MAX_ASKED + 5)])
    memory.strategies.abstractor = Model()
    propose_writing(memory)
    assert asked == []
    assert "They are written with the language model." in propose_writing(memory, by_model=True).view.notes
    assert len(asked) == MAX_ASKED


def test_one_is_written_by_hand_or_refused_with_what_to_mend(memory):
    typed = EditableStrategy(situation=" a grid ", suggestion="mirror it", parameters="axis (text)")
    written, done = write_by_hand(memory, typed)
    assert memory.strategies.get(written).parameters == ({"name": "axis", "type": "text"},)
    assert options_of(STRATEGY.filters, memory.strategies)["written_by"] == {"by hand": 1}
    assert done.sentence == "Wrote 1 strategy"
    with pytest.raises(InvalidInput, match="expected a string that is not blank for a strategy's suggestion"):
        write_by_hand(memory, replace(typed, suggestion=" "))
    with pytest.raises(InvalidInput, match="already has this content"):
        write_by_hand(memory, typed)


def test_a_secret_in_one_that_is_written_by_hand_is_replaced_and_told_of(memory):
    secret = "sk-" + "a1B2" * 6
    written, done = write_by_hand(memory, EditableStrategy(situation="to log in", suggestion=f"use {secret}"))
    assert memory.strategies.get(written).suggestion == "use [API key]"
    assert done.sentence == "Wrote 1 strategy. Secrets replaced: API keys 1."


def test_the_overview_counts_the_strategies_that_were_tried(memory):
    assert strategy_counts(memory) == ""
    names = {"good": (8, 10), "worst": (0, 12), "once": (1, 1)}
    ids = {name: memory.strategies.add(strategy(name, title=name)) for name in names}
    assert strategy_counts(memory) == "3 strategies, none used yet"
    for name, tries in names.items():
        tried(memory, ids[name], *tries)
    assert strategy_counts(memory) == "3 strategies: 3 used, 1 retired"


def test_the_history_names_strategies(memory):
    one, _ = memory.strategies.add(strategy(title="refund")), memory.strategies.add(strategy("b", title="other"))
    memory.strategies.delete([one])
    rows = operation_page(memory).rows
    assert [row.counts for row in rows] == [
        "strategy refund deleted",
        "strategy other added",
        "strategy refund added",
    ]
    assert rows[0].sentence == "Deleted strategy “refund”"


def test_a_selection_of_strategies_says_how_their_tries_went(memory):
    one = memory.strategies.add(strategy())
    tried(memory, one, 12, 12)
    now = chosen_used(memory, [one, "gone"], "rows on Strategies", STRATEGY)
    assert now.ids == (one,)
    assert now.figures == "1 still there, 1 gone since · succeeded in 12 of 12 uses (likely 75–100%)"
    [row] = STRATEGIES.rows(memory, memory.strategies.get_many([one]), {})
    assert (row.record.tries, row.record.range) == ("12 of 12 uses", "likely 75–100%")
    assert (row.record.verdict, row.record.tone) == ("mostly works", "good")
