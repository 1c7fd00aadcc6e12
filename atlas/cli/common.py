"""Code that commands share: declaring commands, opening the memory, and escaping text for terminals.

Slow imports are inside functions, so that `atlas mcp` answers its client quickly.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas.cli import SUMMARIES
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.settings import Settings

if TYPE_CHECKING:
    from atlas.core.operations import Operation
    from atlas.core.types import Experience
    from atlas.memory.base.memory import Memory
    from atlas.memory.loss import CurationLoss
    from atlas.memory.system import MemorySystem
    from atlas.protocols.infra import WholeEmbedder
    from atlas.remote.system import RemoteMemory
    from atlas.views.shared.plans import PlanRow, PlanView

MAX_SHOWN = 10
"""Maximum records of a plan that are printed without --all."""

LINE_CHARACTERS = 160
"""Maximum characters of an entry of the journal on one line."""

DRY_RUN_SENTENCE = "Nothing was changed (--dry-run)."


def add_command(commands: Any, name: str, run: Callable[..., int]) -> argparse.ArgumentParser:
    """Declare a command of `GROUPS` that calls `run`, and return its parser."""
    return add_part(commands, name, run, SUMMARIES[name])


def add_part(parts: Any, name: str, run: Callable[..., int], summary: str) -> argparse.ArgumentParser:
    """Declare a subcommand that calls `run`, such as `gates` of `atlas journal`, and return its parser."""
    part: argparse.ArgumentParser = parts.add_parser(name, help=summary, description=summary)
    part.set_defaults(run=run)
    return part


def add_report_options(command: argparse.ArgumentParser) -> None:
    """Declare the options for the files of a report."""
    command.add_argument("--json", type=Path, metavar="FILE", help="write all figures as JSON; - is the terminal")
    command.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the tables as Markdown; - is the terminal"
    )


def add_scope_option(command: argparse.ArgumentParser, about: str) -> None:
    """Declare `--scope`, whose value becomes a dict such as `{"project": "shop"}`, empty by default."""
    command.add_argument(
        "--scope",
        action=_ScopeAction,
        default={},
        metavar="NAME=VALUE",
        help=f"{about}, such as project=shop; may be repeated",
    )


def add_filter_options(command: argparse.ArgumentParser, where_help: str) -> None:
    """Declare `--where` and `--scope`. `requested_filter` combines both into one filter."""
    command.add_argument("--where", type=parse_filter, metavar="JSON", help=where_help)
    add_scope_option(command, "search only records in a scope")


def requested_filter(options: argparse.Namespace) -> dict[str, Any] | None:
    """Return the filter of `--where` and `--scope`, or None without either.

    Raises:
        InvalidInput: A name or a value of the scope is malformed.
    """
    from atlas.core.filters import scope_metadata

    parts = [part for part in (options.where, scope_metadata(options.scope)) if part]
    if len(parts) > 1:
        return {"$and": parts}
    return dict(parts[0]) if parts else None


class _ScopeAction(argparse.Action):
    def __call__(self, parser: Any, options: argparse.Namespace, text: Any, option: str | None = None) -> None:
        name, sign, value = text.partition("=")
        if not sign:
            raise argparse.ArgumentError(self, f"expected NAME=VALUE such as project=shop, got {text!r:.80}")
        scope = getattr(options, self.dest)
        setattr(options, self.dest, {**scope, name: value})


def add_json_option(command: argparse.ArgumentParser) -> None:
    """Declare `--json`."""
    command.add_argument("--json", action="store_true", help="print JSON")


def print_json(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print rows as a list in JSON. Times are in ISO 8601."""
    print(json.dumps([*rows], ensure_ascii=True, indent=1, default=lambda time: time.isoformat()))


def write_report(options: argparse.Namespace, *, text: str, json: str, markdown: str) -> None:
    """Write a report to the requested files, and print its text unless one of the files is the terminal."""
    for file, rendered in ((options.json, json), (options.markdown, markdown)):
        if file is not None:
            with replacement_file(file) as write:
                write(sanitise(rendered, keep_lines=True) + "\n")
    if Path("-") not in (options.json, options.markdown):
        print(sanitise(text, keep_lines=True))


def open_local(settings: Settings, *, read_only: bool = False, create: bool = False) -> MemorySystem:
    """Open the memory on this machine, and print its announcements to stderr."""
    from atlas.memory.open import open_memory

    return open_memory(
        settings=settings,
        read_only=read_only,
        create=create,
        announce=lambda text: print(text, file=sys.stderr),
        confirm=terminal_confirmation() if create else None,
    )


def terminal_confirmation() -> Callable[[str], bool] | None:
    """Return a function that asks a yes-no question at the terminal, or None if there is no terminal."""
    return _confirm if sys.stdin.isatty() and sys.stderr.isatty() else None


def _confirm(question: str) -> bool:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def open_or_connect(
    settings: Settings, *, read_only: bool = False, create: bool = False
) -> MemorySystem | RemoteMemory:
    """Return the memory of the configured server. Without a server, open the memory on this machine."""
    if not settings.server:
        return open_local(settings, read_only=read_only, create=create)
    from atlas.remote.system import connect

    return connect(settings.server, key=settings.key)


def print_secret_counts(counts_by_kind: Mapping[str, int]) -> None:
    """Print to stderr how many secrets of each kind were replaced, if any."""
    if counts_by_kind:
        from atlas.infra.secrets import describe_counts

        print(describe_counts(counts_by_kind), file=sys.stderr)


def calibrate(memory: MemorySystem) -> None:
    """Calibrate the relevance threshold of each memory now, so that the next search does not have to."""
    if not memory.storage.read_only:
        from atlas.memory.kinds.table import searchable_kinds

        for kind in searchable_kinds().values():
            kind.records(memory).calibrate()


def choose_embedder(model: str, settings: Settings) -> WholeEmbedder:
    """Return the embedding model with a name. For an empty name, return the default model of a new store."""
    from atlas.embedding.sentence_transformers import choose_model
    from atlas.memory.open import sentence_embedder

    choice = choose_model(
        model or settings.embedding_model,
        timeout_seconds=settings.hub_timeout_seconds,
        announce=lambda text: print(text, file=sys.stderr),
        confirm=terminal_confirmation(),
    )
    return sentence_embedder(choice.name, settings)


@contextmanager
def progress_bar(**options: Any) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on stderr during the block. Yield a callback that takes the number done and the total."""
    from tqdm import tqdm

    with tqdm(**options, disable=None) as bar:

        def on_progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield on_progress


@contextmanager
def replacement_file(path: Path) -> Iterator[Callable[[str], Any]]:
    """Open a temporary file that replaces `path` at the end of the block. Yield its write function.

    For the path `-`, yield the write function of stdout.

    A device or pipe such as `/dev/null` is written to directly, because a rename would replace the device itself.
    """
    if str(path) == "-":
        yield sys.stdout.write
        return
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8") as file:
            yield file.write
        return
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            yield file.write
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def full_ids(
    memory: MemorySystem, records: Memory[Any], prefixes: Sequence[str], *, deleted: bool = False
) -> list[str]:
    """Return the full ids of records of one memory, given prefixes of the ids.

    Args:
        deleted: Search deleted records only.

    Raises:
        NotFound: No id begins with a prefix, or several do.
        InvalidInput: A prefix is empty.
    """
    return [_full_id(memory, records, prefix, deleted) for prefix in prefixes]


def _full_id(memory: MemorySystem, records: Memory[Any], prefix: str, deleted: bool) -> str:
    if not prefix:
        raise InvalidInput(f"expected the id of a {records.noun}, or a prefix of one, got an empty string")
    ids = memory.storage.ledger.ids_with_prefix(records.collection_name, prefix, deleted=deleted)
    if len(ids) != 1:
        noun = f"deleted {records.noun}" if deleted else records.noun
        raise NotFound(
            f"{'no' if not ids else 'more than one'} {noun} has an id that begins with {prefix!r}; "
            "copy an id from a list or a search"
        )
    return ids[0]


def experience_line(experience: Experience) -> str:
    """Return an experience on one line."""
    return f"{experience.id[:8]}  {experience.outcome.label:9}  {sanitise(experience.task.description)[:100]}"


def counts_text(operation: Operation) -> str:
    """Return the counts of an operation as text, such as `3 removed, 1 changed`."""
    return ", ".join(f"{count} {name}" for name, count in operation.counts.items()) or "nothing"


def undo_hint(operation_id: str | None) -> str:
    """Return a sentence on how to undo an operation. Empty without an operation."""
    return f"To undo it: atlas undo {operation_id[:8]}" if operation_id else ""


def changes_sentence(memory: MemorySystem, operation_id: str | None) -> str:
    """Return sentences on an operation's changes and undo, with a leading space. Empty without an operation."""
    try:
        operation = memory.operation(operation_id) if operation_id else None
    except NotFound:
        return " Nothing had to change."
    return f" {counts_text(operation)}. {undo_hint(operation.id)}" if operation else ""


def print_plan(view: PlanView, *, show_all: bool, with_head: bool = True) -> None:
    """Print the summary of a plan, and each record that it removes or keeps."""
    if with_head:
        print("\n".join(sanitise(line) for line in (view.headline, view.rule, *view.notes) if line))
    if view.loss is not None and view.loss.n_removed:
        print_loss(view.loss)
    if show_all:
        _print_plan_rows(view.rows)
        return
    for is_removed, sign in ((True, "-"), (False, "+")):
        rows = [row for row in view.rows if row.goes == is_removed]
        _print_plan_rows(rows[:MAX_SHOWN])
        if len(rows) > MAX_SHOWN:
            print(f"  {sign} … and {len(rows) - MAX_SHOWN} more (--all prints them)")


def _print_plan_rows(rows: Iterable[PlanRow]) -> None:
    for row in rows:
        reason = "; ".join(part for part in (row.outcome, row.why) if part)
        print(f"  {'-' if row.goes else '+'} {row.id[:8]}  {sanitise(row.title)[:80]}  ({sanitise(reason)})")


def print_loss(loss: CurationLoss) -> None:
    """Print the valuable records that a plan would remove."""
    print(f"{loss.sentence[0].upper()}{loss.sentence[1:]}{':' if loss.lost else '.'}")
    for record in loss.lost[:MAX_SHOWN]:
        print(f"  ! {record.id[:8]}  {sanitise(record.title)[:80]}")
    if len(loss.lost) > MAX_SHOWN:
        print(f"  ! … and {len(loss.lost) - MAX_SHOWN} more")
    for sentence in loss.details:
        print(sentence)


def sanitise(text: str, *, keep_lines: bool = False) -> str:
    """Return a string with a space instead of each control character, so that it cannot control the terminal."""
    line_breaks = "\n\t" if keep_lines else ""
    printable = "".join(c if c.isprintable() or c in line_breaks else " " for c in text)
    return printable if keep_lines else " ".join(printable.split())


def parse_limit(text: str) -> int:
    """Parse the maximum number of results, at least 1."""
    return _parse_whole_number(text, minimum=1)


def print_notes(notes: Sequence[str]) -> None:
    """Print warnings about a query, such as an unknown key in its filter."""
    for note in notes:
        print(sanitise(note), file=sys.stderr)


def parse_filter(text: str) -> dict[str, Any]:
    """Parse a filter in JSON."""
    from atlas.core.filters import parse_where

    try:
        where = json.loads(text)
        parse_where(where)
    except (ValueError, InvalidInput) as error:
        raise argparse.ArgumentTypeError(f'expected a filter such as {{"outcome": "failed"}}: {error}') from error
    return dict(where)


def parse_count(text: str) -> int:
    """Parse a count, at least 0."""
    return _parse_whole_number(text, minimum=0)


def _parse_whole_number(text: str, *, minimum: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r:.80}") from None
    if number < minimum:
        raise argparse.ArgumentTypeError(f"expected {minimum} or more, got {number}")
    return number
