"""Importers of other programs' runs and logs, as attempts, concepts and journal entries.

`detect` recognises a file's format by its first bytes, and `import_paths` passes the records of files to a `Sink` in
batches. `all_formats` returns the formats: each of ours is a file in `importers/formats`, and plug-ins add others. A
format is a generator of `Row`s and keeps only one in memory. A row that cannot be read is skipped and reported with its
position.

All input is untrusted: `Limits` cap file sizes, `archive` guards against zip bombs, and `spans` finds the elements of a
large document without loading it. `sink` stores the records in the memories, as one operation that can be undone.
`logs` prepares the records of personal logs: it removes secrets and keeps ids stable. `sample` imports the sample data.
`corpora` turns runs into retrieval tasks.
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
