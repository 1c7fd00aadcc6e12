"""The command that writes, lists, searches and prints strategies with their success rates."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from atlas.cli.common import DRY_RUN_SENTENCE, add_command, full_ids, open_local, parse_limit, sanitise, undo_hint
from atlas.core.errors import InvalidInput
from atlas.core.operations import Use
from atlas.core.settings import Settings
from atlas.core.types import Outcome, Strategy
from atlas.memory.base.ranking import explain
from atlas.memory.strategies.outcomes import StrategyRate
from atlas.memory.strategies.writing import SEPARATION_REASON
from atlas.memory.strategy_sources import baseline_rates
from atlas.memory.system import MemorySystem
from atlas.views.strategies.list import tried_line, without_text
from atlas.views.strategies.parameters import parameters_text
from atlas.views.strategies.writing import propose_writing


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "strategies", _strategies)
    command.add_argument("query", nargs="?", default="", help="task to find strategies for (default: list the newest)")
    command.add_argument("-n", type=parse_limit, default=20, help="number of strategies (default: 20)")
    command.add_argument("--show", metavar="ID", help="print one with its attempts, by its id or a prefix of the id")
    command.add_argument(
        "--write", action="store_true", help="write strategies from the successful attempts in the store"
    )
    command.add_argument(
        "--dry-run", action="store_true", help="with --write: print the strategies to write, and change nothing"
    )


def _strategies(options: argparse.Namespace, settings: Settings) -> int:
    if options.dry_run and not options.write:
        raise InvalidInput("--dry-run needs --write; add it, as nothing else changes the store")
    with open_local(settings, read_only=options.dry_run or not options.write) as memory:
        if options.write:
            _write(memory, is_dry=options.dry_run)
        elif options.show is not None:
            _show(memory, full_ids(memory, memory.strategies, [options.show])[0])
        elif options.query:
            _search(memory, options.query, options.n)
        else:
            _list(memory, options.n)
    return 0


def _write(memory: MemorySystem, *, is_dry: bool) -> None:
    proposal = propose_writing(memory)
    details = (*proposal.plan.problems[:1], *proposal.plan.unmerged)
    print("\n".join([proposal.view.headline, *proposal.view.notes, *map(sanitise, details)]))
    for row in proposal.rows:
        print(f"  {row.what:17} {row.n_sources:3}  {sanitise(row.title)}"[:160])
    if is_dry:
        print(DRY_RUN_SENTENCE)
    elif proposal.rows and (operation_id := proposal.apply(memory)):
        print(f"{proposal.done_sentence}.", undo_hint(operation_id))


def _list(memory: MemorySystem, n: int) -> None:
    ids = [row["id"] for row in memory.strategies.browse(limit=n)]
    rates = memory.strategies.rates(ids)
    for strategy in memory.strategies.get_many(ids):
        print(_line(strategy, rates[strategy.id]))
    n_all = memory.strategies.count()
    if n_all > n:
        print(f"the newest {n} of {n_all}", file=sys.stderr)


def _search(memory: MemorySystem, query: str, n: int) -> None:
    retrieval = memory.strategies.retrieve(query, n)
    rates = memory.strategies.rates([hit.item.id for hit in retrieval.hits])
    for hit in retrieval.hits:
        print(f"{_line(hit.item, rates[hit.item.id])}\n    {explain(hit)}")
    if not retrieval.hits:
        print("nothing relevant found", file=sys.stderr)


def _show(memory: MemorySystem, strategy_id: str) -> None:
    for strategy in memory.strategies.get_many([strategy_id]):
        head = _summary_fields(memory, strategy)
        sections = {
            "when": strategy.situation,
            "what to do": strategy.suggestion,
            "parameters": parameters_text(strategy.parameters),
            "why": strategy.rationale,
            "attempts": "\n".join(_attempt(use) for use in memory.strategies.attempts(strategy.id)),
        }
        parts = [f"{name}: {sanitise(value, keep_lines=True)}" for name, value in head.items() if value]
        parts += [f"\n--- {name}\n{sanitise(text, keep_lines=True)}" for name, text in sections.items() if text]
        print("\n".join(parts))


def _summary_fields(memory: MemorySystem, strategy: Strategy) -> dict[str, str]:
    rate = memory.strategies.rate(strategy.id)
    without = baseline_rates(memory.strategies, memory.experience, [strategy])[strategy.id]
    return {
        "id": strategy.id,
        "title": strategy.title,
        "record": tried_line(rate),
        "same tasks without it": without_text(without),
        "estimate": f"{rate.rate:.2f}, by {type(memory.strategies.success_updater).__name__}" if rate.n else "",
        "derived by": str(strategy.metadata.get("derived_by", "")),
        "kept apart because": str(strategy.metadata.get(SEPARATION_REASON, "")),
        "sources": ", ".join(strategy.sources),
    }


def _line(strategy: Strategy, rate: StrategyRate) -> str:
    return f"{strategy.id[:8]}  {tried_line(rate)}  {sanitise(strategy.title)}"[:160]


def _attempt(use: Use) -> str:
    return f"{use.at:%Y-%m-%d %H:%M}  {Outcome(use.success).label:9}  {use.task_id or '–'}  {use.trajectory_id or '–'}"
