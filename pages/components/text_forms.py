"""The texts of one thing in boxes, which are kept when they are saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import streamlit as st

from atlas import MemorySystem, NotFound
from atlas.views.editable import EditableTexts
from atlas.views.kinds import Kind
from pages.components.acts import announce_problem, announcing_problems
from pages.components.editing import READ_ONLY
from pages.components.forms import Begun, act, begin, draw_conflict, forget, form_key


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """What a kind of memory has texts of, and how they are read."""

    kind: Kind
    labels: Mapping[str, str]
    """What each box is called, by the name of the field, in their order."""

    heights: Mapping[str, int]
    """In pixels; what is not here is of one line."""

    read: Callable[[MemorySystem, str], EditableTexts | None]
    """What is stored now, by its id; None where it is not there any more."""

    @property
    def name(self) -> str:
        """How the keys of its widgets begin."""
        return f"{self.kind.noun}_edit"


def draw_text_form(memory: MemorySystem, form: TextForm, record_id: str, stored: EditableTexts) -> None:
    """The boxes, and the button that saves them."""
    is_off, noun = memory.storage.read_only, form.kind.noun
    is_typed: Callable[[Begun], bool] = lambda begun: typed(form.name, begun) not in (begun.stored, stored)  # noqa: E731
    begun = begin(form.name, record_id, stored, is_typed=is_typed)
    is_conflict = begun.stored != stored
    with st.container():  # a place of its own, so that the boxes below stay the same ones
        if is_conflict:
            differing = stored.differing(begun.stored)
            draw_conflict(form.name, record_id, differing, f"This {noun} was changed elsewhere")
    draw_boxes(form, form_key(form.name, begun), begun.stored, is_off=is_off)
    st.button("Save mine over it" if is_conflict else "Save", key=f"{form.name}_save", disabled=is_off,
              help=READ_ONLY if is_off else "The version that it replaces is kept.", on_click=_save,
              args=(memory, form, begun, stored))  # fmt: skip


def draw_boxes(form: TextForm, key: str, at_first: EditableTexts, *, is_off: bool) -> None:
    """A box for each text; the key of each begins as is said."""
    for name, label in form.labels.items():
        text = getattr(at_first, name)
        if name in form.heights:
            st.text_area(label, text, key=f"{key}_{name}", height=form.heights[name], disabled=is_off)
        else:
            st.text_input(label, text, key=f"{key}_{name}", disabled=is_off)


def typed(name: str, begun: Begun) -> Any:
    """What the boxes of a form hold now."""
    key = form_key(name, begun)
    texts = {field.name: getattr(begun.stored, field.name) for field in fields(begun.stored)}
    return replace(begun.stored, **{name: st.session_state.get(f"{key}_{name}", text) for name, text in texts.items()})


def _save(memory: MemorySystem, form: TextForm, begun: Begun, seen: EditableTexts) -> None:
    """Save what was typed, unless what is stored says something else than the person has seen."""
    now, noun = form.read(memory, begun.key), form.kind.noun
    if now is None:
        announce_problem(NotFound(f"this {noun} is not in the store any more; it was deleted elsewhere"))
        return
    with announcing_problems():
        changes = typed(form.name, begun).changes(begun.stored)
        if now != seen or not changes:
            return
        scoped: Any = form.kind.records(memory).within("edit")
        if act(lambda: scoped.edit(begun.key, **changes), scoped, f"Saved the {noun}"):
            forget(form.name)
