"""Files below a root directory, reached so that no path leads out of it.

Every path is relative to a root that the caller chooses. Its directories are opened one by one from the root's
descriptor, without following symbolic links, so a link that is created meanwhile has no effect. Not detected are hard
links to files elsewhere, file systems mounted below the root, and a directory that is moved out of the root while it is
open. POSIX only, because it needs `dir_fd`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TypedDict
from uuid import uuid4

MAX_FILE_BYTES = 5_000_000
"""Larger files are neither read nor written."""

MAX_PATH_PARTS = 100

SKIPPED_DIRECTORIES = {".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".mypy_cache", ".pytest_cache"}
"""Names of directories that listings and searches leave out, at any depth."""


class Listing(TypedDict):
    """The files that were found."""

    files: list[str]
    """Relative to the root, in the order of their names."""

    complete: bool
    """False if a limit ended it."""


def _parts(path: str) -> list[str]:
    """The names that a path consists of. None for the root itself."""
    if "\0" in path:
        raise ValueError(f"a path has no NUL character: {path!r}")
    if path.startswith("/"):
        raise PermissionError(f"expected a path relative to the root, got an absolute one: {path!r}")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PermissionError(f"expected a path that stays below the root, got one with '..': {path!r}")
    if len(parts) > MAX_PATH_PARTS:
        raise ValueError(f"expected at most {MAX_PATH_PARTS} names in a path, got {len(parts)}")
    return parts


def _open_beside(directory: int, name: str, flags: int, mode: int = 0o666) -> int:
    """A descriptor of the entry of an open directory. Symbolic links are not followed."""
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode, dir_fd=directory)
    except OSError:
        with suppress(FileNotFoundError):
            if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
                raise PermissionError(f"{name!r} is a symbolic link, and links are not followed") from None
        raise


@contextmanager
def _directory(root: Path, parts: list[str], *, make: bool = False) -> Iterator[int]:
    """A descriptor of a directory below the root. With `make`, missing directories are created."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            inner = _open_beside(descriptor, part, os.O_RDONLY | os.O_DIRECTORY)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def changeable_path(path: str) -> str:
    """The path in its plain form, after checking that it may be changed below a root.

    Raises:
        ValueError: It names the root itself, or has a NUL character.
        PermissionError: It is absolute, has `..`, or leads into `.git`.

    Examples:
        >>> changeable_path("./package//greeting.py")
        'package/greeting.py'
        >>> changeable_path("notes.txt")
        'notes.txt'
    """
    parts = _parts(path)
    if not parts:
        raise ValueError(f"expected the path of a file, got the root itself: {path!r}")
    if ".git" in map(str.casefold, parts):
        raise PermissionError(f"files in .git are not written, because they can make git run programs: {path!r}")
    return "/".join(parts)


def _parent_and_name(path: str) -> tuple[list[str], str]:
    """The directory and the name of a file that may be changed."""
    *parents, name = changeable_path(path).split("/")
    return parents, name


def read_bytes(root: Path, path: str) -> bytes:
    r"""The content of a file below the root.

    Raises:
        PermissionError: The path leads out of the root, or over a symbolic link.
        ValueError: It is not a regular file, or is larger than 5 MB.
        OSError: It does not exist, or cannot be read.

    Examples:
        >>> read_bytes(root, "notes.txt")
        b'first\nsecond\n'
        >>> read_bytes(root, "package/__init__.py")
        b''
    """
    parts = _parts(path)
    with _directory(root, parts[:-1]) as directory:
        descriptor = _open_beside(directory, parts[-1] if parts else ".", os.O_RDONLY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{path!r} is not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"{path!r} has more than {MAX_FILE_BYTES:,} bytes; read part of it with a command")
    return content


def is_executable(root: Path, path: str) -> bool:
    """Whether the owner of a file below the root may execute it.

    Raises:
        PermissionError: The path leads out of the root, or over a symbolic link.
        ValueError: It is not a regular file.
        FileNotFoundError: It does not exist.

    Examples:
        >>> is_executable(root, "notes.txt")
        False
        >>> write_bytes(root, "run.sh", b"echo hello", executable=True), is_executable(root, "run.sh")
        (10, True)
    """
    parts = _parts(path)
    with _directory(root, parts[:-1]) as directory:
        mode = _mode_of(directory, parts[-1] if parts else ".")
    if mode is None:
        raise FileNotFoundError(f"there is no {path!r}")
    return bool(mode & stat.S_IXUSR)


def write_bytes(root: Path, path: str, content: bytes, executable: bool | None = None) -> int:
    """Write a file below the root, whole or not at all, and return its size in bytes.

    Directories that are missing are made; a file that was there is replaced and keeps its permissions.

    Args:
        executable: Whether it may be executed; None leaves that as it was.

    Raises:
        PermissionError: The path leads out of the root, over a symbolic link, or into `.git`.
        ValueError: More than 5 MB, or something that is not a regular file stands there.
        OSError: It cannot be written; then the file is as it was.

    Examples:
        >>> write_bytes(root, "image.bin", bytes([0, 255]))
        2
        >>> write_bytes(root, "notes.txt", b"new")
        3
    """
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"{path!r} would have {len(content):,} bytes; at most {MAX_FILE_BYTES:,} are written")
    parents, name = _parent_and_name(path)
    with _directory(root, parents, make=True) as directory:
        mode = _mode_of(directory, name)
        scratch = f".{uuid4().hex}.tmp"
        try:
            with os.fdopen(_open_beside(directory, scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), _new_mode(file.fileno(), mode, executable))
            os.replace(scratch, name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(scratch, dir_fd=directory)
            raise
    return len(content)


def _new_mode(descriptor: int, mode: int | None, executable: bool | None) -> int:
    """The permissions for writing a file: its present ones, or those of a new file.

    With `executable`, everybody who may read the file may also execute it.
    """
    if mode is None:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if executable is None:
        return mode
    return mode | (mode >> 2 & 0o111) if executable else mode & ~0o111


def _mode_of(directory: int, name: str) -> int | None:
    """The permissions of a regular file. None if there is no file of that name."""
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found):
        raise PermissionError(f"{name!r} is a symbolic link, and links are not followed")
    if not stat.S_ISREG(found):
        raise ValueError(f"{name!r} is not a regular file")
    return stat.S_IMODE(found)


def make_directory(root: Path, path: str) -> str:
    """Make a directory below the root, with those above it, and return its path. One that exists stays.

    Raises:
        PermissionError: The path leads out of the root, over a symbolic link, or into `.git`.
        OSError: It cannot be made.

    Examples:
        >>> make_directory(root, "docs/images")
        'docs/images'
        >>> make_directory(root, "package")
        'package'
    """
    parents, name = _parent_and_name(path)
    with _directory(root, [*parents, name], make=True):
        return "/".join([*parents, name])


def delete_file(root: Path, path: str) -> str:
    """Delete a file below the root and return its path. A symbolic link itself is deleted, not its target.

    Raises:
        PermissionError: The path leads out of the root, over a symbolic link, or into `.git`.
        OSError: It does not exist, or is a directory.

    Examples:
        >>> delete_file(root, "notes.txt")
        'notes.txt'
        >>> list_files(root, "*.txt")
        {'files': [], 'complete': True}
    """
    parents, name = _parent_and_name(path)
    with _directory(root, parents) as directory:
        os.unlink(name, dir_fd=directory)
    return "/".join([*parents, name])


def move_file(root: Path, path: str, new_path: str) -> str:
    """Move or rename a file below the root and return its new path. Nothing is overwritten.

    Raises:
        PermissionError: A path leads out of the root, over a symbolic link, or into `.git`.
        FileExistsError: Something stands at the new path.
        OSError: It does not exist, is a directory, or cannot be moved.

    Examples:
        >>> move_file(root, "notes.txt", "docs/notes.txt")
        'docs/notes.txt'
        >>> list_files(root, "*.txt")
        {'files': ['docs/notes.txt'], 'complete': True}
    """
    (parents, name), (new_parents, new_name) = _parent_and_name(path), _parent_and_name(new_path)
    with _directory(root, parents) as source:
        _mode_of(source, name)
        with _directory(root, new_parents, make=True) as target:
            # A link and a removal, as only they refuse to overwrite; a rename would not.
            os.link(name, new_name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
            os.unlink(name, dir_fd=source)
    return "/".join([*new_parents, new_name])


def list_files(root: Path, pattern: str = "*", path: str = "", max_files: int = 10_000) -> Listing:
    """The files below the root, or below one of its directories, whose name or path matches a pattern.

    Symbolic links, directories such as `.git` and `node_modules`, and files below 100 directories are left out.

    Args:
        pattern: A shell pattern, such as `*.py` (any such name) or `tests/*` (any such path; `*` crosses `/`).
        path: The directory to list.

    Raises:
        PermissionError: The path leads out of the root, or over a symbolic link.
        OSError: There is no such directory.

    Examples:
        >>> list_files(root)
        {'files': ['notes.txt', 'package/__init__.py', 'package/greeting.py', 'test_greeting.py'], 'complete': True}
        >>> list_files(root, "*.py", "package", max_files=1)
        {'files': ['package/__init__.py'], 'complete': False}
    """
    parts = _parts(path)
    found: list[str] = []
    complete = True
    with _directory(root, parts) as directory:
        for below, directories, names, descriptor in os.fwalk(".", dir_fd=directory):
            directories[:] = sorted(set(directories) - SKIPPED_DIRECTORIES)
            if directories and below.count("/") + len(parts) + 2 >= MAX_PATH_PARTS:
                directories[:], complete = [], False
            for name in sorted(names):
                file = "/".join([*parts, *below.split("/")[1:], name])
                if (fnmatch(name, pattern) or fnmatch(file, pattern)) and _is_regular(descriptor, name):
                    if len(found) == max_files:
                        return Listing(files=sorted(found), complete=False)
                    found.append(file)
    return Listing(files=sorted(found), complete=complete)


def _is_regular(directory: int, name: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except FileNotFoundError:  # gone since it was listed
        return False
