"""The command that measures retrieval quality."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from atlas.cli.common import (
    add_command,
    add_report_options,
    choose_embedder,
    open_local,
    parse_count,
    progress_bar,
    write_report,
)
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.evaluation.models import compare_models, models_as_json, models_as_markdown, models_as_text
from atlas.evaluation.report import Report, as_json, as_markdown, as_text
from atlas.evaluation.split import Half
from atlas.evaluation.tasks import Watch, evaluate_corpora, evaluate_own
from atlas.importers.corpora import find_corpora
from atlas.protocols.infra import Progress


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "evaluate", _evaluate)
    command.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="runs or judged queries to evaluate on, in a temporary store (default: the store's own attempts)",
    )
    command.add_argument(
        "--half",
        choices=("dev", "test", "both"),
        help="half of the tasks: dev to choose settings on, test to report on (default: test for PATH, else both)",
    )
    command.add_argument("--model", default="", metavar="NAME", help="embedding model for PATH")
    command.add_argument(
        "--models",
        default="",
        metavar="A,B",
        help="embedding models to compare with the store's own, on its own attempts",
    )
    command.add_argument(
        "--seed", type=parse_count, default=0, help="random seed of the intervals and draws (default: 0)"
    )
    add_report_options(command)


def _evaluate(options: argparse.Namespace, settings: Settings) -> int:
    if options.models:
        return _compare_models(options, settings)
    report = _evaluate_paths(options, settings) if options.paths else _evaluate_own(options, settings)
    write_report(options, text=as_text(report), json=as_json(report), markdown=as_markdown(report))
    return 0


def _evaluate_paths(options: argparse.Namespace, settings: Settings) -> Report:
    half: Half = options.half or "test"
    corpora = find_corpora(options.paths, settings)
    with _progress_bars() as watch:
        embedder = choose_embedder(options.model, settings)
        return evaluate_corpora(corpora, embedder, settings=settings, half=half, seed=options.seed, watch=watch)


def _evaluate_own(options: argparse.Namespace, settings: Settings) -> Report:
    if options.model:
        raise InvalidInput(
            "--model applies to PATH only; a store is searched with its own model (to change it: atlas reembed --model "
            f"{options.model})"
        )
    half: Half = options.half or "both"
    with open_local(settings, read_only=True) as memory, _progress_bars() as watch:
        return evaluate_own(memory, half=half, seed=options.seed, watch=watch)


def _compare_models(options: argparse.Namespace, settings: Settings) -> int:
    models = [name.strip() for name in options.models.split(",") if name.strip()]
    if options.paths or options.model:
        raise InvalidInput(
            "--models cannot be combined with PATH or --model, because it compares models on the store's own attempts; "
            "to compare models on PATH, run the command once for each with --model"
        )
    with open_local(settings, read_only=True) as memory, _progress_bars() as watch:
        report = compare_models(
            memory,
            models,
            partial(choose_embedder, settings=settings),
            settings=settings,
            half=options.half or "both",
            seed=options.seed,
            watch=watch,
        )
    write_report(options, text=models_as_text(report), json=models_as_json(report), markdown=models_as_markdown(report))
    return 1 if any(cost.problem for cost in report.costs) else 0


@contextmanager
def _progress_bars() -> Iterator[Watch]:
    """Yield a function that ends the current progress bar and shows a new one."""
    with ExitStack() as bars:

        def begin(label: str) -> Progress:
            bars.close()
            return bars.enter_context(progress_bar(desc=label, leave=False))

        yield begin
