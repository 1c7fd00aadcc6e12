"""Near-duplicates of real runs: household tasks that read alike and differ in one number."""

from __future__ import annotations

from itertools import combinations

import atlas
from atlas.importers.run import import_paths
from atlas.importers.sink import MemorySink
from atlas.jobs.duplicates import find_duplicates
from atlas.memory.experience.memory import COLLECTION
from atlas.testing import HashEmbedder


def test_different_household_tasks_are_never_one_group_and_attempts_at_one_are(tmp_path, real_data):
    trials = sorted((real_data / "reflexion").glob("alfworld_*.json"))
    settings = atlas.Settings(store=tmp_path)
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(64), settings=settings) as memory:
        import_paths(MemorySink(memory, "test"), trials, settings=settings)
        tasks = memory.experience.column("task_id")
        groups = [group.ids for group in find_duplicates(memory.storage, COLLECTION).groups]
    assert groups
    assert all(len({tasks[one] for one in group}) == 1 for group in groups)
    together = {frozenset(pair) for group in groups for pair in combinations(group, 2)}
    assert together == {frozenset((one, other)) for one, other in combinations(tasks, 2) if tasks[one] == tasks[other]}
