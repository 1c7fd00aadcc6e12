"""Git in a root directory.

The root has to be the top of an ordinary repository: its `.git` is a directory, so that no path of it lies elsewhere.
Git obeys the repository's own configuration. Settings that commonly run programs (hooks, monitors, external diffs,
text conversions, pagers, signatures) are disabled. Filters of files are not, so use these functions only on
repositories that you trust.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from atlas.primitives.swe.commands import run_command
from atlas.primitives.swe.paths import _parts

GIT = (
    "git",
    "--no-pager",
    "--literal-pathspecs",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "commit.gpgSign=false"),
)

GIT_ENVIRONMENT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
"""The user's own configuration is ignored, so that a call has the same effect everywhere."""


def _git(root: Path, arguments: Sequence[str]) -> str:
    """Run git in the repository whose top is the root, and return its output."""
    if not _has_repository(root):
        raise ValueError(f"expected {root} to be the top of a git repository, but it has no .git")
    return _output([*GIT, "--git-dir=.git", "--work-tree=.", *arguments], root)


def _has_repository(root: Path) -> bool:
    try:
        mode = Path(root, ".git").lstat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(mode):
        raise ValueError(
            f"expected the .git of {root} to be a directory; a link, or a worktree's file, leads elsewhere"
        )
    return True


def _output(command: Sequence[str], root: Path, seconds: float = 30.0, max_output_bytes: int = 200_000) -> str:
    result = run_command(root, command, seconds, GIT_ENVIRONMENT, max_output_bytes)
    if result["timed_out"]:
        raise TimeoutError(f"git took longer than {seconds} s")
    if result["exit_code"] != 0:
        message = (result["errors"] or result["output"]).strip()
        raise ValueError(f"git ended with {result['exit_code']}: {message}")
    return result["output"]


def _inner(path: str) -> str:
    """The path, checked to be below the root: git would compare the files if one of two paths were outside."""
    _parts(path)
    return path


def git_init(root: Path, branch: str = "main") -> str:
    """Make the root a git repository, unless it is one, and return the name of its branch.

    Raises:
        ValueError: Git refuses, or the root's `.git` is not a directory.

    Examples:
        >>> git_init(root)
        'main'
        >>> git_init(root, "other")
        'main'
    """
    if not _has_repository(root):
        _output([*GIT, "init", "--quiet", "--template=", f"--initial-branch={branch}", "."], root)
    return _git(root, ["symbolic-ref", "--short", "HEAD"]).strip()


def git_status(root: Path) -> list[str]:
    """What differs from the last commit: two letters and a path for each file, as `git status --short` has them.

    Raises:
        ValueError: The root is not the top of a repository.

    Examples:
        >>> git_init(root)
        'main'
        >>> git_status(root)[0]
        '?? notes.txt'
    """
    options = ["--porcelain", "--untracked-files=all", "--ignore-submodules=all", "--no-renames", "-z"]
    return [entry for entry in _git(root, ["status", *options]).split("\0") if entry]


def git_diff(root: Path, paths: Sequence[str] = (), staged: bool = False) -> str:
    r"""The changes that are not staged, or the staged ones, as a patch. Empty without changes.

    The middle of a patch of more than 200 kB is left out. Name paths to get all of it.

    Args:
        paths: Files and directories in the patch, or all if empty.
        staged: Whether to compare the staged files with the last commit, instead of the present files with the staged.

    Raises:
        ValueError: The root is not the top of a repository.
        PermissionError: A path is absolute or has `..`.

    Examples:
        >>> git_init(root), len(git_commit(root, "Start")), write_file(root, "notes.txt", "first\nlast\n")
        ('main', 40, 11)
        >>> git_diff(root).splitlines()[-4:]
        ['@@ -1,2 +1,2 @@', ' first', '-second', '+last']
    """
    options = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"]
    return _git(root, ["diff", *options, *(["--cached"] if staged else []), "--", *map(_inner, paths)])


def git_log(root: Path, max_commits: int = 20, path: str = "") -> list[str]:
    """The latest commits, newest first: abbreviated hash and subject of each.

    Args:
        path: A file or directory to which it is limited.

    Raises:
        ValueError: The root is not the top of a repository, or it has no commits.
        PermissionError: The path is absolute or has `..`.

    Examples:
        >>> git_init(root), len(git_commit(root, "Start"))
        ('main', 40)
        >>> [line.split(" ", 1)[1] for line in git_log(root)]
        ['Start']
    """
    options = [f"--max-count={max_commits}", "--no-color", "--format=%h %s"]
    return _git(root, ["log", *options, "--", *([_inner(path)] if path else [])]).splitlines()


def git_commit(root: Path, message: str, author: str = "Agent <agent@localhost>") -> str:
    """Commit all changes below the root and return the commit's hash. No hook runs.

    Args:
        author: Name and address.

    Raises:
        ValueError: The root is not the top of a repository, or there is nothing to commit.

    Examples:
        >>> git_init(root), len(git_commit(root, "Start"))
        ('main', 40)
        >>> git_status(root)
        []
    """
    name, _, address = author.rstrip(">").partition(" <")
    _git(root, ["add", "--all"])
    identity = ["-c", f"user.name={name}", "-c", f"user.email={address}"]
    _git(root, [*identity, "commit", "--quiet", "--no-verify", f"--message={message}"])
    return _git(root, ["rev-parse", "HEAD"]).strip()
