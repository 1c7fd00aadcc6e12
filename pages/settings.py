"""Settings: the status of the store and its checks, copies of it, the models, and libraries of ready-made functions."""

from __future__ import annotations

from atlas import MemorySystem
from atlas.views.settings.parts import settings_parts
from atlas.views.settings.roles import may_administer
from pages.components.importing.box import draw_import_box
from pages.components.lists.heading import draw_heading
from pages.components.settings.audit import draw_audit
from pages.components.settings.copies import draw_copies
from pages.components.settings.keys import draw_keys
from pages.components.settings.links import draw_links
from pages.components.settings.models import draw_models
from pages.components.settings.people import draw_people
from pages.components.settings.primitives import draw_primitives
from pages.components.settings.restoring import draw_restoring
from pages.components.settings.store import draw_store
from pages.components.shared.snapshot import page_memory
from pages.components.shared.tabs import choose_part


def draw_backups(memory: MemorySystem) -> None:
    """Draw export, backup and restore."""
    draw_copies(memory)
    if may_administer():
        draw_restoring(memory)


DRAW = {
    "Status": draw_store,
    "Import": draw_import_box,
    "Export and backup": draw_backups,
    "Models": draw_models,
    "Ready-made functions": draw_primitives,
    "Keys": draw_keys,
    "People": draw_people,
    "Links": draw_links,
    "Audit": draw_audit,
}
"""Functions that draw the parts of the page, by name."""

FORMERLY = {"Primitives": "Ready-made functions", "Store": "Status"}
"""Names that parts of the page had in older links."""

memory = page_memory()
draw_heading("Settings", "The state of this store, copies of it, and the models that it uses.")
DRAW[choose_part(settings_parts(), key="settings_tab", formerly=FORMERLY)](memory)
