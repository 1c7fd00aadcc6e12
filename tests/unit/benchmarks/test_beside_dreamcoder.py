"""DreamCoder's public benchmark is read as it is laid out, and compared with as its authors compare."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from atlas.core.errors import InvalidInput
from benchmarks.learning import dreamcoder
from benchmarks.learning.alone import stitch
from benchmarks.learning.benches import NO_RESULT, NOTHING_FOUND, read
from tests.support.learning.dreamcoder_benches import RESULT, add_bench
from tests.support.repository import REPOSITORY

COST_BEFORE, COST_AFTER, COST_OF_LIBRARY = 2_224, 1_312, 809
"""Costs of the bench's cheapest program of each task, by hand: 100 a name or variable, 1 an application or a lambda.

Stitch finds the program that the first two tasks share, with a hole for `first` and `last`."""


def with_ratio(ratio: float, **changed: object) -> dict:
    return {**RESULT, **changed, "metrics": {**RESULT["metrics"], "compression_ratio_min": ratio}}


def measured(checkout: Path) -> dict[str, tuple[float, float | None]]:
    return {figure.what: (figure.ours, figure.baseline) for figure in dreamcoder.figures(checkout)}


def test_a_bench_is_read_with_the_latest_result(tmp_path: Path):
    path = add_bench(tmp_path, "list_hard_2019", "bench001_it4", result=with_ratio(1.5), time="2022-04-12_20-46-50")
    add_bench(tmp_path, "list_hard_2019", "bench001_it4", result=with_ratio(1.25, num_inventions=2), time="2022-05-01")
    [bench] = read(tmp_path).benches
    assert (bench.name, bench.domain, bench.path) == ("list_hard_2019/bench001_it4", "list", path)
    assert (bench.n_found, bench.ratio, bench.milliseconds, bench.megabytes) == (2, 1.25, 8_000, 512)


def test_the_cheapest_program_of_a_task_counts_and_so_does_the_library(tmp_path: Path):
    ours = stitch(dreamcoder=str(add_bench(tmp_path, "list_a")), iterations=1)
    assert (ours.n_found, ours.before, ours.after, ours.library) == (1, COST_BEFORE, COST_AFTER, COST_OF_LIBRARY)
    assert ours.ratio_with_library == COST_BEFORE / (COST_AFTER + COST_OF_LIBRARY)


def test_as_many_inventions_are_looked_for_as_dreamcoder_found(tmp_path: Path):
    tasks = [[f"(lambda (f (g (h {name} $0)) (k (l {name}))))"] for name in "abc"] + [["(m n o)"], ["(p (m n o))"]]
    path = add_bench(tmp_path, "list_a", tasks=tasks)
    assert [stitch(dreamcoder=str(path), iterations=n).n_found for n in (1, 2)] == [1, 2]


def test_a_domain_is_compared_over_its_benches(tmp_path: Path):
    add_bench(tmp_path, "list_a", result=with_ratio(1.04))
    add_bench(tmp_path, "list_b", result=with_ratio(1.06))
    add_bench(tmp_path, "logo_a", result=with_ratio(1.01))
    found, ours = measured(tmp_path), COST_BEFORE / (COST_AFTER + COST_OF_LIBRARY)
    mean = "DreamCoder's list, 2 benches: compression, library counted, mean; DreamCoder"
    assert found[mean] == (pytest.approx(ours), pytest.approx(1.05))
    assert found["DreamCoder's list, 2 benches: at least as good as DreamCoder, of 2"] == (1, None)
    assert found["DreamCoder's benches of all domains: at least as good as DreamCoder, of 3"] == (2, None)
    milliseconds, theirs = found["DreamCoder's logo, 1 benches: time an invention, median; DreamCoder"]
    assert theirs == 8_000
    assert found["DreamCoder's logo, 1 benches: times faster an invention, median"][0] == theirs / milliseconds
    assert found["DreamCoder's benches left out"] == (0, None)


def test_time_is_that_of_an_invention(tmp_path: Path):
    add_bench(tmp_path, "list_a")
    [bench] = read(tmp_path).benches
    ours = stitch(dreamcoder=str(bench.path), iterations=1)
    halved = dreamcoder.Comparison(bench=bench, ours=replaced(ours, n_found=2, seconds=0.5))
    assert (halved.milliseconds, halved.times_faster) == (250, 32)
    assert dreamcoder.Comparison(bench=bench, ours=replaced(ours, n_found=0, seconds=0.5)).milliseconds == 500


def replaced(measured, **changed):
    return type(measured)(**{name: changed.get(name, getattr(measured, name)) for name in measured.__slots__})


def test_what_cannot_be_compared_is_counted_and_named_and_the_others_go_on(tmp_path: Path, capsys):
    add_bench(tmp_path, "list_a", "bench000_it0")
    add_bench(tmp_path, "list_a", "bench001_it1", result=None)
    add_bench(tmp_path, "list_a", "bench002_it2", result='{"num_inventions": 1, "met')
    add_bench(tmp_path, "list_a", "bench003_it3", result={"num_inventions": 1, "metrics": {}})
    add_bench(tmp_path, "list_a", "bench004_it4", result={"num_inventions": 0})
    add_bench(tmp_path, "list_a", "bench005_it5").write_text('{"DSL": ', "utf-8")
    add_bench(tmp_path, "list_a", "bench006_it6", tasks=[])
    add_bench(tmp_path, "list_a", "bench007_it7", tasks=[["(lambda (#(lambda $0) 3))"]])
    add_bench(tmp_path, "list_a", "bench008_it8", tasks=[["(lambda (unfinished "]])
    found = measured(tmp_path)
    assert found["DreamCoder's benches left out"] == (8, None)
    assert "DreamCoder's list, 1 benches: at least as good as DreamCoder, of 1" in found
    named = dict(line.removeprefix("left out ").split(": ", 1) for line in capsys.readouterr().err.splitlines())
    assert named["list_a/bench001_it1"] == NO_RESULT
    assert named["list_a/bench002_it2"].startswith("DreamCoder's result is damaged: JSONDecodeError")
    assert named["list_a/bench003_it3"] == "DreamCoder's result is damaged: KeyError: 'compression_ratio_min'"
    assert named["list_a/bench004_it4"] == NOTHING_FOUND
    assert "JSONDecodeError" in named["list_a/bench005_it5"]
    assert "there is no program in it" in named["list_a/bench006_it6"]
    assert "an invention that its DSL does not have" in named["list_a/bench007_it7"]
    assert "mismatched parens" in named["list_a/bench008_it8"]


def test_nothing_to_compare_is_said(tmp_path: Path):
    add_bench(tmp_path, "list_a", result={"num_inventions": 0})
    assert measured(tmp_path) == {
        "DreamCoder's benches of all domains: at least as good as DreamCoder, of 0": (0, None),
        "DreamCoder's benches left out": (1, None),
    }


@pytest.mark.parametrize("place", ["absent", "."])
def test_a_directory_without_benches_is_refused_with_what_to_set(tmp_path: Path, place: str):
    with pytest.raises(InvalidInput, match=r"ATLAS_BENCH_DATA to name a checkout .*compression_benchmark.* clone it"):
        read(tmp_path / place)


def test_the_command_says_so_without_a_traceback(tmp_path: Path):
    command = [sys.executable, "-c", "from benchmarks.learning import literature; list(literature.figures())"]
    surroundings = {**os.environ, "ATLAS_BENCH_DATA": str(tmp_path / "absent")}
    ended = subprocess.run(command, cwd=REPOSITORY, env=surroundings, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("expected ATLAS_BENCH_DATA to name a checkout of github.com/mlb2251/")


def test_the_benches_are_read_where_they_are(tmp_path: Path):
    add_bench(tmp_path, "list_a")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    measured(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert all(json.loads(text) for text in before.values())
