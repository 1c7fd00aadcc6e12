"""The command that compares ways to curate."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from atlas.cli.common import (
    add_command,
    add_part,
    add_report_options,
    choose_embedder,
    open_local,
    parse_count,
    progress_bar,
    write_report,
)
from atlas.cli.exchange import add_format_option
from atlas.core.settings import Settings
from atlas.core.types import Trajectory
from atlas.evaluation.curation.bench import as_json, as_markdown, as_text, bench_curation
from atlas.importers.run import read_attempts
from atlas.memory.experience.extraction import to_trajectory


def add_commands(commands: Any) -> None:
    """Declare the command."""
    parts = add_command(commands, "bench", _curation).add_subparsers(metavar="BENCH", required=True)
    command = add_part(
        parts, "curation", _curation, "shrink a memory in several ways, and count the records that are still found"
    )
    command.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="TRAJECTORIES",
        help="files that `atlas import` reads (default: the attempts of the store)",
    )
    add_format_option(command)
    command.add_argument("--model", default="", metavar="NAME", help="embedding model (default: that of a new store)")
    command.add_argument("--seed", type=parse_count, default=0, help="random seed of the intervals (default: 0)")
    add_report_options(command)


def _curation(options: argparse.Namespace, settings: Settings) -> int:
    attempts = _attempts(options, settings)
    with progress_bar(desc="shrinking", leave=False) as on_progress:
        result = bench_curation(
            attempts,
            choose_embedder(options.model, settings),
            settings=settings,
            seed=options.seed,
            on_progress=on_progress,
        )
    write_report(options, text=as_text(result), json=as_json(result), markdown=as_markdown(result))
    return 0


def _attempts(options: argparse.Namespace, settings: Settings) -> list[Trajectory]:
    if options.paths:
        return read_attempts(options.paths, format=options.format, settings=settings)
    with open_local(settings, read_only=True) as memory:
        return [to_trajectory(experience) for experience in memory.experience.get_many(memory.experience.ids())]
