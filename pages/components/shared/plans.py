"""Previews of plans: removed records with reasons, kept ones, and the button that applies the plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from atlas import AtlasError, MemorySystem, PlanOutdated
from atlas.views.lists.kind_views import Act
from atlas.views.lists.plan_table import HOW_MEASURED, keeping_label, loss_sentence, plan_columns, plan_lines
from atlas.views.shared.plans import Choice, CurationLoss, Figure, Plan, PlanRequest, PlanRow, PlanView, SparingRequest
from atlas.views.shared.wording import READ_ONLY, share_text
from pages.components.lists.record_table import close_opened, opened_id, ticked_table
from pages.components.lists.selection import unselect
from pages.components.shared.undo_toast import announce, announce_problem, announcing_problems, set_problem

MAX_ROWS = 500

ADVISED = "Mod+Enter"
"""The key of the blue button, which applies the plan unless keeping records is advised first."""

_SHOWN, _OUTDATED = "plan_shown", "plan_outdated"

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
    with st.container(gap="xsmall"):
        st.markdown(f"**{view.headline}**")
        if view.loss is not None and view.figures_if_kept:
            _draw_options(view, view.loss)
        elif view.figures:
            st.markdown(" · ".join(map(_figure_text, view.figures)))
        for note in view.notes:
            st.caption(note)
        if view.choice is not None:
            _draw_choice(memory, open_plan, view.choice)
    if view.loss is not None and view.loss.n_removed and not view.figures_if_kept:
        _draw_loss(view.loss)
    _draw_rows(memory, open_plan)
    open_plan.draw_extra(open_plan.plan)
    _draw_buttons(memory, open_plan)


def _draw_choice(memory: MemorySystem, open_plan: _OpenPlan, choice: Choice) -> None:
    key = f"plan_{choice.name}"
    st.toggle(choice.label, value=choice.is_on, key=key, on_change=_take_choice, args=(memory, open_plan, choice, key),
              help=choice.help_text)  # fmt: skip


def _figure_text(figure: Figure) -> str:
    return f"{figure.name} {_change_text(figure)}"


def _change_text(figure: Figure) -> str:
    return f"{figure.before} → **{figure.value}**"


def _draw_options(view: PlanView, loss: CurationLoss) -> None:
    """Draw side by side what is left if the records that tasks need stay, and if all go."""
    task, of_all = "Sampled tasks" if loss.is_sampled else "Tasks", f"of {loss.n_tasks:,}"
    pairs = zip(view.figures_if_kept, view.figures, strict=True)
    rows = [
        ("", f"{keeping_label(loss, view.n_going)} (advised)", view.button),
        ("---",) * 3,
        *((kept.name, _change_text(kept), _change_text(gone)) for kept, gone in pairs),
        (f"{task} that lose their best record", f"**0** {of_all}", f":red[**{loss.n_losing:,}** {of_all}]"),
    ]
    subject = "one of them is the best" if len(loss.lost) == 1 else f"{len(loss.lost):,} of them are the best"
    st.markdown(f"Two choices, because {subject} for tasks that would have nothing as good:")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown("\n".join(f"| {' | '.join(row)} |" for row in rows), width="content")
        _draw_measuring(loss)


def _draw_loss(loss: CurationLoss) -> None:
    """Draw what tasks would lose, in a plan without options."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if not loss.lost:
            st.info(loss_sentence(loss), icon=":material/check:")
        else:
            st.warning(loss_sentence(loss), icon=":material/heart_broken:")
        _draw_measuring(loss)


def _draw_measuring(loss: CurationLoss) -> None:
    if loss.details:
        with st.popover("How is this measured?", icon=":material/help:", type="tertiary", key="plan_measure"):
            st.text(HOW_MEASURED)
            for detail in loss.details:
                st.text(detail)


def _draw_keeping(memory: MemorySystem, open_plan: _OpenPlan) -> bool:
    """Draw a button that keeps the records that tasks need, and return whether it is advised."""
    loss, request = open_plan.plan.view.loss, open_plan.request
    if loss is None or not loss.lost or not isinstance(request, SparingRequest):
        return False
    label = keeping_label(loss, open_plan.plan.view.n_going)
    st.button(label, key="plan_keep_all", type="primary", icon=":material/shield:", shortcut=ADVISED,
              on_click=_replan, args=(memory, open_plan, request.sparing(loss.ids_to_keep)))  # fmt: skip
    return True


def _draw_rows(memory: MemorySystem, open_plan: _OpenPlan) -> None:
    view = open_plan.plan.view
    if view.caption:
        _draw_table(memory, open_plan, view.rows, view.caption)
        return
    going = [row for row in view.rows if row.goes]
    saved = [row for row in view.rows if not row.goes]
    if going:
        can_keep = isinstance(open_plan.request, SparingRequest)
        hint = ". Untick what should stay" if can_keep else ""
        _draw_table(memory, open_plan, going, f"{len(going):,} would be removed{hint}")
    if saved:
        are = "is" if len(saved) == 1 else "are"
        _draw_table(memory, open_plan, saved, f"{len(saved):,} would be removed but {are} protected")


def _draw_table(memory: MemorySystem, open_plan: _OpenPlan, rows: Sequence[PlanRow], caption: str) -> None:
    n_more, request = len(rows) - MAX_ROWS, open_plan.request
    st.caption(f"{caption}; the first {MAX_ROWS} are shown" if n_more > 0 else f"{caption}.")
    lines = plan_lines(open_plan.plan.view, rows[:MAX_ROWS])
    columns = plan_columns(lines, open_plan.plan.view.subject)
    key = f"plan_rows_{rows[0].goes}_{abs(hash(tuple(line.id for line in lines)))}" if rows else "plan_rows"
    if isinstance(request, SparingRequest) and all(row.goes for row in rows):
        keep = partial(_keep, memory, open_plan, request)
        ticked_table(lines, columns=columns, key=key, on_unticked=keep)
    elif rows:
        ticked_table(lines, columns=columns, key=key)


def _keep(memory: MemorySystem, open_plan: _OpenPlan, request: SparingRequest, ids: Sequence[str]) -> None:
    _replan(memory, open_plan, request.sparing(ids))


def _draw_buttons(memory: MemorySystem, open_plan: _OpenPlan) -> None:
    view = open_plan.plan.view
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
    plan, view = open_plan.plan, open_plan.plan.view
    with st.container(horizontal=True, vertical_alignment="bottom" if view.is_large else "center"):
        is_advised = not _draw_keeping(memory, open_plan)
        is_confirmed = _draw_confirmation(view)
        st.button(
            view.button,
            key="plan_apply",
            type="primary" if is_advised else "secondary",
            icon=":material/check:",
            shortcut=ADVISED if is_advised else None,
            on_click=_apply,
            args=(memory, plan),
            disabled=not is_confirmed or memory.storage.read_only,
        )
        st.button("Cancel", key="plan_cancel", on_click=close_plan)
        st.caption(view.undo)


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
        placeholder=count, width=330,
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
