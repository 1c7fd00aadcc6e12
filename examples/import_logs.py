"""Imports logs of agents, and searches them: a session of Claude Code and a run of τ-bench, or logs of your own.

    python import_logs.py                       # the logs beside this file, into the store `log-memory`
    python import_logs.py ~/.claude/projects    # your own

`atlas import DIRECTORY` does the same from the command line.
"""

import sys
from pathlib import Path

import atlas
from atlas.importers import import_paths
from atlas.importers.sink import MemorySink


def main() -> None:
    """Import the logs, print what came of them, and find an attempt among them."""
    paths = [Path(argument) for argument in sys.argv[1:]] or [Path(__file__).parent / "logs"]
    settings = atlas.Settings.from_environment()
    with atlas.open_memory("log-memory", settings=settings) as memory:
        report = import_paths(MemorySink(memory, "example"), paths, settings=settings)
        print(f"{report.added_attempts} attempts added, {report.skipped} were there already")
        print("secrets taken out before anything was stored:", dict(report.scrubbed))
        for reason, count in report.unknown.items():
            if count:
                print(f"{count} of unknown outcome: {reason}")
        for rejection in report.rejections:
            print("not imported:", rejection)

        question = "a job waits for a database that another one writes to"
        for hit in memory.experience.retrieve(question, k=1).hits:
            print(f"\n{question!r} finds:\n{hit.item.task.description} ({hit.item.outcome.label})")
            for step in hit.item.steps:
                print("-", step.action or step.thought)


if __name__ == "__main__":
    main()
