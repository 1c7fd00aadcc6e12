"""The command that draws the map."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from atlas.cli.common import add_command, open_local, parse_count, progress_bar, replacement_file, sanitise
from atlas.core.settings import Settings
from atlas.jobs.map import draw_now
from atlas.maps.projection import ENGINES
from atlas.views.map.html import map_page


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "map", _map)
    command.add_argument(
        "--out", type=Path, default=Path("map.html"), metavar="FILE", help="file to write (default: map.html)"
    )
    command.add_argument("--engine", choices=ENGINES, default="umap", help="layout method (default: umap)")
    command.add_argument(
        "--min-domain-size",
        type=parse_count,
        default=0,
        metavar="N",
        help="minimum experiences in a domain (default: depends on the size of the store)",
    )


def _map(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory, progress_bar(desc="mapping", unit="%") as on_progress:
        memory_map = draw_now(
            memory,
            engine=options.engine,
            min_domain_size=options.min_domain_size,
            on_progress=lambda done, total, what: on_progress(done, total),
        )
        page = map_page(memory, memory_map.map, memory_map.titles)
    with replacement_file(options.out) as write:
        write(page)
    print(f"Wrote {sanitise(str(options.out))} ({len(page) / 2**20:.1f} MB).", file=sys.stderr)
    return 0
