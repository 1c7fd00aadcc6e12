"""Runs and logs that other programs wrote, read as attempts, concepts and entries of the journal.

`detect` recognises a file's format by its first bytes, and `import_paths` passes the records of files to a `Sink` in
batches. `all_formats` returns the formats: each of ours is a file in `importers/formats`, and plug-ins add others. A
format yields a `Row` after the other, and holds no more than one. A row that cannot be read costs only itself, and is
reported with its place.

No input is trusted: `Limits` bound what is read, `archive` what a packed file may unpack to, and `spans` finds the
elements of a large document without holding it. `sink` puts what was read into the memories, as one operation that can
be undone. `logs` prepares the records of personal logs: secrets are taken out, and ids stay. `sample` imports the
sample data. `corpora` makes retrieval tasks of runs.
"""

from atlas.importers.registry import Format, all_formats, detect
from atlas.importers.rows import Item, Limits, Row
from atlas.importers.run import AddCount, ImportReport, Rejection, Sink, import_paths

__all__ = [
    "AddCount",
    "Format",
    "ImportReport",
    "Item",
    "Limits",
    "Rejection",
    "Row",
    "Sink",
    "all_formats",
    "detect",
    "import_paths",
]
