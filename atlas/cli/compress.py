"""The command that finds concepts: functions shared by successful programs."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence
from typing import Any

from atlas.cli.common import add_command, open_local, parse_count, progress_bar, sanitise, undo_hint
from atlas.cli.llm import interactive_model
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.jobs.compression import choose_strategy, compress_now
from atlas.jobs.compression_file import CompressionResult
from atlas.learning.search.limits import Limits
from atlas.learning.strategies import ProvenCompression
from atlas.memory.system import MemorySystem
from atlas.views.concepts.compression import (
    FunctionRow,
    added_with,
    found_function,
    found_rows,
    headline,
    left_out,
    made_caption,
    notes,
    plan_adding,
)

STITCH, MODEL = "stitch", "model"
ROW_FORMAT = "  {name:36} {saving:>7} {n_programs:>9} {n_tasks:>6} {arity:>6}  {verified:18} {state}"
COLUMN_TITLES = {
    "name": "function",
    "saving": "saving",
    "n_programs": "programs",
    "n_tasks": "tasks",
    "arity": "arity",
    "verified": "verified",
    "state": "",
}


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "compress", _compress)
    default_limit = Limits().max_programs
    command.add_argument(
        "--limit",
        type=parse_count,
        default=default_limit,
        metavar="N",
        help=f"maximum number of programs to search (default: {default_limit})",
    )
    command.add_argument(
        "--by",
        choices=(STITCH, MODEL),
        default=STITCH,
        help=f"proposer of functions: {STITCH}, or a language model, which needs ANTHROPIC_API_KEY (default: {STITCH})",
    )
    command.add_argument("--apply", action="store_true", help="add the proven functions, and those that they call")
    command.add_argument("--unproven", action="store_true", help="with --apply, add those that are not proven too")
    command.add_argument("--strategies", action="store_true", help="with --apply, add workflows as strategies too")
    command.add_argument(
        "--show", action="store_true", help="print the code of each function, and a program before and after"
    )


def _compress(options: argparse.Namespace, settings: Settings) -> int:
    _check_options(options)
    llm = interactive_model(settings) if options.by == MODEL else None
    with open_local(settings, read_only=not options.apply) as memory:
        strategy = choose_strategy(llm, options.limit, settings.program_path, settings.compress_seconds)
        result = _search(memory, strategy)
        rows = found_rows(memory, result)
        model_costs = [f"{llm.model_name} took {llm.spent}."] if llm else []
        for text in (headline(result), made_caption(result), *notes(result), *left_out(result), *model_costs):
            print(sanitise(text))
        if rows:
            print(ROW_FORMAT.format(**COLUMN_TITLES).rstrip())
        for row in rows:
            print(_line(row).rstrip())
        if options.show:
            for row in rows:
                _print_function(memory, result, row.id)
        selected_ids = [row.id for row in rows if row.is_new and (row.is_proven or options.unproven)]
        if options.apply:
            _apply(memory, result, selected_ids, with_strategies=options.strategies)
        elif hint := _adding_hint(rows):
            print(hint)
    return 0


def _check_options(options: argparse.Namespace) -> None:
    if not options.limit:
        raise InvalidInput(f"expected at least 1 for --limit, got {options.limit}")
    for name in ("unproven", "strategies"):
        if getattr(options, name) and not options.apply:
            raise InvalidInput(f"--{name} needs --apply; give both")


def _search(memory: MemorySystem, strategy: ProvenCompression) -> CompressionResult:
    """Search for shared functions. An interrupt also ends the threads of the search."""
    is_interrupted = threading.Event()
    with progress_bar(desc="compressing", leave=False) as on_progress:
        try:
            return compress_now(
                memory,
                strategy=strategy,
                on_progress=lambda done, total, message: on_progress(done, total),
                cancelled=is_interrupted.is_set,
            )
        except KeyboardInterrupt:
            is_interrupted.set()
            raise


def _line(row: FunctionRow) -> str:
    return ROW_FORMAT.format(**{name: sanitise(str(getattr(row, name))) for name in COLUMN_TITLES})


def _print_function(memory: MemorySystem, result: CompressionResult, concept_id: str) -> None:
    function = found_function(memory, result, concept_id)
    print(
        f"\n{sanitise(function.description.whole, keep_lines=True)}\n{sanitise(function.code.whole, keep_lines=True)}"
    )
    for program in function.programs[:1]:
        print(f"--- {program.experience_id[:8]} before\n{sanitise(program.before.whole, keep_lines=True)}")
        print(f"--- after, which {program.verdict}\n{sanitise(program.after.whole, keep_lines=True)}")


def _adding_hint(rows: Sequence[FunctionRow]) -> str:
    """Return a sentence on how to add the found functions. Empty if all of them are stored already."""
    new_rows = [row for row in rows if row.is_new]
    if not new_rows:
        return ""
    if any(row.is_proven for row in new_rows):
        return "Nothing was added. To add those that are proven: atlas compress --apply"
    return "Nothing was added. None is proven. To add them even so: atlas compress --apply --unproven"


def _apply(memory: MemorySystem, result: CompressionResult, selected_ids: list[str], *, with_strategies: bool) -> None:
    plan = plan_adding(memory, result, selected_ids, with_strategies=with_strategies)
    operation_id = plan.apply(memory) if selected_ids else None
    if operation_id is None:
        print("Nothing was added: nothing new is proven.")
        return
    n_callees = len(added_with(result, selected_ids))
    callees = f", with {n_callees} that they call" if n_callees else ""
    print(f"{plan.done_sentence}{callees}.", undo_hint(operation_id))
