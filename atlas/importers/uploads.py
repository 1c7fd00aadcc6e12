"""Sources of an import: uploaded or local files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from atlas.core.errors import InvalidInput


class Sources:
    """Files to import. Uploaded files are in a temporary directory, which `close` deletes."""

    def __init__(self, paths: tuple[Path, ...], directory: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self.paths = paths
        self._directory = directory

    @classmethod
    def from_upload(cls, files: Iterable[tuple[str, bytes]]) -> Sources:
        """Save uploaded files, each in its own directory, because it is unknown which files belong together."""
        directory = tempfile.TemporaryDirectory(prefix="atlas-upload-")
        paths = []
        for number, (name, content) in enumerate(files):
            path = Path(directory.name, str(number), "sent", Path(name).name or "upload")
            path.parent.mkdir(parents=True)
            path.write_bytes(content)
            paths.append(path)
        return cls(tuple(paths), directory)

    @classmethod
    def from_path(cls, path: str) -> Sources:
        """Return the sources at a local path, which is a file or a directory.

        Raises:
            InvalidInput: The path does not exist, or is not a path.
        """
        try:
            file = Path(path).expanduser()
            exists = file.exists()
        except (OSError, RuntimeError, ValueError) as error:  # such as a name that is too long
            raise InvalidInput(
                f"{path!r:.200} cannot be looked up: {error}; check the path, or upload the files"
            ) from error
        if not exists:
            raise InvalidInput(f"there is no file or directory {path}; check the path, or upload the files")
        return cls((file,))

    def close(self) -> None:
        """Delete the uploaded files."""
        if self._directory is not None:
            self._directory.cleanup()
