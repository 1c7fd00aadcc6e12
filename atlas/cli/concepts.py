"""The commands for concepts and for loaders of primitives."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from atlas.cli.common import add_command, full_ids, open_local, parse_limit, sanitise, undo_hint
from atlas.core.settings import Settings
from atlas.core.types import CodeConcept
from atlas.memory.base.ranking import explain
from atlas.memory.kinds.sections import success_rate_text
from atlas.memory.system import MemorySystem
from atlas.views.concepts.concept import examples_text
from atlas.views.concepts.primitives import load_primitives, loader_names, n_updates, update_primitives


def add_commands(commands: Any) -> None:
    """Declare the commands."""
    command = add_command(commands, "concepts", _concepts)
    command.add_argument("query", nargs="?", default="", help="purpose of the code (default: list the newest)")
    command.add_argument("-n", type=parse_limit, default=20, help="number of concepts (default: 20)")
    command.add_argument("--show", metavar="ID", help="print one, by its id or a prefix of the id")
    command = add_command(commands, "primitives", _primitives)
    command.add_argument("name", nargs="?", default="", help="the loader (default: list all)")
    command.add_argument("--update", action="store_true", help="only update the primitives that were not edited")


def _concepts(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory:
        if options.show is not None:
            _show(memory, full_ids(memory, memory.concepts, [options.show])[0])
        elif options.query:
            _search(memory, options.query, options.n)
        else:
            _list(memory, options.n)
    return 0


def _list(memory: MemorySystem, n: int) -> None:
    for concept in memory.concepts.get_many([row["id"] for row in memory.concepts.browse(limit=n)]):
        print(_line(concept))
    n_all = memory.concepts.count()
    if n_all > n:
        print(f"the newest {n} of {n_all}", file=sys.stderr)


def _search(memory: MemorySystem, query: str, n: int) -> None:
    retrieval = memory.concepts.retrieve(query, n)
    for hit in retrieval.hits:
        print(f"{_line(hit.item)}\n    {explain(hit)}")
    if not retrieval.hits:
        print("nothing relevant found", file=sys.stderr)


def _show(memory: MemorySystem, concept_id: str) -> None:
    for concept in memory.concepts.get_many([concept_id]):
        usage = memory.concepts.usage([concept.id])[concept.id]
        head = {
            "id": concept.id,
            "name": concept.name,
            "description": concept.description,
            "signature": concept.signature,
            "source": f"{concept.source}, {concept.language}",
            "record": success_rate_text(usage.n_successes, usage.n_uses),
            "when to use it": concept.guidance,
        }
        parts = [f"{name}: {sanitise(value, keep_lines=True)}" for name, value in head.items() if value]
        sections = {"code": concept.code, "examples": examples_text(concept.examples)}
        parts += [f"\n--- {name}\n{sanitise(text, keep_lines=True)}" for name, text in sections.items() if text]
        print("\n".join(parts))


def _line(concept: CodeConcept) -> str:
    return f"{concept.id[:8]}  {concept.source:9}  {sanitise(concept.name)}: {sanitise(concept.description)}"[:160]


def _primitives(options: argparse.Namespace, settings: Settings) -> int:
    if not options.name:
        for name in loader_names():
            print(sanitise(name))
        return 0
    with open_local(settings) as memory:
        change = update_primitives if options.update else load_primitives
        result = change(memory, options.name)
        n_newer = n_updates(memory, options.name)
        if result is None:
            print("None of them is newer." if options.update else "The library has all of them already.")
        else:
            print(f"{result.sentence}.", undo_hint(result.operation_id))
        if n_newer and not options.update:
            update_command = f"atlas primitives {sanitise(options.name)} --update"
            print(f"{n_newer:,} of them are newer here than in the library. To bring them in: {update_command}")
    return 0
