"""A secret in a store, and the files that hold it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import atlas
from atlas.core.settings import Settings
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.memory.system import MemorySystem
from atlas.testing import HashEmbedder

KEY = "sk-7Qz9vXw3Lm"
SECRET = f"{KEY} of Zoë Müller"
"""With characters that JSON may escape."""

ESCAPED = json.dumps(SECRET)[1:-1]
FORMS = [text.encode() for text in (KEY, SECRET, ESCAPED, "Zoë Müller", "zo\\u00eb", "7qz9vxw3lm")]
"""As it is, as JSON, and as keyword search keeps words."""


def opened(path: Path, **options: object) -> MemorySystem:
    """The store, whose index is asked and followed from the first few records on."""
    settings = Settings(exact_max_rows=5, index_lag_rows=2, actor="anna")
    return atlas.open_memory(path, embedder=HashEmbedder(32), settings=settings, **options)  # type: ignore[arg-type]


def attempt(text: str, **metadata: object) -> Trajectory:
    return Trajectory(
        task=Task(f"t-{text[:12]}", "", f"{text}\nthe task"),
        steps=(Step(thought=f"with {text}", action="go", observation=text),),
        outcome=Outcome(True),
        metadata=metadata,
    )


def purge(memory: MemorySystem, *ids: str) -> str:
    done = memory.apply_purge(memory.plan_purge(ids), reason="a leaked key")
    assert done.problem == ""
    return done.operation_id


def holding(store: Path, *forms: bytes) -> dict[str, bytes]:
    """The files below a store that hold one of some bytes, in whatever case, each with the first that it holds."""
    found = {}
    for path in sorted(path for path in store.rglob("*") if path.is_file()):
        content = path.read_bytes().lower()
        held = [form for form in forms if form.lower() in content]
        if held:
            found[str(path.relative_to(store))] = held[0]
    return found


def rows(memory: MemorySystem, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
    with memory.storage.ledger.database.read() as connection:
        return connection.execute(sql, parameters).fetchall()


def fill(memory: MemorySystem, n: int = 12) -> list[str]:
    return [memory.experience.store(attempt(f"harmless number {i}")) for i in range(n)]
