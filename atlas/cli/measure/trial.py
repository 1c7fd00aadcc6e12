"""The command that runs a user's command with and without memory."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from atlas.cli.common import (
    add_command,
    add_report_options,
    parse_count,
    parse_limit,
    print_notes,
    progress_bar,
    replacement_file,
    write_report,
)
from atlas.core.settings import Settings
from atlas.evaluation.trial.design import read_arm, read_tasks
from atlas.evaluation.trial.journal import TrialJournal
from atlas.evaluation.trial.report import as_json, as_markdown, as_text, failure_lines
from atlas.evaluation.trial.run import Budget, TrialPlan, run_trial
from atlas.views.evaluation.trial import trial_page

ARMS = ("nothing", "memory", "placebo")


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "trial", _trial)
    command.add_argument("directory", type=Path, help="directory of the trial; named again, it goes on where it was")
    command.add_argument("command_words", nargs="+", metavar="COMMAND", help="after --: the program and its arguments")
    command.add_argument("--tasks", type=Path, metavar="FILE", help="tasks as JSON lines (default: the store's own)")
    command.add_argument(
        "--arm",
        action="append",
        default=[],
        metavar="ARM",
        help="nothing, memory, placebo or recency, with options such as memory,without=concepts; may be repeated "
        f"(default: {', '.join(ARMS)})",
    )
    command.add_argument(
        "--judge", default="", metavar="COMMAND", help="command that judges each run; no shell reads it"
    )
    command.add_argument(
        "--repeats", type=parse_limit, default=1, metavar="N", help="runs of each task and arm (default: 1)"
    )
    command.add_argument("--stream", action="store_true", help="store each attempt into its arm's copy of the store")
    command.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="of each run (default: 600)")
    command.add_argument("--max-tokens", type=parse_count, metavar="N", help="end after so many tokens")
    command.add_argument("--max-cost", type=float, metavar="AMOUNT", help="end after such a cost")
    command.add_argument("--max-seconds", type=float, metavar="SECONDS", help="end after so much time of all runs")
    command.add_argument("--seed", type=parse_count, default=0, help="random seed of the order (default: 0)")
    command.add_argument("--html", type=Path, metavar="FILE", help="write the report, with traces, as one HTML file")
    add_report_options(command)


def _trial(options: argparse.Namespace, settings: Settings) -> int:
    plan = TrialPlan(
        command=tuple(options.command_words),
        arms=tuple(map(read_arm, options.arm or ARMS)),
        tasks=tuple(read_tasks(options.tasks)) if options.tasks else (),
        judge=tuple(shlex.split(options.judge)),
        n_repeats=options.repeats,
        seed=options.seed,
        timeout_seconds=options.timeout,
        is_stream=options.stream,
        budget=Budget(tokens=options.max_tokens, cost=options.max_cost, seconds=options.max_seconds),
    )
    with progress_bar(desc="running", leave=False) as on_progress:
        report = run_trial(plan, settings, options.directory, on_progress=on_progress)
    if options.html:
        with replacement_file(options.html) as write:
            write(trial_page(report, TrialJournal(options.directory).trace))
    write_report(options, text=as_text(report), json=as_json(report), markdown=as_markdown(report))
    failures = failure_lines(report)
    print_notes(failures)
    return 1 if failures else 0
