"""Previews of plans: removed records with reasons, kept ones, and the button that applies the plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import streamlit as st

from atlas import AtlasError, MemorySystem, PlanOutdated
from atlas.views.lists.kind_views import Act
from atlas.views.shared.plans import Choice, CurationLoss, Figure, KeepingRequest, Plan, PlanRequest, PlanRow, PlanView
from atlas.views.shared.wording import READ_ONLY, share_text, signed
from pages.components.lists.record_table import close_opened, opened_id, table_height
from pages.components.lists.selection import unselect
from pages.components.shared.undo_toast import announce, announce_problem, announcing_problems, set_problem

MAX_ROWS = 500
ROWS_AT_ONCE = 6
MAX_LOST = 5

_SHOWN, _OUTDATED = "plan_shown", "plan_outdated"

COLUMNS = {
    "sign": st.column_config.TextColumn("", width=60),
    "outcome": st.column_config.TextColumn("Outcome", width=110),
    "title": st.column_config.TextColumn("Title", width="large"),
    "why": st.column_config.TextColumn("Why", width="large"),
}

ICONS = {"merge": ":material/merge:", "delete": ":material/delete:", "prune": ":material/delete_sweep:"}
"""Icons of actions by name."""

P = TypeVar("P", bound=Plan)


def draw_nothing(plan: Plan) -> None:
    """Draw nothing, the default for `draw_extra`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenPlan:
    """The plan in the dialog."""

    plan: Plan
    request: PlanRequest[Any]
    draw_extra: Callable[[Any], None]
    is_repeatable: bool


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
    st.session_state.pop(_OUTDATED, None)
    with announcing_problems():
        _show(memory, request, draw_extra, is_repeatable)


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
    for key in (_SHOWN, _OUTDATED):
        st.session_state.pop(key, None)


def draw_plan(memory: MemorySystem) -> bool:
    """Draw the proposed plan, and return whether there is one."""
    open_plan: _OpenPlan | None = st.session_state.get(_SHOWN)
    if open_plan is None:
        return False
    st.dialog(open_plan.plan.view.title, width="large", on_dismiss=close_plan)(_draw)(memory)
    return True


def _draw(memory: MemorySystem) -> None:
    open_plan: _OpenPlan | None = st.session_state.get(_SHOWN)
    if open_plan is None:  # applied or dismissed
        st.rerun()
        return
    view = open_plan.plan.view
    st.markdown(f"**{view.headline}**")
    for note in view.notes:
        st.caption(note)
    if view.choice is not None:
        _draw_choice(memory, open_plan, view.choice)
    _draw_figures(view.figures)
    if view.loss is not None and view.loss.n_leaving:
        _draw_loss(memory, open_plan, view.loss)
    _draw_rows(view)
    open_plan.draw_extra(open_plan.plan)
    _draw_buttons(memory, open_plan)


def _draw_choice(memory: MemorySystem, open_plan: _OpenPlan, choice: Choice) -> None:
    key = f"plan_{choice.name}"
    st.toggle(choice.label, value=choice.is_on, key=key, on_change=_take_choice, args=(memory, open_plan, choice, key),
              help=choice.help_text)  # fmt: skip


def _draw_figures(figures: Sequence[Figure]) -> None:
    with st.container(horizontal=True, gap="large"):
        for figure in figures:
            st.metric(figure.name, figure.value, figure.before, delta_color="off", delta_arrow="off", width="content")


def _draw_loss(memory: MemorySystem, open_plan: _OpenPlan, loss: CurationLoss) -> None:
    """Draw the plan's loss, and each record worth keeping with a button that excludes it."""
    sentence = f"{loss.sentence[0].upper()}{loss.sentence[1:]}"
    if loss.lost:
        best = "this one" if len(loss.lost) == 1 else f"these {len(loss.lost):,}"
        can_keep = isinstance(open_plan.request, KeepingRequest)
        st.warning(f"{sentence}: {f'keep {best} to lose none' if can_keep else best}.", icon=":material/heart_broken:")
        _draw_lost(memory, open_plan, loss)
    else:
        st.info(f"{sentence}.", icon=":material/check:")
    for detail in loss.details:
        st.caption(detail)


def _draw_lost(memory: MemorySystem, open_plan: _OpenPlan, loss: CurationLoss) -> None:
    request, n_lost = open_plan.request, len(loss.lost)
    n_left = open_plan.plan.view.n_going - n_lost
    if n_lost > 1 and isinstance(request, KeepingRequest):
        rest = f", remove the other {n_left:,}" if n_left > 0 else ""
        st.button(f"Keep these {n_lost:,}{rest}", key="plan_keep_all", icon=":material/shield:", on_click=_keep,
                  args=(memory, open_plan, request, loss.ids_to_keep))  # fmt: skip
    with st.container(gap=None):
        for record in loss.lost[:MAX_LOST]:
            with st.container(horizontal=True, vertical_alignment="center"):
                if isinstance(request, KeepingRequest):
                    st.button("Keep", key=f"plan_keep_{record.id}", icon=":material/shield:", type="tertiary",
                              on_click=_keep, args=(memory, open_plan, request, [record.id]),
                              help="Takes it out of the plan")  # fmt: skip
                st.text(record.title)
        if n_lost > MAX_LOST:
            st.caption(f"and {n_lost - MAX_LOST:,} more")


def _keep(memory: MemorySystem, open_plan: _OpenPlan, request: KeepingRequest, ids: Sequence[str]) -> None:
    _replan(memory, open_plan, request.keeping(ids))


def _draw_rows(view: PlanView) -> None:
    if view.caption:
        _draw_table(view.rows, view.caption, view.subject)
        return
    going = [row for row in view.rows if row.goes]
    saved = [row for row in view.rows if not row.goes]
    if going:
        _draw_table(going, f"{len(going):,} would be removed", view.subject)
    if saved:
        _draw_table(
            saved, f"{len(saved):,} would be removed but {'is' if len(saved) == 1 else 'are'} protected", view.subject
        )


def _draw_table(rows: Sequence[PlanRow], caption: str, subject: str) -> None:
    n_more = len(rows) - MAX_ROWS
    st.caption(f"{caption}; the first {MAX_ROWS} are shown" if n_more > 0 else caption)
    lines = [
        {**asdict(row), "sign": "goes" if row.goes else "stays", "outcome": row.outcome and signed(row.outcome)}
        for row in rows[:MAX_ROWS]
    ]
    height = table_height(len(lines), ROWS_AT_ONCE)
    columns = {**COLUMNS, "title": st.column_config.TextColumn(subject, width="large")}
    st.dataframe(lines, column_config=columns, column_order=_columns(rows), hide_index=True, height=height, alt=caption)


def _columns(rows: Sequence[PlanRow]) -> list[str]:
    """Return the columns that have a value in any of these rows."""
    tells = {
        "sign": len({row.goes for row in rows}) > 1,
        "outcome": any(row.outcome for row in rows),
        "why": any(row.why for row in rows),
    }
    return [name for name in COLUMNS if tells.get(name, True)]


def _draw_buttons(memory: MemorySystem, open_plan: _OpenPlan) -> None:
    plan, view = open_plan.plan, open_plan.plan.view
    if outdated := st.session_state.get(_OUTDATED):
        _draw_outdated(memory, open_plan, outdated)
        return
    if not view.button:
        st.info(view.nothing, icon=":material/check:")
        return
    with st.container(key="plan_foot"):
        _draw_foot(memory, plan)


def _draw_foot(memory: MemorySystem, plan: Plan) -> None:
    """Draw what applies the plan, which stays in view while the rest is scrolled."""
    view = plan.view
    is_confirmed = _draw_confirmation(view)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            view.button,
            key="plan_apply",
            type="primary",
            icon=":material/check:",
            shortcut="Mod+Enter",
            on_click=_apply,
            args=(memory, plan),
            disabled=not is_confirmed or memory.storage.read_only,
        )
        st.button("Cancel", key="plan_cancel", on_click=close_plan)
        st.caption("It can be undone.")


def _draw_outdated(memory: MemorySystem, open_plan: _OpenPlan, outdated: str) -> None:
    st.warning("The store has changed since this was planned. Nothing was done.", icon=":material/sync_problem:")
    st.text(outdated)
    if open_plan.is_repeatable:
        st.button(
            "Plan again", key="plan_anew", type="primary", on_click=_replan, args=(memory, open_plan, open_plan.request)
        )
    else:
        st.button("Close", key="plan_cancel", on_click=close_plan)


def _draw_confirmation(view: PlanView) -> bool:
    """Draw the confirmation box of a large plan, and return whether the count was typed."""
    if not view.is_large:
        return True
    count = str(view.n_going)
    st.text_input(
        f"That is {share_text(view.share)} of the memory. Type {count} to confirm", key="plan_count", live=True,
        placeholder=count,
    )  # fmt: skip
    return _is_typed(view)


def _is_typed(view: PlanView) -> bool:
    typed = str(st.session_state.get("plan_count") or "")
    return not view.is_large or typed.replace(",", "").strip() == str(view.n_going)


def _take_choice(memory: MemorySystem, open_plan: _OpenPlan, choice: Choice, key: str) -> None:
    # Streamlit also calls this when the dialog has just been closed by another button.
    if _SHOWN in st.session_state and bool(st.session_state.get(key)) != choice.is_on:
        _replan(memory, open_plan, choice.other)


def _replan(memory: MemorySystem, open_plan: _OpenPlan, request: PlanRequest[Any]) -> None:
    st.session_state.pop("plan_count", None)
    try:
        _show(memory, request, open_plan.draw_extra, open_plan.is_repeatable)
        st.session_state.pop(_OUTDATED, None)
    except AtlasError as error:
        announce_problem(error)
        close_plan()


def _show(
    memory: MemorySystem, request: PlanRequest[Any], draw_extra: Callable[[Any], None], is_repeatable: bool
) -> None:
    plan = request.propose(memory)
    st.session_state[_SHOWN] = _OpenPlan(plan=plan, request=request, draw_extra=draw_extra, is_repeatable=is_repeatable)


def _apply(memory: MemorySystem, plan: Plan) -> None:
    """Apply exactly the plan that was shown."""
    open_plan: _OpenPlan | None = st.session_state.get(_SHOWN)
    if open_plan is None or open_plan.plan is not plan or not _is_typed(plan.view):
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
