"""Imports of files that a person gives a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atlas.importers.run import ImportReport, Rejection
from atlas.importers.sink import MemorySink
from atlas.importers.uploads import import_contents
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
    report = import_contents(sink, files, memory.storage.settings)
    done = Done(sink.operation_id, _sentence(report)) if report.added and sink.operation_id else None
    return Imported(done, tuple(_refusal(one) for one in report.rejections))


def _refusal(one: Rejection) -> str:
    row = f", row {one.row}" if one.row else ""
    return f"{one.path.name}{row}: {one.reason}"


def _sentence(report: ImportReport) -> str:
    return f"Imported {counted(report.added, 'record')} from {counted(report.files, 'file')}"
