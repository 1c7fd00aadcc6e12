"""The README and the pages in docs: examples run as they stand, and no command or option is missing."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.cli import main
from atlas.infra.actor import Role
from atlas.testing import HashEmbedder
from tests.support.repository import REPOSITORY
from tests.support.serving import serving

README, DOCS = REPOSITORY / "README.md", REPOSITORY / "docs"
PYTHON, RUNS, SERVED = (DOCS / "how-to" / f"{name}.md" for name in ("python", "record-runs", "connect-from-python"))
CLI = DOCS / "reference/cli.md"
TUTORIALS = [*sorted((DOCS / "tutorial").glob("*.md")), DOCS / "how-to/write-an-importer.md"]
"""Pages whose commands read what their Python writes."""
PAGES = [page for page in [README, *sorted(DOCS.rglob("*.md"))] if page not in TUTORIALS]
SAMPLE = REPOSITORY / "sample_data"

PLACEHOLDERS: dict[str, Callable[[atlas.MemorySystem], str]] = {
    "EXPERIENCE": lambda memory: memory.experience.ids()[0],
    "OTHER_EXPERIENCE": lambda memory: memory.experience.ids()[1],
    "DELETED": lambda memory: memory.experience.trash(1)[0].id,
    "CONCEPT": lambda memory: memory.concepts.ids()[0],
    "STRATEGY": lambda memory: memory.strategies.ids()[0],
    "ENTRY": lambda memory: memory.journal.ids()[0],
    "CRASH": lambda memory: memory.journal.ids({"entry_type": "crash_log"})[0],
    "FIX": lambda memory: memory.journal.ids({"entry_type": "reflection"})[0],
    "OPERATION": lambda memory: memory.history(1)[0].id,
}
"""What the words in capitals stand for in examples of commands."""


def page_id(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def calls(text: str) -> list[list[str]]:
    """Return the arguments of every call of `atlas` in the shell examples."""
    joined = (block.replace("\\\n", " ") for block in blocks(text, "sh"))
    lines = [shlex.split(line, comments=True) for block in joined for line in block.splitlines()]
    return [words[1:] for words in lines if words and Path(words[0]).name == "atlas"]


def with_python(pages: list[Path]) -> list[Path]:
    return [page for page in pages if blocks(text_of(page), "python")]


def run_python(page: Path, directory: Path, served: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return what the Python examples of a page print, one after another in one program.

    Args:
        served: What stands in place of the address and the key that the page names.
    """
    program = "\n".join(blocks(text_of(page), "python"))
    for named, real in served.items():
        program = program.replace(named, real)
    run = subprocess.run([sys.executable, "-c", program], cwd=directory, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


# Python

OTHER_PAGES = [page for page in with_python(PAGES) if page not in (README, PYTHON, RUNS, SERVED)]
"""Pages with examples of which no more is expected than that they run."""


def test_the_example_of_the_readme_stores_finds_prunes_and_undoes(tmp_path):
    printed = run_python(README, tmp_path)
    assert "succeeded Sum the invoices of March by customer" in printed
    assert "would be removed: [('Sum the invoices of March by customer'" in printed
    with atlas.open_memory(tmp_path / ".atlas", read_only=True) as memory:
        assert len(memory.experience) == 1
        assert [operation.kind for operation in memory.history()] == ["undo", "prune", "store"]


def test_the_examples_for_agents_do_what_their_page_says(tmp_path):
    printed = run_python(PYTHON, tmp_path)
    assert "succeeded Sum the invoices of March by customer" in printed
    assert "would be removed: Sum the invoices of March by customer" in printed
    with atlas.open_memory(tmp_path / "my-agent", read_only=True) as memory:
        assert len(memory.experience) == 1
        assert [operation.kind for operation in memory.history()] == ["undo", "prune", "store"]


def test_the_examples_that_record_runs_do_what_their_page_says(tmp_path):
    run_python(RUNS, tmp_path)
    with atlas.open_memory(tmp_path / "my-runs", read_only=True) as memory:
        first, second = memory.experience.get_many(memory.experience.ids())
        assert (first.outcome.success, first.solution_output, len(first.steps)) == (True, "42", 1)
        assert (second.outcome.success, second.feedback) == (False, "there is no file for June")


RUN_ALL = """
import contextlib, io, json, os, sys, traceback, types

failures = {}
for page, directory, program in json.load(sys.stdin):
    os.chdir(directory)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(program, page, "exec"), main.__dict__)
    except BaseException:
        failures[page] = traceback.format_exc()
print(json.dumps(failures))
"""


@pytest.fixture(scope="module")
def failures(tmp_path_factory) -> dict[str, str]:
    """The errors of pages' examples, by page. One process runs all, as loading a model takes longest."""
    programs = [
        (page_id(page), str(tmp_path_factory.mktemp("page")), "\n".join(blocks(text_of(page), "python")))
        for page in OTHER_PAGES
    ]
    run = subprocess.run([sys.executable, "-c", RUN_ALL], input=json.dumps(programs), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("page", OTHER_PAGES, ids=page_id)
def test_the_python_examples_of_a_page_run(page, failures):
    assert failures.get(page_id(page), "") == ""


def test_the_examples_of_a_server_do_what_their_page_says(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory, serving(memory) as address:
        key = ApiKeys(memory.storage.path).add("crawler", Role.WRITER, created_by="owner")[1]
        run_python(SERVED, tmp_path, {"https://memory.example": address, "atlas_KEY": key})
        assert [(operation.kind, operation.actor) for operation in memory.history()] == [
            ("undo", "crawler"),
            ("store", "crawler"),
        ]


@pytest.mark.parametrize("page", TUTORIALS, ids=page_id)
def test_a_tutorial_leads_to_its_end(page, tmp_path, monkeypatch, capsys):
    """What its Python writes is there for its commands, which run where the reader runs them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATLAS_STORE", raising=False)
    printed = run_python(page, tmp_path)
    for call in calls(text_of(page)):
        assert call[-1] in RUN_ELSEWHERE or main(call) == 0, f"atlas {shlex.join(call)}: {capsys.readouterr().err}"
    assert [line for line in shown_output(page) if line not in printed + capsys.readouterr().out] == []


def shown_output(page: Path) -> list[str]:
    """Return what a page says that its programs print."""
    return [line for block in blocks(text_of(page), "text") for line in block.splitlines() if "pip install" not in line]


# The command line


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A directory with what the examples of commands name: a store with some of everything, sample data, and runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATLAS_STORE", raising=False)
    write_lines(tmp_path / "runs/attempts.jsonl", lines_of("databases.jsonl")[:6])
    kept = [line for line in lines_of("shell_and_ci.jsonl") if "sample/nightly" in line][:4]
    kept += lines_of("customer_support.jsonl")[:8]
    write_lines(tmp_path / "sample_data/some.jsonl", kept)
    judged = json.loads((SAMPLE / "queries.json").read_text(encoding="utf-8"))
    there = {json.loads(line)["trajectory"]["task"]["id"] for line in kept}
    for query in judged["queries"]:
        query["grades"] = {task: grade for task, grade in query["grades"].items() if task in there}
    judged["queries"] = [query for query in judged["queries"] if query["grades"]]
    (tmp_path / "sample_data/queries.json").write_text(json.dumps(judged), encoding="utf-8")
    fill(tmp_path / ".atlas")


def lines_of(name: str) -> list[str]:
    return (SAMPLE / name).read_text(encoding="utf-8").splitlines()


def write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def fill(path: Path) -> None:
    """Fill a new store as an agent would, with one record of each kind at least."""
    with atlas.open_memory(path, announce=lambda message: None) as memory:
        for number, text in enumerate(["sort the orders by date", "draw the orders as a chart", "sort the invoices"]):
            task = atlas.Task(id=f"task-{number}", domain="data", description=text)
            steps = (atlas.Step(action="read the file"), atlas.Step(action="sort it"))
            for success in (True, False):  # tried twice, as searches are measured on that
                memory.store(atlas.Trajectory(task=task, steps=steps, outcome=atlas.Outcome(success=success)))
        memory.experience.delete(memory.experience.ids()[:1])
        memory.concepts.add(
            atlas.CodeConcept(name="double", description="Twice it", code="def double(x):\n    return 2 * x")
        )
        memory.journal.add("crash_log", "KeyError in read_orders: the column date is missing", generation=1)
        memory.journal.add("reflection", "read_orders must check the columns before it sorts by date", generation=2)


RUN_ELSEWHERE = ("serve", "dashboard", "demo", "mcp", "llm", "trial", "people", "install", "hook")
"""Commands that go on until they are stopped, need a language model, an agent or a sign-in, or change files of a user.

Other tests run them.
"""

DOWNLOADED = "public/"
"""Directory of what a page fetches from the network."""


def resolved(word: str) -> str:
    if not re.fullmatch("[A-Z_]+", word):
        return word
    with atlas.open_memory(".atlas", read_only=True) as memory:
        return PLACEHOLDERS[word](memory)


@pytest.mark.parametrize("page", [page for page in PAGES if calls(text_of(page))], ids=page_id)
def test_the_commands_of_a_page_run_in_their_order(page, workplace, capsys):
    for call in calls(text_of(page)):
        if call[0] in RUN_ELSEWHERE or any(word.startswith(DOWNLOADED) for word in call):
            continue
        status = main([resolved(word) for word in call])
        assert status == 0, f"atlas {shlex.join(call)}: {capsys.readouterr().err}"


def shown_by(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    return capsys.readouterr().out


def subcommands(shown: str) -> list[str]:
    has_some = shown.split("\n\n")[0].endswith("...")
    return re.findall(r"^    (\w+)  ", shown, re.MULTILINE) if has_some else []


def every_command(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, ...]]:
    """Return each command that does something, with the name of its group before it if it has one."""
    names = subcommands(shown_by(capsys))
    parts = {name: subcommands(shown_by(capsys, name)) for name in names}
    return [(name, *part) for name in names for part in ([(one,) for one in parts[name]] or [()])]


def test_the_command_line_page_has_an_example_of_every_command_and_names_every_option(capsys):
    sections = text_of(CLI).split("\n### ")
    commands = every_command(capsys)
    assert ("import",) in commands
    assert ("journal", "compact") in commands
    for command in commands:
        about = [
            section for section in sections if any(tuple(call[: len(command)]) == command for call in calls(section))
        ]
        assert about, f"docs/reference/cli.md has no example of: atlas {' '.join(command)}"
        options = set(re.findall(r"--[a-z][a-z-]+", shown_by(capsys, *command))) - {"--help", "--no-pin", "--no-bury"}
        missing = sorted(option for option in options if option not in "".join(about))
        assert missing == [], f"docs/reference/cli.md does not name these options of: atlas {' '.join(command)}"
