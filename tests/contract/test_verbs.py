"""Every verb gives the same over a server as on a memory that is opened here, with the same signature."""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

import atlas
from atlas.core.errors import InvalidInput
from atlas.infra.actor import Actor, Role, acting
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy
from atlas.verbs.table import FILE_METHODS, LOCAL_METHODS, ROLES, SYSTEM
from tests.support.calls import PARTS, VERB_CALLS, WRITES, Call
from tests.support.everything import Ids, content, make_everything
from tests.support.records import attempt
from tests.support.sample import EMBEDDER, opened
from tests.support.serving import serving


class Switched:
    """The memory that is served: each test chooses one."""

    memory: atlas.MemorySystem

    def __getattr__(self, name: str) -> Any:
        return getattr(self.memory, name)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> tuple[Path, Ids]:
    """A store with something of every kind, and the ids and plans that the calls ask for."""
    store = tmp_path_factory.mktemp("verbs") / "store"
    ids = make_everything(store)
    with opened(store) as memory:
        (store / "keys.json").unlink()  # so that the server asks for none
        ids["refine plan"] = memory.experience.plan_refine(ids["alike"], HeuristicRefineStrategy(EMBEDDER))
    return store, ids


@pytest.fixture(scope="module")
def server(prepared) -> Iterator[tuple[Switched, str]]:
    """A server of whatever memory is chosen, and its address."""
    switched, served = Switched(), prepared[0].parent / "served"
    shutil.copytree(prepared[0], served)
    with opened(served) as switched.memory, serving(switched) as address:
        yield switched, address


@pytest.fixture
def both(prepared, server, tmp_path) -> Iterator[tuple[atlas.MemorySystem, atlas.MemorySystem, atlas.MemorySystem]]:
    """Two copies of the store: one opened here, the other asked over a server and opened behind it."""
    switched, address = server
    served = switched.memory.storage.path
    switched.memory.close()
    shutil.rmtree(served)
    for copy in (tmp_path / "here", served):
        shutil.copytree(prepared[0], copy)
    with opened(tmp_path / "here") as here, opened(served) as behind, atlas.connect(address) as there:
        switched.memory = behind
        yield here, there, behind


def test_every_verb_is_called_here():
    assert set(ROLES) == set(VERB_CALLS)


@pytest.mark.parametrize("name", VERB_CALLS)
def test_a_verb_gives_the_same_over_a_server(both, prepared, name):
    here, there, behind = both
    before = [content(memory.storage.path) for memory in (here, behind)]
    with acting(Actor("owner", Role.ADMIN)):  # for whom the server acts
        own = VERB_CALLS[name](here, prepared[1])
    remote = VERB_CALLS[name](there, prepared[1])
    assert type(remote) is type(own)
    assert without_ids(remote) == without_ids(own)
    after = [content(memory.storage.path) for memory in (here, behind)]
    if name in WRITES:
        assert (after[1] != before[1]) == (after[0] != before[0])


def without_ids(result: Any) -> str:
    """A result as text. New ids are random, so they are left out."""
    return re.sub(r"\b[0-9a-f]{8}(?:[0-9a-f]{24})?\b", "ID", repr(result))


def with_metadata(value: Any) -> Call:
    """A call that stores an attempt whose metadata contains a value."""
    return lambda memory, _: memory.store(replace(attempt("new"), metadata={"x": value}))


@pytest.mark.parametrize(
    "call",
    [
        with_metadata(float("nan")),
        with_metadata({1: 2}),
        with_metadata({1, 2}),
        with_metadata(b"bytes"),
        with_metadata(datetime(2026, 5, 1, tzinfo=UTC)),
        with_metadata("\ud800"),
        lambda memory, _: memory.store(replace(attempt("new"), agent_id="\ud800")),
        lambda memory, ids: memory.experience.edit(ids["experience"], metadata={"x": float("nan")}),
        lambda memory, ids: memory.experience.edit(ids["experience"], feedback=datetime(2026, 5, 1, tzinfo=UTC)),
        lambda memory, ids: memory.experience.edit(ids["experience"], feedback="\ud800"),
        lambda memory, ids: memory.journal.edit(ids["journal"], importance=float("nan")),
        lambda memory, ids: memory.strategies.edit(ids["strategies"], metadata={1: 2}),
    ],
)
def test_what_cannot_be_stored_is_refused_over_a_server_too(both, prepared, call):
    here, there, behind = both
    before = content(behind.storage.path)
    for memory in (here, there):
        with pytest.raises(InvalidInput):
            call(memory, prepared[1])
    assert content(behind.storage.path) == before


def test_an_export_without_vectors_has_none(both, prepared):
    _, there, _ = both
    [exported] = there.experience.export([prepared[1]["experience"]])
    assert exported.vectors is None
    [exported] = there.experience.export([prepared[1]["experience"]], with_vectors=True)
    assert exported.vectors.ndim == 2


@pytest.mark.parametrize(
    ("path", "arguments", "message"),
    [
        ("experience/retrieve_words", {"query": "report", "k": 10**30}, "expected a whole number below 2**63 for k"),
        ("experience/never_retrieved", {"days": "nan"}, "expected a finite number for days"),
        ("experience/stale", {"days": "inf"}, "expected a finite number for days"),
        ("experience/edit", {"experience_id": "x", "changes": {"experience_id": "y"}}, "changes should not contain"),
    ],
)
def test_arguments_that_no_call_could_have_are_refused(server, path, arguments, message):
    answer = httpx.post(f"{server[1]}/api/v1/verbs/{path}", json=arguments)
    assert answer.headers["Atlas-Error"] == "InvalidInput"
    assert message in answer.json()["detail"]


@pytest.mark.parametrize("part", [part for part in PARTS if part != "storage"])
def test_every_method_is_a_verb_or_is_listed_as_one_that_a_server_cannot_offer(both, part):
    here, there, _ = both
    owner = SYSTEM if part == "memory" else part
    local, remote = (memory if owner == SYSTEM else getattr(memory, owner) for memory in (here, there))
    for name in public(type(local)):
        if name in FILE_METHODS | (LOCAL_METHODS - {"query", "close"}):
            with pytest.raises(AttributeError, match=r"atlas\.open_memory"):
                getattr(remote, name)
        else:
            assert inspect.signature(getattr(remote, name)) == inspect.signature(getattr(local, name)), name
            twin = f"a{name}"
            assert hasattr(remote, twin) == hasattr(local, twin)


def public(kind: type) -> list[str]:
    """The methods of a class, without twins."""
    names = [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]
    return [name for name in names if not (name.startswith("a") and name[1:] in names)]
