"""The strategy bank: writing, reading, outcomes, retiring, editing, merging."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atlas.core.codec import decode_strategy, encode_strategy
from atlas.core.errors import InvalidInput, LLMError, LLMReplyInvalid, LLMUnavailable, NotFound, PlanOutdated
from atlas.core.operations import Marks
from atlas.core.types import Outcome, Strategy, Task, Trajectory
from atlas.memory.base.success_rates import BayesianUpdater, EMASuccessUpdater, SimpleAverageUpdater
from atlas.memory.strategies import BY_HAND, BY_OUTCOMES, COLLECTION, ChromaStrategyBank, RetirementRule
from atlas.memory.strategies.writing import SEPARATION_REASON
from atlas.protocols.memory import StrategyBank
from atlas.protocols.strategies import CombinedStrategy
from atlas.storage.store import EmbeddingModel, Store
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore
from tests.support.memories import DictVectorStore, attempt

SECRET = "ghp_" + "a1B2" * 9

REFUND = "a customer wants a refund for a cancelled flight"


class ByDescription:
    """Abstracts every attempt to its task's description, and keeps what it was asked; None for `trivial` ones."""

    def __init__(self):
        self.asked = []

    async def abstract(self, trajectory):
        self.asked.append(trajectory.id)
        if "trivial" in trajectory.task.description:
            return None
        return Strategy(
            situation=trajectory.task.description, suggestion="look the booking up first", sources=(trajectory.id,)
        )


@pytest.fixture
def bank(store):
    return ChromaStrategyBank(HashEmbedder(), store.collection(COLLECTION), ByDescription(), clock=FixedClock())


def strategy(situation=REFUND, suggestion="look the booking up first", **fields):
    return Strategy(situation=situation, suggestion=suggestion, **fields)


def tried(bank, strategy_id, *outcomes):
    for n, success in enumerate(outcomes):
        bank.update_stats(strategy_id, success, task_id=f"t{n}", trajectory_id=f"tr{n}")


def asked(description):
    return Task("t", "", description)


def test_it_is_a_strategy_bank(bank):
    assert isinstance(bank, StrategyBank)


def test_a_strategy_comes_back_as_it_was_added(bank):
    given = strategy(
        title="Refunds",
        parameters=({"name": "booking", "type": "text"},),
        rationale="it worked",
        sources=("tr1",),
        metadata={"derived_by": "template", "domain": "airline"},
    )
    strategy_id = bank.add(given)
    assert bank.get(strategy_id) == replace(given, created_at=FixedClock().now())
    assert decode_strategy(encode_strategy(given)) == given
    assert bank.values("domain") == {"airline": 1}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"situation": " "}, "expected a string that is not blank for a strategy's situation"),
        ({"suggestion": ""}, "expected a string that is not blank for a strategy's suggestion"),
        ({"suggestion": "x\0"}, "NUL"),
        ({"parameters": ({"type": "text"},)}, "with a `name`"),
        ({"parameters": ({"name": "n", "type": 3},)}, "expected an object of strings for a parameter"),
        ({"parameters": "abc"}, "expected a list"),
        ({"metadata": {"x": {1}}}, "set"),
    ],
)
def test_what_cannot_be_a_strategy_is_refused_and_nothing_is_added(bank, fields, said):
    with pytest.raises(InvalidInput, match=said):
        bank.add(strategy(**fields))
    assert len(bank) == 0


def test_what_the_bank_says_already_is_refused_and_the_one_that_says_it_is_named(bank):
    there = bank.add(strategy())
    with pytest.raises(InvalidInput, match=there):
        bank.add(strategy(f"  {REFUND} ".replace(" a ", "  a ")))
    other = bank.add(strategy(suggestion="ask for the reason"))
    with pytest.raises(InvalidInput, match=there):
        bank.edit(other, suggestion="look the booking up first")


def test_only_successes_are_written_and_none_where_nothing_can_be_reused(bank):
    assert bank.write(attempt(REFUND, False)) is None
    assert bank.write(attempt(REFUND, None)) is None
    assert bank.abstractor.asked == []
    assert bank.write(attempt("trivial")) is None
    assert len(bank) == 0


def test_an_attempt_in_a_known_situation_is_one_more_source(bank, store):
    first, second = attempt(REFUND), attempt(REFUND)
    written = bank.write(first)
    assert bank.write(second).id == written.id
    assert bank.get(written.id).sources == (first.id, second.id)
    elsewhere = bank.write(attempt("a grid with a symmetry axis"))
    assert elsewhere.id != written.id
    assert len(bank) == 2
    assert store.history()[1].kind == "store"


class Telling(ByDescription):
    """Says to do what the task's solution is."""

    async def abstract(self, trajectory):
        return strategy(trajectory.task.description, trajectory.metadata["solution"], sources=(trajectory.id,))


class Combining(Telling):
    """A combiner that answers what it was told to."""

    def __init__(self, *answers):
        super().__init__()
        self.answers = list(answers)

    async def combined(self, held, other):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return replace(held, suggestion=f"{held.suggestion}; {other.suggestion}") if answer else None


def acted(action, description=REFUND):
    return attempt(description, solution=action)


def test_what_another_attempt_says_to_do_in_a_known_situation_is_kept_as_a_variant(bank):
    bank.abstractor = Telling()
    ask, other, again = acted("ask for the reason"), acted("read the policy"), acted("read  the policy")
    written = bank.write(ask)
    bank.write(other)
    kept = bank.write(again)
    assert (kept.id, kept.suggestion) == (written.id, "ask for the reason")
    assert kept.sources == (ask.id, other.id, again.id)
    assert kept.metadata["variants"] == [{"suggestion": "read the policy", "sources": [other.id]}]


def test_variants_of_another_form_do_not_stand_in_the_way(bank):
    bank.add(strategy(suggestion="ask", metadata={"variants": "two"}))
    bank.abstractor = Telling()
    read = acted("read")
    kept = bank.write(read)
    assert kept.metadata["variants"] == ["two", {"suggestion": "read", "sources": [read.id]}]


def test_a_combiner_says_whether_alike_situations_are_one_and_what_to_do_then(bank):
    bank.abstractor = Combining(True, False, LLMUnavailable("no key"))
    written = bank.write(acted("ask"))
    together = bank.write(acted("read"))
    assert (together.id, together.suggestion, len(together.sources)) == (written.id, "ask; read", 2)
    assert bank.write(acted("wait")).suggestion == "wait"
    assert len(bank) == 2
    bank.write(acted("call"))
    assert [one["suggestion"] for two in bank.get_many(bank.ids()) for one in two.metadata.get("variants", [])] == [
        "call"
    ]


class Explaining(Combining):
    """A combiner that answers with the reason why two strategies are not one."""

    async def explain_combined(self, held, other):
        return CombinedStrategy(why_not=self.answers.pop(0))


def test_the_reason_why_two_strategies_stay_two_is_kept_with_the_new_one_and_shown_in_a_plan(bank):
    bank.abstractor = Explaining("The fares differ", "Only one has a date", "The airlines differ", "Both differ")
    written = bank.write(acted("ask"))
    assert bank.write(acted("read")).metadata[SEPARATION_REASON] == "The fares differ"
    assert SEPARATION_REASON not in written.metadata
    plan = bank.plan_write([acted("wait"), acted("call")])
    assert [one.metadata[SEPARATION_REASON] for one in plan.added] == ["Only one has a date", "Both differ"]
    assert [sentence.partition(": ")[2] for sentence in plan.unmerged] == [
        "Only one has a date",
        "The airlines differ",
        "Both differ",
    ]


def test_the_reason_why_a_suggestion_became_a_variant_is_kept_beside_it_and_shown_in_a_plan(bank):
    bank.abstractor = Combining(LLMUnavailable("no key"), LLMReplyInvalid("it copies the attempt"), False)
    written = bank.write(acted("ask"))
    bank.write(acted("read"))
    plan = bank.plan_write([acted("wait"), acted("call")])
    [joined] = plan.joined
    assert [variant[SEPARATION_REASON] for variant in joined.metadata["variants"]] == [
        "no key",
        "it copies the attempt",
    ]
    [kept, apart] = plan.unmerged
    assert kept == f"{written.title!r} keeps the suggestion of {written.title!r} as a variant: it copies the attempt"
    assert apart.endswith("were not merged: no reason is given")


class Asked(Telling):
    """An informed abstractor that records what it is asked, beside what is embedded."""

    def __init__(self, events):
        super().__init__()
        self.events = events

    async def abstract_beside(self, trajectory, near):
        self.events.append(f"asked {trajectory.task.description}")


def test_the_first_question_waits_for_no_other_attempt_to_be_embedded(bank, monkeypatch):
    events = []
    encode = bank.embedder.encode
    bank.add(strategy())
    monkeypatch.setattr(
        bank.embedder, "encode_query", lambda text: events.append(f"embedded {text}") or encode(text), raising=False
    )
    bank.abstractor = Asked(events)
    bank.plan_write([attempt("first"), attempt("second")])
    assert events == ["embedded first", "asked first", "embedded second", "asked second"]


def test_a_plan_combines_what_is_there_and_what_is_new_alike(bank):
    bank.abstractor = Combining(True, False)
    bank.write(acted("ask"))
    plan = bank.plan_write([acted("read"), acted("wait")])
    assert [one.suggestion for one in plan.joined] == ["ask; read"]
    assert [one.suggestion for one in plan.added] == ["wait"]


def test_a_retired_strategy_that_gets_a_source_stays_retired_and_that_is_told(bank, caplog):
    written = bank.write(attempt(REFUND))
    bank.retire([written.id])
    plan = bank.plan_write([attempt(REFUND)])
    assert plan.retired == (written.id,)
    assert bank.write(attempt(REFUND)).id == written.id
    assert "is retired, so agents do not receive it" in caplog.text
    assert bank.read(asked(REFUND)) == []


def test_the_threshold_of_sameness_decides(store):
    bank = ChromaStrategyBank(
        HashEmbedder(), store.collection(COLLECTION), ByDescription(), clock=FixedClock(), same_situation=0.5
    )
    written = bank.write(attempt(REFUND))
    assert bank.write(attempt(REFUND + " today")).id == written.id
    with pytest.raises(InvalidInput, match="at most 1"):
        ChromaStrategyBank(HashEmbedder(), MemoryVectorStore(), ByDescription(), same_situation=1.5)


def test_an_attempt_is_abstracted_once(bank):
    trajectory = attempt(REFUND)
    written = bank.write(trajectory)
    assert bank.write(trajectory) == written
    assert bank.abstractor.asked == [trajectory.id]


@pytest.mark.parametrize("kind", [MemoryVectorStore, DictVectorStore])
def test_a_plain_store_keeps_finds_and_joins_strategies(kind):
    bank = ChromaStrategyBank(HashEmbedder(), kind(), ByDescription())
    first, second = attempt(REFUND), attempt(REFUND)
    written = bank.write(first)
    bank.write(attempt("a grid with a symmetry axis"))
    assert bank.write(second).sources == (first.id, second.id)
    assert bank.read(asked(REFUND), k=1)[0].id == written.id
    bank.update_stats(written.id, True)
    assert bank.get(written.id).usage_count == 1


def test_read_prefers_among_equals_the_one_that_surely_works(bank):
    untried = bank.add(strategy())
    once = bank.add(strategy(suggestion="ask for the reason"))
    often = bank.add(strategy(suggestion="read the policy"))
    tried(bank, once, True)
    tried(bank, often, *[True] * 9, False)
    assert [found.id for found in bank.read(asked(REFUND))] == [often, once, untried]
    assert bank.read(asked(REFUND), k=0) == []


def test_every_attempt_is_listed_with_its_task_trajectory_and_outcome(bank):
    strategy_id = bank.add(strategy())
    tried(bank, strategy_id, True, False)
    bank.record_use(strategy_id, True)
    attempts = bank.attempts(strategy_id)
    assert [(a.success, a.task_id, a.trajectory_id) for a in attempts] == [
        (True, "t0", "tr0"),
        (False, "t1", "tr1"),
        (True, "", ""),
    ]
    assert attempts[0].at == FixedClock().now()
    for ask in (bank.attempts, bank.rate, lambda i: bank.update_stats(i, True)):
        with pytest.raises(NotFound):
            ask("nowhere")


def test_the_updaters_give_their_rates_from_the_same_attempts(bank):
    strategy_id = bank.add(strategy())
    tried(bank, strategy_id, True, True, False)
    rates = {
        updater: bank.with_updater(updater).get(strategy_id).success_rate
        for updater in (EMASuccessUpdater(0.1), SimpleAverageUpdater(), BayesianUpdater())
    }
    assert list(rates.values()) == pytest.approx([0.9 * (0.9 * 0.55 + 0.1), 2 / 3, 0.6])
    assert (bank.get(strategy_id).n_succeeded, bank.get(strategy_id).usage_count) == (2, 3)


def test_a_rate_says_how_sure_it_is(bank):
    strategy_id = bank.add(strategy())
    before = bank.rate(strategy_id)
    assert (before.rate, before.n) == (None, 0)
    assert (before.interval.low, before.interval.high) == pytest.approx((0.025, 0.975))
    tried(bank, strategy_id, *[True] * 3, False)
    after = bank.with_updater(SimpleAverageUpdater()).rate(strategy_id)
    assert (after.rate, after.n, after.n_succeeded) == (0.75, 4, 3)
    assert (after.interval.low, after.interval.high) == pytest.approx((0.2836, 0.9473), abs=1e-3)


@pytest.mark.parametrize(
    ("n_succeeded", "n", "is_retired"), [(0, 11, False), (0, 12, True), (1, 18, False), (1, 19, True)]
)
def test_outcomes_retire_once_they_leave_little_doubt(n_succeeded, n, is_retired):
    assert RetirementRule().retires(n_succeeded, n) is is_retired


def test_a_strategy_that_keeps_failing_is_kept_but_not_read_until_somebody_says_so(bank):
    bad, good = bank.add(strategy()), bank.add(strategy(suggestion="ask for the reason"))
    tried(bank, bad, *[False] * 12)
    assert [found.id for found in bank.read(asked(REFUND), k=1)] == [good]
    assert [hit.item.id for hit in bank.search_hits(REFUND, k=5, with_buried=True)] == [good, bad]
    assert bank.rate(bad).retired == BY_OUTCOMES
    assert len(bank) == 2
    bank.unretire([bad])
    assert bank.rate(bad).retired == ""
    assert {found.id for found in bank.read(asked(REFUND))} == {good, bad}


def test_retiring_by_hand_is_taken_back_by_unretiring_or_undoing(bank, store):
    strategy_id = bank.add(strategy())
    bank.retire([strategy_id])
    assert bank.read(asked(REFUND)) == []
    assert bank.rate(strategy_id).retired == BY_HAND
    bank.unretire([strategy_id])
    assert bank.marks([strategy_id]) == {strategy_id: Marks()}
    bank.retire([strategy_id])
    store.undo(store.history()[0].id)
    assert [found.id for found in bank.read(asked(REFUND))] == [strategy_id]


def test_what_is_edited_is_found_by_its_new_situation(bank):
    strategy_id = bank.add(strategy())
    bank.edit(strategy_id, situation="a grid with a symmetry axis", parameters=[{"name": "axis"}])
    bank.add(strategy())
    assert bank.read(asked("grid symmetry axis"), k=1)[0].id == strategy_id
    assert bank.get(strategy_id).parameters == ({"name": "axis"},)
    with pytest.raises(InvalidInput, match="sources cannot be edited"):
        bank.edit(strategy_id, sources=())


def test_merging_keeps_the_most_used_with_the_sources_and_attempts_of_all(bank, store):
    old = bank.add(strategy(sources=("a",), parameters=({"name": "x"},)))
    used = bank.add(strategy(suggestion="ask for the reason", sources=("b",), parameters=({"name": "y"},)))
    bank.update_stats(old, True, trajectory_id="another")
    tried(bank, used, True, False)
    kept = bank.merge([old, used])
    assert (kept.id, kept.suggestion, kept.usage_count) == (used, "ask for the reason", 3)
    assert kept.sources == ("b", "a")
    assert [p["name"] for p in kept.parameters] == ["y", "x"]
    assert {a.record_id for a in bank.attempts(used)} == {old, used}
    assert bank.rate(used).n_succeeded == 2
    store.undo(store.history()[0].id)
    assert [bank.rate(i).n for i in (old, used)] == [1, 2]
    with pytest.raises(InvalidInput, match="no strategy 'nowhere'"):
        bank.merge([old, "nowhere"])


def test_a_merge_does_what_was_planned_or_nothing(bank):
    old, used = bank.add(strategy(sources=("a",))), bank.add(strategy(suggestion="ask for the reason"))
    tried(bank, used, True)
    plan = bank.plan_merge([[old, used]])
    assert (plan.groups[0].kept_id, plan.groups[0].why_kept) == (used, "it was used most")
    assert [one.id for one in plan.groups[0].removed] == [old]
    assert len(bank) == 2
    bank.edit(old, title="another one")
    with pytest.raises(PlanOutdated):
        bank.apply_merge(plan)
    assert len(bank) == 2
    assert bank.apply_merge(bank.plan_merge([[old, used]]))[0].sources == ("a",)


def test_each_edit_keeps_what_was_before_and_a_merge_is_none(bank):
    first, second = bank.add(strategy(title="one")), bank.add(strategy(suggestion="ask for the reason"))
    bank.edit(first, title="two")
    bank.edit(first, title="three")
    bank.merge([first, second])
    assert [version.item.title for version in bank.versions(first)] == ["two", "one"]


def test_what_is_retired_is_named_with_what_retired_it(bank):
    by_hand, outworn, read = (bank.add(strategy(suggestion=f"do {n}")) for n in range(3))
    bank.retire([by_hand])
    tried(bank, outworn, *[False] * 12)
    tried(bank, read, True)
    assert bank.retired() == {by_hand: BY_HAND, outworn: BY_OUTCOMES}


def test_attempts_that_a_store_has_become_strategies_as_planned(bank, store):
    there = bank.write(attempt(REFUND))
    known = bank.get(there.id).sources[0]
    again, grid, same_grid = attempt(REFUND), attempt("a grid"), attempt("a grid")
    tries = [again, grid, same_grid, attempt("trivial"), attempt("lost", False), replace(again, id=known)]
    steps = []
    plan = bank.plan_write(tries, lambda done, total: steps.append((done, total)))
    assert (plan.n_attempts, plan.n_known, plan.n_nothing, plan.n_joined_sources) == (5, 1, 1, 2)
    assert steps[-1] == (5, 5)
    assert [one.sources for one in plan.added] == [(grid.id, same_grid.id)]
    assert [one.sources for one in plan.joined] == [(known, again.id)]
    assert len(bank) == 1
    added = bank.apply_write(plan)
    assert [one.situation for one in bank.get_many(added)] == ["a grid"]
    assert bank.get(there.id).sources == (known, again.id)
    store.undo(store.history()[0].id)
    assert bank.ids() == [there.id]
    assert bank.get(there.id).sources == (known,)


def test_applying_writes_nothing_where_what_is_new_cannot_be_embedded(bank, store):
    class Failing(HashEmbedder):
        def encode_batch(self, texts, on_progress=None):
            raise OSError("quota exceeded")

    bank.write(attempt(REFUND))
    plan = bank.plan_write([attempt(REFUND), attempt("a grid")])
    assert (len(plan.joined), len(plan.added)) == (1, 1)
    before = store.history()
    with pytest.raises(OSError, match="quota exceeded"):
        bank.ranked_with(bank.weights, embedder=Failing()).apply_write(plan)
    assert store.history() == before


def test_a_plan_to_write_is_void_where_strategies_came_since(bank):
    plan = bank.plan_write([attempt("a grid")])
    bank.add(strategy())
    with pytest.raises(PlanOutdated):
        bank.apply_write(plan)
    assert len(bank) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"situation": " "}, "expected a string that is not blank for a strategy's situation"),
        ({"parameters": ({"type": "text"},)}, "with a `name`"),
        ({"sources": ()}, "should keep its sources"),
        ({"created_at": datetime(2000, 1, 1, tzinfo=UTC)}, "should keep its created_at"),
    ],
)
def test_a_plan_that_was_tampered_with_is_refused_and_nothing_is_written(bank, fields, message):
    bank.write(attempt(REFUND))
    plan = bank.plan_write([attempt(REFUND), attempt("a grid")])
    before = bank.get_many(bank.ids())
    with pytest.raises(InvalidInput, match=message):
        bank.apply_write(replace(plan, joined=(replace(plan.joined[0], **fields),)))
    assert bank.get_many(bank.ids()) == before


def test_a_plan_adds_no_strategy_that_could_not_be_read(bank):
    plan = bank.plan_write([attempt("a grid")])
    with pytest.raises(InvalidInput, match="with a `name`"):
        bank.apply_write(replace(plan, added=(replace(plan.added[0], parameters=({"type": "text"},)),)))
    assert len(bank) == 0


def test_a_plan_changes_no_strategy_that_is_not_there(bank):
    bank.write(attempt(REFUND))
    plan = bank.plan_write([attempt(REFUND)])
    with pytest.raises(NotFound):
        bank.apply_write(replace(plan, joined=(replace(plan.joined[0], id="nowhere"),)))


def test_secrets_of_a_plan_are_replaced(bank):
    bank.write(attempt(REFUND))
    plan = bank.plan_write([attempt(REFUND), attempt("a grid")])
    changed, added = ((replace(one, rationale=f"log in with {SECRET}"),) for one in (plan.joined[0], plan.added[0]))
    bank.apply_write(replace(plan, joined=changed, added=added))
    assert [SECRET in one.rationale for one in bank.get_many(bank.ids())] == [False, False]


def test_an_attempt_that_cannot_be_abstracted_costs_no_other(bank):
    class Picky(ByDescription):
        async def abstract(self, trajectory):
            if "odd" in trajectory.task.description:
                raise LLMError("no usable answer")
            return await super().abstract(trajectory)

    bank.abstractor = Picky()
    plan = bank.plan_write([attempt("an odd one"), attempt("a grid")])
    assert (len(plan.added), plan.n_nothing) == (1, 0)
    assert "no usable answer" in plan.problems[0]


def test_exported_strategies_are_the_same_elsewhere_and_are_put_back_once(bank, tmp_path):
    kept, gone = bank.add(strategy(title="kept")), bank.add(strategy(suggestion="ask"))
    tried(bank, kept, True, False, True)
    tried(bank, gone, True)
    bank.merge([kept, gone])
    bank.change_marks([kept], add_tags=["airline"])
    exported = bank.export([kept])
    other = Store.open(tmp_path / "other", clock=FixedClock())
    other.bind(EmbeddingModel(HashEmbedder().model_name, HashEmbedder().dimension))
    elsewhere = ChromaStrategyBank(HashEmbedder(), other.collection(COLLECTION), ByDescription(), clock=FixedClock())
    assert elsewhere.restore_many(exported) == [kept]
    assert elsewhere.restore_many(exported) == []
    assert elsewhere.get(kept) == bank.get(kept)
    assert elsewhere.rate(kept) == bank.rate(kept)
    assert elsewhere.marks([kept]) == bank.marks([kept])
    assert elsewhere.export([kept]) == exported
    other.ledger.close()


def test_what_is_embedded_can_be_chosen(store):
    bank = ChromaStrategyBank(
        HashEmbedder(),
        store.collection(COLLECTION),
        ByDescription(),
        clock=FixedClock(),
        text_of=lambda strategy: strategy.suggestion,
    )
    bank.add(strategy())
    wanted = bank.add(strategy(suggestion="mirror one half"))
    assert bank.read(asked("mirror"), k=1)[0].id == wanted
    assert bank.browse()[0]["document"] in {"mirror one half", "look the booking up first"}


def test_a_trajectory_without_steps_is_asked_about_all_the_same(bank):
    trajectory = Trajectory(task=Task("t", "", REFUND), steps=(), outcome=Outcome(True))
    assert bank.write(trajectory).sources == (trajectory.id,)
