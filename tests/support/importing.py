"""What an import reads, and where it puts what it read."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from atlas.core.codec import encode_trajectory
from atlas.core.json_values import to_text
from atlas.core.types import Trajectory
from atlas.importers import AddCount, Item, Limits, Row
from atlas.importers.registry import all_formats


class KeepingSink:
    """Keeps every item once, told apart by its content, and the batches it came in."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.batches: list[tuple[str, int]] = []
        self._seen: set[str] = set()

    def add(self, items: list[Item], source: str) -> AddCount:
        before = len(self._seen)
        for item in items:
            content = _content(item)
            if content not in self._seen:
                self._seen.add(content)
                self.items.append(item)
        self.batches.append((source, len(items)))
        added = len(self._seen) - before
        return AddCount({"experience": added}, len(items) - added)


def _content(item: Item) -> str:
    if not isinstance(item, Trajectory):
        return item.experience.id
    return to_text({name: value for name, value in encode_trajectory(item).items() if name != "id"})


class Files:
    """Writes inputs into a directory, and reads them with a format's importer."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def raw(self, name: str, content: bytes | str) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def json(self, name: str, value: Any) -> Path:
        return self.raw(name, json.dumps(value))

    def lines(self, name: str, values: list[Any]) -> Path:
        return self.raw(name, "".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values))

    def zip(self, name: str, entries: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
        path = self.directory / name
        with zipfile.ZipFile(path, "w", method) as archive:
            for entry, value in entries.items():
                archive.writestr(entry, value if isinstance(value, str | bytes) else json.dumps(value))
        return path

    @staticmethod
    def read(format: str, path: Path, **limits: int) -> list[Row]:
        return list(all_formats()[format].read(path, Limits(**limits)))

    def only(self, format: str, path: Path) -> Trajectory:
        """The one trajectory that the file holds."""
        [row] = self.read(format, path)
        assert row.reason == ""
        assert isinstance(row.item, Trajectory)
        return row.item
