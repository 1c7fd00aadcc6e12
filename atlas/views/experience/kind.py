"""The views of experiences."""

from __future__ import annotations

from atlas.core.types import Experience
from atlas.views.experience.experience import Editable, experience_detail
from atlas.views.experience.list import count_with_rate, experience_rows, profile_note, stored_rows
from atlas.views.experience.proposals import MergeRequest, PruneRequest
from atlas.views.experience.selection import selection_summary
from atlas.views.experience.trials import grouped_ids, task_page
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.titles import task_text
from atlas.views.lists.facts import Badge
from atlas.views.lists.hits import CardText
from atlas.views.lists.kind_views import KindViews, deleting, merging


def card_text(experience: Experience) -> CardText:
    """Return the texts of the card of an experience."""
    return CardText(
        title=task_text(experience.task.description),
        badge=Badge.of_outcome(experience.outcome.label),
        sources={
            "Task": task_text(experience.embedding_text),
            "Solution": experience.solution_output,
            "Feedback": experience.feedback,
        },
    )


EXPERIENCES = KindViews(
    kind=EXPERIENCE,
    rows=experience_rows,
    stored_rows=stored_rows,
    grouped_page=task_page,
    grouped_ids=grouped_ids,
    count=count_with_rate,
    found_note=profile_note,
    card=lambda memory, experience, text: card_text(experience),
    detail=experience_detail,
    editable=Editable.of,
    acts=(
        merging(
            lambda ids: MergeRequest(groups=(ids,)),
            "Merges them into the best attempt. You see a preview first.",
        ),
        deleting(lambda ids: PruneRequest(among=ids), "You first see what would be deleted."),
    ),
    selection=selection_summary,
)
