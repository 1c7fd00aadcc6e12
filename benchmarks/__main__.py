"""The benchmarks named on the command line, or all of them, printed as a table and written as JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import (
    compressing,
    counting,
    encoding,
    journal,
    language_model,
    languages,
    lessons,
    remembering,
    retrieving,
    searching,
    storing,
)
from benchmarks.agents import loading, serving, starting, transfer, trial
from benchmarks.dashboard import mapping, previewing, visiting
from benchmarks.engines import following, million
from benchmarks.learning import finding, literature, scaling
from benchmarks.measuring import Figure
from benchmarks.trust import poisoning, store_signs

BENCHMARKS: Mapping[str, Callable[[], Iterator[Figure]]] = {
    "storing": storing.figures,
    "encoding": encoding.figures,
    "searching": searching.figures,
    "following": following.figures,
    "retrieving": retrieving.figures,
    "languages": languages.figures,
    "lessons": lessons.figures,
    "language_model": language_model.figures,
    "trial": trial.figures,
    "transfer": transfer.figures,
    "remembering": remembering.figures,
    "mapping": mapping.figures,
    "previewing": previewing.figures,
    "visiting": visiting.figures,
    "compressing": compressing.figures,
    "literature": literature.figures,
    "scaling": scaling.figures,
    "finding": finding.figures,
    "journal": journal.figures,
    "million": million.figures,
    "serving": serving.figures,
    "load": loading.figures,
    "starting": starting.figures,
    "counting": counting.figures,
    "poisoning": poisoning.figures,
    "store_signs": store_signs.figures,
}
RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all of them where none is named")
    parser.add_argument("--model", help="the language model of `language_model`, in place of ATLAS_LLM_MODEL")
    options = parser.parse_args(arguments)
    if options.model:
        os.environ["ATLAS_LLM_MODEL"] = options.model
    names = options.names
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        raise SystemExit(f"no benchmark {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    print(f"{'what':75} {'ours':>10} {'baseline':>10} {'ratio':>7}  aim")
    figures_json = []
    for name in names or BENCHMARKS:
        for figure in BENCHMARKS[name]():
            figures_json.append({**asdict(figure), "ratio": figure.ratio})
            print(_line(figure), flush=True)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    path.write_text(json.dumps(figures_json, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written to {path}")


def _line(figure: Figure) -> str:
    baseline = f"{figure.baseline:10.3f}" if figure.baseline is not None else " " * 10
    ratio = f"{figure.ratio:7.2f}" if figure.ratio is not None else " " * 7
    return f"{figure.what:75} {figure.ours:10.3f} {baseline} {ratio}  {figure.unit:4} {figure.aim}"


if __name__ == "__main__":
    main(sys.argv[1:])
