"""Ablation by replay: nothing to come is ever seen, and each configuration has what its name says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.evaluation.ablation import ablate
from atlas.evaluation.ablation_report import as_json, as_markdown, as_text
from atlas.evaluation.replay import ReplayClock, group_by_time, replay
from atlas.memory.context.block import make_counter
from atlas.memory.open import open_memory
from atlas.testing import HashEmbedder

START = datetime(2026, 1, 1, tzinfo=UTC)
TOPICS = ("cancel the flight", "refund the ticket", "change the seat")


def attempt(topic: str, n: int, success: bool | None = True, *, minute: int | None = None) -> Trajectory:
    """The n-th attempt at a topic's task."""
    actions = ("look it up", f"do as asked about the {topic}", "tell the customer")
    return Trajectory(
        task=Task(topic, "airline", f"A customer asks to {topic}"),
        steps=tuple(Step(action=action, observation="done") for action in actions),
        outcome=Outcome(success),
        timestamp=None if minute is None else START + timedelta(minutes=minute),
        id=f"{topic}-{n}",
    )


def stream(n_rounds: int = 4) -> list[Trajectory]:
    """Rounds of attempts at each topic's task, a minute apart; the flight always succeeds, the ticket never."""
    outcomes = {"cancel the flight": True, "refund the ticket": False, "change the seat": None}
    return [
        attempt(topic, n, outcomes[topic], minute=n * len(TOPICS) + place)
        for n in range(n_rounds)
        for place, topic in enumerate(TOPICS)
    ]


def ablated(trajectories, *names, **options):
    found = ablate(trajectories, HashEmbedder(), configurations=names, settings=Settings(), **options)
    return found, {row.name: row for row in found.rows}


def test_no_attempt_ever_sees_itself_or_one_that_came_later(tmp_path):
    groups, _ = group_by_time(stream())
    came: list[str] = []
    with open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        for one in replay(memory, groups, ReplayClock(), counter=make_counter(None)):
            assert one.source_ids <= set(came)
            assert one.n_before == len(came)
            came.append(one.trajectory.id)
        assert one.source_ids, "the last one sees something, or this proves nothing"


def test_a_stream_out_of_order_is_put_in_order_before_anything_is_seen(tmp_path):
    groups, is_timed = group_by_time(stream()[::-1])
    assert is_timed
    times = [together[0].timestamp for together in groups]
    assert times == sorted(times)
    with open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        for one in replay(memory, groups, ReplayClock(), counter=make_counter(None)):
            later = [other.id for other in stream() if other.timestamp >= one.trajectory.timestamp]
            assert not one.source_ids.intersection(later)


def test_attempts_of_one_instant_do_not_see_each_other(tmp_path):
    twins = [attempt("cancel the flight", n, minute=0) for n in range(3)]
    groups, _ = group_by_time([*twins, attempt("cancel the flight", 3, minute=1)])
    with open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        seen = [one.source_ids for one in replay(memory, groups, ReplayClock(), counter=make_counter(None))]
    assert seen[:3] == [frozenset()] * 3
    assert seen[3] == {twin.id for twin in twins}


def test_time_zones_do_not_change_the_order():
    early = Trajectory(
        Task("a", "", "a"), (), Outcome(True), timestamp=datetime.fromisoformat("2026-01-01T10:00+09:00")
    )
    late = Trajectory(Task("b", "", "b"), (), Outcome(True), timestamp=datetime.fromisoformat("2026-01-01T02:00+00:00"))
    assert group_by_time([late, early]) == ([[early], [late]], True)


def test_without_times_the_order_stays_and_the_report_says_so():
    untimed = [attempt(topic, n) for n in range(2) for topic in TOPICS]
    assert group_by_time(untimed) == ([[one] for one in untimed], False)
    found, _ = ablated(untimed, "experience-only")
    assert not found.is_timed
    assert "were replayed in the order of the input" in as_text(found)


def test_each_configuration_finds_with_what_it_has():
    found, rows = ablated(stream(), "full", "experience-only", "strategies-only", "concepts-only", "no-memory")
    assert (found.n_attempts, found.n_tasks, found.n_repeated) == (12, 3, 9)
    assert rows["experience-only"].hit_1.mean == 1.0, "tasks are told apart by their words"
    assert rows["full"].hit_k.mean == 1.0
    assert rows["strategies-only"].hit_k.mean == pytest.approx(3 / 9), "strategies come from the flight alone"
    assert rows["no-memory"].hit_k.mean == rows["concepts-only"].hit_k.mean == 0.0
    assert rows["full"].n_held == {"experience": 12, "concepts": 0, "strategies": 1}
    assert rows["no-memory"].n_held == {}
    tokens = {name: row.tokens.mean for name, row in rows.items()}
    assert tokens["no-memory"] == tokens["concepts-only"] == 0.0
    assert tokens["full"] > tokens["experience-only"] > 0.0


def test_outcomes_that_repeat_are_foretold_better_than_by_all_earlier_ones():
    found, rows = ablated(stream(), "experience-only", "strategies-only")
    assert rows["experience-only"].agreement.mean > rows["experience-only"].base_agreement
    assert rows["strategies-only"].agreement is None
    assert found.success_rate == 0.5


def test_chance_is_what_a_random_order_would_find():
    _, rows = ablated(stream(2), "experience-only", "strategies-only", "full", "no-memory")
    # the second round has 3, 4 and 5 earlier attempts, one of which is at its task
    assert rows["experience-only"].chance_1 == pytest.approx((1 / 3 + 1 / 4 + 1 / 5) / 3)
    assert rows["experience-only"].chance_k == 1.0
    # the one strategy comes from the flight, whose attempt is the first of the round
    assert rows["strategies-only"].chance_1 == rows["strategies-only"].chance_k == pytest.approx(1 / 3)
    assert rows["full"].chance_1 == pytest.approx((1 + 1 / 4 + 1 / 5) / 3), "either of two may hit"
    assert rows["no-memory"].chance_1 == rows["no-memory"].chance_k == 0.0


def test_nothing_that_was_retrieved_counts_as_used(tmp_path):
    groups, _ = group_by_time(stream())
    with open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        list(replay(memory, groups, ReplayClock(), counter=make_counter(None)))
        ids = memory.strategies.ids()
        assert [rate.n for rate in memory.strategies.rates(ids).values()] == [0]
        usage = memory.experience.usage(memory.experience.ids())
        assert sum(one.n_uses for one in usage.values()) == 0


def test_a_limit_takes_the_first_in_time():
    found, rows = ablated(stream()[::-1], "full", limit=4)
    assert (found.n_attempts, found.n_repeated) == (4, 1)
    assert rows["full"].n_held["experience"] == 4


def test_a_budget_bounds_every_block():
    _, rows = ablated(stream(), "full", budget_tokens=60)
    assert rows["full"].tokens.mean <= 60


def test_the_same_seed_gives_the_same_figures():
    assert ablated(stream(), "full")[0] == ablated(stream(), "full")[0]


def test_the_report_is_readable_in_every_form():
    found, _ = ablated(stream(), "full", "no-memory")
    text = as_text(found)
    assert "12 attempts at 3 tasks, 50% of them successes, each asked for before it is stored" in text
    assert "12 experience, 0 concepts, 1 strategies" in text
    assert "| full | 1.000 |" in as_markdown(found)
    assert '"n_repeated": 9' in as_json(found)


@pytest.mark.parametrize(
    ("trajectories", "names", "told"),
    [
        ([], ["full"], "at least one attempt to replay"),
        (stream(1), ["empty"], "expected one of full, .* as a configuration, got 'empty'"),
    ],
)
def test_nothing_to_replay_and_unknown_configurations_are_refused(trajectories, names, told):
    with pytest.raises(InvalidInput, match=told):
        ablated(trajectories, *names)
