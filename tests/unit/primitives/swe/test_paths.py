"""That no path leads out of its root, whatever it is and whatever lies there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from atlas.primitives.swe.paths import (
    MAX_FILE_BYTES,
    changeable_path,
    delete_file,
    is_executable,
    list_files,
    make_directory,
    move_file,
    read_bytes,
    write_bytes,
)

HOSTILE = [
    ("../outside/secret.txt", PermissionError, r"stays below the root, got one with '\.\.'"),
    ("package/../../outside/secret.txt", PermissionError, r"with '\.\.'"),
    ("package/..", PermissionError, r"with '\.\.'"),
    ("/etc/passwd", PermissionError, "an absolute one"),
    ("//etc/passwd", PermissionError, "an absolute one"),
    ("file_link", PermissionError, "'file_link' is a symbolic link"),
    ("inner_link", PermissionError, "'inner_link' is a symbolic link"),
    ("directory_link/secret.txt", PermissionError, "'directory_link' is a symbolic link"),
    ("directory_link/new.txt", PermissionError, "'directory_link' is a symbolic link"),
    ("notes.txt\0", ValueError, "no NUL character"),
    ("a/" * 200, ValueError, "at most 100 names"),
    ("x" * 300, OSError, "too long"),
]
hostile_path = pytest.mark.parametrize(("path", "error", "said"), HOSTILE, ids=[repr(case[0][:30]) for case in HOSTILE])


@pytest.fixture
def untouched(root, outside):
    """Both directories stay as they are while a test runs."""

    def content():
        files = [path for top in (root, outside) for path in sorted(top.rglob("*"))]
        return [
            (path, path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()) for path in files
        ]

    before = content()
    yield
    assert content() == before


@hostile_path
@pytest.mark.usefixtures("untouched")
def test_a_path_that_leads_out_is_not_read(root, path, error, said):
    with pytest.raises(error, match=said):
        read_bytes(root, path)
    with pytest.raises(error, match=said):
        is_executable(root, path)


@hostile_path
@pytest.mark.usefixtures("untouched")
def test_a_path_that_leads_out_is_not_written(root, path, error, said):
    with pytest.raises(error, match=said):
        write_bytes(root, path, b"changed")


@hostile_path
@pytest.mark.usefixtures("untouched")
def test_a_path_that_leads_out_is_not_moved_in_or_out(root, path, error, said):
    with pytest.raises(error, match=said):
        move_file(root, path, "taken.txt")
    if path not in ("file_link", "inner_link"):  # there, something stands in the way
        with pytest.raises(error, match=said):
            move_file(root, "notes.txt", path)


@pytest.mark.parametrize(("path", "error", "said"), [case for case in HOSTILE if "_link" not in case[0]])
@pytest.mark.usefixtures("untouched")
def test_a_path_that_leads_out_is_not_deleted_made_or_listed(root, path, error, said):
    with pytest.raises(error, match=said):
        delete_file(root, path)
    with pytest.raises(error, match=said):
        list_files(root, path=path)


@pytest.mark.usefixtures("untouched")
def test_nothing_is_made_or_listed_or_deleted_behind_a_link(root):
    for act in (make_directory, delete_file):
        with pytest.raises(PermissionError, match="is a symbolic link"):
            act(root, "directory_link/secret.txt")
    with pytest.raises(PermissionError, match="is a symbolic link"):
        list_files(root, path="directory_link")


def test_deleting_a_link_leaves_what_it_leads_to(root, outside):
    assert delete_file(root, "file_link") == "file_link"
    assert not (root / "file_link").is_symlink()
    assert (outside / "secret.txt").read_text() == "secret\n"


def test_a_root_that_is_itself_reached_over_a_link_is_fine(root, tmp_path):
    (tmp_path / "short").symlink_to(root)
    assert read_bytes(tmp_path / "short", "notes.txt") == b"first\nsecond\n"


@pytest.fixture
def turn_into_link(root, outside, monkeypatch):
    """Lets the directory `turning` become a link that leads out, just before it or something in it is opened."""
    (root / "turning").mkdir()
    (root / "turning" / "secret.txt").write_text("harmless\n")
    really_open = os.open

    def turn_before(opened):
        def turning(path, *arguments, **options):
            if path == opened and not (root / "turning").is_symlink():
                (root / "turning").rename(root / "aside")
                (root / "turning").symlink_to(outside)
            return really_open(path, *arguments, **options)

        monkeypatch.setattr(os, "open", turning)

    return turn_before


def test_a_directory_that_becomes_a_link_before_it_is_opened_is_refused(root, outside, turn_into_link):
    turn_into_link("turning")
    for act in (lambda: read_bytes(root, "turning/secret.txt"), lambda: write_bytes(root, "turning/secret.txt", b"")):
        with pytest.raises(PermissionError, match="'turning' is a symbolic link"):
            act()
    assert (outside / "secret.txt").read_text() == "secret\n"


def test_a_directory_that_becomes_a_link_after_it_was_opened_is_still_the_one_that_was_there(root, turn_into_link):
    turn_into_link("secret.txt")
    assert read_bytes(root, "turning/secret.txt") == b"harmless\n"


def test_a_file_that_becomes_a_link_before_it_is_opened_is_refused(root, outside, monkeypatch):
    really_open = os.open

    def turning(path, *arguments, **options):
        if path == "notes.txt":
            (root / path).unlink()
            (root / path).symlink_to(outside / "secret.txt")
        return really_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", turning)
    with pytest.raises(PermissionError, match=r"'notes\.txt' is a symbolic link"):
        read_bytes(root, "notes.txt")


@pytest.mark.parametrize("path", [".git/config", ".git/hooks/pre-commit", ".GIT/config", "package/.git/config"])
def test_what_makes_git_run_programs_is_not_written(root, path):
    for act in (
        lambda: write_bytes(root, path, b"[core]"),
        lambda: move_file(root, "notes.txt", path),
        lambda: make_directory(root, path),
        lambda: changeable_path(path),
    ):
        with pytest.raises(PermissionError, match=r"files in \.git are not written"):
            act()


@pytest.mark.parametrize("path", ["", ".", "./", "a/.."])
def test_the_root_itself_is_not_a_file(root, path):
    with pytest.raises((ValueError, PermissionError)):
        write_bytes(root, path, b"")
    with pytest.raises((ValueError, PermissionError)):
        read_bytes(root, path)


def test_a_directory_a_pipe_and_a_socket_are_not_files(root):
    os.mkfifo(root / "pipe")
    for path in ("package", "pipe"):
        with pytest.raises(ValueError, match=f"'{path}' is not a regular file"):
            read_bytes(root, path)
        with pytest.raises(ValueError, match=f"'{path}' is not a regular file"):
            write_bytes(root, path, b"")


def test_reading_what_fails_leaves_no_descriptor_open(root):
    before = n_descriptors()
    for path in ("package", "missing", "missing/too", "file_link", "directory_link/x", ".", "notes.txt"):
        with suppress(OSError, ValueError):
            read_bytes(root, path)
    assert n_descriptors() == before


def n_descriptors():
    return len(list(Path("/dev/fd").iterdir()))


def test_a_huge_file_is_not_read(root):
    with (root / "huge").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(ValueError, match="'huge' has more than 5,000,000 bytes"):
        read_bytes(root, "huge")


def test_a_huge_text_is_not_written(root):
    with pytest.raises(ValueError, match="would have 5,000,001 bytes"):
        write_bytes(root, "huge", bytes(MAX_FILE_BYTES + 1))
    assert not (root / "huge").exists()


def test_what_is_missing_is_said(root):
    with pytest.raises(FileNotFoundError):
        read_bytes(root, "missing.txt")
    with pytest.raises(NotADirectoryError):
        read_bytes(root, "notes.txt/inside")


def test_a_file_that_is_replaced_keeps_its_permissions_and_leaves_nothing_behind(root):
    (root / "notes.txt").chmod(0o750)
    write_bytes(root, "notes.txt", b"new")
    assert (root / "notes.txt").stat().st_mode & 0o777 == 0o750
    assert is_executable(root, "notes.txt")
    assert not list(root.glob(".*"))


@pytest.mark.parametrize(("executable", "mode"), [(True, 0o755), (False, 0o644), (None, 0o744)])
def test_a_file_is_made_executable_or_not_or_stays(root, executable, mode):
    (root / "notes.txt").chmod(0o744)
    write_bytes(root, "notes.txt", b"", executable)
    assert (root / "notes.txt").stat().st_mode & 0o777 == mode


def test_a_file_that_cannot_be_written_is_as_it_was(root, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_bytes(root, "notes.txt", b"new")
    assert (root / "notes.txt").read_bytes() == b"first\nsecond\n"
    assert not list(root.glob(".*"))


def test_moving_never_overwrites(root):
    with pytest.raises(FileExistsError):
        move_file(root, "notes.txt", "package/module.py")
    assert (root / "notes.txt").read_text() == "first\nsecond\n"
    assert move_file(root, "notes.txt", "new/place.txt") == "new/place.txt"
    assert (root / "new" / "place.txt").read_text() == "first\nsecond\n"
    assert not (root / "notes.txt").exists()


def test_listing_leaves_out_links_and_what_belongs_to_tools(root):
    for directory in (".git", "package/__pycache__", "node_modules/left"):
        (root / directory).mkdir(parents=True)
        (root / directory / "module.py").write_text("")
    assert list_files(root) == {"files": ["notes.txt", "package/module.py"], "complete": True}
    assert list_files(root, "package/*")["files"] == ["package/module.py"]
    assert list_files(root, path="package")["files"] == ["package/module.py"]


def test_listing_says_where_a_limit_ended_it(root):
    assert list_files(root, max_files=2)["complete"]
    assert list_files(root, max_files=1) == {"files": ["notes.txt"], "complete": False}


def test_listing_ends_in_a_tree_without_end(root):
    here = os.open(root, os.O_RDONLY)
    for _ in range(400):  # deeper than a path may be long
        os.mkdir("d" * 40, dir_fd=here)
        inner = os.open("d" * 40, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    assert list_files(root) == {"files": ["notes.txt", "package/module.py"], "complete": False}
