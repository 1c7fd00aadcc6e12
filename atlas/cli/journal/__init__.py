"""The command for an agent's journal: reading, searching, writing, linking and promoting entries.

`compacting` is the part that forgets entries.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import atlas
from atlas.cli.common import (
    DRY_RUN_SENTENCE,
    LINE_CHARACTERS,
    add_command,
    add_part,
    changes_sentence,
    full_ids,
    open_local,
    open_or_connect,
    parse_limit,
    print_secret_counts,
    sanitise,
)
from atlas.cli.journal import compacting
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.journal_codec import LINK_TYPES, TIERS
from atlas.core.settings import Settings
from atlas.core.types import JournalEntry
from atlas.infra.secrets import counting_secrets
from atlas.memory.base.ranking import explain
from atlas.memory.journal import PROMPT_TIERS, LinkSuggestion
from atlas.memory.journal.importance import NOISE, REPEATED
from atlas.memory.system import MemorySystem
from atlas.views.journal.entry import metadata_in
from atlas.views.journal.refused import gate_views

SWITCH_VALUES = ("on", "off")


def add_commands(commands: Any) -> None:
    """Declare the command `journal`, with its parts."""
    journal = add_command(commands, "journal", _recent)
    journal.set_defaults(n=20, type=[], all=False)
    parts = journal.add_subparsers(metavar="PART")
    _add_read_commands(parts)
    _add_write_commands(parts)
    _add_change_commands(parts)


def _add_read_commands(parts: Any) -> None:
    command = add_part(parts, "recent", _recent, "list the latest entries, newest first")
    command.add_argument("-n", type=parse_limit, default=20, help="number of entries (default: 20)")
    command.add_argument("--type", action="append", default=[], help="only entries of this type; may be repeated")
    command.add_argument("--all", action="store_true", help="include forgotten entries")
    command = add_part(parts, "search", _search, "find entries, and print why each was found")
    command.add_argument("text", help="query")
    command.add_argument("-k", type=parse_limit, default=10, help="number of hits (default: 10)")
    command.add_argument("--type", action="append", default=[], help="only entries of this type; may be repeated")
    command.add_argument(
        "--words", action="store_true", help="search by keywords only; the last may be the beginning of a word"
    )
    command.add_argument("--all", action="store_true", help="include archived entries")
    command = add_part(parts, "show", _show, "print an entry and the entries it is linked to")
    command.add_argument("id", help="its id, or a prefix of the id")
    command.add_argument(
        "--depth", type=parse_limit, default=1, help="how many links away an entry may be (default: 1)"
    )
    command = add_part(parts, "rejected", _list_rejected, "list the entries that a gate refused and why, or accept one")
    command.add_argument("-n", type=parse_limit, default=20, help="number of entries (default: 20)")
    command.add_argument("--accept", metavar="ID", help="accept this entry, by its id or a prefix of the id")


def _add_write_commands(parts: Any) -> None:
    command = add_part(parts, "add", _add, "write an entry, unless a gate refuses it")
    command.add_argument("type", help="for example observation, crash_log, reflection, directive or task")
    command.add_argument("text", help="text of the entry")
    command.add_argument(
        "--generation", type=int, metavar="N", help="generation of the agent (default: that of the latest entry)"
    )
    command.add_argument(
        "--importance", type=float, metavar="X", help="from 0 to 1 (default: estimated from its type and text)"
    )
    command.add_argument("--metadata", default="", metavar="JSON", help='for example {"file": "a.py"}')
    command.add_argument(
        "--link",
        nargs=2,
        action="append",
        default=[],
        metavar=("TYPE", "ID"),
        help=f"link it; TYPE is {', '.join(LINK_TYPES[:-1])} or {LINK_TYPES[-1]}",
    )
    command.add_argument(
        "--keep-noise", action="store_true", help="write it even if the gate for noise would refuse it"
    )
    command.add_argument(
        "--keep-repetitions", action="store_true", help="write it even if the gate for repetitions would refuse it"
    )
    command = add_part(parts, "gates", _gates, "print which gates are on, or switch them on or off")
    for reason in ("noise", "repetitions"):
        command.add_argument(
            f"--{reason}",
            choices=SWITCH_VALUES,
            help=f"on refuses {reason}, off accepts {reason}, for all who write to the store",
        )


def _add_change_commands(parts: Any) -> None:
    command = add_part(parts, "link", _link, "link one entry to another, or remove a link")
    command.add_argument("source", help="its id, or a prefix of the id")
    command.add_argument("target", help="its id, or a prefix of the id")
    command.add_argument(
        "--type", choices=LINK_TYPES, default="related", help="relation of the source to the target (default: related)"
    )
    command.add_argument("--remove", action="store_true", help="remove the link")
    command = add_part(parts, "suggest", _suggest, "suggest missing links between crashes and their likely fixes")
    command.add_argument("-n", type=parse_limit, default=20, help="number of links (default: 20)")
    for name, outcome in (("accept", "make this link"), ("refuse", "never suggest this link again")):
        command.add_argument(f"--{name}", nargs=2, metavar=("SOURCE", "TARGET"), help=outcome)
    compacting.add_command(parts)
    command = add_part(parts, "promote", _promote, "turn a crash with its fix, or a reflection, into another memory")
    command.add_argument("id", help="its id, or a prefix of the id")
    command.add_argument("--dry-run", action="store_true", help="print the changed entry, and change nothing")


def _recent(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory:
        tiers = TIERS if options.all else PROMPT_TIERS
        for entry in memory.journal.recent(options.n, options.type or None, tiers=tiers):
            print(_line(entry))
        type_filter = {"entry_type": {"$in": options.type}} if options.type else {}
        where = {} if options.all else {"tier": {"$in": list(tiers)}, "marks.buried": False}
        n_passing = memory.journal.count({**where, **type_filter})
        if n_passing > options.n:
            print(f"the newest {options.n} of {n_passing:,}", file=sys.stderr)
        elif not n_passing:
            print("no such entry" if memory.journal.count() else "the journal is empty", file=sys.stderr)
    return 0


def _search(options: argparse.Namespace, settings: Settings) -> int:
    where = {"entry_type": {"$in": options.type}} if options.type else None
    also_buried: dict[str, Any] = {"with_buried": True} if options.all else {}
    if settings.server and options.all:
        raise InvalidInput("a server does not search buried entries; omit --all, or search in its dashboard")
    with open_or_connect(settings) as memory:
        if options.words:
            hits = memory.journal.search_words(options.text, options.k, where=where, **also_buried)
            print("\n".join(map(_line, hits)) or "nothing found")
            return 0
        retrieval = memory.journal.retrieve(options.text, options.k, where=where, **also_buried)
        for hit in retrieval.hits:
            signals = "  ".join(f"{name} {value:+.3f}" for name, value in hit.signals.items())
            print(f"{_line(hit.item)}\n    {explain(hit)}\n    rank value {hit.rank_value:.3f} = {signals}")
        if not retrieval.hits:
            print("nothing relevant found", file=sys.stderr)
    return 0


def _show(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory:
        entry_id = _entry_id(memory, options.id)
        [entry] = memory.journal.get_many([entry_id])
        head = {
            "id": entry.id,
            "type": f"{entry.entry_type} of generation {entry.generation}",
            "written": f"{entry.created_at:%Y-%m-%d %H:%M:%S}" if entry.created_at else "",
            "importance": f"{entry.importance:.2f}",
            "tier": entry.tier,
            **{name: str(value) for name, value in entry.metadata.items()},
        }
        for name, value in head.items():
            print(f"{sanitise(name)}: {sanitise(value)}")
        print(f"\n--- content\n{sanitise(entry.content, keep_lines=True)}")
        _print_links(memory, entry_id, options.depth)
    return 0


def _list_rejected(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=not options.accept) as memory:
        if options.accept:
            accepted = memory.journal.accept(_find_rejected_id(memory, options.accept))
            print(f"Written as {accepted[:8]}.")
            return 0
        refusals = memory.journal.rejected(options.n)
        for rejected in refusals.latest:
            print(
                f"{rejected.id[:8]}  {sanitise(rejected.refusal.gate):14}  {sanitise(rejected.content)[:80]}  "
                f"({sanitise(rejected.refusal.reason)})"
            )
        gates = ", ".join(f"{n} {sanitise(gate)}" for gate, n in refusals.by_gate.items())
        print(f"{refusals.n_total} refused{f': {gates}' if gates else ''}", file=sys.stderr)
    return 0


def _add(options: argparse.Namespace, settings: Settings) -> int:
    metadata = metadata_in(options.metadata)
    if settings.server:
        return _add_on_server(options, settings, metadata)
    with open_local(settings) as memory:
        latest = memory.journal.recent(1, tiers=TIERS) if options.generation is None else []
        scoped = memory.journal.as_operation("store", "written by hand")
        scoped.keep_noise = options.keep_noise or scoped.keep_noise
        scoped.keep_repetitions = options.keep_repetitions or scoped.keep_repetitions
        with counting_secrets() as secret_counts:
            written = scoped.add(
                options.type,
                options.text,
                generation=latest[0].generation if latest else options.generation or 0,
                importance=options.importance,
                metadata=metadata,
                links=[(link_type, _entry_id(memory, target)) for link_type, target in options.link],
            )
        print_secret_counts(secret_counts)
        if written is not None:
            print(f"Written as {written[:8]}.{changes_sentence(memory, scoped.operation_id)}")
            return 0
        [refused] = memory.journal.rejected(1).latest
        flag = "--keep-noise" if refused.refusal.gate == NOISE else "--keep-repetitions"
        print(f"Refused: {sanitise(refused.refusal.reason)}. To write it anyway, add {flag}.", file=sys.stderr)
    return 0


def _add_on_server(options: argparse.Namespace, settings: Settings, metadata: Mapping[str, Any]) -> int:
    """Write an entry on a server, which applies its own gates."""
    if options.keep_noise or options.keep_repetitions or options.link:
        raise InvalidInput(
            "--link, --keep-noise and --keep-repetitions do not work with a server; omit them, or run this on the "
            "server's machine"
        )
    with atlas.connect(settings.server, key=settings.key) as memory, counting_secrets() as secret_counts:
        written = memory.journal.add(
            options.type,
            options.text,
            generation=options.generation or 0,
            importance=options.importance,
            metadata=metadata,
        )
    print_secret_counts(secret_counts)
    if written is None:
        print("Refused by a gate of the journal. The reason is on the page Journal.", file=sys.stderr)
    else:
        print(f"Written as {written[:8]}.")
    return 0


def _gates(options: argparse.Namespace, settings: Settings) -> int:
    requested = {NOISE: options.noise, REPEATED: options.repetitions}
    switches = {name: switch for name, switch in requested.items() if switch}
    with open_local(settings, read_only=not switches) as memory:
        for name, switch in switches.items():
            memory.journal.switch_gate(name, switch == "on")
        for gate in gate_views(memory):
            print(f"{gate.label:11}  {'on' if gate.is_on else 'off':3}  {gate.effect}. {gate.reason}")
    return 0


def _link(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        source, target = _entry_id(memory, options.source), _entry_id(memory, options.target)
        scoped = memory.journal.as_operation("unlink" if options.remove else "link")
        change = scoped.unlink if options.remove else scoped.link
        change(source, target, options.type)
        print(f"{source[:8]} {options.type} {target[:8]}{': taken back' if options.remove else ''}.", end="")
        print(changes_sentence(memory, scoped.operation_id))
    return 0


def _suggest(options: argparse.Namespace, settings: Settings) -> int:
    link_ids = options.accept or options.refuse
    with open_local(settings, read_only=not link_ids) as memory:
        if not link_ids:
            _print_suggestions(memory, memory.journal.suggest_links(options.n))
            return 0
        source, target = _entry_id(memory, link_ids[0]), _entry_id(memory, link_ids[1])
        suggestion = _find_suggestion(memory, source, target)
        scoped = memory.journal.as_operation("link" if options.accept else "refuse a link")
        if options.accept:
            scoped.accept_link(suggestion)
        else:
            scoped.refuse_link(suggestion)
        print(f"{'Linked' if options.accept else 'Refused'}.{changes_sentence(memory, scoped.operation_id)}")
    return 0


def _promote(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=options.dry_run) as memory:
        plan = memory.plan_promotion(_entry_id(memory, options.id))
        print(f"{plan.target}: {sanitise(plan.title)[:LINE_CHARACTERS]}")
        for entry in plan.entries:
            print(f"  from {_line(entry)}")
        if plan.task is not None:
            print(f"  task {_line(plan.task)}")
        if plan.target == "strategy":
            print("  It starts without uses. Attempts that use it count from then on.")
        if options.dry_run:
            print(DRY_RUN_SENTENCE)
            return 0
        operation_id = memory.apply_promotion(plan)
        print(f"Promoted to {plan.target} {plan.becomes.id[:8]}.{changes_sentence(memory, operation_id)}")
    return 0


def _print_links(memory: MemorySystem, entry_id: str, depth: int) -> None:
    graph = memory.journal.linked(entry_id, depth)
    if graph.edges:
        print("\n--- links")
    for edge in graph.edges:
        print(f"{edge.source_id[:8]} {edge.type} {edge.target_id[:8]}")
    for entry in graph.entries:
        print(f"  {_line(entry)}")


def _print_suggestions(memory: MemorySystem, suggestions: list[LinkSuggestion]) -> None:
    entry_ids = [entry_id for suggestion in suggestions for entry_id in (suggestion.source_id, suggestion.target_id)]
    entries = {entry.id: entry for entry in memory.journal.get_many(entry_ids)}
    for suggestion in suggestions:
        print(f"{suggestion.source_id[:8]} {suggestion.type} {suggestion.target_id[:8]}: {suggestion.reason}")
        for entry_id in (suggestion.source_id, suggestion.target_id):
            print(f"    {_line(entries[entry_id])}")
    if suggestions:
        print("To decide: atlas journal suggest --accept SOURCE TARGET, or --refuse SOURCE TARGET", file=sys.stderr)
    else:
        print("no missing links were found", file=sys.stderr)


def _find_suggestion(memory: MemorySystem, source: str, target: str) -> LinkSuggestion:
    for suggestion in memory.journal.suggest_links(10**6):
        if (suggestion.source_id, suggestion.target_id) == (source, target):
            return suggestion
    raise NotFound(f"no link {source[:8]} → {target[:8]} is suggested; see: atlas journal suggest")


def _entry_id(memory: MemorySystem, prefix: str) -> str:
    return full_ids(memory, memory.journal, [prefix])[0]


def _find_rejected_id(memory: MemorySystem, prefix: str) -> str:
    refusals = memory.journal.rejected(memory.journal.rejected(0).n_total)
    matches = [refusal.id for refusal in refusals.latest if refusal.id.startswith(prefix)]
    if len(matches) != 1:
        raise NotFound(
            f"{'no' if not matches else 'more than one'} rejected entry has an id that begins with {prefix!r}; "
            "copy an id from a list or a search"
        )
    return matches[0]


def _line(entry: JournalEntry) -> str:
    tier = "" if entry.tier == TIERS[0] else f"  [{entry.tier}]"
    text = f"{entry.id[:8]}  {entry.generation:>5}  {sanitise(entry.entry_type):11}{tier}  {sanitise(entry.content)}"
    return text[:LINE_CHARACTERS]
