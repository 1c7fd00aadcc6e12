"""The inbox: one case with its evidence, decided by a button or a key, beside the list of all cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.curate.case_view import (
    EVIDENCE_COLUMNS,
    CaseView,
    case_title,
    case_view,
    case_word,
    preview_lines,
)
from atlas.views.curate.cases import Case, Cases, find_cases, similar_cases
from atlas.views.curate.decisions import (
    Decision,
    Name,
    accept_waiting,
    ask_again,
    change_quarantine,
    decisions_on,
    effects,
    is_allowed,
    keep,
    keep_message,
    kept_names,
    plan_request,
)
from atlas.views.curate.health import UNKNOWN, Health
from atlas.views.curate.queues import INBOX, DuplicatesResult, ScanState
from atlas.views.curate.suggestions import suggestion
from atlas.views.experience.outcomes import OutcomeRequest
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.scope import Scope
from atlas.views.shared.state import StoreState, uses_seen
from atlas.views.shared.texts import Text
from pages.components.curate.case_list import current_index, draw_case_list, unless_covered
from pages.components.curate.queues import ids_in_scope
from pages.components.curate.review import NOT_ALLOWED
from pages.components.experience.trace import draw_steps
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.filters import digest
from pages.components.lists.record_table import open_experience, plain_table, table_height
from pages.components.shared.narrowing import go_from_click, narrow_to
from pages.components.shared.plans import apply_now, is_planning, propose
from pages.components.shared.snapshot import store_state
from pages.components.shared.texts import draw_code, draw_prose
from pages.components.shared.undo_toast import Act, Turn, announce, announce_act, announcing_problems, set_problem

_WITH_ALIKE, _MOST = "curate_with_alike", "curate_most"

WIDTHS = (3, 8)
"""Relative widths of the list of cases and of the case."""

ICONS: Mapping[Name, str] = {
    "succeeded": ":material/check:",
    "failed": ":material/close:",
    "quarantine": ":material/gpp_maybe:",
    "release": ":material/lock_open:",
    "keep": ":material/task_alt:",
    "merge": ":material/merge:",
    "retire": ":material/visibility_off:",
    "withdraw": ":material/account_tree:",
    "delete": ":material/delete:",
}
PROSE = ("Task", "When", "Do", "Because", "Does", "Entry", "Feedback")
"""Labels of prose fields. The others are code or program output."""

NAME_PIXELS = 76
"""Width of such a label beside its text."""


def page_cases(
    memory: MemorySystem,
    health: Health,
    duplicates: DuplicatesResult,
    scope: Mapping[str, Any],
    scanned: ScanState,
) -> Cases:
    """Return the undecided cases, cached by the state of the store, its decisions and the scope."""
    kept = kept_names(memory)
    health_key = (health.never_used, health.stale, health.failing, duplicates.groups, duplicates.repeated)
    key = hash((health_key, kept, scanned.findings, uses_seen(memory, STRATEGY)))
    return _cases(store_state(memory), digest(scope), key, _memory=memory, _found=health, _duplicates=duplicates,
                  _inside=ids_in_scope(memory, scope), _kept=kept, _scanned=scanned)  # fmt: skip


@st.cache_resource(max_entries=8, show_spinner=False)
def _cases(
    state: StoreState,
    scope: str,
    key: int,
    *,
    _memory: MemorySystem,
    _found: Health,
    _duplicates: DuplicatesResult,
    _inside: frozenset[str] | None,
    _kept: frozenset[str],
    _scanned: ScanState,
) -> Cases:
    return find_cases(_memory, _found, _duplicates, inside=_inside, kept_names=_kept, findings=_scanned.findings)


def draw_inbox(memory: MemorySystem, cases: Sequence[Case], queue: str, beside: DeltaGenerator) -> None:
    """Draw the current case beside the list of all cases.

    Args:
        beside: Where the progress is drawn.
    """
    with beside:
        _draw_progress(queue, len(cases))
    start = current_index(cases, queue)
    found = ((at, case_view(memory, cases[at])) for at in (*range(start, len(cases)), *range(start)))
    at, view = next(((at, view) for at, view in found if view is not None), (0, None))
    if view is None:
        if queue == INBOX:  # the queue in the tab below shows its own message when it is empty
            st.info("Nothing is left to decide here.", icon=":material/check:")
        return
    listing, shown = st.columns(WIDTHS, gap="small")
    with listing:
        draw_case_list(memory, cases, at, queue)
    with shown, st.container(border=True, key="curate_case", gap="small"):
        _draw_case(memory, view, similar_cases(view.case, cases[at:]))


def _draw_progress(queue: str, n_cases: int) -> None:
    """Draw the progress, relative to the largest number of cases in this session. Nothing before the first decision."""
    most: dict[str, int] = st.session_state.setdefault(_MOST, {})
    most[queue] = max(most.get(queue, 0), n_cases)
    n_done = most[queue] - n_cases
    if n_done:
        st.progress(n_done / most[queue], text=f"{n_done:,} of {most[queue]:,} decided")


def _draw_case(memory: MemorySystem, view: CaseView, others: tuple[Case, ...]) -> None:
    case = view.case
    is_with_alike = bool(others) and st.session_state.get(_WITH_ALIKE) == case.name
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.badge(f"{case_word(case).capitalize()} · {case_title(case)}", color="blue")
        _draw_opening(case)
    key = _key(case)
    with st.container(key=f"curate_heading_{key}"):
        draw_prose(view.title, key=f"curate_title_{key}")
    st.text(view.reason)
    _draw_decisions(memory, case, (case, *others) if is_with_alike else (case,), others)
    if is_with_alike:
        with st.expander(f"{len(others):,} more like it", expanded=True):
            for line in preview_lines(memory, others):
                st.text(line)
    _draw_evidence(view, key)


def _draw_opening(case: Case) -> None:
    label = "Show on the map" if case.domain is not None else "Open and edit"
    st.button(label, key=f"curate_open_{_key(case)}", icon=":material/open_in_full:", type="tertiary",
              shortcut=unless_covered("o"), disabled=is_planning(), on_click=_open, args=(case,))  # fmt: skip


def _draw_evidence(view: CaseView, key: str) -> None:
    """Draw the texts of the case, how the records of a group differ, the steps, and attempts."""
    if view.texts:
        with st.container(key=f"curate_texts_{key}", gap="xsmall"):
            for number, (name, text) in enumerate(view.texts):
                _draw_text(name, text, key=f"curate_text_{number}_{key}")
    if view.differences:
        st.caption("How the others differ")
        st.dataframe([dict(line) for line in view.differences], hide_index=True,
                     height=table_height(len(view.differences)), alt="How the others differ")  # fmt: skip
    if view.steps:
        draw_steps(view.steps, trace_id=view.case.ids[0], key="curate_trace")
    if view.attempts:
        _draw_attempts(view, key)


def _draw_text(name: str, text: Text, *, key: str) -> None:
    """Draw prose beside its name, and code or program output below it."""
    is_prose = name in PROSE
    with st.container(horizontal=is_prose, gap="small" if is_prose else None):
        st.caption(name, width=NAME_PIXELS if is_prose else "stretch")
        with st.container(width="stretch"):
            (draw_prose if is_prose else draw_code)(text, key=key)


def _draw_attempts(view: CaseView, key: str) -> None:
    """Draw the attempts that are evidence, as a table whose rows open those that are stored."""
    stored_ids = {row.id for row in view.attempts if row.is_stored}
    can_open = f"{view.attempts_heading}. Click one to open it." if stored_ids else f"{view.attempts_heading}."
    st.caption(can_open)
    plain_table(
        view.attempts, columns=EVIDENCE_COLUMNS, key=f"curate_evidence_{key}", label=view.attempts_heading,
        on_opened=partial(_open_attempt, stored_ids) if stored_ids else None,
    )  # fmt: skip


def _open_attempt(stored_ids: Set[str], record_id: str) -> None:
    if record_id in stored_ids:
        open_experience(record_id)


def _draw_decisions(memory: MemorySystem, case: Case, cases: tuple[Case, ...], others: tuple[Case, ...]) -> None:
    is_forbidden = memory.storage.read_only or not is_allowed(case)
    why = READ_ONLY if memory.storage.read_only else NOT_ALLOWED if is_forbidden else None
    is_disabled = is_forbidden or is_planning()
    key, decisions = _key(case), decisions_on(cases)
    advice = suggestion(case, decisions) if len(cases) == 1 else None
    if advice is not None:
        st.markdown(f"**{advice.sentence}**")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for decision in decisions:
            st.button(decision.label, key=f"curate_{decision.name}_{key}", icon=ICONS[decision.name],
                      type="primary" if advice is not None and advice.decision is decision else "secondary",
                      shortcut=unless_covered(decision.key), disabled=is_disabled,
                      help=why or decision.help_text, on_click=_decide, args=(memory, decision, cases))  # fmt: skip
        if others:
            includes_alike = len(cases) > 1
            st.button(f"With {len(others):,} more like it", key=f"curate_alike_{key}", shortcut=unless_covered("l"),
                      icon=f":material/{'check_box' if includes_alike else 'check_box_outline_blank'}:",
                      disabled=is_disabled, on_click=_choose_alike, args=(None if includes_alike else case,),
                      type="tertiary", help="The next decision holds for these too.")  # fmt: skip
    if differing := effects(decisions):
        st.caption(differing)


def _decide(memory: MemorySystem, decision: Decision, cases: tuple[Case, ...]) -> None:
    with announcing_problems():
        if decision.name == "keep" and cases[0].waiting is not None:
            announce(*accept_waiting(memory, cases))
        elif decision.name in ("quarantine", "release"):
            announce(*change_quarantine(memory, cases))
        elif decision.name == "keep":
            announce_act(Act(keep_message(cases), _keeping(cases)(memory)))
        elif cases[0].queue == UNKNOWN and decision.name in ("succeeded", "failed") and len(cases) == 1:
            _judge(memory, cases[0].ids[0], decision.name == "succeeded")
        else:
            propose(memory, plan_request(decision.name, cases))


def _keeping(cases: tuple[Case, ...]) -> Turn:
    def turn(memory: MemorySystem, /) -> Turn:
        keep(memory, cases)
        return _asking_again(cases)

    return turn


def _asking_again(cases: tuple[Case, ...]) -> Turn:
    def turn(memory: MemorySystem, /) -> Turn:
        ask_again(memory, cases)
        return _keeping(cases)

    return turn


def _judge(memory: MemorySystem, experience_id: str, success: bool) -> None:
    """Set the outcome of the shown attempt, unless it was set in the meantime."""
    proposal = OutcomeRequest(ids=(experience_id,), success=success).propose(memory)
    if [change.before for change in proposal.plan.changes] == ["unknown"]:
        apply_now(memory, proposal)
    elif proposal.plan.changes:
        set_problem("This outcome has been set elsewhere in the meantime. Open the experience to change it.")


def _open(case: Case) -> None:
    """Open a case in full: an experience beside it, a domain on the map, any other record on the page of its kind."""
    if case.domain is not None:
        narrow_to(Scope(domains=(case.domain.number,)))
        go_from_click("pages/map.py")
    elif case.noun == EXPERIENCE.noun:
        open_experience(case.ids[0])
    else:
        page = next(kind.page for kind in KINDS.values() if kind.noun == case.noun)
        go_from_click(f"pages/{page}.py", id=case.ids[0])


def _choose_alike(case: Case | None) -> None:
    st.session_state[_WITH_ALIKE] = case.name if case is not None else None


def _key(case: Case) -> str:
    """Return a key suffix for a case's widgets, so that a late click does not act on the next case."""
    return case.ids[0] if case.ids else case.name
