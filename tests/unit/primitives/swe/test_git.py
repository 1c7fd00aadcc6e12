"""Git below a root: its answers, and what of the repository's configuration it does not obey."""

from __future__ import annotations

import pytest

from atlas.primitives.swe.git import git_commit, git_diff, git_init, git_log, git_status


@pytest.fixture
def repository(root):
    git_init(root)
    git_commit(root, "Start")
    return root


def test_changes_are_told_until_they_are_committed(repository):
    assert git_status(repository) == []
    (repository / "notes.txt").write_text("first\nlast\n")
    (repository / "naïve name.txt").write_text("new\n")
    assert git_status(repository) == [" M notes.txt", "?? naïve name.txt"]
    assert "-second\n+last\n" in git_diff(repository)
    assert git_diff(repository, ["package"]) == ""
    assert git_diff(repository, staged=True) == ""
    git_commit(repository, "Change", author="Ada Lovelace <ada@example.org>")
    assert [line.partition(" ")[2] for line in git_log(repository)] == ["Change", "Start"]
    assert [line.partition(" ")[2] for line in git_log(repository, path="package")] == ["Start"]
    assert len(git_log(repository, max_commits=1)) == 1
    assert git_diff(repository) == ""


def test_there_must_be_something_to_commit(repository):
    with pytest.raises(ValueError, match="nothing to commit"):
        git_commit(repository, "Nothing")


def test_a_link_is_shown_and_not_followed(repository, outside):
    (outside / "secret.txt").write_text("very secret\n")
    (repository / "file_link").unlink()
    (repository / "file_link").symlink_to(outside)
    assert "very secret" not in git_diff(repository)
    assert f"+{outside}" in git_diff(repository)


def test_a_repository_further_up_is_not_used(repository):
    with pytest.raises(ValueError, match=r"has no \.git"):
        git_status(repository / "package")


@pytest.mark.parametrize("elsewhere", ["link", "file"])
def test_a_repository_that_lies_elsewhere_is_not_used(repository, outside, elsewhere):
    (repository / ".git").rename(outside / "real.git")
    if elsewhere == "link":
        (repository / ".git").symlink_to(outside / "real.git")
    else:
        (repository / ".git").write_text(f"gitdir: {outside / 'real.git'}\n")
    for act in (git_status, git_init):
        with pytest.raises(ValueError, match=r"expected the \.git of .* to be a directory"):
            act(repository)


@pytest.mark.parametrize("path", ["../outside", "/etc"])
def test_paths_outside_are_refused(repository, path):
    with pytest.raises(PermissionError, match="expected a path"):
        git_diff(repository, [path])
    with pytest.raises(PermissionError, match="expected a path"):
        git_log(repository, path=path)


@pytest.mark.parametrize("other", ["{outside}/secret.txt", "/dev/null", "../outside/secret.txt"])
@pytest.mark.parametrize("staged", [False, True])
def test_a_file_is_not_compared_with_one_outside(repository, outside, other, staged):
    for paths in (["notes.txt", other.format(outside=outside)], [other.format(outside=outside), "notes.txt"]):
        with pytest.raises(PermissionError, match="expected a path"):
            git_diff(repository, paths, staged=staged)


def test_what_looks_like_an_option_is_a_path(repository, outside):
    target = outside / "written"
    assert git_diff(repository, [f"--output={target}"]) == ""
    assert git_log(repository, path=f"--output={target}") == []
    assert not target.exists()


def test_a_patterns_characters_are_a_names(repository):
    (repository / "notes.txt").write_text("changed\n")
    assert git_diff(repository, ["*.txt"]) == ""


def test_another_work_tree_in_the_configuration_is_not_used(repository, outside):
    with (repository / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tworktree = {outside}\n")
    assert git_status(repository) == []


def test_programs_that_the_configuration_names_are_not_run(repository, outside):
    mark = outside / "ran"
    script = outside / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    with (repository / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {script}\n\tpager = {script}\n\thooksPath = {outside}\n")
        config.write(
            f'[diff]\n\texternal = {script}\n[diff "text"]\n\ttextconv = {script}\n[gpg]\n\tprogram = {script}\n'
        )
        config.write("[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n")
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    for hook in ("pre-commit", "commit-msg", "post-commit", "post-index-change"):
        for directory in (repository / ".git" / "hooks", outside):
            (directory / hook).write_bytes(script.read_bytes())
            (directory / hook).chmod(0o755)
    (repository / ".gitattributes").write_text("*.txt diff=text\n")
    (repository / "notes.txt").write_text("changed\n")
    assert git_status(repository) == [" M notes.txt", "?? .gitattributes"]
    assert "+changed" in git_diff(repository)
    git_commit(repository, "Change")
    assert len(git_log(repository)) == 2
    assert not mark.exists()


def test_a_repository_without_commits_has_no_log(root):
    assert git_init(root, branch="trunk") == "trunk"
    with pytest.raises(ValueError, match="does not have any commits yet"):
        git_log(root)


def test_a_branch_that_git_refuses_is_said(root):
    with pytest.raises(ValueError, match="invalid initial branch name"):
        git_init(root, branch="a..b")
