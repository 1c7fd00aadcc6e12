"""The views of concepts."""

from __future__ import annotations

from functools import partial

from atlas.core.types import CodeConcept
from atlas.memory.concepts.memory import EDITABLE
from atlas.memory.kinds.sections import success_rate_text
from atlas.memory.system import MemorySystem
from atlas.views.concepts.concept import EditableConcept, concept_detail
from atlas.views.concepts.list import concept_rows
from atlas.views.concepts.proposals import delete_view, merge_view
from atlas.views.kinds.concept import CONCEPT
from atlas.views.lists.findings import count_with_uses
from atlas.views.lists.highlighting import matched_spans
from atlas.views.lists.hits import CardText
from atlas.views.lists.kind_views import KindViews, deleting, merging
from atlas.views.shared.removals import DeleteRequest, MergeRequest


def _card(memory: MemorySystem, concept: CodeConcept, text: str) -> CardText:
    usage = memory.concepts.usage([concept.id])[concept.id]
    used = success_rate_text(usage.n_successes, usage.n_uses)
    sources = {"Does": concept.description, "When": concept.guidance}
    if not any(matched_spans(source, text) for source in sources.values()):  # code on one line is hard to read
        sources["Code"] = concept.code
    return CardText(title=concept.name, outcome=f"{concept.language}, {concept.source}, {used}", sources=sources)


CONCEPTS = KindViews(
    kind=CONCEPT,
    rows=concept_rows,
    count=lambda memory, query: count_with_uses(memory, CONCEPT, query),
    card=_card,
    detail=concept_detail,
    editable=EditableConcept.of,
    versioned=[*EDITABLE],
    acts=(
        merging(
            partial(MergeRequest, CONCEPT, merge_view), "Merges them into the most used one. You see a preview first."
        ),
        deleting(partial(DeleteRequest, CONCEPT, delete_view), "You first see which concepts depend on {}."),
    ),
)
