"""Commands that fill the library of concepts: compressing programs, and loading primitives."""

from __future__ import annotations

import argparse
import threading
from typing import Any

from atlas.cli.common import add_command, count, opened, progress_bar, safe
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.jobs.compression import compressed_now, strategy_of
from atlas.jobs.compression_file import FoundCompression
from atlas.learning.search.limits import Limits
from atlas.learning.strategies import ProvenCompression
from atlas.llm.anthropic import AnthropicLLM
from atlas.memory.system import MemorySystem
from atlas.views.concepts.compression import (
    FoundRow,
    added_with,
    found_function,
    found_rows,
    headline,
    made_caption,
    notes,
    plan_adding,
)
from atlas.views.concepts.primitives import load_primitives, loader_names, n_updates, update_primitives

STITCH, MODEL = "stitch", "model"
LINE = "  {name:36} {saving:>7} {n_programs:>9} {n_tasks:>6} {arity:>6}  {verified:18} {state}"
TITLES = {
    "name": "function",
    "saving": "saving",
    "n_programs": "programs",
    "n_tasks": "tasks",
    "arity": "arity",
    "verified": "verified",
    "state": "",
}


def add_commands(commands: Any) -> None:
    """Declare them."""
    command = add_command(
        commands,
        "compress",
        _compress,
        "find functions that successful programs have in common",
    )
    limit = Limits().max_programs
    command.add_argument(
        "--limit",
        type=count,
        default=limit,
        metavar="N",
        help=f"programs, at most (default: {limit})",
    )
    command.add_argument(
        "--by",
        choices=(STITCH, MODEL),
        default=STITCH,
        help=f"what proposes functions: {STITCH}, or a language model (ANTHROPIC_API_KEY; default: {STITCH})",
    )
    command.add_argument("--apply", action="store_true", help="add those that are proven, and what they call")
    command.add_argument("--show", action="store_true", help="print their code, and a program before and after")
    command = add_command(commands, "primitives", _primitives, "list the loaders of primitives, or load one")
    command.add_argument("name", nargs="?", default="", help="the loader (default: list them)")
    command.add_argument(
        "--update", action="store_true", help="bring in newer forms of what nobody has edited, and add none"
    )


def _compress(options: argparse.Namespace, settings: Settings) -> int:
    if not options.limit:
        raise InvalidInput("--limit should be at least 1")
    llm = AnthropicLLM(settings) if options.by == MODEL else None
    with opened(settings, read_only=not options.apply) as memory:
        found = _compressed(memory, strategy_of(llm, options.limit))
        rows = found_rows(memory, found)
        spent = [f"{llm.model_name} took {llm.spent}."] if llm else []
        for text in (headline(found), made_caption(found), *notes(found), *spent):
            print(safe(text))
        for line in ([LINE.format(**TITLES)] if rows else []) + [_line(row) for row in rows]:
            print(line.rstrip())
        if options.show:
            for row in rows:
                _show(memory, found, row.id)
        proven = [row.id for row in rows if row.is_new and row.is_proven]
        if options.apply:
            _apply(memory, found, proven)
        elif proven:
            print("Nothing was added. To add those that are proven: atlas compress --apply")
    return 0


def _compressed(memory: MemorySystem, strategy: ProvenCompression) -> FoundCompression:
    """What is found; interrupting it ends the search too, which goes on in other threads."""
    is_over = threading.Event()
    with progress_bar(desc="compressing", leave=False) as on_progress:
        try:
            return compressed_now(
                memory,
                strategy=strategy,
                on_progress=lambda done, total, message: on_progress(done, total),
                cancelled=is_over.is_set,
            )
        except KeyboardInterrupt:
            is_over.set()
            raise


def _line(row: FoundRow) -> str:
    return LINE.format(**{name: safe(str(getattr(row, name))) for name in TITLES})


def _show(memory: MemorySystem, found: FoundCompression, concept_id: str) -> None:
    function = found_function(memory, found, concept_id)
    print(f"\n{safe(function.description.whole, keep_lines=True)}\n{safe(function.code.whole, keep_lines=True)}")
    for program in function.programs[:1]:
        print(f"--- {program.experience_id[:8]} before\n{safe(program.before.whole, keep_lines=True)}")
        print(f"--- after, which {program.verdict}\n{safe(program.after.whole, keep_lines=True)}")


def _apply(memory: MemorySystem, found: FoundCompression, proven: list[str]) -> None:
    plan = plan_adding(memory, found, proven)
    operation_id = plan.apply(memory) if proven else None
    if operation_id is None:
        print("Nothing was added: nothing new is proven.")
        return
    along = f", with {len(added_with(found, proven))} that they call" if added_with(found, proven) else ""
    print(f"{plan.done_sentence}{along}. To take it back: atlas undo {operation_id[:8]}")


def _primitives(options: argparse.Namespace, settings: Settings) -> int:
    if not options.name:
        for name in loader_names():
            print(safe(name))
        return 0
    with opened(settings) as memory:
        act = update_primitives if options.update else load_primitives
        done = act(memory, options.name)
        n_newer = n_updates(memory, options.name)
        if done is None:
            print("None of them is newer." if options.update else "The library has all of them already.")
        else:
            print(f"{done.sentence}. To take it back: atlas undo {done.operation_id[:8]}")
        if n_newer and not options.update:
            to_do = f"atlas primitives {safe(options.name)} --update"
            print(f"{n_newer:,} of them are newer here than in the library. To bring them in: {to_do}")
    return 0
