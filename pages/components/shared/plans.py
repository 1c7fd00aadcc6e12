"""Previews of plans: removed records with reasons, kept ones, and the button that applies the plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from atlas import AtlasError, InvalidInput, MemorySystem, PlanOutdated
from atlas.views.lists.kind_views import Act
from atlas.views.lists.plan_table import (
    EFFECT_COLUMNS,
    HOW_MEASURED,
    EffectRow,
    effect_rows,
    first_rows,
    known_outcomes,
    loss_words,
    plan_columns,
    plan_lines,
    shared_text,
)
from atlas.views.map.sheet import map_fingerprint
from atlas.views.shared.plans import (
    CurationLoss,
    Figure,
    Offer,
    Plan,
    PlanRequest,
    PlanRow,
    PlanView,
    RetirableRequest,
    offer,
)
from atlas.views.shared.results import MemoryMap
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import READ_ONLY
from pages.components.lists.filters import digest
from pages.components.lists.record_table import close_opened, opened_id, plain_table, ticked_table
from pages.components.lists.selection import unselect
from pages.components.shared.snapshot import page_map, store_state
from pages.components.shared.undo_toast import announce, announce_problem, announcing_problems, set_problem

MAX_ROWS = 500

EFFECT_PIXELS = 725
"""Width of the table of what changes, whose numbers stand near their names."""

APPLYING = "Mod+Enter"
"""The key that applies the plan, unless a task would lose its best record."""

_SHOWN, _OUTDATED, _REFUSED = "plan_shown", "plan_outdated", "plan_refused"

ICONS = {"merge": ":material/merge:", "delete": ":material/delete:"}
"""Icons of actions by name."""

P = TypeVar("P", bound=Plan)


def draw_nothing(plan: Plan) -> None:
    """Draw nothing, the default for `draw_extra`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenPlan:
    """The plan in the dialog."""

    offer: Offer
    draw_extra: Callable[[Any], None]
    is_repeatable: bool
    n_refused: int = 0
    """Number of ticks that were refused. After each, the table is drawn again, with the boxes as they were."""


def propose(
    memory: MemorySystem,
    request: PlanRequest[P],
    *,
    draw_extra: Callable[[P], None] = draw_nothing,
    is_repeatable: bool = True,
) -> None:
    """Show a preview of a request in a dialog. Callback of a button.

    Args:
        draw_extra: Draws further content below the rows.
        is_repeatable: Whether it can be planned again in the dialog, unlike a worker's plan.
    """
    with announcing_problems():
        _show(_OpenPlan(offer=offer(memory, request), draw_extra=draw_extra, is_repeatable=is_repeatable))


def apply_now(memory: MemorySystem, plan: Plan) -> None:
    """Apply a plan that the page showed, and report it. Callback of a button."""
    with announcing_problems():
        _finish(plan, plan.apply(memory))


def draw_proposing(
    memory: MemorySystem,
    label: str,
    request: PlanRequest[P],
    *,
    key: str,
    icon: str,
    help_text: str,
    is_possible: bool = True,
    draw_extra: Callable[[P], None] = draw_nothing,
) -> None:
    """Draw a button that opens the preview of a request.

    Args:
        help_text: Tooltip: the effect, or the reason why the button is disabled.
        draw_extra: See `propose`.
    """
    disabled = memory.storage.read_only
    st.button(label, key=key, icon=icon, disabled=disabled or not is_possible, on_click=propose, args=(memory, request),
              kwargs={"draw_extra": draw_extra}, help=READ_ONLY if disabled else help_text)  # fmt: skip


def draw_act(memory: MemorySystem, act: Act, ids: tuple[str, ...], *, key: str, pronoun: str = "them") -> None:
    """Draw the button that opens the preview of an action on records."""
    draw_proposing(memory, act.label, act.request(ids), key=key, icon=ICONS[act.name],
                   help_text=act.help_text.format(pronoun), is_possible=len(ids) >= act.least)  # fmt: skip


def is_planning() -> bool:
    """Return whether a plan dialog is open."""
    return _SHOWN in st.session_state


def close_plan() -> None:
    """Drop the plan without applying it."""
    for key in (_SHOWN, _OUTDATED, _REFUSED):
        st.session_state.pop(key, None)


def draw_plan(memory: MemorySystem) -> bool:
    """Draw the proposed plan, and return whether there is one."""
    open_plan: _OpenPlan | None = st.session_state.get(_SHOWN)
    if open_plan is None:
        return False
    st.dialog(open_plan.offer.plan.view.title, width="large", on_dismiss=close_plan)(_draw)(memory)
    return True


def _draw(memory: MemorySystem) -> None:
    open_plan: _OpenPlan | None = st.session_state.get(_SHOWN)
    if open_plan is None:  # applied or dismissed
        st.rerun()
        return
    plan = open_plan.offer.plan
    with st.container(gap="xsmall", key="plan_head"):
        st.subheader(plan.view.heading, anchor=False)  # the dialog's own title does not follow the ticks
        st.text(plan.view.share_sentence or plan.view.headline)
        _draw_change(memory, open_plan.offer)
    _draw_rows(memory, open_plan)
    if refused := st.session_state.get(_REFUSED):
        st.warning("The rest cannot be planned. The ticks stay as they were.", icon=":material/error:")
        st.text(refused)
    open_plan.draw_extra(plan)
    _draw_buttons(memory, open_plan)


def _draw_change(memory: MemorySystem, shown: Offer) -> None:
    """Draw what changes, by domain once there is a map, and beside it what tasks lose, what stays, and the notes."""
    view, rows = shown.plan.view, _effect_rows(memory, shown.plan)
    with st.container(horizontal=bool(rows)):
        if rows:
            with st.container(width=EFFECT_PIXELS):
                plain_table(rows, columns=EFFECT_COLUMNS, key="plan_effect", label="What changes")
        with st.container(gap="xsmall", key="plan_facts"):
            _draw_effect(replace(view, figures=()) if rows else view)
            for sentence in filter(None, (*shown.reasons, view.rule)):
                st.text(sentence)
            for note in view.notes:
                st.caption(note)


def _draw_effect(view: PlanView) -> None:
    """Draw on one line what changes, and what tasks would lose."""
    parts, loss = [*map(_figure_text, view.figures)], view.loss
    if loss is not None and loss.n_removed:
        words = loss_words(loss) if parts else loss_words(loss).capitalize()
        safe = f":green[:material/check:] {words}" if loss.n_tasks else words
        parts.append(f":red[**{words}**]" if loss.lost else safe)
    if parts:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(" · ".join(parts), width="content")
            if loss is not None and loss.n_removed:
                _draw_measuring(loss)


def _effect_rows(memory: MemorySystem, plan: Plan) -> tuple[EffectRow, ...]:
    """Return what changes in all and by domain, or nothing without a map or without experiences that leave."""
    memory_map = page_map(memory) if plan.removed_ids else None
    if memory_map is None:
        return ()
    key = digest(plan.removed_ids, plan.view.figures)
    return _rows(store_state(memory), map_fingerprint(memory_map), key, _memory=memory, _map=memory_map, _plan=plan)


@st.cache_data(max_entries=8, show_spinner=False)
def _rows(
    state: StoreState, fingerprint: str, key: str, *, _memory: MemorySystem, _map: MemoryMap, _plan: Plan
) -> tuple[EffectRow, ...]:
    return effect_rows(_map, frozenset(_plan.removed_ids), known_outcomes(_memory), _plan.view.figures)


def _figure_text(figure: Figure) -> str:
    return f"{figure.name} {figure.before} → **{figure.value}**"


def _draw_measuring(loss: CurationLoss) -> None:
    if loss.details:
        with st.popover("How is this measured?", icon=":material/help:", type="tertiary", key="plan_measure"):
            st.text(HOW_MEASURED)
            for detail in loss.details:
                st.text(detail)


def _draw_rows(memory: MemorySystem, open_plan: _OpenPlan) -> None:
    shown = open_plan.offer
    view = shown.whole.view
    if view.caption:
        _draw_table(memory, open_plan, view.rows, view.caption)
        return
    going = [row for row in view.rows if row.goes]
    saved = [row for row in view.rows if not row.goes]
    if going:
        hint = "Ticked rows are deleted, the others stay" if shown.can_untick else f"{len(going):,} would be deleted"
        _draw_table(memory, open_plan, going, hint)
    if saved:
        are = "is" if len(saved) == 1 else "are"
        _draw_table(memory, open_plan, saved, f"{len(saved):,} {are} protected")


def _draw_table(memory: MemorySystem, open_plan: _OpenPlan, rows: Sequence[PlanRow], caption: str) -> None:
    n_more, shown = len(rows) - MAX_ROWS, open_plan.offer
    st.caption(f"{caption}; the first {MAX_ROWS} are shown." if n_more > 0 else f"{caption}.")
    listed = first_rows(shown, rows, MAX_ROWS)
    if shared := shared_text(listed):
        st.text(f"All: {shared}")
    lines = plan_lines(shown, listed)
    columns = plan_columns(lines, shown.whole.view.subject)
    fixed = [row.id for row in rows if not row.goes]
    if not rows:
        return
    key = f"plan_rows_{rows[0].goes}_{abs(hash(tuple(row.id for row in rows)))}_{open_plan.n_refused}"
    if shown.can_untick and len(fixed) < len(rows):
        ticked = [row.id for row in shown.plan.view.rows if row.goes]
        ticked_table(lines, columns=columns, key=key, ticked=ticked, fixed=fixed,
                     on_ticked=partial(_take_ticks, memory))  # fmt: skip
    else:
        ticked_table(lines, columns=columns, key=key)


def _take_ticks(memory: MemorySystem, ids: Sequence[str], is_ticked: bool) -> None:
    """Change the plan that is open now, which an earlier tick may have changed since the table was drawn."""
    open_plan: _OpenPlan | None = st.session_state.get(_SHOWN)
    if open_plan is None:
        return
    shown = open_plan.offer
    kept = shown.kept.difference(ids) if is_ticked else shown.kept.union(ids)
    try:
        _show(replace(open_plan, offer=shown.keeping(memory, kept)))
    except InvalidInput as error:  # too few are left
        _show(replace(open_plan, n_refused=open_plan.n_refused + 1))
        st.session_state[_REFUSED] = str(error)
    except AtlasError as error:
        _give_up(error)


def _draw_buttons(memory: MemorySystem, open_plan: _OpenPlan) -> None:
    view = open_plan.offer.plan.view
    if outdated := st.session_state.get(_OUTDATED):
        _draw_outdated(memory, open_plan, outdated)
        return
    if not view.button:
        st.info(view.nothing, icon=":material/check:")
        return
    with st.container(key="plan_foot"):
        _draw_foot(memory, open_plan)


def _draw_foot(memory: MemorySystem, open_plan: _OpenPlan) -> None:
    """Draw all decisions on the plan, which stay in view while the rest is scrolled."""
    plan, view = open_plan.offer.plan, open_plan.offer.plan.view
    loses = view.loss is not None and bool(view.loss.lost)
    with st.container(horizontal=True, vertical_alignment="bottom" if view.is_large else "center"):
        is_confirmed = _draw_confirmation(view)
        with st.container(width="content", key="plan_deletion" if view.is_deletion else "plan_change"):
            st.button(
                view.button,
                key="plan_apply",
                type="primary",
                icon=f":material/{'delete' if view.is_deletion else 'check'}:",
                shortcut=None if loses else APPLYING,
                on_click=_apply,
                args=(memory, plan),
                disabled=not is_confirmed or memory.storage.read_only,
            )
        st.button("Cancel", key="plan_cancel", on_click=close_plan)
        request = open_plan.offer.request
        if isinstance(request, RetirableRequest):
            st.button("Retire instead …", key="plan_retire", type="tertiary", on_click=propose,
                      args=(memory, request.retire_instead(plan.removed_ids)), disabled=memory.storage.read_only,
                      help="Hides them from agents, and keeps them.")  # fmt: skip
        st.caption(f":red[No shortcut while a task loses its best record.] {view.undo}" if loses else view.undo)


def _draw_outdated(memory: MemorySystem, open_plan: _OpenPlan, outdated: str) -> None:
    st.warning("The store has changed since this was planned. Nothing was done.", icon=":material/sync_problem:")
    st.text(outdated)
    if open_plan.is_repeatable:
        st.button("Plan again", key="plan_anew", type="primary", on_click=_plan_again, args=(memory, open_plan))
    else:
        st.button("Close", key="plan_cancel", on_click=close_plan)


def _draw_confirmation(view: PlanView) -> bool:
    """Draw the confirmation box of a large plan, and return whether the count was typed."""
    if not view.is_large:
        return True
    st.text_input(f"Type {view.n_going} to confirm", key="plan_count", live=True, width=160)
    return _is_typed(view)


def _is_typed(view: PlanView) -> bool:
    typed = str(st.session_state.get("plan_count") or "")
    return not view.is_large or typed.replace(",", "").strip() == str(view.n_going)


def _plan_again(memory: MemorySystem, open_plan: _OpenPlan) -> None:
    shown = open_plan.offer
    try:
        _show(replace(open_plan, offer=offer(memory, shown.request, shown.kept)))
    except AtlasError as error:
        _give_up(error)


def _give_up(error: AtlasError) -> None:
    announce_problem(error)
    close_plan()


def _show(open_plan: _OpenPlan) -> None:
    for key in (_OUTDATED, _REFUSED, "plan_count"):
        st.session_state.pop(key, None)
    st.session_state[_SHOWN] = open_plan


def _apply(memory: MemorySystem, plan: Plan) -> None:
    """Apply exactly the plan that was shown."""
    open_plan: _OpenPlan | None = st.session_state.get(_SHOWN)
    if open_plan is None or open_plan.offer.plan is not plan or not _is_typed(plan.view):
        return
    try:
        operation_id = plan.apply(memory)
    except PlanOutdated as error:
        st.session_state[_OUTDATED] = str(error)
        return
    except AtlasError as error:
        announce_problem(error)
    else:
        _finish(plan, operation_id)
    close_plan()


def _finish(plan: Plan, operation_id: str | None) -> None:
    """Report the result, and close a removed record."""
    if operation_id is not None:
        unselect(plan.removed_ids)
        if opened_id() in plan.removed_ids:
            close_opened()
        announce(operation_id, plan.done_sentence)
    elif plan.view.nothing:
        set_problem(plan.view.nothing)
