"""Programs that GPT-4 wrote, with the tests of their benchmarks."""

from __future__ import annotations

import os

import pytest

from atlas.importers import Limits, detect
from atlas.learning.extraction import Extraction, programs_of
from atlas.learning.sandbox.runner import Sandbox

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")


def extracted(path) -> Extraction:
    return programs_of(row.item for row in detect(path).read(path, Limits()) if row.item is not None)


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize(
    ("name", "n_solved"),
    [
        ("humaneval_py_reflexion_gpt4.jsonl", 150),
        ("mbpp_py_reflexion_gpt4.jsonl", 306),
        ("mbpp_py_simple_gpt4.jsonl", 318),
    ],
)
def test_what_is_marked_as_solved_passes_its_own_tests(real_data, name, n_solved, every):
    found = extracted(real_data / "reflexion" / name)
    assert len(found.programs) == n_solved
    assert found.dropped.keys() == {"the attempt did not succeed"}
    with Sandbox() as sandbox:
        results = sandbox.run_all([(program.source, program.tests) for program in found.programs[::every]])
    assert {result.outcome for result in results} == {"passed"}


def test_problems_without_tests_give_programs_without_tests(real_data):
    found = extracted(real_data / "reflexion" / "leetcode_hard_py_reflexion_gpt4.jsonl")
    assert [program.tests for program in found.programs] == ["", ""]


def test_runs_of_other_agents_end_in_programs_or_reasons(real_data):
    for path in sorted((real_data / "swe_agent").glob("*.traj")):
        items = [row.item for row in detect(path).read(path, Limits()) if row.item is not None]
        found = programs_of(items, unknown_too=True)
        assert len(found.programs) + sum(found.dropped.values()) == len(items)
