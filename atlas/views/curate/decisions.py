"""Decisions on one or several cases, as a plan or immediately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from atlas.infra.actor import Role, check_role
from atlas.memory.effects.quarantine import quarantine_each
from atlas.memory.effects.scan import join_reasons
from atlas.memory.system import MemorySystem
from atlas.storage.marks.decisions import KeepDecisions
from atlas.views.curate.cases import VIEWS, Case
from atlas.views.curate.health import FAILING, NEVER, STALE, UNKNOWN
from atlas.views.curate.review import RejectRequest, accept, may_review, words_of
from atlas.views.curate.withdrawing import WithdrawRequest
from atlas.views.experience.outcomes import OutcomeRequest
from atlas.views.experience.proposals import MergeRequest
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.shared.plans import PlanRequest
from atlas.views.shared.retirement import RetireRequest
from atlas.views.shared.wording import counted

Name = Literal["succeeded", "failed", "quarantine", "release", "keep", "merge", "retire", "withdraw", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One of the answers to a case."""

    name: Name
    label: str
    key: str
    help_text: str


def decisions_on(cases: Sequence[Case]) -> tuple[Decision, ...]:
    """Return the answers that all of these cases allow, in the order of their buttons.

    Args:
        cases: The case that is shown first, and those like it that are decided with it.
    """
    case = cases[0]
    count_text = f" {len(cases):,}" if len(cases) > 1 else ""
    decisions = []
    if case.queue == UNKNOWN:
        decisions += [
            Decision(
                name="succeeded", label=f"Succeeded{count_text}", key="s", help_text="The attempt reached its goal."
            ),
            Decision(name="failed", label=f"Failed{count_text}", key="f", help_text="The attempt missed its goal."),
        ]
    if case.quarantine is not None:
        decisions.append(
            Decision(name="release", label=f"Release{count_text}", key="q", help_text="Agents find it again.")
        )
    else:
        if case.finding is not None and case.waiting is None:
            decisions.append(
                Decision(
                    name="quarantine",
                    label=f"Quarantine{count_text}",
                    key="q",
                    help_text="Agents do not find it any more. It is kept, and can be released.",
                )
            )
        decisions.append(_keep_decision(case, count_text))
    if case.is_group and _can_merge(cases):
        decisions.append(
            Decision(name="merge", label=f"Merge{count_text} …", key="m", help_text="You first see which record stays.")
        )
    decisions += _retire_decisions(case, count_text)
    if case.waiting is None and (case.finding is not None or case.quarantine is not None):
        help_text = "You first see what came from it, and the tasks whose contexts would contain it."
        pronoun = "them" if count_text else "it"
        decisions.append(
            Decision(
                name="withdraw",
                label=f"Delete{count_text} with what came from {pronoun} …",
                key="w",
                help_text=help_text,
            )
        )
    if case.ids:
        decisions.append(_delete_decision(case, count_text))
    return tuple(decisions)


EFFECTS: dict[Name, str] = {
    "keep": "Keep closes the case and changes nothing.",
    "retire": "Retire hides it from agents.",
    "quarantine": "Quarantine hides it from agents.",
    "delete": "Delete moves it to the trash.",
}
"""The effects of decisions that might be mistaken for each other."""


def effects(decisions: Sequence[Decision]) -> str:
    """Return sentences on how keeping, hiding and deleting a record differ, or nothing if it cannot be hidden."""
    names = [decision.name for decision in decisions]
    if "delete" not in names or not {"retire", "quarantine"} & {*names}:
        return ""
    return " ".join([*(EFFECTS[name] for name in names if name in EFFECTS), "Each can be undone."])


def plan_request(name: Name, cases: Sequence[Case]) -> PlanRequest[Any]:
    """Return the request for a plan that merges, hides, withdraws, deletes or judges the records of the cases."""
    first_case = cases[0]
    if name == "withdraw":
        return WithdrawRequest(tuple(record_id for case in cases for record_id in case.ids))
    if name == "retire":
        ids = tuple(case.ids[0] for case in cases)
        return RetireRequest(VIEWS[first_case.noun].kind, ids)
    if name in ("succeeded", "failed"):
        return OutcomeRequest(ids=tuple(case.ids[0] for case in cases), success=name == "succeeded")
    if name == "merge" and first_case.noun == EXPERIENCE.noun:
        return MergeRequest(groups=tuple(case.ids for case in cases))
    if name == "merge":
        return VIEWS[first_case.noun].act("merge").request(first_case.ids)
    if first_case.waiting is not None:
        return RejectRequest(rows=tuple(case.waiting for case in cases if case.waiting is not None))
    *_, delete_act = VIEWS[first_case.noun].acts
    return delete_act.request(tuple(record_id for case in cases for record_id in _ids_to_delete(case)))


def kept_names(memory: MemorySystem) -> frozenset[str]:
    """Return the names of the cases that were decided to stay as they are."""
    return _stored_keep_decisions(memory).names()


def keep(memory: MemorySystem, cases: Sequence[Case]) -> None:
    """Keep the records of the cases unchanged. They are removed from the queues.

    Raises:
        NotAllowed: The visitor may only look.
    """
    check_role(Role.WRITER, "decide what stays as it is")
    _stored_keep_decisions(memory).add([case.name for case in cases])


def ask_again(memory: MemorySystem, cases: Sequence[Case]) -> None:
    """Undo the decision to keep a case.

    Raises:
        NotAllowed: The visitor may only look.
    """
    check_role(Role.WRITER, "decide what stays as it is")
    _stored_keep_decisions(memory).delete([case.name for case in cases])


def accept_waiting(memory: MemorySystem, cases: Sequence[Case]) -> tuple[str, str]:
    """Accept pending records, and return the operation's id and a sentence on it."""
    rows = tuple(case.waiting for case in cases if case.waiting is not None)
    return accept(memory, rows), f"Accepted {words_of(rows)}"


def change_quarantine(memory: MemorySystem, cases: Sequence[Case]) -> tuple[str, str]:
    """Put suspicious records into quarantine, or release those in it. Return the operation's id and a sentence."""
    ids = [record_id for case in cases for record_id in case.ids]
    noun = cases[0].noun
    if cases[0].quarantine is not None:
        return memory.unquarantine(ids), f"Released {counted(len(ids), noun)} from quarantine"
    reasons = {case.ids[0]: join_reasons(case.finding) for case in cases if case.finding is not None}
    operation_id = quarantine_each(memory, reasons, "found by a scan")
    return operation_id, f"Put {counted(len(ids), noun)} into quarantine"


def keep_message(cases: Sequence[Case]) -> str:
    """Return `Kept 3 experiences as they are`, or the same for domains."""
    n_records = sum(len(case.ids) or 1 for case in cases)
    records = counted(n_records, cases[0].noun if cases[0].ids else "domain")
    return f"Kept {records} as {'it is' if n_records == 1 else 'they are'}"


def is_allowed(case: Case) -> bool:
    """Return whether the visitor may decide a case. Only curators decide on pending and on suspicious records."""
    return (case.waiting is None and case.finding is None and case.quarantine is None) or may_review()


def _stored_keep_decisions(memory: MemorySystem) -> KeepDecisions:
    ledger = memory.storage.ledger
    return KeepDecisions(ledger.notes, ledger.clock)


def _keep_decision(case: Case, count_text: str) -> Decision:
    if case.waiting is not None:
        return Decision(name="keep", label=f"Accept{count_text}", key="a", help_text="Everybody finds it from now on.")
    return Decision(name="keep", label=f"Keep{count_text}", key="a", help_text="Closes the case and changes nothing.")


def _retire_decisions(case: Case, count_text: str) -> list[Decision]:
    """Return the answer that hides records from agents and keeps them, or nothing if the queue does not offer it."""
    if case.queue not in (STALE, NEVER) and (case.queue, case.noun) != (FAILING, STRATEGY.noun):
        return []
    help_text = "Agents do not find it any more. It is kept, and can be brought back. You see a preview first."
    return [Decision(name="retire", label=f"Retire{count_text} …", key="t", help_text=help_text)]


def _delete_decision(case: Case, count_text: str) -> Decision:
    word = "Reject" if case.waiting is not None else "Delete copies" if _ids_to_delete(case) != case.ids else "Delete"
    return Decision(
        name="delete", label=f"{word}{count_text} …", key="x", help_text="You first see what would be deleted."
    )


def _can_merge(cases: Sequence[Case]) -> bool:
    noun = cases[0].noun
    return any(act.name == "merge" for act in VIEWS[noun].acts) and (noun == EXPERIENCE.noun or len(cases) == 1)


def _ids_to_delete(case: Case) -> tuple[str, ...]:
    """Return the ids of a case that deleting removes. The oldest of equal records that cannot be merged stays."""
    is_mergeable = any(act.name == "merge" for act in VIEWS[case.noun].acts) if case.noun in VIEWS else False
    return case.ids[1:] if case.is_group and not is_mergeable else case.ids
