"""Editing a record's marks: tags, pin, retirement and note. Each change can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from atlas import Marks, MemorySystem
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.shared.retirement import BringBackPlan, RetireRequest
from atlas.views.shared.scope import offered
from atlas.views.shared.wording import READ_ONLY as READ_ONLY
from atlas.views.shared.wording import counted, plural
from pages.components.lists.forms import FormStart, act, begin, begin_typing, form_key
from pages.components.shared.plans import apply_now, draw_proposing
from pages.components.shared.scope import page_tags

PLACEHOLDER = "What you want to remember about it"


def draw_mark_acts(memory: MemorySystem, record_id: str, marks: Marks, kind: Kind) -> None:
    """Draw the buttons that pin and retire a record."""
    draw_pin(memory, [record_id], kind, key=f"{kind.noun}_pin", is_pinned=marks.pinned)
    is_retired = bool(kind.retired_ids(memory, [record_id]))
    draw_retire(memory, [record_id], kind, key=f"{kind.noun}_retire", is_retired=is_retired)


def draw_pin(memory: MemorySystem, ids: Sequence[str], kind: Kind, *, key: str, is_pinned: bool) -> None:
    """Draw the button that pins or unpins records."""
    pin = "Unpin" if is_pinned else "Pin"
    st.button(pin, key=key, icon=":material/push_pin:", disabled=memory.storage.read_only or not ids,
              on_click=change_marks, args=(memory, ids, f"{pin}ned {counted(len(ids), kind.noun)}", kind),
              kwargs={"pinned": not is_pinned}, help=READ_ONLY if memory.storage.read_only else kind.when_pinned,
              )  # fmt: skip


def draw_retire(memory: MemorySystem, ids: Sequence[str], kind: Kind, *, key: str, is_retired: bool) -> None:
    """Draw the button that retires records, or brings them back if they are retired."""
    if not is_retired:
        help_text = f"Agents do not find retired {plural(kind.noun)}. They are kept. You see a preview first."
        draw_proposing(memory, "Retire …", RetireRequest(kind, tuple(ids)), key=key, icon=":material/visibility_off:",
                       help_text=help_text, is_possible=bool(ids))  # fmt: skip
        return
    disabled, plan = memory.storage.read_only, BringBackPlan(kind=kind, ids=tuple(ids))
    st.button(plan.view.button, key=key, icon=":material/visibility:", disabled=disabled or not ids, on_click=apply_now,
              args=(memory, plan), help=READ_ONLY if disabled else plan.view.headline)  # fmt: skip


def draw_tags(memory: MemorySystem, record_id: str, tags: tuple[str, ...], kind: Kind = EXPERIENCE) -> None:
    """Draw the tags as chips. Tags of other records are offered, and new ones can be typed."""
    disabled, form = memory.storage.read_only, f"{kind.noun}_tags"
    key = form_key(form, begin(form, record_id, tags, is_typed=lambda start: False))
    st.multiselect("Tags", offered(page_tags(memory, kind), tags), default=list(tags), key=key,
                   accept_new_options=True, placeholder="Add a tag", disabled=disabled,
                   help=READ_ONLY if disabled else None,
                   on_change=_retag, args=(memory, record_id, tags, key, kind))  # fmt: skip


def draw_note(memory: MemorySystem, record_id: str, stored: str, kind: Kind = EXPERIENCE) -> None:
    """Draw the note, and the button that saves it."""
    disabled, form = memory.storage.read_only, f"{kind.noun}_note"
    start = begin_typing(
        form,
        record_id,
        stored,
        typed=partial(_typed_note, form),
        differing=lambda was: {"Note": stored} if stored else {},
        sentence="The note was changed elsewhere",
    )
    st.text_area(
        "Note", start.stored, key=form_key(form, start), height=120, disabled=disabled, placeholder=PLACEHOLDER
    )
    st.button(
        "Save the note" if start.stored == stored else "Overwrite with mine",
        key=f"{form}_save",
        disabled=disabled,
        help=READ_ONLY if disabled else None,
        on_click=_save_note,
        args=(memory, start, stored, kind),
    )


def change_marks(
    memory: MemorySystem, ids: Sequence[str], sentence: str, kind: Kind = EXPERIENCE, **changes: Any
) -> None:
    """Change marks as one operation and report it, with the offer to undo it."""
    scoped = kind.records(memory).as_operation("mark")
    act(lambda: scoped.change_marks(ids, **changes), scoped, sentence)


def _retag(memory: MemorySystem, record_id: str, before: tuple[str, ...], key: str, kind: Kind) -> None:
    wanted = [str(tag).strip() for tag in st.session_state[key] if str(tag).strip()]
    added = [tag for tag in dict.fromkeys(wanted) if tag not in before]
    removed = [tag for tag in before if tag not in wanted]
    if added or removed:
        sentence = " and ".join([*(["added a tag"] if added else []), *(["removed a tag"] if removed else [])])
        change_marks(memory, [record_id], sentence.capitalize(), kind, add_tags=added, remove_tags=removed)


def _save_note(memory: MemorySystem, start: FormStart, seen: str, kind: Kind) -> None:
    """Save the note, unless it has changed since it was shown."""
    now = kind.records(memory).marks([start.key])[start.key].note
    typed = _typed_note(f"{kind.noun}_note", start)
    if now != seen or typed == now:
        return
    change_marks(memory, [start.key], "Saved the note", kind, note=typed)


def _typed_note(form: str, start: FormStart) -> str:
    typed: str = st.session_state.get(form_key(form, start), start.stored)
    return typed
