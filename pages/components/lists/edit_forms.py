"""What a person can change of one memory, in boxes that are kept when they are saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import streamlit as st

from atlas import MemorySystem, NotFound
from atlas.views.lists.editable import EditableFields
from atlas.views.shared.kinds import Kind
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.forms import Begun, act, begin_typing, forget, form_key
from pages.components.shared.undo_toast import announce_problem, announcing_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBoxes:
    """A box for each text of something."""

    labels: Mapping[str, str]
    """What each box is called, by the name of the field, in their order."""

    heights: Mapping[str, int]
    """In pixels; what is not here is of one line."""

    def draw(self, key: str, at_first: Any, is_off: bool) -> None:
        """Draw them; the key of each begins as is said, and ends with the name of its field."""
        for name, label in self.labels.items():
            text = getattr(at_first, name)
            if name in self.heights:
                st.text_area(label, text, key=f"{key}_{name}", height=self.heights[name], disabled=is_off)
            else:
                st.text_input(label, text, key=f"{key}_{name}", disabled=is_off)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditForm:
    """How what a person can change of a kind is read, drawn and saved."""

    kind: Kind
    editable: Callable[[Any], EditableFields]
    """What can be changed, of a record as it is stored."""

    draw: Callable[[str, Any, bool], None]
    """Draws a box for each field, given how their keys begin (each ends with the field's name), what they hold at
    first, and whether nothing can be typed."""

    changes: Callable[[Any, Any, Any], dict[str, Any]] = lambda record, typed, begun: typed.changes(begun)
    """What `edit` takes to make a record say what was typed, where that is not what the person began with."""

    help_text: str | None = None

    @property
    def name(self) -> str:
        """How the keys of its widgets begin."""
        return f"{self.kind.noun}_edit"


def draw_form(memory: MemorySystem, form: EditForm, record_id: str, stored: EditableFields) -> None:
    """The boxes, and the button that saves them."""
    is_off, noun = memory.storage.read_only, form.kind.noun
    begun = begin_typing(
        form.name,
        record_id,
        stored,
        typed=partial(_typed, form.name),
        differing=stored.differing,
        sentence=f"This {noun} was changed elsewhere",
    )
    form.draw(form_key(form.name, begun), begun.stored, is_off)
    st.button("Save" if begun.stored == stored else "Save mine over it", key=f"{form.name}_save", disabled=is_off,
              help=READ_ONLY if is_off else form.help_text, on_click=_save,
              args=(memory, form, begun, stored))  # fmt: skip


def _typed(name: str, begun: Begun) -> Any:
    """What the boxes of a form hold now."""
    key, names = form_key(name, begun), [field.name for field in fields(begun.stored)]
    held = {one: st.session_state.get(f"{key}_{one}", getattr(begun.stored, one)) for one in names}
    return replace(begun.stored, **held)


def _save(memory: MemorySystem, form: EditForm, begun: Begun, seen: EditableFields) -> None:
    """Save what was typed, unless what is stored says something else than the person has seen."""
    records: Any = form.kind.records(memory)
    now, noun = records.get(begun.key), form.kind.noun
    if now is None:
        announce_problem(NotFound(f"this {noun} is not in the store any more; it was deleted elsewhere"))
        return
    with announcing_problems():
        changes = form.changes(now, _typed(form.name, begun), begun.stored)
        if form.editable(now) != seen or not changes:
            return
        scoped = records.within("edit")
        if act(lambda: scoped.edit(begun.key, **changes), scoped, f"Saved the {noun}"):
            forget(form.name)
