"""Plans before they are applied: what would go, why, and what stays; and the button that does exactly that."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import AtlasError, MemorySystem, PlanOutdated
from atlas.views.experience.proposals import MergeRequest, Proposal, PruneRequest, RefineRequest
from atlas.views.journal.promotion import PromoteProposal, PromoteRequest
from atlas.views.journal.proposals import CompactProposal, CompactRequest
from atlas.views.shared.plans import PlanRow
from atlas.views.shared.removals import Removal, RemovalRequest
from pages.components.journal.promotion import draw_becoming
from pages.components.journal.summaries import draw_summaries
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.record_table import close_opened, opened_id
from pages.components.lists.selection import unselect
from pages.components.shared.undo_toast import announce, announce_problem, announcing_problems

ROWS_SHOWN = 500
TABLE_PIXELS = 260

_PROPOSAL, _OUTDATED = "plan_proposal", "plan_outdated"

SHOWN = ("sign", "title", "why")

Request = PruneRequest | MergeRequest | RefineRequest | RemovalRequest | CompactRequest | PromoteRequest
AnyProposal = Proposal | Removal | CompactProposal | PromoteProposal


def propose(memory: MemorySystem, request: Request) -> None:
    """Show what this would do, in a dialog over the page; for a button's callback."""
    st.session_state.pop(_OUTDATED, None)
    with announcing_problems():
        st.session_state[_PROPOSAL] = request.propose(memory)


def draw_proposing(
    memory: MemorySystem,
    label: str,
    request: Request,
    *,
    key: str,
    icon: str,
    help_text: str,
    is_possible: bool = True,
) -> None:
    """A button that shows what something would do.

    Args:
        help_text: What it says of itself where it can be pressed, or what is missing where it cannot.
    """
    is_off = memory.storage.read_only
    st.button(label, key=key, icon=icon, disabled=is_off or not is_possible, on_click=propose, args=(memory, request),
              help=READ_ONLY if is_off else help_text)  # fmt: skip


def draw_deleting(memory: MemorySystem, request: RemovalRequest, *, key: str, help_text: str) -> None:
    """A button that shows what deleting would do."""
    draw_proposing(memory, "Delete …", request, key=key, icon=":material/delete:", help_text=help_text,
                   is_possible=bool(request.ids))  # fmt: skip


def close_plan() -> None:
    """Put the plan away, without anything being done."""
    st.session_state.pop(_PROPOSAL, None)
    st.session_state.pop(_OUTDATED, None)


def draw_plan(memory: MemorySystem) -> bool:
    """The plan that was proposed, if there is one; whether there is."""
    proposal: AnyProposal | None = st.session_state.get(_PROPOSAL)
    if proposal is None:
        return False
    draw = st.dialog(proposal.request.verb, width="large", on_dismiss=close_plan)(_draw)
    draw(memory)
    return True


def _draw(memory: MemorySystem) -> None:
    proposal: AnyProposal | None = st.session_state.get(_PROPOSAL)
    if proposal is None:  # applied, or put away
        st.rerun()
        return
    st.markdown(f"**{proposal.view.headline}**")
    for note in proposal.view.notes:
        st.caption(note)
    _draw_choice(memory, proposal)
    if proposal.going:
        _draw_effect(proposal)
    _draw_rows(proposal)
    if isinstance(proposal, CompactProposal):
        draw_summaries(proposal)
    if isinstance(proposal, PromoteProposal):
        draw_becoming(proposal)
    _draw_buttons(memory, proposal)


def _draw_choice(memory: MemorySystem, proposal: AnyProposal) -> None:
    """For what a person chose, the offer to keep the best of what says the same."""
    request = proposal.request
    if isinstance(request, PruneRequest) and request.is_choice:
        st.toggle(
            "Keep the best of each group of near-duplicates",
            value=request.is_diverse,
            key="plan_diverse",
            on_change=_take_diversity,
            args=(memory, request),
            help="Where nothing similar would be left in the memory, the best of them stays.",
        )


def _draw_effect(proposal: AnyProposal) -> None:
    for column, (name, value, before) in zip(st.columns(max(2, len(proposal.effect))), proposal.effect, strict=False):
        column.metric(name, value, before, delta_color="off", delta_arrow="off", border=True)


def _draw_rows(proposal: AnyProposal) -> None:
    subject, caption = proposal.request.subject, proposal.request.caption
    if caption:
        _draw_table(proposal.view.rows, caption, subject)
        return
    going = [row for row in proposal.view.rows if row.goes]
    saved = [row for row in proposal.view.rows if not row.goes]
    if going:
        _draw_table(going, f"{len(going):,} would go", subject)
    if saved:
        _draw_table(saved, f"{len(saved):,} would go but {'is' if len(saved) == 1 else 'are'} saved", subject)


def _draw_table(rows: list[PlanRow] | tuple[PlanRow, ...], caption: str, subject: str) -> None:
    n_more = len(rows) - ROWS_SHOWN
    st.caption(f"{caption}; the first {ROWS_SHOWN} are shown" if n_more > 0 else caption)
    lines = [{**asdict(row), "sign": "goes" if row.goes else "stays"} for row in rows[:ROWS_SHOWN]]
    height = min(TABLE_PIXELS, 35 * (len(lines) + 1) + 3)
    is_mixed = len({row.goes for row in rows}) > 1
    shown = [name for name in SHOWN if is_mixed or name != "sign"]
    columns = {
        "sign": st.column_config.TextColumn("", width=60),
        "title": st.column_config.TextColumn(subject, width="large"),
        "why": st.column_config.TextColumn("Why", width="large"),
    }
    st.dataframe(lines, column_config=columns, column_order=shown, hide_index=True, height=height, alt=caption)


def _draw_buttons(memory: MemorySystem, proposal: AnyProposal) -> None:
    if outdated := st.session_state.get(_OUTDATED):
        st.warning("The store has changed since this was planned. Nothing was done.", icon=":material/sync_problem:")
        st.text(outdated)
        if isinstance(proposal.request, RefineRequest | CompactRequest):  # which a worker plans, asked for on the page
            st.button("Close", key="plan_cancel", on_click=close_plan)
        else:
            st.button("Plan anew", key="plan_anew", type="primary", on_click=_replan, args=(memory, proposal.request))
        return
    if not proposal.going:
        st.info("Nothing would go.", icon=":material/check:")
        return
    is_confirmed = _draw_confirmation(proposal)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            proposal.button,
            key="plan_apply",
            type="primary",
            icon=":material/check:",
            on_click=_apply,
            args=(memory, proposal),
            disabled=not is_confirmed or memory.storage.read_only,
        )
        st.button("Cancel", key="plan_cancel", on_click=close_plan)
        st.caption("It can be undone.")


def _draw_confirmation(proposal: AnyProposal) -> bool:
    """Whether the count was typed, where so much would go that it must be."""
    if not proposal.view.is_large:
        return True
    count = str(proposal.view.n_going)
    st.text_input(
        f"That is {proposal.view.share:.0%} of the memory. Type {count} to confirm",
        key="plan_count",
        live=True,
        placeholder=count,
    )
    return _is_typed(proposal)


def _is_typed(proposal: AnyProposal) -> bool:
    typed = str(st.session_state.get("plan_count") or "")
    return not proposal.view.is_large or typed.replace(",", "").strip() == str(proposal.view.n_going)


def _take_diversity(memory: MemorySystem, request: PruneRequest) -> None:
    wanted = bool(st.session_state.get("plan_diverse"))
    # Streamlit also calls this when the dialog has just been closed by another button.
    if _PROPOSAL in st.session_state and wanted != request.is_diverse:
        _replan(memory, request.with_diversity(wanted))


def _replan(memory: MemorySystem, request: Request) -> None:
    st.session_state.pop("plan_count", None)
    try:
        st.session_state[_PROPOSAL] = request.propose(memory)
        st.session_state.pop(_OUTDATED, None)
    except AtlasError as error:
        announce_problem(error)
        close_plan()


def _apply(memory: MemorySystem, proposal: AnyProposal) -> None:
    """Apply exactly the plan that was shown."""
    if st.session_state.get(_PROPOSAL) is not proposal or not _is_typed(proposal):
        return
    try:
        operation_id, sentence = proposal.apply(memory)
    except PlanOutdated as error:
        st.session_state[_OUTDATED] = str(error)
        return
    except AtlasError as error:
        announce_problem(error)
        close_plan()
        return
    if not isinstance(proposal, CompactProposal | PromoteProposal):  # which remove nothing
        unselect(proposal.going)
        if opened_id() in proposal.going:
            close_opened()
    announce(operation_id, sentence)
    close_plan()
