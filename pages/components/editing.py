"""What a person can change of one experience: marks at once, texts when they are saved; all of it can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from atlas import AtlasError, MemorySystem, NotFound
from atlas.views.experience import Editable, ExperienceDetail
from atlas.views.scope import offered
from atlas.views.texts import Text
from atlas.views.wording import OUTCOMES, signed
from pages.components.acts import announce, announce_problem
from pages.components.scope import page_tags
from pages.components.tables import close_opened
from pages.components.texts import draw_code

READ_ONLY = "This store is open for reading only."
PLACEHOLDER = "What you think of it"

_BEGUN = "experience_begun"


@dataclass(frozen=True, slots=True)
class Begun:
    """What was stored when a person began to type."""

    key: str
    stored: Any
    number: int = 0
    """Grows when they ask for what is stored now, in place of what they have typed."""


def draw_acts(memory: MemorySystem, detail: ExperienceDetail) -> None:
    """Buttons that pin, bury and delete."""
    is_off, why = memory.storage.read_only, READ_ONLY if memory.storage.read_only else None
    marks, ids = detail.marks, [detail.id]
    pin = ("Unpin", "Unpinned 1 experience") if marks.pinned else ("Pin", "Pinned 1 experience")
    bury = ("Unbury", "Unburied 1 experience") if marks.buried else ("Bury", "Buried 1 experience")
    st.button(pin[0], key="experience_pin", icon=":material/push_pin:", disabled=is_off, on_click=change_marks,
              args=(memory, ids, pin[1]), kwargs={"pinned": not marks.pinned},
              help=why or "Pinned experiences are never pruned.")  # fmt: skip
    st.button(bury[0], key="experience_bury", icon=":material/visibility_off:", disabled=is_off, on_click=change_marks,
              args=(memory, ids, bury[1]), kwargs={"buried": not marks.buried},
              help=why or "Agents do not find buried experiences. They are kept, and you still see them.")  # fmt: skip
    st.button("Delete", key="experience_delete", icon=":material/delete:", disabled=is_off, on_click=delete,
              args=(memory, detail.id), help=why or "It can be undone.")  # fmt: skip


def draw_tags(memory: MemorySystem, detail: ExperienceDetail) -> None:
    """The tags as chips: those of other experiences are offered, and a new one can be typed."""
    held, is_off = detail.marks.tags, memory.storage.read_only
    key = _key("tags", _begin("tags", detail.id, held, is_typed=lambda begun: False))
    st.multiselect("Tags", offered(page_tags(memory), held), default=list(held), key=key, accept_new_options=True,
                   placeholder="Add a tag", disabled=is_off, help=READ_ONLY if is_off else None,
                   on_change=_retag, args=(memory, detail.id, held, key))  # fmt: skip


def draw_note(memory: MemorySystem, detail: ExperienceDetail) -> None:
    """The note, which is kept when it is saved."""
    is_off, stored = memory.storage.read_only, detail.marks.note
    begun = _begin("note", detail.id, stored, is_typed=lambda begun: _typed_note(begun) not in (begun.stored, stored))
    is_conflict = begun.stored != stored
    with st.container():  # a place of its own, so that the boxes below stay the same ones
        if is_conflict:
            _draw_conflict("note", detail.id, {"Note": stored} if stored else {}, "The note was changed elsewhere")
    st.text_area("Note", begun.stored, key=_key("note", begun), height=120, disabled=is_off, placeholder=PLACEHOLDER)
    st.button("Save mine over it" if is_conflict else "Save the note", key="experience_note_save", disabled=is_off,
              help=READ_ONLY if is_off else None, on_click=_save_note,
              args=(memory, begun, stored))  # fmt: skip


def draw_edit(memory: MemorySystem, detail: ExperienceDetail) -> None:
    """Boxes for the task's text, the outcome and the feedback, which are kept when they are saved."""
    is_off, stored = memory.storage.read_only, detail.editable
    begun = _begin("edit", detail.id, stored, is_typed=lambda begun: _typed_edit(begun) not in (begun.stored, stored))
    is_conflict, was, key = begun.stored != stored, begun.stored, _key("edit", begun)
    with st.container():  # as above
        if is_conflict:
            _draw_conflict("edit", detail.id, stored.differing(was), "This experience was changed elsewhere")
    st.text_area("Task", was.task, key=f"{key}_task", height=140, disabled=is_off)
    st.segmented_control("Outcome", OUTCOMES, default=was.outcome, required=True, key=f"{key}_outcome",
                         format_func=signed, disabled=is_off)  # fmt: skip
    st.text_area("Feedback", was.feedback, key=f"{key}_feedback", height=140, disabled=is_off)
    st.button("Save mine over it" if is_conflict else "Save", key="experience_edit_save", disabled=is_off,
              help=READ_ONLY if is_off else None, on_click=_save_edit,
              args=(memory, begun, stored))  # fmt: skip


def change_marks(memory: MemorySystem, ids: Sequence[str], sentence: str, **changes: Any) -> None:
    """Change marks as one operation and say so, with the offer to undo it."""
    scoped = memory.experience.within("mark")
    _act(lambda: scoped.change_marks(ids, **changes), scoped, sentence)


def delete(memory: MemorySystem, experience_id: str) -> None:
    """Delete an experience, say so, and go back to the list."""
    scoped = memory.experience.within("delete")
    if _act(lambda: scoped.delete([experience_id]), scoped, "Deleted 1 experience"):
        close_opened()


def _retag(memory: MemorySystem, experience_id: str, held: tuple[str, ...], key: str) -> None:
    wanted = [str(tag).strip() for tag in st.session_state[key] if str(tag).strip()]
    added = [tag for tag in dict.fromkeys(wanted) if tag not in held]
    removed = [tag for tag in held if tag not in wanted]
    if added or removed:
        said = " and ".join([*(["added a tag"] if added else []), *(["removed a tag"] if removed else [])])
        change_marks(memory, [experience_id], said.capitalize(), add_tags=added, remove_tags=removed)


def _save_note(memory: MemorySystem, begun: Begun, seen: str) -> None:
    """Save what was typed, unless the note is another one than the person has seen."""
    now = memory.experience.marks([begun.key])[begun.key].note
    typed = _typed_note(begun)
    if now != seen or typed == now:
        return
    change_marks(memory, [begun.key], "Saved the note", note=typed)


def _save_edit(memory: MemorySystem, begun: Begun, seen: Editable) -> None:
    """Save what was typed, unless the experience says something else than the person has seen."""
    experience = memory.experience.get(begun.key)
    if experience is None:
        announce_problem(NotFound("this experience is not in the store any more; it was deleted elsewhere"))
        return
    changes = _typed_edit(begun).changes(experience, begun.stored)
    if Editable.of(experience) != seen or not changes:
        return
    scoped = memory.experience.within("edit")
    if _act(lambda: scoped.edit(begun.key, **changes), scoped, "Saved the experience"):
        _forget("edit")


def _typed_note(begun: Begun) -> str:
    typed: str = st.session_state.get(_key("note", begun), begun.stored)
    return typed


def _typed_edit(begun: Begun) -> Editable:
    names = ("task", "outcome", "feedback")
    typed = {name: st.session_state.get(f"{_key('edit', begun)}_{name}", getattr(begun.stored, name)) for name in names}
    return Editable(**typed)


def _act(act: Callable[[], Any], scoped: Any, sentence: str) -> bool:
    """Do something and announce it, unless it changed nothing; whether it was done."""
    try:
        is_done = bool(act())
    except AtlasError as error:
        announce_problem(error)
        return False
    if is_done:
        announce(scoped.operation_id, sentence)
    return is_done


def _begin(form: str, experience_id: str, stored: Any, *, is_typed: Callable[[Begun], bool]) -> Begun:
    """What a person began with: what was stored when the boxes were first drawn for this experience.

    Where it has changed since, and they have typed nothing, they begin anew.
    """
    begun: Begun = st.session_state.get(f"{_BEGUN}_{form}") or Begun("", None)
    if begun.key != experience_id or (begun.stored != stored and not is_typed(begun)):
        begun = Begun(experience_id, stored, begun.number + 1)
        st.session_state[f"{_BEGUN}_{form}"] = begun
    return begun


def _key(form: str, begun: Begun) -> str:
    return f"experience_{form}_{begun.key}_{begun.number}"


def _forget(form: str) -> None:
    """Let the boxes begin anew at their next drawing, with what is stored then."""
    begun: Begun = st.session_state[f"{_BEGUN}_{form}"]
    st.session_state[f"{_BEGUN}_{form}"] = Begun("", None, begun.number)


def _draw_conflict(form: str, experience_id: str, stored: dict[str, str], sentence: str) -> None:
    """What is stored now, where it is not what the person began with. What they have typed stays in the form."""
    st.warning(f"{sentence} since you opened it. What you typed is still below, and not saved.",
               icon=":material/sync_problem:")  # fmt: skip
    for name, text in stored.items():
        st.caption(f"{name}, as it is stored now")
        draw_code(Text(text), key=f"experience_conflict_{form}_{name}_{experience_id}")
    st.button("Discard mine, take what is stored", key=f"experience_discard_{form}", on_click=_forget, args=(form,))
