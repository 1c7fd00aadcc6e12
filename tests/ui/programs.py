"""Stores whose successful attempts hold Python programs that have a function in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import atlas
from atlas.analysis.artefacts import CACHE
from atlas.library_learning.strategies import StitchCompressionStrategy
from atlas.library_learning.unifying import AntiUnificationEngine
from atlas.memory.compression_file import CompressionFile, FoundCompression
from atlas.memory.compression_job import compressed_now
from atlas.memory.concepts import COLLECTION
from tests.ui.library import opened_library
from tests.ui.stores import attempt, make_store

PROGRAM = """def tidy_{what}(texts):
    found = {{}}
    for {each} in texts:
        word = ' '.join({each}.strip().lower().replace('-', ' ').split())
        found[word] = found.get(word, 0) + 1
    return {result}
"""
RESULTS = ("found", "len(found)", "sorted(found)", "max(found.values())")
CALLS = ("{'a': 2}", "1", "['a']", "2")


def programs(*, tested: bool = True, **given: Any) -> list[atlas.Trajectory]:
    """Four attempts whose programs count words, each with its test where they are tested."""
    return [
        attempt(
            f"Count the {what}",
            task_id=f"count-{what}",
            solution=PROGRAM.format(what=what, each=what[0], result=result),
            context={"tests": f"assert tidy_{what}(['a', 'A ']) == {expected}"} if tested else {},
            **given,
        )
        for what, result, expected in zip(("words", "names", "lines", "keys"), RESULTS, CALLS, strict=True)
    ]


def make_programs(path: Path, **given: Any) -> list[str]:
    """A store of such attempts; their ids."""
    return make_store(path, programs(**given))


def compress(memory: atlas.MemorySystem, **where: Any) -> FoundCompression:
    """What the worker does, with a search that is quick."""
    return compressed_now(memory, where, strategy=StitchCompressionStrategy(engine=AntiUnificationEngine()))


def compress_store(path: Path, **where: Any) -> FoundCompression:
    """The same, kept beside the store."""
    with opened_library(path) as memory:
        found = compress(memory, **where)
        CompressionFile(path / CACHE, COLLECTION).save(found)
    return found
