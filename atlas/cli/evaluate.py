"""The command that measures how well searches find what they should."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from atlas.cli.common import add_command, chosen_embedder, count, new_file, opened, progress_bar, safe
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.evaluation.bootstrap import Half
from atlas.evaluation.report import Report, as_json, as_markdown, as_text
from atlas.evaluation.tasks import Watch, evaluate_corpora, evaluate_own
from atlas.importers.corpora import find_corpora
from atlas.protocols.infra import Progress


def add_commands(commands: Any) -> None:
    """Declare it."""
    command = add_command(
        commands, "evaluate", _evaluate, "measure how well each way to search finds what it should, beside chance"
    )
    command.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="runs or judged queries to evaluate on, in a store of their own (default: the store's own attempts)",
    )
    command.add_argument(
        "--half",
        choices=("dev", "test", "both"),
        help="of the tasks: dev to choose settings on, test to report on (default: test; both for the store's own)",
    )
    command.add_argument("--model", default="", metavar="NAME", help="the embedding model for PATH")
    command.add_argument("--seed", type=count, default=0, help="of intervals and draws (default: 0)")
    command.add_argument("--json", type=Path, metavar="FILE", help="write all figures there; - for the terminal")
    command.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there; - for the terminal")


def _evaluate(options: argparse.Namespace, settings: Settings) -> int:
    report = _on_paths(options, settings) if options.paths else _on_own(options, settings)
    for file, rendered in ((options.json, as_json), (options.markdown, as_markdown)):
        if file is not None:
            with new_file(file) as write:
                write(safe(rendered(report), keep_lines=True) + "\n")
    if Path("-") not in (options.json, options.markdown):
        print(safe(as_text(report), keep_lines=True))
    return 0


def _on_paths(options: argparse.Namespace, settings: Settings) -> Report:
    half: Half = options.half or "test"
    corpora = find_corpora(options.paths, settings)
    with _bars() as watch:
        embedder = chosen_embedder(options.model, settings)
        return evaluate_corpora(corpora, embedder, settings=settings, half=half, seed=options.seed, watch=watch)


def _on_own(options: argparse.Namespace, settings: Settings) -> Report:
    if options.model:
        raise InvalidInput(
            "--model is for PATH, but there is none; the store is searched with its own model "
            f"(another one: atlas reembed --model {options.model})"
        )
    half: Half = options.half or "both"
    with opened(settings, read_only=True) as memory, _bars() as watch:
        return evaluate_own(memory, half=half, seed=options.seed, watch=watch)


@contextmanager
def _bars() -> Iterator[Watch]:
    """A progress bar after the other, each gone when the next begins."""
    with ExitStack() as shown:

        def begin(what: str) -> Progress:
            shown.close()
            return shown.enter_context(progress_bar(desc=what, leave=False))

        yield begin
