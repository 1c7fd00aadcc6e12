"""Patches to the files below a root directory: all of a patch, or nothing."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from atlas.primitives.swe.commands import run_command
from atlas.primitives.swe.paths import changeable_path, delete_file, is_executable, read_bytes, write_bytes

MAX_PATCH_BYTES = 1_000_000

File = tuple[bytes, bool]
"""Content, and whether it can be executed."""


def apply_patch(root: Path, patch: str) -> list[str]:
    r"""Apply a unified diff, as `git diff` writes it, to the files below the root, and return the paths it changed.

    Either all of the patch is applied, or nothing: git applies it to copies of the files, which are written back
    only if the whole patch fits. The root need not be a repository. Links and submodules are refused.

    Raises:
        ValueError: It is not a patch, is larger than 1 MB, does not fit, or makes a link. No file was changed.
        PermissionError: It names a path outside the root, over a symbolic link, or in `.git`. No file was changed.
        FileNotFoundError: There is no git.

    Examples:
        >>> apply_patch(root, "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n first\n-second\n+last\n")
        ['notes.txt']
        >>> read_bytes(root, "notes.txt")
        b'first\nlast\n'
    """
    if len(patch.encode()) > MAX_PATCH_BYTES:
        raise ValueError(f"expected a patch of at most {MAX_PATCH_BYTES:,} bytes")
    if re.search(r"^(new file|deleted file|old|new) mode 1[26]0000", patch, re.MULTILINE):
        raise ValueError("the patch makes or removes a symbolic link or a submodule; only files are patched")
    with tempfile.TemporaryDirectory() as scratch:
        patch_file, copies = Path(scratch, "patch"), Path(scratch, "copies")
        patch_file.write_bytes(patch.encode())
        copies.mkdir()
        before = {path: _read(root, path) for path in _paths_in(patch_file, copies)}
        for path, file in before.items():
            _write(copies, path, file)
        _git_apply(copies, [str(patch_file)])
        after = {path: _read(copies, path) for path in before}
    _write_all(root, before, after)
    return sorted(path for path in before if before[path] != after[path])


def _git_apply(directory: Path, arguments: Sequence[str]) -> str:
    """Run `git apply`, as if there were no repository around the directory, and return what it prints."""
    surroundings = {"GIT_CEILING_DIRECTORIES": str(directory.parent), "GIT_CONFIG_GLOBAL": "/dev/null"}
    command = ["git", "apply", "--whitespace=nowarn", *arguments]
    result = run_command(directory, command, 30.0, surroundings, 4 * MAX_PATCH_BYTES)
    if result["exit_code"] != 0:
        raise ValueError(f"the patch cannot be applied, so nothing was changed: {result['errors'].strip()}")
    return result["output"]


def _paths_in(patch_file: Path, directory: Path) -> list[str]:
    """The old and new paths that a patch names, after checking that each may be changed."""
    listed = [_git_apply(directory, [*way, "--numstat", "-z", str(patch_file)]) for way in ([], ["-R"])]
    return sorted({changeable_path(line.split("\t", 2)[2]) for text in listed for line in text.split("\0") if line})


def _read(root: Path, path: str) -> File | None:
    try:
        return read_bytes(root, path), is_executable(root, path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write(root: Path, path: str, file: File | None) -> None:
    if file is not None:
        write_bytes(root, path, *file)
    elif _read(root, path) is not None:
        delete_file(root, path)


def _write_all(root: Path, before: Mapping[str, File | None], after: Mapping[str, File | None]) -> None:
    """Write every file that differs. If one cannot be written, restore the files before it."""
    written: list[str] = []
    try:
        for path in sorted(before, key=lambda path: after[path] is not None):  # a file may become a directory
            if before[path] != after[path]:
                written.append(path)
                _write(root, path, after[path])
    except BaseException:
        for path in reversed(written):
            with suppress(OSError, ValueError):
                _write(root, path, before[path])
        raise
