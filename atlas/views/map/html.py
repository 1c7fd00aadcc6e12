"""The map as one file that needs no network: for a talk, a paper, or someone without the store."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable

from atlas.core.errors import NotFound
from atlas.jobs.artefact import CACHE, MapFile
from atlas.maps.labels import DomainNames
from atlas.maps.map import MemoryMap, extended, make_map, regrouped
from atlas.maps.snapshot import Embedded, read_embedded
from atlas.memory.system import MemorySystem
from atlas.views.map.colours import COLOURED_BY
from atlas.views.map.domains import domains_caption
from atlas.views.map.packets import renderer_script, stylesheet
from atlas.views.map.page import quality_text
from atlas.views.map.sheet import colours_of, sheet_of
from atlas.views.shared.browser import asset
from atlas.views.shared.wording import OUTCOMES, counted

TITLE_CHARACTERS = 160
MANY = 20_000
"""Experiences beyond which titles are cut to half of that, so that the file stays small enough to open."""

Progress = Callable[[int, int, str], None]


def map_page(
    memory: MemorySystem, *, engine: str = "umap", min_domain_size: int = 0, on_progress: Progress | None = None
) -> str:
    """The map of all experiences as the text of an HTML file.

    Args:
        memory: What is shown; it is only read.
        engine: `pca`, `umap` or `umap-learn`.
        min_domain_size: Fewest experiences of a domain; 0 takes what suits their number.
        on_progress: Called with how much is done, of how much, and what is being done.

    Raises:
        NotFound: There is nothing to show.
    """
    embedded = read_embedded(memory.storage, memory.experience.collection_name)
    if not embedded.ids:
        raise NotFound("there are no experiences to map yet; import some first: atlas import PATH")
    memory_map = _current_map(memory, embedded, engine, min_domain_size, on_progress)
    named = DomainNames(memory.storage.path, memory.experience.collection_name).apply(memory_map)
    return _page(memory, named, dict(zip(embedded.ids, embedded.titles, strict=True)))


def _current_map(
    memory: MemorySystem, embedded: Embedded, engine: str, min_domain_size: int, on_progress: Progress | None
) -> MemoryMap:
    """The map that the app shows, where it is of this kind and still good; else a new one."""
    saved = MapFile(memory.storage.path / CACHE, memory.experience.collection_name).load()
    if saved is not None and (saved.recipe.engine, saved.recipe.model) == (engine, embedded.model):
        shown = extended(saved, embedded)
        if not shown.needs_refit:
            is_asked = min_domain_size in (0, shown.recipe.min_domain_size)
            return shown if is_asked else regrouped(shown, embedded, min_domain_size)
    return make_map(embedded, engine=engine, min_domain_size=min_domain_size, previous=saved, on_progress=on_progress)


def _page(memory: MemorySystem, memory_map: MemoryMap, titles: dict[str, str]) -> str:
    sheet = sheet_of(memory.experience.column, memory_map)
    longest = TITLE_CHARACTERS if len(memory_map.ids) <= MANY else TITLE_CHARACTERS // 2
    domains = {domain.number: domain.name for domain in memory_map.domains}
    content = {
        "points": _packed(sheet.points.packet),
        "colours": {by: _packed(colours_of(memory.experience.column, sheet, by).packet) for by in COLOURED_BY},
        "titles": [titles.get(one, "")[:longest] for one in memory_map.ids],
        "outcomes": OUTCOMES,
        "domains": domains,
        "labels": memory_map.labels.tolist(),
    }
    n = counted(len(memory_map.ids), "experience")
    parts = {
        "%CAPTION%": html.escape(f"{n} · {domains_caption(memory_map)}"),
        "%QUALITY%": html.escape(quality_text(memory_map)),
        "%STYLE%": stylesheet(),
        "%SCRIPT%": renderer_script(),
        "%CONTENT%": _packed(json.dumps(content).encode()),  # in base64, so that no text of it can end the script
    }
    page = asset("map_page.html")
    for place, part in parts.items():
        page = page.replace(place, part)
    return page


def _packed(content: bytes) -> str:
    return base64.b64encode(content).decode()
