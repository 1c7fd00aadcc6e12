"""What a program writes is bounded in all, and nothing of it stays, however it was made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atlas.learning.sandbox.directory import WorkingDirectory
from atlas.learning.sandbox.runner import RunLimits, Sandbox

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")

FULL = "the program's files took more than 2 MB"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(RunLimits(cpu_seconds=60, disk_megabytes=2), n_workers=1) as opened:
        yield opened


@pytest.mark.parametrize(
    "source",
    [
        "for n in range(3): open(f'{n}', 'wb').write(bytes(10**6))",
        "for n in range(600): open(f'{n}', 'w').close()",
        "import os\nfor n in range(600): os.mkdir(str(n))",
        "import os\nfor n in range(600):\n    os.mkdir('d')\n    os.chdir('d')",
        "import os\nfor n in range(60):\n    os.mkdir('d' * 99)\n    os.chdir('d' * 99)",
        "import itertools\nfor n in itertools.count(): open(f'{n}', 'wb').write(bytes(10**6))",
    ],
    ids=["large", "empty", "directories", "nested", "deeper than a path is long", "without end"],
)
def test_files_are_limited_in_all(sandbox, source):
    result = sandbox.run(source)
    assert (result.outcome, result.detail) == ("error", FULL)
    assert sandbox.run("import os\nprint(os.listdir())").output == "[]\n"


def test_files_that_go_again_do_not_count(sandbox):
    source = (
        "import os\nfor n in range(20):\n    open('a', 'wb').write(bytes(10**6))\n    os.remove('a')\nprint('done')"
    )
    assert sandbox.run(source).output == "done\n"


@pytest.fixture
def working(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return WorkingDirectory(megabytes=1)


def test_a_directory_is_removed_with_what_is_nested_deeper_than_a_path_is_long(working, tmp_path):
    here = os.open(".", os.O_RDONLY)
    os.chdir(working.path)
    for _ in range(60):
        Path("d" * 99).mkdir()
        os.chdir("d" * 99)
    Path("note").write_text("x")
    os.fchdir(here)
    os.close(here)
    assert working.is_full()
    working.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_is_removed_with_what_cannot_be_listed_and_links_are_not_followed(working, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "note").write_text("x")
    Path(working.path, "closed").mkdir(0o300)
    Path(working.path, "closed", "note").write_text("x")
    Path(working.path, "link").symlink_to(tmp_path / "outside")
    working.remove()
    assert [path.name for path in tmp_path.rglob("*")] == ["outside", "note"]


def test_a_directory_that_was_full_stays_so(working):
    for n in range(2):
        Path(working.path, str(n)).write_bytes(bytes(10**6))
    assert working.is_full_throttled()
    Path(working.path, "0").unlink()
    assert working.is_full()


def test_links_to_large_files_take_no_room(working):
    Path("large").write_bytes(bytes(10**7))
    Path(working.path, "link").symlink_to(Path("large").resolve())
    assert not working.is_full()
