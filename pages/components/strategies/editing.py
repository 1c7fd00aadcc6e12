"""The form that edits a strategy."""

from __future__ import annotations

from atlas.views.shared.kinds import STRATEGY
from atlas.views.strategies.strategy import EditableStrategy
from pages.components.lists.edit_forms import EditForm, TextBoxes

LABELS = {
    "title": "Title. If it is empty, the first line of the situation is used",
    "situation": "When to apply it",
    "suggestion": "What to do",
    "parameters": "Parameters, one per line: name (type): what it is",
    "rationale": "Why it should work",
}
HEIGHTS = {"situation": 100, "suggestion": 200, "parameters": 90, "rationale": 80}


BOXES = TextBoxes(labels=LABELS, heights=HEIGHTS)

FORM = EditForm(
    kind=STRATEGY,
    editable=EditableStrategy.of,
    draw=BOXES.draw,
    help_text="The previous version is kept.",
)
