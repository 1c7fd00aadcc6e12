"""The command that measures what each memory contributes, by a replay."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from atlas.cli.common import add_command, chosen_embedder, count, new_file, progress_bar, safe
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.evaluation.ablation import CONFIGURATIONS, ablate
from atlas.evaluation.ablation_report import as_json, as_markdown, as_text
from atlas.importers.registry import FORMATS
from atlas.importers.run import read_attempts
from atlas.memory.context import BUDGET_TOKENS


def add_commands(commands: Any) -> None:
    """Declare it."""
    command = add_command(
        commands,
        "ablate",
        _ablate,
        "replay runs into memories with parts taken away, and compare what they find",
    )
    command.add_argument("paths", nargs="+", type=Path, metavar="TRAJECTORIES", help="anything that atlas import reads")
    command.add_argument(
        "--config",
        action="append",
        default=[],
        choices=list(CONFIGURATIONS),
        help="may be repeated (default: all of them)",
    )
    command.add_argument("--format", default="auto", choices=["auto", *FORMATS])
    command.add_argument("--limit", type=count, metavar="N", help="replay the first so many (default: all)")
    command.add_argument(
        "--budget", type=count, default=BUDGET_TOKENS, metavar="TOKENS", help=f"of a block (default: {BUDGET_TOKENS})"
    )
    command.add_argument("--model", default="", metavar="NAME", help="the embedding model")
    command.add_argument("--seed", type=count, default=0, help="of intervals (default: 0)")
    command.add_argument("--json", type=Path, metavar="FILE", help="write all figures there; - for the terminal")
    command.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there; - for the terminal")


def _ablate(options: argparse.Namespace, settings: Settings) -> int:
    if options.limit == 0:
        raise InvalidInput("--limit should be at least 1")
    trajectories = read_attempts(options.paths, format=options.format, settings=settings)
    with progress_bar(desc="replaying", leave=False) as on_progress:
        found = ablate(
            trajectories,
            chosen_embedder(options.model, settings),
            configurations=options.config or tuple(CONFIGURATIONS),
            settings=settings,
            budget_tokens=options.budget,
            seed=options.seed,
            limit=options.limit,
            on_progress=on_progress,
        )
    for file, rendered in ((options.json, as_json), (options.markdown, as_markdown)):
        if file is not None:
            with new_file(file) as write:
                write(safe(rendered(found), keep_lines=True) + "\n")
    if Path("-") not in (options.json, options.markdown):
        print(safe(as_text(found), keep_lines=True))
    return 0
