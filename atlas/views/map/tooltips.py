"""Responses to the map's renderer: tooltips and titles."""

from __future__ import annotations

from typing import Any

from atlas.memory.system import MemorySystem
from atlas.views.kinds.titles import task_title
from atlas.views.map.packets import pack
from atlas.views.map.sheet import Sheet
from atlas.views.shared.wording import OUTCOMES, outcome_with_sign

TITLES = 24
"""Largest number of titles that are shown at the same time. The renderer requests no more."""

TITLE_CHARACTERS = 240


def tooltip_packet(memory: MemorySystem, sheet: Sheet, hovered: object, wanted: object) -> bytes:
    """Return the tooltip of the hovered point, and the titles of labelled points.

    Untrusted text, which the renderer shows as text.

    Args:
        memory: Only read.
        sheet: The data that the browser draws.
        hovered: Index of the hovered point. The browser sent it, so it may be any value.
        wanted: Indices of points to label. At most `TITLES` are used.
    """
    points = sheet.points
    hovered_id = points.id_of(hovered)
    wanted_ids = [points.id_of(point) for point in wanted[:TITLES]] if isinstance(wanted, list) else []
    ids = list(filter(None, wanted_ids))
    titles = memory.experience.titles([*filter(None, [hovered_id])])
    hover: dict[str, Any] = {"point": None, "lines": []}
    if hovered_id is not None and hovered_id in titles:
        number = points.number_by_id[hovered_id]
        domain = sheet.map.domain(int(sheet.map.labels[number]))
        lines = [titles[hovered_id][:TITLE_CHARACTERS], outcome_with_sign(OUTCOMES[points.outcomes[number]])]
        hover = {"point": number, "lines": [*lines, domain.name if domain else "in no domain"]}
    named = [
        [points.number_by_id[experience.id], task_title(experience.task.description).title]
        for experience in memory.experience.get_many(ids)
    ]
    return pack({"points": points.key, **hover, "titles": named})
