"""What a person can change of one concept: its texts, in boxes that are kept when they are saved."""

from __future__ import annotations

from atlas import MemorySystem
from atlas.views.concept import EditableConcept
from atlas.views.kinds import CONCEPT
from pages.components.text_forms import TextForm

LABELS = {
    "name": "Name",
    "description": "What it does",
    "signature": "Signature",
    "guidance": "When to use it",
    "code": "Code",
    "examples": "Examples, as a Python session: >>> and a call, below it the result",
}
HEIGHTS = {"description": 100, "guidance": 80, "code": 300, "examples": 160}


def _stored(memory: MemorySystem, concept_id: str) -> EditableConcept | None:
    concept = memory.concepts.get(concept_id)
    return None if concept is None else EditableConcept.of(concept)


FORM = TextForm(kind=CONCEPT, labels=LABELS, heights=HEIGHTS, read=_stored)
