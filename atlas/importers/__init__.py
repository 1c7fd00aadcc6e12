"""What other programs wrote of agents, read as attempts and concepts: one source format a file, and a table of them."""

from atlas.importers.registry import FORMATS, Format, detect
from atlas.importers.rows import Item, Limits, Row
from atlas.importers.run import AddCount, ImportReport, Rejection, Sink, import_paths

__all__ = [
    "FORMATS",
    "AddCount",
    "Format",
    "ImportReport",
    "Item",
    "Limits",
    "Rejection",
    "Row",
    "Sink",
    "detect",
    "import_paths",
]
