"""Forms that edit a record."""

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
    """The labels of the boxes, by the name of the field, in their order."""

    heights: Mapping[str, int]
    """In pixels, by the name of the field. Boxes without a height have one line."""

    def draw(self, key: str, at_first: Any, is_off: bool) -> None:
        """Draw the boxes. The key of each is `key` and the name of its field."""
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
    """The fields of a stored record that can be changed."""

    draw: Callable[[str, Any, bool], None]
    """Function that draws a box for each field, given how their keys begin (each ends with the field's name), what they
    hold at first, and whether nothing can be typed."""

    changes: Callable[[Any, Any, Any], dict[str, Any]] = lambda record, typed, begun: typed.changes(begun)
    """The changes, as `edit` takes them, that a person typed into the boxes."""

    help_text: str | None = None

    @property
    def name(self) -> str:
        """How the keys of its widgets begin."""
        return f"{self.kind.noun}_edit"


def draw_form(memory: MemorySystem, form: EditForm, record_id: str, stored: EditableFields) -> None:
    """Draw the boxes, and the button that saves them."""
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
    st.button("Save" if begun.stored == stored else "Overwrite with mine", key=f"{form.name}_save", disabled=is_off,
              help=READ_ONLY if is_off else form.help_text, on_click=_save,
              args=(memory, form, begun, stored))  # fmt: skip


def _typed(name: str, begun: Begun) -> Any:
    """Return the contents of a form's boxes."""
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
