"""Patches: applied as a whole below the root, or not at all."""

from __future__ import annotations

import os

import pytest

from atlas.primitives.swe import patches as swe_patches
from atlas.primitives.swe.patches import apply_patch

CHANGE = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n first\n-second\n+last\n"
NEW = "--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+new\n"
GONE = "diff --git a/package/module.py b/package/module.py\ndeleted file mode 100644\n" + (
    "--- a/package/module.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-def greet():\n-    return 'hello'\n"
)
RENAME = (
    "diff --git a/notes.txt b/words.txt\nsimilarity index 60%\nrename from notes.txt\nrename to words.txt\n"
    "--- a/notes.txt\n+++ b/words.txt\n@@ -1,2 +1,2 @@\n first\n-second\n+last\n"
)
LINK = "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+/etc\n"
RUNNABLE = "diff --git a/notes.txt b/notes.txt\nold mode 100644\nnew mode 100755\n"


def content(*tops):
    files = [path for top in tops for path in sorted(top.rglob("*"))]
    return {path: path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes() for path in files}


def test_files_are_changed_made_and_deleted(root):
    assert apply_patch(root, CHANGE + NEW.format(path="docs/new.txt") + GONE) == [
        "docs/new.txt",
        "notes.txt",
        "package/module.py",
    ]
    assert (root / "notes.txt").read_text() == "first\nlast\n"
    assert (root / "docs" / "new.txt").read_text() == "new\n"
    assert not (root / "package" / "module.py").exists()


def test_a_file_is_renamed(root):
    assert apply_patch(root, RENAME) == ["notes.txt", "words.txt"]
    assert (root / "words.txt").read_text() == "first\nlast\n"
    assert not (root / "notes.txt").exists()


def test_a_file_is_made_executable(root):
    assert apply_patch(root, RUNNABLE) == ["notes.txt"]
    assert os.access(root / "notes.txt", os.X_OK)


def test_an_executable_file_stays_so(root):
    (root / "notes.txt").chmod(0o755)
    apply_patch(root, CHANGE)
    assert os.access(root / "notes.txt", os.X_OK)


@pytest.mark.parametrize(
    ("patch", "error", "said"),
    [
        (
            CHANGE.replace("second", "third"),
            ValueError,
            "cannot be applied, so nothing was changed: .*patch does not apply",
        ),
        (CHANGE.replace("notes", "missing"), ValueError, "missing.txt: No such file"),
        (NEW.format(path="notes.txt"), ValueError, "already exists"),
        (NEW.format(path="../outside/new.txt"), PermissionError, r"one with '\.\.'"),
        (NEW.format(path="x/../../outside/new.txt"), PermissionError, r"one with '\.\.'"),
        (NEW.format(path=".git/hooks/pre-commit"), PermissionError, "files in .git are not written"),
        (NEW.format(path="directory_link/new.txt"), PermissionError, "'directory_link' is a symbolic link"),
        (CHANGE.replace("notes.txt", "file_link"), PermissionError, "'file_link' is a symbolic link"),
        (LINK, ValueError, "a symbolic link or a submodule"),
        (LINK + NEW.format(path="link/new.txt"), ValueError, "a symbolic link or a submodule"),
        ("", ValueError, "No valid patches in input"),
        ("hello\n", ValueError, "No valid patches in input"),
        (CHANGE.replace("+last\n", ""), ValueError, "corrupt patch"),
        (CHANGE + "x" * 1_000_000, ValueError, "at most 1,000,000 bytes"),
        ("\ud800", ValueError, "surrogates"),
    ],
)
def test_a_patch_that_does_not_fit_or_leads_out_changes_nothing(root, outside, patch, error, said):
    good = NEW.format(path="aaa.txt") if patch.startswith(("---", "diff")) and "x" * 9 not in patch else ""
    before = content(root, outside)
    with pytest.raises(error, match=f"(?s){said}"):
        apply_patch(root, good + patch)
    assert content(root, outside) == before


def test_an_absolute_path_in_a_patch_is_taken_below_the_root(root):
    assert apply_patch(root, "--- /dev/null\n+++ /etc/new\n@@ -0,0 +1 @@\n+new\n") == ["etc/new"]
    assert (root / "etc" / "new").read_text() == "new\n"


def test_where_one_file_cannot_be_written_the_others_are_as_they_were(root, monkeypatch):
    before = content(root)
    write = swe_patches.write_bytes

    def failing(directory, path, *file):
        if directory == root and path == "zzz.txt":
            raise OSError(28, "No space left on device")
        return write(directory, path, *file)

    monkeypatch.setattr(swe_patches, "write_bytes", failing)
    with pytest.raises(OSError, match="No space left"):
        apply_patch(root, CHANGE + GONE + NEW.format(path="aaa.txt") + NEW.format(path="zzz.txt"))
    assert content(root) == before
