"""Use every plug-in of the toy distribution, and print what each did as one JSON object."""

import json
import sys
from pathlib import Path

import atlas
from atlas.cli import main
from atlas.importers import import_paths
from atlas.importers.sink import MemorySink
from atlas.primitives.discovery import discover
from atlas.testing import HashEmbedder

directory = Path(sys.argv[1])
settings = atlas.Settings(
    store=directory / "store",
    index="toy://shelf",
    exact_max_rows=2,
    index_lag_rows=1,
    success_updater="toy",
)
runs = directory / "runs.toy"
runs.write_text("".join(f"sort list {n} | done\n" for n in range(6)) + "no bar\n", encoding="utf-8")
with atlas.open_memory(settings=settings, embedder=HashEmbedder()) as memory:
    report = import_paths(MemorySink(memory, "toys"), [runs], settings=settings)
    memory.concepts.load_primitives(discover()["toy"])
    memory.storage.catch_up()
    index = memory.storage.indexes.index_of(memory.experience.collection_name, memory.storage.model.dimension)
    used = {
        "imported": len(memory.experience),
        "rejected": [rejection.reason for rejection in report.rejections],
        "found": memory.experience.retrieve("sort list 3", 1).hits[0].item.task.description,
        "indexed": index.count(),
        "concepts": memory.concepts.ids(),
        "updater": type(memory.strategies.success_updater).__name__,
    }
print(json.dumps(used))
sys.exit(main(["--store", str(settings.store), "toys", "--loud"]))
