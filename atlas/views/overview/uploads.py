"""Imports of files that a person gives a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from atlas.importers.run import ImportReport, Rejection, import_paths
from atlas.importers.sink import MemorySink
from atlas.memory.system import MemorySystem
from atlas.views.shared.done import Done
from atlas.views.shared.wording import counted


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    done: Done | None
    """The operation, or None where nothing was added."""

    problems: tuple[str, ...]
    """Rows and files that were refused, and why. They quote what the files hold."""


def import_uploads(memory: MemorySystem, files: Mapping[str, bytes]) -> Imported:
    """Import uploaded files, by their names, as one operation. A row that is refused stops no other."""
    sink = MemorySink(memory, "import from the dashboard")
    with TemporaryDirectory() as scratch:
        paths = [Path(scratch) / (Path(name).name or "upload") for name in files]
        for path, content in zip(paths, files.values(), strict=True):
            path.write_bytes(content)
        report = import_paths(sink, paths, settings=memory.storage.settings)
    done = Done(sink.operation_id, _sentence(report)) if report.added and sink.operation_id else None
    return Imported(done, tuple(_refusal(one) for one in report.rejections))


def _refusal(one: Rejection) -> str:
    row = f", row {one.row}" if one.row else ""
    return f"{one.path.name}{row}: {one.reason}"


def _sentence(report: ImportReport) -> str:
    return f"Imported {counted(report.added, 'record')} from {counted(report.files, 'file')}"
