"""Plans read the same on the command line and in the app."""

from __future__ import annotations

from dataclasses import replace

import atlas
from atlas.memory.experience.pruning import EXCLUSION_REASON, PruneCriteria, PruneDecision, PrunePlan
from atlas.testing import HashEmbedder
from atlas.views.experience.plan_views import merge_plan_view, prune_plan_view


def decision(name, saved_because=""):
    return PruneDecision(
        id=name, title=f"title {name}", reasons=("it is old", "it failed"), saved_because=saved_because,
        outcome="failed",
    )  # fmt: skip


def pruning(n_total=40, **options):
    values = {"n_judged": n_total, "missing": {}, "usage": {}} | options
    return PrunePlan(
        criteria=PruneCriteria(max_age_days=90),
        removals=(decision("a"), decision("b")),
        saved=(decision("c", "it is pinned"),),
        n_total=n_total,
        **values,
    )


def test_a_prune_plan_says_how_many_go_and_why():
    view = prune_plan_view(pruning())
    assert view.headline == "2 of 40 experiences would be deleted (5%). 1 more is protected."
    assert view.share_sentence == "That is 5% of the 40 experiences. 1 more is protected."
    assert view.rule == "Rule: delete what is older than 90 days. 3 match. Pinned ones stay."
    assert view.heading == "Delete 2 failed experiences"
    assert view.undo == "Undo brings all 2 experiences back from the trash, until a purge."
    assert [(row.id, row.goes, row.why) for row in view.rows] == [
        ("a", True, "it is old; it failed"),
        ("b", True, "it is old; it failed"),
        ("c", False, "it is old; it failed; protected: it is pinned"),
    ]
    assert (view.n_going, view.share, view.is_large) == (2, 0.05, False)
    assert prune_plan_view(pruning(39)).is_large


def test_a_prune_plan_counts_what_is_kept_unless_a_dialog_counts_it():
    plan = replace(pruning(), saved=(decision("c", "it is pinned"), decision("d", EXCLUSION_REASON)))
    assert prune_plan_view(plan).headline.endswith("(5%). 2 more are protected.")
    assert prune_plan_view(plan, ("d",)).headline.endswith("(5%). 1 more is protected.")


def test_a_prune_plan_names_every_rule_in_one_sentence():
    every = PruneCriteria(min_success_rate=0.3, max_age_days=90, never_retrieved_days=30, max_count=1_000)
    assert _rule_of(every) == (
        "Rule: delete what has a success rate under 30% or is older than 90 days or was not retrieved for 30 days "
        "or is among the least successful beyond the 1,000 to keep. 3 match. Pinned ones stay."
    )
    assert _rule_of(PruneCriteria(tag="old")) == "Rule: delete what has the tag. 3 match. Pinned ones stay."
    assert (
        _rule_of(PruneCriteria(tag="a", max_age_days=1))
        == "Rule: delete what has the tag, and is older than 1 day. 3 match. Pinned ones stay."
    )
    assert (
        _rule_of(PruneCriteria(min_success_rate=0.125))
        == "Rule: delete what has a success rate under 12.5%. 3 match. Pinned ones stay."
    )
    assert _rule_of(PruneCriteria(keep_diverse=True)) == (
        "Rule: delete what was chosen. 3 match. Pinned ones stay, and the best of each group of similar ones."
    )
    assert _rule_of(PruneCriteria(max_age_days=9, keep_diverse=True)).endswith(
        "older than 9 days. 3 match. Pinned ones stay, and the best of each group of similar ones."
    )


def _rule_of(criteria):
    return prune_plan_view(replace(pruning(), criteria=criteria)).rule


def test_a_prune_plan_says_what_it_could_not_judge():
    plan = pruning(n_judged=30, n_gone=1, missing={"min_success_rate": 1, "max_age_days": 1_200})
    view = prune_plan_view(plan)
    assert view.rule == "Rule: delete what is older than 90 days, among the 30 chosen. 3 match. Pinned ones stay."
    assert view.notes == (
        "1 of those chosen is not there any more.",
        "1 has no known outcome, so the rule on success rates skips it.",
        "1,200 have no known time, so the rule on age skips them.",
    )


def test_a_merge_plan_says_what_becomes_of_what(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        ids = memory.experience.store_many([attempt("sort", success=True), attempt("sort", success=False)])
        view = merge_plan_view(memory.experience.plan_merge([ids]))
    assert view.headline == "2 experiences would become 1: 1 of 2 would be deleted (50%)."
    assert [(row.id, row.outcome, row.goes, row.why) for row in view.rows] == [
        (ids[0], "succeeded", False, "stays: it succeeded; stands for 1 succeeded, 1 failed"),
        (ids[1], "failed", True, f"into {ids[0][:8]}"),
    ]
    assert (view.n_going, view.is_large) == (1, True)


def attempt(text, *, success):
    return atlas.Trajectory(task=atlas.Task(text, "", text), steps=(), outcome=atlas.Outcome(success))
