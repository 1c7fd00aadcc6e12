"""The map as one file that needs no network: for a talk, a paper, or someone without the store."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping

from atlas.maps.map import MemoryMap
from atlas.memory.system import MemorySystem
from atlas.views.map.colours import COLOURED_BY
from atlas.views.map.domains import domains_caption
from atlas.views.map.packets import renderer_script, stylesheet
from atlas.views.map.page import quality_text
from atlas.views.map.sheet import colours_of, sheet_of
from atlas.views.map.spread import spread_map
from atlas.views.shared.browser import asset
from atlas.views.shared.wording import OUTCOMES

TITLE_CHARACTERS = 160
MANY = 20_000
"""Experiences beyond which titles are cut to half of that, so that the file stays small enough to open."""


def map_page(memory: MemorySystem, memory_map: MemoryMap, titles: Mapping[str, str]) -> str:
    """Return the text of an HTML file that shows a map.

    Args:
        memory: Only read.
        memory_map: The map as the store is now.
        titles: The title of each record, by id.
    """
    sheet = sheet_of(memory.experience.column, spread_map(memory_map))
    longest = TITLE_CHARACTERS if len(memory_map.ids) <= MANY else TITLE_CHARACTERS // 2
    domains = {domain.number: domain.name for domain in memory_map.domains}
    content = {
        "points": _pack(sheet.points.packet),
        "colours": {by: _pack(colours_of(memory.experience.column, sheet, by).packet) for by in COLOURED_BY},
        "titles": [titles.get(record_id, "")[:longest] for record_id in memory_map.ids],
        "outcomes": OUTCOMES,
        "domains": domains,
        "labels": memory_map.labels.tolist(),
    }
    parts = {
        "%CAPTION%": html.escape(domains_caption(memory_map)),
        "%QUALITY%": html.escape(quality_text(memory_map)),
        "%STYLE%": stylesheet(),
        "%SCRIPT%": renderer_script(),
        "%CONTENT%": _pack(json.dumps(content).encode()),  # in base64, so that no text of it can end the script
    }
    page = asset("map_page.html")
    for placeholder, part in parts.items():
        page = page.replace(placeholder, part)
    return page


def _pack(content: bytes) -> str:
    return base64.b64encode(content).decode()
