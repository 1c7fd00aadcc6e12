"""The command that measures what each memory contributes, by a replay."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from atlas.cli.common import (
    add_command,
    add_report_options,
    choose_embedder,
    parse_count,
    parse_limit,
    progress_bar,
    write_report,
)
from atlas.cli.exchange import add_format_option
from atlas.core.settings import Settings
from atlas.evaluation.ablation import CONFIGURATIONS, ablate
from atlas.evaluation.ablation_report import as_json, as_markdown, as_text
from atlas.importers.run import read_attempts
from atlas.memory.context.block import BUDGET_TOKENS


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "ablate", _ablate)
    command.add_argument("paths", nargs="+", type=Path, metavar="TRAJECTORIES", help="files that `atlas import` reads")
    command.add_argument(
        "--config",
        action="append",
        default=[],
        choices=list(CONFIGURATIONS),
        help="memories to replay with; may be repeated (default: each of them)",
    )
    add_format_option(command)
    command.add_argument("--limit", type=parse_limit, metavar="N", help="replay only the first N runs (default: all)")
    command.add_argument(
        "--budget",
        type=parse_count,
        default=BUDGET_TOKENS,
        metavar="TOKENS",
        help=f"maximum tokens of the context block (default: {BUDGET_TOKENS})",
    )
    command.add_argument("--model", default="", metavar="NAME", help="embedding model (default: that of a new store)")
    command.add_argument("--seed", type=parse_count, default=0, help="random seed of the intervals (default: 0)")
    add_report_options(command)


def _ablate(options: argparse.Namespace, settings: Settings) -> int:
    trajectories = read_attempts(options.paths, format=options.format, settings=settings)
    with progress_bar(desc="replaying", leave=False) as on_progress:
        ablation = ablate(
            trajectories,
            choose_embedder(options.model, settings),
            configurations=options.config or tuple(CONFIGURATIONS),
            settings=settings,
            budget_tokens=options.budget,
            seed=options.seed,
            limit=options.limit,
            on_progress=on_progress,
        )
    write_report(options, text=as_text(ablation), json=as_json(ablation), markdown=as_markdown(ablation))
    return 0
