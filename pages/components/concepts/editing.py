"""The form that edits a concept."""

from __future__ import annotations

from atlas.views.concepts.concept import EditableConcept
from atlas.views.shared.kinds import CONCEPT
from pages.components.lists.edit_forms import EditForm, TextBoxes

LABELS = {
    "name": "Name",
    "description": "What it does",
    "signature": "Signature",
    "guidance": "When to use it",
    "code": "Code",
    "examples": "Examples, as a Python session: >>> and a call, below it the result",
}
HEIGHTS = {"description": 100, "guidance": 80, "code": 300, "examples": 160}


BOXES = TextBoxes(labels=LABELS, heights=HEIGHTS)

FORM = EditForm(
    kind=CONCEPT,
    editable=EditableConcept.of,
    draw=BOXES.draw,
    help_text="The previous version is kept.",
)
