"""Forms that edit a record: a box for each field of its kind."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from itertools import groupby
from typing import Any

import streamlit as st

from atlas import MemorySystem, NotFound
from atlas.views.kinds.fields import ChoiceField, Field, Fields, NumberField
from atlas.views.lists.editable import EditableFields
from atlas.views.lists.kind_views import KindViews
from atlas.views.shared.wording import SIGNS, outcome_with_sign
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.forms import FormStart, act, begin_typing, forget, form_key
from pages.components.shared.undo_toast import announce_problem, announcing_problems


def draw_boxes(boxes: Fields, key: str, initial: Any, disabled: bool) -> None:
    """Draw a box for each field. Fields with a width share a row.

    Args:
        key: Prefix of the key of each, which the field's name follows.
        initial: Initial values, as attributes.
        disabled: Whether the boxes are disabled.
    """
    for has_width, run in groupby(boxes, lambda box: box.width is not None):
        with st.container(horizontal=has_width):
            for box in run:
                _draw_box(box, getattr(initial, box.name), key=f"{key}_{box.name}", disabled=disabled)


def _draw_box(box: Field, value: Any, **shared: Any) -> None:
    width: Any = box.width or "stretch"
    match box:
        case ChoiceField(width=None, values=values):
            form: Any = {"default": value, "required": True, "format_func": _with_sign}
            st.segmented_control(box.label, values, **form, **shared)
        case ChoiceField():
            st.selectbox(box.label, box.values, box.values.index(value), box.word, width=width, **shared)
        case NumberField():
            st.number_input(box.label, box.least, box.most, value, box.step, width=width, **shared)
        case Field(height=None):
            st.text_input(box.label, value, width=width, **shared)
        case _:
            st.text_area(box.label, value, height=box.height, width=width, **shared)


def _with_sign(value: str) -> str:
    return outcome_with_sign(value) if value in SIGNS else value


def draw_form(memory: MemorySystem, views: KindViews[Any], record_id: str, stored: EditableFields) -> None:
    """Draw the boxes, and the button that saves them."""
    disabled, noun, name = memory.storage.read_only, views.kind.noun, _name(views)
    start = begin_typing(
        name,
        record_id,
        stored,
        typed=partial(_typed, name),
        differing=stored.changed_texts,
        sentence=f"This {noun} was changed elsewhere",
    )
    draw_boxes(views.kind.fields, form_key(name, start), start.stored, disabled)
    help_text = "The previous version is kept." if views.versioned else "It can be undone."
    st.button(
        "Save" if start.stored == stored else "Overwrite with mine",
        key=f"{name}_save",
        disabled=disabled,
        help=READ_ONLY if disabled else help_text,
        on_click=_save,
        args=(memory, views, start, stored),
    )


def _name(views: KindViews[Any]) -> str:
    return f"{views.kind.noun}_edit"


def _typed(name: str, start: FormStart) -> Any:
    """Return the contents of a form's boxes."""
    key = form_key(name, start)
    names = [field.name for field in fields(start.stored)]
    typed = {name: st.session_state.get(f"{key}_{name}", getattr(start.stored, name)) for name in names}
    return replace(start.stored, **typed)


def _save(memory: MemorySystem, views: KindViews[Any], start: FormStart, seen: EditableFields) -> None:
    """Save the form, unless the record has changed since it was opened."""
    records: Any = views.kind.records(memory)
    now, noun, name = records.get(start.key), views.kind.noun, _name(views)
    if now is None:
        announce_problem(NotFound(f"this {noun} is no longer in the store; it was deleted elsewhere"))
        return
    with announcing_problems():
        changes = _typed(name, start).changes(start.stored, now)
        if views.editable(now) != seen or not changes:
            return
        scoped = records.as_operation("edit")
        if act(lambda: scoped.edit(start.key, **changes), scoped, f"Saved the {noun}"):
            forget(name)
